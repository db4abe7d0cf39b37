"""Given a turn that is owed, when the worker has a model speak, then the turn ends, whatever comes of it."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from playmolt_core.effects.leased_effect import Worker
from playmolt_core.game.decider import Accepted, Command, Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.llm.scripted.model import Cast
from playmolt_legal import commands
from playmolt_legal.facts import inputs
from playmolt_legal.guardrails import corpus
from playmolt_legal.texts import plain
from playmolt_legal.workers.model_worker import ModelWorker, _request
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.legal import AttemptMade, DraftSetAside, TurnFailed, TurnRecorded

from core.tests.effect_scenario import no_long_texts
from core.tests.scenario import like


def worker() -> Worker:
    return ModelWorker(Models(Catalogue(), MemoryLimits(), Cast()), no_long_texts)


def stored(session: Any, before: int) -> list[Any]:
    return [event for event, _, _ in session.log[before:]]


async def test_an_answer_is_brought_back_behind_its_attempt(session: Any) -> None:
    before = len(session.to("JUDGE_R1").log)
    await session.carried_out(llm_turn=worker())
    attempted, recorded, *_ = stored(session, before)
    assert attempted == like(AttemptMade, phase="JUDGE_R1", kind="ask")
    assert recorded == like(TurnRecorded, phase="JUDGE_R1", unresolved=())


async def test_a_draft_that_was_set_aside_is_asked_for_as_a_rewrite(sessions: Callable[..., Any]) -> None:
    session = sessions(profile="rash", model="scripted-rash", opened=False)
    session.open(session.body, ("scripted-rash",))
    before = len(session.to("CLAIMANT_R1").spoken().log)
    assert session.log[-1][0] == like(DraftSetAside, phase="CLAIMANT_R1")
    await session.carried_out(llm_turn=worker())
    attempted, recorded, *_ = stored(session, before)
    assert attempted == like(AttemptMade, phase="CLAIMANT_R1", kind="rewrite")
    assert recorded == like(TurnRecorded, phase="CLAIMANT_R1", unresolved=())


async def test_an_answer_that_cannot_be_stored_fails_its_turn(session: Any) -> None:
    submit = session.submit

    async def without_room(stream: str, command: Command, command_id: str) -> Accepted | Refused:
        if isinstance(command, commands.TurnSpoken):
            return Refused(Code.BODY_TOO_LARGE, "too much for a record")
        outcome: Accepted | Refused = await submit(stream, command, command_id)
        return outcome

    session.to("JUDGE_R1").submit = without_room
    await session.carried_out(llm_turn=worker())
    assert session.log[-1][0] == TurnFailed(
        phase="JUDGE_R1", code="invalid_reply", detail="too much for a record", attempts=1
    )


@pytest.mark.parametrize(
    ("phase", "streamable"), [("FACTS_STIPULATE", False), ("CLAIMANT_R1", True), ("JUDGE_R1", True)]
)
def test_speeches_are_streamable(session: Any, phase: str, streamable: bool) -> None:
    state = session.to(phase).state
    (effect,) = session.decider.effects(state)
    assert _request(state, effect.payload).streamable is streamable


async def test_a_model_that_is_no_more_there_fails_the_turn(sessions: Callable[..., Any]) -> None:
    session = sessions(model="fast").to("FACTS_STIPULATE")
    await session.carried_out(llm_turn=worker())
    assert session.log[-1][0] == like(TurnFailed, code="model_unavailable", attempts=0)


TEXTS = ("1 ", '"', "Mr. Smith ", "010-1234-5678 ", "민법 제563조 ", "2024다12345 ")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("phase", ["FACTS_STIPULATE", "OPPOSING_R1"])
async def test_nobody_waits_for_a_turn_over_long_texts(sessions: Callable[[], Any], text: str, phase: str) -> None:
    """The longest that anybody else waits is a fraction of what the texts of a session cost to read.

    Looked at again where it is not: a host that takes the machine away counts as processor time.
    """
    shares = []
    while len(shares) < 4 and min(shares, default=1.0) >= 0.5:
        shares.append(await _longest_share(sessions(), text, phase))
    assert min(shares) < 0.5


async def _longest_share(session: Any, text: str, phase: str) -> float:
    """The longest step of the loop, as a share of what all texts cost."""
    overview, acts = (f"{text * 20_000}"[:most].strip() for most in (20_000, 10_000))
    session.facts(overview=overview, acts=acts).to(phase)
    for cached in (corpus._corpus, corpus._part, plain):
        cached.cache_clear()
    began = time.process_time()
    corpus.of(session.state)
    corpus.supplied(session.state)
    inputs.supplied(session.state)
    all_at_once = time.process_time() - began
    for cached in (corpus._corpus, corpus._part, plain):
        cached.cache_clear()
    longest = asyncio.create_task(_longest_step())
    await session.carried_out(llm_turn=worker())
    longest.cancel()
    assert session.state.phase != phase, session.log[-1]
    return max(_STEPS) / all_at_once


_STEPS: list[float] = []


async def _longest_step() -> None:
    """Processor time of this thread between two turns of the loop, until it is cancelled."""
    _STEPS.clear()
    while True:
        began = time.thread_time()
        await asyncio.sleep(0)
        _STEPS.append(time.thread_time() - began)
