"""A game with seats at a table."""

from typing import Any, Self

from playmolt_core.game.decider import Act, Create, DeadlinePassed, Decider, EndGame, Join, Leave
from playmolt_schemas.stored.seats import AgentJoined

from core.tests.scenario import Scenario


class SeatedTable(Scenario[Any]):
    """A created game, whose seats `agents` can fill."""

    def __init__(self, decider: Decider, seed: str, deadline: int) -> None:
        super().__init__(decider)
        self.agents = tuple(f"agent-{n}" for n in range(decider.needed))
        self.when(Create(seed=seed, config={"phase_deadline_seconds": deadline}))

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


def joined(agent: str) -> AgentJoined:
    """The event that `SeatedTable.join` causes."""
    return AgentJoined(agent_id=agent, name=f"Name of {agent}")
