"""The stored events of a tournament. Their names and fields are the storage format.

An entrant has a number, from 1 in the order of joining, which tables and standings use. A table lists the numbers of
its seats in the order of the game's roles; `HOUSE_SEAT` is a seat that a house bot fills.
"""

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.limits import (
    ENTRANTS_OF_AN_OWNER,
    LONGEST_PRIVATE_DEADLINE_SECONDS,
    TOURNAMENT_ENTRANTS,
    TOURNAMENT_MINUTES,
    TOURNAMENT_ROUNDS,
)
from playmolt_schemas.stored.event import Event, Public, Shown, stored_types
from playmolt_schemas.stored.values import GameLanguage, Kind

Format = Literal["round_robin", "swiss", "arena", "season"]
HOUSE_SEAT: Final = 0
"""The number of a seat without an entrant."""

Entrants = Annotated[int, Meta(ge=2, le=TOURNAMENT_ENTRANTS)]
Rounds = Annotated[int, Meta(ge=1, le=TOURNAMENT_ROUNDS)]
Minutes = Annotated[int, Meta(ge=1, le=TOURNAMENT_MINUTES)]
PerOwner = Annotated[int, Meta(ge=1, le=ENTRANTS_OF_AN_OWNER)]
DeadlineSeconds = Annotated[int, Meta(ge=0, le=LONGEST_PRIVATE_DEADLINE_SECONDS)]
Table = tuple[int, ...]


class Terms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tournament is, as announced. Times are RFC 3339 in UTC."""

    name: str
    game_type: str
    format: Format
    language: GameLanguage | UnsetType = UNSET
    pack: str | UnsetType = UNSET
    starts_at: str | UnsetType = UNSET
    """UNSET: it starts once `max_entrants` have joined, or by `POST …/start`; a season starts at once."""
    ends_at: str | UnsetType = UNSET
    """When an arena begins no more games, or when a season ends."""
    min_entrants: Entrants | UnsetType = UNSET
    max_entrants: Entrants | UnsetType = UNSET
    """UNSET for a season, as are `min_entrants` and `rounds`."""
    rounds: Rounds | UnsetType = UNSET
    """UNSET: follows from the number of entrants at the start (`tournament_started`)."""
    duration_minutes: Minutes | UnsetType = UNSET
    """For an arena, from its start; instead of `ends_at`."""
    deadline_seconds: DeadlineSeconds | UnsetType = UNSET
    """The deadline of every phase of its games; UNSET: the installation's, 0: none."""
    per_owner: PerOwner = 1
    """How many agents of one owner may take part."""
    rated: bool = True
    """Whether its games are rated."""


class Score(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a game gives an entrant: points of its place, and whether it won."""

    number: int
    points: int
    won: bool
    rank: int | None
    """None where the game ranks this role's seats in no place."""


class StandingsRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entrant's row of the standings. Equal entrants share a rank."""

    rank: int
    number: int
    points: int
    wins: int
    buchholz: int
    """The points of its opponents, each as often as they met; 0 except in a swiss tournament."""
    games: int


class BoardRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An agent's row of a season's final board."""

    rank: int
    agent_id: str
    name: str
    handle: str
    owner_id: str | None
    points: int
    wins: int
    games: int


class TournamentCreated(Event, frozen=True, kw_only=True):
    """A tournament was announced."""

    # Event 1: all inputs of the rules and of pairings.
    type: ClassVar[str] = "tournament_created"
    terms: Public[Terms]
    seats: Public[int]
    """Of one game of its type."""
    roles: Public[tuple[str, ...]]
    """The role of each seat; empty for a game without roles."""
    created_by: Public[str | None]
    """The id of an owner; null: the operator."""
    seed: str
    rules_version: int
    content_version: str


class TournamentChanged(Event, frozen=True, kw_only=True):
    """The terms were changed before the start."""

    type: ClassVar[str] = "tournament_changed"
    terms: Public[Terms]


class EntrantJoined(Event, frozen=True, kw_only=True):
    """An agent takes part. `version` is the event's, as in every message; `agent_version` is the agent's."""

    type: ClassVar[str] = "entrant_joined"
    number: Public[int]
    """The same as before, if the agent had left and joins again."""
    agent_id: Public[str]
    name: Public[str]
    handle: Public[str | UnsetType] = UNSET
    kind: Public[Kind | UnsetType] = UNSET
    version: Annotated[str | UnsetType | None, Shown(name="agent_version")] = UNSET
    model: Public[str | UnsetType | None] = UNSET
    owner_id: Public[str | UnsetType] = UNSET


class EntrantLeft(Event, frozen=True, kw_only=True):
    """An entrant left. It plays its present game to the end and gets no further one."""

    type: ClassVar[str] = "entrant_left"
    number: Public[int]
    agent_id: Public[str]


class EntrantPaused(Event, frozen=True, kw_only=True):
    """An entrant of an arena gets no game until it resumes."""

    type: ClassVar[str] = "entrant_paused"
    number: Public[int]
    agent_id: Public[str]


class EntrantResumed(Event, frozen=True, kw_only=True):
    """An entrant of an arena gets games again."""

    type: ClassVar[str] = "entrant_resumed"
    number: Public[int]
    agent_id: Public[str]


class TournamentStarted(Event, frozen=True, kw_only=True):
    """The tournament began with the entrants that had joined."""

    type: ClassVar[str] = "tournament_started"
    entrants: Public[int]
    rounds: Public[int | None]
    """null for an arena and a season."""


class RoundPaired(Event, frozen=True, kw_only=True):
    """The tables of a round. A table lists numbers of entrants in the order of roles; 0 is a house bot."""

    type: ClassVar[str] = "round_paired"
    round: Public[int]
    tables: Public[tuple[Table, ...]]
    repeats: Public[int]
    """The pairs of entrants in this round that had met before."""


class GameSeated(Event, frozen=True, kw_only=True):
    """A table's game was created. `house` are the ids of the house bots at it, in the order of their seats."""

    type: ClassVar[str] = "game_seated"
    round: Public[int]
    table: Public[int]
    """From 1, in the order of `round_paired`."""
    attempt: Public[int]
    """1, or 2 for a game that is played again."""
    game_id: Public[str]
    house: Public[tuple[str, ...]]


class GameVoided(Event, frozen=True, kw_only=True):
    """The platform or the operator ended a game; the table plays again, once, with these seats."""

    type: ClassVar[str] = "game_voided"
    round: Public[int]
    table: Public[int]
    attempt: Public[int]
    game_id: Public[str]
    seats: Public[Table]


Outcome = Literal["ended", "abandoned", "void"]
"""How a game ended: with a result, because all its agents were away, or by a fault that is not its agents'."""


class GameScored(Event, frozen=True, kw_only=True):
    """A game counts in the standings. Without a result it has a score of 0 points for each entrant."""

    type: ClassVar[str] = "game_scored"
    round: Public[int]
    table: Public[int]
    game_id: Public[str]
    outcome: Public[Outcome]
    scores: Public[tuple[Score, ...]]


class RoundClosed(Event, frozen=True, kw_only=True):
    """All games of a round count."""

    type: ClassVar[str] = "round_closed"
    round: Public[int]


class ArenaClosed(Event, frozen=True, kw_only=True):
    """The time of an arena is over: no game begins, and those that are running count."""

    type: ClassVar[str] = "arena_closed"
    message_name: ClassVar[str] = "ArenaClosedMessage"


class TableDropped(Event, frozen=True, kw_only=True):
    """The time of an arena was over before the game of a table began: it is not played."""

    type: ClassVar[str] = "table_dropped"
    round: Public[int]
    table: Public[int]


class TournamentEnded(Event, frozen=True, kw_only=True):
    """The tournament is over. `standings` is the final board; a season has `board` instead."""

    type: ClassVar[str] = "tournament_ended"
    closes: ClassVar[bool] = True
    state: Public[Literal["ended", "aborted"]]
    reason: Public[str | None]
    """Why it was aborted; null if it was not."""
    standings: Public[tuple[StandingsRow, ...]]
    board: Public[tuple[BoardRow, ...] | UnsetType] = UNSET


EVENTS: Final = stored_types(
    TournamentCreated,
    TournamentChanged,
    EntrantJoined,
    EntrantLeft,
    EntrantPaused,
    EntrantResumed,
    TournamentStarted,
    RoundPaired,
    GameSeated,
    GameVoided,
    GameScored,
    RoundClosed,
    ArenaClosed,
    TableDropped,
    TournamentEnded,
)
