"""The conformance run passes a good bot, and names what is wrong with a bad one."""

import asyncio
import gc
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playmolt import Forfeit, GameResult, Turn, bots
from playmolt.bots import house
from playmolt.bots.ox import OxBot
from playmolt.conformance import Check, check
from playmolt.conformance import checks as checks_module
from playmolt.conformance.__main__ import main
from playmolt_ox.rules import Ox
from playmolt_trial.rules import Trial
from sdk_arena import Arena

Start = Callable[[Any], Arena]
check_soon = partial(check, retry_after=0)


def left_open(server: Arena) -> list[socket.socket]:
    """The ends of connections to a server that this process still holds."""
    port = int(server.url.rpartition(":")[2])
    sockets = [one for one in gc.get_objects() if isinstance(one, socket.socket) and one.fileno() != -1]
    return [one for one in sockets if _peer_port(one) == port]


def _peer_port(one: socket.socket) -> int:
    try:
        return int(one.getpeername()[1])
    except (OSError, IndexError):
        return 0


def told(checks: list[Check]) -> list[tuple[str, str]]:
    """What is not a pass, in its order."""
    return [(one.name, one.verdict) for one in checks if one.verdict != "pass"]


def verdicts(checks: list[Check]) -> dict[str, str]:
    return {one.name: one.verdict for one in checks}


@pytest.mark.parametrize(("game", "rules"), [("ox", Ox), ("trial", Trial)])
async def test_a_house_bot_passes_every_check(arena: Start, game: Any, rules: Any) -> None:
    server = arena(rules())
    checks = await check(server.url, game, bots.seats(game, 1)[0])
    assert set(verdicts(checks).values()) == {"pass"}, checks
    assert len(checks) == 8


async def test_a_bot_that_raises_fails(arena: Start) -> None:
    def broken(turn: Turn) -> Any:
        raise RuntimeError("out of ideas")

    checks = await check_soon(arena(Ox()).url, "ox", broken)
    assert told(checks) == [("plays to the end", "fail")]
    line = broken.__code__.co_firstlineno + 1
    assert checks[0].detail == f"test_conformance.py:{line}: RuntimeError: out of ideas"


@pytest.mark.parametrize("answer", [None, {"type": "dance"}])
async def test_a_bot_that_gives_up_leaves_no_game_standing(arena: Start, answer: Any) -> None:
    server = arena(Ox())
    checks = await check_soon(server.url, "ox", lambda _turn: answer)
    assert told(checks) == [("sends legal actions", "fail")]
    assert next(one.detail for one in checks if one.verdict == "fail").startswith(
        "3 refused, the first: invalid_action"
    )
    (game_id,) = server.games
    assert server.over(game_id)


async def _at_its_third_turn(error: BaseException, turn: Turn, turns: list[Turn], good: OxBot) -> Any:
    turns.append(turn)
    if len(turns) == 3:
        raise error
    return good(turn)


@pytest.mark.parametrize("error", [RuntimeError("out of ideas"), asyncio.CancelledError()])
async def test_a_run_that_breaks_off_midway_leaves_nothing_open(arena: Start, error: BaseException) -> None:
    server, turns, good = arena(Ox()), list[Turn](), OxBot("random", 1)
    running = asyncio.create_task(
        check_soon(server.url, "ox", lambda turn: _at_its_third_turn(error, turn, turns, good))
    )
    await asyncio.gather(running, return_exceptions=True)
    assert len(turns) == 3
    assert left_open(server) == []


async def test_a_run_whose_checks_raise_leaves_nothing_open(arena: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = arena(Ox())

    def broken(_run: object) -> Check:
        raise RuntimeError("a check is broken")

    monkeypatch.setattr(checks_module, "_JUDGES", (broken,))
    with pytest.raises(RuntimeError, match="a check is broken"):
        await check_soon(server.url, "ox", OxBot("random", 1))
    assert left_open(server) == []


async def test_bots_that_are_stopped_as_they_close_leave_nothing_open(
    arena: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, all_of = arena(Ox()), house._all

    async def stopped_when_done(work: Any) -> list[Any]:
        done = await all_of(work)
        if isinstance(done[0], GameResult):
            asyncio.get_running_loop().call_soon(running.cancel)
        return done

    monkeypatch.setattr(house, "_all", stopped_when_done)
    running = asyncio.create_task(bots.run_house_bots(server.url, "ox", 5))
    (ended,) = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)
    assert left_open(server) == []


async def test_a_repeat_that_is_refused_was_sent_again(arena: Start) -> None:
    good = OxBot("random", 1)
    turns = 0

    def spoiled(turn: Turn) -> Any:
        nonlocal turns
        turns += 1
        return {"type": "dance"} if turns == 2 else good(turn)

    checks = await check_soon(arena(Ox()).url, "ox", spoiled)
    assert verdicts(checks)["survives a 503"] == "pass"
    assert told(checks) == [("sends legal actions", "fail")]


async def test_ten_refused_actions_fail_with_one_line_though_the_game_is_played_to_its_end(arena: Start) -> None:
    good = OxBot("random", 1)

    def clumsy(turn: Turn) -> Any:
        return good(turn) if turn.refused else {"type": turn.actions[0].type}

    checks = await check_soon(arena(Ox()).url, "ox", clumsy)
    assert told(checks) == [("sends legal actions", "fail")]
    assert next(one.detail for one in checks if one.verdict == "fail").startswith("10 refused, the first: invalid_")
    assert verdicts(checks)["plays to the end"] == "pass"


async def test_a_crash_midway_is_reported_with_its_line_and_nothing_that_follows_from_it(arena: Start) -> None:
    good, turns = OxBot("random", 1), list[Turn]()

    async def breaks(turn: Turn) -> Any:
        turns.append(turn)
        return {}["oops"] if len(turns) == 4 else good(turn)

    checks = await check_soon(arena(Ox()).url, "ox", breaks)
    (fault,) = [one for one in checks if one.verdict != "pass"]
    line = breaks.__code__.co_firstlineno + 2
    assert (fault.name, fault.detail) == ("plays to the end", f"test_conformance.py:{line}: KeyError: 'oops'")
    assert {"survives a 503", "survives a 429"} <= verdicts(checks).keys()


async def test_a_bot_that_hangs_loses_its_turn_where_it_stands(arena: Start) -> None:
    free = threading.Event()

    def hangs(_turn: Turn) -> Any:
        free.wait()

    checks = await check_soon(arena(Ox()).url, "ox", hangs, seconds=0.3)
    free.set()
    assert told(checks) == [("answers in time", "fail")]
    line = hangs.__code__.co_firstlineno + 1
    assert checks[0].detail == f"test_conformance.py:{line}: no answer within 0.3 s"


async def test_an_async_bot_that_never_comes_back_loses_its_turn(arena: Start) -> None:
    async def hangs(_turn: Turn) -> Any:
        await asyncio.Event().wait()

    checks = await check_soon(arena(Ox()).url, "ox", hangs, seconds=0.3)
    assert told(checks) == [("answers in time", "fail")]


async def test_a_bot_that_lets_turns_go_is_looked_at(arena: Start) -> None:
    server = arena(Ox())
    checks = await check_soon(server.url, "ox", lambda _: Forfeit("no_idea"))
    assert ("answers in time", "warn") in told(checks)
    assert "fail" not in verdicts(checks).values()


def test_the_command_reports_and_exits_by_the_result(arena: Start, tmp_path: Path) -> None:
    server = arena(Ox())
    (tmp_path / "mybot.py").write_text("from playmolt.bots.ox import OxBot\n\nbot = OxBot('contrarian', 7)\n")
    command = [sys.executable, "-m", "playmolt.conformance", "--url", server.url, "--game", "ox", "--json", "mybot:bot"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert {one["verdict"] for one in json.loads(done.stdout)} == {"pass"}


@pytest.mark.parametrize(
    "target", ["mybot", "no_such_module:bot", "json:nothing", "json:__name__", "pathlib:PosixPath", "enum:Enum"]
)
def test_what_is_not_a_bot_is_said_plainly(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([target, "--url", "http://127.0.0.1:1"]) == 2
    assert target.split(":", maxsplit=1)[0] in capsys.readouterr().err
