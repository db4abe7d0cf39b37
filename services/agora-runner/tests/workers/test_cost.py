"""What a call costs and what of it a budget holds (agora-folder.md, 7)."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from playmolt_core.db.ledger import Account, Amount, LedgerEntry
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.durable_call import Charge, WorstCase, reserve, worst_case
from playmolt_core.llm.file_ledger import MemoryLedger
from playmolt_core.llm.port import Attempt, ChatMessage, ModelRequest, Usage
from playmolt_schemas.instrument.usage import by_model, cost_lines, held_by, lost_call, summed, with_call
from playmolt_schemas.stored.agora.plan import Spent

USAGE = {"prompt_tokens": 10, "completion_tokens": 5}


def call(outcome: str, status: int | None, **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "status": status, "usage": None, "cost": None, "detail": "", "reply": "", **more}


ANSWERED = call("ok", 200, usage=USAGE, cost="0.25")
SILENT = call("ok", 200)
PARTLY = call("ok", 200, usage={"prompt_tokens": 10, "completion_tokens": None})
NOTHING = [
    call("server_error", 500),
    call("rejected", 401),
    call("server_error", 200),
    call("connection", None, detail="the connection broke: ConnectError: refused"),
]
UNTOLD = [
    call("timeout", None),
    call("connection", None, detail="the connection broke: ReadError: reset"),
    lost_call(1, 1),
]


def spent(*calls: dict[str, Any]) -> Spent:
    found = Spent()
    for each in calls:
        found = with_call(found, each)
    return found


@pytest.mark.parametrize("failed", NOTHING)
def test_an_error_without_usage_costs_nothing_and_is_known(failed: dict[str, Any]) -> None:
    found = spent(ANSWERED, failed)
    assert (found.known, found.unknown_calls, found.cost, found.cost_text) == ("0.25", 0, "0.25", "0.25")
    assert (found.calls, found.failed_calls, found.tokens) == (2, 1, 15)


@pytest.mark.parametrize("untold", UNTOLD)
def test_what_nobody_answered_is_unknown(untold: dict[str, Any]) -> None:
    found = spent(ANSWERED, untold)
    assert (found.known, found.unknown_calls, found.cost) == ("0.25", 1, None)
    assert (found.cost_text, found.failed_calls) == ("≥ 0.25, 1 call unknown", 1)


def test_an_error_with_usage_costs_what_it_took() -> None:
    assert spent(call("server_error", 500, usage=USAGE, cost="0.5")).known == "0.5"


def test_a_reply_without_usage_is_unknown_and_not_failed() -> None:
    found = spent(SILENT, SILENT)
    assert (found.unknown_calls, found.failed_calls, found.cost_text) == (2, 0, "≥ 0, 2 calls unknown")


def test_a_429_is_not_a_call_and_lost_ones_count_each() -> None:
    assert spent(call("rate_limited", 429)) == Spent(refused_calls=1)
    assert (spent(lost_call(3, 1)).calls, spent(lost_call(3, 1)).unknown_calls) == (3, 3)


def test_a_sum_with_an_unknown_part_has_no_cost() -> None:
    both = summed([Spent(cost="1", known="1"), Spent(cost=None, known="0.5", unknown_calls=2)])
    assert (both.known, both.unknown_calls, both.cost) == ("1.5", 2, None)


@pytest.mark.parametrize(
    ("attempts", "calls", "held"),
    [
        ([ANSWERED], 1, 0),
        ([NOTHING[0], NOTHING[1], ANSWERED], 3, 0),
        ([UNTOLD[0], ANSWERED], 2, 0),
        ([call("rate_limited", 429), ANSWERED], 1, 0),
        ([SILENT], 1, 1),
    ],
)
async def test_a_budget_holds_what_was_spent_and_the_worst_case_of_untold_replies(
    attempts: list[dict[str, Any]], calls: int, held: int
) -> None:
    ledger, account = MemoryLedger(), Account(name="e", money=Decimal(1), tokens=10_000, calls=100)
    charge = Charge(account=account, worst=WorstCase(200, Decimal("0.1")), unanswered="nothing")
    for each in attempts:
        await reserve([charge], ledger.reserve)
        attempt = attempted(each) if each["outcome"] != "lost" else None
        lost = LedgerEntry(account, Amount(-Decimal("0.1"), -200))
        await ledger.settle([charge.correction(attempt) if attempt else lost])
    answered = ANSWERED in attempts
    assert ledger.of("e") == Amount(
        Decimal("0.25") * answered + held * Decimal("0.1"), 15 * answered + held * 200, calls
    )


def attempted(call: dict[str, Any]) -> Attempt:
    """The attempt that is stored as `call`."""
    usage = call["usage"] and Usage(**call["usage"])
    return Attempt(
        number=1, alias="fake", model_asked="m", model_answered="m", headers={}, request={}, decoding="prompt",
        outcome=call["outcome"], status=call["status"], detail=call["detail"], reply="", tool_calls=(),
        finish_reason=None, usage=usage, cost=call["cost"], latency_ms=1,
    )  # fmt: skip


def test_a_usage_that_tells_half_holds_the_worst_case() -> None:
    found = spent(PARTLY)
    assert (found.prompt_tokens, found.completion_tokens, found.unknown_calls) == (10, 0, 1)
    assert held_by(PARTLY)
    assert not held_by(ANSWERED)


class TestPartsOfTokens:
    USAGE = Usage(prompt_tokens=1_000_000, completion_tokens=2_000_000, cached_tokens=400_000, reasoning_tokens=500_000)
    PLAIN = ModelEntry(base_url="http://127.0.0.1:1/v1", model="mini", input_price=Decimal(1), output_price=Decimal(2))

    def test_they_cost_what_the_others_do_without_prices_of_their_own(self) -> None:
        assert self.PLAIN.cost(self.USAGE) == "5"

    def test_prices_of_their_own_are_taken(self) -> None:
        priced = msgspec.structs.replace(self.PLAIN, cached_price=Decimal("0.1"), reasoning_price=Decimal(4))
        assert priced.cost(self.USAGE) == "5.64"
        request = ModelRequest(alias="mini", messages=(ChatMessage("user", ""),), max_tokens=10)
        worst = worst_case(request, priced)
        assert worst.money == (Decimal(worst.tokens - 10) + 10 * Decimal(4)) / 1_000_000

    def test_they_are_counted_by_cell_and_model(self) -> None:
        usage = msgspec.to_builtins(self.USAGE)
        models: dict[str, Spent] = {}
        for each in (call("ok", 200, usage=usage, cost="5", alias="a"), call("rate_limited", 429, alias="a"),
                     call("ok", 200, held="7.5", alias="b")):  # fmt: skip
            models = by_model(models, each)
        one, other = cost_lines([("cell", models), ("cell", {"a": models["a"]})])
        assert (one.model, one.calls, one.refused_calls, one.known) == ("a", 2, 2, "10")
        assert (one.cached_tokens, one.reasoning_tokens) == (800_000, 1_000_000)
        assert (other.model, other.known, other.unknown_calls, models["b"].held) == ("b", "0", 1, "7.5")
