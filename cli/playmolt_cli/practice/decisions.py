"""The decisions in a stored game, each with the state before it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from playmolt_core.game.decider import Decider, S, read_event
from playmolt_core.game.fold import time_of
from playmolt_schemas.records import Record
from playmolt_schemas.stored.seats import Submitted

_COMMENT: Final = "comment"


class DecisionPoint(msgspec.Struct, frozen=True):
    """The question to a seat, independent of the game's course."""

    agent_id: str
    phase: str
    round: int


class StoredDecision(msgspec.Struct, frozen=True):
    """A submission; `action` is None if it was forfeited."""

    question: DecisionPoint
    version: int
    at: datetime
    before: Any
    action: Mapping[str, Any] | None


def decisions(decider: Decider, records: Sequence[Record]) -> Iterator[StoredDecision]:
    """The submissions of a game, in order."""
    state = decider.initial(records[0].stream)
    for record in records:
        event, at = read_event(decider, record.type, record.schema_version, record.data), time_of(record)
        if isinstance(event, Submitted):
            question = decision_point(decider, state, event.agent_id)
            yield StoredDecision(question, record.version, at, state, action_of(decider, event))
        state = decider.evolve(state, event, at)


def decision_point(decider: Decider, state: object, agent_id: str) -> DecisionPoint:
    card = decider.summary(state)
    return DecisionPoint(agent_id, card.phase, card.round)


def action_of(decider: Any, event: Submitted) -> Mapping[str, Any] | None:
    """The action of a submission; None if it was forfeited."""
    return None if event.forfeit else decider.action_of(event)


def state_after(decider: Decider[S], records: Sequence[Record]) -> S:
    state = decider.initial(records[0].stream)
    for record in records:
        event = read_event(decider, record.type, record.schema_version, record.data)
        state = decider.evolve(state, event, time_of(record))
    return state


def alike(one: Mapping[str, object] | None, other: Mapping[str, object] | None) -> bool:
    """Whether two actions are equal, ignoring comments."""
    return _without_comment(one) == _without_comment(other)


def _without_comment(action: Mapping[str, object] | None) -> Mapping[str, object] | None:
    return action and {name: value for name, value in action.items() if name != _COMMENT}


def action_text(action: Mapping[str, object] | None, beside: Mapping[str, object] | None) -> str:
    """The fields of an action that differ from the other one."""
    if action is None:
        return "nothing"
    other = beside or {}
    parts = [f"{name} {value!r}" for name, value in action.items() if name != "type" and other.get(name) != value]
    return ", ".join(parts) or str(action["type"])
