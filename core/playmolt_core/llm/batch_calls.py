"""Requests that wait for a batch, stored outside the log so that they survive any crash.

`Ledger.keep` deletes a request with its reply.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from playmolt_core.db.ledger import (
    Account,
    Amount,
    LedgerEntry,
    correction,
    exhausted,
    reservation,
)
from playmolt_core.db.pool import Pool, queries

_SQL = queries("batch_calls")


class BatchUnavailable(Exception):
    """The server of a batch did not answer, or has no capacity now; retry later."""


class BatchRefused(Exception):
    """The server refused the batch."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the server answered {status}")
        self.status = status


class NewCall(msgspec.Struct, frozen=True):
    """A request that is to wait. Calls of an `asker` that was stopped are not sent; `reserved` is the worst case on
    each account."""

    key: str
    stream: str
    asker: str
    alias: str
    body: Mapping[str, object]
    reserved: Amount


class WaitingCall(msgspec.Struct, frozen=True):
    """A request that is in no confirmed batch yet; `name` is that of a batch whose submission is unconfirmed."""

    key: str
    asker: str
    alias: str
    body: dict[str, Any]
    name: str | None
    age: float


class BatchedCall(NamedTuple):
    """The state of a request. If it is done without an answer, send it without a batch. `reserved` is its worst case on
    `accounts`; there are none once it is settled."""

    answered: bool
    answer: str | None
    batch: str | None
    reserved: Amount
    accounts: Sequence[str]

    def corrections(self, used: Amount) -> list[LedgerEntry]:
        """What corrects its accounts to what it used."""
        return [LedgerEntry(Account(name=name), used - self.reserved) for name in self.accounts]


class BatchCalls:
    """In Postgres, for all replicas. Keys are hex SHA-256, `stream` is the experiment's.

    Methods raise LogUnavailable.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, call: NewCall, entries: Sequence[LedgerEntry] = ()) -> LedgerEntry | None:
        """Add a waiting request, and reserve on all accounts; on none and without the request if one cannot pay.

        An existing request stays unchanged.
        """
        body = msgspec.json.encode(call.body).decode()
        most = (call.reserved.tokens, call.reserved.money)
        row = (bytes.fromhex(call.key), call.stream, call.asker, call.alias, body, *most)
        short = await self._pool.row(_SQL["put"], *row, *reservation(entries))
        return exhausted(entries, short)

    async def found(self, key: str) -> BatchedCall | None:
        row = await self._pool.row(_SQL["found"], bytes.fromhex(key))
        if row is None:
            return None
        answered, answer, batch, tokens, money, accounts = row
        return BatchedCall(answered, answer, batch, Amount(money, tokens, 1), accounts)

    async def waiting(self, stream: str) -> list[WaitingCall]:
        rows = await self._pool.fetch(_SQL["waiting"], stream)
        return [
            WaitingCall(key.hex(), asker, alias, msgspec.json.decode(body), name, age)
            for key, asker, alias, body, name, age in rows
        ]

    async def named(self, stream: str, keys: list[str], name: str) -> None:
        """Note that a batch of these requests will be submitted under a name."""
        await self._pool.fetch(_SQL["named"], stream, [bytes.fromhex(key) for key in keys], name)

    async def submitted(self, stream: str, name: str, batch: str) -> None:
        await self._pool.fetch(_SQL["submitted"], stream, name, batch)

    async def answered(self, stream: str, batch: str, answers: Mapping[str, str]) -> None:
        """A batch is over: its remaining requests must be sent without a batch."""
        keys = [bytes.fromhex(key) for key in answers]
        await self._pool.fetch(_SQL["answered"], stream, batch, keys, [*answers.values()])

    async def refused(self, stream: str, name: str) -> None:
        """No batch of this name exists: its requests must be sent without a batch."""
        await self._pool.fetch(_SQL["refused"], stream, name)

    async def settled(self, key: str, entries: Sequence[LedgerEntry] = ()) -> None:
        """Clear the reservation of a request and correct accounts."""
        await self._pool.fetch(_SQL["settled"], *correction(entries), bytes.fromhex(key))

    async def closed(self, stream: str, batch: str | None, used: Mapping[str, Amount | None]) -> None:
        """Delete the requests of a batch, or without one those that were never sent, and correct their accounts.

        `used` is what each of them used; None keeps its worst case, and the others used nothing.
        """
        keys = [bytes.fromhex(key) for key in used]
        tokens = [None if each is None else each.tokens for each in used.values()]
        money = [None if each is None else each.money for each in used.values()]
        await self._pool.fetch(_SQL["closed"], stream, batch, keys, tokens, money)
