"""An O/X game at a table: given what was played, when somebody does this, then that."""

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
from playmolt_ox.rules import Ox
from playmolt_ox.state import State
from playmolt_schemas.codes import Code

AGENTS = tuple(f"agent-{n}" for n in range(5))


class Table:
    """Plays one game; `decision` is the newest one, `log` all events and the state after each."""

    def __init__(self, *, seed: str = "7", deadline: int = 0) -> None:
        self.decider = Ox()
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.state: State = self.decider.initial("ox-1")
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

    def pick(self, agent: str, choice: str, comment: str = "So be it.") -> "Table":
        return self.act(agent, {"type": "first_choice", "choice": choice, "comment": comment})

    def switch(self, agent: str, comment: str = "") -> "Table":
        return self.act(agent, {"type": "switch", "use_switch": True, "comment": comment})

    def keep(self, agent: str, comment: str = "") -> "Table":
        return self.act(agent, {"type": "switch", "use_switch": False, "comment": comment})

    def picks(self, choices: str) -> "Table":
        """Lets the agents choose in seat order, as in "OOOXX"."""
        for agent, choice in zip(AGENTS, choices, strict=True):
            self.pick(agent, choice)
        return self

    def keeps(self, *switchers: str) -> "Table":
        """Lets all keep but those named."""
        for agent in AGENTS:
            self.switch(agent) if agent in switchers else self.keep(agent)
        return self

    def round(self, choices: str, *switchers: str) -> "Table":
        return self.picks(choices).keeps(*switchers)

    def end(self, reason: str = "The hall is on fire.") -> "Table":
        return self.when(EndGame(reason=reason))

    def deadline(self) -> "Table":
        (wish,) = self.decider.wants(self.state)
        return self.when(DeadlinePassed(wish_id=wish.id))

    def seated(self, count: int = 5) -> "Table":
        for agent in AGENTS[:count]:
            self.join(agent)
        return self

    def played_to(self, phase: str, round_: int = 1) -> "Table":
        """Plays rounds of 3:2 without a switch until a phase of a round begins."""
        if not self.state.seats:
            self.seated()
        while self.state.phase != phase or self.state.round < round_:
            assert not self.state.over, "there is no such phase"
            self.picks("OOOXX") if self.state.phase == "first_choice" else self.keeps()
        return self

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
