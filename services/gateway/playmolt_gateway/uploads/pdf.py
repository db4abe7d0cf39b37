"""The text of a PDF, read by a process of its own: what a hostile file breaks or fills is not the gateway."""

import asyncio
import sys
from contextlib import suppress
from typing import Final, Literal

import msgspec

SECONDS: Final = 10.0
_WAIT_SECONDS: Final = 10.0
_ANSWER_BYTES: Final = 512 * 1024
"""A text of the longest kind, with every character escaped."""

Fault = Literal["encrypted", "scanned", "broken", "long", "slow"]


class PdfText(msgspec.Struct, frozen=True):
    text: str
    pages: int


class _Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fault: Fault


class Busy(Exception):
    """Others' files are read; this one has waited long enough."""


class PdfReaders:
    """Reads one file at a time: each may take a quarter of a gigabyte."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._room = asyncio.Semaphore(1)
        self._seconds = seconds

    async def read(self, content: bytes) -> PdfText | Fault:
        """Raises Busy when no room came in time."""
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._room.acquire()
        except TimeoutError:
            raise Busy from None
        try:
            return await self._read(content)
        finally:
            self._room.release()

    async def _read(self, content: bytes) -> PdfText | Fault:
        # Without our environment: it holds keys, and the process reads what a stranger wrote.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", "playmolt_gateway.uploads.pdf_program",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env={},
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._seconds):
                return _answer_of(await _exchanged(process, content))
        except TimeoutError:
            return "slow"
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _exchanged(process: asyncio.subprocess.Process, content: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("both were asked for")
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(content)
        await process.stdin.drain()
    process.stdin.close()
    answer = b""
    while len(answer) <= _ANSWER_BYTES and (part := await process.stdout.read(64 * 1024)):
        answer += part
    return answer


def _answer_of(answer: bytes) -> PdfText | Fault:
    """What is no answer comes of a process that was ended for what it took."""
    with suppress(msgspec.DecodeError, msgspec.ValidationError):
        return msgspec.json.decode(answer, type=PdfText)
    with suppress(msgspec.DecodeError, msgspec.ValidationError):
        return msgspec.json.decode(answer, type=_Refused).fault
    return "broken"
