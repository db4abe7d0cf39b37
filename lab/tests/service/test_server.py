"""The laboratory's server: its key, its bounds, and what becomes of a job whose caller hangs up."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playmolt_agora.service.server import BODY_BYTES
from playmolt_schemas.instrument.laboratory import JOBS

from core.tests.waiting import wait_until
from tests.laboratories import KEY, served
from tests.platforms import ROOT

JOB = "lab.tests.service.jobs"
Answer = tuple[int, str]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of the laboratory finds the stand-in."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


async def post(url: str, body: Mapping[str, Any], path: str = "/jobs/power", **headers: str) -> Answer:
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
        given = {"authorization": f"Bearer {KEY}"} | headers
        response = await client.post(f"{url}{path}", json=body, headers=given)
        return response.status_code, response.text


async def test_a_job_is_done_by_a_process_and_its_answer_comes_back() -> None:
    async with served(program=JOB) as url:
        assert await post(url, {}) == (200, '{"job": "power"}')


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/jobs/power", {"authorization": "Bearer other"}, 401),
        ("/jobs/unknown", {}, 404),
        ("/", {}, 404),
        ("/jobs/power", {"content-length": "many"}, 400),
        ("/jobs/power", {"transfer-encoding": "chunked"}, 411),
        ("/jobs/power", {"content-length": str(BODY_BYTES + 1)}, 413),
    ],
)
async def test_a_call_that_is_wrong_starts_nothing(
    path: str, headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    async with served(program=JOB) as url:
        if not {"content-length", "transfer-encoding"} & headers.keys():
            assert (await post(url, {"started": str(tmp_path / "pid")}, path, **headers))[0] == status
        else:
            assert await _raw(url, f"POST {path} HTTP/1.1", {"Authorization": f"Bearer {KEY}", **headers}) == status
    assert not (tmp_path / "pid").exists()


async def _raw(url: str, first: str, headers: Mapping[str, str]) -> int:
    port = int(url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    fields = "".join(f"{name}: {value}\r\n" for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items())
    writer.write(f"{first}\r\n{fields}\r\n".encode())
    line = await asyncio.wait_for(reader.readline(), 30)
    writer.close()
    return int(line.split(b" ")[1])


async def test_a_head_has_its_bound_and_a_body_its_time(tmp_path: Path) -> None:
    async with served(program=JOB, body_seconds=2) as url:
        assert await _raw(url, "POST /jobs/power HTTP/1.1", {"X-Long": "x" * 20_000}) == 431
        late = {"Authorization": f"Bearer {KEY}", "Content-Length": "9"}
        assert await _raw(url, "POST /jobs/power HTTP/1.1", late) == 408
        assert (await post(url, {}))[0] == 200


async def test_a_large_body_and_a_large_answer_pass_unchanged() -> None:
    text = "é" * 6_000_000
    async with served(program=JOB) as url:
        status, said = await post(url, {"echoes": text})
    assert (status, json.loads(said)["echoes"] == text) == (200, True)


async def test_a_stop_kills_the_jobs(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with served(program=JOB) as url:
        call = asyncio.create_task(post(url, {"sleeps": 600, "started": str(pid)}))
        await wait_until(lambda: pid.exists() and bool(pid.read_text("utf-8")), seconds=60)
    (found,) = await asyncio.gather(call, return_exceptions=True)
    assert isinstance(found, httpx2.RemoteProtocolError | httpx2.NetworkError)
    assert _is_gone(pid)


async def test_a_laboratory_without_a_key_answers_nobody() -> None:
    async with served(program=JOB, key="") as url:
        assert (await post(url, {}, authorization="Bearer none"))[0] == 401


async def test_a_job_that_fails_says_why() -> None:
    async with served(program=JOB) as url:
        status, said = await post(url, {"fails": True})
    assert (status, "the design has no runs" in said) == (500, True)


async def test_a_job_that_cannot_be_started_may_be_asked_for_again() -> None:
    async with served(program="no_such_program") as url:
        assert await post(url, {}) == (503, "power cannot be started now")


async def test_a_job_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    async with served(program=JOB, seconds=dict(JOBS) | {"power": 1.0}) as url:
        status, said = await post(url, {"sleeps": 600, "started": str(tmp_path / "pid")})
    assert (status, said) == (504, "power took more than 1 s")
    await wait_until(lambda: _is_gone(tmp_path / "pid"))


async def test_a_job_whose_caller_hangs_up_is_killed_and_its_place_is_free(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with served(1, program=JOB) as url:
        call = asyncio.create_task(post(url, {"sleeps": 600, "started": str(pid)}))
        await wait_until(lambda: pid.exists() and bool(pid.read_text("utf-8")), seconds=60)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await wait_until(lambda: _is_gone(pid))
        assert (await post(url, {}))[0] == 200


async def test_jobs_wait_for_their_place_and_above_the_limit_are_refused(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with served(1, program=JOB, waiting=2) as url:
        first = asyncio.create_task(post(url, {"sleeps": 600, "started": str(pid)}))
        await wait_until(pid.exists, seconds=60)
        others = {asyncio.create_task(post(url, {})) for _ in range(2)}
        (refused,), waiting = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
        assert refused.result() == (503, "too many jobs wait")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert [(await each)[0] for each in waiting] == [200]


def _is_gone(started: Path) -> bool:
    """Whether the process of a job and its files are gone."""
    pid, folder = started.read_text("utf-8").split(" ", 1)
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return not Path(folder).exists()
    return False


async def test_a_quick_job_needs_no_process_and_fails_with_its_reason() -> None:
    arms = {"cell": {"stage1": [[2, 11, 5, 1, 1, 0]], "phase1": [[16, 0, 12, 4, 0, 1]]}}
    async with served(program="no_such_program") as url:
        status, said = await post(url, arms, "/jobs/pcs")
        assert (status, '"n_stage1":20' in said) == (200, True)
        assert (await post(url, {"cell": 1}, "/jobs/pcs"))[0] == 500
