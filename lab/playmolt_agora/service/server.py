"""The laboratory's server: `POST /jobs/NAME` with its key is answered by a process of that job.

The body and the answer are files, so that neither is held in memory. A caller that hangs up ends its job.
"""

import asyncio
import hmac
import os
import socket
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Final

from playmolt_core.ops import telemetry
from playmolt_core.ops.connections import Bounds, ConnectionLimiter
from playmolt_core.ops.forks import AsyncForkServer
from playmolt_core.ops.http_protocol import BREAK_OFF, BoundedProtocol, serve_until
from playmolt_schemas.instrument.laboratory import JOBS, JobName
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from playmolt_agora.service import job as jobs

QUICK: Final[Mapping[JobName, Callable[[bytes], bytes]]] = {"pcs": partial(jobs.computed, "pcs")}
"""Jobs of milliseconds, done in a thread of the server: a person looks again and again."""
BODY_BYTES: Final = 256 * 1024 * 1024
WAITING_MOST: Final = 32
_BODY_SECONDS: Final = 60.0
_QUIET_SECONDS: Final = 60.0
"""How long a caller may take nothing of an answer."""
_CONNECTIONS: Final = 2 * WAITING_MOST
_DRAIN_SECONDS: Final = 1
"""Answers are sent to their end for so long when the server stops; a job that still runs is killed."""
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


class _HungUpError(Exception):
    """The caller closed the connection."""


class Laboratory:
    """Does jobs, `at_once` of them at the same time; others wait, and above `waiting` calls one is refused (503)."""

    def __init__(
        self, key: str, at_once: int, *,
        seconds: Mapping[JobName, float] = JOBS, program: str = jobs.__name__,
        waiting: int = WAITING_MOST, body_seconds: float = _BODY_SECONDS,
        quick: Mapping[JobName, Callable[[bytes], bytes]] = QUICK,
    ) -> None:  # fmt: skip
        self._key = key.encode()
        self._slots = asyncio.Semaphore(at_once)
        self._seconds = seconds
        self._program = program
        self._quick = quick
        self._waiting = waiting
        self._body_seconds = body_seconds
        self._clock = asyncio.get_running_loop().time
        self._forks = AsyncForkServer()
        self._calls = 0
        self._quiet_since = self._clock()

    @property
    def idle_seconds(self) -> float:
        """The time since the last call ended; 0 while one is answered."""
        return 0.0 if self._calls else self._clock() - self._quiet_since

    async def close(self) -> None:
        """End the processes of jobs."""
        await self._forks.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application."""
        self._calls += 1
        try:
            await self._served(scope, receive, send)
        except (_HungUpError, asyncio.CancelledError):  # cancelled: the server stops
            scope["extensions"][BREAK_OFF]["now"]()
        finally:
            self._calls -= 1
            self._quiet_since = self._clock()

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        with tempfile.TemporaryFile() as body, tempfile.TemporaryFile() as answer:
            status = 200
            try:
                job = self._job(scope)
                await self._read(receive, body)
                if job in self._quick:
                    await self._computed(job, body, answer)
                else:
                    await self._answered(job, receive, body, answer)
            except _Refused as refused:
                status = refused.status
                answer.seek(0)
                answer.truncate()
                answer.write(str(refused).encode())
            await _write(send, status, answer)

    def _job(self, scope: Scope) -> JobName:
        """The job that a call asks for. Raises _Refused, before its body is read."""
        fields: dict[bytes, bytes] = dict(scope["headers"])
        given = fields.get(b"authorization", b"").removeprefix(b"Bearer ")
        if not self._key or not hmac.compare_digest(given, self._key):
            raise _Refused(401, "the key of the laboratory is wrong")
        job = next((job for job in JOBS if scope["path"] == f"{_PREFIX}{job}"), None)
        if scope["method"] != "POST" or job is None:
            raise _Refused(404, "no such job")
        if b"content-length" not in fields:
            raise _Refused(411, "Content-Length is missing")
        if int(fields[b"content-length"]) > BODY_BYTES:
            raise _Refused(413, f"a body may have {BODY_BYTES} bytes")
        if self._calls > self._waiting:
            raise _Refused(503, "too many jobs wait")
        return job

    async def _read(self, receive: Receive, body: IO[bytes]) -> None:
        """Write the body of a call into a file. Raises _Refused and _HungUpError."""
        more = True
        try:
            async with asyncio.timeout(self._body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _HungUpError
                    body.write(message["body"])
                    more = message["more_body"]
        except TimeoutError:
            raise _Refused(408, "the call was not sent in time") from None
        body.seek(0)

    async def _computed(self, job: JobName, body: IO[bytes], answer: IO[bytes]) -> None:
        try:
            async with asyncio.timeout(self._seconds[job]):
                answer.write(await asyncio.to_thread(self._quick[job], body.read()))
        except TimeoutError:
            raise _Refused(504, f"{job} took more than {self._seconds[job]:g} s") from None
        except (ValueError, ArithmeticError) as error:
            _log.error("job_failed", job=job, said=repr(error))
            raise _Refused(500, f"{job} failed: {error!r}") from error

    async def _answered(self, job: JobName, receive: Receive, body: IO[bytes], answer: IO[bytes]) -> None:
        """Have the job done unless the caller hangs up, which alone is a message after the body."""
        doing, gone = asyncio.create_task(self._done(job, body, answer)), asyncio.ensure_future(receive())
        try:
            await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise _HungUpError
            doing.result()
        finally:
            doing.cancel()
            gone.cancel()
            await asyncio.wait({doing})

    async def _done(self, job: JobName, body: IO[bytes], answer: IO[bytes]) -> None:
        async with self._slots:
            with tempfile.TemporaryFile() as said, tempfile.TemporaryDirectory(prefix="playmolt-agora-") as folder:
                streams = (body.fileno(), answer.fileno(), said.fileno())
                try:
                    process = await self._forks.start(
                        self._program, job, folder, libraries=(jobs.library(job),), streams=streams
                    )
                except OSError as error:
                    _log.error("job_not_started", job=job, said=repr(error))
                    raise _Refused(503, f"{job} cannot be started now") from error
                ended = asyncio.create_task(process.ended())
                try:
                    async with asyncio.timeout(self._seconds[job]):
                        status = await asyncio.shield(ended)
                except TimeoutError:
                    raise _Refused(504, f"{job} took more than {self._seconds[job]:g} s") from None
                finally:
                    await process.end(ended)
                if status:
                    said.seek(max(0, said.seek(0, os.SEEK_END) - _SHOWN))
                    detail = said.read().decode(errors="replace")
                    _log.error("job_failed", job=job, status=status, said=detail)
                    raise _Refused(500, f"{job} ended with status {status}: {detail[-300:]}")


async def _write(send: Send, status: int, body: IO[bytes]) -> None:
    """Send an answer and close."""
    length = body.seek(0, os.SEEK_END)
    body.seek(0)
    headers = [
        (b"content-type", b"application/octet-stream"), (b"content-length", b"%d" % length), (b"connection", b"close"),
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for piece in iter(partial(body.read, _CHUNK), b""):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def serve(laboratory: Laboratory, sock: socket.socket, stopping: asyncio.Event) -> None:
    """Serve until it has to stop; then answers that are sent are finished, and jobs are killed."""
    within = Bounds(total=_CONNECTIONS, per_address=_CONNECTIONS, body=_BODY_SECONDS + 5, unread=_QUIET_SECONDS)

    class LaboratoryProtocol(BoundedProtocol):
        limiter = ConnectionLimiter(within)

        @override
        def body_bytes(self) -> int:
            return BODY_BYTES

    try:
        await serve_until(stopping, laboratory, LaboratoryProtocol, sock, grace_seconds=_DRAIN_SECONDS)
    finally:
        await laboratory.close()
