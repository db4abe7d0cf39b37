"""A trial at a table: given what was played, when somebody does this, then that."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from playmolt_core.decider import (
    PUBLIC,
    Accepted,
    Act,
    Command,
    Create,
    DeadlinePassed,
    Decision,
    EndGame,
    Event,
    Join,
    Leave,
    Refused,
    Viewer,
)
from playmolt_schemas.codes import Code
from playmolt_trial.rules import Trial
from playmolt_trial.state import State

AGENTS = tuple(f"agent-{n}" for n in range(6))


class Table:
    """Plays one trial; `decision` is the newest one, `log` all events and the state after each."""

    def __init__(self, *, seed: str = "7", deadline: int = 0) -> None:
        self.decider = Trial()
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.state: State = self.decider.initial("trial-1")
        self.log: list[tuple[Event, State]] = []
        self.when(Create(seed=seed, config={"phase_deadline_seconds": deadline}))

    def when(self, command: Command) -> "Table":
        self.now += timedelta(seconds=1)
        self.decision: Decision = self.decider.decide(self.state, command, self.now)
        self.caused: list[str] = []
        if isinstance(self.decision, Accepted):
            for event, folded in zip(self.decision.events, self.decision.states, strict=True):
                self.state = self.decider.evolve(self.state, event, self.now)
                assert folded == self.state
                self.log.append((event, self.state))
                self.caused.append(event.type)
        return self

    def then(self, *types: str) -> "Table":
        assert isinstance(self.decision, Accepted), self.decision
        assert tuple(self.caused) == types
        return self

    def refused(self, code: Code, *fields: str) -> "Table":
        assert isinstance(self.decision, Refused), self.decision
        assert self.decision.code is code
        assert tuple(fault.field for fault in self.decision.errors) == fields
        assert self.decision.detail
        return self

    def join(self, agent: str) -> "Table":
        return self.when(Join(agent_id=agent, name=f"Name of {agent}"))

    def leave(self, agent: str) -> "Table":
        return self.when(Leave(agent_id=agent))

    def act(self, agent: str, action: Any) -> "Table":
        return self.when(Act(agent_id=agent, action=action))

    def speak(self, role: str, text: str = "I say so.") -> "Table":
        return self.act(self.role(role), {"type": "speak", "text": text})

    def vote(self, juror: int, verdict: str) -> "Table":
        return self.act(self.roles("JUROR")[juror], {"type": "vote", "verdict": verdict})

    def end(self, reason: str = "The hall is on fire.") -> "Table":
        return self.when(EndGame(reason=reason))

    def deadline(self) -> "Table":
        (wish,) = self.decider.wants(self.state)
        return self.when(DeadlinePassed(wish_id=wish.id))

    def seated(self, count: int = 6) -> "Table":
        for agent in AGENTS[:count]:
            self.join(agent)
        return self

    def played_to(self, phase: str, round_: int = 0) -> "Table":
        """Lets everybody say something until a phase (and round) begins; jurors say GUILTY."""
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

    def view(self, agent: str | None = None) -> dict[str, Any]:
        shown: dict[str, Any] = msgspec.json.decode(
            msgspec.json.encode(self.decider.view(self.state, Viewer(agent) if agent else PUBLIC))
        )
        return shown

    def messages(self, agent: str | None = None) -> list[dict[str, Any]]:
        viewer = Viewer(agent) if agent else PUBLIC
        return [
            msgspec.json.decode(msgspec.json.encode(self.decider.public(state, event, viewer)))
            for event, state in self.log
        ]

    def message(self, kind: str, agent: str | None = None) -> dict[str, Any]:
        """Give the newest message of a type."""
        return [message for message in self.messages(agent) if message["type"] == kind][-1]


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def tables() -> Callable[..., Table]:
    return Table
