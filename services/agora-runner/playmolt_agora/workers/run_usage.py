"""What a run has taken, counted from its log."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace
from playmolt_core.game.decider import Event
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import EventLog
from playmolt_schemas.agora.plan import Spent

from playmolt_agora.experiment import budget
from playmolt_agora.run.events import AgentActed, CallMade, TurnFailed
from playmolt_agora.run.rules import Agora

_LOST: Final = "lost"


def with_call(spent: Spent, call: dict[str, Any]) -> Spent:
    """Add a call as it is stored; one without a reported usage counts no tokens, and makes the cost unknown."""
    usage = call.get("usage") or {}
    tokens = (usage.get("prompt_tokens") or 0) + (usage.get("completion_tokens") or 0)
    return budget.added(spent, budget.Charge(tokens=tokens, cost=call.get("cost")))


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


def lost_call(lost: int, lease_attempt: int) -> dict[str, Any]:
    """The calls that went down with their workers, as they are stored."""
    detail = "the process that asked ended before it could tell"
    return {"outcome": _LOST, "lost": lost, "lease_attempt": lease_attempt, "detail": detail}


def lost_since_recorded(events: Iterable[Event], lease_attempt: int) -> int:
    """Count the workers that were lost since the last loss was recorded, from the lease's attempt number.

    The number grows by one a loss and begins anew after a pause; losses of another turn must not count for this one.
    """
    recorded = [int(event.call["lease_attempt"]) for event in events if isinstance(event, CallMade) and _is_loss(event)]
    counted_before = recorded[-1] if recorded and recorded[-1] < lease_attempt else 1
    return lease_attempt - counted_before


def lost_calls_recorded(events: Iterable[Event], turn: int, agent: str | None) -> int:
    """Count the calls that a turn has lost and that its run has recorded."""
    calls = (event for event in events if isinstance(event, CallMade) and _is_loss(event))
    return sum(int(event.call["lost"]) for event in calls if (event.turn, event.agent) == (turn, agent))


def _is_loss(event: CallMade) -> bool:
    return event.call.get("outcome") == _LOST and "lease_attempt" in event.call
