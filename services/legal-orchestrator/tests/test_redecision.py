"""Stored sessions decided again by the rules at hand: the same, unless the rules are others."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt_core.game.decider import EndGame, Refused
from playmolt_legal import commands, phases
from playmolt_legal.rules import Legal
from playmolt_legal.state import State
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.legal import TurnStarted
from typing_extensions import override

from core.tests.decided_again import redecided


def same(session: Any) -> bool:
    again = redecided(Legal(), session.recorded)
    return again.known and again.differs_at is None and len(session.recorded) == len(session.log)


@pytest.mark.parametrize("profile", ["plain", "stubborn", "rash", "unsure", "conditional"])
def test_a_whole_session_is_decided_as_it_was(
    sessions: Callable[..., Any], profile: str, case_type: str, language: str
) -> None:
    session = sessions(profile=profile, case_type=case_type, language=language, side="claimant")
    if profile == "unsure":
        session.to("facts").form("facts", choice="add_facts", facts={"text": "More is known.", "answers": []})
        session.to("facts").form("facts")
    session.to("round1").form("round1", fact_corrections="D1: it was otherwise\nand something else").to("CLAIMANT_R2")
    session.failed().retry()
    session.to("FINALIZE_DONE")
    assert session.state.over
    assert same(session)


def test_changed_facts_and_turns_done_again_are_decided_as_they_were(sessions: Callable[..., Any]) -> None:
    session = sessions().to("round1")
    for fact, action in (("F1", "dispute"), ("F2", "withdraw"), ("D1", "correct")):
        session.change(fact, action=action, **({"text": "other words"} if action == "correct" else {"reason": "so"}))
    if any(turn.stale for turn in session.state.turns):
        session.redo()
    session.to("FINALIZE_DONE")
    assert same(session)


def test_a_session_that_goes_on_in_another_one_is_decided_as_it_was(sessions: Callable[..., Any]) -> None:
    first = sessions().to("end").form("end", resolution="new_session")
    successor = Legal().successor(first.state)
    second = sessions(opened=False).when(successor)
    second.when(commands.PostFacts(agent_id=first.state.owner, body={"overview": "More.", "acts": "As before."}))
    second.to("round1").when(EndGame(reason="enough"))
    assert first.state.over
    assert second.state.over
    assert same(first)
    assert same(second)


class _BeginsElsewhere(Legal):
    """A next version of the rules, in which another role speaks first."""

    @override
    def follow(self, state: State, command: Any) -> Event | None:
        following = super().follow(state, command)
        first = isinstance(following, TurnStarted) and following.phase == phases.first(1)
        return TurnStarted(phase="VERIFIER_R1") if first else following


class _TakesNoForm(Legal):
    """A next version of the rules that breaks on every form."""

    def __init__(self) -> None:
        super().__init__()
        self._handlers[commands.PostForm] = lambda _state, _command: Refused(self.unknown.code, "no form is taken")


@pytest.mark.parametrize(("rules", "at"), [(_BeginsElsewhere(), TurnStarted), (_TakesNoForm(), None)])
def test_other_rules_are_reported_with_the_first_event_that_differs(
    sessions: Callable[..., Any], rules: Legal, at: type[Event] | None
) -> None:
    session = sessions().to("FINALIZE_DONE")
    again = redecided(rules, session.recorded)
    assert again.differs_at is not None
    event, _, _ = session.log[again.differs_at - 1]
    if at is None:
        assert event.type == "gate_answered"
    else:
        assert isinstance(event, at)
        assert event.phase == phases.first(1)
