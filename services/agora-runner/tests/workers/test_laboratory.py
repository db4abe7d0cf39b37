"""Calls to the laboratory: repeated while it starts, is full or was killed, and failed with its reason otherwise."""

import asyncio
import re
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from playmolt_agora_runner.experiment.commands import ReportRun, SeePcs
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.workers.laboratory import Laboratory, LaboratoryFailed
from playmolt_agora_runner.workers.run_workers import PcsLook
from playmolt_core.game.api import ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code
from playmolt_schemas.instrument.laboratory import JOBS, STUDY_FILES, PcsArms
from playmolt_schemas.stored.agora.experiment import RunProgressed
from playmolt_schemas.stored.agora.plan import Spent
from playmolt_schemas.stored.agora.turn import ACTIONS

from core.tests.listening import listening
from core.tests.scenario import Scenario
from tests.agora_locks import opened
from tests.laboratories import KEY, served

ID = "experiment-00000000-0000-4000-8000-000000000001"
PLAN: dict[str, Any] = {
    "name": "n", "seed": "1", "models": ["scripted"], "languages": ["ko"],
    "phases": {"stage1": {"runs": 1, "turns": 2}, "phase1": {"runs": 1, "turns": 2}},
}  # fmt: skip
ARMS = {"phase1/scripted/ko": PcsArms(stage1=[[2, 11, 5, 1, 1, 0]], phase1=[[16, 0, 12, 4, 0, 1]])}


@asynccontextmanager
async def answering(*answers: bytes | None) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that gives one answer a call, the last one again and again; None hangs up."""
    calls = [0]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = answers[min(calls[0], len(answers) - 1)]
        calls[0] += 1
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.findall(rb"content-length: (\d+)", head.lower())[0]))
        if answer is not None:
            writer.write(answer)
            await writer.drain()

    async with listening(handle) as port:
        yield f"http://127.0.0.1:{port}", calls


def http(status: int, body: bytes) -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


async def test_pcs_so_far_is_computed_by_a_process() -> None:
    async with served() as url:
        found = await Laboratory(url, KEY).pcs(ARMS)
    assert found.keys() == ARMS.keys()
    assert float(found["phase1/scripted/ko"].pcs) > 0


async def test_a_laboratory_that_was_killed_or_is_full_is_asked_again() -> None:
    async with answering(None, http(503, b"too many jobs wait"), None, http(200, b"{}")) as (url, calls):
        assert await Laboratory(url, KEY).pcs(ARMS) == {}
    assert calls == [4]


async def test_a_job_that_fails_is_not_repeated_and_says_why() -> None:
    async with answering(http(500, b"pcs ended with status 1: no runs")) as (url, calls):
        with pytest.raises(LaboratoryFailed, match="500 pcs ended with status 1: no runs"):
            await Laboratory(url, KEY).pcs(ARMS)
    assert calls == [1]


async def test_every_wait_for_a_laboratory_that_is_away_ends() -> None:
    async with answering(None) as (url, _):
        laboratory = Laboratory(url, KEY, seconds=dict(JOBS) | {"pcs": 0.5}, start_seconds=0.5)
        with pytest.raises(LaboratoryFailed, match="pcs"):
            await laboratory.pcs(ARMS)


async def test_a_study_is_taken_out_of_its_archive() -> None:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in STUDY_FILES:
            entry = tarfile.TarInfo(name)
            entry.size = len(name)
            archive.addfile(entry, BytesIO(name.encode()))
    async with answering(http(200, packed.getvalue())) as (url, _):
        found = await Laboratory(url, KEY).study("experiment-1")
    assert found == {name: name.encode() for name in STUDY_FILES}


async def test_a_look_without_a_laboratory_is_refused_and_may_be_repeated() -> None:
    experiment = Scenario(Experiment(), ID)
    experiment.when(opened(ID, PLAN))
    async with answering(http(500, b"pcs ended with status 1")) as (url, _):
        look = PcsLook(Laboratory(url, KEY), _engines_of(experiment))
        request = ApiRequest(route="agora_look", stream=ID, body=None, operator=True)
        assert await look(request) == SeePcs(turns=0), "no run has two arms yet"
        for run in experiment.state.runs:
            counts = dict.fromkeys(ACTIONS, 3)
            report = RunProgressed(run=run.run, spent=Spent(turns=1, calls=1), models={})
            experiment.when(ReportRun(report=report, acts=counts))
        refused = await look(request)
    assert isinstance(refused, Refused)
    assert refused.code is Code.UNAVAILABLE


def _engines_of(experiment: Any) -> Any:
    async def snapshot(_: str) -> Any:
        return experiment

    return {"experiment": SimpleNamespace(committed=SimpleNamespace(snapshot=snapshot))}
