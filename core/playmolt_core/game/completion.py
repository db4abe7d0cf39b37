"""A step of a game: what was decided, and all that it sets off by itself."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from playmolt_core.game.decider import Accepted, Event

S = TypeVar("S")


def run_to_completion(
    state: S,
    decided: Iterable[Event],
    at: datetime,
    evolve: Callable[[S, Event, datetime], S],
    next_event: Callable[[S], Event | None],
) -> Accepted:
    """Fold what was decided, then what each state brings about, until `next_event` gives None; both are one step.

    Gives the events with the state after each, as `Accepted` wants them.
    """
    events: list[Event] = []
    states: list[S] = []
    for event in decided:
        state = evolve(state, event, at)
        events.append(event)
        states.append(state)
    while (event_ := next_event(state)) is not None:
        state = evolve(state, event_, at)
        events.append(event_)
        states.append(state)
    return Accepted(tuple(events), tuple(states))
