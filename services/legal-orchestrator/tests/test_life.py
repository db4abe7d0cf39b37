"""The life of a fact: what a person does to it at a gate, what the roles see then, and which turns it touches."""

import json
from typing import Any

import pytest
from playmolt_core.game.decider import Accepted
from playmolt_legal import commands, effects
from playmolt_legal.report.report import report
from playmolt_legal.roles import prompts
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.legal import (
    DraftSetAside,
    FactChanged,
    FactsCorrected,
    GateAnswered,
    GateOpened,
    GuardrailHit,
    RedoAsked,
    SteeringSet,
    TurnFailed,
    TurnRecorded,
    TurnsStale,
    TurnStarted,
)

from core.tests.scenario import like

PAID = {"when": "3월", "what": "3,100달러를 지급하기로 했다", "agreed": True}
OTHER = {"when": "4월", "what": "물품을 인도했다", "agreed": True}


@pytest.fixture
def agreed(session: Any) -> Any:
    """A session at the gate of round 1: F1 says $3,100, F2 the delivery, F3 and F4 stand in evidence."""
    return session.facts(timeline=[PAID, OTHER]).to("round1")


def fact(session: Any, identifier: str) -> dict[str, Any]:
    facts = session.view()["facts"]
    (found,) = [each for kind in ("confirmed", "disputed", "past") for each in facts[kind] if each["id"] == identifier]
    return dict(found)


def ids(session: Any, kind: str) -> list[str]:
    return [each["id"] for each in session.view()["facts"][kind]]


def asked(session: Any) -> str:
    (effect,) = session.decider.effects(session.state)
    return json.dumps(prompts.prompt(session.state, effect.payload), ensure_ascii=False)


# Actions


@pytest.mark.parametrize(
    ("fid", "action", "state"),
    [
        ("F3", "confirm", "agreed"), ("D1", "confirm", "agreed"), ("F1", "dispute", "disputed"),
        ("F3", "dispute", "disputed"), ("F1", "withdraw", "withdrawn"), ("D1", "withdraw", "withdrawn"),
    ],
)  # fmt: skip
def test_an_action_gives_a_fact_its_state(agreed: Any, fid: str, action: str, state: str) -> None:
    before = fact(agreed, fid)
    agreed.change(fid, action=action, reason="까닭")
    assert isinstance(agreed.decision, Accepted)
    after = fact(agreed, fid)
    assert (after["state"], after["text"], after["reason"]) == (state, before["text"], "까닭")
    assert after["source"] == ("person" if action == "confirm" else before["source"])
    record = agreed.view()["facts"]["history"][-1]
    assert (record["id"], record["action"], record["from"], record["to"]) == (fid, action, before["state"], state)
    assert (record["old"], record["new"], record["by"]) == (before["text"], None, "agent-1")
    assert agreed.view()["gate"]["name"] == "round1"


@pytest.mark.parametrize("fid", ["F1", "F3", "D1"])
def test_a_corrected_fact_is_superseded_and_both_texts_are_kept(agreed: Any, fid: str) -> None:
    before = fact(agreed, fid)
    agreed.change(fid, action="correct", text="다른 사실이다")
    new = "D2" if fid == "D1" else "F5"
    assert agreed.decision.events[0] == like(FactChanged, fact_id=fid, text="다른 사실이다", new_id=new)
    assert fact(agreed, fid) == {**before, "state": "superseded", "replaced_by": new}
    taken = fact(agreed, new)
    assert (taken["text"], taken["replaces"], taken["source"]) == ("다른 사실이다", fid, "person")
    assert [taken[name] for name in ("state", "evidence", "timeline")] == [
        before[name] for name in ("state", "evidence", "timeline")
    ]
    record = agreed.view()["facts"]["history"][-1]
    assert (record["old"], record["new"], record["new_id"]) == (before["text"], "다른 사실이다", new)


def test_an_id_is_never_given_again(agreed: Any) -> None:
    agreed.change("F1", action="withdraw").change("F4", action="correct", text="하나").change(
        "F5", action="correct", text="둘"
    )
    assert (ids(agreed, "past"), ids(agreed, "confirmed")) == (["F1", "F4", "F5"], ["F2", "F3", "F6"])


@pytest.mark.parametrize(
    ("fid", "body"),
    [
        ("F1", {"action": "confirm"}), ("D1", {"action": "dispute"}),
        ("F1", {"action": "correct", "text": " 3,100달러를 지급하기로, 했다!"}),
    ],
)  # fmt: skip
def test_what_changes_nothing_leaves_no_event(agreed: Any, fid: str, body: dict[str, Any]) -> None:
    agreed.change(fid, **body).then()


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ("action",)),
        ({"action": "delete"}, ("action",)),
        ({"action": "correct"}, ("text",)),
        ({"action": "correct", "text": " "}, ("text",)),
        ({"action": "correct", "text": "가" * 2001}, ("text",)),
        ({"action": "withdraw", "text": "가"}, ("text",)),
        ({"action": "confirm", "reason": "가" * 301}, ("reason",)),
        ({"action": "confirm", "why": "가"}, ("why",)),
    ],
)
def test_a_bad_change_names_its_fields_and_changes_nothing(agreed: Any, body: Any, fields: tuple[str, ...]) -> None:
    before = agreed.view()
    agreed.change("F3", **body).refused(Code.INVALID_FORM, *fields)
    assert agreed.view() == before


def test_what_is_past_or_unknown_or_of_somebody_else_is_not_changed(agreed: Any) -> None:
    agreed.change("F1", action="withdraw").change("F1", action="confirm").refused(Code.NOT_STANDING)
    agreed.change("F9", action="confirm").refused(Code.NOT_FOUND)
    agreed.change("Q1", action="confirm").refused(Code.NOT_FOUND)
    agreed.change("F2", agent="agent-2", action="dispute").refused(Code.NOT_FOUND)


@pytest.mark.parametrize("phase", ["FACTS_INTAKE", "FACTS_STIPULATE", "JUDGE_R1", "FINALIZE_DONE"])
def test_facts_change_while_a_gate_is_open(session: Any, phase: str) -> None:
    session.to(phase).change("F1", action="dispute").refused(Code.SESSION_PHASE)
    session.redo().refused(Code.SESSION_PHASE)


# Corrections of round 1


def test_a_line_with_an_id_corrects_that_fact(agreed: Any) -> None:
    agreed.form("round1", fact_corrections="F1: 2,900달러를 지급하기로 했다\nF2：물품을 늦게 인도했다").then(
        like(GateAnswered),
        like(FactChanged, fact_id="F1", action="correct", new_id="F5"),
        like(FactChanged, fact_id="F2", action="correct", new_id="F6"),
        like(TurnsStale, fact_id="F1"),
        like(TurnsStale, fact_id="F2"),
        like(SteeringSet),
        like(TurnStarted, phase="OPPOSING_R2"),
    )
    assert agreed.view()["facts"]["corrections"] == []


@pytest.mark.parametrize(
    ("text", "doubted"),
    [
        ("3,100달러가 아니라 2,900달러였다.", ["F1"]),
        ("$3,100 is wrong, it was $2,900.", ["F1"]),
        ("2,900달러였다.", []),
        ("3,100달러가 맞다.", []),
        ("3,100달러였고 대금은 500만원이다.", []),
    ],
)
def test_another_sum_for_one_of_a_fact_puts_it_in_doubt(agreed: Any, text: str, doubted: list[str]) -> None:
    agreed.form("round1", fact_corrections=text)
    assert agreed.decision.events[1] == like(FactsCorrected, text=text)
    assert [each.fact_id for each in agreed.decision.events if isinstance(each, FactChanged)] == doubted
    assert [each["id"] for each in agreed.view()["facts"]["corrections"]] == ["C1"]
    assert agreed.to("round2").view()["gate"]["facts_to_settle"] == doubted
    for fid in doubted:
        assert (fact(agreed, fid)["state"], fact(agreed, fid)["reason"]) == ("disputed", "C1")


@pytest.mark.parametrize(
    ("text", "doubted"),
    [
        ("인도일은 3월 5일이 아니라 3월 9일이다.", ["F1"]),
        ("2024-03-05이 아니라 2024-03-09에 인도했다.", ["F1"]),
        ("독촉은 2024년 4월 1일이 아니라 4월 3일에 했다.", ["D1"]),
        ("3월 5일이 맞다.", []),
        ("2024년의 일이고 2023년이 아니다.", []),
    ],
)
def test_another_day_for_what_happened_puts_it_in_doubt(session: Any, text: str, doubted: list[str]) -> None:
    session.to("round1").form("round1", fact_corrections=text)
    assert session.to("round2").view()["gate"]["facts_to_settle"] == doubted
    assert all(fact(session, each)["state"] == "disputed" for each in doubted)


# What the roles see


def test_no_later_prompt_holds_what_was_corrected(session: Any) -> None:
    session.facts(overview="약정액은 3,100달러라고 한다.", timeline=[PAID, OTHER]).to("round1")
    assert "3,100" in session.state.turns[0].output["Findings"][0]["text"]
    session.change("F1", action="correct", text="2,900달러를 지급하기로 했다").form("round1")
    for phase in ("OPPOSING_R2", "CLAIMANT_R2", "JUDGE_R2", "VERIFIER_R2"):
        told = asked(session.to(phase))
        assert "3,100" not in told
        assert "［F1: superseded］" in told
        assert "2,900달러를 지급하기로 했다" in told


def test_evidence_is_never_altered(session: Any) -> None:
    evidence = [{"title": "계약서", "description": "대금은 3,100달러로 한다"}]
    session.facts(timeline=[PAID, OTHER], evidence=evidence).to("round1").change("F1", action="withdraw").form("round1")
    told = asked(session)
    assert "대금은 3,100달러로 한다" in told
    assert "3,100달러를 지급하기로 했다" not in told


def test_a_statement_that_rests_on_what_is_gone_is_left_out(agreed: Any) -> None:
    told = "이 합의는 유효하다"
    said = {"text": told, "basis": ["F1"], "issue": None}
    agreed.redo().refused(Code.NOTHING_TO_REDO)
    agreed.form("round1").to("JUDGE_R2").spoken(Findings=[{**said, "issue": "대금 지급 의무"}]).to("round2")
    agreed.change("F1", action="withdraw").form("round2")
    assert told not in asked(agreed)


def test_to_lean_on_a_disputed_fact_or_a_sum_that_is_gone_is_a_hit(agreed: Any) -> None:
    agreed.change("F2", action="dispute").change("F1", action="correct", text="2,900달러를 지급하기로 했다")
    agreed.form("round1")
    texts = (("인도되었다", "F2"), ("인도되었다", "T2"), ("3,100달러이다", "F5"), ("2,900달러이다", "F5"))
    said = [{"text": text, "basis": [basis], "issue": "대금 지급 의무"} for text, basis in texts]
    agreed.spoken(CounterArguments=said).then(like(GuardrailHit), like(DraftSetAside))
    assert [hit.text for hit in agreed.state.draft_hits] == ["인도되었다", "3,100달러이다"]


# Stale turns


def test_turns_that_relied_on_it_are_marked_with_the_verifier_of_their_round(agreed: Any) -> None:
    agreed.change("F1", action="withdraw").then(like(FactChanged), like(TurnsStale, fact_id="F1"))
    relying = {
        turn["n"] for turn in agreed.view()["turns"]
        if turn["role"] == "verifier" or "F1" in json.dumps(turn["output"]) or "3,100" in json.dumps(turn["output"])
    }  # fmt: skip
    assert {turn["n"] for turn in agreed.view()["turns"] if turn["stale"] == ["F1"]} == relying
    assert {turn["n"] for turn in agreed.view()["turns"] if turn["stale"] == []} == {1, 2, 3, 4} - relying
    assert {"type": "turns_stale", "turns": sorted(relying)} in agreed.messages()
    changed = {"type": "fact_changed", "fact_id": "F1", "action": "withdraw", "state": "withdrawn", "new_id": None}
    assert changed in agreed.messages()


def test_a_dispute_marks_nothing(agreed: Any) -> None:
    agreed.change("F1", action="dispute").then(like(FactChanged))
    agreed.redo().refused(Code.NOTHING_TO_REDO)


def test_stale_turns_are_done_again_in_their_order_and_the_same_gate_opens(agreed: Any) -> None:
    agreed.change("F1", action="correct", text="2,900달러를 지급하기로 했다")
    stale = [turn["n"] for turn in agreed.view()["turns"] if turn["stale"]]
    old = {turn["n"]: turn["output"] for turn in agreed.view()["turns"]}
    agreed.redo().then(like(RedoAsked, turns=tuple(stale)), like(TurnStarted, phase="JUDGE_R1"))
    assert agreed.view()["gate"] is None
    agreed.form("round1").refused(Code.WRONG_GATE)
    for number in stale:
        assert agreed.state.phase == agreed.state.turns[number - 1].phase
        assert "3,100" not in asked(agreed)
        agreed.spoken()
    assert agreed.decision.events[-1] == like(GateOpened, gate="round1", round=1)
    for turn in agreed.view()["turns"]:
        redone = turn["n"] in stale
        assert (turn["redone"], turn["stale"]) == (int(redone), [])
        assert [each["output"] for each in turn["earlier"]] == [old[turn["n"]]] * redone
    agreed.to("FINALIZE_DONE")


@pytest.mark.parametrize("number", [1, 1.0])
def test_some_of_them_may_be_named_and_their_verifier_comes_with_them(agreed: Any, number: float) -> None:
    agreed.change("F1", action="withdraw").redo({"turns": [number]}).then(
        like(RedoAsked, turns=(1, 4)), like(TurnStarted, phase="JUDGE_R1")
    )
    agreed.spoken().then(like(TurnRecorded), like(TurnStarted, phase="VERIFIER_R1"))
    agreed.spoken(GateStatus="No-Go").then(like(TurnRecorded, gate_status="No-Go"), like(GateOpened, gate="round1"))
    assert agreed.view()["gate"]["banner"] is not None


@pytest.mark.parametrize(
    "body", [{"turns": [99]}, {"turns": "1"}, {"turns": [True]}, {"turns": [1.5]}, {"turn": [1]}, {"turns": ["1"]}]
)
def test_a_bad_request_for_turns_says_so(agreed: Any, body: Any) -> None:
    agreed.change("F1", action="withdraw").redo(body)
    agreed.refused(Code.INVALID_REQUEST, "turn" if "turn" in body else "turns")


def test_a_redone_turn_that_fails_waits_for_a_retry_and_the_old_output_stands(agreed: Any) -> None:
    agreed.change("F1", action="withdraw")
    old = agreed.view()["turns"]
    agreed.redo().failed().then(like(TurnFailed, phase="JUDGE_R1"))
    assert agreed.view()["turns"] == old
    agreed.retry().spoken().then(like(TurnRecorded), like(TurnStarted))
    assert agreed.view()["turns"][0]["redone"] == 1
    assert effects.effects(agreed.state)


def test_the_report_tells_what_is_past_and_what_is_stale(agreed: Any) -> None:
    agreed.change("F1", action="correct", text="2,900달러를 지급하기로 했다").to("FINALIZE_DONE")
    made: Any = report(agreed.state)
    assert [(each.id, each.state, each.replaced_by) for each in made.facts.past] == [("F1", "superseded", "F5")]
    assert {turn.phase for turn in made.stale} >= {"JUDGE_R1", "VERIFIER_R1"}


# In a session that carries the facts over


def linked(session: Any, **body: Any) -> Any:
    """The session after this one, with facts posted and sorted."""
    session.form("end", resolution="new_session")
    opening = session.decider.successor(session.state)
    session.state = session.decider.initial("legal-2")
    session.when(opening).when(commands.PostFacts(agent_id="agent-1", body=body))
    return session.spoken()


def test_new_evidence_in_a_linked_session_leaves_what_the_person_said_of_the_facts(session: Any) -> None:
    session.to("end").change("F1", action="correct", text="물품을 2024년 3월 5일에 인도하지 못했다")
    [new] = [fact.id for fact in session.state.facts.confirmed if fact.replaces == "F1"]
    contract = next(item for item in session.state.facts.evidence if item.id == "E2")
    same = {"title": contract.title, "description": contract.description}
    receipt = {"title": "영수증", "description": "돈을 받았다고 적혀 있다"}
    after = linked(session, evidence=[same, receipt]).view()["facts"]
    assert (fact(session, "F1")["state"], fact(session, "F1")["replaced_by"]) == ("superseded", new)
    assert (fact(session, new)["state"], fact(session, new)["timeline"]) == ("agreed", ["T1"])
    assert [item["title"] for item in after["evidence"]] == ["계약서", "영수증"]
    assert [item["id"] for item in after["evidence"]] == ["E2", "E3"]
    assert all("E1" not in each["evidence"] for each in after["confirmed"])


def test_an_agreed_entry_that_is_said_anew_in_a_linked_session_is_a_fact_with_a_new_id(session: Any) -> None:
    before = session.to("end").change("F1", action="withdraw").view()["facts"]
    used = {record["id"] for record in before["history"]}
    timeline = [{"when": "2024-03-06", "what": "물품을 다음 날 인도했다", "agreed": True}]
    after = linked(session, timeline=timeline).view()["facts"]
    [agreed] = [fact for fact in after["confirmed"] if fact["source"] == "agreed"]
    assert (agreed["text"], agreed["timeline"]) == ("물품을 다음 날 인도했다", ["T3"])
    assert agreed["id"] not in used
    assert (fact(session, "F1")["state"], fact(session, "F1")["timeline"]) == ("withdrawn", [])
