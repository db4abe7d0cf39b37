"""An O/X game in a test: given earlier moves, when an agent moves, then these events."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt_ox.rules import Ox
from playmolt_ox.state import State
from playmolt_schemas.stored.ox import FirstChoiceSubmitted, SwitchSubmitted

from core.tests.table import SeatedTable


class Table(SeatedTable):
    state: State

    def __init__(self, *, seed: str = "7", deadline: int = 0) -> None:
        super().__init__(Ox(), seed, deadline)

    def pick(self, agent: str, choice: str, comment: str = "So be it.") -> "Table":
        return self.act(agent, {"type": "first_choice", "choice": choice, "comment": comment})

    def switch(self, agent: str, comment: str = "") -> "Table":
        return self.act(agent, {"type": "switch", "use_switch": True, "comment": comment})

    def keep(self, agent: str, comment: str = "") -> "Table":
        return self.act(agent, {"type": "switch", "use_switch": False, "comment": comment})

    def picked(self, agent: str, choice: Any, comment: str = "So be it.") -> FirstChoiceSubmitted:
        """The event that `pick` causes in the first round."""
        return FirstChoiceSubmitted(agent_id=agent, name=f"Name of {agent}", round=1, choice=choice, comment=comment)

    def kept(self, agent: str, comment: str = "", *, round_: int = 1, forfeit: bool = False) -> SwitchSubmitted:
        """The event that `keep` causes."""
        return SwitchSubmitted(
            agent_id=agent, name=f"Name of {agent}", round=round_, switched=False, comment=comment, forfeit=forfeit
        )

    def switched(self, agent: str, *, round_: int = 1) -> SwitchSubmitted:
        """The event that `switch` causes."""
        return SwitchSubmitted(agent_id=agent, name=f"Name of {agent}", round=round_, switched=True, comment="")

    def picks(self, choices: str) -> "Table":
        """Let the agents choose in seat order, as in "OOOXX"."""
        for agent, choice in zip(self.agents, choices, strict=True):
            self.pick(agent, choice)
        return self

    def keeps(self, *switchers: str) -> "Table":
        """Let all agents keep their choice, except those named."""
        for agent in self.agents:
            self.switch(agent) if agent in switchers else self.keep(agent)
        return self

    def round(self, choices: str, *switchers: str) -> "Table":
        return self.picks(choices).keeps(*switchers)

    def played_to(self, phase: str, round_: int = 1) -> "Table":
        """Play rounds of 3:2 without a switch until a phase of a round begins."""
        if not self.state.seats:
            self.seated()
        while self.state.phase != phase or self.state.round < round_:
            assert not self.state.over, "there is no such phase"
            self.picks("OOOXX") if self.state.phase == "first_choice" else self.keeps()
        return self


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def tables() -> Callable[..., Table]:
    return Table
