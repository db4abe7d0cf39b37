"""Energy and resources: whole units from 0 to a maximum; resources grow again after each turn."""

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Final

from playmolt_schemas.stored.agora.own_world import OwnWorld, WorldResource
from playmolt_schemas.stored.agora.turn import Effect

from playmolt_agora_runner.world.state import RunState

_DIGITS: Final = 12


def moved(state: RunState, steps: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The change of each balance of the living, real or in shadow, after steps in order.

    What leads below 0 or above the maximum is lost; who ends where it began is left out.
    """
    shadow, ceiling = state.rules.energy.ledger == "shadow", state.rules.energy.max * state.rules.unit
    held = {name: agent.shadow if shadow else agent.energy for name, agent in state.agents.items() if agent.alive}
    after = dict(held)
    for name, step in steps:
        after[name] = max(0, min(ceiling, after[name] + step))
    return {name: after[name] - before for name, before in held.items() if after[name] != before}


def reckoned(state: RunState, effect: Effect) -> tuple[Effect, Effect]:
    """What an effect applies, and what it would in a world that only reckons."""
    return (effect, Effect()) if state.rules.energy.ledger == "real" else (Effect(), effect)


def decimal(value: Fraction, digits: int = _DIGITS) -> str:
    """Write a fraction as decimal text, rounded half up."""
    exact = Decimal(value.numerator) / value.denominator
    return f"{exact.quantize(Decimal(10) ** -digits, ROUND_HALF_UP):f}"


def regrown(resource: WorldResource, held: int) -> int:
    """How much a resource grows by, never above its maximum."""
    rule, rate = resource.regrowth, Fraction(resource.regrowth.rate)
    if rule.kind == "constant":
        grown = rule.amount
    elif rule.kind == "proportional":
        grown = int(rate * held)
    elif rule.kind == "logistic":
        grown = int(rate * held * (1 - Fraction(held, resource.max)))
    else:
        grown = 0
    return min(grown, resource.max - held)


def changed(world: OwnWorld, held: Mapping[str, int], changes: Mapping[str, int]) -> dict[str, int]:
    """The changes as far as they go: no resource below 0 or above its maximum."""
    after = {name: max(0, min(world.resources[name].max, held[name] + step)) for name, step in changes.items()}
    return {name: value - held[name] for name, value in after.items() if value != held[name]}


def exhausted(world: OwnWorld, held: Mapping[str, int], living: int) -> bool:
    """Whether the world's end has come before its last turn."""
    end = world.end
    few = isinstance(end.alive, int) and living <= end.alive
    return few or any(held[name] <= least for name, least in end.resource.items())
