"""A trial in a test: given earlier moves, when an agent moves, then these events."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt_schemas.stored.trial import Spoke, VoteSubmitted
from playmolt_trial.rules import Trial
from playmolt_trial.state import State

from core.tests.table import SeatedTable


class Table(SeatedTable):
    state: State

    def __init__(self, *, seed: str = "7", deadline: int = 0) -> None:
        super().__init__(Trial(), seed, deadline)

    def speak(self, role: str, text: str = "I say so.") -> "Table":
        return self.act(self.role(role), {"type": "speak", "text": text})

    def vote(self, juror: int, verdict: str) -> "Table":
        return self.act(self.roles("JUROR")[juror], {"type": "vote", "verdict": verdict})

    def spoken(self, role: Any, text: str = "I say so.", *, phase: Any = "opening", round_: int = 0) -> Spoke:
        """The event that `speak` causes."""
        agent = self.role(role)
        return Spoke(agent_id=agent, name=f"Name of {agent}", role=role, text=text, phase=phase, round=round_)

    def voted(self, juror: int, verdict: Any) -> VoteSubmitted:
        """The event that `vote` causes."""
        return VoteSubmitted(agent_id=self.roles("JUROR")[juror], role="JUROR", verdict=verdict)

    def played_to(self, phase: str, round_: int = 0) -> "Table":
        """Let all agents speak until a phase (and round) begins; jurors vote GUILTY."""
        if not self.state.seats:
            self.seated()
        while self.state.phase != phase or self.state.round < round_:
            assert not self.state.over, "there is no such phase"
            self.submit(self.state.missing()[0].id)
        return self

    def submit(self, agent: str) -> "Table":
        if self.state.phase == "jury_vote":
            return self.act(agent, {"type": "vote", "verdict": "GUILTY"})
        return self.act(agent, {"type": "speak", "text": "I say so."})

    def roles(self, role: str) -> list[str]:
        return [seat.id for seat in self.state.seats if seat.role == role]

    def role(self, role: str) -> str:
        return self.roles(role)[0]


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def tables() -> Callable[..., Table]:
    return Table
