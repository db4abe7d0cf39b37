"""Events without a command: the epoch's order of stage1.md, one event at a time, each from the state alone."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from playmolt_schemas.instrument.definitions import exact_gini
from playmolt_schemas.stored.agora.own_world import OwnEvent
from playmolt_schemas.stored.agora.run import (
    ActContested,
    AgentDied,
    CrisisStarted,
    EpochStarted,
    RankChanged,
    ResourceSettled,
)
from playmolt_schemas.stored.agora.turn import Effect
from playmolt_schemas.stored.agora.world import SeedEvent
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.world import chance, ledger, market, world
from playmolt_agora_runner.world.state import Contestable, RunState, dying

CONTESTS: Final = 2
"""So many agents undo an act."""


def next_event(state: RunState) -> Event | None:
    """The next event that follows from the state alone; None while it waits for an agent or its report."""
    if state.over:
        return None
    if state.owed is not None:
        return state.owed
    if (act := state.contestable) and len(act.by) >= CONTESTS:
        return _undone(state, act)
    return _ranked(state) or _of_stage(state)


def decay(state: RunState, turn: int, crisis: str | None) -> int:
    """The decay of an epoch, in whole energy."""
    rules = state.rules
    steps = turn // rules.decay.every
    return int(rules.decay.base + Fraction(rules.decay.step) * steps) + (rules.crisis.extra if crisis else 0)


def _of_stage(state: RunState) -> Event | None:
    match state.stage:
        case "opening":
            return None if state.asked_aside else begun(state)
        case "crisis":
            return CrisisStarted(turn=state.turn, crisis=str(state.crisis), extra=state.rules.crisis.extra)
        case "morning" | "evening":
            return AgentDied(turn=state.turn, agent=str(dying(state)))
        case "market":
            return market.settled(state)
        case "regrowth":
            return _regrown(state)
    return None


def begun(state: RunState) -> EpochStarted:
    """The first event of the next epoch, whatever the run waits for."""
    rules, spec, turn = state.rules, state.run, state.turn + 1
    seeds = [each for each in rules.seed_events if each.turn == turn]
    crisis = chance.crisis(spec, turn, rules.crisis.p) if turn >= rules.crisis.from_ else None
    taken = decay(state, turn, crisis) if rules.energy.ledger == "real" else 0
    steps = [(name, -taken * rules.unit) for name in state.living]
    happening = [each for each in world.of(state).events if each.turn == turn]
    shown: tuple[SeedEvent | OwnEvent, ...] = (*seeds, *happening)
    return EpochStarted(
        turn=turn,
        order=tuple(name for name in chance.order(spec, turn) if state.agents[name].alive),
        crisis=crisis,
        decay=taken,
        effect_applied=Effect(
            energy=ledger.moved(state, steps),
            resources=_given(state, happening),
        ),
        gini=_gini(state),
        happenings=tuple(each.in_language(spec.language) for each in shown),
    )


def _given(state: RunState, happening: Sequence[OwnEvent]) -> dict[str, int]:
    """The effects of a turn's happenings on resources, in order."""
    before, held = state.resources, dict(state.resources)
    for each in happening:
        for name, step in ledger.changed(world.of(state), held, each.resources).items():
            held[name] += step
    return {name: value - before[name] for name, value in held.items() if value != before[name]}


def _gini(state: RunState) -> dict[str, str]:
    """The Gini coefficients by kind; none in a world without energy."""
    rules, living = state.rules, [state.agents[name] for name in state.living]
    kinds: dict[str, list[int]] = {}
    if rules.energy.ledger != "none":
        kinds["energy"] = [agent.energy for agent in living]
    if rules.influence:
        kinds["influence"] = [agent.influence for agent in living]
    if rules.energy.ledger == "shadow":
        kinds["shadow"] = [agent.shadow for agent in living]
    return {kind: ledger.decimal(exact_gini(values)) for kind, values in kinds.items()}


def _undone(state: RunState, act: Contestable) -> ActContested:
    """An act is undone: a subsidy goes back as far as it can."""
    energy: dict[str, int] = {}
    if act.kind == "subsidy" and state.agents[act.target].alive:
        energy = ledger.moved(state, [(act.target, -act.amount * state.rules.unit)])
    applied, shadow = ledger.reckoned(state, Effect(energy=energy, treasury=-sum(energy.values())))
    return ActContested(turn=state.turn, by=act.by, undone=act.kind, effect_applied=applied, effect_shadow=shadow)


def _regrown(state: RunState) -> ResourceSettled | None:
    """The next resource to grow again; None once all have."""
    resources, held = world.of(state).resources, state.resources
    if not held:
        return None
    name = list(resources)[state.settled]
    grown = ledger.regrown(resources[name], held[name])
    return ResourceSettled(turn=state.turn, name=name, before=held[name], regrown=grown, after=held[name] + grown)


def _ranked(state: RunState) -> RankChanged | None:
    known = world.of(state)
    for name, agent in state.agents.items():
        rank = known.ranked(agent.influence).id
        if agent.alive and rank != agent.rank:
            return RankChanged(turn=state.turn, agent=name, before=agent.rank, rank=rank)
    return None
