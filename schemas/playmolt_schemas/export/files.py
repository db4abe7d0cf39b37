"""Writes generated files to the repository, or reports which are stale."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

Files = Mapping[str, bytes]
"""Path relative to the repository → content."""


def json_file(value: object) -> bytes:
    """Encode a document readably: indented, in insertion order, with a final line end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def stale(root: Path, files: Files, folders: Sequence[str]) -> list[str]:
    """The files that differ from their generated content, and files in `folders` that are no longer generated."""
    differing = [name for name, content in files.items() if _read(root / name) != content]
    return sorted([*differing, *_obsolete(root, files, folders)])


def write(root: Path, files: Files, folders: Sequence[str]) -> list[str]:
    """Write the files, delete obsolete ones in `folders`, and return the changed paths."""
    changed = stale(root, files, folders)
    for name in changed:
        path = root / name
        if name in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])
        else:
            path.unlink()
    return changed


def run(files: Files, folders: Sequence[str], arguments: Sequence[str]) -> int:
    """Write or, with --check, compare. Returns the exit status: 1 if something is stale, 2 outside a repository."""
    parser = argparse.ArgumentParser(description="Write the generated files, or compare them with --check.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    parser.add_argument("--root", type=Path, default=Path(), help="the repository (default: the current folder)")
    options = parser.parse_args(arguments)
    root: Path = options.root
    if not (root / "schemas").is_dir():
        sys.stderr.write(f"{root.resolve()} has no folder schemas. Run this in the repository, or use --root.\n")
        return 2
    if not options.check:
        sys.stdout.writelines(f"wrote {name}\n" for name in write(root, files, folders))
        return 0
    differing = stale(root, files, folders)
    sys.stderr.writelines(f"stale: {name}\n" for name in differing)
    if differing:
        sys.stderr.write("Run `make docs` and commit the result.\n")
    return 1 if differing else 0


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _obsolete(root: Path, files: Files, folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        for path in (root / folder).rglob("*"):
            name = path.relative_to(root).as_posix()
            if path.is_file() and name not in files:
                yield name
