"""Stored sessions decided again by the rules at hand: the same, unless the rules are others."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt_core.game.decider import EndGame
from playmolt_jury import turn_events
from playmolt_jury.commands import JurorTurn
from playmolt_jury.events import StanceChanged
from playmolt_jury.rules import Jury
from playmolt_schemas.stored.event import Event

from core.tests.decided_again import redecided


def same(session: Any) -> bool:
    again = redecided(session.jury, session.recorded)
    return again.known and again.differs_at is None and len(session.recorded) == len(session.log)


def played(session: Any) -> Any:
    session.crack().to("persuasion")
    session.chat("ophiuchus", "Listen to me: a weak spot.")
    session.call("jury_present", juror_id="radical", evidence_id="E2")
    session.to("deliberation")
    session.call("jury_notes", {"juror_id": "radical", "text": "Think."})
    return session


def test_a_whole_session_is_decided_as_it_was(session: Any) -> None:
    played(session).to("ended")
    assert {"verdict_read", "vote_cast", "note_sent", "witness_talked"} <= set(session.kinds())
    assert same(session)


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_so_is_one_of_the_real_case(performances: Callable[..., Any], language: str) -> None:
    session = performances(language).to("persuasion")
    session.chat("ophiuchus", "The log says otherwise.")
    assert same(session.to("ended"))


def test_so_is_one_that_the_operator_ended(session: Any) -> None:
    session.to("persuasion").when(EndGame(reason="enough"))
    assert same(session)


class _MovesNobody(Jury):
    """A next version of the rules, in which a chat changes no stance."""

    def __init__(self, jury: Jury) -> None:
        super().__init__(jury.cases, jury.content_version)
        turned = self._handlers[JurorTurn]
        self._handlers[JurorTurn] = lambda state, command: _without_stances(turned(state, command))


def _without_stances(decision: Any) -> Any:
    kept = tuple(event for event in decision.events if not isinstance(event, StanceChanged))
    return type(decision)(kept)


def test_other_rules_are_reported_with_the_first_event_that_differs(session: Any) -> None:
    played(session).to("ended")
    again = redecided(_MovesNobody(session.jury), session.recorded)
    assert again.differs_at is not None
    event: Event = session.log[again.differs_at - 1][0]
    assert isinstance(event, StanceChanged)
    assert event.by == turn_events.OVERSEER
