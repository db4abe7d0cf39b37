"""Budgets of days and keys at their edges, in Postgres: many reserve at once, midnight passes, a limit falls."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.ledger import Account, Amount, InFlight, PgLedger
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.llm.batch_calls import BatchCalls, WaitingCall
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.day_budget import DayBudget, account_of
from playmolt_core.llm.durable_call import Answer, BatchPlace, DurableCalls, NoAnswer, Question, worst_case
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, Reply
from playmolt_core.llm.scripted.model import Cast
from playmolt_core.settings import Settings

from core.tests.llm.fake_server import FakeServer, reply
from core.tests.waiting import wait_until

EXPERIMENT = "experiment-00000000-0000-4000-8000-000000000001"
REQUEST = ModelRequest(alias="fake", messages=(ChatMessage("user", "q"),), max_tokens=50)
PAID = replace(REQUEST, payer="ada")
BEFORE_MIDNIGHT = datetime(2026, 11, 26, 23, 59, 58, tzinfo=UTC)
YESTERDAY, TODAY = account_of("2026-11-26"), account_of("2026-11-27")
PRICES = {"input_price": "2", "output_price": "4", "batch_input_price": "1", "batch_output_price": "2"}


class Process:
    """A process of a service: its budget as its settings say, on the database and the server that all share."""

    def __init__(self, pool: Pool, server: FakeServer, **day: Any) -> None:
        entry = server.entry(batch=True, concurrent=100, **PRICES)
        self.entry, self.worst, self.now = entry, worst_case(REQUEST, entry), BEFORE_MIDNIGHT
        self.ledger, self.calls = PgLedger(pool), BatchCalls(pool)
        self.models = Models(
            Catalogue({"fake": entry}), MemoryLimits(), Cast(), ledger=self.ledger,
            day=DayBudget(Settings(**day), lambda: self.now), environment={},
        )  # fmt: skip
        self.durable = DurableCalls(self.models, self.ledger, PgBlobs(pool), self.calls, sleep=lambda _: _turn())

    async def asks(self, request: ModelRequest = REQUEST) -> Reply | Failed:
        model = self.models.get(request.alias)
        assert model is not None
        return await model.ask(request, _unrecorded)

    async def waits(self, number: int = 0, *accounts: Account) -> Answer | NoAnswer:
        """Ask in a batch until it answered."""
        mark = InFlight(stream=f"agora-{number}", ask=1, logged=0)
        question = Question(request=REQUEST, key=f"{number:064x}", prompt="0" * 64, mark=mark, accounts=accounts)
        return await self.durable.ask(question, batch=BatchPlace(stream=EXPERIMENT, goes_on=_always))

    async def waiting(self) -> list[WaitingCall]:
        return await self.calls.waiting(EXPERIMENT)

    async def answered(self, answer: str | None) -> None:
        """A batch of all that wait is over."""
        waiting = await self.waiting()
        await self.calls.named(EXPERIMENT, [call.key for call in waiting], "name")
        await self.calls.submitted(EXPERIMENT, "name", "batch")
        body = reply(answer, usage=(10, 5)).body.decode()
        await self.calls.answered(EXPERIMENT, "batch", {} if answer is None else {call.key: body for call in waiting})


async def _unrecorded(_: Attempt) -> None:
    return


async def _always() -> bool:
    return True


async def _turn() -> None:
    await asyncio.sleep(0.01)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_engine", size=8)
    yield pool
    await pool.close()


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        server.otherwise = reply("said", usage=(10, 5))
        yield server


class Accounts:
    """What the accounts hold, as their owner reads them."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url

    async def __call__(self) -> dict[str, Amount]:
        connection = await asyncpg.connect(self._url)
        try:
            rows = await connection.fetch("SELECT account, calls, tokens, money FROM limits.budget")
        finally:
            await connection.close()
        return {row["account"]: Amount(row["money"], row["tokens"], row["calls"]) for row in rows}


@pytest.fixture
def accounts(database_url: str) -> Accounts:
    return Accounts(database_url)


async def test_as_many_calls_go_out_at_once_as_the_day_and_the_key_hold(
    pool: Pool, server: FakeServer, accounts: Accounts
) -> None:
    """Of runs without a key the day holds five more, and two of one key, whichever reserve first."""
    gate = threading.Event()
    server.otherwise = replace(reply("said", usage=(10, 5)), gate=gate)
    worst = Process(pool, server).worst
    limits = {"day_tokens": 5 * worst.tokens, "key_day_tokens": 2 * worst.tokens}
    processes = [Process(pool, server, **limits) for _ in range(3)]
    asked = [asyncio.create_task(each.asks(PAID)) for each in processes for _ in range(3)]
    await wait_until(lambda: sum(task.done() for task in asked) == 7)
    asked += [asyncio.create_task(each.asks()) for each in processes for _ in range(3)]
    await wait_until(lambda: sum(task.done() for task in asked) == 13 and len(server.received) == 5)
    assert (await accounts())[YESTERDAY].tokens == 5 * worst.tokens
    gate.set()
    answers = await asyncio.gather(*asked)
    refused = [answer for answer in answers if isinstance(answer, Failed)]
    assert {answer.code for answer in refused} == {"budget_spent"}
    assert (len(refused), len(server.received)) == (13, 5)
    spent = {name: (amount.tokens, amount.calls) for name, amount in (await accounts()).items()}
    assert spent == {YESTERDAY: (75, 5), f"{YESTERDAY}:ada": (30, 2)}
    for each in processes:
        await each.models.close()


async def test_accounts_of_many_callers_are_locked_in_one_order(pool: Pool, server: FakeServer) -> None:
    """Each begins with another account, and none waits for ever."""
    limits = {"day_tokens": 10**9, "key_day_tokens": 10**9}
    process = Process(pool, server, **limits)
    payers = [replace(REQUEST, payer=f"agent-{number % 4}") for number in range(40)]
    async with asyncio.timeout(60):
        answers = await asyncio.gather(*(process.asks(request) for request in payers))
    assert all(isinstance(answer, Reply) for answer in answers)
    await process.models.close()


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_batch_that_is_over_after_midnight_is_settled_on_the_day_on_which_it_was_asked(
    pool: Pool, server: FakeServer, accounts: Accounts, restarts: bool
) -> None:
    own = Account(name=EXPERIMENT, calls=3)
    first = Process(pool, server, day_tokens=10**6, day_money="1")
    waiting = asyncio.create_task(first.waits(0, own))
    await wait_until(first.waiting)
    worst = worst_case(REQUEST, first.entry.in_batches).amount
    assert await accounts() == {EXPERIMENT: worst, YESTERDAY: worst}
    second = Process(pool, server, day_tokens=10**6, day_money="1") if restarts else first
    second.now += timedelta(hours=3)
    if restarts:
        waiting.cancel()
        await asyncio.wait([waiting])
        waiting = asyncio.create_task(second.waits(0, own))
    await second.answered("said")
    assert isinstance(await waiting, Answer)
    used = Amount(Decimal("0.00002"), 15, 1)
    assert await accounts() == {EXPERIMENT: used, YESTERDAY: used}
    for each in {first, second}:
        await each.models.close()


async def test_what_no_batch_answered_by_midnight_is_asked_plainly_on_the_next_day(
    pool: Pool, server: FakeServer, accounts: Accounts
) -> None:
    process = Process(pool, server, day_tokens=10**6, day_money="1")
    waiting = asyncio.create_task(process.waits())
    await wait_until(process.waiting)
    process.now += timedelta(hours=3)
    await process.answered(None)
    assert isinstance(await waiting, Answer)
    assert await accounts() == {YESTERDAY: Amount(), TODAY: Amount(Decimal("0.00004"), 15, 1)}
    await process.models.close()


async def test_a_limit_that_falls_while_calls_wait_refuses_new_ones_and_settles_those(
    pool: Pool, server: FakeServer, accounts: Accounts
) -> None:
    """A restart with lower budgets: what is under way was reserved before, and costs what it used."""
    gate = threading.Event()
    server.otherwise = replace(reply("said", usage=(10, 5)), gate=gate)
    before = Process(pool, server, day_tokens=10**6, key_day_tokens=10**6)
    paid, batched = asyncio.create_task(before.asks(PAID)), asyncio.create_task(before.waits())
    await wait_until(before.waiting)
    await wait_until(lambda: server.received)
    after = Process(pool, server, day_tokens=before.worst.tokens + 20, key_day_tokens=before.worst.tokens)
    for request in (REQUEST, PAID):
        refused = await after.asks(request)
        assert isinstance(refused, Failed)
        assert refused.code == "budget_spent"
    found = await after.waits(1)
    assert isinstance(found, Answer)
    assert isinstance(found.said, Failed)
    assert [call.key for call in await after.waiting()] == [f"{0:064x}"]
    gate.set()
    await after.answered("said")
    assert isinstance(await paid, Reply)
    assert isinstance(await batched, Answer)
    assert {name: amount.tokens for name, amount in (await accounts()).items()} == {
        YESTERDAY: 30, f"{YESTERDAY}:ada": 15,
    }  # fmt: skip
    refused = await after.asks(PAID)
    assert isinstance(refused, Failed), "the key's lower budget holds"
    raised = Process(pool, server, day_tokens=10**6, key_day_tokens=before.worst.tokens + 15)
    assert isinstance(await raised.asks(PAID), Reply)
    for each in (before, after, raised):
        await each.models.close()
