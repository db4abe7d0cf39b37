"""A report shown to strangers: the chosen sections, no ids of people, nothing that was typed at a gate."""

import re
from html import escape
from typing import Any, get_args

import pytest
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_legal.api import LegalApi
from playmolt_legal.report.scene import scene
from playmolt_schemas.codes import Code
from playmolt_schemas.games.legal import ReportSection
from playmolt_schemas.routes import sharing
from playmolt_schemas.routes.sharing import SharedPage, ShareTerms

SECTIONS = get_args(ReportSection)
TYPED = ("인도 사실", "메일 기록", "절반까지")
"""What the person types at the gates."""


def asked(session: Any, route: str, *, agent: str = "agent-1", body: Any = None, **query: Any) -> ApiReply | Refused:
    request = ApiRequest(route=route, stream="legal-1", agent_id=agent, body=body, query=query)
    return LegalApi(session.decider, ()).answer(session.state, request)


def page(session: Any, **query: Any) -> SharedPage:
    found = asked(session, sharing.PAGE, **query)
    assert isinstance(found, ApiReply)
    assert isinstance(found.body, SharedPage)
    return found.body


def ids(shown: SharedPage) -> set[str]:
    return set(re.findall(r'<section id="([^"]+)"', shown.body))


@pytest.fixture
def over(session: Any) -> Any:
    """A session to its report, with everything a person may type typed."""
    return session.to("FINALIZE_DONE", end={"final_instructions": TYPED[2]})


def test_a_page_shows_no_owner_and_nothing_typed_at_a_gate(over: Any) -> None:
    shown = page(over)
    written = str(shown)
    assert "agent-1" not in written
    assert not [text for text in TYPED if text in written]
    assert over.state.title == shown.title
    assert shown.body.index("시뮬레이션") < shown.body.index("<section")


def test_facts_that_stand_are_shown_with_state_and_source(over: Any) -> None:
    shown = page(over)
    for fact in over.state.facts.confirmed:
        assert escape(fact.text) in shown.body
    assert "<td><p>합의됨</p></td><td><p>양측 합의 [" in shown.body


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_that_was_left_out_is_not_there(over: Any, section: str) -> None:
    chosen = ids(page(over, sections=[section]))
    rest = ids(page(over, sections=[name for name in SECTIONS if name != section]))
    assert chosen | rest == ids(page(over))
    assert not chosen & rest


def test_the_steering_shows_choices_alone(over: Any) -> None:
    body = page(over, sections=["steering"]).body
    assert "목표: 승소가능성" in body
    assert not [text for text in TYPED if text in body]


def test_a_share_names_its_sections_or_none(over: Any) -> None:
    assert asked(over, sharing.ASK) == ApiReply(ShareTerms(None))
    assert asked(over, sharing.ASK, body={"sections": ["facts", "answer"]}) == ApiReply(ShareTerms(("facts", "answer")))


@pytest.mark.parametrize(
    "body", [[], "x", {"section": []}, {"sections": "facts"}, {"sections": ["nothing"]}, {"sections": [1]}]
)
def test_a_share_of_anything_else_is_refused(over: Any, body: Any) -> None:
    refused = asked(over, sharing.ASK, body=body)
    assert isinstance(refused, Refused)
    assert refused.code is Code.INVALID_REQUEST
    assert refused.errors


def test_before_the_end_there_is_nothing_to_show(session: Any) -> None:
    session.to("round1")
    for route in (sharing.ASK, sharing.PAGE):
        refused = asked(session, route)
        assert isinstance(refused, Refused)
        assert refused.code is Code.NOT_FINISHED
        assert asked(session, route, agent="agent-2") == asked(session, "read_session", agent="agent-2")


def test_a_picture_has_claim_and_answer_side_by_side(over: Any) -> None:
    shown = scene(over.state)
    assert shown["issues"]
    assert all(issue["claimant"] and issue["opposing"] for issue in shown["issues"])
    assert [gate["gate"] for gate in shown["gates"]] == [entry.gate for entry in over.state.gate_history]
    assert not [text for text in TYPED if text in str(shown)]
