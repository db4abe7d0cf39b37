"""Batches of calls and answers between the gateway and an engine, in MessagePack; bodies that seat agents.

A batch contains the calls that were pending in one iteration of the caller's event loop; an engine may answer them in
several batches. A call that changes something is answered only after the commit in Postgres.
"""

from datetime import datetime
from typing import Literal

import msgspec

from playmolt_schemas.stored.values import (
    DEFAULT_LANGUAGE,
    DEFAULT_PACE,
    NO_IDENTITY,
    GameLanguage,
    Identity,
    Pace,
    TournamentGame,
)

Op = Literal[
    "act", "open", "join", "seat_table", "leave", "resign", "forfeit", "away", "fault", "end", "command",
    "query", "state", "events", "feed", "turn", "games", "log", "operator", "erase",
]  # fmt: skip
"""The operations, described in docs/engine-operations.md."""

WRITES: frozenset[str] = frozenset(
    {"act", "open", "join", "seat_table", "leave", "resign", "forfeit", "away", "fault", "end", "command"}
)


class Call(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A request to an engine.

    `target` is a game id, or "" for the lobby. `agent` is "" for a spectator. `command_id` is 32 hex digits and the
    same on every retry; `fingerprint` is the digest of the body, or "" if the client sent no Idempotency-Key.
    `patience_ms` is how long the caller waits for the answer; 0: it does not say.
    """

    id: int
    op: Op
    target: str
    body: bytes = b"{}"
    agent: str = ""
    name: str = ""
    operator: bool = False
    command_id: str = ""
    fingerprint: str = ""
    trace: str = ""
    identity: Identity = NO_IDENTITY
    """The agent's identity, on `open` and `join`."""
    invite: str = ""
    """The hex SHA-256 of the caller's invite; "" for none."""
    patience_ms: int = 0
    present: bool = False
    """Whether the agent itself sent the request: a seat of its that is away is then back."""


class Answer(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An engine's answer: an HTTP status and a body, which is JSON unless `content_type` is set.

    `total` is the length of a body that is too long for one answer; `body` is then the requested part.
    """

    id: int
    status: int
    body: bytes
    content_type: str = ""
    total: int = 0


encode_pack = msgspec.msgpack.Encoder().encode
decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode
decode_calls = msgspec.msgpack.Decoder(list[Call]).decode


class SeatBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Body of `join` and `open`."""

    language: GameLanguage | None = None
    pace: Pace = DEFAULT_PACE
    fill: Literal["house"] | None = None
    fill_after_seconds: int = 0
    deadline_seconds: int | None = None
    pack: str | None = None
    public: bool = True
    """Whether the caller may be seated in a public game."""

    def config(self) -> dict[str, object]:
        """Its part of the configuration of a new game. Without a language, a pack decides it."""
        named = {"fill": self.fill, "phase_deadline_seconds": self.deadline_seconds, "pack": self.pack}
        named["fill_after_seconds"] = self.fill_after_seconds if self.fill else None
        named["language"] = self.language or (None if self.pack else DEFAULT_LANGUAGE)
        named["pace"] = self.pace if self.pace != DEFAULT_PACE else None
        return {name: value for name, value in named.items() if value is not None}


class TableSeat(Identity, frozen=True, kw_only=True, omit_defaults=True):
    """A seat of a tournament's game, with the agent's identity at this time."""

    id: str
    name: str
    role: str | None = None
    away: bool = False
    """Whether the game does not wait for it: the agent is banned."""


class TableBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `seat_table`. A role is given to all seats or to none."""

    tournament: TournamentGame
    seats: tuple[TableSeat, ...]
    language: GameLanguage | None = None
    pack: str | None = None
    deadline_seconds: int | None = None
    rated: bool = True
    begins_before: datetime | None = None
    """When it is too late to begin this game."""
    check: bool = False
    """Only check whether such a game can be created: nothing is stored, and the seats do not count."""

    def config(self) -> dict[str, object]:
        """Its part of the configuration of the new game."""
        asked = SeatBody(language=self.language, pack=self.pack, deadline_seconds=self.deadline_seconds)
        roles = [seat.role for seat in self.seats if seat.role is not None]
        named: dict[str, object] = {"tournament": msgspec.to_builtins(self.tournament)}
        return asked.config() | named | ({"roles": roles} if roles else {}) | ({} if self.rated else {"rated": False})
