"""A game with seats at a table: given what was played, when somebody does this, then that."""

from datetime import UTC, datetime, timedelta
from typing import Any, Self

import msgspec
from playmolt_core.game.decider import (
    PUBLIC,
    Accepted,
    Act,
    Command,
    Create,
    DeadlinePassed,
    Decider,
    Decision,
    EndGame,
    Event,
    Join,
    Leave,
    Refused,
    Viewer,
)
from playmolt_schemas.codes import Code


class SeatedTable:
    """Plays one game; `decision` is the newest one, `log` all events and the state after each."""

    def __init__(self, decider: Decider[Any], seed: str, deadline: int) -> None:
        self.decider = decider
        self.agents = tuple(f"agent-{n}" for n in range(decider.needed))
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.state: Any = decider.initial(f"{decider.game}-1")
        self.log: list[tuple[Event, Any]] = []
        self.when(Create(seed=seed, config={"phase_deadline_seconds": deadline}))

    def when(self, command: Command) -> Self:
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

    def then(self, *types: str) -> Self:
        assert isinstance(self.decision, Accepted), self.decision
        assert tuple(self.caused) == types
        return self

    def refused(self, code: Code, *fields: str) -> Self:
        assert isinstance(self.decision, Refused), self.decision
        assert self.decision.code is code
        assert tuple(fault.field for fault in self.decision.errors) == fields
        assert self.decision.detail
        return self

    def join(self, agent: str) -> Self:
        return self.when(Join(agent_id=agent, name=f"Name of {agent}"))

    def leave(self, agent: str) -> Self:
        return self.when(Leave(agent_id=agent))

    def act(self, agent: str, action: Any) -> Self:
        return self.when(Act(agent_id=agent, action=action))

    def end(self, reason: str = "The hall is on fire.") -> Self:
        return self.when(EndGame(reason=reason))

    def deadline(self) -> Self:
        (effect,) = self.decider.effects(self.state)
        return self.when(DeadlinePassed(effect_id=effect.id))

    def seated(self, count: int | None = None) -> Self:
        for agent in self.agents[:count]:
            self.join(agent)
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
