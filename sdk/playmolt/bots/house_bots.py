"""The house bots of a game, registered by an entry point in the group `playmolt.bots` named after the game type."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Final, NamedTuple

from playmolt_schemas.identifiers import GAME_TYPES

from playmolt.loop import Action, Turn

GROUP: Final = "playmolt.bots"
HouseBot = Callable[[Turn], Action]
MIXED: Final = "mixed"
"""The policy that assigns all policies of a game in turn."""


class HouseBots(NamedTuple):
    """Factory and policies of a game's house bots."""

    make: Callable[[str, object], HouseBot]
    """From policy and seed to a bot; raises LookupError for an unknown policy."""
    policies: tuple[str, ...]
    mixed: tuple[str, ...]
    """Policies that MIXED assigns in turn."""

    def seats(self, n: int, policy: str, seed: object) -> list[HouseBot]:
        dealt = self.mixed if policy == MIXED else (policy,)
        return [self.make(dealt[number % len(dealt)], f"{seed}/{number}") for number in range(n)]


@cache
def house_bots() -> Mapping[str, HouseBots]:
    """Game type → its house bots, for installed games that have them."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    return {game: points[game].load() for game in GAME_TYPES if game in points}


def policies() -> Mapping[str, tuple[str, ...]]:
    """Game type → policies of its house bots."""
    return {game: (*bots.policies, MIXED) for game, bots in house_bots().items()}
