"""Redecision of a stream: the decisions of a scenario, in the form that `Redecision` takes."""

import random
from collections.abc import Callable, Iterable
from typing import Any

from playmolt_core.game.decider import Act, Decider, Fault, Forfeit, Refused, Resign
from playmolt_core.game.redecision import Fact, Redecision

from core.tests.table import SeatedTable

COMMANDS_OF_A_GAME = 400


class RecordedTable(SeatedTable):
    """A table that records the command of each event, and collects the faults of refusals as an engine does."""

    def __init__(self, decider: Decider, seed: str, deadline: int = 60) -> None:
        self.facts: list[Fact] = []
        self.gathered: tuple[Fault, ...] = ()
        super().__init__(decider, seed, deadline)

    def when(self, command: Any) -> "RecordedTable":
        before, events = self.state, len(self.log)
        if self.gathered:
            command = type(command)(**{**_fields(command), "gathered": self.gathered})
        super().when(command)
        if isinstance(self.decision, Refused):
            self.given(*self.decision.events)
        if len(self.log) > events:
            self.gathered = ()
        elif isinstance(self.decision, Refused) and self.decision.fault:
            self.gathered = (*self.gathered, self.decision.fault)
        for event, at, state in self.log[events:]:
            self.facts.append(Fact(before, event, len(self.facts) + 1, at, f"{events}"))
            before = state
        return self


def _fields(command: Any) -> dict[str, Any]:
    return {name: getattr(command, name) for name in command.__struct_fields__}


def played(decider: Decider, seed: int, action: Callable[[random.Random], Any]) -> RecordedTable:
    """Play a game to its end, in which agents act in and out of turn, resign, pass and miss deadlines."""
    chance, table = random.Random(seed), RecordedTable(decider, str(seed))
    table.seated()
    for _ in range(COMMANDS_OF_A_GAME):
        if table.state.over:
            return table
        agent, what = chance.choice(table.agents), chance.random()
        if what < 0.02:
            table.deadline()
        elif what < 0.025:
            table.when(Resign(agent_id=agent))
        elif what < 0.04:
            table.when(Forfeit(agent_id=agent, kind="provider", what="timeout"))
        else:
            table.when(Act(agent_id=agent, action=action(chance)))
    return table.end()


def decided_again(rules: Decider, table: RecordedTable) -> Redecision[Any]:
    return redecided(rules, table.facts)


def redecided(rules: Decider, facts: Iterable[Fact]) -> Redecision[Any]:
    redecision = Redecision(rules)
    for fact in facts:
        redecision.take(fact)
    redecision.finish()
    return redecision
