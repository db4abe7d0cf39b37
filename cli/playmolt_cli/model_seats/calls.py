"""Model calls, written to disk before they are sent and after they finish, so that none is paid twice."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import IO

import msgspec
from playmolt_core.db.ledger import Amount
from playmolt_core.llm.file_ledger import whole_lines


class StartedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call being sent. `at` is a time, or a running number if the seat has no clock."""

    call: str
    turn: str
    kind: str
    player: str
    alias: str
    at: str


class RawAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a call. `raw` is the response body, or its SHA-256 if a long body is stored in a separate file."""

    outcome: str
    status: int | None
    raw: str
    raw_bytes: int
    reasoning: str | None


class FinishedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A finished call; `usage` and `cost` are None if unknown."""

    call: str
    outcome: str
    reply: str
    usage: dict[str, int | None] | None
    cost: str | None
    ms: int
    attempts: tuple[RawAnswer, ...] = ()

    @property
    def used(self) -> Amount:
        """What is known of its usage, by which a budget continues."""
        tokens = sum(count or 0 for count in (self.usage or {}).values())
        return Amount(Decimal(self.cost or 0), tokens, max(1, len(self.attempts)))


class Calls:
    """All calls so far; without a path, in memory only."""

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
        """Number of attempts of a call without a result."""
        return self._started[key] - (key in self.ended)

    @property
    def lost_by_player(self) -> Counter[str]:
        """Player → number of attempts without a result."""
        counted: Counter[str] = Counter()
        for key, called in self.begun.items():
            counted[called.player] += self.lost(key)
        return counted

    def begin(self, call: StartedCall) -> None:
        self.begun[call.call] = call
        self._started[call.call] += 1
        self._write(call)

    def end(self, call: FinishedCall, bodies: Iterable[str] = ()) -> None:
        """Store a finished call; `bodies` are long response bodies, each stored by its SHA-256."""
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

    def _read(self, line: dict[str, object]) -> None:
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
