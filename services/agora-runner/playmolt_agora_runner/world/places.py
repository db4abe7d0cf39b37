"""The places of agents: who is together, and how much room is left."""

from collections.abc import Mapping
from typing import Final

from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.world.state import Agent

MARKET: Final = "market"
_PUBLIC: Final = frozenset(("plaza", MARKET))


def is_alley(place: str) -> bool:
    """Whether a place is an alley: speech there is not public."""
    return place == "alley" or place.startswith("alley_")


def is_public(place: str) -> bool:
    """Whether events in a place are public."""
    return place in _PUBLIC


def there(agents: Mapping[str, Agent], place: str) -> tuple[str, ...]:
    """The living agents in a place, in seat order."""
    return tuple(name for name, agent in agents.items() if agent.alive and agent.place == place)


def beside(agents: Mapping[str, Agent], agent: str) -> tuple[str, ...]:
    """The other living agents in an agent's place, in seat order."""
    return tuple(name for name in there(agents, agents[agent].place) if name != agent)


def full(rules: Rules, agents: Mapping[str, Agent], place: str) -> bool:
    room = room_of(rules, place)
    return room is not None and len(there(agents, place)) >= room


def room_of(rules: Rules, place: str) -> int | None:
    """The capacity of a place; None means no limit."""
    if rules.own:
        return rules.own.places[place].capacity or None
    capacity = rules.capacity
    room = capacity.alley if is_alley(place) else capacity.market if place == MARKET else capacity.plaza
    return room or None
