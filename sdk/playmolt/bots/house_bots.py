"""The house bots of a game; an entry point of the group `playmolt.bots`, named as the game's type, names them."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Final, NamedTuple

from playmolt_schemas.identifiers import GAME_TYPES

from playmolt.loop import Action, Turn

GROUP: Final = "playmolt.bots"
HouseBot = Callable[[Turn], Action]
MIXED: Final = "mixed"
"""The policy that deals all policies of a game round the table."""


class HouseBots(NamedTuple):
    """How a game's house bots are made."""

    make: Callable[[str, object], HouseBot]
    """From a policy and a seed; LookupError names the policies there are."""
    policies: tuple[str, ...]
    mixed: tuple[str, ...]
    """What MIXED deals."""

    def seats(self, n: int, policy: str, seed: object) -> list[HouseBot]:
        dealt = self.mixed if policy == MIXED else (policy,)
        return [self.make(dealt[number % len(dealt)], f"{seed}/{number}") for number in range(n)]


@cache
def house_bots() -> Mapping[str, HouseBots]:
    """Game type → its house bots, of the installed games that have some."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    return {game: points[game].load() for game in GAME_TYPES if game in points}


def policies() -> Mapping[str, tuple[str, ...]]:
    """Game type → the policies its house bots know."""
    return {game: (*bots.policies, MIXED) for game, bots in house_bots().items()}
