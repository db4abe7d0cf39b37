"""An agent's scene at its turn: the part of the state that it may know (agora.md, Worlds; stage1.md, context)."""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

import msgspec
from playmolt_schemas.copying import copied
from playmolt_schemas.instrument.definitions import is_alley
from playmolt_schemas.stored.agora.own_world import CONTEST, Amounts, OwnWorld, Range
from playmolt_schemas.stored.agora.turn import ConstraintLevel, Language, RunSpec, Seat

from playmolt_agora_runner.turn.scene import Offer, OwnScene, Scene
from playmolt_agora_runner.world import acts, world
from playmolt_agora_runner.world.named_rules import RATE_MAX, ActAttempt, may_contest
from playmolt_agora_runner.world.state import Agent, Observation, RunState
from playmolt_agora_runner.world.world import Row

LEVELS: Final[dict[str, ConstraintLevel]] = {"archivist": "high", "merchant": "mid", "jester": "low"}
"""How strongly Phase 2 instructs each persona that it has a text for."""


class Context(msgspec.Struct, frozen=True):
    """Limits of an agent's context: events, history items and their least importance."""

    name: str
    events: int
    history: int
    importance: int = 1


FULL: Final = Context("full", events=10, history=10)
MEDIUM: Final = Context("medium", events=5, history=5, importance=4)
MINIMAL: Final = Context("minimal", events=2, history=0)


def scene(state: RunState, agent_id: str, texts: Mapping[str, str] = {}) -> Scene:
    """An agent's scene now; LookupError for an agent that is not in the run. `texts` are those of the plan's folder,
    path → text, for prompts."""
    spec, rules, seat = state.run, state.rules, state.seat(agent_id)
    agent = state.agents[agent_id]
    context = _context(state, agent)
    shown = rules.own.shown if rules.own else context.events
    events = _weighed(agent.recent, shown)
    own = _own_scene(state, agent_id, texts)
    offered = (offer.name for offer in own.offers) if own else ()
    energy, treasury = rules.energy.ledger != "none", world.of(state).treasury
    return Scene(
        phase=spec.packaged,
        language=spec.language,
        agent=agent_id,
        persona=seat.persona,
        persona_text=_persona_text(seat, spec.language, texts),
        persona_condition=spec.persona_condition,
        place=agent.place,
        turn=state.turn,
        turns=spec.turns,
        residents=len(state.living),
        residents_start=len(state.seats),
        here=state.beside(agent_id),
        agents=state.living,
        energy=agent.energy // rules.unit if energy else None,
        energy_max=rules.energy.max if energy else None,
        gini=shown_gini(state) if energy else None,
        influence=agent.influence if rules.influence else None,
        rank=agent.rank if rules.influence else None,
        supporters=agent.supporters if rules.influence else {},
        supported=agent.supported if rules.influence else {},
        tax_rate=state.tax_rate if treasury else None,
        treasury=state.treasury // rules.unit if treasury else None,
        billboard=state.shown_billboard,
        crisis=state.crisis,
        context=context.name,
        events=events,
        history=() if spec.packaged == "phase2" and not rules.own else _history(agent.history, events, context),
        rules=msgspec.to_builtins(rules),
        actions=tuple(dict.fromkeys((*offered, *acts.allowed(state, agent_id)))),
        own=own,
        contests=may_contest(state, agent_id),
    )


def _weighed(recent: tuple[Observation, ...], shown: int) -> tuple[Observation, ...]:
    """The events that are shown, newest last: each utterance counts as newer by its weight; of equals the newest."""
    ranked = sorted(range(len(recent)), key=lambda at: (at + recent[at].weight - 1, at))
    return tuple(recent[at] for at in sorted(ranked[-shown:]))


def constraint_level(spec: RunSpec, seat: Seat) -> ConstraintLevel | None:
    """How strongly Phase 2 or a persona of the plan's folder instructs a seat; None elsewhere."""
    if spec.levels and seat.persona in spec.levels:
        return spec.levels[seat.persona]
    if spec.packaged != "phase2" or spec.world:
        return None
    return LEVELS.get(seat.persona or "", "none") if spec.persona_condition == "with_persona" else "none"


def shown_gini(state: RunState) -> str | None:
    """The Gini coefficient at the start of the epoch, with two decimals."""
    return str(Decimal(state.gini).quantize(Decimal("0.01"), ROUND_HALF_UP)) if state.gini is not None else None


def _context(state: RunState, agent: Agent) -> Context:
    rules = state.rules
    if not rules.context_by_energy or rules.energy.ledger != "real":
        return FULL
    energy = agent.energy // rules.unit
    if energy >= 100:
        return FULL
    return MEDIUM if energy >= 50 else MINIMAL


def _history(
    history: tuple[Observation, ...], events: tuple[Observation, ...], context: Context
) -> tuple[Observation, ...]:
    """Take the weightiest, of equal weight the newest, that are not among the events; show them newest last."""
    older = [each for each in history if each.importance >= context.importance and each not in events]
    ranked = sorted(range(len(older)), key=lambda place: (-older[place].importance, -place))
    return tuple(older[place] for place in sorted(ranked[: context.history]))


def _persona_text(seat: Seat, language: Language, texts: Mapping[str, str]) -> str | None:
    """The text of a persona of the plan's folder, whose file had no fault when it was locked."""
    found = texts.get(f"personas/{seat.persona}.toml")
    return None if found is None else str(msgspec.toml.decode(found).get(language, "")).strip("\n")


def _own_scene(state: RunState, agent: str, texts: Mapping[str, str]) -> OwnScene | None:
    """An agent's view of its world; None in a packaged one."""
    own = state.rules.own
    if not own:
        return None
    language, place = state.run.language, state.agents[agent].place
    shown = {
        name: state.resources.get(name, 0)
        for name, each in world.of(state).resources.items()
        if each.shown and each.place in (None, place)
    }
    rank = own.rank(state.agents[agent].influence)
    return OwnScene(
        place_title=_title(own, place, language),
        rank_title=rank.name.in_language(language) if rank else "",
        resources=shown,
        offers=_offers(state, agent),
        labels={name: action.label.in_language(language) or name for name, action in own.actions.items()},
        titles={name: _title(own, name, language) for name in own.places},
        texts={
            part: texts[path]
            for part, named in (("shell", own.shell), ("template", own.template))
            if (path := f"texts/{named.get(language)}") in texts
        },
    )


def _title(own: OwnWorld, place: str, language: Language) -> str:
    return own.places[place].title.in_language(language) or place


def _offers(state: RunState, agent: str) -> tuple[Offer, ...]:
    """The actions of its place, including those it cannot pay for; the world's own before those of a shipped one."""
    attempt, feasible = ActAttempt(state, agent), acts.feasible(state, agent)
    rows = sorted(acts.allowed(state, agent).items(), key=lambda named: named[1].packaged)
    found = [
        _offer(attempt, name, row, possible=name in feasible)
        for name, row in rows
        if row.listed and (row.packaged or acts.offered_at(attempt, row))
    ]
    contesting = [Offer(name=CONTEST, feasible=True)] if may_contest(state, agent) else []
    return (*found, *contesting)


def _offer(attempt: ActAttempt, name: str, row: Row, *, possible: bool) -> Offer:
    language = attempt.state.run.language
    paid = "alley" not in row.rules or is_alley(attempt.place)
    return copied(
        Offer,
        row,
        name=name,
        label=row.label.in_language(language),
        help=row.help.in_language(language),
        target="agent" if "subsidy" in row.rules else row.target,
        says=row.does in ("say", "whisper") or "billboard" in row.rules,
        amount=_range(attempt, row),
        goals=acts.goals(attempt, row) if row.target == "place" else (),
        fn_class=attempt.world.class_of(name),
        feasible=possible,
        gain=row.gain if paid else Amounts(),
    )


def _range(attempt: ActAttempt, row: Row) -> Range | None:
    """What the content may say, where it has to be a number."""
    if "set_tax" in row.rules:
        return Range(max=RATE_MAX)
    if "subsidy" in row.rules:
        return Range(min=1, max=max(1, attempt.state.treasury // attempt.state.rules.unit))
    return row.amount
