"""Who hears an act in a world of a plan's folder."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from playmolt_agora.world.own_world import HearingRule, OwnWorld


def hearers(
    world: OwnWorld, seats: Sequence[str], places: Mapping[str, str], actor: str, where: frozenset[str]
) -> tuple[str, ...]:
    """The others, in seat order, who hear an actor in the places `where`; `places` has those of the living."""
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
