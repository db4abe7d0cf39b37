"""What models may take in a day: reserved at the worst case, settled at what was taken, refused beyond."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from playmolt_core.db.ledger import Amount
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.day_budget import DayBudget, account_of
from playmolt_core.llm.durable_call import PaidModel
from playmolt_core.llm.file_ledger import MemoryLedger
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, Reply
from playmolt_core.settings import Settings

from core.tests.llm.fake_server import Canned, FakeServer, reply, status

TODAY, TOMORROW = "2026-11-26", "2026-11-27"
REQUEST = ModelRequest(alias="local", messages=(ChatMessage("user", "q"),), max_tokens=50, payer="ada")


class Day:
    """A model under the budget of a day, on a server that says what a test scripts."""

    def __init__(self, entry: ModelEntry, **settings: Any) -> None:
        self.budgets = MemoryLedger()
        self.now = datetime.fromisoformat(f"{TODAY}T23:59:58+00:00")
        self.inner = OpenAIModel(entry, "", MemoryLimits(), sleep=self._sleep)
        day = DayBudget(Settings(**settings), lambda: self.now)
        self.model = PaidModel(self.inner, self.budgets, lambda request: day.charges(request, entry))
        self.attempts: list[Attempt] = []

    async def _sleep(self, _: float) -> None:
        return

    async def _record(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    async def asks(self, request: ModelRequest = REQUEST, sending: Any = None) -> Reply | Failed:
        return await self.model.ask(request, self._record, sending)


def saying(step: Canned) -> FakeServer:
    server = FakeServer()
    server.otherwise = step
    return server


def priced(server: FakeServer) -> ModelEntry:
    return server.entry("local", input_price=Decimal(1_000_000), output_price=Decimal(2_000_000))


async def test_without_a_limit_nothing_is_counted() -> None:
    async with FakeServer(reply("hello", usage=(10, 5))) as server:
        day = Day(priced(server))
        assert isinstance(await day.asks(), Reply)
        assert day.budgets.spent == {}
        await day.inner.close()


async def test_what_a_request_took_is_counted_for_all_and_for_its_key() -> None:
    async with FakeServer(reply("hello", usage=(10, 5))) as server:
        day = Day(priced(server), day_tokens=10_000, key_day_money="1000")
        assert isinstance(await day.asks(), Reply)
        assert day.budgets.spent == {
            account_of(TODAY): Amount(Decimal(20), 15, 1),
            account_of(TODAY, "ada"): Amount(Decimal(20), 15, 1),
        }
        await day.inner.close()


@pytest.mark.parametrize(
    "limits", [{"day_tokens": 200}, {"key_day_tokens": 200}, {"day_money": "300"}, {"key_day_money": "300"}]
)
async def test_what_the_day_does_not_hold_is_not_asked_and_is_the_next_day(limits: dict[str, Any]) -> None:
    async with saying(reply("hello", usage=(100, 60))) as server:
        day = Day(priced(server), **limits)
        assert isinstance(await day.asks(), Reply)
        spent = dict(day.budgets.spent)
        refused = await day.asks()
        assert isinstance(refused, Failed)
        assert (refused.code, refused.attempts) == ("budget_spent", 0)
        assert "midnight UTC" in refused.detail
        assert (len(server.received), day.budgets.spent) == (1, spent)
        day.now = datetime.fromisoformat(f"{TOMORROW}T00:00:00+00:00").astimezone(UTC)
        assert isinstance(await day.asks(), Reply)
        await day.inner.close()


async def test_a_keys_budget_is_its_own() -> None:
    async with saying(reply("hello", usage=(100, 60))) as server:
        day = Day(priced(server), key_day_tokens=200)
        assert isinstance(await day.asks(), Reply)
        assert isinstance(await day.asks(), Failed)
        for payer in ("bob", ""):
            other = ModelRequest(alias="local", messages=REQUEST.messages, max_tokens=50, payer=payer)
            assert isinstance(await day.asks(other), Reply)
        await day.inner.close()


async def test_a_reply_without_figures_keeps_its_worst_case() -> None:
    async with saying(reply("hello", usage=None)) as server:
        day = Day(priced(server), day_tokens=150)
        assert isinstance(await day.asks(), Reply)
        assert 50 < day.budgets.of(account_of(TODAY)).tokens <= 150
        assert isinstance(await day.asks(), Failed)
        await day.inner.close()


async def test_a_request_that_a_server_refused_costs_nothing() -> None:
    async with saying(status(503)) as server:
        day = Day(priced(server), day_tokens=200, day_money="500")
        failed = await day.asks()
        assert isinstance(failed, Failed)
        assert (failed.code, failed.attempts) == ("model_unavailable", 4)
        assert day.budgets.of(account_of(TODAY)) == Amount(calls=4)
        await day.inner.close()


async def test_what_nobody_sent_is_given_back() -> None:
    async def lost() -> None:
        raise RuntimeError("the mark could not be kept")

    async with FakeServer() as server:
        day = Day(priced(server), day_tokens=1000)
        with pytest.raises(RuntimeError, match="mark"):
            await day.asks(sending=lost)
        assert day.budgets.of(account_of(TODAY)) == Amount()
        assert server.received == []
        await day.inner.close()


async def test_money_holds_no_call_of_a_model_without_a_price() -> None:
    async with FakeServer() as server:
        day = Day(server.entry("local"), key_day_money="5")
        refused = await day.asks()
        assert isinstance(refused, Failed)
        assert refused.code == "budget_spent"
        assert "input_price" in refused.detail
        free = ModelRequest(alias="local", messages=REQUEST.messages, payer="")
        assert isinstance(await day.asks(free), Reply), "unassigned key pays for it"
        await day.inner.close()
