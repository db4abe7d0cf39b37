"""What docs/bots.md tells a bot author is true: its bots run, its calls exist, its limits and codes are ours."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import playmolt
import pytest
from msgspec.structs import fields
from playmolt import bots
from playmolt_ox.rules import Ox
from playmolt_schemas import limits
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.codes import Code, RateLimit
from playmolt_schemas.routes import platform
from playmolt_schemas.skill import render
from sdk_arena import Arena

PAGE = (Path(__file__).parents[2] / "docs" / "bots.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
URL = "http://127.0.0.1:8080"


def run(code: str, url: str, names: dict[str, Any]) -> dict[str, Any]:
    names["__name__"] = "__main__"
    exec(compile(code.replace(URL, url), "docs/bots.md", "exec"), names)  # noqa: S102 -- the page's own examples
    return names


async def test_the_examples_play_whole_games(arena: Callable[[Any], Arena], capsys: pytest.CaptureFixture[str]) -> None:
    server = arena(Ox())
    first, keeping, house, _ = PYTHON
    assert len([line for line in first.splitlines() if line.strip()]) <= 20
    names: dict[str, Any] = {}
    await asyncio.gather(
        asyncio.to_thread(run, first, server.url, names), bots.run_house_bots(server.url, "ox", 4, seed="docs")
    )
    assert names["result"].phase == "end"
    assert names["result"].refusals == 0
    await asyncio.gather(
        asyncio.to_thread(run, keeping, server.url, names), asyncio.to_thread(run, house, server.url, {})
    )
    assert names["key"] in server.agents
    assert "game_end" in capsys.readouterr().out


def test_the_practice_without_a_server_runs() -> None:
    assert run(PYTHON[-1], URL, {})["termination"]


def test_the_bot_in_the_package_docstring_runs(arena: Callable[[Any], Arena]) -> None:
    code = playmolt.__doc__ or ""
    example = "\n".join(line[4:] for line in code.splitlines() if line.startswith("    ") or not line)
    names = run(example.split("print(")[0], URL, {})
    offers = [ActionOffer("first_choice", {})]
    assert names["bot"](playmolt.Turn("ox-1", "ox", {}, offers))["type"] == "first_choice"


def test_the_curl_loop_is_the_guides_and_calls_what_there_is() -> None:
    loop = (Path(__file__).parents[2] / "docs" / "games" / "ox" / "loop.md").read_text("utf-8")
    assert render(loop, {"url": URL}) in PAGE
    called = {path.split("?")[0].replace("$GAME", "{id}") for path in re.findall(r"\$URL(/[^\s\"]+)", PAGE)}
    assert called <= {route.path for route in platform.ROUTES}
    assert len(called) == 4


ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("code", {code for route in (*platform.AGENTS, *platform.GAMES) for code in route.refusals()})
def test_every_refusal_an_agent_can_meet_is_explained_with_its_status(code: Code) -> None:
    assert [row for row in ROWS if row[0] == str(code.status) and f"`{code.wire}`" in row[1] and row[2]]


def test_no_code_is_explained_that_does_not_exist() -> None:
    known = {(str(code.status), code.wire) for code in Code}
    told = {(row[0], code) for row in ROWS if row[0].isdigit() for code in re.findall(r"`(\w+)`", row[1])}
    assert told <= known


def test_what_a_repetition_and_a_limit_need_is_said() -> None:
    page = " ".join(PAGE.split())
    assert "Use a new Idempotency-Key for each join and for each action, and the same one when you repeat it." in page
    (limited,) = (row[2] for row in ROWS if row[1:2] == ["`rate_limited`"])
    assert limited == (
        "wait the seconds of `Retry-After`, then repeat the request; in `ratelimit`, `limit` requests are allowed per "
        "window, and `seconds` is the length of the window"
    )
    assert [fields(RateLimit)[place].name for place in (1, 2)] == ["limit", "seconds"]
    assert f"Every phase waits {limits.SLOW_PHASE_SECONDS // 60} minutes." in page


LIMITS = {
    "text of `speak`": [limits.SPEAK_CHARS],
    "`comment` in O/X": [limits.COMMENT_CHARS],
    "agent's name": [limits.AGENT_NAME_CHARS],
    "body of a request": [limits.BODY_BYTES],
    "`Idempotency-Key`": [limits.IDEMPOTENCY_KEY_CHARS],
    "`wait`": [limits.WAIT_SECONDS],
    "a page of a list": [limits.PAGE_DEFAULT, limits.PAGE_MAX],
    "heartbeat of a stream": [limits.HEARTBEAT_SECONDS],
    "a reader that lags": [limits.READER_MESSAGES, limits.READER_BYTES, limits.READER_STALL_SECONDS],
}


@pytest.mark.parametrize("what", LIMITS)
def test_the_limits_are_those_of_the_platform(what: str) -> None:
    row = next(row for row in ROWS if row[0] == what)
    assert [int(number) for number in re.findall(r"\d+", row[1]) if number != "1"] == LIMITS[what]


def test_the_policies_are_those_of_the_house_bots() -> None:
    for game, policies in bots.policies().items():
        row = next(row for row in ROWS if row[0] == f"`{game}`")
        assert tuple(re.findall(r"`(\w+)`", row[1])) == policies
