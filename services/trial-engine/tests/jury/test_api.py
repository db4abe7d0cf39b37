"""The jury's calls: exact shapes, who may make them, what a caller reads while models are at work."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt_core.game.api import ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.llm.port import Failed

READS = (
    ("jury_read", {}), ("jury_dossier", {}), ("jury_evidence_list", {}), ("jury_evidence", {"evidence_id": "E1"}),
    ("jury_witnesses", {}), ("jury_verdict", {}), ("jury_ending", {}),
)  # fmt: skip
WRITES: tuple[tuple[str, dict[str, str], Any], ...] = (
    ("jury_phase", {}, {"to": "investigation"}), ("jury_talk", {"witness_id": "lin"}, {}),
    ("jury_chat", {"juror_id": "radical"}, {"text": "x"}),
    ("jury_present", {"juror_id": "radical", "evidence_id": "E1"}, {}), ("jury_next", {}, {}),
    ("jury_notes", {}, {"juror_id": "radical", "text": "x"}), ("jury_vote", {}, {}), ("jury_retry", {}, {}),
)  # fmt: skip


def test_opening_answers_201_with_the_session(sessions: Callable[..., Any]) -> None:
    session = sessions(opened=False)
    opened = session.call("jury_open", {"language": "zh", "model": "m1"})
    assert session.status == 201
    assert opened == {
        "id": "jury-1", "gameType": "jury", "language": "zh", "model": "m1", "version": 1, "phase": "prologue",
        "prologue": [{"speaker": "Blake", "text": "You came."}], "notes_left": 3, "round": 0, "failed": None,
        "case": {"id": "small", "title": "The case", "digest": "d" * 64},
        "jurors": [
            {"id": juror, "name": juror.title(), "personality": ["calm"], "band": band, "rounds_left": 10}
            for juror, band in (
                ("ophiuchus", "leaning_guilty"), ("radical", "leaning_guilty"), ("sympathizer", "leaning_innocent"),
                ("opportunist", "undecided"), ("philosopher", "undecided"),
            )
        ],
    }  # fmt: skip
    assert session.call("jury_read") == opened


def test_a_case_that_is_null_is_the_shipped_one(sessions: Callable[..., Any]) -> None:
    session = sessions(opened=False)
    assert session.call("jury_open", {"language": "zh", "case": None})["case"]["id"] == "small"
    assert session.status == 201


def test_the_model_is_scripted_unless_another_is_named(session: Any) -> None:
    assert session.view()["model"] == "scripted"


def test_the_shapes_of_what_can_be_read(session: Any) -> None:
    assert session.call("jury_dossier") == {"title": "Dossier", "text": "A man is dead."}
    assert session.call("jury_evidence_list") == {
        "evidence": [
            {"id": "E1", "locked": False, "title": "The log"}, {"id": "E2", "locked": False, "title": "The letter"},
            {"id": "E3", "locked": True}, {"id": "E4", "locked": True},
        ]
    }  # fmt: skip
    assert session.call("jury_evidence", evidence_id="E1") == {
        "id": "E1", "title": "The log", "text": "02:14 dose", "locked": False,
    }  # fmt: skip
    assert session.call("jury_witnesses") == {"witnesses": [{"id": "lin", "name": "Lin", "cracked": False}]}


def test_the_shape_of_a_talk(session: Any) -> None:
    session.to("investigation")
    assert session.talk(choice="ask") == {
        "witness_id": "lin", "node": "hall", "text": "At home.", "choices": [{"id": "back", "text": "Well."}],
        "pressure": 10, "cracked": False, "unlocked": [], "ended": False,
    }  # fmt: skip
    session.talk(choice="back")
    assert session.talk(choice="leave")["ended"]


def test_an_empty_body_is_as_good_as_none(session: Any) -> None:
    session.to("investigation")
    assert session.call("jury_talk", None, witness_id="lin") == session.talk(choice=None, evidence_id=None)


@pytest.mark.parametrize(("route", "params"), READS)
def test_a_stranger_reads_nothing(session: Any, route: str, params: dict[str, str]) -> None:
    refused = session.call(route, agent="agent-2", **params)
    assert isinstance(refused, Refused)
    assert refused.code.wire == "not_found"


@pytest.mark.parametrize(("route", "params", "body"), WRITES)
def test_a_stranger_does_nothing(session: Any, route: str, params: dict[str, str], body: Any) -> None:
    before = len(session.log)
    refused = session.call(route, body, agent="agent-2", **params)
    assert refused.code.wire == "not_found"
    assert len(session.log) == before


def test_an_unopened_session_is_nobodys(sessions: Callable[..., Any]) -> None:
    session = sessions(opened=False)
    for agent in ("", "agent-1"):
        assert session.call("jury_read", agent=agent).code.wire == "not_found"


@pytest.mark.parametrize(
    ("route", "params", "code"),
    [
        ("jury_evidence", {"evidence_id": "E3"}, "locked"),
        ("jury_evidence", {"evidence_id": "E99"}, "not_found"),
        ("jury_talk", {"witness_id": "nobody"}, "not_found"),
    ],
)
def test_an_answer_without_its_command_shows_no_more(
    session: Any, route: str, params: dict[str, str], code: str
) -> None:
    request = ApiRequest(route=route, stream="jury-1", params=params, agent_id="agent-1", command_id="f" * 32)
    assert session.api.answer(session.state, request).code.wire == code


def test_every_writing_route_has_a_command_and_every_route_an_answer(session: Any) -> None:
    assert session.api.opens < session.api.writes
    assert set(session.api._commands) == session.api.writes
    assert session.api.writes < set(session.api._answers)
    assert session.api.linked(session.state, session.state) is None


def test_a_list_holds_the_callers_sessions_alone(session: Any, sessions: Callable[..., Any]) -> None:
    request = ApiRequest(route="jury_list", stream="", agent_id="agent-1")
    states = [session.state, sessions(opened=False).state]
    assert [each.id for each in session.api.many(states, request).body.sessions] == ["jury-1"]
    stranger = ApiRequest(route="jury_list", stream="", agent_id="agent-2")
    assert session.api.many(states, stranger).body.sessions == ()


def test_a_call_waits_with_202_and_is_found_again_by_its_id(session: Any) -> None:
    session.to("persuasion")
    first = session.chat("radical", run=False)
    assert session.status == 202
    assert first["id"] == "jury-1"
    request = session.request
    session.chat("philosopher", run=False)
    session.work()
    assert session.answer(request)["juror_id"] == "radical"
    assert session.answer()["juror_id"] == "philosopher"


def test_what_is_not_over_has_neither_verdict_nor_ending(session: Any) -> None:
    for route in ("jury_verdict", "jury_ending"):
        refused = session.call(route)
        assert (refused.code.wire, refused.code.status) == ("not_finished", 409)


def test_a_vote_waits_for_the_chain(session: Any) -> None:
    session.to("vote")
    session.call("jury_vote")
    assert session.status == 202
    request = session.request
    session.chain()
    assert session.answer(request)["verdict"] == "guilty"


def test_a_vote_that_failed_says_so_until_it_is_called_again(session: Any) -> None:
    session.to("vote")
    session.said["vote:radical"] = Failed(code="refused", detail="no", attempts=1)
    refused = session.call("jury_vote")
    assert (refused.code.wire, refused.code.status) == ("unavailable", 503)


def test_the_stream_has_one_message_an_event_and_ends_with_the_ending(session: Any) -> None:
    session.crack()
    session.to("ended")
    messages = session.messages()
    assert len(messages) == len(session.log) == session.state.version
    assert messages[0] == {"type": "jury_opened", "language": "en", "model": "scripted"}
    assert messages[1] == {"type": "phase_changed", "from": "prologue", "to": "investigation"}
    assert messages[-1] == {"type": "ended", "ending": "guilty_something"}
    assert {"type": "evidence_unlocked", "evidence_id": "E3", "witness_id": "lin"} in messages


def test_the_stream_tells_nothing_to_anybody_else(session: Any) -> None:
    session.to("ended")
    for agent in ("agent-2", None):
        assert set(map(str, session.messages(agent))) == {"None"}
        assert session.view(agent) == {}


def test_a_change_is_reported_by_its_bands(session: Any) -> None:
    session.to("persuasion")
    session.call("jury_present", juror_id="philosopher", evidence_id="E1")
    assert session.messages()[-2] == {
        "type": "stance_changed", "juror_id": "philosopher", "cause": "evidence", "by": "overseer",
        "band_before": "undecided", "band": "undecided",
    }  # fmt: skip


def test_numbers_are_seen_by_the_operators_switch_and_after_the_verdict(sessions: Callable[..., Any]) -> None:
    shown = sessions(show_stances=True).to("persuasion")
    shown.call("jury_present", juror_id="philosopher", evidence_id="E1")
    assert shown.view()["jurors"][4]["stance"] == 56
    assert (shown.messages()[-2]["before"], shown.messages()[-2]["after"]) == (48, 56)
    hidden = sessions()
    assert "stance" not in hidden.view()["jurors"][0]
    hidden.to("ended")
    assert [juror["stance"] for juror in hidden.view()["jurors"]] == [65, 78, 32, 54, 48]


def test_an_operator_sees_what_pins_the_session_and_no_word_of_it(session: Any) -> None:
    assert session.jury.operator_view(session.state) == {"language": "en", "model": "scripted", "seed": "7"}
    summary = session.jury.summary(session.state)
    assert (summary.phase, summary.round, summary.seated, summary.needed, summary.over) == ("prologue", 0, 1, 1, False)
