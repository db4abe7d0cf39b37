"""Reads packs from folders."""

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar, get_args

from playmolt_schemas.canonical import Files
from playmolt_schemas.limits import PACK_FILE_BYTES, PACK_FILES

from playmolt_core.game.packs.entries import EntryKind, EntryPack, read
from playmolt_core.game.packs.faults import InvalidPack, PackFault
from playmolt_core.game.packs.frame import PACK, PackGame

E = TypeVar("E")


def folders_of(paths: str, game: PackGame) -> Iterator[Path]:
    """The folders in a setting that contain packs of a game."""
    return (path for path in map(Path, filter(None, paths.split(os.pathsep))) if game_of(path) == game)


def game_of(folder: Path) -> PackGame:
    """The game in `pack.toml`; the jury if it names no known game."""
    try:
        game = tomllib.loads((folder / PACK).read_text("utf-8-sig")).get("game")
    except (OSError, ValueError, RecursionError):
        return "jury"
    known: tuple[PackGame, ...] = get_args(PackGame)
    return next((each for each in known if each == game), "jury")


def folder_files(folder: Path) -> tuple[Files, list[PackFault]]:
    """The files of a folder, cut off above the size limit; links are faults."""
    files: dict[str, bytes] = {}
    faults: list[PackFault] = []
    for each in sorted(folder.rglob("*")):
        path = each.relative_to(folder).as_posix()
        if each.is_symlink():
            faults.append(PackFault(path, 1, "unknown_file", "links are not allowed in a pack; copy the file instead"))
        elif each.is_file() and len(files) <= PACK_FILES:
            with each.open("rb") as opened:
                files[path] = opened.read(PACK_FILE_BYTES + 1)
        elif not each.is_file() and not each.is_dir():
            faults.append(PackFault(path, 1, "unknown_file", "a pack may contain only files; remove this"))
    return files, faults


def entry_packs(paths: str, kind: EntryKind[E]) -> Iterator[EntryPack[E]]:
    """A game's packs in the folders of a setting. Raises InvalidPack with all faults of a pack."""
    return (read(sound_files(folder), kind) for folder in folders_of(paths, kind.game))


def sound_files(folder: Path) -> Files:
    """The files of a folder. Raises InvalidPack if it contains links."""
    files, faults = folder_files(folder)
    if faults:
        raise InvalidPack(tuple(faults))
    return files
