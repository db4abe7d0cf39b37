"""The places of agents: who is together."""

from collections.abc import Mapping
from typing import Final

from playmolt_agora_runner.world.state import Agent

MARKET: Final = "market"
_PUBLIC: Final = frozenset(("plaza", MARKET))


def is_public(place: str) -> bool:
    """Whether events in a place are public."""
    return place in _PUBLIC


def there(agents: Mapping[str, Agent], place: str) -> tuple[str, ...]:
    """The living agents in a place, in seat order."""
    return tuple(name for name, agent in agents.items() if agent.alive and agent.place == place)


def beside(agents: Mapping[str, Agent], agent: str) -> tuple[str, ...]:
    """The other living agents in an agent's place, in seat order."""
    return tuple(name for name in there(agents, agents[agent].place) if name != agent)
