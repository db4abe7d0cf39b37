"""A bot that is a program of any language: turns go in as JSON lines, answers come out as JSON lines."""

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
"""Outermost first; every other language tells the innermost first."""
_SUBCOMMANDS: Final = re.compile(r"(?:^|[\s(])(?:file://)?([^\s():\"']+\.\w+):(\d+)\b", re.MULTILINE)
_REASON: Final = re.compile(
    r"^(?:\S*(?:Error|Exception)\b|panic:|thread '.*panicked|Exception in thread).*", re.MULTILINE
)
_LONGEST: Final = 300


def crash_of(said: str, command: Sequence[str]) -> str:
    """`FILE:LINE: reason`, as far as it can be told; "" when nothing was said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return ""
    python = _PYTHON.findall(said)
    reason = None if python else _REASON.search(said)
    told = reason.group() if reason else lines[-1] if python else lines[0]
    place = _deepest(list(reversed(python)) or _SUBCOMMANDS.findall(said), command)
    return f"{place}: {told}"[:_LONGEST] if place and not told.startswith(place) else told[:_LONGEST]


def _deepest(frames: Sequence[tuple[str, str]], command: Sequence[str]) -> str:
    """The first frame in a file that the command names, else in one beside it, else the first."""
    named = [Path(word).resolve() for word in command if Path(word).is_file()]
    own = [frame for frame in frames if Path(frame[0]).resolve() in named]
    beside = [frame for frame in frames if Path(frame[0]).resolve().parent in {path.parent for path in named}]
    file, line = next(iter(own or beside or frames), ("", ""))
    return f"{Path(file).name}:{line}" if file else ""


_LINE_BYTES: Final = 64 * 1024
_STDERR_BYTES: Final = 64 * 1024
_ENDING_SECONDS: Final = 5.0


class InvalidCommand(ValueError):
    """A command that starts nothing; the message says why."""


def words_of(command: str) -> Sequence[str]:
    """The words of a command whose program is there; raises InvalidCommand."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidCommand(f"{command!r} is no command: {error}") from error
    if not words or shutil.which(words[0]) is None:
        raise InvalidCommand(f"{command!r} starts nothing: there is no program {(words or [''])[0]!r}")
    return words


class ProgramPlayer:
    """The program, from its start to its end."""

    def __init__(self, words: Sequence[str], process: Process) -> None:
        self._words = words
        self._process = process
        self._said = bytearray()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, words: Sequence[str]) -> Self:
        """Raises InvalidCommand."""
        try:
            process = await create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_LINE_BYTES)
        except OSError as error:
            raise InvalidCommand(f"{words[0]}: {error.strerror}") from error
        return cls(words, process)

    async def answer(self, turn: Turn) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 -- both are pipes
        assert stdout is not None  # noqa: S101
        with suppress(ConnectionError):  # it is gone: what comes out says so
            stdin.write(body_of(turn) + b"\n")
            await stdin.drain()
        try:
            line = await stdout.readline()
        except ValueError:
            raise LostTurn(f"its answer is no line of up to {_LINE_BYTES} bytes") from None
        if not line.endswith(b"\n"):
            raise await self._ended()
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return line.decode(errors="replace").strip()  # no action: refused, with what it said
        return action_of(value) if isinstance(value, dict) else value

    def current_line(self) -> str:
        return ""

    async def over(self, result: GameResult) -> None:
        """The end of its input tells it."""

    async def close(self) -> None:
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        for end in (process.terminate, process.kill):
            with suppress(TimeoutError):
                async with asyncio.timeout(_ENDING_SECONDS):
                    await process.wait()
            if process.returncode is not None:
                break
            with suppress(ProcessLookupError):
                end()
        await process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _ended(self) -> BotFailed:
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                await self._process.wait()
                await asyncio.shield(self._listening)
        status = self._process.returncode
        if status is None:
            return LostTurn("it closed its standard output and runs on")
        crash = crash_of(self._said.decode(errors="replace"), self._words)
        return BotFailed(crash or f"the program ended with status {status} before the game was over")

    async def _listen(self) -> None:
        """Keep the end of what it says on standard error, so that it never waits for a reader."""
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 -- a pipe
        while part := await stderr.read(_STDERR_BYTES):
            self._said += part
            del self._said[:-_STDERR_BYTES]
