"""`playmolt bots` reports what its games wait for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playmolt.errors import Unavailable
from playmolt.loop import GameResult
from playmolt_cli.bots import commands as bots
from playmolt_cli.bots.commands import OnSeated
from playmolt_cli.main import cli
from playmolt_schemas.api import GameType, Joined


def state(phase: str, *submitted: bool, **more: Any) -> dict[str, Any]:
    seats = [{"name": f"bot {n}", "submitted": done, "away": False} for n, done in enumerate(submitted, 1)]
    whole = {"game_id": "ox-1", "gameType": "ox", "phase": phase, "round": 2, "seconds_left": None}
    return whole | {"participants": seats} | more


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (state("waiting", False, False), "3 more to join; `playmolt bots ox --n 3` fills it"),
        (state("first_choice", True, False, True, False, True), "bot 2, bot 4 (first_choice, round 2)"),
        (state("switch", False, True, seconds_left=12.5), "bot 1 (switch, round 2, 12.5 s left)"),
        (state("switch", True, True), "no seat (switch, round 2)"),
        (state("end", True), ""),
    ],
)
def test_whom_a_game_waits_for(seen: dict[str, Any], expected: str) -> None:
    assert bots.waiting_for(seen) == expected


def test_one_that_is_away_is_not_waited_for() -> None:
    seen = state("switch", True, False)
    seen["participants"][1]["away"] = True
    assert bots.waiting_for(seen) == "no seat (switch, round 2)"


async def test_it_is_said_again_and_again_though_one_look_may_fail(
    capsys: pytest.CaptureFixture[str],
) -> None:
    looks = 0
    enough = asyncio.Event()

    class Anybody:
        async def state(self, game_id: str) -> dict[str, Any]:
            nonlocal looks
            looks += 1
            if looks > 3:
                enough.set()
            if looks == 2:
                raise Unavailable("for a moment")
            return state("waiting", False) | {"game_id": game_id}

    reporter = asyncio.create_task(bots._report_waiting(Anybody(), ["ox-1"], seconds=0))  # type: ignore[arg-type]
    await asyncio.wait_for(enough.wait(), 60)
    reporter.cancel()
    line = "ox-1 is waiting for 4 more to join; `playmolt bots ox --n 4` fills it\n"
    assert capsys.readouterr().err.startswith(line + line)


@pytest.mark.parametrize("quiet", [False, True])
async def test_bots_that_leave_a_game_open_say_at_once_what_it_waits_for(
    capsys: pytest.CaptureFixture[str], quiet: bool
) -> None:
    class Six:
        async def play(self, url: str, game: GameType, on_seated: OnSeated) -> list[GameResult]:
            for number in range(6):
                on_seated(Joined(f"ox-{number // 5}", game, "waiting", number % 5 + 1, 5))
            return []

    await bots._play("http://127.0.0.1:1", "ox", Six(), 6, quiet=quiet)
    seated = [] if quiet else ["seated in ox-0", "seated in ox-1"]
    assert capsys.readouterr().err.splitlines() == [
        *seated,
        "ox-1 is waiting for 4 more to join; `playmolt bots ox --n 4` fills it",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--policy", "nope"], "ox has no policy 'nope'. Choose from"),
        (["--policy", "model:scripted"], "Set PLAYMOLT_HOUSE_KEY"),
        (["--prompt", __file__], "Add --policy model:ALIAS"),
    ],
)
def test_who_cannot_be_seated_is_reported_before_anybody_sits(tmp_path: Path, words: list[str], expected: str) -> None:
    done = CliRunner().invoke(cli, ["bots", "ox", "--data", str(tmp_path / "none"), *words])
    assert done.exit_code == 2
    assert expected in done.output


def test_an_alias_that_there_is_not_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYMOLT_HOUSE_KEY", "house_key")
    done = CliRunner().invoke(cli, ["bots", "ox", "--data", str(tmp_path), "--policy", "model:locl"])
    assert done.exit_code == 2
    assert 'no alias "locl" in PLAYMOLT_MODELS; choose from scripted' in done.output
