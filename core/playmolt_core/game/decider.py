"""The decider of a game (DESIGN.md, One idea): pure, without clock and I/O."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, Literal, Protocol

import msgspec
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.values import NO_IDENTITY, Fault, Identity
from typing_extensions import TypeVar

S = TypeVar("S", default=Any)
"""The state of a game; where a type does not name it, of any game."""
P_co = TypeVar("P_co", covariant=True, default=Any)
"""The payload of an effect."""


class Command(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A request to a game, which may be refused."""

    gathered: tuple[Fault, ...] = ()
    """Faults of earlier refusals, given when a command ends the game; stored with its first event."""


class Create(Command, frozen=True, kw_only=True):
    """Open a game. `seed` is a decimal string; `config` is the game's own full configuration."""

    seed: str
    config: Mapping[str, Any]


class Join(Command, frozen=True, kw_only=True):
    """Take a seat."""

    agent_id: str
    name: str
    identity: Identity = NO_IDENTITY
    one_address: bool = False
    """Whether two agents of the game that this join fills were registered from one address."""


class Leave(Command, frozen=True, kw_only=True):
    """Leave the game before it starts."""

    agent_id: str


class Act(Command, frozen=True, kw_only=True):
    """An agent's action: any JSON value; the rules check it in the order of api.md."""

    agent_id: str
    action: Any


class Resign(Command, frozen=True, kw_only=True):
    """Resign from a running game."""

    agent_id: str


class Forfeit(Command, frozen=True, kw_only=True):
    """Skip the current submission, with the reason."""

    agent_id: str
    kind: Literal["bot", "provider"]
    what: str
    turn_id: str | None = None


class Appear(Command, frozen=True, kw_only=True):
    """A sign that an agent is there, other than an action: it read the game, or its server answered a call."""

    agent_id: str


class Absent(Command, frozen=True, kw_only=True):
    """The game no longer waits for an agent: it is banned."""

    agent_id: str


class DeadlinePassed(Command, frozen=True, kw_only=True):
    """An effect is due."""

    effect_id: str
    lost_ms: int = 0
    """For how long the platform could not accept actions since the deadline started."""


class EndGame(Command, frozen=True, kw_only=True):
    """The operator ends the game."""

    reason: str


class Accepted(msgspec.Struct, frozen=True, gc=False):
    """The events, in order. No events: the command is valid and changes nothing (a pass)."""

    events: tuple[Event, ...] = ()
    states: tuple[Any, ...] = ()
    """The state after each event, if the decider folded them; otherwise empty, and the engine folds them."""
    passed: bool = False
    """Whether the command itself changes nothing, although its arrival caused events."""


class Refused(msgspec.Struct, frozen=True, gc=False):
    """A refusal: the problem and what to do next."""

    code: Code
    detail: str
    errors: tuple[FieldFault, ...] = ()
    events: tuple[Event, ...] = ()
    """Events to store although the command is refused."""
    fault: Fault | None = None
    """The fault that it counts as, if no event counts it."""
    game_id: str = ""
    """The game in which the agent already has a seat, or the one of its invite, which has started."""


Decision = Accepted | Refused


class Viewer(msgspec.Struct, frozen=True, gc=False):
    """The viewer: an agent, or a spectator (`agent_id` None)."""

    agent_id: str | None = None


PUBLIC = Viewer()


class Effect(msgspec.Struct, Generic[P_co], frozen=True, gc=False, kw_only=True):
    """External work that a game waits for. `id` is derived from the state, so it is the same after a crash."""

    id: str
    kind: str
    due: datetime
    """When to carry it out: the time of a deadline, or for immediate work the time of its creation."""
    lease: str = ""
    """The name of its lease; "" for its id. Successive effects with the same name can run under one lease."""
    payload: P_co
    """The input of its worker, of the game's own type for the kind. For a deadline: its start."""


class AllowedAction(msgspec.Struct, frozen=True):
    """An action type that is allowed now, with the JSON Schema of its body."""

    type: str
    schema: Mapping[str, Any]


class Decider(Protocol[S]):
    """The rules of a game. All methods are pure and total: a refusal is a value, an exception is a bug."""

    game: str
    """The id prefix and `gameType`."""
    rules_version: int
    content_version: str
    """A digest of the content files."""
    needed: int
    """The number of seats of a full game."""
    events: Mapping[tuple[str, int], type[Event]]
    """Stored (type, schema_version) → event class."""
    from_content: frozenset[str]
    """Types of events with random draws from content; without that content they cannot be decided again."""

    def initial(self, game_id: str) -> S:
        """The state of a new game."""
        ...

    def decide(self, state: S, command: Command, at: datetime) -> Decision:
        """Decide a command. The rules check participation, phase and fields in the order of api.md."""
        ...

    def evolve(self, state: S, event: Event, at: datetime) -> S:
        """Fold an event, stored at `at`, into the state. Never fails for a stored event."""
        ...

    def public(
        self, event: Event, viewer: Viewer, state: S | None = None
    ) -> Mapping[str, object] | msgspec.Struct | None:
        """The flat message of an event for a viewer, without game_id, version and at; None if it has no content.

        It follows from the event alone: a relay that fills a gap has nothing else. Only sessions, which have no
        feed, also need `state`, the state after the event. This and `view` are the only sources of public data: every
        field that they do not include is secret.
        """
        ...

    def view(self, state: S, viewer: Viewer) -> msgspec.Struct:
        """The state as a viewer may see it: the body of `GET /api/games/{id}/state`."""
        ...

    def operator_view(self, state: S) -> Mapping[str, object]:
        """The `config` of the game for the operator."""
        ...

    def summary(self, state: S) -> GameSummary:
        """The public summary of the game."""
        ...

    def participants(self, state: S) -> Mapping[str, str]:
        """Agent id → name of all participants, in seat order."""
        ...

    def owners(self, state: S) -> Collection[str]:
        """The ids of the owners of the participants' agents."""
        ...

    def resigned(self, state: S, agent_id: str) -> bool:
        """Whether a participant has resigned and may join another game."""
        ...

    def sign_of(self, state: S, agent_id: str) -> Command | None:
        """The command that a sign of this participant's presence causes; None if it changes nothing."""
        ...

    def fill_after(self, state: S) -> int | None:
        """How many seconds after its creation house bots may join a game; None: never."""
        ...

    def lacks(self, state: S) -> str:
        """The digest of content that a waiting game needs and this process lacks (it gives no seats then); else ""."""
        ...

    def allowed_actions(self, state: S, agent_id: str) -> Sequence[AllowedAction]:
        """The actions that an agent may take now; empty if it is not the agent's turn."""
        ...

    def recovered(self, state: S, events: Sequence[Event], at: datetime) -> Iterable[Command]:
        """The commands that may have caused stored events, beginning with the first one, likeliest first.

        `state` is the state before. Empty if the rules cannot recover commands; `log check` decides them again.
        """
        ...

    def pinned(self, decided: Event, stored: Event) -> Event:
        """An event decided again, with the inputs of the stored event, such as its rules version."""
        ...

    def turn_id(self, state: S, agent_id: str) -> str | None:
        """Identifies the agent's current turn; None if it is not the agent's turn."""
        ...

    def effects(self, state: S) -> Sequence[Effect]:
        """The external work that the game waits for now. Called after every step, so it must be cheap."""
        ...

    def hashes_state(self, version: int, *, closes: bool) -> bool:
        """Whether the record of this version carries the hash of the state; `closes`: it is the last one."""
        ...


_decoder = lru_cache(maxsize=None)(msgspec.json.Decoder)
"""Cached, because creating a decoder costs more than decoding most events."""


def read_event(decider: Decider, kind: str, schema_version: int, data: bytes | str | msgspec.Raw) -> Event:
    """Decode a stored event. Raises LookupError for an unknown type."""
    try:
        reader = decider.events[kind, schema_version]
    except KeyError:
        raise LookupError(f"{decider.game}: no reader for stored event {kind!r} version {schema_version}") from None
    event: Event = _decoder(reader).decode(data)
    return event
