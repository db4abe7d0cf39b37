"""Usage of model calls from their records: calls, tokens, money, and amounts held."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from msgspec.structs import replace

from playmolt_schemas.agora.plan import CostRow
from playmolt_schemas.stored.agora.plan import Spent
from playmolt_schemas.text import decimal_text

LOST: Final = "lost"
_REFUSED: Final = "rate_limited"
_FAILED: Final = frozenset(("server_error", "connection", "timeout", "malformed", "rejected", LOST))
_REPORTED_ERRORS: Final = frozenset(("server_error", "rejected", _REFUSED))
_CONTENT_FILTER: Final = "content_filter"
_ERRORS: Final = 400
_UNSENT: Final = "ConnectError"
"""The client's error when it could not connect."""


def with_call(spent: Spent, call: dict[str, Any]) -> Spent:
    """Add a call as stored. A 429 does not count; each lost call counts, at an unknown cost."""
    if not is_call(call):
        return replace(spent, refused_calls=spent.refused_calls + 1)
    usage = call.get("usage") or {}
    prompt, completion = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    calls = int(call.get("lost", 1))
    failed = calls if call.get("outcome") in _FAILED or _filtered_request(call) else 0
    cost = cost_of(call)
    known = decimal_text(Decimal(spent.known) + Decimal(cost or 0))
    unknown = spent.unknown_calls + (calls if cost is None else 0)
    return replace(
        spent,
        calls=spent.calls + calls,
        tokens=spent.tokens + prompt + completion,
        known=known,
        unknown_calls=unknown,
        cost=None if unknown else known,
        failed_calls=spent.failed_calls + failed,
        prompt_tokens=spent.prompt_tokens + prompt,
        completion_tokens=spent.completion_tokens + completion,
        cached_tokens=spent.cached_tokens + (usage.get("cached_tokens") or 0),
        reasoning_tokens=spent.reasoning_tokens + (usage.get("reasoning_tokens") or 0),
        held=decimal_text(Decimal(spent.held) + Decimal(call.get("held") or 0)),
    )


def cost_of(call: dict[str, object]) -> str | None:
    """What a call cost; None if unknown. An error response without usage cost nothing."""
    if call.get("cost") is not None:
        return str(call["cost"])
    return "0" if not call.get("usage") and _took_nothing(call) else None


def held_by(call: dict[str, Any]) -> bool:
    """Whether a call may have cost its worst case: it has a reply but no usage."""
    answered = call.get("status") is not None and call["status"] < _ERRORS
    usage = call.get("usage") or {}
    unreported = usage.get("prompt_tokens") is None or usage.get("completion_tokens") is None
    return answered and unreported and cost_of(call) is None


def _took_nothing(call: dict[str, Any]) -> bool:
    """An error status, an error inside a 200, or a failed connection."""
    if call.get("status") is None:
        return call.get("outcome") == "connection" and _UNSENT in str(call.get("detail"))
    return call["status"] >= _ERRORS or call.get("outcome") in _REPORTED_ERRORS or _filtered_request(call)


def _filtered_request(call: Mapping[str, object]) -> bool:
    """Whether a content filter answered with an error instead of a reply."""
    return call.get("code") == _CONTENT_FILTER and call.get("finish_reason") is None


def by_model(spent: Mapping[str, Spent], call: dict[str, object]) -> dict[str, Spent]:
    """Add a call to its model's usage. A lost call names no model if its process ended first."""
    alias = str(call.get("alias") or "")
    return {**spent, alias: with_call(spent.get(alias, Spent()), call)}


def lost_call(lost: int, ask: int) -> dict[str, object]:
    """Requests lost with their process, as stored; `ask` is the number of the question in its turn."""
    return {"outcome": LOST, "lost": lost, "ask": ask, "detail": "the process ended before it recorded the reply"}


def lost_of(calls: Iterable[dict[str, Any]]) -> int:
    return sum(int(call["lost"]) for call in calls if call.get("outcome") == LOST)


def is_call(call: dict[str, object]) -> bool:
    """Whether a request counts as a call: one refused with 429 does not."""
    return call.get("outcome") != _REFUSED


def summed(parts: Iterable[Spent]) -> Spent:
    """The sum over several runs."""
    spent = list(parts)
    known = decimal_text(sum((Decimal(each.known) for each in spent), Decimal(0)))
    unknown = sum(each.unknown_calls for each in spent)
    return Spent(
        turns=sum(each.turns for each in spent),
        calls=sum(each.calls for each in spent),
        tokens=sum(each.tokens for each in spent),
        cost=None if unknown else known,
        failed_calls=sum(each.failed_calls for each in spent),
        prompt_tokens=sum(each.prompt_tokens for each in spent),
        completion_tokens=sum(each.completion_tokens for each in spent),
        known=known,
        unknown_calls=unknown,
        refused_calls=sum(each.refused_calls for each in spent),
        cached_tokens=sum(each.cached_tokens for each in spent),
        reasoning_tokens=sum(each.reasoning_tokens for each in spent),
        held=decimal_text(sum((Decimal(each.held) for each in spent), Decimal(0))),
    )


def cost_lines(runs: Iterable[tuple[str, Mapping[str, Spent]]]) -> Iterator[CostRow]:
    """What each model took in each cell, from what it took in the runs."""
    found: dict[tuple[str, str], list[Spent]] = {}
    for cell, models in runs:
        for model, spent in models.items():
            found.setdefault((cell, model), []).append(spent)
    for (cell, model), parts in sorted(found.items()):
        spent = summed(parts)
        yield CostRow(
            cell=cell,
            model=model,
            calls=spent.calls,
            failed_calls=spent.failed_calls,
            refused_calls=spent.refused_calls,
            prompt_tokens=spent.prompt_tokens,
            cached_tokens=spent.cached_tokens,
            completion_tokens=spent.completion_tokens,
            reasoning_tokens=spent.reasoning_tokens,
            known=spent.known,
            unknown_calls=spent.unknown_calls,
        )
