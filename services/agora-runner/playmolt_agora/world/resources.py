"""What a world's resources hold: kept from 0 to their maximum, and growing again after each turn."""

from collections.abc import Mapping
from fractions import Fraction

from playmolt_agora.world.own_world import OwnWorld, Resource


def regrown(resource: Resource, held: int) -> int:
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
