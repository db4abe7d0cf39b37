"""The worker that has a model speak: whatever comes of it, the turn ends."""

from typing import Any

from playmolt_core.effects.leased_effect import CommandRefused
from playmolt_core.game.decider import Command, Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.llm.scripted.model import Cast
from playmolt_legal import commands
from playmolt_legal.workers.model_worker import Turns
from playmolt_schemas.codes import Code


class LeasedEffect:
    """An effect in hands that take every command, but for types that the log has no room for."""

    attempt = 1

    def __init__(self, desk: Any, *refused: type[Command]) -> None:
        self.snapshot = desk
        (self.effect,) = desk.decider.effects(desk.state)
        self.told: list[Command] = []
        self._refused = refused

    async def submit(self, command: Command, step: str = "") -> None:
        if isinstance(command, self._refused):
            raise CommandRefused(Refused(Code.BODY_TOO_LARGE, "too much for a record"))
        self.told.append(command)


async def fulfil(leased: Any) -> None:
    await Turns(Models(Catalogue(), MemoryLimits(), Cast()))(leased)


async def test_an_answer_is_brought_back_behind_its_attempt(desk: Any) -> None:
    leased = LeasedEffect(desk.to("JUDGE_R1"))
    await fulfil(leased)
    attempted, spoken = leased.told
    assert isinstance(attempted, commands.Attempted)
    assert isinstance(spoken, commands.TurnSpoken)
    assert attempted.effect_id == spoken.effect_id == leased.effect.id


async def test_an_answer_that_cannot_be_stored_fails_its_turn(desk: Any) -> None:
    leased = LeasedEffect(desk.to("JUDGE_R1"), commands.TurnSpoken)
    await fulfil(leased)
    failed = leased.told[-1]
    assert failed == commands.TurnFailed(
        effect_id=leased.effect.id, code="invalid_reply", detail="too much for a record", attempts=1
    )


async def test_a_model_that_is_no_more_there_fails_the_turn(desks: Any) -> None:
    leased = LeasedEffect(desks(model="fast").to("FACTS_STIPULATE"))
    await fulfil(leased)
    (failed,) = leased.told
    assert isinstance(failed, commands.TurnFailed)
    assert (failed.code, failed.attempts) == ("model_unavailable", 0)
