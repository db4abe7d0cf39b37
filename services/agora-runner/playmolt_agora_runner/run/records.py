"""A turn as it is recorded: who, where, what was attempted, what came of it (agora.md, Turn)."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType
from playmolt_schemas.copying import copied
from playmolt_schemas.instrument import lexicon as coding
from playmolt_schemas.stored.agora.turn import ACTIONS, VALID_CODES, Effect, TurnRecord

from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.turn import scenes
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_agora_runner.world import acts, world
from playmolt_agora_runner.world.named_rules import Deed
from playmolt_agora_runner.world.state import RunState


def parsed(state: RunState, agent: str, found: Parsed) -> Parsed:
    """A reply as the world takes it: an action that the agent cannot take is not an act."""
    if found.code not in VALID_CODES:
        return Parsed(code=found.code)
    return found if found.action in acts.allowed(state, agent) else Parsed(code="invalid_action")


def record(state: RunState, agent: str, reply: TurnReply, found: Parsed, deed: Deed | None) -> TurnRecord:
    """The record of an agent's turn; `deed` is None when the reply was no act."""
    spec, seat, place = state.run, state.seat(agent), state.agents[agent].place
    applied, shadow = acts.effects(state, deed) if deed else (Effect(), Effect())
    cues, possible = coding.cues(found.thought, spec.language), acts.feasible(state, agent)
    base = world.of(state).base_of(found.action) if found.action is not None else None
    return copied(
        TurnRecord,
        found,
        reply,
        spec,
        seat,
        turn=state.turn,
        order=state.acted + 1,
        constraint_level=scenes.constraint_level(spec, seat),
        home_location=seat.home,
        place_before=place,
        place_after=(deed and deed.place) or place,
        others_here=state.beside(agent),
        residents=len(state.living),
        parse_code=found.code,
        success=deed is not None and deed.success,
        reason=deed.reason if deed else None,
        feasible_actions=possible,
        effect_applied=applied,
        effect_shadow=shadow,
        resource_effect=applied.energy.get(agent, 0),
        null_effect=acts.null_effect(state, deed, applied),
        fn_class=world.of(state).class_of(found.action) if found.action is not None else None,
        dissoc=coding.dissoc(cues, valid=found.valid, action=base, target=found.target),
        residents_start=len(state.seats),
        turns_planned=spec.turns,
        cue_s=cues.s,
        cue_o=cues.o,
        action_base=base,
        amount=deed.amount if deed else None,
        resources=_after(state, applied),
        feasible_base=_feasible_base(state, possible),
    )


def _feasible_base(state: RunState, possible: Sequence[str]) -> tuple[str, ...] | UnsetType:
    """The feasible actions as measures count them, if that is not by their names."""
    of = world.of(state)
    bases = tuple(dict.fromkeys(base for action in possible if (base := of.base_of(action)) is not None))
    return UNSET if bases == tuple(action for action in possible if action in ACTIONS) else bases


def _after(state: RunState, applied: Effect) -> dict[str, int] | UnsetType:
    """What the resources hold after an act."""
    if not state.resources:
        return UNSET
    return {name: held + applied.resources.get(name, 0) for name, held in state.resources.items()}
