"""Generated files beside the repository they are generated for: write them, or say which of them are stale."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

Files = Mapping[str, bytes]
"""Path below the repository's root → content."""


def json_file(value: Any) -> bytes:
    """Encode a document for people and for `git diff`: indented, in the order it was made, one line end at the end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def stale(root: Path, files: Files, folders: Sequence[str]) -> list[str]:
    """Name the files that differ from what would be written, and what nobody generates any more in `folders`."""
    differing = [name for name, content in files.items() if _read(root / name) != content]
    return sorted([*differing, *_strays(root, files, folders)])


def write(root: Path, files: Files, folders: Sequence[str]) -> list[str]:
    """Make the files what they should be, delete the strays in `folders`, and name what changed."""
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
    """Write or, with --check, compare; give the exit status: 1 when something is stale, 2 outside a repository."""
    parser = argparse.ArgumentParser(description="Write the generated files, or compare them with --check.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    parser.add_argument("--root", type=Path, default=Path(), help="the repository (default: the current folder)")
    options = parser.parse_args(arguments)
    root: Path = options.root
    if not (root / "schemas").is_dir():
        sys.stderr.write(f"{root.resolve()} holds no folder schemas: run this in the repository, or name it: --root\n")
        return 2
    if not options.check:
        sys.stdout.writelines(f"wrote {name}\n" for name in write(root, files, folders))
        return 0
    differing = stale(root, files, folders)
    sys.stderr.writelines(f"stale: {name}\n" for name in differing)
    if differing:
        sys.stderr.write("Run `make docs` and commit what it writes.\n")
    return 1 if differing else 0


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _strays(root: Path, files: Files, folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        for path in (root / folder).rglob("*"):
            name = path.relative_to(root).as_posix()
            if path.is_file() and name not in files:
                yield name
