"""Plans that were sent: each is examined by a process of its own, one at a time, and then previewed or locked."""

import asyncio
import hashlib
import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Final

import msgspec
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.jobs import HELD_SECONDS, Job, PgJobs
from playmolt_core.engine.engine import Engine
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.ops import telemetry
from playmolt_core.ops.forks import AsyncForkServer
from playmolt_schemas.agora.plan import EXAMINE_SECONDS, PlanUnderWay
from playmolt_schemas.codes import MISMATCH, Code

from playmolt_agora_runner.experiment import commands, views
from playmolt_agora_runner.experiment.api import NO_EXPERIMENT, with_files
from playmolt_agora_runner.workers import examination
from playmolt_agora_runner.workers.examination import ExaminedResult, refused
from playmolt_agora_runner.workers.files import PlanFiles

IDLE_SECONDS: Final = 5.0
"""How soon a process finds a job that another one left."""
_log = telemetry.log("plans")
_BUSY: Final = Refused(Code.UNAVAILABLE, "Too many plans are waiting to be examined. Retry in a minute.")
_FAILED: Final = Refused(Code.UNAVAILABLE, "The plan could not be examined; the runner's log says why. Send it again.")
_TOO_LONG: Final = "The plan takes more than {:g} seconds to examine: plan fewer runs, tests or measures."
_UNKNOWN: Final = Refused(
    Code.NOT_FOUND, "This plan does not exist, or its result was deleted after a day. Send it again."
)


class PlanExaminer:
    """Answers calls about plans at once, and examines the plans in the background: see `run`.

    A plan whose process was killed is examined again. `models` is the file of the catalogue.
    """

    def __init__(
        self, jobs: PgJobs, files: PlanFiles, models: str, engines: Mapping[str, Engine], *,
        seconds: float = EXAMINE_SECONDS, held: float = HELD_SECONDS, forks: AsyncForkServer | None = None,
    ) -> None:  # fmt: skip
        self._jobs = jobs
        self._files = files
        self._models = models
        self._engines = engines
        self._seconds = seconds
        self._held = held
        self._holder = uuid.uuid4().hex
        self._came = asyncio.Event()
        self._forks = forks or AsyncForkServer()

    async def complete(self, request: ApiRequest) -> ApiReply | Refused:
        """Answer `POST …/experiments`: the result, or 202 while the plan is examined. Raises LogUnavailable."""
        plan, files = with_files(request.body)
        missing = await self._files.missing(files)
        if missing is not None:
            return missing
        asked = {"experiment": request.stream, "plan": plan, "files": files, "dry": request.query.get("dry") == "1"}
        body = json.dumps(asked).encode()
        digest = hashlib.sha256(body).digest()
        job = await self._jobs.put(request.stream, digest, body)
        if job is None:
            return _BUSY
        if job.digest != digest:
            return Refused(Code.IDEMPOTENCY_MISMATCH, MISMATCH)
        if job.status is None:
            self._came.set()
        return await self._answer(request.stream, job)

    async def look(self, _: object, request: ApiRequest) -> ApiReply | Refused:
        """Answer `GET /api/agora/plans/{id}`. Raises LogUnavailable."""
        job = await self._jobs.found(request.stream)
        return _UNKNOWN if job is None else await self._answer(request.stream, job)

    async def _answer(self, stream: str, job: Job) -> ApiReply | Refused:
        if job.status is None:
            return ApiReply(PlanUnderWay(plan=stream), 202)
        if job.status != 201:
            return ApiReply(job.answer or b"", job.status)
        snapshot = await self._engines["experiment"].committed.snapshot(stream)
        return NO_EXPERIMENT if snapshot is None else ApiReply(views.experiment(snapshot.state), 201)

    async def run(self) -> None:
        """Examine plans as long as the process runs."""
        try:
            while True:
                await self._examine_next()
        finally:
            await self._forks.close()

    async def _examine_next(self) -> None:
        """Examine a plan, or wait for one."""
        self._came.clear()
        try:
            taken = await self._jobs.take(self._holder)
            if taken is not None:
                await self._examined(*taken)
                return
        except LogUnavailable as error:
            _log.warning("jobs_unavailable", detail=str(error)[:300])
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_SECONDS):
                await self._came.wait()

    async def _examined(self, stream: str, request: bytes) -> None:
        try:
            found = await self._worked_out(stream, request)
        except asyncio.CancelledError:
            await asyncio.shield(self._jobs.give_back(stream, self._holder))
            raise
        if found is not None:
            await self._jobs.finish(stream, self._holder, found.status, bytes(found.answer))

    async def _worked_out(self, stream: str, request: bytes) -> ExaminedResult | None:
        """None: another process has taken the job, or the experiment could not be written."""
        found = await self._in_a_process(stream, request)
        if found is None or found.preregistered is None:
            return found
        command_id = hashlib.sha256(f"lock {stream}".encode()).hexdigest()[:32]
        command = commands.OpenExperiment(preregistered=found.preregistered)
        opened = await self._engines["experiment"].submit(stream, command, command_id)
        if not isinstance(opened, Refused):
            return found
        if opened.code is Code.UNAVAILABLE:
            await self._jobs.give_back(stream, self._holder)
            return None
        return refused(opened)

    async def _in_a_process(self, stream: str, request: bytes) -> ExaminedResult | None:
        asked = json.loads(request)
        asked["files"] = await self._files.texts(asked["files"])
        asked["models"] = self._models
        with TemporaryFile() as body, TemporaryFile() as answer, TemporaryFile() as said:
            body.write(json.dumps(asked).encode())
            body.seek(0)
            streams = (body.fileno(), answer.fileno(), said.fileno())
            try:
                process = await self._forks.start(examination.__name__, streams=streams)
            except OSError as error:
                _log.error("examination_failed", plan=stream, said=repr(error))
                return refused(_FAILED)
            ended = asyncio.create_task(process.ended())
            try:
                async with asyncio.timeout(self._seconds):
                    while not (await asyncio.wait({ended}, timeout=self._held / 4))[0]:
                        if not await self._jobs.hold(stream, self._holder):
                            return None
            except TimeoutError:
                return refused(Refused(Code.INVALID_REQUEST, _TOO_LONG.format(self._seconds)))
            finally:
                await process.end(ended)
            if ended.result():
                said.seek(0)
                _log.error("examination_failed", plan=stream, said=said.read().decode(errors="replace")[-2000:])
                return refused(_FAILED)
            answer.seek(0)
            return msgspec.json.decode(answer.read(), type=ExaminedResult)
