"""Packs of trials and O/X questions, each checked as its game reads it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from playmolt_core.game.packs import entries
from playmolt_core.game.packs.entries import EntryKind
from playmolt_core.game.packs.faults import Fault
from playmolt_core.game.packs.folder import folder_files, game_of
from playmolt_core.game.packs.frame import PackGame
from playmolt_jury.content import pack_folder
from playmolt_ox.content import QUESTIONS
from playmolt_trial.content import CASES

KINDS: Final[Mapping[PackGame, EntryKind[Any]]] = {kind.game: kind for kind in (CASES, QUESTIONS)}


def check_folder(folder: Path) -> tuple[Fault, ...]:
    """All that is wrong with a pack of whichever game it names."""
    game = game_of(folder)
    if game not in KINDS:
        return pack_folder.check_folder(folder)
    files, faults = folder_files(folder)
    return tuple(sorted({*faults, *entries.check(files, KINDS[game])}))
