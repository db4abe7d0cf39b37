"""Questions that wait for a batch, in memory, for tests of the callers that ask and of the one that submits."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from playmolt_core.db.ledger import Account, Amount, LedgerEntry
from playmolt_core.llm.batch_calls import BatchCalls, BatchedCall, NewCall, WaitingCall
from playmolt_core.llm.file_ledger import MemoryLedger
from typing_extensions import override


class _Row(msgspec.Struct):
    stream: str
    asker: str
    alias: str
    body: dict[str, Any]
    reserved: Amount
    accounts: list[str]
    name: str | None = None
    batch: str | None = None
    answered: bool = False
    answer: str | None = None


class MemoryBatchCalls(BatchCalls):
    """Passes the same contract as the table in Postgres."""

    def __init__(self, ledger: MemoryLedger | None = None) -> None:
        self._ledger = ledger or MemoryLedger()
        self.rows = cast("dict[str, _Row]", self._ledger.waiting)
        self.age = 0.0

    @override
    async def put(self, call: NewCall, entries: Sequence[LedgerEntry] = ()) -> LedgerEntry | None:
        short = await self._ledger.reserve(entries)
        if short is None:
            names = [account.name for account, _ in entries]
            row = _Row(call.stream, call.asker, call.alias, dict(call.body), call.reserved, names)
            self.rows.setdefault(call.key, row)
        return short

    @override
    async def found(self, key: str) -> BatchedCall | None:
        row = self.rows.get(key)
        return row and BatchedCall(row.answered, row.answer, row.batch, row.reserved, row.accounts)

    @override
    async def waiting(self, stream: str) -> list[WaitingCall]:
        return [
            WaitingCall(key, row.asker, row.alias, row.body, row.name, self.age)
            for key, row in self.rows.items()
            if row.stream == stream and row.batch is None and not row.answered
        ]

    @override
    async def named(self, stream: str, keys: list[str], name: str) -> None:
        for key in keys:
            self.rows[key].name = name

    @override
    async def submitted(self, stream: str, name: str, batch: str) -> None:
        for row in self.rows.values():
            if row.name == name and not row.answered:
                row.batch = batch

    @override
    async def answered(self, stream: str, batch: str, answers: Mapping[str, str]) -> None:
        for key, row in self.rows.items():
            if row.batch == batch and not row.answered:
                row.answered, row.answer = True, answers.get(key)

    @override
    async def refused(self, stream: str, name: str) -> None:
        for row in self.rows.values():
            row.answered = row.answered or row.name == name

    @override
    async def settled(self, key: str, entries: Sequence[LedgerEntry] = ()) -> None:
        row = self.rows[key]
        row.reserved, row.accounts = Amount(calls=1), []
        await self._ledger.settle(entries)

    @override
    async def closed(self, stream: str, batch: str | None, used: Mapping[str, Amount | None]) -> None:
        for key, row in [*self.rows.items()]:
            if row.stream == stream and row.batch == batch and (batch or row.name is None):
                change = (used.get(key, Amount()) or row.reserved) - row.reserved
                await self._ledger.settle([LedgerEntry(Account(name=name), change) for name in row.accounts])
                del self.rows[key]
