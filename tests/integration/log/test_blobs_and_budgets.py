"""What lies beside the log in Postgres: texts by hash, kept replies, budgets over all replicas."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from decimal import Decimal

import asyncpg
import pytest
from msgspec.structs import replace
from playmolt_core.db.blobs import InFlight, PgBlobs, PgInFlight
from playmolt_core.db.budgets import Account, PgBudgets
from playmolt_core.db.pool import Pool, open_pool

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
    blobs, in_flight, key = PgBlobs(pool), PgInFlight(pool), "ab" * 32
    assert await blobs.reply(key) is None
    await in_flight.keep_reply("agora-1", key, "first")
    await in_flight.keep_reply("agora-1", key, "second")
    assert await blobs.reply(key) == "first"


REQUEST = InFlight(turn=3, agent="ann", ask=1, logged=0, tokens=50, money=Decimal("0.25"))


async def test_a_mark_counts_the_requests_of_one_question(pool: Pool) -> None:
    in_flight = PgInFlight(pool)
    assert await in_flight.found("agora-2") is None
    for _ in range(3):
        await in_flight.mark("agora-2", REQUEST)
    await in_flight.refused("agora-2", REQUEST)
    assert await in_flight.found("agora-2") == replace(REQUEST, requests=2, tokens=100, money=Decimal("0.50"))
    await in_flight.settled("agora-2")
    assert await in_flight.found("agora-2") == replace(REQUEST, requests=2, tokens=0, money=Decimal(0))
    await in_flight.mark("agora-2", replace(REQUEST, ask=2))
    assert await in_flight.found("agora-2") == replace(REQUEST, ask=2)


async def test_a_mark_goes_with_its_reply_and_where_the_server_took_nothing(pool: Pool) -> None:
    in_flight = PgInFlight(pool)
    await in_flight.mark("agora-3", REQUEST)
    await in_flight.mark("agora-4", REQUEST)
    await in_flight.keep_reply("agora-3", "cd" * 32, "said")
    await in_flight.refused("agora-4", REQUEST)
    assert [await in_flight.found(run) for run in ("agora-3", "agora-4")] == [None, None]


@pytest.mark.parametrize(
    "statement", ["DELETE FROM blob.text", "UPDATE blob.text SET body = ''", "SELECT 1 FROM limits.budget"]
)
async def test_an_engine_changes_nothing_that_is_kept(pool: Pool, statement: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await pool.value(statement)


async def test_a_budget_holds_exactly_what_it_holds_however_many_ask_at_once(pool: Pool) -> None:
    budgets, account = PgBudgets(pool), Account(name="e", calls=10)
    answers = await asyncio.gather(*(budgets.reserve([account], 5, FREE) for _ in range(30)))
    refused = [answer for answer in answers if answer]
    assert (answers.count(None), len(refused)) == (10, 20)
    assert {(short.account, short.calls, short.tokens) for short in refused} == {("e", 10, 50)}


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
async def test_a_limit_that_is_just_reached_is_kept(pool: Pool, account: Account, fits: bool) -> None:
    assert (await PgBudgets(pool).reserve([account], 100, Decimal("0.25")) is None) == fits


async def test_a_call_counts_on_every_account_or_on_none(pool: Pool) -> None:
    budgets = PgBudgets(pool)
    whole, run = Account(name="e", calls=9), Account(name="e/run", calls=1)
    assert await budgets.reserve([whole, run], 1, FREE) is None
    for _ in range(8):
        short = await budgets.reserve([whole, run], 1, FREE)
        assert short is not None
        assert short.account == "e/run"
    assert await budgets.reserve([whole], 1, FREE) is None


async def test_what_a_call_did_not_take_is_given_back(pool: Pool) -> None:
    budgets, account = PgBudgets(pool), Account(name="e", tokens=100, money=Decimal(1))
    assert await budgets.reserve([account], 90, Decimal("0.9")) is None
    assert await budgets.reserve([account], 20, FREE) is not None
    await budgets.settle([account], tokens=-80, money=Decimal("-0.8"))
    assert await budgets.reserve([account], 90, Decimal("0.9")) is None
