"""Packs of the jury in folders."""

from collections.abc import Iterator
from pathlib import Path

from playmolt_core.game.packs.faults import InvalidPack, PackFault
from playmolt_core.game.packs.folder import folder_files, folders_of

from playmolt_jury.content import pack
from playmolt_jury.content.pack import Pack


def check_folder(folder: Path) -> tuple[PackFault, ...]:
    files, faults = folder_files(folder)
    return tuple(sorted({*faults, *pack.check(files)}))


def read_folder(folder: Path) -> Pack:
    """Raises InvalidPack with all faults."""
    faults = check_folder(folder)
    if faults:
        raise InvalidPack(faults)
    return pack.read(folder_files(folder)[0])


def packs(paths: str) -> Iterator[Pack]:
    """The jury's packs in the folders of a setting. Raises InvalidPack with all faults of the first invalid pack."""
    return map(read_folder, folders_of(paths, "jury"))
