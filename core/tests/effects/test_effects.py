"""What makes an effect happen once: its id is the id of the command it ends in, and the rules look again."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from playmolt_core.effects.leased_effect import CommandRefused, LeasedEffect
from playmolt_core.game.fold import Snapshot

from core.tests.asking import Answer, Answered, Asked, Asking, Opened, Put, Question, Talk
from core.tests.effect_scenario import EffectScenario

ASKED = (Opened(owner="ann", topic="weather"), Asked(command_id="c1", text="Will it rain?"))
ANSWERED = Answered(text="Will it rain? Yes.")


@pytest.fixture
def talk() -> EffectScenario[Talk]:
    return EffectScenario(Asking()).given(*ASKED)


class Answering:
    """Answers what the payload asks; `crash` says whether the process is lost before or after its command is stored."""

    def __init__(self, crash: str = "") -> None:
        self.crash = crash
        self.leased: list[LeasedEffect] = []

    async def __call__(self, leased: LeasedEffect) -> None:
        self.leased.append(leased)
        if self.crash == "before":
            raise asyncio.CancelledError
        question: Question = leased.payload
        await leased.submit(Answer(effect_id=leased.effect.id, text=f"{question.text} Yes."))
        if self.crash == "after":
            raise asyncio.CancelledError


def stored(talk: EffectScenario[Any]) -> list[Any]:
    return [event for event, _, _ in talk.log]


async def test_a_pending_effect_ends_in_one_command(talk: EffectScenario[Talk]) -> None:
    (await talk.carried_out(answer=Answering())).then(ANSWERED)
    assert stored(talk) == [*ASKED, ANSWERED]
    await talk.carried_out(answer=Answering())
    assert stored(talk) == [*ASKED, ANSWERED]
    assert len(talk.submitted) == 1


@pytest.mark.parametrize(("crash", "attempts"), [("before", [2]), ("after", [])])
async def test_a_worker_that_was_lost_changes_nothing_of_what_is_stored(
    talk: EffectScenario[Talk], crash: str, attempts: list[int]
) -> None:
    second = Answering()
    await talk.carried_out(answer=Answering(crash))
    await talk.carried_out(answer=second)
    assert [leased.attempt for leased in second.leased] == attempts
    assert stored(talk) == [*ASKED, ANSWERED]


async def test_a_worker_whose_lease_went_to_another_commits_nothing_more(talk: EffectScenario[Talk]) -> None:
    slow, quick = Answering("before"), Answering()
    await talk.carried_out(answer=slow)
    await talk.carried_out(answer=quick)
    slow.crash = ""
    await slow(slow.leased[0])
    assert stored(talk) == [*ASKED, ANSWERED]


async def test_the_rules_look_again_at_what_a_worker_submits(talk: EffectScenario[Talk]) -> None:
    async def of_another_effect(leased: LeasedEffect) -> None:
        await leased.submit(Answer(effect_id="jury-1/other", text="Snow."))

    (await talk.carried_out(answer=of_another_effect)).then()
    assert stored(talk) == [*ASKED]


async def test_a_refused_command_is_raised_in_the_worker_with_its_reason(talk: EffectScenario[Talk]) -> None:
    found: list[CommandRefused] = []

    async def opening_anew(leased: LeasedEffect) -> None:
        try:
            await leased.submit(Put(command_id="c2", text="And snow?"))
        except CommandRefused as refused:
            found.append(refused)

    await talk.carried_out(answer=opening_anew)
    assert [str(refused) for refused in found] == ["wrong_phase: one question at a time"]
    assert stored(talk) == [*ASKED]


class ManyDue(EffectScenario[Talk]):
    """Many streams are due, and none of them exists any more."""

    def __init__(self, amount: int) -> None:
        super().__init__(Asking())
        self.names = [f"talk-{number}" for number in range(amount)]
        self.read: list[str] = []
        self.open = self.most = 0

    async def due(self, game: str, now: datetime, limit: int) -> Sequence[str]:
        return self.names

    async def snapshot(self, stream: str) -> Snapshot | None:
        self.read.append(stream)
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0)
        self.open -= 1
        return None


@pytest.mark.parametrize(("amount", "most"), [(0, 0), (1, 1), (32, 32), (70, 32)])
async def test_due_streams_are_read_together_but_not_all_at_once(amount: int, most: int) -> None:
    many = ManyDue(amount)
    await many.carried_out()
    assert (sorted(many.read), many.most) == (sorted(many.names), most)
