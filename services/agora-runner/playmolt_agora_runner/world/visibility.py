"""Who sees what: each event as observations with their witnesses (agora.md, Worlds).

Public places are seen by all, an alley by those in it, an attempt that fails and a whisper by those it concerns. A
thought is never seen.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace
from playmolt_schemas.stored.agora.own_world import HearingRule, OwnWorld
from playmolt_schemas.stored.agora.run import (
    ActContested,
    AgentActed,
    AgentDied,
    BillboardPosted,
    CrisisStarted,
    EpochStarted,
    MarketSettled,
    RankChanged,
    TaxChanged,
    WhisperLeaked,
)
from playmolt_schemas.stored.agora.turn import TurnRecord
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.world import world
from playmolt_agora_runner.world.state import HISTORY, Agent, Observation, RunState, shown
from playmolt_agora_runner.world.world import Row, is_public

Witnessed = tuple[Observation, tuple[str, ...]]
"""An observation and its witnesses."""


def of(state: RunState, event: Event) -> list[Witnessed]:
    """The observations of an event with their witnesses; `state` is the one before the event."""
    match event:
        case AgentActed():
            return _acted(state, event)
        case WhisperLeaked():
            values = {"agent": event.agent, "target": event.target}
            return [_witnessed(state, "leaked", values, event.heard_by)]
        case EpochStarted():
            found = (_witnessed(state, "happening", {"text": text}, state.living) for text in event.happenings)
            return [(replace(happening, turn=event.turn), audience) for happening, audience in found]
    return [_witnessed(state, kind, values, state.living) for kind, values in _news(event, state.rules.unit)]


def _news(event: Event, unit: int) -> Iterator[tuple[str, dict[str, object]]]:
    """What everybody learns of an event."""
    match event:
        case ActContested():
            yield "undone", {"agents": event.by, "act": event.undone}
        case CrisisStarted():
            yield "crisis", {"crisis": event.crisis}
        case BillboardPosted():
            yield "billboard", {"agent": event.agent, "content": shown(event.content)}
        case TaxChanged():
            yield "tax", {"agent": event.agent, "rate": event.rate}
        case RankChanged():
            yield "rank", {"agent": event.agent, "rank": event.rank}
        case AgentDied():
            yield "death", {"agent": event.agent}
        case MarketSettled():
            yield "market", {"pool": event.pool // unit, "traders": len(event.trades)}
            if event.overflow:
                yield "overflow", {"amount": event.overflow // unit}


def heard(agents: Mapping[str, Agent], witnessed: Iterable[Witnessed], kept: int) -> dict[str, Agent]:
    """The agents with what they have just learnt, the newest `kept`; the dead learn nothing."""
    after = dict(agents)
    for happening, audience in witnessed:
        for name in audience:
            agent = after[name]
            if agent.alive:
                recent = (*agent.recent[-kept:], happening)[-kept:]
                after[name] = replace(agent, recent=recent, history=_remembered(agent.history, happening))
    return after


def _remembered(history: tuple[Observation, ...], happening: Observation) -> tuple[Observation, ...]:
    """Keep the most important, among equals the newest, in order of time."""
    after = (*history, happening)
    if len(after) <= HISTORY:
        return after
    importance = [each.importance for each in after]
    least = importance.index(min(importance))
    return after[:least] + after[least + 1 :]


def _acted(state: RunState, event: AgentActed) -> list[Witnessed]:
    record = event.record
    if not record.success:
        return [_witnessed(state, "failed", {"reason": record.reason}, (record.agent,))]
    row = world.of(state).rows[str(record.action)]
    if not row.observed:
        return []
    heard = {record.agent, *hearing(state, record, row)}
    audience = tuple(name for name in state.living if name in heard)
    seen, _ = _witnessed(state, row.observed, _values(row, event), audience)
    if "feedback" in row.rules:
        others = tuple(name for name in audience if name != record.agent)
        return [(seen, others), _witnessed(state, "feedback", {"action": record.action}, (record.agent,))]
    # An utterance has its weight.
    return [(replace(seen, weight=event.weight) if row.does in ("say", "whisper") else seen, audience)]


def _values(row: Row, event: AgentActed) -> dict[str, object]:
    """What the line of an act names."""
    record = event.record
    values = {
        "content": shown(record.content),
        "place": record.place_before if row.does == "say" else record.place_after,
        "origin": record.place_before,
        "target": record.target,
        "action": record.action,
        "amount": event.value if record.amount is None else record.amount or None,
    }
    return {"agent": record.agent, **{name: values[name] for name in _NAMED[row.observed]}}


_NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "spoke": ("content", "place"),
    "whispered": ("target", "content"),
    "moved": ("place", "origin"),
    "traded": (),
    "supported": ("target",),
    "idled": (),
    "did": ("action", "target", "amount"),
    "subsidy": ("target", "amount"),
    "contested": (),
}


def hearing(state: RunState, record: TurnRecord, row: Row) -> tuple[str, ...]:
    """Who else hears of an act."""
    if row.does == "whisper":
        return (str(record.target),)
    if not row.heard:
        return ()
    where = frozenset((record.place_before, record.place_after))
    standing = {name: state.agents[name].place for name in state.living}
    if row.hearing is not None:
        return hearers(world.of(state), tuple(state.agents), standing, record.agent, where, row.hearing)
    public = state.rules.event_visibility == "global" or not row.listed or any(map(is_public, where))
    return tuple(name for name, place in standing.items() if name != record.agent and (public or place in where))


def _witnessed(state: RunState, kind: str, values: dict[str, Any], audience: tuple[str, ...]) -> Witnessed:
    return Observation(turn=state.turn, kind=kind, importance=state.rules.importance(kind), values=values), audience


def hearers(
    known: OwnWorld,
    seats: Sequence[str],
    places: Mapping[str, str],
    actor: str,
    where: frozenset[str],
    rule: HearingRule,
) -> tuple[str, ...]:
    """The other listeners, in seat order, in the places `where`; `places` has those of the living."""
    if rule.who == "all":
        heard = frozenset(seats)
    elif rule.who == "place":
        heard = frozenset(
            name for name, place in places.items() if place in where or where.intersection(known.places[place].hears)
        )
    else:
        heard = frozenset(_near(rule, seats, actor))
    return tuple(name for name in seats if name in heard and name in places and name != actor)


def _near(rule: HearingRule, seats: Sequence[str], actor: str) -> Sequence[str]:
    """The seats of a circle within reach, or those of the actor's group."""
    at, count = seats.index(actor), len(seats)
    if rule.who == "groups":
        first = at // rule.size * rule.size
        return seats[first : first + rule.size]
    return [seats[(at + step) % count] for step in range(-rule.reach, rule.reach + 1)]
