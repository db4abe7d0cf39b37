"""The pages' rules of the legal simulation, one test a row."""

import unicodedata
from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import DeadlinePassed, EndGame, Viewer
from playmolt_core.llm.parsing import schema_faults
from playmolt_legal import commands, effects, outputs, phases
from playmolt_legal.roles import scripted
from playmolt_legal.rules import Legal
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.legal import (
    AttemptMade,
    DraftSetAside,
    FactsCorrected,
    FactsPosted,
    GateAnswered,
    GateOpened,
    GuardrailHit,
    RiskTaken,
    SessionAborted,
    SessionDone,
    SessionOpened,
    SteeringSet,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)

from core.tests.scenario import like

SAID = {"text": "자료에 따르면 그렇다.", "basis": ["F1"], "issue": None}


# Opening


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (None, ("",)),
        ({}, ("case_type", "jurisdiction", "title", "language", "model")),
        ({"case_type": "tax"}, ("case_type",)),
        ({"language": "ja"}, ("language",)),
        ({"title": "  "}, ("title",)),
        ({"jurisdiction": "x" * 101}, ("jurisdiction",)),
        ({"title": "a\x00b"}, ("title",)),
        ({"exclusions": [""]}, ("exclusions[0]",)),
        ({"exclusions": 3}, ("exclusions",)),
        ({"model": "unheard-of"}, ("model",)),
        ({"model": 1}, ("model",)),
        ({"judge": "me"}, ("judge",)),
    ],
)
def test_a_bad_opening_names_every_field(sessions: Any, body: Any, fields: tuple[str, ...]) -> None:
    session = sessions(opened=False)
    whole = body if not body else {**session.body, **body}
    aliases = () if body == {} else ("scripted",)
    session.open(whole, aliases).refused(Code.INVALID_REQUEST, *fields)


def test_an_opened_session_waits_for_its_facts(sessions: Any) -> None:
    session = sessions(exclusions=["이혼 경력"], model="fast")
    shown = session.view()
    assert (shown["phase"], shown["version"], shown["gate"], shown["failed"]) == ("FACTS_INTAKE", 1, None, None)
    assert (shown["exclusions"], shown["model"], shown["created_at"]) == (
        ["이혼 경력"], "fast", "2026-03-01T00:00:01.000000Z",
    )  # fmt: skip
    assert session.decider.effects(session.state) == ()


def test_the_first_event_pins_what_the_session_follows_from(session: Any) -> None:
    opened = session.log[0][0]
    assert (opened.seed, opened.rules_version, opened.content_version) == ("7", 2, Legal().content_version)


def test_a_session_is_opened_once(session: Any) -> None:
    session.open(session.body).refused(Code.ALREADY_STARTED)


def test_a_session_that_was_never_opened_takes_nothing(sessions: Any) -> None:
    sessions(opened=False).facts().refused(Code.NOT_FOUND)


# Belongs to its owner


@pytest.mark.parametrize("agent", ["agent-2", None])
def test_nobody_else_sees_or_touches_a_session(session: Any, agent: str | None) -> None:
    session.to("round1")
    assert session.view(agent) == {}
    assert set(map(str, session.messages(agent))) == {"None"}
    assert session.decider.allowed_actions(session.state, agent or "") == ()
    session.form("round1", agent=agent or "").refused(Code.NOT_FOUND)
    session.retry(agent=agent or "").refused(Code.NOT_FOUND)


def test_nobody_else_tells_the_facts(session: Any) -> None:
    session.facts(agent="agent-2").refused(Code.NOT_FOUND)


# Facts


def test_facts_get_ids_and_are_stipulated(session: Any) -> None:
    session.facts().then(like(FactsPosted, by="agent-1"), like(TurnStarted, phase="FACTS_STIPULATE"))
    facts = session.view()["facts"]
    assert [(item["id"], item["title"]) for item in facts["evidence"]] == [("E1", "인수증"), ("E2", "계약서")]
    assert [(entry["id"], entry["agreed"]) for entry in facts["timeline"]] == [("T1", True), ("T2", False)]
    assert session.state.phase == "FACTS_STIPULATE"


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"overview": " "}, ("overview",)),
        ({"acts": 7}, ("acts",)),
        ({"timeline": [{"when": "어제"}]}, ("timeline[0].what",)),
        ({"timeline": [{"when": "어제", "what": "말", "agreed": "true"}]}, ("timeline[0].agreed",)),
        ({"evidence": [{"title": "a", "description": "b"}, {"title": "", "description": "", "id": "E1"}]},
         ("evidence[1].id", "evidence[1].title", "evidence[1].description")),
        ({"evidence": "a"}, ("evidence",)),
        ({"timeline": [{"when": "a", "what": "b"}] * 101}, ("timeline",)),
        ({"motive": "greed"}, ("motive",)),
    ],
)  # fmt: skip
def test_bad_facts_name_every_field(session: Any, changes: dict[str, Any], fields: tuple[str, ...]) -> None:
    session.facts(**changes).refused(Code.INVALID_REQUEST, *fields)


def test_every_field_of_the_facts_is_required(session: Any) -> None:
    session.when(commands.PostFacts(agent_id="agent-1", body={"overview": 1})).refused(
        Code.INVALID_REQUEST, "acts", "timeline", "evidence", "opposing_claims", "overview"
    )


def test_acts_may_be_lines_and_nothing_need_be_known_of_the_other_side(session: Any) -> None:
    session.facts(acts=["보냈다.", "받지 못했다."], opposing_claims="", timeline=[], evidence=[]).then(
        like(FactsPosted, by="agent-1"), like(TurnStarted, phase="FACTS_STIPULATE")
    )
    assert session.state.narrative.acts == "보냈다.\n받지 못했다."


@pytest.mark.parametrize("phase", ["FACTS_STIPULATE", "JUDGE_R1", "round1", "FINALIZE_DONE"])
def test_facts_are_told_at_the_intake_only(session: Any, phase: str) -> None:
    session.to(phase).facts().refused(Code.SESSION_PHASE)


def proposal(*confirmed: dict[str, Any], questions: int = 0, disputed: tuple[Any, ...] = ()) -> dict[str, Any]:
    return {
        "ConfirmedFacts": list(confirmed),
        "DisputedFacts": [{"text": "물품에 하자가 있었다"}, *disputed],
        "MissingFactsQuestions": [{"text": f"질문 {number}?"} for number in range(1, questions + 1)],
    }


@pytest.mark.parametrize(("questions", "phase"), [(0, "JUDGE_R1"), (2, "JUDGE_R1"), (3, "USER_GATE"), (5, "USER_GATE")])
def test_three_open_questions_open_the_facts_gate(session: Any, questions: int, phase: str) -> None:
    session.facts().spoken(proposal(questions=questions))
    assert session.state.phase == phase
    assert [item["id"] for item in session.view()["facts"]["questions"]] == [f"Q{n}" for n in range(1, questions + 1)]


def test_going_on_as_unclear_is_an_accepted_risk_logged_with_who_and_when(session: Any) -> None:
    session.facts().spoken(proposal(questions=3)).form("facts").then(
        like(GateAnswered), like(RiskTaken, by="agent-1"), like(TurnStarted, phase="JUDGE_R1")
    )
    facts = session.view()["facts"]
    assert facts["risk_accepted"] == {"by": "agent-1", "at": "2026-03-01T00:00:04.000000Z"}
    assert [item["id"] for item in facts["questions"]] == ["Q1", "Q2", "Q3"]
    assert session.newest("risk_taken").questions == ("Q1", "Q2", "Q3")
    assert session.state.phase == "JUDGE_R1"


def more(**facts: Any) -> dict[str, Any]:
    return {"choice": "add_facts", "facts": facts}


def test_added_facts_are_stipulated_again_with_ids_that_follow(session: Any) -> None:
    session.facts().spoken(proposal(questions=3))
    session.form(
        "facts",
        **more(
            text="덧붙임",
            answers=[{"id": "Q2", "text": "그렇다"}],
            evidence=[{"title": "메일", "description": "독촉 메일"}],
            timeline=[{"when": "2024-05-01", "what": "답장이 왔다", "agreed": True}],
        ),
    ).then(like(GateAnswered), like(TurnStarted))
    assert session.state.phase == "FACTS_STIPULATE"
    assert session.state.facts.evidence[-1].id == "E3"
    assert (session.state.facts.timeline[-1].id, session.state.facts.timeline[-1].agreed) == ("T3", True)
    (addition,) = session.state.narrative.additions
    assert addition.text == "덧붙임"
    assert [(answer.question, answer.text) for answer in addition.answers] == [("질문 2?", "그렇다")]


def test_facts_are_added_three_times_and_then_only_going_on_is_offered(session: Any) -> None:
    session.facts()
    for _ in range(3):
        session.spoken(proposal(questions=3))
        assert session.view()["gate"]["schema"]["properties"]["choice"]["enum"] == ["add_facts", "proceed_unclear"]
        session.form("facts", **more(text="더")).then(like(GateAnswered), like(TurnStarted))
    session.spoken(proposal(questions=4))
    assert session.view()["gate"]["schema"]["properties"]["choice"]["enum"] == ["proceed_unclear"]
    session.form("facts", **more(text="더")).refused(Code.INVALID_FORM, "choice")
    session.form("facts").then(like(GateAnswered), like(RiskTaken, by="agent-1"), like(TurnStarted, phase="JUDGE_R1"))


def test_a_failed_stipulation_stays_there_and_promotes_nothing(session: Any) -> None:
    session.facts().failed("invalid_reply").then(like(TurnFailed))
    shown = session.view()
    assert (shown["phase"], shown["facts"]["confirmed"]) == ("FACTS_STIPULATE", [])
    assert shown["failed"] == {
        "phase": "FACTS_STIPULATE", "code": "invalid_reply", "detail": "The model is away.", "attempts": 4,
    }  # fmt: skip


# The order of the turns


ROUND_1 = ["JUDGE_R1", "CLAIMANT_R1", "OPPOSING_R1", "VERIFIER_R1", "gate:round1"]
ROUND_2 = ["OPPOSING_R2", "CLAIMANT_R2", "JUDGE_R2", "VERIFIER_R2"]
ROUND_3 = ["OPPOSING_R3", "CLAIMANT_R3", "JUDGE_R3", "VERIFIER_R3", "gate:end"]
EXTRA = ["OPPOSING_R4", "CLAIMANT_R4", "JUDGE_R4", "VERIFIER_R4", "gate:end"]


def test_a_session_runs_in_the_page_s_order(sessions: Any, case_type: str, language: str) -> None:
    session = sessions(case_type=case_type, language=language).to("FINALIZE_DONE")
    assert session.phases() == ["FACTS_STIPULATE", *ROUND_1, *ROUND_2, "gate:round2", *ROUND_3]
    assert [turn["n"] for turn in session.view()["turns"]] == list(range(1, 13))


def test_roles_are_titled_by_the_type_of_case(sessions: Any) -> None:
    def titles(**opening: str) -> list[str]:
        return [turn["title"] for turn in sessions(**opening).to("round1").view()["turns"]]

    assert titles(case_type="criminal", language="ko") == ["재판장", "검사", "변호인", "검증관"]
    assert titles(case_type="civil", language="ko") == ["재판장", "원고 대리인", "피고 대리인", "검증관"]
    assert titles(case_type="criminal", language="en") == [
        "Presiding judge", "Prosecutor", "Defence counsel", "Verifier",
    ]  # fmt: skip
    assert titles(case_type="civil", language="en")[1:3] == ["Plaintiff's counsel", "Defendant's counsel"]


def test_one_more_round_is_offered_once(session: Any) -> None:
    session.to("end").form("end", resolution="extend").to("end")
    assert session.phases()[-10:] == [*ROUND_3, *EXTRA]
    assert session.view()["gate"]["schema"]["properties"]["resolution"]["enum"] == ["final_report", "new_session"]
    session.form("end", resolution="extend").refused(Code.INVALID_FORM, "resolution")
    session.form("end").then(like(GateAnswered, gate="end"), like(SteeringSet), like(SessionDone))


# No-Go and Conditional


def test_a_civil_no_go_in_round_2_skips_to_the_end_and_asks_for_nothing(session: Any) -> None:
    session.to("VERIFIER_R2").status("No-Go", MissingEvidence=["원본"], UnsupportedClaims=["주장"])
    gate = session.view()["gate"]
    assert session.phases()[-5:] == [*ROUND_2, "gate:end"]
    assert gate["banner"]
    assert gate["missing_evidence"] == []
    session.form("end").then(like(GateAnswered, gate="end"), like(SteeringSet), like(SessionDone))


def test_after_a_civil_no_go_the_extra_round_is_round_3(session: Any) -> None:
    session.to("VERIFIER_R2").status("No-Go").form("end", resolution="extend").to("end")
    assert session.phases()[-6:] == ["gate:end", *ROUND_3]
    assert "extend" not in session.view()["gate"]["schema"]["properties"]["resolution"]["enum"]


@pytest.mark.parametrize(
    ("case_type", "round_", "gate"),
    [
        ("criminal", 1, "round1"), ("criminal", 2, "round2"), ("criminal", 3, "end"),
        ("civil", 1, "round1"), ("civil", 3, "end"),
    ],
)  # fmt: skip
def test_any_other_no_go_asks_for_an_answer_to_each_missing_item(
    sessions: Any, case_type: str, round_: int, gate: str
) -> None:
    session = sessions(case_type=case_type).to(f"VERIFIER_R{round_}").status("No-Go", MissingEvidence=["원본", "서명"])
    shown = session.view()["gate"]
    assert (shown["name"], shown["checklist"]) == (gate, [])
    assert shown["banner"]
    assert shown["missing_evidence"] == [{"id": "M1", "text": "원본"}, {"id": "M2", "text": "서명"}]
    session.form(gate).refused(Code.INVALID_FORM, "missing_evidence_answers")
    session.form(gate, missing_evidence_answers={"M1": "있다"}).refused(Code.INVALID_FORM, "missing_evidence_answers")
    session.form(gate, missing_evidence_answers={"M1": "있다", "M2": " "}).refused(
        Code.INVALID_FORM, "missing_evidence_answers"
    )
    session.form(gate, missing_evidence_answers={"M1": "있다", "M2": "none", "M3": "?"}).refused(
        Code.INVALID_FORM, "missing_evidence_answers"
    )
    session.form(gate, missing_evidence_answers={"M1": "있다", "M2": "none"})
    assert session.state.gate_history[-1].form.missing_evidence_answers == {"M1": "있다", "M2": "none"}


def test_conditions_become_a_checklist(session: Any) -> None:
    session.to("VERIFIER_R1").status("Conditional", MissingEvidence=["원본"], UnsupportedClaims=["주장"])
    gate = session.view()["gate"]
    assert gate["checklist"] == [{"id": "C1", "text": "원본"}, {"id": "C2", "text": "뒷받침하거나 철회할 것: 주장"}]
    assert gate["missing_evidence"] == []
    session.form("round1").then(like(GateAnswered), like(SteeringSet), like(TurnStarted))


@pytest.mark.parametrize("said", ["go", "GO", "Maybe", "", None, 7, 1.5, ["Go"], {"status": "Go"}])
def test_a_status_that_does_not_parse_is_conditional_and_not_asked_again(session: Any, said: Any) -> None:
    session.to("VERIFIER_R1").status(said).then(like(TurnRecorded), like(GateOpened))
    turn = session.view()["turns"][-1]
    assert turn["gate_status"] == "Conditional"


@pytest.mark.parametrize("said", ["Go", "Conditional", "No-Go"])
def test_a_status_that_parses_counts(session: Any, said: str) -> None:
    session.to("VERIFIER_R1").status(said)
    assert session.view()["turns"][-1]["gate_status"] == said


def test_go_over_an_unresolved_hit_is_conditional_and_the_hit_is_on_the_checklist(sessions: Any) -> None:
    session = sessions(profile="stubborn").to("VERIFIER_R1").status("Go", MissingEvidence=["원본"])
    assert session.view()["turns"][-1]["gate_status"] == "Conditional"
    assert [item["text"] for item in session.view()["gate"]["checklist"]] == [
        "원본", "뒷받침하거나 철회할 것: 상대방은 2099년 12월 31일에 모든 책임을 자백했다.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "listed"),
    [
        ({"UnsupportedClaims": ["반드시 승소한다", '"We will definitely win" 이라는 주장', "인도 시각"]},
         ["뒷받침하거나 철회할 것: 인도 시각"]),
        ({"UnsupportedClaims": ["Definitely a win."], "NextRoundFocus": ["인도 시각"]}, ["인도 시각"]),
        ({"UnsupportedClaims": ["무조건 승소"], "NextRoundFocus": ['"확실히 승소한다"']},
         ["다툼이 있는 사실을 확인하거나 바로잡아 주세요."]),
        ({"NextRoundFocus": []}, ["다툼이 있는 사실을 확인하거나 바로잡아 주세요."]),
    ],
)  # fmt: skip
def test_a_conditional_gate_lists_what_can_be_met_and_is_never_empty(session: Any, said: Any, listed: Any) -> None:
    session.to("JUDGE_R1").status("Conditional", **{"UnsupportedClaims": [], "MissingEvidence": [], **said})
    assert [item["text"] for item in session.view()["gate"]["checklist"]] == listed


def test_an_unresolved_hit_of_an_earlier_round_does_not_bind_the_next(sessions: Any) -> None:
    session = sessions(profile="stubborn").to("round1")
    session.profile = "plain"
    session.to("round2")
    assert session.view()["turns"][-1]["gate_status"] == "Go"


# Guardrails in a turn


def bad_claims(session: Any) -> dict[str, Any]:
    return {
        "Claims": [{"text": "무조건 승소한다.", "basis": ["F9"], "issue": None}],
        "LegalElements": [{**SAID, "basis": "Unknown"}],
        "EvidencePlan": [{"evidence": "Unknown", "purpose": "찾아야 할 자료"}],
        "WeakPoints": [{**SAID, "basis": "Unknown"}],
        "SteeringComplianceCheck": "OK",
    }


def test_a_hit_asks_for_exactly_one_rewrite(session: Any) -> None:
    session.to("CLAIMANT_R1")
    asked = effects.effect_id(session.state)
    session.spoken(bad_claims(session)).then(like(GuardrailHit), like(GuardrailHit), like(DraftSetAside))
    assert [message["check"] for message in session.messages() if message["type"] == "guardrail_hit"] == [
        "unsupported_fact", "certain_advice",
    ]  # fmt: skip
    assert effects.effect_id(session.state) != asked
    session.spoken(bad_claims(session)).then(like(TurnRecorded), like(TurnStarted))
    turn = session.view()["turns"][-1]
    assert turn["hits"] == turn["unresolved"]
    assert {hit["check"] for hit in turn["unresolved"]} == {"unsupported_fact", "certain_advice"}
    assert turn["draft"] == bad_claims(session)


def test_a_clean_rewrite_keeps_its_draft_and_its_hits(session: Any) -> None:
    session.to("CLAIMANT_R1").spoken(bad_claims(session)).spoken().then(like(TurnRecorded), like(TurnStarted))
    turn = session.view()["turns"][-1]
    assert len(turn["hits"]) == 2
    assert turn["unresolved"] == []
    assert turn["draft"] != turn["output"]


def test_a_clean_answer_has_no_draft(session: Any) -> None:
    turn = session.to("OPPOSING_R1").view()["turns"][-1]
    assert (turn["draft"], turn["hits"], turn["unresolved"], turn["warnings"]) == (None, [], [], [])


def test_certainty_alone_is_a_warning(session: Any) -> None:
    said = {"text": "원본을 반드시 확인해야 한다.", "basis": "Unknown", "issue": None}
    session.to("OPPOSING_R1").spoken(ProceduralRisks=[said]).then(like(TurnRecorded), like(TurnStarted))
    assert session.view()["turns"][-1]["warnings"] == [
        {"check": "certain_advice", "field": "ProceduralRisks", "text": "원본을 반드시 확인해야 한다."}
    ]


# Answers of the model


def test_an_answer_outside_its_schema_changes_nothing(session: Any) -> None:
    session.to("JUDGE_R1").when(commands.TurnSpoken(effect_id=effects.effect_id(session.state), output={"Issues": []}))
    session.refused(Code.INVALID_REQUEST, "output")
    assert session.state.waiting == "model"


@pytest.mark.parametrize(
    ("phase", "empty"),
    [
        ("JUDGE_R1", {"Issues": []}), ("JUDGE_R1", {"BurdenOfProof": []}), ("JUDGE_R2", {"Findings": []}),
        ("JUDGE_R2", {"RecommendedNextSteps": []}), ("CLAIMANT_R1", {"Claims": []}),
        ("CLAIMANT_R1", {"LegalElements": []}), ("CLAIMANT_R1", {"EvidencePlan": []}),
        ("CLAIMANT_R1", {"WeakPoints": []}), ("CLAIMANT_R1", {"WeakPoints": [SAID] * 3}),
        ("OPPOSING_R1", {"CounterArguments": []}), ("OPPOSING_R1", {"DisproofPlan": []}),
        ("OPPOSING_R1", {"ProceduralRisks": []}), ("OPPOSING_R1", {"SettlementOptions": [SAID]}),
        ("CLAIMANT_R1", {"Claims": [{**SAID, "text": " \u200b"}]}), ("JUDGE_R1", {"Issues": ["\u2060"]}),
    ],
)  # fmt: skip
def test_an_empty_answer_is_refused_and_its_schema_says_so(session: Any, phase: str, empty: dict[str, Any]) -> None:
    session.to(phase)
    answer = {**scripted.answer(session.state, phase), **empty}
    fault = outputs.fault(answer, phase, "civil")
    assert fault is not None
    assert outputs.fault(scripted.answer(session.state, phase), phase, "civil") is None
    assert schema_faults(answer, outputs.phase_schema(phase, "civil")) or "no character that shows" in fault


def test_a_plan_of_proof_may_name_evidence_that_has_yet_to_be_found(session: Any) -> None:
    plan = [{"evidence": "Unknown", "purpose": "인도 시각을 보일 기록"}]
    session.to("CLAIMANT_R1").spoken(EvidencePlan=plan).then(like(TurnRecorded, unresolved=()), like(TurnStarted))


def test_a_second_answer_to_an_effect_is_a_duplicate(session: Any) -> None:
    session.to("JUDGE_R1")
    effect = effects.effect_id(session.state)
    session.spoken()
    session.when(commands.TurnSpoken(effect_id=effect, output={})).then()
    session.when(commands.FailTurn(effect_id=effect, code="refused", detail="", attempts=1)).then()


def test_an_attempt_is_logged_and_decides_nothing(session: Any) -> None:
    session.to("JUDGE_R1")
    before = session.state
    attempted = commands.Attempted(
        effect_id=effects.effect_id(before), phase="JUDGE_R1", kind="ask", attempt={"latency_ms": 12}
    )
    session.when(attempted).then(like(AttemptMade))
    assert msgspec.structs.replace(session.state, version=before.version) == before
    session.to("FINALIZE_DONE").when(attempted).then()


def test_the_turn_in_progress_is_an_effect_by_a_stable_id(session: Any) -> None:
    seen = []
    for phase in ("FACTS_STIPULATE", "JUDGE_R1", "CLAIMANT_R1"):
        session.to(phase)
        (effect,) = session.decider.effects(session.state)
        assert (effect.id, effect.kind) == (effects.effect_id(session.state), "llm_turn")
        assert len(effect.id) == 32
        assert effect.due == session.now
        seen.append(effect.id)
    assert len(set(seen)) == 3
    session.to("round1")
    assert session.decider.effects(session.state) == ()


def test_a_replayed_answer_keeps_the_order_of_its_schema(session: Any) -> None:
    session.to("FINALIZE_DONE")
    for event, _, state in session.log:
        if event.type == "turn_recorded":
            stored = msgspec.json.decode(msgspec.json.encode(event, order="sorted"), type=type(event))
            live, replayed = (session.decider.public(each, Viewer("agent-1"), state) for each in (event, stored))
            assert msgspec.json.encode(live) == msgspec.json.encode(replayed)
            assert list(replayed.output)[-1] == "SteeringComplianceCheck"


@pytest.mark.parametrize(
    ("cited", "kept"),
    [
        (["No citation"], "No citation"),
        (["E1", "No citation"], ["E1"]),
        (["E1"], ["E1"]),
        ("No citation", "No citation"),
    ],
)
def test_the_words_for_no_citation_are_no_citation(session: Any, cited: Any, kept: Any) -> None:
    turn = session.to("JUDGE_R1").spoken(Citations=cited).view()["turns"][-1]
    assert turn["output"]["Citations"] == kept
    assert turn["citations"] == [{"text": "E1", "unverified": False}] * isinstance(kept, list)


def test_the_stream_names_law_that_only_the_sorted_facts_name(session: Any) -> None:
    asked = [{"text": "민법 제750조와 제563조를 보는가?"}]
    session.facts().spoken({"ConfirmedFacts": [], "DisputedFacts": [], "MissingFactsQuestions": asked})
    (done,) = [message for message in session.messages() if message["type"] == "turn_done"]
    assert done["unverified"] == ["민법 제750조"]


def test_the_stream_names_no_law_where_the_person_supplied_it(session: Any) -> None:
    session.facts().spoken()
    assert [set(each) for each in session.messages() if each["type"] == "turn_done"] == [{"type", "phase", "output"}]


# Failure and retry


def test_a_failed_turn_is_not_asked_again_by_itself(session: Any) -> None:
    session.to("JUDGE_R1")
    first = effects.effect_id(session.state)
    session.failed().then(like(TurnFailed))
    assert session.decider.effects(session.state) == ()
    session.spoken({}).then()
    session.retry().then(like(TurnStarted))
    assert session.view()["failed"] is None
    (effect,) = session.decider.effects(session.state)
    assert effect.id != first
    session.to("FINALIZE_DONE")


def test_a_failed_rewrite_is_retried_as_a_rewrite(session: Any) -> None:
    session.to("CLAIMANT_R1").spoken(bad_claims(session)).failed().retry()
    assert session.state.draft == bad_claims(session)
    session.spoken(bad_claims(session)).then(like(TurnRecorded), like(TurnStarted))


@pytest.mark.parametrize("phase", ["FACTS_INTAKE", "JUDGE_R1", "round1", "FINALIZE_DONE"])
def test_nothing_failed_nothing_to_retry(session: Any, phase: str) -> None:
    session.to(phase).retry().refused(Code.NOTHING_TO_RETRY)


# Steering


def test_inputs_merge_field_by_field_and_every_version_is_kept(session: Any) -> None:
    session.to("round1").form("round1", focus_issues=["가", "나"], stance="hardline")
    session.to("round2").form("round2", constraints=["budget_cap", "주말 제외"], instructions="짧게")
    session.to("end").form("end", final_instructions="더 짧게")
    shown = session.view()
    assert [version["version"] for version in shown["steering_history"]] == [1, 2, 3]
    assert {version["by"] for version in shown["steering_history"]} == {"agent-1"}
    first, second, third = (version["steering"] for version in shown["steering_history"])
    assert (first["focus_issues"], first["stance"], first["constraints"]) == (["가", "나"], "hardline", [])
    assert (second["focus_issues"], second["constraints"], second["note"]) == (
        ["가", "나"], ["budget_cap", "주말 제외"], "짧게",
    )  # fmt: skip
    assert (third["note"], third["report_style"], third["concession_range"]) == ("더 짧게", "risk", "절반까지")
    assert shown["steering"] == third


def test_a_list_is_replaced_and_what_is_left_out_stays(session: Any) -> None:
    session.to("round2").form("round2", instructions="짧게").to("end").form("end", resolution="extend")
    assert session.state.steering.note == "짧게"
    assert session.state.steering.obtainable_evidence == ("메일 기록",)


def test_the_facts_gate_is_no_steering(session: Any) -> None:
    session.facts().spoken(proposal(questions=3)).form("facts")
    assert session.view()["steering_history"] == []


def test_corrections_change_the_facts_before_round_2(session: Any) -> None:
    session.to("round1").form("round1", fact_corrections="대금은 700만원이었다.").then(
        like(GateAnswered, gate="round1"),
        like(FactsCorrected, by="agent-1"),
        like(SteeringSet, number=1),
        like(TurnStarted, phase="OPPOSING_R2"),
    )
    (correction,) = session.view()["facts"]["corrections"]
    assert (correction["text"], correction["by"]) == ("대금은 700만원이었다.", "agent-1")
    assert correction["at"].endswith("Z")
    said = {"text": "대금은 700만원이었다.", "basis": ["E2"], "issue": "대금 지급 의무"}
    session.spoken(ProceduralRisks=[said]).then(like(TurnRecorded), like(TurnStarted))


# The end


def test_a_new_session_ends_this_one_and_carries_the_facts_over(session: Any) -> None:
    session.to("end").form("end", resolution="new_session").then(
        like(GateAnswered, gate="end"), like(SteeringSet), like(SessionDone)
    )
    shown = session.view()
    assert (shown["phase"], shown["next_session"]) == ("FINALIZE_DONE", "legal-2")
    assert not session.state.reported
    opening = session.decider.successor(session.state)
    facts, confirmed = session.state.facts, shown["facts"]["confirmed"]
    session.state = session.decider.initial("legal-2")
    session.when(opening).then(like(SessionOpened))
    linked = session.view()
    assert (linked["phase"], linked["previous_session"]) == ("FACTS_INTAKE", "legal-1")
    assert linked["facts"]["confirmed"] == confirmed != []
    assert (linked["steering_history"], linked["turns"]) == ([], [])
    session.when(opening).then()
    session.when(commands.PostFacts(agent_id="agent-1", body={"overview": "다시 말한다."})).then(
        like(FactsPosted, by="agent-1"), like(TurnStarted, phase="FACTS_STIPULATE")
    )
    assert session.state.narrative.overview == "다시 말한다."
    assert session.state.facts.evidence == facts.evidence
    session.to("FINALIZE_DONE")


def test_a_new_session_carries_no_risk_over_that_was_taken_in_this_one(sessions: Any) -> None:
    session = sessions(profile="unsure").to("end").form("end", resolution="new_session")
    assert session.state.facts.risk_accepted is not None
    opening = session.decider.successor(session.state)
    session.state = session.decider.initial("legal-2")
    facts = session.when(opening).view()["facts"]
    assert facts["risk_accepted"] is None
    assert [item["id"] for item in facts["questions"]] == ["Q1", "Q2", "Q3"]


def test_a_session_with_a_report_has_no_successor(session: Any) -> None:
    assert session.to("FINALIZE_DONE").decider.successor(session.state) is None
    assert session.state.reported


def test_the_operator_can_end_a_session_and_it_has_no_report(session: Any) -> None:
    session.to("round1").when(EndGame(reason="점검")).then(like(SessionAborted))
    assert (session.state.phase, session.state.reported, session.state.over) == ("ABORTED", False, True)
    session.when(EndGame(reason="점검")).refused(Code.GAME_OVER)
    session.form("round1").refused(Code.WRONG_GATE)


def test_the_operator_says_why(session: Any) -> None:
    session.when(EndGame(reason=" ")).refused(Code.INVALID_REQUEST, "reason")


def test_a_deadline_means_nothing_here(session: Any) -> None:
    session.when(DeadlinePassed(effect_id="x")).then()


# The stream


def test_the_stream_has_one_message_an_event_and_ends_with_session_done(sessions: Any) -> None:
    session = sessions(profile="rash").to("CLAIMANT_R1").spoken().failed().retry().to("FINALIZE_DONE")
    messages = session.messages()
    assert len(messages) == session.state.version
    assert messages[-1] == {"type": "session_done"}
    failure = {"code": "model_unavailable", "detail": "The model is away.", "attempts": 4}
    assert {"type": "turn_failed", "phase": "CLAIMANT_R1", **failure} in messages
    assert {"type": "guardrail_hit", "phase": "CLAIMANT_R1", "check": "certain_advice"} in messages
    assert {"type": "gate_opened", "gate": "round1"} in messages
    done = [message for message in messages if message["type"] == "turn_done"]
    assert [message["phase"] for message in done] == ["FACTS_STIPULATE", *[turn.phase for turn in session.state.turns]]
    assert list(done[1]["output"])[-1] == "SteeringComplianceCheck"
    assert {message["type"] for message in messages} == {
        "progress", "turn_started", "turn_done", "turn_failed", "guardrail_hit", "gate_opened", "session_done",
    }  # fmt: skip
    assert [event.closes for event, _, _ in session.log] == [False] * (session.state.version - 1) + [True]


# The parts that all deciders have


def test_a_session_is_a_game_of_one(session: Any) -> None:
    rules, state = session.decider, session.to("round1").state
    assert rules.participants(state) == {"agent-1": "Counsel"}
    card = rules.summary(state)
    assert (card.phase, card.round, card.seated, card.needed, card.over) == ("USER_GATE", 1, 1, 1, False)
    assert rules.summary(session.to("FINALIZE_DONE").state).over
    assert rules.view(state, Viewer("agent-1")).id == "legal-1"
    assert "overview" not in str(rules.operator_view(state))


def test_the_offers_are_what_the_session_waits_for(session: Any) -> None:
    def offered() -> list[str]:
        return [offer.type for offer in session.decider.allowed_actions(session.state, "agent-1")]

    assert offered() == ["facts"]
    session.to("JUDGE_R1")
    assert offered() == []
    session.failed()
    assert offered() == ["retry"]
    session.retry().to("round1")
    assert offered() == ["steering"]
    session.to("FINALIZE_DONE")
    assert offered() == []


def test_the_phases_of_a_round_follow_each_other() -> None:
    assert phases.turn("USER_GATE") is None
    assert phases.following("FACTS_INTAKE") is None
    assert phases.following("VERIFIER_R4") is None
    assert phases.following("JUDGE_R1") == "CLAIMANT_R1"
    assert phases.following("JUDGE_R3") == "VERIFIER_R3"


def test_what_a_person_types_is_composed(sessions: Any) -> None:
    """Every text of a session that was typed in parts (as a Mac's file names are) is stored composed."""
    made = sessions(
        title=parts("김민 대 이준"), jurisdiction=parts("대한민국"), exclusions=[parts("가족")], opened=True
    )
    made.facts(
        overview=parts("김민이 물품을 샀다."),
        acts=[parts("인도했다.")],
        timeline=[{"when": parts("같은 해"), "what": parts("물품을 인도했다"), "agreed": True}],
        evidence=[{"title": parts("계약서"), "description": parts("서명된 것")}],
    ).to("round1")
    made.form("round1", focus_issues=[parts("대금 지급 의무")], fact_corrections=parts("틀린 날짜"))
    stored = msgspec.json.encode(made.state).decode()
    assert "김민" in stored
    assert unicodedata.is_normalized("NFC", stored)


def parts(text: str) -> str:
    return unicodedata.normalize("NFD", text)
