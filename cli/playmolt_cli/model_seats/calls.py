"""The calls of models: each on disk before it goes out and when it ended, so that none is paid twice."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

CallSink = Callable[["FinishedCall"], None]


class StartedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that goes out. `at` is a time where the seat has a clock, else when it is in the order of calls."""

    call: str
    turn: str
    kind: str
    player: str
    alias: str
    at: str


class RawAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a call: `raw` is the body that came, or its SHA-256 where it is long and kept beside the file."""

    outcome: str
    status: int | None
    raw: str
    raw_bytes: int
    reasoning: str | None


class FinishedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that came back; `usage` and `cost` are None where they are unknown."""

    call: str
    outcome: str
    reply: str
    usage: dict[str, int | None] | None
    cost: str | None
    ms: int
    attempts: tuple[RawAnswer, ...] = ()


class Calls:
    """All calls so far; without a path they are kept in memory alone."""

    def __init__(self, path: Path | None = None) -> None:
        self._beside = path.parent / "raw" if path else None
        self.begun: dict[str, StartedCall] = {}
        self.ended: dict[str, FinishedCall] = {}
        self._started: Counter[str] = Counter()
        self._file: IO[bytes] | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            for line in whole_lines(path):
                self._read(line)
            self._file = path.open("ab")

    def lost(self, key: str) -> int:
        """How many attempts of a call went out and never came back."""
        return self._started[key] - (key in self.ended)

    @property
    def lost_by_player(self) -> Counter[str]:
        """Player → attempts that never came back."""
        counted: Counter[str] = Counter()
        for key, called in self.begun.items():
            counted[called.player] += self.lost(key)
        return counted

    def begin(self, call: StartedCall) -> None:
        self.begun[call.call] = call
        self._started[call.call] += 1
        self._write(call)

    def end(self, call: FinishedCall, bodies: Iterable[str] = ()) -> None:
        """Store the end of a call; `bodies` are those that are too long for its line, each kept under its SHA-256."""
        for body in bodies:
            self._keep(body.encode())
        self.ended[call.call] = call
        self._write(call)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _keep(self, body: bytes) -> None:
        if self._beside is None:
            return
        self._beside.mkdir(exist_ok=True)
        (self._beside / hashlib.sha256(body).hexdigest()).write_bytes(body)

    def _read(self, line: dict[str, Any]) -> None:
        if "outcome" in line:
            ended = msgspec.convert(line, FinishedCall)
            self.ended[ended.call] = ended
        else:
            called = msgspec.convert(line, StartedCall)
            self.begun[called.call] = called
            self._started[called.call] += 1

    def _write(self, call: StartedCall | FinishedCall) -> None:
        if self._file is None:
            return
        self._file.write(msgspec.json.encode(call) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file; a last one that a kill cut off is taken away."""
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    for line in whole.splitlines():
        yield json.loads(line)
