"""What the log of every game with seats holds. Names and fields are stored for ever: change one, and add a version."""

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
    """What an operator can set for a game; a deadline of 0 seconds is none."""

    phase_deadline_seconds: _Seconds | None = None
    """That of every phase; None: those of `deadlines`."""
    deadlines: tuple[PhaseDeadline, ...] | UnsetType = UNSET
    """The game's own, as they were; a phase that is not there has none."""
    language: GameLanguage | UnsetType = UNSET
    """What its content is told in; in games of before the first one."""
    invite_sha256: str | UnsetType = UNSET
    """Of a private game: nobody knows of it without the invite or a seat until it ends."""
    fill: Literal["house"] | UnsetType = UNSET
    """Who takes the seats of a private game that stay empty so many seconds after it was opened."""
    fill_after_seconds: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    pack: str | UnsetType = UNSET
    """Whose content it is drawn from; UNSET: the shipped."""
    pack_digest: str | UnsetType = UNSET
    """Names the very files of that pack."""


class SeatedEvent(Event, frozen=True, kw_only=True):
    """An event that may add to the ledger of faults."""

    counted: tuple[Fault, ...] | UnsetType = UNSET


class Submitted(SeatedEvent, frozen=True, kw_only=True):
    """What a phase asked of a seat is in, or what stands for it."""

    agent_id: str
    forfeit: bool = False


class GameCreated(Event, frozen=True, kw_only=True):
    """Event 1: all that the draws and the rules of this game follow from."""

    type: ClassVar[str] = "game_created"
    needed: int
    seed: str
    rules_version: int
    content_version: str
    config: Config


class AgentJoined(Event, Identity, frozen=True, kw_only=True):
    """A seat is taken."""

    type: ClassVar[str] = "agent_joined"
    agent_id: str
    name: str


class AgentLeft(Event, frozen=True, kw_only=True):
    """A seat is free again."""

    type: ClassVar[str] = "agent_left"
    agent_id: str
    name: str


class PhaseExtended(SeatedEvent, frozen=True, kw_only=True):
    """The platform could take no actions for more than a third of the phase: its deadline moves by the time lost."""

    type: ClassVar[str] = "phase_extended"
    phase: str
    round: int
    extended_ms: int


class SeatAway(SeatedEvent, frozen=True, kw_only=True):
    """A seat missed two deadlines in a row; from now on nobody waits for it."""

    type: ClassVar[str] = "seat_away"
    agent_id: str
    name: str


class SeatBack(SeatedEvent, frozen=True, kw_only=True):
    """A seat that was away has acted."""

    type: ClassVar[str] = "seat_back"
    agent_id: str
    name: str


class SeatResigned(SeatedEvent, frozen=True, kw_only=True):
    """A seat gave the game up; it is away for good."""

    type: ClassVar[str] = "seat_resigned"
    agent_id: str
    name: str


class Closing(SeatedEvent, frozen=True, kw_only=True):
    """The last event of a game."""

    private: bool | UnsetType = UNSET
    """Whether the game was private; UNSET in games of before the field."""


class GameAborted(Closing, frozen=True, kw_only=True):
    """The operator ended the game, or nobody was left in it. `faults` is the whole ledger."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str
    faults: tuple[Fault, ...] | UnsetType = UNSET


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
