"""A room as it is locked: its seats, the rules of its world and the files that its runs read."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_schemas.stored.agora.turn import ConstraintLevel, Language, PhaseName


class LockedSeat(msgspec.Struct, frozen=True, kw_only=True):
    """A seat of a room. `model` is null where the cell's model plays it."""

    agent: str
    persona: str | None
    home: str
    model: str | None = None


class LockedRoom(msgspec.Struct, frozen=True, kw_only=True):
    """A room with nothing left open.

    `rules` are all rules of a world of the folder; of a packaged world they are UNSET, and `changes` has what the room
    changes in it. `levels` says how strongly personas of the folder instruct, `files` is path → SHA-256.
    """

    name: str
    world: str
    base: PhaseName
    runs: int
    turns: int
    models: tuple[str, ...]
    languages: tuple[Language, ...]
    mix: Literal["one", "all"]
    seats: tuple[LockedSeat, ...]
    rules: dict[str, Any] | UnsetType = UNSET
    changes: dict[str, Any] = {}
    levels: dict[str, ConstraintLevel] = {}
    files: dict[str, str] = {}
