"""Who sees what: each event as observations with their witnesses (agora.md, Worlds).

Public places are seen by all, an alley by those in it, an attempt that fails and a whisper by those it concerns. A
thought is never seen.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace
from playmolt_schemas.stored.agora.own_world import CONTEST, HearingRule, OwnWorld
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
from playmolt_schemas.stored.agora.world import Rules
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.world import places, ranks
from playmolt_agora_runner.world.own_acts import hearing_is_own
from playmolt_agora_runner.world.state import HISTORY, RECENT, Agent, Observation, RunState, shown

Witnessed = tuple[Observation, tuple[str, ...]]
"""An observation and its witnesses."""


def of(state: RunState, event: Event) -> list[Witnessed]:
    """The observations of an event with their witnesses; `state` is the one before the event."""
    happenings = _WITNESSED_BY.get(type(event))
    return happenings(state, event) if happenings else []


def kept(rules: Rules) -> int:
    """How many events are stored for an agent's prompt: a heavy utterance stays longer."""
    shown = rules.own.shown if rules.own else RECENT
    return shown + ranks.heaviest(rules) - 1


def heard(agents: Mapping[str, Agent], witnessed: Iterable[Witnessed], kept: int = RECENT) -> dict[str, Agent]:
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
    own = state.rules.own
    if own and str(record.action) in own.actions:
        return _own_act(state, own, event)
    witnessed = _ACTS.get(str(record.action))
    return [_weighed(each, event) for each in witnessed(state, event)] if witnessed else []


def _weighed(witnessed: Witnessed, event: AgentActed) -> Witnessed:
    """An utterance with its weight."""
    happening, audience = witnessed
    if event.weight == 1 or happening.kind not in _SAID:
        return witnessed
    return replace(happening, weight=event.weight), audience


def _own_act(state: RunState, own: OwnWorld, event: AgentActed) -> list[Witnessed]:
    """An act of the world's own: its listeners and the actor."""
    record, action = event.record, own.actions[str(event.record.action)]
    audience = tuple(name for name in state.living if name == record.agent or name in event.heard_by)
    values: dict[str, Any] = {"agent": record.agent}
    if action.does == "say":
        kind, values = "spoke", values | {"content": shown(record.content), "place": record.place_before}
    elif action.does == "whisper":
        kind, values = "whispered", values | {"target": record.target, "content": shown(record.content)}
    elif action.does == "move":
        kind, values = "moved", values | {"place": record.place_after, "origin": record.place_before}
    else:
        kind = "did"
        values |= {"action": record.action, "target": record.target, "amount": record.amount or None}
    return [_weighed(_witnessed(state, kind, values, audience), event)]


_SAID: Final = frozenset(("spoke", "whispered"))


def _spoke(state: RunState, event: AgentActed) -> list[Witnessed]:
    record = event.record
    values = {"agent": record.agent, "content": shown(record.content), "place": record.place_before}
    return [_witnessed(state, "spoke", values, _around(state, record))]


def _whispered(state: RunState, event: AgentActed) -> list[Witnessed]:
    record = event.record
    values = {"agent": record.agent, "target": record.target, "content": shown(record.content)}
    return [_witnessed(state, "whispered", values, (record.agent, str(record.target)))]


def _moved(state: RunState, event: AgentActed) -> list[Witnessed]:
    record = event.record
    values = {"agent": record.agent, "place": record.place_after, "origin": record.place_before}
    return [_witnessed(state, "moved", values, _around(state, record))]


def _traded(state: RunState, event: AgentActed) -> list[Witnessed]:
    return _answered(state, event.record, "traded", {"agent": event.record.agent})


def _supported(state: RunState, event: AgentActed) -> list[Witnessed]:
    return _answered(state, event.record, "supported", {"agent": event.record.agent, "target": event.record.target})


def _idled(state: RunState, event: AgentActed) -> list[Witnessed]:
    return [_witnessed(state, "idled", {"agent": event.record.agent}, _around(state, event.record))]


def _granted(state: RunState, event: AgentActed) -> list[Witnessed]:
    values = {"agent": event.record.agent, "target": event.record.target, "amount": event.value}
    return [_public(state, "subsidy", values)]


def _contested_it(state: RunState, event: AgentActed) -> list[Witnessed]:
    return [_public(state, "contested", {"agent": event.record.agent})]


_ACTS: Final[Mapping[str, Callable[[RunState, AgentActed], list[Witnessed]]]] = {
    "speak": _spoke,
    "whisper": _whispered,
    "move": _moved,
    "trade": _traded,
    "support": _supported,
    "idle": _idled,
    "grant_subsidy": _granted,
    CONTEST: _contested_it,
}


def _answered(state: RunState, record: TurnRecord, kind: str, values: dict[str, Any]) -> list[Witnessed]:
    """In Phase 2 the actor sees only the neutral sentence; others see the act as usual."""
    around = _around(state, record)
    if state.run.packaged != "phase2":
        return [_witnessed(state, kind, values, around)]
    others = tuple(name for name in around if name != record.agent)
    return [
        _witnessed(state, kind, values, others),
        _witnessed(state, "feedback", {"action": record.action}, (record.agent,)),
    ]


def _settled(state: RunState, event: MarketSettled) -> list[Witnessed]:
    unit = state.rules.unit
    witnessed = [_public(state, "market", {"pool": event.pool // unit, "traders": len(event.trades)})]
    if event.overflow:
        witnessed.append(_public(state, "overflow", {"amount": event.overflow // unit}))
    return witnessed


def _around(state: RunState, record: TurnRecord) -> tuple[str, ...]:
    """Every agent if an act is public, otherwise those at its place."""
    where = (record.place_before, record.place_after)
    own = state.rules.own
    if own and hearing_is_own(own):
        return tuple(
            name for name in state.living if name == record.agent or name in others_hearing(state, own, record, where)
        )
    if state.rules.event_visibility == "global" or any(places.is_public(place) for place in where):
        return state.living
    return tuple(name for name in state.living if state.agents[name].place in where)


def others_hearing(state: RunState, own: OwnWorld, record: TurnRecord, where: tuple[str, str]) -> tuple[str, ...]:
    """The listeners of an act, without the actor, by the world's own rule."""
    seats = tuple(state.agents)
    standing = {name: state.agents[name].place for name in state.living}
    return hearers(own, seats, standing, record.agent, frozenset(where))


def _undone(state: RunState, event: ActContested) -> list[Witnessed]:
    return [_public(state, "undone", {"agents": event.by, "act": event.undone})]


def _public(state: RunState, kind: str, values: dict[str, Any], turn: int | None = None) -> Witnessed:
    return _witnessed(state, kind, values, state.living, turn)


def _witnessed(
    state: RunState, kind: str, values: dict[str, Any], audience: tuple[str, ...], turn: int | None = None
) -> Witnessed:
    happening = Observation(
        turn=state.turn if turn is None else turn, kind=kind, importance=state.rules.importance(kind), values=values
    )
    return happening, audience


def _begun(state: RunState, event: EpochStarted) -> list[Witnessed]:
    return [_public(state, "happening", {"text": text}, turn=event.turn) for text in event.happenings]


def _crisis(state: RunState, event: CrisisStarted) -> list[Witnessed]:
    return [_public(state, "crisis", {"crisis": event.crisis})]


def _leaked(state: RunState, event: WhisperLeaked) -> list[Witnessed]:
    return [_witnessed(state, "leaked", {"agent": event.agent, "target": event.target}, event.heard_by)]


def _posted(state: RunState, event: BillboardPosted) -> list[Witnessed]:
    return [_public(state, "billboard", {"agent": event.agent, "content": shown(event.content)})]


def _taxed(state: RunState, event: TaxChanged) -> list[Witnessed]:
    return [_public(state, "tax", {"agent": event.agent, "rate": event.rate})]


def _ranked(state: RunState, event: RankChanged) -> list[Witnessed]:
    return [_public(state, "rank", {"agent": event.agent, "rank": event.rank})]


def _died(state: RunState, event: AgentDied) -> list[Witnessed]:
    return [_public(state, "death", {"agent": event.agent})]


_WITNESSED_BY: Final[Mapping[type[Event], Callable[[RunState, Any], list[Witnessed]]]] = {
    AgentActed: _acted,
    ActContested: _undone,
    EpochStarted: _begun,
    CrisisStarted: _crisis,
    WhisperLeaked: _leaked,
    BillboardPosted: _posted,
    TaxChanged: _taxed,
    RankChanged: _ranked,
    AgentDied: _died,
    MarketSettled: _settled,
}


def hearers(
    world: OwnWorld, seats: Sequence[str], places: Mapping[str, str], actor: str, where: frozenset[str]
) -> tuple[str, ...]:
    """The other listeners, in seat order, in the places `where`; `places` has those of the living."""
    rule = world.hearing if world.hearing is not UNSET else HearingRule()
    if rule.who == "all":
        heard = frozenset(seats)
    elif rule.who == "place":
        heard = frozenset(
            name for name, place in places.items() if place in where or where.intersection(world.places[place].hears)
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
