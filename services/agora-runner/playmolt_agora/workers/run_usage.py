"""What a run has taken, counted from its log."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace
from playmolt_core.game.decider import Event
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import EventLog
from playmolt_schemas.agora.plan import Noticed, Spent

from playmolt_agora.experiment import budget
from playmolt_agora.run.events import AgentActed, CallMade, TurnFailed
from playmolt_agora.run.rules import Agora

_LOST: Final = "lost"
_REFUSED: Final = "rate_limited"
_FAILED: Final = frozenset(("server_error", "connection", "timeout", "malformed", "rejected", _LOST))
_TOLD_ERRORS: Final = frozenset(("server_error", "rejected", _REFUSED))
_ERRORS: Final = 400
_OTHERS: Final = 20
_MORE: Final = "(others)"
_UNSENT: Final = "ConnectError"
"""How the client names that there was nobody to connect to."""


def with_call(spent: Spent, call: dict[str, Any]) -> Spent:
    """Add a call as it is stored. A 429 is none; lost ones count each, at a cost that nobody knows."""
    if not is_call(call):
        return replace(spent, refused_calls=(spent.refused_calls or 0) + 1)
    usage = call.get("usage") or {}
    prompt, completion = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    calls = int(call.get("lost", 1))
    failed = calls if call.get("outcome") in _FAILED else 0
    charged = budget.added(spent, budget.Charge(calls=calls, tokens=prompt + completion, cost=cost_of(call)))
    return replace(
        charged,
        failed_calls=charged.failed_calls + failed,
        prompt_tokens=charged.prompt_tokens + prompt,
        completion_tokens=charged.completion_tokens + completion,
        cached_tokens=(charged.cached_tokens or 0) + (usage.get("cached_tokens") or 0) or UNSET,
        reasoning_tokens=(charged.reasoning_tokens or 0) + (usage.get("reasoning_tokens") or 0) or UNSET,
        held=budget.amount(Decimal(charged.held or 0) + Decimal(call.get("held") or 0)),
    )


def cost_of(call: dict[str, Any]) -> str | None:
    """What a call cost; None where nobody can tell. An error that was answered without usage cost nothing."""
    if call.get("cost") is not None:
        return str(call["cost"])
    return "0" if not call.get("usage") and _took_nothing(call) else None


def held_by(call: dict[str, Any]) -> bool:
    """Whether a call may have cost its worst case: a reply was given, and not what it took."""
    answered = call.get("status") is not None and call["status"] < _ERRORS
    usage = call.get("usage") or {}
    untold = usage.get("prompt_tokens") is None or usage.get("completion_tokens") is None
    return answered and untold and cost_of(call) is None


def _took_nothing(call: dict[str, Any]) -> bool:
    """An error, as a status or told in a 200, or nobody to connect to."""
    if call.get("status") is None:
        return call.get("outcome") == "connection" and _UNSENT in str(call.get("detail"))
    return call["status"] >= _ERRORS or call.get("outcome") in _TOLD_ERRORS


def by_model(spent: Mapping[str, Spent], call: dict[str, Any]) -> dict[str, Spent]:
    """Add a call to what its model took. A lost one names none where its process ended before it was told."""
    alias = str(call.get("alias") or "")
    return {**spent, alias: with_call(spent.get(alias, Spent()), call)}


class Notices:
    """Counts what a run's calls show of their models beside the replies."""

    def __init__(self) -> None:
        self._answered: dict[str, Counter[str]] = defaultdict(Counter)
        self._cut: Counter[str] = Counter()

    def add(self, call: dict[str, Any]) -> None:
        alias, asked, answered = (str(call.get(name) or "") for name in ("alias", "model_asked", "model_answered"))
        if answered and answered != asked:
            others = self._answered[alias]
            # A server that makes up a name for each reply must not fill the log.
            others[answered if answered in others or len(others) < _OTHERS else _MORE] += 1
        if "prompt_cut" in call.get("warnings", ()):
            self._cut[alias] += 1

    def told(self) -> Noticed:
        return Noticed(
            answered={alias: dict(others) for alias, others in self._answered.items()}, prompt_cut=dict(self._cut)
        )


def counted(events: Iterable[Event]) -> Spent:
    """Count calls, tokens, money and turns; those that a fork took over from its parent are not its own."""
    spent = Spent()
    for event in events:
        if isinstance(event, CallMade):
            spent = with_call(spent, event.call)
        elif isinstance(event, AgentActed | TurnFailed):
            spent = replace(spent, turns=spent.turns + 1)
    return spent


def acts_of(events: Iterable[Event]) -> Counter[str]:
    return Counter(str(event.record.action) for event in events if isinstance(event, AgentActed))


async def events_of(log: EventLog, run: str) -> list[Event]:
    """Read a run's events. Raises LogUnavailable."""
    stored = await log.facts(run)
    return [event for event, _ in facts_of(Agora(), stored)] if stored else []


def spent_of(events: Iterable[Event], replayed: int) -> Spent:
    """Count what a run has taken itself."""
    spent = counted(events)
    return replace(spent, turns=spent.turns - replayed)


def lost_call(lost: int, ask: int) -> dict[str, Any]:
    """Requests that went down with their process, as they are stored; `ask` is the question's place in the ladder."""
    return {"outcome": _LOST, "lost": lost, "ask": ask, "detail": "the process that asked ended before it could tell"}


def lost_of(calls: Iterable[dict[str, Any]]) -> int:
    return sum(int(call["lost"]) for call in calls if call.get("outcome") == _LOST)


def is_call(call: dict[str, Any]) -> bool:
    """Whether a request counts as one: a server that had no room (429) took none."""
    return call.get("outcome") != _REFUSED


def requests_recorded(events: Iterable[Event], turn: int, agent: str | None) -> tuple[int, int]:
    """Count the requests of a turn that its log holds, and how many of them were lost."""
    calls = [
        event.call for event in events if isinstance(event, CallMade) and (event.turn, event.agent) == (turn, agent)
    ]
    lost = lost_of(calls)
    return lost + sum(is_call(call) and call.get("outcome") != _LOST for call in calls), lost
