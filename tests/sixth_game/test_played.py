"""The game on a whole platform: bots play it, it is listed, watched with its own drawing, replayed and verified."""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from playmolt_cli.local.stack import Process, Stack
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Reader, launched
from tests.browser.conftest import reader as reader  # noqa: PLC0414 -- a fixture
from tests.browser.players import SECONDS
from tests.platforms import MIGRATED, copied_cluster
from tests.sixth_game.conftest import RunPython


class _CopiedStack(Stack):
    """The product's own `up`, for the tests' fork server does not find the game; on a copy of the migrated cluster."""

    def launch(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Process:
        copied_cluster(self.folder.postgres, MIGRATED)
        return super().launch(arguments, environment)


@pytest.fixture(scope="module")
def stack(installed: Mapping[str, str]) -> Iterator[Stack]:
    folder = Path(tempfile.mkdtemp(prefix="playmolt-sixth-"))
    folder.chmod(0o755)  # Postgres runs as a user of its own
    own = {"DATABASE_URL": "", "NATS_URL": "", "PYTHONPATH": installed["PYTHONPATH"]}
    with _CopiedStack(folder / "data", (), own) as started:
        yield started
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def platform(stack: Stack) -> str:
    return stack.run.gateway


@pytest.fixture(scope="module")
def results(platform: str, run_python: RunPython) -> list[dict[str, Any]]:
    played: list[dict[str, Any]] = json.loads(
        run_python("-m", "playmolt_cli", "bots", "auction", "--url", platform, "--json")
    )
    return played


def test_bots_play_it_to_the_end_and_it_is_listed(platform: str, results: list[dict[str, Any]]) -> None:
    assert sorted(result["points"] for result in results) == [20, 40, 100]
    assert {result["phase"] for result in results} == {"end"}
    listed = httpx.get(f"{platform}/api/games?gameType=auction&phase=end", timeout=SECONDS).json()["games"]
    assert [game["game_id"] for game in listed] == [results[0]["game_id"]]
    until, points = time.monotonic() + SECONDS, list[int]()
    while points != [100, 40, 20]:  # a busy machine may count later than a request waits for it
        assert time.monotonic() < until, points
        board = httpx.get(f"{platform}/api/leaderboard?gameType=auction", timeout=SECONDS).json()["leaderboard"]
        points = [row["points"] for row in board]
    assert httpx.get(f"{platform}/skills/auction.md", timeout=SECONDS).text.startswith("# The auction")


def test_its_log_is_verified_and_replayed(stack: Stack, results: list[dict[str, Any]], run_python: RunPython) -> None:
    data = ("--data", str(stack.folder.path))
    assert "EXACT" in run_python("-m", "playmolt_cli", "replay", results[0]["game_id"], *data)
    run_python("-m", "playmolt_cli", "log", "verify", *data)
    run_python("-m", "playmolt_cli", "log", "check", *data)


def test_it_is_found_in_the_lobby_and_watched_with_its_own_drawing(
    reader: Reader, results: list[dict[str, Any]]
) -> None:
    game = results[0]["game_id"]
    lobby = reader("/", language="ko")
    expect(lobby.locator(f'a[href="/watch/{game}"][data-focus]')).to_contain_text("경매")
    expect(lobby.locator("select option[value=auction]")).to_have_count(1)
    page = reader(f"/watch/{game}")
    expect(page.locator("#auction")).to_contain_text("The bids")
    expect(page.locator("h1")).to_have_text("Auction")
