"""The contract of questions that wait for a batch (`llm.batch_calls`). Memory and Postgres run the same tests."""

from decimal import Decimal

from playmolt_core.db.ledger import Account, Amount, Ledger, LedgerEntry
from playmolt_core.llm.batch_calls import BatchCalls, BatchedCall, NewCall

STREAM = "experiment-00000000-0000-4000-8000-000000000001"
OTHER = "experiment-00000000-0000-4000-8000-000000000002"
ONE, TWO, THREE = (f"{number:064x}" for number in range(3))
WORST = Amount(Decimal("0.5"), 7, 1)
BODY = {"model": "m", "messages": [{"role": "user", "content": "안녕"}]}


def new(key: str, stream: str = STREAM, asker: str = "") -> NewCall:
    return NewCall(key, stream, asker, "fake", BODY, WORST)


async def put(calls: BatchCalls, *keys: str, stream: str = STREAM) -> None:
    for key in keys:
        await calls.put(new(key, stream))


def state(answered: bool = False, answer: str | None = None, batch: str | None = None) -> BatchedCall:
    return BatchedCall(answered, answer, batch, WORST, [])


class BatchCallsContract:
    async def test_a_question_waits_as_it_was_first_put(self, calls: BatchCalls) -> None:
        await put(calls, ONE)
        await calls.put(NewCall(ONE, STREAM, "judge", "another", {}, Amount(Decimal(9), 9, 1)))
        await put(calls, TWO, stream=OTHER)
        (waiting,) = await calls.waiting(STREAM)
        assert (waiting.key, waiting.asker, waiting.alias, waiting.body, waiting.name) == (ONE, "", "fake", BODY, None)
        assert await calls.found(ONE) == state()
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
        assert await calls.found(ONE) == state(True, "said", "batch")
        assert await calls.found(TWO) == state(True, None, "batch")
        assert await calls.found(THREE) == state()

    async def test_a_batch_that_is_refused_answers_its_questions_with_nothing(self, calls: BatchCalls) -> None:
        await put(calls, ONE, TWO)
        await calls.named(STREAM, [ONE], "name")
        await calls.refused(STREAM, "name")
        assert await calls.found(ONE) == state(True)
        assert [call.key for call in await calls.waiting(STREAM)] == [TWO]

    async def test_a_question_is_reserved_and_settled_with_its_accounts_and_goes_with_its_reply(
        self, calls: BatchCalls, ledger: Ledger
    ) -> None:
        account = Account(name="batches", calls=1)
        call, release = LedgerEntry(account, WORST), LedgerEntry(account, Amount() - WORST)
        assert await calls.put(new(ONE), [call]) is None
        assert (await calls.found(ONE) or state()).accounts == ["batches"]
        short = await calls.put(new(TWO), [call])
        assert short == LedgerEntry(account, WORST)
        assert await calls.found(TWO) is None
        await calls.settled(ONE, [release])
        assert await calls.found(ONE) == BatchedCall(False, None, None, Amount(calls=1), [])
        assert await calls.put(new(TWO), [call]) is None
        await ledger.keep([release], STREAM, TWO, "said")
        assert await calls.found(TWO) is None
        assert await ledger.reserve([call]) is None, "it was settled"

    async def test_a_batch_that_is_closed_leaves_what_its_questions_used(
        self, calls: BatchCalls, ledger: Ledger
    ) -> None:
        """The first question used less than was reserved, the use of the second is unknown, the third used nothing."""
        whole, mine = Account(name="whole", tokens=29), Account(name="mine")
        for key in (ONE, TWO, THREE):
            await calls.put(new(key), [LedgerEntry(whole, WORST), LedgerEntry(mine, WORST)])
        await calls.named(STREAM, [ONE, TWO, THREE], "name")
        await calls.submitted(STREAM, "name", "batch")
        await calls.put(new("f" * 64, OTHER), [LedgerEntry(whole, WORST)])
        await calls.closed(STREAM, None, {})
        assert await calls.found(ONE) is not None, "it was sent"
        await calls.closed(STREAM, "batch", {ONE: Amount(Decimal("0.1"), 2, 1), TWO: None})
        assert [await calls.found(key) for key in (ONE, TWO, THREE)] == [None] * 3
        short = await ledger.reserve([LedgerEntry(whole, Amount(tokens=29, calls=1))])
        assert short == LedgerEntry(whole, Amount(Decimal("1.1"), 16, 3))

    async def test_questions_that_were_never_sent_are_closed_without_a_batch(
        self, calls: BatchCalls, ledger: Ledger
    ) -> None:
        account = Account(name="waits", calls=3)
        for key in (ONE, TWO, THREE):
            await calls.put(new(key), [LedgerEntry(account, WORST)])
        await calls.named(STREAM, [ONE], "name")
        await calls.closed(STREAM, None, {})
        assert await calls.found(ONE) is not None, "a batch of this name may be under way"
        assert [await calls.found(key) for key in (TWO, THREE)] == [None, None]
        assert await ledger.reserve([LedgerEntry(account, Amount(calls=2))]) is None
