"""Reads uploaded files in a separate process: a hostile file cannot crash or exhaust the gateway."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from playmolt_gateway.uploads.outcome import Outcome, ReaderOptions, Unread

SECONDS: Final = 8.0
PROGRAM: Final = (sys.executable, "-I", "-m", "playmolt_gateway.uploads.program")
_WAIT_SECONDS: Final = 30.0
_ANSWER_BYTES: Final = 1024 * 1024
"""More than the longest text as JSON."""
_UNREADABLE: Final = Unread("unreadable")
_decoder: Final[msgspec.json.Decoder[Outcome]] = msgspec.json.Decoder(Outcome)


class ReaderBusy(Exception):
    """The reader did not become free in time."""


class FileReader:
    """Reads one file at a time, with `program`, which limits its own time and memory."""

    def __init__(self, seconds: float = SECONDS, program: Sequence[str] = PROGRAM, wait: float = _WAIT_SECONDS) -> None:
        self._room = asyncio.Semaphore(1)
        self._seconds = seconds
        self._program = program
        self._wait = wait

    async def read(self, content: bytes, question: ReaderOptions) -> Outcome:
        """A crash, or more than `seconds`, is an unreadable file. Raises ReaderBusy."""
        try:
            async with asyncio.timeout(self._wait):
                await self._room.acquire()
        except TimeoutError:
            raise ReaderBusy from None
        try:
            return await self._read(content, question)
        finally:
            self._room.release()

    async def _read(self, content: bytes, question: ReaderOptions) -> Outcome:
        # An empty environment: ours contains keys, and the process reads untrusted input.
        process = await asyncio.create_subprocess_exec(
            *self._program,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env={},
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._seconds):
                return _decoder.decode(await _exchanged(process, msgspec.json.encode(question) + b"\n", content))
        except (TimeoutError, msgspec.MsgspecError):
            return _UNREADABLE
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _exchanged(process: asyncio.subprocess.Process, *parts: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process has no pipes")
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.writelines(parts)
        await process.stdin.drain()
    process.stdin.close()
    answer = b""
    while len(answer) <= _ANSWER_BYTES and (part := await process.stdout.read(64 * 1024)):
        answer += part
    return answer
