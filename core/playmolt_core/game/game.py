"""What deciders are built on: a handler for each class of command, a fold for each class of event, and what most games
leave as it is here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec
from msgspec.structs import replace
from playmolt_schemas.codes import Code, faults
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
    Event,
    Refused,
    Viewer,
)


class Versioned(Protocol):
    """A state that counts the events folded into it."""

    @property
    def version(self) -> int: ...


S = TypeVar("S", bound=Versioned)

Changes = dict[str, Any]
"""The fields of a state that an event changes, `version` aside."""
Fold = Callable[[Any, Any, datetime], Changes]
"""Gives the changes of (state, event, when it was decided)."""
Handler = Callable[[S, Any], Decision]

_replace: Callable[..., Any] = replace
"""A state is a struct, which its Protocol cannot say."""


class Game(Decider[S]):
    """A decider whose commands and events are looked up by their class, never by their parents'.

    A deadline that has passed changes nothing, unless a game handles `DeadlinePassed` itself.
    """

    folds: Mapping[type[Event], Fold]
    from_content: frozenset[str] = frozenset()
    opening: ClassVar[frozenset[type[Command]]]
    """The commands that a stream can begin with."""
    unknown: ClassVar[Refused]
    """The refusal of any other command while nothing is stored."""
    foreign: ClassVar[Refused] = Refused(Code.INVALID_REQUEST, "This game takes no such command.")
    """The refusal of a command that has no handler."""

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
        """The event that a state brings about by itself, in the same step as `command`; None when it waits."""

    @override
    def evolve(self, state: S, event: Event, at: datetime) -> S:
        changes = self.folds[type(event)](state, event, at)
        after: S = _replace(state, version=state.version + 1, **changes)
        return after

    @override
    def public(self, state: S, event: Event, viewer: Viewer) -> Mapping[str, Any] | msgspec.Struct | None:
        return None

    @override
    def operator_view(self, state: S) -> Mapping[str, Any]:
        return {}

    @override
    def participants(self, state: S) -> Mapping[str, str]:
        return {}

    @override
    def resigned(self, state: S, agent_id: str) -> bool:
        return False

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

    def _completed(self, state: S, decided: tuple[Event, ...], command: Command, at: datetime) -> Accepted:
        """Fold what was decided, then what each state brings about by itself; all is one step."""
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


def _nothing(_: Any, __: DeadlinePassed) -> Decision:
    return Accepted()


def ended(command: EndGame, event: Callable[..., Event]) -> Decision:
    """Let it end with `event(reason=…)`, the reason trimmed; refused when the reason is empty, long or unstorable."""
    reason = trimmed(command.reason)
    if fault := reason_fault(reason):
        return Refused(Code.INVALID_REQUEST, f"Say why: reason {fault}.", faults({"reason": fault}))
    return Accepted((event(reason=reason),))
