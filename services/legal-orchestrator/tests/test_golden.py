"""Every stored type and version has a sample that must read for ever. A sample is never changed, only added to."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import EndGame, read_event
from playmolt_legal import commands, effects
from playmolt_legal.rules import Legal
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.event import Event

from core.tests.decided_again import redecided
from schemas.tests import samples as golden

RULES = Legal()
UPLOAD = {
    "title": "특약서",
    "kind": "statute",
    "media_type": "application/pdf",
    "text": "민법 제563조: 매매는 당사자 일방이 재산권을 이전할 것을 약정한다.",
    "bytes": 4021,
    "pages": 2,
    "sha256": "0f" * 32,
    "encoding": None,
    "sure": None,
    "notes": [{"kind": "picture", "count": 1, "detail": "2"}],
}


def samples() -> dict[tuple[str, int], bytes]:
    return {(kind, version): sample for kind, version, sample in golden.samples("legal")}


def every_session(sessions: Callable[..., Any]) -> list[Any]:
    """Events of all types: a session with everything in it, one that was ended, one that goes on from another."""
    session = sessions(profile="stubborn", exclusions=["이혼 경력"])
    session.when(commands.AddEvidence(agent_id=session.state.owner, body=UPLOAD))
    questions = [{"text": f"질문 {number}?"} for number in (1, 2, 3)]
    session.facts().spoken({"ConfirmedFacts": [], "DisputedFacts": [], "MissingFactsQuestions": questions}).form(
        "facts"
    )
    attempt = {"model": "scripted", "latency_ms": 12, "outcome": "ok"}
    session.when(
        commands.Attempted(effect_id=effects.effect_id(session.state), phase="JUDGE_R1", kind="ask", attempt=attempt)
    )
    session.failed().retry().to("round1")
    session.change("F1", action="correct", text="물품을 늦게 인도했다", reason="시점")
    session.redo().to("round1").form("round1", fact_corrections="대금은 700만원이었다.")
    session.to("end").form("end", resolution="new_session")
    linked = sessions(opened=False).when(session.decider.successor(session.state))
    rested = sessions().to("end").form("end", final_instructions="한 쪽으로 요약한다.").failed()
    aborted = sessions().when(EndGame(reason="점검 때문에 끝냅니다."))
    return [linked, aborted, rested, session]


@pytest.fixture
def events(sessions: Callable[..., Any]) -> list[Event]:
    return [event for each in every_session(sessions) for event, _, _ in each.log]


def test_every_event_is_decided_again_as_it_was(sessions: Callable[..., Any]) -> None:
    for session in every_session(sessions):
        again = redecided(RULES, session.recorded)
        assert (again.known, again.differs_at) == (True, None)


def test_every_stored_type_and_version_has_a_sample() -> None:
    assert samples().keys() == RULES.events.keys()


def test_every_sample_reads_and_writes_back_to_the_same_bytes() -> None:
    for (kind, version), sample in samples().items():
        event = read_event(RULES, kind, version, sample)
        assert (event.type, event.schema_version) == (kind, version)
        assert canonical_json(event) == sample


def test_what_is_stored_today_has_the_fields_of_its_sample(events: list[Event]) -> None:
    stored = {key: msgspec.json.decode(sample) for key, sample in samples().items()}
    assert {(event.type, event.schema_version) for event in events} == stored.keys()
    for event in events:
        assert msgspec.to_builtins(event).keys() == stored[event.type, event.schema_version].keys()


def test_an_unknown_type_is_not_guessed() -> None:
    with pytest.raises(LookupError, match="no_such_event"):
        read_event(RULES, "no_such_event", 1, b"{}")
