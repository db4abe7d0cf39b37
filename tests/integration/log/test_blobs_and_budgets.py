"""What lies beside the log in Postgres: texts by hash, kept replies, budgets over all replicas."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.ledger import Account, Amount, InFlight, Ledger, LedgerEntry, PgLedger
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.llm.file_ledger import MemoryLedger

FREE = Decimal(0)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_engine", size=8)
    yield pool
    await pool.close()


async def test_a_text_is_found_by_its_hash_and_kept_once(pool: Pool) -> None:
    blobs = PgBlobs(pool)
    hashes = await blobs.put(["시장", "market", "market"])
    assert hashes[0] == hashlib.sha256("시장".encode()).hexdigest()
    assert hashes[1] == hashes[2]
    await blobs.put(["market"])
    assert await blobs.texts([*hashes, "0" * 64]) == {hashes[0]: "시장", hashes[1]: "market"}


async def test_the_first_reply_to_a_request_stays(pool: Pool) -> None:
    blobs, ledger, key = PgBlobs(pool), PgLedger(pool), "ab" * 32
    assert await blobs.reply(key) is None
    await ledger.keep([], "agora-1", key, "first")
    await ledger.keep([], "agora-1", key, "second")
    assert await blobs.reply(key) == "first"


def request(stream: str, **changes: Any) -> InFlight:
    mark = InFlight(stream=stream, turn=3, agent="ann", ask=1, logged=0, held=Amount(Decimal("0.25"), 50, 1))
    return replace(mark, **changes)


@pytest.fixture(params=["memory", "postgres"])
def ledger(request: pytest.FixtureRequest, pool: Pool) -> Ledger:
    return MemoryLedger() if request.param == "memory" else PgLedger(pool)


async def test_a_mark_counts_the_requests_of_one_question(ledger: Ledger) -> None:
    mark = request("agora-2")
    assert await ledger.found("agora-2") is None
    for _ in range(3):
        assert await ledger.reserve([], mark) is None
    await ledger.settle([], mark)
    assert await ledger.found("agora-2") == request("agora-2", held=Amount(Decimal("0.50"), 100, 2))
    await ledger.settle([], request("agora-2", held=Amount(Decimal("0.50"), 100)))
    assert await ledger.found("agora-2") == request("agora-2", held=Amount(calls=2))
    await ledger.reserve([], request("agora-2", ask=2))
    assert await ledger.found("agora-2") == request("agora-2", ask=2)


async def test_a_mark_goes_with_its_reply_and_where_the_server_took_nothing(ledger: Ledger) -> None:
    await ledger.reserve([], request("agora-3"))
    await ledger.reserve([], request("agora-4"))
    await ledger.keep([], "agora-3", "cd" * 32, "said")
    await ledger.settle([], request("agora-4"))
    assert [await ledger.found(run) for run in ("agora-3", "agora-4")] == [None, None]


async def test_a_request_that_an_account_refuses_is_not_marked(ledger: Ledger) -> None:
    mark, account = request("agora-5"), Account(name="e", tokens=99)
    assert await ledger.reserve([LedgerEntry(account, Amount(tokens=100, calls=1))], mark) is not None
    assert await ledger.found("agora-5") is None


@pytest.mark.parametrize(
    "statement", ["DELETE FROM blob.text", "UPDATE blob.text SET body = ''", "SELECT 1 FROM limits.budget"]
)
async def test_an_engine_changes_nothing_that_is_kept(pool: Pool, statement: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await pool.value(statement)


async def test_a_budget_holds_exactly_what_it_holds_however_many_ask_at_once(pool: Pool) -> None:
    ledger, entry = PgLedger(pool), LedgerEntry(Account(name="e", calls=10), Amount(FREE, 5, 1))
    answers = await asyncio.gather(*(ledger.reserve([entry]) for _ in range(30)))
    refused = [answer for answer in answers if answer]
    assert (answers.count(None), len(refused)) == (10, 20)
    assert set(refused) == {LedgerEntry(entry.account, Amount(FREE, 50, 10))}


@pytest.mark.parametrize(
    ("account", "fits"),
    [
        (Account(name="e", tokens=100), True),
        (Account(name="e", tokens=99), False),
        (Account(name="e", money=Decimal("0.25")), True),
        (Account(name="e", money=Decimal("0.249")), False),
        (Account(name="e"), True),
    ],
)
async def test_a_limit_that_is_just_reached_is_kept(ledger: Ledger, account: Account, fits: bool) -> None:
    assert (await ledger.reserve([LedgerEntry(account, Amount(Decimal("0.25"), 100, 1))]) is None) == fits


async def test_a_call_counts_on_every_account_or_on_none(pool: Pool) -> None:
    ledger = PgLedger(pool)
    whole, run = (
        LedgerEntry(Account(name="e", calls=9), Amount(FREE, 1, 1)),
        LedgerEntry(Account(name="e/run", calls=1), Amount()),
    )
    assert await ledger.reserve([whole, run]) is None
    for _ in range(8):
        short = await ledger.reserve([whole, run])
        assert short is not None
        assert short.account == run.account
    assert await ledger.reserve([whole]) is None


async def test_each_account_is_charged_its_own_worst_case(pool: Pool) -> None:
    ledger, day, run = PgLedger(pool), Account(name="d", tokens=100), Account(name="r", money=Decimal(1))
    for _ in range(2):
        assert (
            await ledger.reserve([LedgerEntry(day, Amount(tokens=50)), LedgerEntry(run, Amount(Decimal("0.3"), 40))])
            is None
        )
    short = await ledger.reserve([LedgerEntry(run, Amount(Decimal("0.3"), 40)), LedgerEntry(day, Amount(tokens=50))])
    assert short == LedgerEntry(day, Amount(FREE, 100, 2))
    short = await ledger.reserve([LedgerEntry(run, Amount(Decimal("0.5")))])
    assert short == LedgerEntry(run, Amount(Decimal("0.6"), 80, 2))


async def test_what_a_call_did_not_take_is_given_back(pool: Pool) -> None:
    ledger, account = PgLedger(pool), Account(name="e", tokens=100, money=Decimal(1))
    assert await ledger.reserve([LedgerEntry(account, Amount(Decimal("0.9"), 90))]) is None
    assert await ledger.reserve([LedgerEntry(account, Amount(FREE, 20))]) is not None
    await ledger.settle([LedgerEntry(account, Amount(Decimal("-0.8"), -80))])
    assert await ledger.reserve([LedgerEntry(account, Amount(Decimal("0.9"), 90))]) is None
