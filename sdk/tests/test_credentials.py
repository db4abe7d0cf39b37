"""Keys that are kept: a bot that is started again is the same agent, and goes on with its game."""

import asyncio
import json
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playmolt import BotFailed, Client, CredentialsUnusable, GameResult, bots, play, play_async
from playmolt.credentials import Credentials, credentials_file
from playmolt_ox.rules import Ox
from sdk_arena import Arena

Start = Callable[[Any], Arena]


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLAYMOLT_CREDENTIALS", str(tmp_path / "deep" / "credentials.json"))
    monkeypatch.delenv("PLAYMOLT_KEY", raising=False)
    return tmp_path / "deep" / "credentials.json"


def steady(turn: Any) -> Any:
    if turn.actions[0].type == "switch":
        return {"type": "switch", "use_switch": False}
    return {"type": "first_choice", "choice": "O", "comment": "."}


def crashing(turn: Any) -> Any:
    if turn.state["round"] == 2:
        return {}["oops"]
    return steady(turn)


def held(file: Path) -> tuple[dict[str, dict[str, str]], int]:
    return json.loads(file.read_text("utf-8")), stat.S_IMODE(file.stat().st_mode)


async def played(server: Arena, name: str, **options: Any) -> GameResult:
    house = bots.run_house_bots(server.url, "ox", 4, seed=name)
    result, _ = await asyncio.gather(play_async(steady, "ox", url=server.url, name=name, **options), house)
    return result


async def test_a_crash_is_named_by_file_and_line_and_the_next_play_goes_on(arena: Start) -> None:
    """Seen: a traceback, and four house bots that waited for an agent whose key was gone."""
    server = arena(Ox())
    house = asyncio.create_task(bots.run_house_bots(server.url, "ox", 4, seed="crash"))
    with pytest.raises(BotFailed) as failed:
        await play_async(crashing, "ox", url=server.url, name="mended")
    line = crashing.__code__.co_firstlineno + 2
    assert str(failed.value) == f"test_credentials.py:{line}: KeyError: 'oops'"
    assert (failed.value.file, failed.value.line) == (__file__, line)
    assert isinstance(failed.value.__cause__, KeyError)
    result = await play_async(steady, "ox", url=server.url, name="mended")
    assert {one.game_id for one in await house} == {result.game_id}
    assert (result.phase, len(server.agents)) == ("end", 5)


async def test_a_key_is_kept_by_server_and_name_for_its_owner_alone(arena: Start, file: Path) -> None:
    server = arena(Ox())
    ada, again, bob = [await played(server, name) for name in ("ada", "ada", "bob")]
    assert ada.agent_id == again.agent_id != bob.agent_id
    kept, mode = held(file)
    assert kept.keys() == {server.url}
    assert kept[server.url].keys() == {"ada", "bob"}
    assert set(kept[server.url].values()) <= set(server.agents)
    assert mode == 0o600


async def test_a_key_that_the_server_refuses_is_left_and_another_agent_registered(arena: Start, file: Path) -> None:
    server = arena(Ox())
    Credentials(file).keep(server.url, "ada", "pm_of_a_database_that_is_gone")
    assert (await played(server, "ada")).phase == "end"
    assert Credentials(file).key(server.url, "ada") in server.agents


async def test_a_key_that_is_given_goes_before_one_that_is_kept(
    arena: Start, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = arena(Ox())
    with Client(server.url) as client:
        argument, variable = client.register("by argument"), client.register("by variable")
    Credentials(file).keep(server.url, "ada", "pm_kept")
    monkeypatch.setenv("PLAYMOLT_KEY", variable.api_key)
    assert (await played(server, "ada", key=argument.api_key)).agent_id == argument.id
    assert (await played(server, "ada")).agent_id == variable.id
    assert Credentials(file).key(server.url, "ada") == "pm_kept"


async def test_nothing_is_kept_where_nothing_shall_be(arena: Start, file: Path) -> None:
    server = arena(Ox())
    assert (await played(server, "ada", keep=False)).phase == "end"
    assert not file.parent.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"x": 1}', "\udcff"])
def test_a_file_of_another_shape_ends_before_a_key_is_asked_for(arena: Start, file: Path, content: str) -> None:
    server = arena(Ox())
    file.parent.mkdir()
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(CredentialsUnusable, match="keep=False"):
        play(steady, "ox", url=server.url)
    assert server.agents == {}


def test_many_who_keep_at_once_lose_nothing(file: Path) -> None:
    names = [f"bot {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: Credentials(file).keep("http://x", name, f"key of {name}"), names))
    assert json.loads(file.read_text("utf-8")) == {"http://x": {name: f"key of {name}" for name in names}}


def test_without_a_name_of_its_own_the_file_lies_where_programs_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAYMOLT_CREDENTIALS")
    assert credentials_file().parts[-2:] == ("playmolt", "credentials.json")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://no-such-host.invalid"])
@pytest.mark.parametrize("form", ["play(bot, 'ox', url={!r})", "asyncio.run(play_async(bot, 'ox', url={!r}))"])
def test_a_wrong_url_is_one_line_with_the_address_and_the_reason(url: str, form: str) -> None:
    """Seen: 20 s of silence, then a traceback of three screens."""
    program = f"import asyncio\nfrom playmolt import play, play_async\nbot = lambda turn: {{}}\n{form.format(url)}"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"{url} cannot be reached: ")


def test_a_url_at_which_somebody_else_answers_is_one_line_too() -> None:
    program = (
        "from http.server import BaseHTTPRequestHandler, HTTPServer\n"
        "from threading import Thread\nfrom playmolt import play\n"
        "other = HTTPServer(('127.0.0.1', 0), BaseHTTPRequestHandler)\n"
        "Thread(target=other.serve_forever, daemon=True).start()\n"
        "play(lambda turn: {}, 'ox', url=f'http://127.0.0.1:{other.server_address[1]}')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    assert "/api/agents at http://127.0.0.1:" in ended.stderr.splitlines()[-1]


def test_other_errors_of_a_program_are_told_as_ever() -> None:
    program = "from playmolt import Unreachable\nUnreachable('made before')\nraise LookupError('lost')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stderr.startswith("Traceback")
    assert ended.stderr.splitlines()[-1] == "LookupError: lost"
