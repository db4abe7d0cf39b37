"""An experiment that is killed in the middle, resumed, analysed and exported, and its bundle checked on its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from playmolt_agora.bundle import verify
from playmolt_cli.agora.study import run_transcript

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, reply
from core.tests.waiting import suspend, wait_until
from tests import platforms
from tests.integration.agora.experiment_operator import (
    EXPERIMENTS,
    Gated,
    Numbered,
    Operator,
    calls_of,
    plan,
    turns_asked,
    turns_of,
)
from tests.platforms import Stack

StackFactory = Callable[..., Stack]


async def asked(server: FakeServer, many: int) -> None:
    async with asyncio.timeout(120):
        while len(server.received) < many:
            await asyncio.sleep(0.02)


def playmolt(*arguments: str) -> Any:
    """Run a command in a process of its own, as a person does; gives the JSON of its last line."""
    done = platforms.playmolt(*arguments, "--json", environment=os.environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().split("\n")[-1])


WHY = {"id": "why", "at": [0, 2], "ask": {"ko": "왜?", "en": "Why?"}, "text": True}


class Answering(Numbered):
    """Numbers its answers to questions aside, too."""

    def __call__(self, asked: ReceivedRequest) -> Canned:
        if " interview:" not in asked.turn:
            return super().__call__(asked)
        self.number += 1
        return reply(json.dumps({"answer": f"reply {self.number}"}), delay=self.delay, usage=self.usage)


async def test_whatever_is_killed_no_turn_is_lost_or_taken_twice_and_the_bundle_verifies(
    stack: StackFactory, folder: Path
) -> None:
    async with FakeServer() as server:
        # Slow, so that the runs are not over before both replicas have had a turn.
        server.otherwise = model = Answering(delay=0.3)
        catalogue = folder / "models.toml"
        catalogue.write_text(server.toml(input_price=1, output_price=2))
        running = stack("--only", "agora-runner", "--engines", "2", PLAYMOLT_MODELS=str(catalogue))
        async with Operator(running) as operator:
            # The first 48 requests are questions aside, so that both kinds of questions are killed.
            experiment = await operator.open(plan(turns=2, runs=2, languages=("ko", "en"), interviews=[WHY]))
            await asked(server, 12)
            await operator.until_shared()
            running.kill("agora-runner-1")
            model.delay = 0.05
            await asked(server, 70)
            running.kill_tree()
            running.start()
            state = await operator.until(experiment, "finished")
            runs = [run["run"] for run in await operator.runs(experiment)]
            events = {run: await operator.events(run) for run in runs}
        requests = Counter((run, turn) for run, turn, _ in turns_asked(server))
        taken, lost = turns_taken(events), Counter[tuple[str, str]]()
        answered = answers_given(events)
        for run in runs:
            for call in calls_of(events[run]):
                if call["call"]["outcome"] == "lost":
                    topic = call["call"].get("interview")
                    lost[run, named(call["turn"], call["agent"], topic)] += call["call"]["lost"]
        assert (len(taken), len(answered)) == (96, 96)
        assert set(taken.values()) == {1}, "no turn is taken twice"
        assert set(answered.values()) == {1}, "no question is answered twice"
        assert set(requests) == {*taken, *answered}
        # A worker killed between its mark and its request tells of one that no server got: one a run and kill at most.
        unasked = sum(lost.values()) - (sum(requests.values()) - 192)
        assert 0 <= unasked <= 2 * len(runs), "lost calls are told once, and only where one was made"
        for turn, count in requests.items():
            assert count <= 1 + lost[turn], "a reply that was whole is never asked again"
        logged = Counter(
            call["call"]["reply"] for run in runs for call in calls_of(events[run]) if call["call"]["outcome"] == "ok"
        )
        assert set(logged.values()) == {1}, "each numbered reply is logged once"
        assert len(logged) == 192
        for run in runs:
            for record in turns_of(events[run]):
                assert record["attempt"] == 1 + lost[run, f"{record['turn']}:{record['agent']}"]
        assert state["spent"]["turns"] == 96
        told = {deviation["field"] for deviation in state["deviations"]}
        assert told == {"answered.fake"}, "whoever takes a run up compares itself with the lock"
        await asyncio.to_thread(running.stop)
        data = str(running.folder.path)
        study, bundle = folder / "study", folder / "bundle"
        report = await asyncio.to_thread(playmolt, "agora", "analyze", experiment, "--out", str(study), "--data", data)
        assert Path(report["report"]) == study / "report.html"
        assert "a plan" in (study / "report.html").read_text()
        assert len((study / "turns.jsonl").read_text().splitlines()) == 96
        text = await asyncio.to_thread(run_transcript, runs[0], None, "text", running.folder.path, prompts=True)
        aside = [block for block in text.split("\n\n[") if " · outside the run\n" in block]
        assert len(aside) == 24, "its questions aside are in its transcript, with their prompts"
        assert all("\nuser: " in block and "\nanswer: reply " in block for block in aside)
        await asyncio.to_thread(playmolt, "agora", "export", experiment, "--out", str(bundle), "--data", data)
        verifier = [sys.executable, "-I", str(bundle / "verify.py"), str(bundle)]
        checked = await asyncio.to_thread(subprocess.run, verifier, capture_output=True, text=True, timeout=120)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "VERIFIED" in checked.stdout
        assert experiment in (bundle / "manifest.json").read_text()


def named(turn: int, agent: str, topic: str | None = None) -> str:
    """A turn or a question as the header of its request names it."""
    return f"{turn}:{agent}" if topic is None else f"interview:{turn}:{agent}:{topic}"


def answers_given(events: dict[str, Any]) -> Counter[tuple[str, str]]:
    """Count each answer to a question aside of each run."""
    return Counter(
        (run, named(data["turn"], data["agent"], data["id"]))
        for run, told in events.items()
        for kind, data in told
        if kind == "interviewed" and data["text"] is not None
    )


def turns_taken(events: dict[str, Any]) -> Counter[tuple[str, str]]:
    """Count each turn of each run."""
    return Counter((run, f"{turn['turn']}:{turn['agent']}") for run, told in events.items() for turn in turns_of(told))


async def test_a_plan_survives_the_process_that_examines_it(stack: StackFactory, folder: Path) -> None:
    """The laboratory is stopped meanwhile: so the examination takes as long as it must, and costs nothing."""
    compared = {arm: {"runs": 5, "turns": 2} for arm in ("stage1", "phase1")}
    tested = plan() | {"phases": compared, "hypotheses": ["pcs:fake"]}
    async with FakeServer() as server:
        catalogue = folder / "models.toml"
        catalogue.write_text(server.toml())
        running = stack("--only", "agora-runner", PLAYMOLT_MODELS=str(catalogue))
        with Gated() as server.otherwise:  # the runs are under way until they are stopped
            async with Operator(running) as operator:
                assert (await operator.sent(tested | {"seed": "8"}, "?dry=1")).status_code == 200
                laboratory = frozen(running)
                try:
                    sent = await operator.call("POST", EXPERIMENTS, tested, **{"Idempotency-Key": "once"})
                    assert sent.status_code == 202, sent.text
                    await wait_until(lambda: is_called(laboratory), seconds=120)
                    running.kill("agora-runner-1")
                finally:
                    os.kill(laboratory, signal.SIGCONT)
                found = await operator.looked_for(sent)
                assert (found.status_code, found.json()["status"]) == (200, "running")
                again = await operator.call("POST", EXPERIMENTS, tested, **{"Idempotency-Key": "once"})
                assert (again.status_code, again.json()["experiment"]) == (201, found.json()["experiment"])
                assert len((await operator.get(EXPERIMENTS))["experiments"]) == 1
                assert (await operator.post(found.json()["experiment"], "stop")).status_code == 200


async def test_a_laboratory_killed_in_a_report_a_look_and_a_bundle_costs_a_repeat(
    stack: StackFactory, folder: Path
) -> None:
    compared = {arm: {"runs": 1, "turns": 1} for arm in ("stage1", "phase1")}
    async with FakeServer() as server:
        catalogue = folder / "models.toml"
        catalogue.write_text(server.toml() + server.toml("held", model="held-model"))
        running = stack("--only", "agora-runner", PLAYMOLT_MODELS=str(catalogue))
        async with Operator(running) as operator:
            with Gated(model="held-model") as server.otherwise:  # two runs are under way while the laboratory is killed
                experiment = await operator.open(plan() | {"models": ["fake", "held"], "phases": compared})
                await operator.until(experiment, lambda state: state["spent"]["turns"] == 24)
                path = f"{EXPERIMENTS}/{experiment}"
                report = asyncio.create_task(whole(operator, f"{path}/report"))
                first = await kill_in_job(running, "study")
                assert experiment in (await report).text
                second = frozen(running)
                look = asyncio.create_task(operator.post(experiment, "look"))
                await wait_until(lambda: is_called(second), seconds=60)
                os.kill(second, signal.SIGKILL)
                looks = (await look).json()["looks"]
                assert [seen["turns"] for seen in looks] == [24]
            state = await operator.until(experiment, "finished")
            bundle = asyncio.create_task(whole(operator, f"{path}/bundle"))
            third = await kill_in_job(running, "study")
            assert len({first, second, third}) == 3
            (folder / "bundle.zip").write_bytes((await bundle).content)
            runs = [run["run"] for run in await operator.runs(experiment)]
            taken = turns_taken({run: await operator.events(run) for run in runs})
            assert (len(taken), set(taken.values()), state["spent"]["turns"]) == (48, {1}, 48)
            assert len(server.received) == 48, "no turn is asked again"
    assert [*(running.folder.path / "scratch").iterdir()], "a laboratory that is killed leaves its files"
    assert not [*running.folder.scratch().iterdir()], "the next start removes them"
    assert verify.main([str(folder / "bundle.zip")]) == 0


async def whole(operator: Operator, path: str) -> httpx.Response:
    """What is being generated, when it is there."""
    async with asyncio.timeout(120):
        while (answer := await operator.call("GET", path)).status_code == 202:
            await asyncio.sleep(0.2)
    assert answer.status_code == 200, answer.text
    return answer


async def kill_in_job(running: Stack, name: str) -> int:
    """Kill the laboratory of a platform as soon as it does a job, which ends as well; gives the laboratory's id."""
    found: list[int] = []
    forks = fork_server(running)

    def does() -> bool:
        jobs = {pid: above(pid) for pid in processes(f"playmolt_agora.service.job\0{name}\0")}
        found[:] = next(([pid, over[1]] for pid, over in jobs.items() if forks in over[2:]), [])
        return bool(found)

    await wait_until(does, seconds=120)
    job, laboratory = found
    os.kill(laboratory, signal.SIGKILL)
    await wait_until(lambda: not above(job), seconds=60)
    return laboratory


def fork_server(running: Stack) -> int:
    """The parent of all services of a platform, by one that is not killed here."""
    return above(running.run.processes["gateway-1"])[0]


def frozen(running: Stack) -> int:
    """Stop the laboratory, so that a call of it waits; gives its id."""
    forks, until, found = fork_server(running), time.monotonic() + 60, list[int]()
    while len(found) != 1:  # one that was killed may not be reaped yet, and its successor not be there
        assert time.monotonic() < until, found
        found = [pid for pid in processes("\0-m\0playmolt_agora.service\0") if above(pid)[:1] == [forks]]
    suspend(found[0])
    return found[0]


def is_called(laboratory: int) -> bool:
    """Whether somebody has a connection to a port that this process listens on."""
    sockets = {os.readlink(path) for path in Path(f"/proc/{laboratory}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]]
    ports = {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}
    return any(row[1] in ports and row[3] == "01" for row in rows)


def processes(words: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if words.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def above(pid: int) -> list[int]:
    """The parent of a process, its parent and so on; of a process that has ended none."""
    found = []
    with suppress(OSError):
        while pid > 1:
            pid = int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])
            found.append(pid)
    return found
