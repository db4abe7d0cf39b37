"""Ledgers of one process: in memory, or with accounts in a file that outlives it (matches, the house, tests)."""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from playmolt_core.db.ledger import Account, Amount, InFlight, Ledger, LedgerEntry


class MemoryLedger(Ledger):
    """What is spent or reserved, by account; marks and replies as well.

    With `waits`, a reservation that does not fit waits for requests in flight, which may settle for less.
    """

    def __init__(self, *, waits: bool = False) -> None:
        self._waits = waits
        self.spent: dict[str, Amount] = {}
        self.marks: dict[str, InFlight] = {}
        self.replies: dict[str, str] = {}
        self.waiting: dict[str, object] = {}
        """Questions that wait for a batch, by the key of their reply."""
        self._open = 0
        self._changed = asyncio.Condition()

    def of(self, account: str) -> Amount:
        return self.spent.get(account, Amount())

    @override
    async def reserve(self, entries: Sequence[LedgerEntry], mark: InFlight | None = None) -> LedgerEntry | None:
        async with self._changed:
            while (short := self._short(entries)) is not None:
                if not self._open or not self._waits:
                    return LedgerEntry(short, self.of(short.name))
                await self._changed.wait()
            self._open += bool(entries)
            self._add(entries)
        if mark is not None:
            self._mark(mark)
        return None

    def _short(self, entries: Sequence[LedgerEntry]) -> Account | None:
        return next((each for each, amount in entries if not each.holds(self.of(each.name) + amount)), None)

    def _mark(self, mark: InFlight) -> None:
        before = self.marks.get(mark.stream)
        same = before is not None and _place(before) == _place(mark)
        self.marks[mark.stream] = replace(before, held=before.held + mark.held) if before and same else mark

    @override
    async def settle(self, entries: Sequence[LedgerEntry], mark: InFlight | None = None) -> None:
        await self._settle(entries)
        if mark is not None and (before := self.marks.get(mark.stream)) is not None:
            self.marks[mark.stream] = replace(before, held=before.held - mark.held)

    async def _settle(self, entries: Sequence[LedgerEntry]) -> None:
        async with self._changed:
            self._add(entries)
            self._open = max(0, self._open - bool(entries))
            self._changed.notify_all()

    def _add(self, entries: Sequence[LedgerEntry]) -> None:
        for account, amount in entries:
            self.spent[account.name] = self.of(account.name) + amount

    def lose(self, account: Account, amount: Amount) -> None:
        """Count a request that was lost with an earlier process."""
        self.spent[account.name] = self.of(account.name) + amount

    @override
    async def keep(self, entries: Sequence[LedgerEntry], stream: str, key: str, body: str) -> None:
        self.replies.setdefault(key, body)
        self.waiting.pop(key, None)
        self.marks.pop(stream, None)
        await self._settle(entries)

    @override
    async def found(self, stream: str) -> InFlight | None:
        mark = self.marks.get(stream)
        return mark if mark and mark.held.calls > 0 else None


def _place(mark: InFlight) -> tuple[int, str, int, int]:
    return mark.turn, mark.agent, mark.ask, mark.logged


class FileLedger(MemoryLedger):
    """One account, in a file with a line per change. A reservation that was never settled counts as spent."""

    def __init__(self, account: str, path: Path) -> None:
        super().__init__(waits=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.spent[account] = sum((msgspec.convert(line, Amount, strict=False) for line in whole_lines(path)), Amount())

    @override
    def lose(self, account: Account, amount: Amount) -> None:
        """The file holds its reservation."""

    @override
    def _add(self, entries: Sequence[LedgerEntry]) -> None:
        with self._path.open("ab") as file:
            for _, change in entries:
                file.write(msgspec.json.encode(change) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        super()._add(entries)


def whole_lines(path: Path) -> Iterator[dict[str, object]]:
    """The complete lines of a JSON Lines file; truncates a partial last line left by a kill."""
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    for line in whole.splitlines():
        yield json.loads(line)
