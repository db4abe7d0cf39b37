"""The messages and the state of a tournament (community.md, Tournaments and seasons)."""

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from playmolt_schemas.feed_messages import FeedMessages, PublicMessage
from playmolt_schemas.game_messages import GameMessages
from playmolt_schemas.stored.tournament import EVENTS, Format
from playmolt_schemas.stored.values import GameLanguage, Kind

TournamentState = Literal["open", "running", "ended", "aborted"]
EntrantState = Literal["in", "paused", "left"]
RoundState = Literal["running", "closed"]
TablePhase = Literal["waiting", "playing", "end", "aborted"]
"""`waiting`: its game does not exist yet. `aborted`: it counts without a result."""


class TournamentMessage(PublicMessage, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a tournament."""

    id_field = "tournament_id"


FEED: Final = FeedMessages(EVENTS, __name__, TournamentMessage)


class OwnerRef(msgspec.Struct, frozen=True, kw_only=True):
    """An owner as shown beside its agents."""

    id: str
    name: str


class EntrantView(msgspec.Struct, frozen=True, kw_only=True):
    """An entrant. `number` is its number in the messages of the feed."""

    number: int
    id: str
    handle: str
    name: str
    kind: Kind
    owner: OwnerRef | None
    state: EntrantState


class StandingView(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the standings. Equal entrants share a rank."""

    rank: int
    id: str
    handle: str
    name: str
    owner: OwnerRef | None
    points: int
    wins: int
    buchholz: int
    games: int


class SeatRef(msgspec.Struct, frozen=True, kw_only=True):
    """A seat at a table, in a game with roles with its role."""

    id: str
    role: str | UnsetType = UNSET


class TableView(msgspec.Struct, frozen=True, kw_only=True):
    """A game of a round. `game_id` is null and house bots are absent until the game exists."""

    game_id: str | None
    phase: TablePhase
    seats: tuple[SeatRef, ...]


class RoundView(msgspec.Struct, frozen=True, kw_only=True):
    """A round. In an arena several may run at a time."""

    round: int
    state: RoundState
    games: tuple[TableView, ...]


class Meetings(msgspec.Struct, frozen=True, kw_only=True):
    """How often two entrants met: the least and the most of any two."""

    min: int
    max: int


class TournamentView(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament's state: `GET /api/tournaments/{id}`. Terms that are not set are null."""

    id: str
    name: str
    version: int
    state: TournamentState
    reason: str | None
    """Why it was aborted."""
    game_type: str
    format: Format
    language: GameLanguage | None
    pack: str | None
    created_by: OwnerRef | None
    """null: the operator."""
    created_at: str
    starts_at: str | None
    """Announced; after the start, when it was."""
    ends_at: str | None
    """Of an arena and a season."""
    ended_at: str | None
    changed_at: str | None
    """When its terms, entrants, standings or state changed last."""
    min_entrants: int | None
    max_entrants: int | None
    per_owner: int
    rounds_planned: int | None
    round: int
    """The newest one; 0 before the first."""
    duration_minutes: int | None
    deadline_seconds: int | None
    rated: bool
    seats: int
    repeats: int | None
    """Pairs that met again, over all rounds; null except in a swiss tournament."""
    meetings: Meetings | None
    """null except in a round robin."""
    entrants: tuple[EntrantView, ...]
    standings: tuple[StandingView, ...]
    rounds: tuple[RoundView, ...]


MESSAGES: Final = GameMessages({}, TournamentView, FEED, TournamentState)
