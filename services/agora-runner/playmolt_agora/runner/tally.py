"""What a run has taken, counted from its log."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from playmolt_core.decider import Event, read_event
from playmolt_core.log.port import EventLog
from playmolt_schemas.agora_plan import Spent

from playmolt_agora import budget
from playmolt_agora.events import AgentActed, CallMade, TurnFailed
from playmolt_agora.rules import Agora


def with_call(spent: Spent, call: dict[str, Any]) -> Spent:
    """Add a call as it is stored; one whose usage nobody told counts no tokens, and makes the cost unknown."""
    usage = call.get("usage") or {}
    tokens = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
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


async def events_of(log: EventLog, run: str) -> list[Event]:
    """Read a run's events. Raises LogUnavailable."""
    stored = await log.facts(run)
    rules = Agora()
    return [read_event(rules, kind, version, data) for kind, version, data, _ in stored.facts] if stored else []


async def spent_of(log: EventLog, run: str, replayed: int) -> Spent:
    """Count what a run has taken itself. Raises LogUnavailable."""
    spent = counted(await events_of(log, run))
    return replace(spent, turns=spent.turns - replayed)
