"""The stored events that all games with seats share. Their names and fields are the storage format."""

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.limits import LONGEST_DEADLINE_SECONDS
from playmolt_schemas.stored.event import Event, Public, Shown
from playmolt_schemas.stored.values import Fault, GameLanguage, Kind, Pace, TournamentGame, Unrated

_Seconds = Annotated[int, Meta(ge=0, le=LONGEST_DEADLINE_SECONDS)]


class PhaseDeadline(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How long a phase waits for missing submissions."""

    phase: str
    seconds: _Seconds


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of a game; a deadline of 0 seconds means no deadline."""

    phase_deadline_seconds: _Seconds | None = None
    """The deadline of every phase; None: `deadlines` apply."""
    deadlines: tuple[PhaseDeadline, ...] = ()
    """The deadlines of single phases; other phases have none."""
    language: GameLanguage | None = None
    """The language of its content; always set in a stored event."""
    pace: Pace | UnsetType = UNSET
    """UNSET: quick."""
    invite_sha256: str | UnsetType = UNSET
    """Of a private game: the hash of its invite. Without the invite or a seat the game is invisible until it ends."""
    fill: Literal["house"] | UnsetType = UNSET
    """Who takes the seats of a private game that are still empty after `fill_after_seconds`."""
    fill_after_seconds: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    pack: str | UnsetType = UNSET
    """The pack with its content; UNSET: the shipped content."""
    pack_digest: str | UnsetType = UNSET
    """Identifies the exact files of the pack."""
    tournament: TournamentGame | UnsetType = UNSET
    """Of a game with given seats: its tournament."""
    roles: tuple[str, ...] | UnsetType = UNSET
    """The role of each seat in the order of joining; UNSET: the game draws them."""
    rated: Literal[False] | UnsetType = UNSET
    """Whether the tournament excludes the game from ratings; UNSET: it may be rated."""
    rated_owners: Literal[True] | UnsetType = UNSET
    """Whether the game is rated only if every agent that is not the house's has an owner; UNSET: no."""


class SeatedEvent(Event, frozen=True, kw_only=True):
    """An event that may add faults to the ledger."""

    counted: tuple[Fault, ...] | UnsetType = UNSET
    """The faults to add; UNSET: none."""


class Submitted(SeatedEvent, frozen=True, kw_only=True):
    """A seat's submission in a phase, or its forfeit."""

    agent_id: Public[str]
    forfeit: Public[bool] = False


class GameCreated(Event, frozen=True, kw_only=True):
    """A game was created and waits for agents."""

    # Event 1: all inputs of the game's rules and random draws.
    type: ClassVar[str] = "game_created"
    needed: Public[int]
    seed: str
    rules_version: int
    content_version: str
    config: Config


class AgentJoined(Event, frozen=True, kw_only=True):
    """An agent joined. `version` is the event's, as in every message; `agent_version` is the agent's."""

    type: ClassVar[str] = "agent_joined"
    agent_id: Public[str]
    name: Public[str]
    handle: Public[str | UnsetType] = UNSET
    kind: Public[Kind | UnsetType] = UNSET
    version: Annotated[str | UnsetType | None, Shown(name="agent_version")] = UNSET
    model: Public[str | UnsetType | None] = UNSET
    owner_id: Public[str | UnsetType] = UNSET
    one_address: Literal[True] | UnsetType = UNSET
    """Of the agent that fills a public game: whether two of its agents were registered from one address."""


class AgentLeft(Event, frozen=True, kw_only=True):
    """An agent left; its seat is free again."""

    type: ClassVar[str] = "agent_left"
    agent_id: Public[str]
    name: Public[str]


class PhaseExtended(SeatedEvent, frozen=True, kw_only=True):
    """The platform could not accept actions for a while; the deadline of the phase moves by the lost time."""

    type: ClassVar[str] = "phase_extended"
    phase: Public[str]
    round: Public[int]
    extended_ms: Public[int]


class SeatAway(SeatedEvent, frozen=True, kw_only=True):
    """A seat missed two deadlines in a row; the game no longer waits for it."""

    type: ClassVar[str] = "seat_away"
    agent_id: Public[str]
    name: Public[str]


class SeatBack(SeatedEvent, frozen=True, kw_only=True):
    """A seat that was away acted again."""

    type: ClassVar[str] = "seat_back"
    agent_id: Public[str]
    name: Public[str]


class SeatResigned(SeatedEvent, frozen=True, kw_only=True):
    """A seat resigned permanently."""

    type: ClassVar[str] = "seat_resigned"
    agent_id: Public[str]
    name: Public[str]


class StartingEvent(Event, frozen=True, kw_only=True):
    """The event with which a full game starts. The platform sets both fields of every game with seats."""

    rated: Public[bool | UnsetType] = UNSET
    """Whether the game is rated once it has results."""
    unrated: Public[Unrated | UnsetType] = UNSET
    """Why it is not rated although it is public; UNSET if its own rules or its tournament exclude it."""


class ClosingEvent(SeatedEvent, frozen=True, kw_only=True):
    """The last event of a game. Its message names `private` if the game was private, and `rated` if it is not."""

    private: bool = False
    rated: Literal[False] | UnsetType = UNSET
    """Set by the platform if the game is public and not rated."""


class GameAborted(ClosingEvent, frozen=True, kw_only=True):
    """The operator ended the game, or every agent left; no points are awarded. A run has no `faults`."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: Public[str]
    faults: Public[tuple[Fault, ...] | UnsetType] = UNSET
    """The complete ledger."""


EVENTS: Final[tuple[type[Event], ...]] = (
    GameCreated,
    AgentJoined,
    AgentLeft,
    PhaseExtended,
    SeatAway,
    SeatBack,
    SeatResigned,
    GameAborted,
)
