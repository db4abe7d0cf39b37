"""What questions that wait for a batch promise (`llm.batch_calls`). Memory and Postgres run the same suite."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from playmolt_core.db.ledger import Account, Amount, ExhaustedAccount, Ledger, LedgerEntry
from playmolt_core.llm.batch_calls import BatchCalls, BatchedCall

STREAM = "experiment-00000000-0000-4000-8000-000000000001"
OTHER = "experiment-00000000-0000-4000-8000-000000000002"
ONE, TWO, THREE = (f"{number:064x}" for number in range(3))
AT = datetime(2026, 11, 26, 23, 59, 58, tzinfo=UTC)
BODY = {"model": "m", "messages": [{"role": "user", "content": "안녕"}]}


async def put(calls: BatchCalls, *keys: str, stream: str = STREAM) -> None:
    for key in keys:
        await calls.put(key, stream, "fake", BODY, 7, Decimal("0.5"), AT)


class BatchCallsContract:
    async def test_a_question_waits_as_it_was_first_put(self, calls: BatchCalls) -> None:
        await put(calls, ONE)
        await calls.put(ONE, STREAM, "another", {}, 9, Decimal(9), AT + timedelta(days=1))
        await put(calls, TWO, stream=OTHER)
        (waiting,) = await calls.waiting(STREAM)
        assert (waiting.key, waiting.alias, waiting.body, waiting.name) == (ONE, "fake", BODY, None)
        assert await calls.found(ONE) == BatchedCall(False, None, None, 7, Decimal("0.5"), AT)
        assert await calls.found(THREE) is None

    async def test_what_a_batch_answered_is_found_and_the_rest_of_it_is_answered_with_nothing(
        self, calls: BatchCalls
    ) -> None:
        await put(calls, ONE, TWO, THREE)
        await calls.named(STREAM, [ONE, TWO], "name")
        assert [call.name for call in await calls.waiting(STREAM)] == ["name", "name", None]
        await calls.submitted(STREAM, "name", "batch")
        assert [call.key for call in await calls.waiting(STREAM)] == [THREE]
        for _ in range(2):
            await calls.answered(STREAM, "batch", {ONE: "said"})
        assert await calls.found(ONE) == BatchedCall(True, "said", "batch", 7, Decimal("0.5"), AT)
        assert await calls.found(TWO) == BatchedCall(True, None, "batch", 7, Decimal("0.5"), AT)
        assert await calls.found(THREE) == BatchedCall(False, None, None, 7, Decimal("0.5"), AT)

    async def test_a_batch_that_is_refused_answers_its_questions_with_nothing(self, calls: BatchCalls) -> None:
        await put(calls, ONE, TWO)
        await calls.named(STREAM, [ONE], "name")
        await calls.refused(STREAM, "name")
        assert await calls.found(ONE) == BatchedCall(True, None, None, 7, Decimal("0.5"), AT)
        assert [call.key for call in await calls.waiting(STREAM)] == [TWO]

    async def test_a_question_is_reserved_and_settled_with_its_accounts_and_goes_with_its_reply(
        self, calls: BatchCalls, ledger: Ledger
    ) -> None:
        account = Account(name="batches", calls=1)
        call, release = (
            LedgerEntry(account, Amount(Decimal("0.5"), 7, 1)),
            LedgerEntry(account, Amount(Decimal("-0.5"), -7, -1)),
        )
        assert await calls.put(ONE, STREAM, "fake", BODY, 7, Decimal("0.5"), AT, [call]) is None
        short = await calls.put(TWO, STREAM, "fake", BODY, 7, Decimal("0.5"), AT, [call])
        assert short == ExhaustedAccount(account="batches", calls=1, tokens=7, money=Decimal("0.5"))
        assert await calls.found(TWO) is None
        await calls.settled(ONE, [release])
        assert await calls.found(ONE) == BatchedCall(False, None, None, 0, Decimal(0), AT)
        assert await calls.put(TWO, STREAM, "fake", BODY, 7, Decimal("0.5"), AT, [call]) is None
        await ledger.keep([release], STREAM, TWO, "said")
        assert await calls.found(TWO) is None
        assert await ledger.reserve([call]) is None, "it was settled"
