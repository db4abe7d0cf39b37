"""A pack where a writer keeps it: a folder."""

from pathlib import Path

from playmolt_schemas.games.packs import FILE_BYTES, FILES_MOST, Files

from playmolt_jury.content import pack
from playmolt_jury.content.faults import Fault
from playmolt_jury.content.pack import Pack, PackFaulty


def folder_files(folder: Path) -> tuple[Files, list[Fault]]:
    """What a folder holds; a link is a fault, and what is too large is not read to its end."""
    files: dict[str, bytes] = {}
    faults: list[Fault] = []
    for each in sorted(folder.rglob("*")):
        path = each.relative_to(folder).as_posix()
        if each.is_symlink():
            faults.append(Fault(path, 1, "unknown_file", "a link is no file of a pack: put the file itself here"))
        elif each.is_file() and len(files) <= FILES_MOST:
            with each.open("rb") as opened:
                files[path] = opened.read(FILE_BYTES + 1)
    return files, faults


def check_folder(folder: Path) -> tuple[Fault, ...]:
    files, faults = folder_files(folder)
    return tuple(sorted({*faults, *pack.check(files)}))


def read_folder(folder: Path) -> Pack:
    """Raises PackFaulty with every fault."""
    faults = check_folder(folder)
    if faults:
        raise PackFaulty(faults)
    return pack.read(folder_files(folder)[0])
