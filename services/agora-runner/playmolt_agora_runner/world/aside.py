"""Which question is asked aside now: after a turn's last event and before the next turn's first."""

from collections.abc import Iterator

import msgspec
from playmolt_schemas.stored.agora.turn import Interview

from playmolt_agora_runner.world.state import RunState


class Aside(msgspec.Struct, frozen=True):
    """A question and the agent to answer it."""

    interview: Interview
    agent: str


def pending(state: RunState) -> Aside | None:
    """The next question; None where none is due. Questions are asked in plan order, agents in the order of seats."""
    if state.stage not in ("opening", "finished") or state.spec is None or not state.spec.interviews:
        return None
    due = list(_due(state))
    answered = state.answered or 0
    return due[answered] if answered < len(due) else None


def _due(state: RunState) -> Iterator[Aside]:
    for interview in state.run.interviews or ():
        if state.turn in interview.at:
            for seat in state.seats:
                if state.agents[seat.agent].alive and interview.asks(seat):
                    yield Aside(interview, seat.agent)
