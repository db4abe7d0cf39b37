"""The conformance run passes a good bot, and names what is wrong with a bad one."""

import asyncio
import gc
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playmolt import GameResult, Turn, bots
from playmolt.bots import house
from playmolt.bots.ox import OxBot
from playmolt.conformance import Check, check
from playmolt.conformance import checks as checks_module
from playmolt.conformance.__main__ import main
from playmolt_ox.rules import Ox
from playmolt_trial.rules import Trial
from sdk_arena import Arena

Start = Callable[[Any], Arena]


def dancer(_turn: Turn) -> dict[str, Any]:
    return {"type": "dance"}


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

    checks = await check(arena(Ox()).url, "ox", broken)
    assert verdicts(checks)["plays to the end"] == "fail"
    assert "out of ideas" in checks[0].detail
    assert verdicts(checks)["survives a 503"] == "warn"


@pytest.mark.parametrize("answer", [None, {"type": "dance"}])
async def test_a_bot_that_gives_up_leaves_no_game_standing(arena: Start, answer: Any) -> None:
    server = arena(Ox())
    checks = await check(server.url, "ox", lambda _turn: answer)
    assert verdicts(checks)["sends legal actions"] == "warn"
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
    running = asyncio.create_task(check(server.url, "ox", lambda turn: _at_its_third_turn(error, turn, turns, good)))
    await asyncio.gather(running, return_exceptions=True)
    assert len(turns) == 3
    assert left_open(server) == []


async def test_a_run_whose_checks_raise_leaves_nothing_open(arena: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = arena(Ox())

    def broken(_transport: object) -> Check:
        raise RuntimeError("a check is broken")

    monkeypatch.setattr(checks_module, "_waits", broken)
    with pytest.raises(RuntimeError, match="a check is broken"):
        await check(server.url, "ox", OxBot("random", 1))
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

    checks = {one.name: one for one in await check(arena(Ox()).url, "ox", spoiled)}
    assert checks["survives a 503"].verdict == "warn"
    assert "sent again" in checks["survives a 503"].detail


async def test_a_clumsy_and_slow_bot_is_warned(arena: Start) -> None:
    good = OxBot("random", 1)

    def clumsy(turn: Turn) -> Any:
        return good(turn) if turn.refused else {"type": turn.actions[0].type}

    checks = verdicts(await check(arena(Ox()).url, "ox", clumsy, seconds=1e-9))
    assert (checks["plays to the end"], checks["sends legal actions"]) == ("pass", "warn")
    assert checks["answers in time"] == "fail"


async def test_a_bot_that_never_learns_fails(arena: Start) -> None:
    checks = verdicts(await check(arena(Ox()).url, "ox", dancer))
    assert (checks["plays to the end"], checks["sends legal actions"]) == ("fail", "warn")


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
def test_what_is_no_bot_is_said_plainly(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([target, "--url", "http://127.0.0.1:1"]) == 2
    assert target.split(":", maxsplit=1)[0] in capsys.readouterr().err
