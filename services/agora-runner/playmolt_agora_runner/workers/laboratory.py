"""Calls to the laboratory: power, trials of measures, looks, thoughts to code, and studies.

A job has no effect but its answer, so a call that met a laboratory which starts, is full or was killed is repeated,
until the time of the job is over.
"""

import asyncio
import tarfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Final, TypeVar

import httpx2
import msgspec
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.instrument.laboratory import (
    JOBS,
    STUDY_FILES,
    CellInterval,
    Design,
    IntervalsRequest,
    JobName,
    MeasureTrial,
    PcsArms,
    Power,
    StudyRequest,
    Thought,
    ThoughtsRequest,
)
from playmolt_schemas.stored.agora.plan import PcsSoFar

T = TypeVar("T")
START_SECONDS: Final = 60.0
"""Extra time in which the laboratory may start, or finish what others asked."""
_PAUSE_SECONDS: Final = 0.25
_PAUSE_MOST: Final = 2.0
_BUSY: Final = 503
_LOST: Final = (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout)
_SHOWN: Final = 500


class LaboratoryFailed(RuntimeError):
    """The laboratory failed at a job or did not answer in time; the message says which and why."""


class Laboratory:
    """Calls the laboratory at an address. Every method raises LaboratoryFailed."""

    def __init__(
        self, url: str, key: str, *, seconds: Mapping[JobName, float] = JOBS, start_seconds: float = START_SECONDS
    ) -> None:
        self._url = url
        self._headers = {"authorization": f"Bearer {key}"}
        self._seconds = seconds
        self._start_seconds = start_seconds

    async def pcs(self, cells: Mapping[str, PcsArms]) -> dict[str, PcsSoFar]:
        """Cell → PCS over the turns taken so far."""
        return await self._asked("pcs", dict(cells), dict[str, PcsSoFar])

    async def intervals(self, request: IntervalsRequest) -> Sequence[CellInterval]:
        return await self._asked("intervals", request, list[CellInterval])

    async def thoughts(self, request: ThoughtsRequest) -> Sequence[Thought]:
        return await self._asked("thoughts", request, list[Thought])

    async def study(self, experiment: str) -> dict[str, bytes]:
        """The files of a study by their name."""
        packed = await self._answer("study", msgspec.json.encode(StudyRequest(experiment=experiment)))
        return await asyncio.to_thread(_unpacked, packed)

    def power(self, design: Design) -> Power:
        """Size and power of a design. Blocks: for a process of its own."""
        return asyncio.run(self._asked("power", design, Power))

    def trial(self, trial: MeasureTrial) -> tuple[PlanFault, ...]:
        """The faults of measures. Blocks likewise."""
        return asyncio.run(self._asked("trial", trial, tuple[PlanFault, ...]))

    async def _asked(self, job: JobName, request: object, kind: type[T]) -> T:
        body = await asyncio.to_thread(msgspec.json.encode, request)
        return await asyncio.to_thread(msgspec.json.decode, await self._answer(job, body), type=kind)

    async def _answer(self, job: JobName, body: bytes) -> bytes:
        bound, pause, detail = self._seconds[job] + self._start_seconds, _PAUSE_SECONDS, ""
        try:
            async with asyncio.timeout(bound):
                while True:
                    try:
                        status, answer = await self._called(job, body)
                    except _LOST as error:
                        status, answer = _BUSY, repr(error).encode()
                    if status == httpx2.codes.OK:
                        return answer
                    detail = f" {status} {answer.decode(errors='replace')[:_SHOWN]}"
                    if status != _BUSY:
                        raise LaboratoryFailed(f"{job}:{detail}")
                    await asyncio.sleep(pause)
                    pause = min(_PAUSE_MOST, 2 * pause)
        except TimeoutError:
            raise LaboratoryFailed(f"{job}: no result within {bound:g} s{detail}") from None
        except httpx2.HTTPError as error:
            raise LaboratoryFailed(f"{job}: {error!r}") from error

    async def _called(self, job: JobName, body: bytes) -> tuple[int, bytes]:
        # Beside the loop: a client reads the certificates of the machine, which takes longer than its call.
        timeout, verify = httpx2.Timeout(None, connect=5.0), self._url.startswith("https:")
        opened = await asyncio.to_thread(httpx2.AsyncClient, timeout=timeout, trust_env=False, verify=verify)
        async with opened as client:
            response = await client.post(f"{self._url}/jobs/{job}", content=body, headers=self._headers)
            return response.status_code, response.content


def _unpacked(packed: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        found = {name: archive.extractfile(name) for name in STUDY_FILES}
        return {name: file.read() for name, file in found.items() if file is not None}
