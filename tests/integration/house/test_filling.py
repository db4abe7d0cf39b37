"""The house's process on a real platform: who waits gets bots to play with, and bots alone never wait."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from playmolt import calls
from playmolt.bots import seats
from playmolt.client import AsyncClient
from playmolt.errors import Refused
from playmolt_cli.main import cli

from tests.platforms import Stack

SETTINGS = {"PLAYMOLT_FILL_SECONDS": "3", "PLAYMOLT_HOUSE_MODELS": "scripted", "PLAYMOLT_REGISTRATION_LIMIT": "30/3600"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("house") / "data", environment=SETTINGS) as running:
        yield running


@pytest.mark.parametrize("game", ["ox", "trial"])
async def test_who_waits_alone_plays_a_whole_game_against_the_house(stack: Stack, game: str) -> None:
    async with AsyncClient(stack.run.gateway) as client:
        await client.register("alone")
        result = await client.play(seats(game, 1)[0], game)
        kinds = [seat["kind"] for seat in result.state["participants"]]
        models = [seat["model"] for seat in result.state["participants"]]
    assert result.phase == "end"
    assert (kinds.count("bot"), kinds.count("house")) == (1, len(kinds) - 1)
    assert set(models) == {None, "scripted"}
    kept = stack.folder.path / "house" / f"{result.game_id}.calls.jsonl"
    lines = kept.read_text("utf-8").splitlines()
    assert len(lines) % 2 == 0
    assert lines


async def test_a_private_game_that_asks_for_it_is_filled_also_where_lobbies_are_not(stack: Stack) -> None:
    async with AsyncClient(stack.run.gateway) as client:
        await client.register("with the house")
        opened = await client.open_game("ox", language="en", fill="house")
        result = await client.play(seats("ox", 1)[0], "ox", game_id=opened.game_id)
    assert (result.phase, result.state["language"]) == ("end", "en")
    assert [seat["kind"] for seat in result.state["participants"]] == ["bot", *["house"] * 4]


async def test_the_house_fills_a_slow_game_too(stack: Stack) -> None:
    async with AsyncClient(stack.run.gateway) as client:
        await client.register("thinks for minutes")
        joined = await client.join("ox", pace="slow")
        result = await client.play(seats("ox", 1)[0], "ox", game_id=joined.game_id)
    assert (result.phase, result.state["pace"]) == ("end", "slow")


async def test_the_house_leaves_a_lobby_in_which_nobody_waits(stack: Stack) -> None:
    async with AsyncClient(stack.run.gateway) as client:
        await client.register("in two minds")
        left = (await client.join("trial")).game_id
        await client.leave(left)
        async with asyncio.timeout(60):
            while (state := await client.state(left))["participants"]:
                await client.state(left, after=state["version"], wait=5)
        assert state["phase"] == "waiting"


async def test_the_houses_key_registers_house_agents_and_is_nobody_elsewhere(stack: Stack) -> None:
    key = stack.folder.house_key()
    async with AsyncClient(stack.run.gateway, key) as client:
        with pytest.raises(Refused, match="operator_only"):
            await client.send(replace(calls.register("no house bot"), anonymous=False))
        with pytest.raises(Refused, match="unauthorized"):
            await client.join("ox")
        made = await client.register("house of a test", kind="house", model="scripted")
        assert (made.kind, made.model) == ("house", "scripted")


@pytest.mark.parametrize("own", [False, True])
def test_a_model_is_seated_by_hand_as_the_houses(stack: Stack, tmp_path: Path, own: bool) -> None:
    prompt = tmp_path / "bold.md"
    prompt.write_text("You are {name}.")
    kept = stack.folder.path / "house"
    before = _prompts(kept)
    words = ["--data", str(stack.folder.path), "--json", *(["--prompt", str(prompt)] if own else [])]
    done = CliRunner().invoke(cli, ["bots", "ox", "--policy", "model:scripted", *words])
    assert done.exit_code == 0, done.output
    results = json.loads(done.stdout)
    assert {(one["name"], one["phase"], one["turns"]) for one in results} == {("house scripted", "end", 10)}
    calls = [json.loads(line) for line in (kept / f"{results[0]['game_id']}.calls.jsonl").read_text().splitlines()]
    assert sum("outcome" in line for line in calls) == 50
    assert (_prompts(kept) - before == {"You are {name}."}) is own


async def test_bots_seated_by_hand_beside_an_up_stand_apart_in_the_leaderboard(stack: Stack) -> None:
    words = ["bots", "ox", "--policy", "random", "--data", str(stack.folder.path), "--json"]
    done = await asyncio.to_thread(CliRunner().invoke, cli, words)
    assert done.exit_code == 0, done.output
    played = {one["agent_id"]: one["points"] for one in json.loads(done.stdout)}
    async with AsyncClient(stack.run.gateway) as client:
        told = {line.id: line.points for line in (await client.leaderboard(kind="house", limit=1000)).leaderboard}
        assert told.items() >= played.items()
        for page in (await client.leaderboard(limit=1000), await client.leaderboard("ox", limit=1000)):
            assert played.keys().isdisjoint(line.id for line in page.leaderboard)


def _prompts(kept: Path) -> set[str]:
    return {path.read_text() for path in (kept / "prompts").glob("*")}
