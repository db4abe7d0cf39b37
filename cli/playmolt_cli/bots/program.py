"""A bot that is a program in any language: it reads turns as JSON lines and writes actions as JSON lines."""

import asyncio
import json
import re
import shlex
import shutil
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from playmolt.conformance.players import LostTurn
from playmolt.errors import BotFailed
from playmolt.loop import GameResult, Turn

from playmolt_cli.match.callback import action_of, body_of

_PYTHON: Final = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)
"""Python lists the outermost frame first; other languages list the innermost first."""
_SUBCOMMANDS: Final = re.compile(r"(?:^|[\s(])(?:file://)?([^\s():\"']+\.\w+):(\d+)\b", re.MULTILINE)
_REASON: Final = re.compile(
    r"^(?:\S*(?:Error|Exception)\b|panic:|thread '.*panicked|Exception in thread).*", re.MULTILINE
)
_LONGEST: Final = 300


def crash_of(stderr: str, command: Sequence[str]) -> str:
    """Summary of a crash, from its standard error: `FILE:LINE: reason` as far as known; "" for no output."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if not lines:
        return ""
    python = _PYTHON.findall(stderr)
    reason = None if python else _REASON.search(stderr)
    text = reason.group() if reason else lines[-1] if python else lines[0]
    place = _deepest(list(reversed(python)) or _SUBCOMMANDS.findall(stderr), command)
    return f"{place}: {text}"[:_LONGEST] if place and not text.startswith(place) else text[:_LONGEST]


def _deepest(frames: Sequence[tuple[str, str]], command: Sequence[str]) -> str:
    """The first frame in a file named by the command, else in a file next to it, else the first."""
    named = [Path(word).resolve() for word in command if Path(word).is_file()]
    own = [frame for frame in frames if Path(frame[0]).resolve() in named]
    beside = [frame for frame in frames if Path(frame[0]).resolve().parent in {path.parent for path in named}]
    file, line = next(iter(own or beside or frames), ("", ""))
    return f"{Path(file).name}:{line}" if file else ""


_LINE_BYTES: Final = 64 * 1024
_STDERR_BYTES: Final = 64 * 1024
_ENDING_SECONDS: Final = 5.0


class InvalidCommand(ValueError):
    """A command that cannot be started; the message says why."""


def words_of(command: str) -> Sequence[str]:
    """Split a command whose program exists; raises InvalidCommand."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidCommand(f"{command!r} is not a valid command: {error}") from error
    if not words or shutil.which(words[0]) is None:
        raise InvalidCommand(f"Cannot start {command!r}: program {(words or [''])[0]!r} not found.")
    return words


class ProgramPlayer:
    """A running program as a player.

    After the end of its input it has `ending_seconds` to end, and again after SIGTERM.
    """

    def __init__(self, words: Sequence[str], process: Process, ending_seconds: float) -> None:
        self._words = words
        self._process = process
        self._ending_seconds = ending_seconds
        self._stderr = bytearray()
        self._stderr_reader = asyncio.create_task(self._read_stderr())

    @classmethod
    async def start(cls, words: Sequence[str], *, ending_seconds: float = _ENDING_SECONDS) -> Self:
        """Raises InvalidCommand."""
        try:
            process = await create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_LINE_BYTES)
        except OSError as error:
            raise InvalidCommand(f"{words[0]}: {error.strerror}") from error
        return cls(words, process, ending_seconds)

    async def answer(self, turn: Turn) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 -- both are pipes
        assert stdout is not None  # noqa: S101
        with suppress(ConnectionError):  # the program has ended; the read below reports it
            stdin.write(body_of(turn) + b"\n")
            await stdin.drain()
        try:
            line = await stdout.readline()
        except ValueError:
            raise LostTurn(f"its answer is not a line of at most {_LINE_BYTES} bytes") from None
        if not line.endswith(b"\n"):
            raise await self._ended()
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return line.decode(errors="replace").strip()  # not an action: refused, quoting this text
        return action_of(value) if isinstance(value, dict) else value

    def current_line(self) -> str:
        return ""

    async def over(self, result: GameResult) -> None:
        """Nothing to send: end of input signals it."""

    async def close(self) -> None:
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        for end in (process.terminate, process.kill):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._ending_seconds):
                    await process.wait()
            if process.returncode is not None:
                break
            with suppress(ProcessLookupError):
                end()
        await process.wait()
        self._stderr_reader.cancel()
        await asyncio.gather(self._stderr_reader, return_exceptions=True)

    async def _ended(self) -> BotFailed:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._ending_seconds):
                await self._process.wait()
                await asyncio.shield(self._stderr_reader)
        status = self._process.returncode
        if status is None:
            return LostTurn("it closed its standard output but is still running")
        crash = crash_of(self._stderr.decode(errors="replace"), self._words)
        return BotFailed(crash or f"the program ended with status {status} before the game was over")

    async def _read_stderr(self) -> None:
        """Keep the end of its standard error; reading it continuously prevents the program from blocking."""
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 -- a pipe
        while part := await stderr.read(_STDERR_BYTES):
            self._stderr += part
            del self._stderr[:-_STDERR_BYTES]
