"""What is released: the sources as they lie here, their version, their commit."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DIST: Final = Path(os.environ.get("DIST", ROOT / "dist"))


class Unfit(Exception):
    """A part cannot be made, or is not as it must be; the message says why in one line."""


def version() -> str:
    return (ROOT / "VERSION").read_text("utf-8").strip()


@cache
def tag() -> str:
    """The tag of this build, which no other commit has."""
    return run(["deploy/tag.sh"]).strip()


@cache
def commit() -> str:
    return run(["git", "rev-parse", "HEAD"]).strip()


@cache
def committed_at() -> datetime:
    """When the commit was made: what is made of it bears this time, so that it comes out the same again."""
    return datetime.fromtimestamp(int(run(["git", "show", "--no-patch", "--format=%ct", "HEAD"])), UTC)


def members() -> list[Path]:
    """The folders of our packages."""
    return sorted(path.parent for pattern in ("*", "services/*") for path in ROOT.glob(f"{pattern}/pyproject.toml"))


def image_name() -> str:
    registry = os.environ.get("REGISTRY", "")
    return f"{registry}/playmolt" if registry else "playmolt"


def tool(name: str) -> str:
    """A program that a wheel of ours brought."""
    return str(Path(sys.executable).with_name(name))


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a program in the root; gives what it printed. Raises Unfit with the last line of its complaint."""
    try:
        done = subprocess.run(
            list(command), cwd=ROOT, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, encoding="utf-8", errors="replace", timeout=3_600, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unfit(f"{command[0]}: {error}") from error
    if done.returncode:
        told = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise Unfit(told[-1] if told else f"{command[0]} ended with {done.returncode}")
    return done.stdout


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files() -> list[Path]:
    """Everything made so far but what lists it."""
    made = (path for path in DIST.rglob("*") if path.is_file())
    return sorted(path for path in made if path.name != "SHA256SUMS")
