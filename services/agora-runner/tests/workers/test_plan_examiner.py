"""Plans that were sent over HTTP: examined beside the loop, once, and then previewed, locked or refused."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import msgspec
import pytest
from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.workers import examination
from playmolt_agora_runner.workers.files import PlanFiles
from playmolt_agora_runner.workers.plan_examiner import PlanExaminer
from playmolt_core.db.jobs import Job
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Accepted, Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.ops.forks import AsyncForkServer
from playmolt_schemas.agora.plan import PlanUnderWay
from playmolt_schemas.codes import Code

from core.tests.scenario import Scenario
from core.tests.waiting import wait_until
from tests.laboratories import KEY, LocalLaboratory, served

ID = "experiment-00000000-0000-4000-8000-000000000001"
PLAN: dict[str, Any] = {
    "name": "n", "seed": "1", "models": ["scripted-steady"], "languages": ["en"],
    "phases": {"phase1": {"runs": 1, "turns": 2}},
}  # fmt: skip


class Jobs:
    """One process's jobs, in memory."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.requests: dict[str, bytes] = {}
        self.taken: list[str] = []
        self.mine = True
        self.full = False

    async def put(self, stream: str, digest: bytes, request: bytes) -> Job | None:
        if stream not in self.jobs:
            if self.full:
                return None
            self.jobs[stream], self.requests[stream] = Job(digest, None, None), request
        return self.jobs[stream]

    async def found(self, stream: str) -> Job | None:
        return self.jobs.get(stream)

    async def take(self, holder: str) -> tuple[str, bytes] | None:
        for stream, job in self.jobs.items():
            if job.status is None and stream not in self.taken:
                self.taken.append(stream)
                return stream, self.requests[stream]
        return None

    async def hold(self, stream: str, holder: str) -> bool:
        return self.mine

    async def give_back(self, stream: str, holder: str) -> None:
        self.taken.remove(stream)

    async def finish(self, stream: str, holder: str, status: int, answer: bytes) -> None:
        self.jobs[stream] = Job(self.jobs[stream].digest, status, answer)


class Files:
    """Texts under their hash."""

    def __init__(self, *texts: str) -> None:
        self._texts = {hashlib.sha256(text.encode()).hexdigest(): text for text in texts}

    async def texts(self, hashes: Iterable[str]) -> dict[str, str]:
        return {named: self._texts[named] for named in hashes if named in self._texts}


@pytest.fixture(autouse=True)
async def laboratory(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    async with served() as url:
        monkeypatch.setenv("PLAYMOLT_LAB_URL", url)
        monkeypatch.setenv("PLAYMOLT_LAB_KEY", KEY)
        yield


class Platform:
    """An examiner with one experiment's rules behind it."""

    def __init__(self, *texts: str, models: str = "", **options: Any) -> None:
        self.jobs = Jobs()
        self.experiment = Scenario(Experiment(), ID)
        self.submitted = 0
        files = PlanFiles(cast("Any", Files(*texts)))
        engine = SimpleNamespace(submit=self._submit, committed=SimpleNamespace(snapshot=self._snapshot))
        engines = {"experiment": cast("Any", engine)}
        self.examiner = PlanExaminer(cast("Any", self.jobs), files, models, engines, **options)

    async def _submit(self, stream: str, command: Any, command_id: str) -> Accepted | Refused:
        assert (stream, isinstance(command, commands.OpenExperiment), len(command_id)) == (ID, True, 32)
        self.submitted += 1
        return self.experiment.when(command).decision

    async def _snapshot(self, stream: str) -> Any:
        return self.experiment if self.experiment.log else None

    async def send(self, body: Any, **query: str) -> ApiReply | Refused:
        return await self.examiner.complete(ApiRequest(route="agora_open", stream=ID, body=body, query=query))

    async def look(self) -> ApiReply | Refused:
        return await self.examiner.look(None, ApiRequest(route="agora_plan", stream=ID))

    async def result(self, body: Any, **query: str) -> ApiReply:
        """What a plan has become."""
        first = await self.send(body, **query)
        assert isinstance(first, ApiReply)
        assert (first.status, first.body) == (202, PlanUnderWay(plan=ID))
        async with self.running():
            await wait_until(lambda: self.jobs.jobs[ID].status is not None, seconds=60)
        found = await self.look()
        assert isinstance(found, ApiReply)
        return found

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.examiner.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_plan_is_locked_once_however_often_it_is_sent() -> None:
    platform = Platform()
    found = await platform.result(PLAN)
    assert (found.status, found.body.experiment, found.body.status) == (201, ID, "running")  # type: ignore[union-attr]
    again = await platform.send(PLAN)
    assert isinstance(again, ApiReply)
    assert (again.status, platform.submitted, platform.jobs.taken) == (201, 1, [ID])
    other = await platform.send(PLAN | {"seed": "2"})
    assert isinstance(other, Refused)
    assert other.code is Code.IDEMPOTENCY_MISMATCH


async def test_a_dry_call_previews_and_locks_nothing() -> None:
    platform = Platform()
    found = await platform.result(PLAN, dry="1")
    preview = json.loads(cast("bytes", found.body))
    assert (found.status, preview["runs"], preview["turns"], platform.experiment.log) == (200, 1, 24, [])


async def test_a_plan_with_faults_is_refused_with_all_of_them() -> None:
    platform = Platform()
    found = await platform.result(PLAN | {"models": ["nobody"], "colour": 1})
    problem = json.loads(cast("bytes", found.body))
    assert (found.status, problem["code"]) == (400, "invalid_request")
    assert [fault["field"] for fault in problem["errors"]] == ["colour", "models"]
    assert platform.experiment.log == []


async def test_a_plan_that_takes_too_long_is_refused_in_those_words() -> None:
    found = await Platform(seconds=0.01).result(PLAN)
    problem = json.loads(cast("bytes", found.body))
    assert (found.status, "0.01 seconds" in problem["detail"]) == (400, True)


async def test_a_process_that_fails_is_a_fault_of_the_platform() -> None:
    assert (await Platform(models="/no/such/file").result(PLAN)).status == 503


class NoForks(AsyncForkServer):
    async def start(self, *_: object, **__: object) -> NoReturn:
        raise BlockingIOError("no process is free")


async def test_a_process_that_cannot_be_started_is_a_fault_of_the_platform() -> None:
    assert (await Platform(forks=NoForks()).result(PLAN)).status == 503


async def test_what_another_process_took_is_left_to_it() -> None:
    platform = Platform(held=0.01)
    platform.jobs.mine = False
    await platform.send(PLAN)
    async with platform.running():
        await wait_until(lambda: bool(platform.jobs.taken))
    assert platform.jobs.jobs[ID].status is None


async def test_a_process_that_stops_gives_its_plan_back() -> None:
    platform = Platform()
    await platform.send(PLAN)
    async with platform.running():
        await wait_until(lambda: bool(platform.jobs.taken))
    assert platform.jobs.taken == []


async def test_too_many_plans_and_unknown_ones_are_refused() -> None:
    platform = Platform()
    platform.jobs.full = True
    busy, unknown = await platform.send(PLAN), await platform.look()
    assert isinstance(busy, Refused)
    assert isinstance(unknown, Refused)
    assert (busy.code, unknown.code) == (Code.UNAVAILABLE, Code.NOT_FOUND)


def examined(plan: Any, files: dict[str, str]) -> examination.ExaminedResult:
    return examination.result(ID, plan, files, Catalogue({}), cast("Any", LocalLaboratory()), dry=True)


MEASURE = """KEYS = ("run",)
COLUMNS = {"run": "str"}
LABELS = {}


def measure(turns):
    %s
"""
MEASURED = {
    "name": "tried", "seed": "1", "models": ["scripted-steady"], "languages": ["en"],
    "phases": {"phase1": {"runs": 1, "turns": 2}},
}  # fmt: skip


def tried(*bodies: str, plan: Any = MEASURED) -> list[dict[str, Any]]:
    """The faults of a plan with these measures."""
    files = {f"measures/m{number}.py": MEASURE % body for number, body in enumerate(bodies)}
    found = msgspec.json.decode(examined(plan, files).answer)
    return cast("list[dict[str, Any]]", found.get("errors", []))


def test_every_measure_is_tried_before_a_plan_is_opened() -> None:
    found = tried('return turns.select("run").unique()', 'raise ValueError("at once")', 'open("x", "w")')
    assert [(fault["file"], fault["code"]) for fault in found] == [
        ("measures/m1.py", "measure_failed"), ("measures/m2.py", "measure_forbidden"),
    ]  # fmt: skip
    assert "at once" in found[0]["message"]


@pytest.mark.parametrize("plan", [MEASURED | {"measures": []}, ["name"], "name: [", None])
def test_a_plan_that_uses_no_measure_or_cannot_be_read_tries_none(plan: Any) -> None:
    assert not any(
        fault.get("file", "").startswith("measures/") for fault in tried('raise ValueError("at once")', plan=plan)
    )
