"""How each event changes a run (`evolve`), and the stage that follows."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, cast

from msgspec import UNSET
from msgspec.structs import replace
from playmolt_core.game.game import Changes, Fold
from playmolt_schemas.agora.feed import ActView
from playmolt_schemas.copying import copied
from playmolt_schemas.stored.agora.run import (
    ActContested,
    AgentActed,
    AgentDied,
    BillboardPosted,
    CallMade,
    CrisisStarted,
    EpochStarted,
    GameAborted,
    Interviewed,
    MarketSettled,
    RankChanged,
    ResourceSettled,
    RunEnded,
    RunOpened,
    RunPaused,
    RunResumed,
    TaxChanged,
    TurnFailed,
    WhisperLeaked,
)
from playmolt_schemas.stored.agora.turn import Effect, TurnRecord
from playmolt_schemas.stored.event import Event
from playmolt_schemas.text import WITHHELD

from playmolt_agora_runner.world import ledger, market, named_rules, visibility, world
from playmolt_agora_runner.world.state import (
    ACTS,
    JUDGED_TURNS,
    Agent,
    Billboard,
    Contestable,
    Pause,
    RunState,
    Stage,
    dying,
    shown,
)
from playmolt_agora_runner.world.world import Row


def evolve(state: RunState, event: Event, at: datetime) -> RunState:
    changes = _FOLDS[type(event)](state, event, at)
    witnessed = visibility.of(state, event)
    if witnessed:
        agents = cast("Mapping[str, Agent]", changes.get("agents", state.agents))
        changes["agents"] = visibility.heard(agents, witnessed, world.of(state).kept())
    after = replace(state, version=state.version + 1, **changes)
    stage = _stage(after)
    return after if stage == after.stage else replace(after, stage=stage)


def _stage(state: RunState) -> Stage:
    """The epoch's stage after skipping stages that need no event."""
    stage = state.stage
    if stage in ("morning", "evening") and dying(state) is not None:
        return stage
    if stage in ("morning", "acting"):
        stage = "acting" if state.living else "finished"
        if stage == "acting" and state.acted >= len(state.order):
            stage = "market" if state.rules.market else "evening"
    if stage == "evening" and dying(state) is None:
        stage = "regrowth"
    if stage == "regrowth" and state.settled >= len(state.resources):
        return "finished" if _is_last(state) else "opening"
    return stage


def _is_last(state: RunState) -> bool:
    """Whether this turn was the last one: all are taken, no agent lives, or the world has ended."""
    living = len(state.living)
    over = not living or state.turn >= state.run.turns
    return over or ledger.exhausted(world.of(state), state.resources, living)


def _always(**changes: object) -> Fold:
    """A fold that makes the same changes whatever the event holds."""
    return lambda *_: dict(changes)


def _opened(_: RunState, event: RunOpened, at: datetime) -> Changes:
    rules = event.rules
    start = rules.energy.start * rules.unit
    known = world.made(rules, event.spec.packaged)
    influence, rank = known.influence, known.ranked(known.influence).id
    return {
        "phase": "running",
        "spec": event.spec,
        "seats": event.seats,
        "rules": rules,
        "world": event.world,
        "content_version": event.content_version,
        "replayed": event.replayed,
        "agents": {
            seat.agent: Agent(place=seat.home, energy=start, shadow=start, influence=influence, rank=rank)
            for seat in event.seats
        },
        "resources": {name: each.start for name, each in known.resources.items()},
        "tax_rate": rules.tax_rate,
        "pool": rules.pool * rules.unit,
        "due": at,
    }


def _epoch(state: RunState, event: EpochStarted, at: datetime) -> Changes:
    return {
        "turn": event.turn,
        "order": event.order,
        "acted": 0,
        "trades": {},
        "crisis": event.crisis,
        "gini": event.gini.get("energy"),
        "agents": _affected(state.agents, event.effect_applied, Effect()),
        "resources": _held(state, event.effect_applied),
        "settled": 0,
        "stage": "crisis" if event.crisis else "morning",
        "due": at,
        "answered": UNSET,
    }


def _interviewed(state: RunState, _: Interviewed, at: datetime) -> Changes:
    """Counted and nothing else: no agent learns of it."""
    return {"answered": (state.answered or 0) + 1, "pauses": 0, "due": at}


def _acted(state: RunState, event: AgentActed, at: datetime) -> Changes:
    record = event.record
    agents = _affected(state.agents, record.effect_applied, record.effect_shadow)
    actor = agents[record.agent]
    if record.place_after != actor.place:
        agents[record.agent] = replace(actor, place=record.place_after)
    changes = _taken(state, record, at, private=event.private) | {
        "agents": agents,
        "treasury": state.treasury + record.effect_applied.treasury + record.effect_shadow.treasury,
        "resources": _held(state, record.effect_applied),
    }
    if not record.success:
        return changes
    row = world.of(state).rows[str(record.action)]
    if "pool" in row.rules:
        changes["trades"] = state.trades | {record.agent: state.trades.get(record.agent, 0) + 1}
    if "ties" in row.rules:
        _counted(agents, record.agent, str(record.target))
    return changes | {"owed": _owed(state, event, row)} | _contestable(state, event, row)


def _failed(state: RunState, event: TurnFailed, at: datetime) -> Changes:
    return _taken(state, event.record, at)


def _taken(state: RunState, record: TurnRecord, at: datetime, *, private: bool = False) -> Changes:
    return {
        "acts": (*state.acts[1 - ACTS :], act_view(record, private=private)),
        "acted": state.acted + 1,
        "taken": state.taken + 1,
        "unusable": _unusable(state, record),
        "pauses": 0,
        "due": at,
    }


def act_view(record: TurnRecord, *, private: bool) -> ActView:
    """A turn as everybody sees it: without the words of a whisper."""
    whispered = private or record.action == "whisper"
    return copied(
        ActView,
        record,
        agent_id=record.agent,
        target=_shown_target(record),
        location=record.place_before,
        content=None if whispered or record.content is None else shown(record.content),
        code=None if record.action is not None else record.parse_code,
    )


def _shown_target(record: TurnRecord) -> str | None:
    """The target of an act. If its texts are hidden, the target may be one of them, unless the act succeeded on it."""
    named = record.target is None or (record.success and record.action != "build_billboard")
    return WITHHELD if record.raw_reply == WITHHELD and not named else record.target


def _unusable(state: RunState, record: TurnRecord) -> dict[str, int]:
    before = state.unusable.get(record.model, 0)
    if before >= JUDGED_TURNS:
        return state.unusable
    return {**state.unusable, record.model: before + 1 if record.action is None else JUDGED_TURNS}


def _contestable(state: RunState, event: AgentActed, row: Row) -> Changes:
    """A subsidy that may be contested, or one more contest; tax and billboard have separate events."""
    record = event.record
    if "subsidy" in row.rules:
        act = Contestable(
            kind="subsidy", turn=record.turn, agent=record.agent, target=str(record.target), amount=event.value or 0
        )
        return {"contestable": act}
    if "contest" in row.rules and state.contestable:
        return {"contestable": replace(state.contestable, by=(*state.contestable.by, record.agent))}
    return {}


def _held(state: RunState, effect: Effect) -> dict[str, int]:
    return state.resources | {name: state.resources[name] + step for name, step in effect.resources.items()}


def _owed(state: RunState, event: AgentActed, row: Row) -> WhisperLeaked | BillboardPosted | TaxChanged | None:
    record = event.record
    if event.heard_by and "leak" in row.rules:
        return copied(WhisperLeaked, record, place=record.place_after, heard_by=event.heard_by)
    if "billboard" in row.rules:
        text = named_rules.text_of(_shown_target(record), record.content, row)
        until = state.turn + state.rules.billboard_epochs - 1
        return copied(BillboardPosted, record, content=text or "", until=until)
    if "set_tax" in row.rules and event.value is not None:
        tax = market.effective_tax(state, event.value)
        return copied(TaxChanged, record, before=state.tax_rate, rate=event.value, effective_tax=tax)
    return None


def _counted(agents: dict[str, Agent], giver: str, taker: str) -> None:
    given, taken = agents[giver].supported, agents[taker].supporters
    agents[giver] = replace(agents[giver], supported=given | {taker: given.get(taker, 0) + 1})
    agents[taker] = replace(agents[taker], supporters=taken | {giver: taken.get(giver, 0) + 1})


def _affected(agents: Mapping[str, Agent], applied: Effect, shadow: Effect) -> dict[str, Agent]:
    after = dict(agents)
    for name in {**applied.energy, **applied.influence, **shadow.energy}:
        agent = after[name]
        after[name] = replace(
            agent,
            energy=agent.energy + applied.energy.get(name, 0),
            shadow=agent.shadow + shadow.energy.get(name, 0),
            influence=agent.influence + applied.influence.get(name, 0),
        )
    return after


def _posted(state: RunState, event: BillboardPosted, _: datetime) -> Changes:
    return {
        "owed": None,
        "billboard": Billboard(agent=event.agent, content=shown(event.content), until=event.until),
        "contestable": Contestable(kind="billboard", turn=event.turn, agent=event.agent, billboard=state.billboard),
    }


def _taxed(_: RunState, event: TaxChanged, __: datetime) -> Changes:
    act = Contestable(kind="tax", turn=event.turn, agent=event.agent, amount=event.before)
    return {"owed": None, "tax_rate": event.rate, "contestable": act}


def _contested(state: RunState, event: ActContested, _: datetime) -> Changes:
    changes: Changes = {
        "contestable": None,
        "agents": _affected(state.agents, event.effect_applied, event.effect_shadow),
        "treasury": state.treasury + event.effect_applied.treasury + event.effect_shadow.treasury,
    }
    act = state.contestable
    if act and act.kind == "tax":
        changes["tax_rate"] = act.amount
    if act and act.kind == "billboard":
        changes["billboard"] = act.billboard
    return changes


def _resource(state: RunState, event: ResourceSettled, _: datetime) -> Changes:
    return {
        "resources": state.resources | {event.name: event.after},
        "settled": state.settled + 1,
        "stage": "regrowth",
    }


def _ranked(state: RunState, event: RankChanged, _: datetime) -> Changes:
    return {"agents": state.agents | {event.agent: replace(state.agents[event.agent], rank=event.rank)}}


def _settled(state: RunState, event: MarketSettled, _: datetime) -> Changes:
    return {
        "agents": _affected(state.agents, event.effect_applied, event.effect_shadow),
        "treasury": event.treasury,
        "pool": event.next_pool,
        "stage": "evening",
    }


def _died(state: RunState, event: AgentDied, _: datetime) -> Changes:
    dead = replace(state.agents[event.agent], alive=False, died=event.turn)
    return {
        "agents": state.agents | {event.agent: dead},
        "order": tuple(name for name in state.order if name != event.agent)
        if state.stage == "morning"
        else state.order,
    }


def _paused(state: RunState, event: RunPaused, at: datetime) -> Changes:
    until = at + timedelta(seconds=event.seconds) if event.seconds else None
    return {
        "phase": "paused",
        "pause": Pause(event.code, event.detail, until, at),
        "pauses": state.pauses + (event.code == "model_away"),
    }


def _resumed(_: RunState, __: RunResumed, at: datetime) -> Changes:
    return {"phase": "running", "pause": None, "due": at}


def _ended(_: RunState, event: RunEnded, __: datetime) -> Changes:
    return {"phase": "ended", "pause": None, "outcome": event.outcome}


_FOLDS: Final[Mapping[type[Event], Fold]] = {
    RunOpened: _opened,
    EpochStarted: _epoch,
    CrisisStarted: _always(stage="morning"),
    CallMade: _always(),
    AgentActed: _acted,
    TurnFailed: _failed,
    Interviewed: _interviewed,
    WhisperLeaked: _always(owed=None),
    BillboardPosted: _posted,
    TaxChanged: _taxed,
    RankChanged: _ranked,
    MarketSettled: _settled,
    ResourceSettled: _resource,
    ActContested: _contested,
    AgentDied: _died,
    RunPaused: _paused,
    RunResumed: _resumed,
    RunEnded: _ended,
    GameAborted: _always(phase="aborted", pause=None),
}
