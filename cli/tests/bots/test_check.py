"""`playmolt bots check`: a bot of any language, and one line for each of its faults."""

import asyncio
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner
from playmolt import BotFailed, Turn
from playmolt_cli.bots.program import ProgramPlayer, crash_of
from playmolt_cli.main import cli
from playmolt_ox.rules import Ox

from sdk.tests.sdk_arena import Arena, serving

BOT = """
import json, sys

def answer(turn):
    if turn["actions"][0]["type"] == "switch":
        return {"type": "switch", "use_switch": False, "comment": ""}
    return {"type": "first_choice", "choice": "O", "comment": "O"}

def breaks(turn):
    return {}["oops"]

def rude(turn):
    return answer(turn) if turn["last_error"] else {"type": "dance"}

def bot(turn):
    return answer({"actions": [{"type": turn.actions[0].type}]})

def late(turn):
    sys.stdin.read()
    sys.exit()

if __name__ == "__main__":
    for number, line in enumerate(sys.stdin):
        act = globals()[sys.argv[1]] if number > 1 else answer
        given = act(json.loads(line))
        print(given if given == "chatter" else json.dumps(given), flush=True)

def chatter(turn):
    return "chatter"
"""
BREAKS = 1 + BOT.splitlines().index('    return {}["oops"]')


@pytest.fixture(scope="module")
def server() -> Iterator[Arena]:
    with serving(Arena(Ox())) as arena:
        yield arena


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mybot.py"
    path.write_text(BOT)
    return path


def checked(server: Arena, *words: str) -> tuple[int, dict[str, str], dict[str, str]]:
    """Exit status; name → verdict; what failed → its detail."""
    done = CliRunner().invoke(cli, ["bots", "check", "--url", server.url, "--json", *words])
    checks = json.loads(done.stdout) if done.stdout else []
    faults = {one["name"]: one["detail"] for one in checks if one["verdict"] == "fail"}
    return done.exit_code, {one["name"]: one["verdict"] for one in checks}, faults


def test_a_sound_program_passes_every_check(server: Arena, file: Path) -> None:
    status, verdicts, _ = checked(server, "--command", f"{sys.executable} {file} answer")
    assert (status, set(verdicts.values()), len(verdicts)) == (0, {"pass"}, 8)


def test_a_sound_python_bot_passes_every_check(server: Arena, file: Path) -> None:
    status, verdicts, _ = checked(server, "--python", f"{file}:bot")
    assert (status, set(verdicts.values()), len(verdicts)) == (0, {"pass"}, 8)


@pytest.mark.parametrize(
    ("how", "fault", "expected"),
    [
        ("breaks", "plays to the end", f"mybot.py:{BREAKS}: KeyError: 'oops'"),
        ("rude", "sends legal actions", "8 refused, the first: invalid_action"),
        ("late", "answers in time", "no answer within 1 s"),
        ("missing", "plays to the end", "KeyError: 'missing'"),
    ],
)
def test_a_fault_of_a_program_is_one_line(server: Arena, file: Path, how: str, fault: str, expected: str) -> None:
    seconds = "1" if how == "late" else "60"
    status, verdicts, faults = checked(server, "--command", f"{sys.executable} {file} {how}", "--seconds", seconds)
    assert (status, list(faults)) == (1, [fault])
    assert expected in faults[fault]
    assert "warn" not in verdicts.values()


def test_a_crash_of_a_python_bot_names_its_line(server: Arena, file: Path) -> None:
    assert checked(server, "--python", f"{file}:breaks")[2] == {
        "plays to the end": f"mybot.py:{BREAKS}: KeyError: 'oops'"
    }


@pytest.mark.parametrize(
    ("program", "fault", "expected"),
    [
        ("pass", "plays to the end", "ended with status 0 before the game was over"),
        ("import sys; sys.exit(3)", "plays to the end", "ended with status 3 before the game was over"),
        ("print('x' * 100_000); input()", "answers in time", "not a line of at most 65536 bytes"),
        ("while True: input(); print('hello', flush=True)", "sends legal actions", "the bot returned 'hello'"),
    ],
)
def test_what_is_not_an_answer_is_reported(
    server: Arena, tmp_path: Path, program: str, fault: str, expected: str
) -> None:
    (tmp_path / "bot.py").write_text(program)
    status, _, faults = checked(server, "--command", f"{sys.executable} {tmp_path}/bot.py")
    assert (status, list(faults)) == (1, [fault])
    assert expected in faults[fault]


@pytest.mark.parametrize("first", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN);"], ids=["terminated", "killed"])
async def test_a_program_that_stays_when_its_input_ends_is_ended(first: str) -> None:
    program = f"import signal, sys, time; {first} sys.stdin.readline(); print('{{}}', flush=True); time.sleep(60)"
    player = await ProgramPlayer.start([sys.executable, "-c", program], ending_seconds=0.1)
    turn = Turn("ox-1", "ox", {"version": 1}, [])
    async with asyncio.timeout(60):
        assert await player.answer(turn) == {}
        await player.close()
        with pytest.raises(BotFailed, match="status -9" if first else "status -15"):
            await player.answer(turn)


class _Turns(BaseHTTPRequestHandler):
    """A bot behind a URL; its path says how it answers."""

    heard: list[dict[str, Any]]

    def do_POST(self) -> None:
        turn = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard.append(turn)
        choice = {"type": "first_choice", "choice": "X", "comment": "X"}
        kind = next((offer["type"] for offer in turn["actions"]), "")
        action = {"type": "switch", "use_switch": False} if kind == "switch" else choice
        body = json.dumps(action).encode()
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def callback() -> Iterator[str]:
    _Turns.heard = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Turns)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_callback_is_asked_as_the_platform_asks_and_hears_of_the_end(server: Arena, callback: str) -> None:
    status, verdicts, _ = checked(server, "--callback", f"{callback}/turn")
    assert (status, set(verdicts.values())) == (0, {"pass"})
    assert [turn["over"] for turn in _Turns.heard] == [False] * (len(_Turns.heard) - 1) + [True]
    assert _Turns.heard[-1]["state"]["phase"] == "end"


def test_a_callback_that_answers_500_loses_its_turn(server: Arena, callback: str) -> None:
    status, _, faults = checked(server, "--callback", f"{callback}/broken")
    assert (status, faults) == (1, {"answers in time": "callback_status: answered 500, not 200"})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "exactly one of"),
        (["--python", "a.py", "--command", "b"], "exactly one of"),
        (["--python", "nothing.py:bot"], "nothing.py: no such file"),
        (["--command", "no-such-program --fast"], "program 'no-such-program' not found"),
        (["--command", ""], "program '' not found"),
        (["--command", "'"], "No closing quotation"),
        (["--callback", "127.0.0.1:9000"], "is not a URL"),
    ],
)
def test_what_is_not_a_bot_is_reported_before_anything_is_started(words: list[str], expected: str) -> None:
    done = CliRunner().invoke(cli, ["bots", "check", *words])
    assert done.exit_code == 2
    assert expected in done.output
    assert "starting" not in done.output


NODE = """/srv/bots/bot.js:5
  throw new TypeError("oops");
  ^

TypeError: oops
    at pick (/srv/bots/bot.js:5:9)
    at Interface.<anonymous> (/srv/bots/bot.js:9:3)
"""
PYTHON = """Traceback (most recent call last):
  File "/srv/bots/bot.py", line 9, in <module>
    main()
  File "/srv/bots/bot.py", line 4, in main
    json.loads("")
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
"""


@pytest.mark.parametrize(
    ("said", "name", "expected"),
    [
        (NODE, "bot.js", "bot.js:5: TypeError: oops"),
        (PYTHON, "bot.py", "bot.py:4: json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        (
            "bot.rb:2:in `pick': oops (KeyError)\n\tfrom bot.rb:7:in `<main>'\n",
            "bot.rb",
            "bot.rb:2:in `pick': oops (KeyError)",
        ),
        ("panic: oops\n\nmain.pick()\n\t/srv/bots/bot.go:12 +0x1d\n", "bot.go", "bot.go:12: panic: oops"),
        ("I am not well\n", "bot.sh", "I am not well"),
        ("", "bot.sh", ""),
    ],
)
def test_the_deepest_line_of_the_bots_own_file_is_found_in_any_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, name: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).touch()
    assert crash_of(said.replace("/srv/bots", str(tmp_path)), ["run", name]) == expected
