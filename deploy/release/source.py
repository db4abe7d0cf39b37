"""The sources of a release: their version, commit, packages and migrations."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DIST: Final = Path(os.environ.get("DIST", ROOT / "dist"))
MIGRATIONS: Final = "core/playmolt_core/db/sql/migrations"


class Unfit(Exception):
    """A part cannot be made, or is wrong. The message gives the reason in one line."""


def version() -> str:
    return (ROOT / "VERSION").read_text("utf-8").strip()


@cache
def tag() -> str:
    """The tag of this build; each commit has its own."""
    return run(["deploy/tag.sh"]).strip()


@cache
def commit() -> str:
    return run(["git", "rev-parse", "HEAD"]).strip()


@cache
def committed_at() -> datetime:
    """The time of the commit. Built files carry it, so that a second build gives the same bytes."""
    return datetime.fromtimestamp(int(run(["git", "show", "--no-patch", "--format=%ct", "HEAD"])), UTC)


def changed_migrations(root: Path = ROOT) -> list[str]:
    """Migrations of earlier releases (git tags) that are changed or missing here, each with its tag.

    A database that applied such a migration cannot be migrated further. Raises Unfit if git fails.
    """
    found = dict[str, str]()
    for tag_name in run(["git", "tag", "--merged", "HEAD", "--sort=creatordate"], root=root).split():
        listed = run(["git", "ls-tree", "-r", tag_name, "--", MIGRATIONS], root=root).splitlines()
        for blob, path in [(line.split()[2], line.partition("\t")[2]) for line in listed]:
            here = (root / path).is_file() and run(["git", "hash-object", "--", path], root=root).strip()
            if here != blob:
                found[path] = f"{path} (in {tag_name})"
    return sorted(found.values())


def members() -> list[Path]:
    """The folders of our packages."""
    return sorted(path.parent for pattern in ("*", "services/*") for path in ROOT.glob(f"{pattern}/pyproject.toml"))


def image_name() -> str:
    registry = os.environ.get("REGISTRY", "")
    return f"{registry}/playmolt" if registry else "playmolt"


def base_image() -> str:
    """The base image of our image, from the Dockerfile."""
    (asked,) = re.findall(r"^ARG PYTHON=(\S+)$", (ROOT / "deploy" / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    return str(asked)


def tool(name: str) -> str:
    """The path of a program in the folder of this Python."""
    return str(Path(sys.executable).with_name(name))


def run(command: Sequence[str], environment: Mapping[str, str] | None = None, *, root: Path = ROOT) -> str:
    """Run a program in the root folder and return its output. Raises Unfit with the last line of its error output."""
    try:
        done = subprocess.run(
            list(command), cwd=root, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, encoding="utf-8", errors="replace", timeout=3_600, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unfit(f"{command[0]}: {error}") from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise Unfit(lines[-1] if lines else f"{command[0]} ended with {done.returncode}")
    return done.stdout


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files() -> list[Path]:
    """All files in DIST, without the list of their checksums."""
    made = (path for path in DIST.rglob("*") if path.is_file())
    return sorted(path for path in made if path.name != "SHA256SUMS")
