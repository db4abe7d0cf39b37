"""The worker that has a model speak: whatever comes of it, the turn ends."""

from typing import Any

from playmolt_core.decider import Command
from playmolt_core.host.errand import Wishless
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.llm.scripted import Cast
from playmolt_legal import commands
from playmolt_legal.turns import Turns


class Errand:
    """A wish in hands that take every command, but for types that the log has no room for."""

    attempt = 1

    def __init__(self, desk: Any, *refused: type[Command]) -> None:
        self.snapshot = desk
        (self.wish,) = desk.decider.wants(desk.state)
        self.told: list[Command] = []
        self._refused = refused

    async def tell(self, command: Command, step: str = "") -> None:
        if isinstance(command, self._refused):
            raise Wishless(413, "too much for a record")
        self.told.append(command)


async def fulfil(errand: Any) -> None:
    await Turns(Models(Catalogue(), MemoryLimits(), Cast()))(errand)


async def test_an_answer_is_brought_back_behind_its_attempt(desk: Any) -> None:
    errand = Errand(desk.to("JUDGE_R1"))
    await fulfil(errand)
    attempted, spoken = errand.told
    assert isinstance(attempted, commands.Attempted)
    assert isinstance(spoken, commands.TurnSpoken)
    assert attempted.wish_id == spoken.wish_id == errand.wish.id


async def test_an_answer_that_cannot_be_stored_fails_its_turn(desk: Any) -> None:
    errand = Errand(desk.to("JUDGE_R1"), commands.TurnSpoken)
    await fulfil(errand)
    failed = errand.told[-1]
    assert failed == commands.TurnFailed(
        wish_id=errand.wish.id, code="invalid_reply", detail="too much for a record", attempts=1
    )


async def test_a_model_that_is_no_more_there_fails_the_turn(desks: Any) -> None:
    errand = Errand(desks(model="fast").to("FACTS_STIPULATE"))
    await fulfil(errand)
    (failed,) = errand.told
    assert isinstance(failed, commands.TurnFailed)
    assert (failed.code, failed.attempts) == ("model_unavailable", 0)
