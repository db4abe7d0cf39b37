"""Models in a match: asked, judged, repaired, let go; nothing is paid twice, and no more than the budget says."""

import asyncio
import hashlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from playmolt_cli.games import deciders
from playmolt_cli.main import cli
from playmolt_cli.match.entrant_factory import models_of
from playmolt_cli.match.folder import MatchFolder
from playmolt_cli.match.match_run import MatchRun
from playmolt_cli.match.plan import read_plan
from playmolt_cli.match.reporting.report import Report
from playmolt_core.llm.attempts import RAW_BYTES
from playmolt_core.llm.catalogue import Catalogue, load

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, hang, reply, status

PLAN = """
name = "m"
seed = "1"
[[games]]
game = "ox"
n = 1
[[players]]
name = "small"
model = "local"
[[players]]
name = "other"
house = "random"
"""


def sensible(request: ReceivedRequest) -> Canned:
    """Answers with an action that the rules take."""
    asked = json.loads(request.body["messages"][1]["content"])
    if asked["actions"][0]["type"] == "first_choice":
        return reply('{"type": "first_choice", "choice": "O", "comment": "O"}')
    return reply('{"type": "switch", "use_switch": false, "comment": ""}')


def write(plan: Path, text: str) -> None:
    plan.write_text(text, encoding="utf-8")


def transcripts(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "transcripts").iterdir()}


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as running:
        running.otherwise = sensible
        yield running


@pytest.fixture
def plan(tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models.toml").write_text(
        f'[models.local]\nbase_url = "{server.entry().base_url}"\nmodel = "m"\ninput_price = 1\noutput_price = 2\n'
    )
    monkeypatch.setenv("PLAYMOLT_MODELS", str(tmp_path / "models.toml"))
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path / "plan.toml"


async def played(plan: Path, out: Path | None = None) -> Report:
    catalogue: Catalogue = load(os.environ["PLAYMOLT_MODELS"])
    running = MatchRun(read_plan(plan, catalogue, models_of(catalogue, "")), deciders(), catalogue, out)
    try:
        return await running.play()
    finally:
        running.close()


def faults(report: Report) -> Counter[tuple[str, str]]:
    return Counter({(fault.kind, fault.what): fault.count for fault in report.faults})


async def test_a_turn_is_asked_in_canonical_json_under_its_key_and_header(plan: Path, server: FakeServer) -> None:
    report = await played(plan)
    assert not report.faults
    assert len(server.received) == 10
    first = server.received[0]
    system, user = (message["content"] for message in first.body["messages"])
    assert "You are small." in system
    asked = json.loads(user)
    assert user == json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert set(asked) == {"actions", "state"}
    assert (asked["state"]["language"], asked["state"]["question"].isascii()) == ("en", True)
    assert not {"deadline", "seconds_left", "invite", "turn_id"} & set(asked["state"])
    assert "turn_id" not in json.dumps(asked["actions"])
    seat = 1 + report.games[0].seats.index("small")
    assert first.turn == f"m 1:{seat}:{asked['state']['version']} ask"
    keys = [request.headers["idempotency-key"] for request in server.received]
    assert len(set(keys)) == 10
    assert all(len(key) == 64 for key in keys)


async def test_each_request_keeps_the_raw_answer_and_what_the_model_thought(
    plan: Path, server: FakeServer, tmp_path: Path
) -> None:
    act = '{"type": "first_choice", "choice": "O", "comment": "O"}'
    server.script(reply(f"<think>O, surely</think>{act}"), reply(act, padding="y" * RAW_BYTES))
    await played(plan, tmp_path / "out")
    lines = [json.loads(line) for line in (tmp_path / "out" / "calls.jsonl").read_text("utf-8").splitlines()]
    short, long = [line["attempts"][0] for line in lines if "attempts" in line][:2]
    assert (short["outcome"], short["reasoning"]) == ("ok", "O, surely")
    assert act in json.loads(short["raw"])["choices"][0]["message"]["content"]
    kept = (tmp_path / "out" / "raw" / long["raw"]).read_bytes()
    assert hashlib.sha256(kept).hexdigest() == long["raw"]
    assert len(kept) == long["raw_bytes"] > RAW_BYTES


async def test_a_reply_that_is_not_an_action_is_asked_again_twice_with_its_fault(
    plan: Path, server: FakeServer
) -> None:
    server.script(reply("O, I think"), reply('{"type": "first_choice", "choice": "Z", "comment": "x"}'))
    report = await played(plan)
    assert not report.faults
    assert [request.turn.split()[-1] for request in server.received[:4]] == ["ask", "repair1", "repair2", "ask"]
    assert server.received[1].body["messages"][2] == {"role": "assistant", "content": "O, I think"}
    assert '"Z"' in server.received[2].last


async def test_an_action_that_the_rules_refuse_is_asked_again(plan: Path, server: FakeServer) -> None:
    def greedy(request: ReceivedRequest) -> Canned:
        wants = "your one switch" not in request.last
        return reply(json.dumps({"type": "switch", "use_switch": wants, "comment": ""}))

    def switching(request: ReceivedRequest) -> Canned:
        first = json.loads(request.body["messages"][1]["content"])["actions"][0]["type"] == "first_choice"
        return sensible(request) if first else greedy(request)

    server.otherwise = switching
    report = await played(plan)
    assert faults(report) == {("bot", "refused"): 4}
    kinds = Counter(request.turn.split()[-1] for request in server.received)
    assert kinds == {"ask": 10, "repair1": 4}


@pytest.mark.parametrize(
    ("steps", "counted"),
    [
        ([reply("no")] * 3, ("bot", "invalid_reply")),
        ([reply(None, refusal="I would rather not")], ("bot", "refused_by_model")),
        ([reply("", finish_reason="length")], ("bot", "invalid_reply")),
        ([status(401)], ("provider", "model_unavailable")),
        ([status(429, error="insufficient_quota")], ("provider", "model_unavailable")),
    ],
)
async def test_a_model_that_gives_no_action_lets_the_submission_go(
    plan: Path, server: FakeServer, steps: list[Canned], counted: tuple[str, str]
) -> None:
    server.script(*steps)
    report = await played(plan)
    assert faults(report) == {counted: 1}
    assert len(server.received) == 9 + len(steps)


async def test_a_match_that_was_killed_goes_on_and_pays_nothing_twice(
    plan: Path, server: FakeServer, tmp_path: Path
) -> None:
    write(plan, PLAN.replace("n = 1", "n = 5"))
    undisturbed = await played(plan, tmp_path / "whole")
    asked = len(server.received)
    server.forget()
    command = ("-m", "playmolt_cli", "match", "--plan", str(plan), "--out", str(tmp_path / "out"))
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stderr=asyncio.subprocess.DEVNULL)
    server.script(*[sensible] * 17, hang())
    while len(server.received) < 18:
        await asyncio.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    resumed = await played(plan, tmp_path / "out")
    keys = Counter(request.headers["idempotency-key"] for request in server.received)
    assert sum(keys.values()) == asked + 1
    assert [count for count in keys.values() if count > 1] == [2]
    assert (resumed.cost.lost_calls, undisturbed.cost.lost_calls) == (1, 0)
    assert replace(resumed, cost=undisturbed.cost) == undisturbed
    assert transcripts(tmp_path / "out") == transcripts(tmp_path / "whole")
    assert await played(plan, tmp_path / "out") == resumed
    assert len(server.received) == asked + 1


async def test_a_budget_ends_a_match_which_a_higher_one_continues(
    plan: Path, server: FakeServer, tmp_path: Path
) -> None:
    write(plan, PLAN + "[budget]\ncalls = 4\n")
    stopped = await played(plan, tmp_path / "out")
    assert (stopped.stopped, stopped.games_played, len(server.received)) == ("budget", 0, 4)
    write(plan, PLAN + "[budget]\ncalls = 10\n")
    finished = await played(plan, tmp_path / "out")
    assert (finished.stopped, finished.games_played, len(server.received)) == (None, 1, 10)
    assert finished.cost.money == "0.0002"
    (line,) = [player for player in finished.players if player.name == "small"]
    assert (line.calls, line.input_tokens, line.output_tokens, line.unknown_calls) == (10, 100, 50, 0)


def test_all_faults_of_a_plan_are_reported_at_once_and_nothing_is_written(plan: Path, tmp_path: Path) -> None:
    faulty = PLAN.replace('model = "local"', 'model = "locl"').replace('"random"', '"nobody"')
    write(plan, faulty.replace("n = 1", "n = 0").replace('seed = "1"', "sed = 1") + "[budget]\nmoney = -1\n")
    answer = CliRunner().invoke(cli, ["match", "--plan", str(plan), "--out", str(tmp_path / "out")])
    assert answer.exit_code == 2
    for told in (
        "games[0].n: 0 is less than", "budget.money: -1 is less than", "sed", 'players[0].model: no alias "locl"',
        "players[1].house: ox has no policy 'nobody'",
    ):  # fmt: skip
        assert told in answer.output
    assert not (tmp_path / "out").exists()


async def test_a_folder_is_of_one_plan_and_one_command(plan: Path, server: FakeServer, tmp_path: Path) -> None:
    await played(plan, tmp_path / "out")
    write(plan, PLAN.replace('"random"', '"contrarian"'))
    told = ["match", "--plan", str(plan), "--out", str(tmp_path / "out")]
    differs = await asyncio.to_thread(CliRunner().invoke, cli, told)
    assert (differs.exit_code, "plan.players[1].house differs" in differs.output) == (2, True)
    held = MatchFolder(tmp_path / "out")
    in_use = await asyncio.to_thread(CliRunner().invoke, cli, told)
    held.close()
    assert (in_use.exit_code, "in use by another command" in in_use.output) == (2, True)
