"""Contests of an architect's acts, in worlds where ranks act."""

from typing import Literal

import msgspec
from playmolt_schemas.stored.agora.turn import Effect

from playmolt_agora_runner.world import ledger, world
from playmolt_agora_runner.world.state import Contestable, RunState

CONTESTS: int = 2
"""So many residents undo an act."""
OPEN_TURNS: int = 2
"""In so many turns after the one of the act."""
Undone = Literal["tax", "subsidy", "billboard"]


def is_open(state: RunState, agent: str) -> bool:
    """Whether an agent may contest now: one whose rank gives the right, once an act."""
    act, held = state.contestable, state.agents[agent]
    if not act or not world.of(state).may_contest(held.influence):
        return False
    return agent not in act.by and act.turn < state.turn <= act.turn + OPEN_TURNS


def undoing(state: RunState) -> Contestable | None:
    """The act that enough residents have contested."""
    act = state.contestable
    return act if act and len(act.by) >= CONTESTS else None


def taken_back(state: RunState, act: Contestable) -> tuple[Effect, Effect]:
    """What undoing it applies and, in a world that only reckons, would apply: a subsidy goes back as far as it can."""
    if act.kind != "subsidy" or not state.agents[act.target].alive:
        return Effect(), Effect()
    rules = state.rules
    steps = [(act.target, -act.amount * rules.unit)]
    energy = ledger.moved(ledger.balances(state), steps, rules.energy.max * rules.unit)
    effect = Effect(energy=energy, treasury=-sum(energy.values()))
    return (effect, Effect()) if rules.energy.ledger == "real" else (Effect(), effect)


def with_contest(act: Contestable, agent: str) -> Contestable:
    return msgspec.structs.replace(act, by=(*act.by, agent))
