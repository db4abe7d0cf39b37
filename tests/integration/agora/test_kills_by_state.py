"""Runners and their laboratory are killed while experiments are in every state, and each goes on from there."""

import asyncio
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, reply, status
from core.tests.waiting import wait_until
from tests.integration.agora.experiment_operator import (
    EXPERIMENTS,
    Operator,
    calls_of,
    plan,
    said,
    turns_asked,
    turns_of,
)
from tests.integration.agora.test_experiments import model  # noqa: F401 -- a fixture
from tests.integration.agora.test_kills import frozen, whole
from tests.platforms import Stack

LABELS = json.dumps({"survival": False, "social": True})


class HeldBack:
    """Answers at once. Until `gate` is set, `held` answers the first call of a stream only, and `away` none."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked = Counter[str]()

    def __call__(self, asked: ReceivedRequest) -> Canned:
        stream, named = asked.turn.partition(" ")[0], asked.body["model"]
        self.asked[stream] += 1
        if named == "away" and not self.gate.is_set():
            return status(503, retry_after="0")
        answer = reply(LABELS if stream.startswith("experiment-") else said())
        waits = named == "held" and self.asked[stream] > 1
        return msgspec.structs.replace(answer, gate=self.gate) if waits else answer


@pytest.fixture(scope="module")
def running(session_folder: Path, model: FakeServer) -> Iterator[Stack]:  # noqa: F811
    catalogue = session_folder / "kills-models.toml"
    catalogue.write_text("".join(model.toml(name, model=name) for name in ("free", "held", "away")))
    own = {"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": str(catalogue)}
    with Stack(session_folder / "agora-kills", ("--only", "agora-runner", "--engines", "2"), own) as running:
        yield running


async def test_experiments_in_every_state_go_on_after_kills(running: Stack, model: FakeServer) -> None:  # noqa: F811
    model.forget()
    model.otherwise = script = HeldBack()
    async with Operator(running) as operator:
        opened = [operator.open(plan(alias)) for alias in ("free", "free", "held", "held", "held", "away")]
        short = operator.open(plan("free", budget={"calls": 5}))
        done, coded, busy, stopped, ended, paused, spent = await asyncio.gather(*opened, short)
        runs = {each: (await operator.runs(each))[0]["run"] for each in (busy, stopped, ended, paused)}
        await asyncio.gather(
            operator.until(done, "finished"),
            operator.until(coded, "finished"),
            operator.until(spent, "budget_stopped"),
            operator.until_event(runs[paused], "run_paused"),
            *(operator.until_event(runs[each], "agent_acted") for each in (busy, stopped, ended)),
        )
        assert (await operator.post(coded, "judge", {"model": "held", "turns": "all"})).status_code == 200
        await wait_until(lambda: script.asked[coded] > 1, 60)
        assert (await operator.post(stopped, "stop")).status_code == 200
        assert (await operator.call("POST", f"/api/admin/games/{ended}/end", {"reason": "enough"})).status_code == 200
        assert (await operator.sent(plan("free"), "?dry=1")).status_code == 200
        before = [record.hash for record in await operator.records(done)]
        sent = await operator.call("POST", EXPERIMENTS, plan("free", runs=2))  # it was changed after its dry run
        grown = await operator.open(plan("free", adaptive={"measure": "p:trade", "width": "0.1", "max_runs": 2}))
        report = asyncio.create_task(whole(operator, f"{EXPERIMENTS}/{done}/report"))
        first = running.kill("agora-runner-1")
        os.kill(await asyncio.to_thread(frozen, running), signal.SIGKILL)
        await wait_until(lambda: running.run.processes.get("agora-runner-1", first) != first, 60)
        for name in ("agora-runner-1", "agora-runner-2"):
            running.kill(name)
        script.gate.set()
        changed = (await operator.looked_for(sent)).json()["experiment"]
        assert (await operator.post(stopped, "resume")).status_code == 200
        assert (await operator.post(spent, "resume", {"budget": {"calls": 50}})).status_code == 200
        for each in (busy, stopped, paused, spent, changed, grown):
            state = await operator.until(each, "finished")
            assert state["spent"]["turns"] == state["progress"]["turns_planned"]
        looks = [data for kind, data in await operator.events(grown) if kind == "looked"]
        assert [look["finished"] for look in looks] == [1, 2], "each look is taken once"
        await operator.until_event(runs[ended], "game_aborted")
        assert (await operator.now(ended))["status"] == "aborted"
        assert done in (await report).text
        assert [record.hash for record in await operator.records(done)] == before
        await until_coded(operator, coded)
        asked = Counter((run, turn) for run, turn, _ in turns_asked(model))
        for each in (done, coded, busy, stopped, paused, spent, changed, grown):
            for run in await operator.runs(each):
                check_run(await operator.events(run["run"]), asked, run["run"])


async def until_coded(operator: Operator, experiment: str) -> None:
    """Wait until the judge has ended; each thought is judged once."""

    async def has_ended() -> bool:
        return str((await operator.get(f"{EXPERIMENTS}/{experiment}/codings"))["judges"][0]["status"]) == "done"

    await wait_until(has_ended, 120)
    settled = [data for kind, data in await operator.events(experiment) if kind == "judge_coded" and data["code"]]
    assert Counter((data["run"], data["agent"], data["turn"]) for data in settled).total() == 12
    assert len({(data["agent"], data["turn"]) for data in settled}) == 12


def check_run(events: list[tuple[str, Any]], asked: Counter[tuple[str, str]], run: str) -> None:
    """Each turn is taken once, and asked again only where a call was lost or failed."""
    taken = Counter(f"{record['turn']}:{record['agent']}" for record in turns_of(events))
    assert (len(taken), set(taken.values())) == (12, {1})
    repeats = Counter[str]()
    for made in calls_of(events):
        failed = made["call"]["outcome"] != "ok"
        repeats[f"{made['turn']}:{made['agent']}"] += made["call"].get("lost", 1) if failed else 0
    for turn in taken:
        assert 1 <= asked[run, turn] <= 1 + repeats[turn], turn
