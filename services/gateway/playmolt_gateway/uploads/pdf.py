"""The text of a PDF, extracted in a separate process: a hostile file cannot crash or exhaust the gateway."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal

import msgspec

SECONDS: Final = 10.0
PROGRAM: Final = (sys.executable, "-I", "-m", "playmolt_gateway.uploads.pdf_program")
_WAIT_SECONDS: Final = 10.0
_ANSWER_BYTES: Final = 512 * 1024
"""The longest text with every character escaped."""

Fault = Literal["encrypted", "scanned", "broken", "long", "slow"]


class PdfText(msgspec.Struct, frozen=True):
    text: str
    pages: int


class _PdfFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fault: Fault


class PdfReadersBusy(Exception):
    """No reader became free in time."""


class PdfReaders:
    """Reads one file at a time, with `program`: each may take 256 MB."""

    def __init__(self, seconds: float = SECONDS, program: Sequence[str] = PROGRAM) -> None:
        self._room = asyncio.Semaphore(1)
        self._seconds = seconds
        self._program = program

    async def read(self, content: bytes) -> PdfText | Fault:
        """Raises PdfReadersBusy."""
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._room.acquire()
        except TimeoutError:
            raise PdfReadersBusy from None
        try:
            return await self._read(content)
        finally:
            self._room.release()

    async def _read(self, content: bytes) -> PdfText | Fault:
        # An empty environment: ours contains keys, and the process reads untrusted input.
        process = await asyncio.create_subprocess_exec(
            *self._program,
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
        raise RuntimeError("the process has no pipes")
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(content)
        await process.stdin.drain()
    process.stdin.close()
    answer = b""
    while len(answer) <= _ANSWER_BYTES and (part := await process.stdout.read(64 * 1024)):
        answer += part
    return answer


def _answer_of(answer: bytes) -> PdfText | Fault:
    """The parsed answer; "broken" if the process died at a limit."""
    with suppress(msgspec.DecodeError, msgspec.ValidationError):
        return msgspec.json.decode(answer, type=PdfText)
    with suppress(msgspec.DecodeError, msgspec.ValidationError):
        return msgspec.json.decode(answer, type=_PdfFailure).fault
    return "broken"
