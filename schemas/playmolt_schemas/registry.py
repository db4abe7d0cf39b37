"""The installed games: manifests that distributions declare as entry points of `playmolt.games`."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Final

from playmolt_schemas.game_messages import GameMessages
from playmolt_schemas.manifest import GameModule

GAMES: Final = "playmolt.games"
HOUSE: Final = "playmolt-schemas"
"""The distribution that declares the games of this repository."""


class InvalidManifest(RuntimeError):
    """The installed distributions declare no game, or one type twice."""


_distributions: list[str] = []


@cache
def games() -> Mapping[str, GameModule]:
    """Type → manifest, sorted by `place`. Raises InvalidManifest."""
    points = entry_points(group=GAMES)
    if _distributions:
        points = EntryPoints(point for point in points if point.dist and point.dist.name in _distributions)
    return collected(points)


@cache
def watched_games() -> Mapping[str, GameMessages]:
    """Type → messages of every type that anybody may watch: the bot games and the runs of experiments."""
    return {
        game.type: game.messages.load()
        for game in games().values()
        if game.messages is not None and game.kind != "tournament"
    }


@cache
def bot_games() -> Mapping[str, GameMessages]:
    """Type → messages of the bot games, in the order of `games`."""
    return {game.type: watched_games()[game.type] for game in games().values() if game.kind == "game"}


def house_types() -> frozenset[str]:
    """The installed types that belong to this repository."""
    return frozenset(point.name for point in entry_points(group=GAMES) if point.dist and point.dist.name == HOUSE)


def house_only() -> None:
    """Ignore all games but those of this repository. Call it before `games`."""
    if games.cache_info().currsize:
        raise RuntimeError("the games are already loaded")
    _distributions.append(HOUSE)


def collected(points: Iterable[EntryPoint]) -> Mapping[str, GameModule]:
    """Load the manifests of entry points."""
    # A duplicate path in sys.path, or an editable install beside a wheel, yields the same entry point twice.
    modules = [point.load() for point in {(point.name, point.value): point for point in points}.values()]
    found: dict[str, GameModule] = {}
    for module in sorted(modules, key=lambda module: (module.place, module.type)):
        if module.type in found:
            raise InvalidManifest(f"two distributions declare the game {module.type!r}")
        found[module.type] = module
    if not found:
        raise InvalidManifest(f"no game is installed: no distribution declares an entry point of {GAMES!r}")
    return found
