import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
from playmolt_schemas import registry
from playmolt_schemas.games import manifests
from playmolt_schemas.identifiers import ENGINES, GAME_TYPES, RUN_TYPES, SESSION_TYPES, TOURNAMENT_TYPES
from playmolt_schemas.manifest import PackagedFile, Reference
from playmolt_schemas.registry import InvalidManifest, bot_games, collected, watched_games


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, f"{manifests.__name__}:{value}", registry.GAMES)


def test_the_games_appear_in_the_order_of_their_places() -> None:
    assert list(collected([point("ox", "OX"), point("trial", "TRIAL")])) == ["trial", "ox"]


def test_an_entry_point_that_is_found_twice_is_one_game() -> None:
    assert list(collected([point("ox", "OX"), point("ox", "OX")])) == ["ox"]


def test_a_type_that_two_declare_is_refused() -> None:
    with pytest.raises(InvalidManifest, match="two distributions declare the game 'ox'"):
        collected([point("ox", "OX"), point("other", "OX")])


def test_a_platform_without_a_game_is_refused() -> None:
    with pytest.raises(InvalidManifest, match="no game is installed"):
        collected([])


def test_every_list_of_types_follows_from_the_manifests() -> None:
    types = {game.type: game for game in registry.games().values()}
    assert {*GAME_TYPES, *RUN_TYPES, *SESSION_TYPES, *TOURNAMENT_TYPES} == set(types)
    assert {game: service for service, games in ENGINES.items() for game in games} == {
        name: game.service for name, game in types.items()
    }
    assert tuple(bot_games()) == GAME_TYPES
    assert tuple(watched_games()) == (*GAME_TYPES, *RUN_TYPES)


def test_a_reference_is_imported_when_it_is_asked_for() -> None:
    assert Reference("playmolt_schemas.limits:PAGE_DEFAULT").load() > 0


def test_a_resource_of_what_is_not_installed_holds_no_files() -> None:
    assert PackagedFile("nobody_has_this", "web").files() == {}
    assert PackagedFile("playmolt_schemas", "nowhere").files() == {}


def test_the_generated_pages_can_keep_to_the_games_of_this_repository() -> None:
    program = "from playmolt_schemas import registry; registry.house_only(); print(*registry.games())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.split() == ["trial", "ox", "legal", "jury", "agora", "experiment", "tournament", "panel"]
