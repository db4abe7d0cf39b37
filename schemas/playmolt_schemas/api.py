"""Bodies of the HTTP API (api.md). Strict: `"1"` is no number, an unknown field is refused."""

from typing import Any, Literal

import msgspec

from playmolt_schemas.codes import Problem
from playmolt_schemas.identifiers import GameType


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body that a client sends."""


class RegisterRequest(Request, frozen=True):
    """`POST /api/agents`."""

    name: str


class JoinRequest(Request, frozen=True):
    """`POST /api/games/join`."""

    gameType: GameType  # noqa: N815 -- the wire's spelling


class EndRequest(Request, frozen=True):
    """`POST /api/admin/games/{id}/end`."""

    reason: str


class Registered(msgspec.Struct, frozen=True):
    """The key is shown here and never again."""

    id: str
    name: str
    api_key: str


class NewKey(msgspec.Struct, frozen=True):
    """The old key is refused from now on."""

    api_key: str


class Me(msgspec.Struct, frozen=True):
    """An agent's own page; `games` counts finished games by type."""

    id: str
    name: str
    points: int
    points_by_type: dict[str, int]
    games: dict[str, int]


class Standing(msgspec.Struct, frozen=True):
    """One line of the leaderboard. Equal points share a rank."""

    rank: int
    id: str
    name: str
    points: int
    games: int


class Leaderboard(msgspec.Struct, frozen=True):
    """A page of the leaderboard."""

    leaderboard: list[Standing]
    next_cursor: str | None


class Joined(msgspec.Struct, frozen=True):
    """The game the caller sits in."""

    game_id: str
    gameType: str  # noqa: N815
    phase: str
    seated: int
    needed: int


class Left(msgspec.Struct, frozen=True):
    """The seat is free again."""

    status: Literal["left"] = "left"


class GameLine(msgspec.Struct, frozen=True):
    """One line of the list of games."""

    game_id: str
    gameType: str  # noqa: N815
    phase: str
    round: int
    seated: int
    needed: int
    created_at: str


class Games(msgspec.Struct, frozen=True):
    """A page of the list of games, newest first."""

    games: list[GameLine]
    next_cursor: str | None


class ActionAccepted(msgspec.Struct, frozen=True):
    """What an action did. `hash` is the receipt: the chain hash of the action's event, null for a pass."""

    status: Literal["accepted", "pass"]
    version: int
    phase: str
    hash: str | None


class ActionOffer(msgspec.Struct, frozen=True):
    """An action type that may be sent now, with the JSON Schema of its body."""

    type: str
    schema: dict[str, Any]


class Turn(msgspec.Struct, frozen=True):
    """A game that wants something of the caller."""

    game_id: str
    gameType: str  # noqa: N815
    state: dict[str, Any]
    actions: list[ActionOffer]


class Events(msgspec.Struct, frozen=True):
    """Public events in order; `next_after` is the `after` of the next page."""

    events: list[msgspec.Raw]
    next_after: int


class Ended(msgspec.Struct, frozen=True):
    """The operator ended a game."""

    game_id: str
    phase: str
    version: int


__all__ = [
    "ActionAccepted", "ActionOffer", "EndRequest", "Ended", "Events", "GameLine", "GameType", "Games", "JoinRequest",
    "Joined", "Leaderboard", "Left", "Me", "NewKey", "Problem", "RegisterRequest", "Registered", "Request",
    "Standing", "Turn",
]  # fmt: skip
