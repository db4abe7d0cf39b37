"""The stored events that all games with seats share. Their names and fields are the storage format."""

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from playmolt_schemas.game_messages import Fault, GameLanguage
from playmolt_schemas.identity import Identity
from playmolt_schemas.limits import LONGEST_DEADLINE_SECONDS

from playmolt_core.game.decider import Event

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
    invite_sha256: str | UnsetType = UNSET
    """Of a private game: the hash of its invite. Without the invite or a seat the game is invisible until it ends."""
    fill: Literal["house"] | UnsetType = UNSET
    """Who takes the seats of a private game that are still empty after `fill_after_seconds`."""
    fill_after_seconds: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    pack: str | UnsetType = UNSET
    """The pack with its content; UNSET: the shipped content."""
    pack_digest: str | UnsetType = UNSET
    """Identifies the exact files of the pack."""


class SeatedEvent(Event, frozen=True, kw_only=True):
    """An event that may add faults to the ledger."""

    counted: tuple[Fault, ...] | UnsetType = UNSET
    """The faults to add; UNSET: none."""


class Submitted(SeatedEvent, frozen=True, kw_only=True):
    """A seat's submission in a phase, or its forfeit."""

    agent_id: str
    forfeit: bool = False


class GameCreated(Event, frozen=True, kw_only=True):
    """Event 1: all inputs of the game's rules and random draws."""

    type: ClassVar[str] = "game_created"
    needed: int
    seed: str
    rules_version: int
    content_version: str
    config: Config


class AgentJoined(Event, Identity, frozen=True, kw_only=True):
    """An agent took a seat."""

    type: ClassVar[str] = "agent_joined"
    agent_id: str
    name: str


class AgentLeft(Event, frozen=True, kw_only=True):
    """An agent left; its seat is free again."""

    type: ClassVar[str] = "agent_left"
    agent_id: str
    name: str


class PhaseExtended(SeatedEvent, frozen=True, kw_only=True):
    """The platform could not accept actions for more than a third of the phase; its deadline moves by the lost time."""

    type: ClassVar[str] = "phase_extended"
    phase: str
    round: int
    extended_ms: int


class SeatAway(SeatedEvent, frozen=True, kw_only=True):
    """A seat missed two deadlines in a row; the game no longer waits for it."""

    type: ClassVar[str] = "seat_away"
    agent_id: str
    name: str


class SeatBack(SeatedEvent, frozen=True, kw_only=True):
    """A seat that was away acted again."""

    type: ClassVar[str] = "seat_back"
    agent_id: str
    name: str


class SeatResigned(SeatedEvent, frozen=True, kw_only=True):
    """A seat resigned permanently."""

    type: ClassVar[str] = "seat_resigned"
    agent_id: str
    name: str


class ClosingEvent(SeatedEvent, frozen=True, kw_only=True):
    """The last event of a game."""

    private: bool = False
    """Whether the game was private."""


class GameAborted(ClosingEvent, frozen=True, kw_only=True):
    """The operator ended the game, or all agents left it. `faults` is the complete ledger."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str
    faults: tuple[Fault, ...] = ()


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
