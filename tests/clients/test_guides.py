"""What the guides print runs as it is served: the loop in a shell, the bot in Python, every call of feeds and MCP."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from mcp import Client
from playmolt import bots
from playmolt_schemas.skill import PAGE_LANGUAGES
from websockets.sync.client import connect

from tests.clients.conftest import DEADLINE_SECONDS
from tests.clients.late_proxy import late
from tests.platforms import Stack

SECONDS = 200
SEATS = {"ox": 5, "trial": 6}


def guide(url: str, game: str, language: str = "en") -> str:
    answer = httpx.get(f"{url}/skills/{game}.md", params={"lang": language}, timeout=SECONDS)
    assert answer.headers["content-language"] == language
    return answer.text


def block(text: str, kind: str) -> str:
    """The first block of a kind."""
    return next(iter(re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)))


def played(command: list[str], printed: str) -> str:
    """What a printed program says."""
    run = subprocess.run(command, input=printed, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize("game", SEATS)
@pytest.mark.parametrize(("kind", "command"), [("sh", ["sh"]), ("python", [sys.executable, "-"])])
def test_a_printed_bot_plays_to_the_end_though_one_answer_comes_late(
    platform: Stack, game: str, kind: str, command: list[str]
) -> None:
    """Seen: the one in Python ended with a traceback, its seat was dead for the rest of the game."""
    with late(platform.run.gateway) as (url, statuses):
        printed = block(guide(url, game), kind)
        assert url in printed
        if kind == "sh":
            assert len(printed.splitlines()) <= 20
        said = played(command, printed)
    assert statuses[0] >= 400
    assert 200 in statuses
    assert re.search(r"\d+ points$" if kind == "sh" else r"'points': \d+", said.strip(), re.MULTILINE)


@pytest.mark.parametrize("game", SEATS)
def test_a_printed_bot_that_is_called_plays_to_the_end_though_one_answer_comes_late(platform: Stack, game: str) -> None:
    printed = block(guide(platform.run.gateway, game, "en"), "py")
    slow = "    late.pop()() if late else None\n"
    late = printed.replace("def decide(turn):\n", f"def decide(turn):\n{slow}", 1)
    late = late.replace("over = ", f"late = [lambda: __import__('time').sleep({DEADLINE_SECONDS} + 1)]\nover = ", 1)
    said = played([sys.executable, "-"], late)
    assert "within" in said  # what the first call of the next question says of the last answer
    assert re.search(r"'points': \d+", said)


@pytest.mark.parametrize("game", SEATS)
@pytest.mark.parametrize("language", PAGE_LANGUAGES)
async def test_every_example_of_mcp_can_be_called(platform: Stack, game: str, language: str) -> None:
    text = guide(platform.run.gateway, game, language)
    examples = [json.loads(line) for line in re.findall(r"```json\n(.*?)```", text, re.DOTALL)[1].splitlines()]
    assert [example["name"] for example in examples] == ["register", "join", "wait_for_turn", "act", "state"]
    others = asyncio.create_task(bots.run_house_bots(platform.run.gateway, game, SEATS[game] - 1, seed=game))
    known: dict[str, str] = {}
    async with asyncio.timeout(SECONDS), Client(f"{platform.run.gateway}/mcp") as client:
        for example in examples:
            arguments = example["arguments"] | ({"api_key": known["api_key"]} if "api_key" in known else {})
            if "game_id" in arguments:
                arguments["game_id"] = known["game_id"]
            answer = await client.call_tool(example["name"], arguments)
            assert not answer.is_error, (example, answer.content)
            known |= answer.structured_content or {}
        await client.call_tool("resign", {"game_id": known["game_id"], "api_key": known["api_key"]})
        await others


@pytest.mark.parametrize("language", PAGE_LANGUAGES)
def test_every_feed_that_a_guide_names_is_there(platform: Stack, language: str) -> None:
    played = asyncio.run(bots.run_house_bots(platform.run.gateway, "ox", SEATS["ox"], seed="feeds"))
    text = guide(platform.run.gateway, "ox", language).replace("GAME_ID", played[0].game_id)
    sse, socket, own = re.findall(r'^(?:curl|websocat) .*?"(\w+://[^"]+)"', text, re.MULTILINE)
    assert (sse.startswith(platform.run.spectator), own.startswith(platform.run.gateway)) == (True, True)
    for address in (sse, own):
        answer = httpx.get(address, timeout=SECONDS)
        assert (answer.status_code, "game_end" in answer.text) == (200, True)
    with connect(socket, open_timeout=SECONDS) as connection:
        assert "game_end" in list(connection)[-1]


@pytest.mark.parametrize("language", PAGE_LANGUAGES)
@pytest.mark.parametrize("game", SEATS)
def test_a_guide_names_no_other_address(platform: Stack, game: str, language: str) -> None:
    text = guide(platform.run.gateway, game, language)
    own = {platform.run.gateway, platform.run.spectator, platform.run.spectator.replace("http", "ws", 1)}
    assert {"://".join(parts) for parts in re.findall(r"(\w+)://([\w.:-]+)", text)} <= own
    assert "{{" not in text


def test_the_number_of_calls_is_what_a_game_takes() -> None:
    for game, actions in (("ox", 10), ("trial", 5)):
        for name in ("SKILL", "SKILL.ko", "SKILL.zh"):
            head = (Path(__file__).parents[2] / "docs" / "games" / game / f"{name}.md").read_text("utf-8")
            assert f"\ncalls: {2 + 2 * actions + 1}\n" in head
