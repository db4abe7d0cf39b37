"""Base class of deciders: a handler per command class, a fold per event class, and default methods."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Protocol, TypeVar

import msgspec
from msgspec.structs import replace
from playmolt_schemas.codes import Code, faults
from playmolt_schemas.stored.event import Event
from playmolt_schemas.text import reason_fault, trimmed
from typing_extensions import override

from playmolt_core.game.decider import (
    Accepted,
    AllowedAction,
    Command,
    DeadlinePassed,
    Decider,
    Decision,
    Effect,
    EndGame,
    Refused,
    Viewer,
)


class Versioned(Protocol):
    """A state that counts the events folded into it."""

    @property
    def version(self) -> int: ...


S = TypeVar("S", bound=Versioned)

Changes = dict[str, object]
"""The fields of a state that an event changes, except `version`."""
Fold = Callable[[Any, Any, datetime], Changes]
"""Returns the changes for (state, event, time of the event)."""
Handler = Callable[[S, Any], Decision]

_HASH_EVERY: Final = 25
_replace: Callable[..., Any] = replace
"""States are structs, which their Protocol cannot express."""


class Game(Decider[S]):
    """A decider with handlers and folds by exact class, not by base class.

    A passed deadline changes nothing unless the game handles `DeadlinePassed`.
    """

    folds: Mapping[type[Event], Fold]
    from_content: frozenset[str] = frozenset()
    opening: ClassVar[frozenset[type[Command]]]
    """The commands that can open a stream."""
    unknown: ClassVar[Refused]
    """The refusal of other commands for a new stream."""
    foreign: ClassVar[Refused] = Refused(Code.INVALID_REQUEST, "This game does not support this command.")
    """The refusal of commands without a handler."""

    def __init__(self, handlers: Mapping[type[Command], Handler[S]]) -> None:
        self._handlers: dict[type[Command], Handler[S]] = {DeadlinePassed: _nothing, **handlers}

    @override
    def decide(self, state: S, command: Command, at: datetime) -> Decision:
        handler = self._handlers.get(type(command))
        if handler is None:
            return self.foreign
        if not state.version and type(command) not in self.opening:
            return self.unknown
        decision = handler(state, command)
        if isinstance(decision, Refused) or not decision.events:
            return decision
        return self._completed(state, decision.events, command, at)

    def follow(self, state: S, command: Command) -> Event | None:
        """The next automatic event of a state, in the same step as `command`; None if it waits."""

    @override
    def evolve(self, state: S, event: Event, at: datetime) -> S:
        changes = self.folds[type(event)](state, event, at)
        after: S = _replace(state, version=state.version + 1, **changes)
        return after

    @override
    def public(
        self, event: Event, viewer: Viewer, state: S | None = None
    ) -> Mapping[str, object] | msgspec.Struct | None:
        return None

    @override
    def operator_view(self, state: S) -> Mapping[str, object]:
        return {}

    @override
    def participants(self, state: S) -> Mapping[str, str]:
        return {}

    @override
    def owners(self, state: S) -> Collection[str]:
        return ()

    @override
    def resigned(self, state: S, agent_id: str) -> bool:
        return False

    @override
    def sign_of(self, state: S, agent_id: str) -> Command | None:
        return None

    @override
    def fill_after(self, state: S) -> int | None:
        return None

    @override
    def lacks(self, state: S) -> str:
        return ""

    @override
    def allowed_actions(self, state: S, agent_id: str) -> Sequence[AllowedAction]:
        return ()

    @override
    def recovered(self, state: S, events: Sequence[Event], at: datetime) -> Iterable[Command]:
        return ()

    @override
    def pinned(self, decided: Event, stored: Event) -> Event:
        return decided

    @override
    def turn_id(self, state: S, agent_id: str) -> str | None:
        return None

    @override
    def effects(self, state: S) -> Sequence[Effect]:
        return ()

    @override
    def hashes_state(self, version: int, *, closes: bool) -> bool:
        return closes or version % _HASH_EVERY == 0

    def _completed(self, state: S, decided: tuple[Event, ...], command: Command, at: datetime) -> Accepted:
        """Fold the decided events and all automatic events that follow, as one step."""
        evolve, follow = self.evolve, self.follow
        events, states = list(decided), []
        for event in decided:
            state = evolve(state, event, at)
            states.append(state)
        while (following := follow(state, command)) is not None:
            state = evolve(state, following, at)
            events.append(following)
            states.append(state)
        return Accepted(tuple(events), tuple(states))


def _nothing(_: object, __: DeadlinePassed) -> Decision:
    return Accepted()


def ended(command: EndGame, event: Callable[..., Event]) -> Decision:
    """End a game with `event(reason=…)`; refused if the trimmed reason is empty, too long or not storable."""
    reason = trimmed(command.reason)
    if fault := reason_fault(reason):
        return Refused(Code.INVALID_REQUEST, f"Invalid reason: it {fault}.", faults({"reason": fault}))
    return Accepted((event(reason=reason),))
