"""What a run's log says of calls that went down with their workers."""

from typing import Any

from playmolt_agora.run.events import CallMade
from playmolt_agora.workers.run_usage import lost_call, lost_calls_recorded, lost_since_recorded


def called(turn: int, agent: str, call: dict[str, Any]) -> CallMade:
    return CallMade(turn=turn, agent=agent, call=call)


def test_a_turn_that_is_lost_twice_counts_both() -> None:
    events = [
        called(1, "ann", lost_call(2, 3)),
        called(2, "bob", lost_call(1, 2)),
        called(2, "ann", lost_call(1, 3)),
        called(2, "bob", {"outcome": "ok"}),
        called(2, "bob", lost_call(1, 4)),
    ]
    assert lost_since_recorded(events, 5) == 1
    assert lost_calls_recorded(events, 2, "bob") == 2
    assert lost_calls_recorded(events, 1, "ann") == 2
    assert lost_calls_recorded(events, 1, "bob") == lost_calls_recorded(events, 3, None) == 0
