"""The laboratory's server: `POST /jobs/NAME` with its key is answered by a process of that job.

The body and the answer lie in files, so that neither is held in memory. A caller that hangs up ends its job.
"""

import asyncio
import hmac
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import IO, Final, NamedTuple

from playmolt_core.ops import telemetry
from playmolt_schemas.instrument.laboratory import JOBS, JobName

from playmolt_agora.service.job import COMPUTED

COMMAND: Final = (sys.executable, "-P", "-m", "playmolt_agora.service.job")
"""Starts a job; its name follows."""
QUICK: Final[Mapping[JobName, Callable[[bytes], bytes]]] = {"pcs": COMPUTED["pcs"]}
"""Jobs of milliseconds, done in a thread of the server: a person looks again and again."""
BODY_BYTES: Final = 256 * 1024 * 1024
WAITING_MOST: Final = 32
_HEAD_BYTES: Final = 16_384
_HEAD_SECONDS: Final = 10.0
_BODY_SECONDS: Final = 60.0
_QUIET_SECONDS: Final = 60.0
"""How long a caller may take nothing of an answer."""
_CHUNK: Final = 1 << 16
_SHOWN: Final = 2000
_PREFIX: Final = "/jobs/"
ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1"}
"""Threads for products as small as ours cost more than they save."""
_log = telemetry.log("laboratory")


class _Refused(Exception):
    """A call that no job is started for."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class _Call(NamedTuple):
    job: JobName
    bytes: int


class Laboratory:
    """Does jobs, `at_once` of them at the same time; others wait, and above `waiting` calls one is refused (503)."""

    def __init__(
        self, key: str, at_once: int, *,
        seconds: Mapping[JobName, float] = JOBS, command: Sequence[str] = COMMAND,
        waiting: int = WAITING_MOST, quick: Mapping[JobName, Callable[[bytes], bytes]] = QUICK,
        clock: Callable[[], float] | None = None,
    ) -> None:  # fmt: skip
        self._key = key.encode()
        self._slots = asyncio.Semaphore(at_once)
        self._seconds = seconds
        self._command = tuple(command)
        self._quick = quick
        self._waiting = waiting
        self._clock = clock or asyncio.get_running_loop().time
        self._calls = 0
        self._quiet_since = self._clock()

    @property
    def idle_seconds(self) -> float:
        """The time since the last call ended; 0 while one is answered."""
        return 0.0 if self._calls else self._clock() - self._quiet_since

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a connection, which carries one call."""
        self._calls += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._served(reader, writer)
        finally:
            self._calls -= 1
            self._quiet_since = self._clock()
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with tempfile.TemporaryFile() as body, tempfile.TemporaryFile() as answer:
            status = HTTPStatus.OK
            try:
                call = await self._read(reader, body)
                if call.job in self._quick:
                    await self._computed(call.job, body, answer)
                else:
                    await self._answered(call, reader, body, answer)
            except _Refused as refused:
                status = HTTPStatus(refused.status)
                answer.seek(0)
                answer.truncate()
                answer.write(str(refused).encode())
            await _write(writer, status, answer)

    async def _read(self, reader: asyncio.StreamReader, body: IO[bytes]) -> _Call:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            call = self._call(head)
            left = call.bytes
            async with asyncio.timeout(_BODY_SECONDS):
                while left:
                    piece = await reader.read(min(left, _CHUNK))
                    if not piece:
                        raise _Refused(400, "the body ends early")
                    body.write(piece)
                    left -= len(piece)
        except TimeoutError:
            raise _Refused(408, "the call was not sent in time") from None
        except asyncio.LimitOverrunError:
            raise _Refused(431, "the headers are too long") from None
        body.seek(0)
        return call

    def _call(self, head: bytes) -> _Call:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        path = rest.partition(" ")[0]
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        given = fields.get("authorization", "").removeprefix("Bearer ").encode()
        if not self._key or not hmac.compare_digest(given, self._key):
            raise _Refused(401, "the key of the laboratory is wrong")
        job = next((job for job in JOBS if path == f"{_PREFIX}{job}"), None)
        if method != "POST" or job is None:
            raise _Refused(404, "no such job")
        length = fields.get("content-length", "")
        if not length.isdecimal():
            raise _Refused(411, "Content-Length is missing")
        if int(length) > BODY_BYTES:
            raise _Refused(413, f"a body may have {BODY_BYTES} bytes")
        if self._calls > self._waiting:
            raise _Refused(503, "too many jobs wait")
        return _Call(job, int(length))

    async def _computed(self, job: JobName, body: IO[bytes], answer: IO[bytes]) -> None:
        try:
            async with asyncio.timeout(self._seconds[job]):
                answer.write(await asyncio.to_thread(self._quick[job], body.read()))
        except TimeoutError:
            raise _Refused(504, f"{job} took more than {self._seconds[job]:g} s") from None
        except (ValueError, ArithmeticError) as error:
            _log.error("job_failed", job=job, said=repr(error))
            raise _Refused(500, f"{job} failed: {error!r}") from error

    async def _answered(self, call: _Call, reader: asyncio.StreamReader, body: IO[bytes], answer: IO[bytes]) -> None:
        gone = asyncio.create_task(reader.read(1))
        try:
            slot = asyncio.create_task(self._slots.acquire())
            await asyncio.wait({slot, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not slot.done() or gone.done():
                slot.cancel()
                if slot.done() and not slot.cancelled():
                    self._slots.release()
                raise ConnectionResetError("the caller hung up")
            try:
                await self._done(call.job, gone, body, answer)
            finally:
                self._slots.release()
        finally:
            gone.cancel()

    async def _done(self, job: JobName, gone: "asyncio.Task[bytes]", body: IO[bytes], answer: IO[bytes]) -> None:
        with tempfile.TemporaryFile() as said:
            process = await asyncio.create_subprocess_exec(
                *self._command, job, stdin=body, stdout=answer, stderr=said,
                start_new_session=True, env=os.environ | ENVIRONMENT,
            )  # fmt: skip
            ended = asyncio.create_task(process.wait())
            try:
                await asyncio.wait({ended, gone}, timeout=self._seconds[job], return_when=asyncio.FIRST_COMPLETED)
                hung_up = gone.done()
                late = not ended.done() and not hung_up
            finally:
                await _end(process, ended)
            if hung_up:
                raise ConnectionResetError("the caller hung up")
            if late:
                raise _Refused(504, f"{job} took more than {self._seconds[job]:g} s")
            if process.returncode:
                said.seek(max(0, said.seek(0, os.SEEK_END) - _SHOWN))
                detail = said.read().decode(errors="replace")
                _log.error("job_failed", job=job, status=process.returncode, said=detail)
                raise _Refused(500, f"{job} ended with status {process.returncode}: {detail[-300:]}")


async def _end(process: asyncio.subprocess.Process, ended: "asyncio.Task[int]") -> None:
    """Kill a job that still runs, with the processes of its measures, and wait for it, also if cancelled meanwhile."""
    if not ended.done():
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    cancelled: asyncio.CancelledError | None = None
    while not ended.done():
        try:
            await asyncio.wait({ended})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def _write(writer: asyncio.StreamWriter, status: HTTPStatus, body: IO[bytes]) -> None:
    length = body.seek(0, os.SEEK_END)
    body.seek(0)
    writer.write(
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: {length}\r\nConnection: close\r\n\r\n".encode()
    )
    while piece := body.read(_CHUNK):
        writer.write(piece)
        async with asyncio.timeout(_QUIET_SECONDS):
            await writer.drain()
    async with asyncio.timeout(_QUIET_SECONDS):
        await writer.drain()
