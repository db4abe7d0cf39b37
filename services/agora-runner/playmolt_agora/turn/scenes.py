"""What an agent is shown at its turn: the state cut to what it may know (agora.md, Worlds; stage1.md, context)."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

import msgspec
from playmolt_schemas.agora.turn import ConstraintLevel, RunSpec, Seat

from playmolt_agora.run.state import Agent, State
from playmolt_agora.turn.scene import Happening, Scene
from playmolt_agora.world import places

LEVELS: Final[dict[str, ConstraintLevel]] = {"archivist": "high", "merchant": "mid", "jester": "low"}
"""How strongly Phase 2 instructs each persona that it has a text for."""


class Context(msgspec.Struct, frozen=True):
    """How much an agent is shown: events, history items and their least importance."""

    name: str
    events: int
    history: int
    importance: int = 1


FULL: Final = Context("full", events=10, history=10)
MEDIUM: Final = Context("medium", events=5, history=5, importance=4)
MINIMAL: Final = Context("minimal", events=2, history=0)


def scene(state: State, agent_id: str) -> Scene:
    """An agent's scene now; LookupError for an agent that is not in the run."""
    spec, rules, seat = state.run, state.rules, state.seat(agent_id)
    agent = state.agents[agent_id]
    context = _context(state, agent)
    events = agent.recent[-context.events :]
    plain = Scene(
        phase=spec.phase,
        language=spec.language,
        agent=agent_id,
        persona=seat.persona,
        persona_condition=spec.persona_condition,
        constraint_level=constraint_level(spec, seat),
        place=agent.place,
        turn=state.turn,
        turns=spec.turns,
        residents=len(state.living),
        residents_start=len(state.seats),
        here=places.beside(state.agents, agent_id),
        agents=state.living,
        context=context.name,
        events=events,
        history=() if spec.phase == "phase2" else _history(agent.history, events, context),
        rules=msgspec.to_builtins(rules),
    )
    return _with_society(state, agent, plain)


def constraint_level(spec: RunSpec, seat: Seat) -> ConstraintLevel | None:
    """How strongly Phase 2 instructs a seat; None outside Phase 2."""
    if spec.phase != "phase2":
        return None
    return LEVELS.get(seat.persona or "", "none") if spec.persona_condition == "with_persona" else "none"


def shown_gini(state: State) -> str | None:
    """The inequality of the epoch's start with two decimals."""
    return str(Decimal(state.gini).quantize(Decimal("0.01"), ROUND_HALF_UP)) if state.gini is not None else None


def _with_society(state: State, agent: Agent, plain: Scene) -> Scene:
    """Add energy, influence and the market, where the world has them."""
    rules, replace = state.rules, msgspec.structs.replace
    if rules.energy.ledger != "none":
        plain = replace(plain, energy=agent.energy // rules.unit, energy_max=rules.energy.max, gini=shown_gini(state))
    if rules.influence:
        plain = replace(
            plain,
            influence=agent.influence,
            rank=agent.rank,
            supporters=agent.supporters,
            supported=agent.supported,
        )
    if rules.market:
        plain = replace(
            plain,
            tax_rate=state.tax_rate,
            treasury=state.treasury // rules.unit,
            billboard=state.shown_billboard,
            crisis=state.crisis,
        )
    return plain


def _context(state: State, agent: Agent) -> Context:
    rules = state.rules
    if not rules.context_by_energy or rules.energy.ledger != "real":
        return FULL
    energy = agent.energy // rules.unit
    if energy >= 100:
        return FULL
    return MEDIUM if energy >= 50 else MINIMAL


def _history(history: tuple[Happening, ...], events: tuple[Happening, ...], context: Context) -> tuple[Happening, ...]:
    """Take the weightiest, of equal weight the newest, that are not among the events; show them newest last."""
    older = [each for each in history if each.importance >= context.importance and each not in events]
    ranked = sorted(range(len(older)), key=lambda place: (-older[place].importance, -place))
    return tuple(older[place] for place in sorted(ranked[: context.history]))
