"""What a game is: a pure decider (DESIGN.md, One idea). Nothing in here or behind it reads a clock or does I/O."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import msgspec
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.game_messages import Fault, GameSummary
from playmolt_schemas.identity import NO_IDENTITY, Identity


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A stored fact. Its class gives the log's `type` and `schema_version`; both are the storage format for ever."""

    type: ClassVar[str]
    schema_version: ClassVar[int] = 1
    closes: ClassVar[bool] = False
    """Whether the feed of the game ends with this event."""
    rests: ClassVar[bool] = False
    """Whether the game is over while this event is its last, although it can be opened again."""


def stored_types(*events: type[Event]) -> Mapping[tuple[str, int], type[Event]]:
    """The class that reads each stored (type, schema_version); ValueError when two classes claim the same."""
    readers = {(event.type, event.schema_version): event for event in events}
    if len(readers) < len(events):
        raise ValueError(f"two of {[event.__qualname__ for event in events]} have the same type and version")
    return readers


class Command(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Something that is asked of a game; it may be refused."""

    gathered: tuple[Fault, ...] = ()
    """What refusals before it count as, told where it ends a game: stored with the first event that it comes to."""


class Create(Command, frozen=True, kw_only=True):
    """Open a game. `seed` is a decimal string; `config` is the game's own full configuration."""

    seed: str
    config: Mapping[str, Any]


class Join(Command, frozen=True, kw_only=True):
    """Take a seat."""

    agent_id: str
    name: str
    identity: Identity = NO_IDENTITY


class Leave(Command, frozen=True, kw_only=True):
    """Give the seat back while the game waits."""

    agent_id: str


class Act(Command, frozen=True, kw_only=True):
    """An agent's action: any JSON value, as it came; the rules check it in the order of api.md."""

    agent_id: str
    action: Any


class Resign(Command, frozen=True, kw_only=True):
    """Give the game up while it is played."""

    agent_id: str


class Forfeit(Command, frozen=True, kw_only=True):
    """Let the present submission go, and say through whom it is missing."""

    agent_id: str
    kind: Literal["bot", "provider"]
    what: str
    turn_id: str | None = None


class DeadlinePassed(Command, frozen=True, kw_only=True):
    """The due time of an effect has come."""

    effect_id: str
    lost_ms: int = 0
    """For how long the platform could take no actions since what it waits for began."""


class EndGame(Command, frozen=True, kw_only=True):
    """The operator ends the game."""

    reason: str


class Accepted(msgspec.Struct, frozen=True, gc=False):
    """What happened, in order. No events: the command was in order and changes nothing (a pass)."""

    events: tuple[Event, ...] = ()
    states: tuple[Any, ...] = ()
    """The state after each event, where deciding took folding them; else empty, and the engine folds them."""
    passed: bool = False
    """Whether the command itself changes nothing, whatever its coming brought about."""


class Refused(msgspec.Struct, frozen=True, gc=False):
    """Why not, and what to do next."""

    code: Code
    detail: str
    errors: tuple[FieldFault, ...] = ()
    events: tuple[Event, ...] = ()
    """What its coming brought about all the same: stored before the refusal is told."""
    fault: Fault | None = None
    """What it counts as, where no event of its own says so."""
    game_id: str = ""
    """The game that stands in the way."""


Decision = Accepted | Refused


class Viewer(msgspec.Struct, frozen=True, gc=False):
    """Who looks: an agent, or anybody (`agent_id` None)."""

    agent_id: str | None = None


PUBLIC = Viewer()


class Effect(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Work outside that a game waits for. `id` follows from the state, so it is the same after a crash."""

    id: str
    kind: str
    due: datetime
    """When it is to be carried out: a deadline's time, or the moment the effect arose for work to be done at once."""
    lease: str = ""
    """Under what name a worker takes it, "" for its id. Effects that follow one another under one name can be carried
    out under one lease."""
    payload: Any = None
    """What its worker needs to do it, and no more: the game's own type for the kind. For a deadline: since when."""


class AllowedAction(msgspec.Struct, frozen=True):
    """An action type that an agent may send now, with the JSON Schema of its body."""

    type: str
    schema: Mapping[str, Any]


S = TypeVar("S")


class Decider(Protocol[S]):
    """The rules of one game. Every method is pure and total: a refusal is a value, an exception is a bug."""

    game: str
    """The id prefix and `gameType`."""
    rules_version: int
    content_version: str
    """Changes whenever a content file does (a digest of them)."""
    needed: int
    """How many seats fill a game."""
    events: Mapping[tuple[str, int], type[Event]]
    """Every stored (type, schema_version) and the class that reads it."""
    from_content: frozenset[str]
    """The types of events that hold what was drawn from content; without that content they cannot be decided again."""

    def initial(self, game_id: str) -> S:
        """The state of a game of which nothing is stored yet."""
        ...

    def decide(self, state: S, command: Command, at: datetime) -> Decision:
        """Decide a command. The rules check participation, phase and fields in the order of api.md."""
        ...

    def evolve(self, state: S, event: Event, at: datetime) -> S:
        """Fold one event, stored at `at`, into the state. Never fails on a stored event."""
        ...

    def public(self, state: S, event: Event, viewer: Viewer) -> Mapping[str, Any] | msgspec.Struct | None:
        """The flat message of an event for a viewer, without game_id, version and at; None where there is none.

        `state` is the state right after the event. This and `view` are the only sources of public bytes: a field is
        secret until it is named here.
        """
        ...

    def view(self, state: S, viewer: Viewer) -> msgspec.Struct:
        """The state as a viewer may see it: the body of `GET /api/games/{id}/state`."""
        ...

    def operator_view(self, state: S) -> Mapping[str, Any]:
        """What the operator's page of a game adds: its `config`."""
        ...

    def summary(self, state: S) -> GameSummary:
        """The game at a glance."""
        ...

    def participants(self, state: S) -> Mapping[str, str]:
        """Agent id → name of everyone who sits in the game, in seat order."""
        ...

    def resigned(self, state: S, agent_id: str) -> bool:
        """Whether an agent who sits in the game has given it up, and may sit elsewhere."""
        ...

    def fill_after(self, state: S) -> int | None:
        """How many seconds after its creation house bots may join a game; None: never."""
        ...

    def lacks(self, state: S) -> str:
        """The digest of content that a waiting game needs and this process has not: no seat of it is given here."""
        ...

    def allowed_actions(self, state: S, agent_id: str) -> Sequence[AllowedAction]:
        """What the game wants of an agent now; empty when it waits for others."""
        ...

    def recovered(self, state: S, events: Sequence[Event], at: datetime) -> Iterable[Command]:
        """The commands that may have come to stored events, of which the first is its own, likeliest first.

        `state` is what it met. Empty where the rules cannot tell; what they can is decided again by `log check`.
        """
        ...

    def pinned(self, decided: Event, stored: Event) -> Event:
        """An event decided again, with what the stored one says of the rules it was played with."""
        ...

    def turn_id(self, state: S, agent_id: str) -> str | None:
        """Names what the game wants of an agent now; another name for the next question. None: nothing is asked."""
        ...

    def effects(self, state: S) -> Sequence[Effect]:
        """The work outside that the game waits for now. Asked after every step, so it must cost little."""
        ...


_decoder = lru_cache(maxsize=None)(msgspec.json.Decoder)
"""Making a decoder costs more than most events."""


def read_event(decider: Decider[Any], kind: str, schema_version: int, data: bytes | msgspec.Raw) -> Event:
    """Decode a stored event. A type that is unknown raises LookupError: an engine must not guess."""
    try:
        reader = decider.events[kind, schema_version]
    except KeyError:
        raise LookupError(f"{decider.game}: no reader for stored event {kind!r} version {schema_version}") from None
    event: Event = _decoder(reader).decode(data)
    return event
