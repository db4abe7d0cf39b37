"""The gates' forms: what is taken, what is named as a fault, and that the schema a page renders says the same."""

from typing import Any

import jsonschema
import pytest
from playmolt_core.game.decider import Accepted
from playmolt_schemas.codes import Code

BAD: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    ("round1", "civil", {"focus_issues": []}, ("focus_issues",)),
    ("round1", "civil", {"focus_issues": ["가", "나", "다"]}, ("focus_issues",)),
    ("round1", "civil", {"focus_issues": ["가", "가"]}, ("focus_issues",)),
    ("round1", "civil", {"focus_issues": "가"}, ("focus_issues",)),
    ("round1", "civil", {"focus_issues": ["  "]}, ("focus_issues[0]",)),
    ("round1", "civil", {"goal": "win"}, ("goal",)),
    ("round1", "civil", {"stance": 1}, ("stance",)),
    ("round1", "civil", {"fact_corrections": "가" * 301}, ("fact_corrections",)),
    ("round1", "civil", {"proof_priority": "인도"}, ("proof_priority",)),
    ("round1", "civil", {"goal": "", "stance": ""}, ("goal", "stance")),
    ("round2", "civil", {"proof_priority": ""}, ("proof_priority",)),
    ("round2", "civil", {"evidence_level": "huge"}, ("evidence_level",)),
    ("round2", "civil", {"obtainable_evidence": []}, ("obtainable_evidence",)),
    ("round2", "civil", {"constraints": []}, ("constraints",)),
    ("round2", "civil", {"settlement_interest": "yes"}, ("settlement_interest",)),
    ("round2", "civil", {"settlement_interest": True, "concession_range": " "}, ("concession_range",)),
    ("round2", "civil", {"settlement_interest": False, "concession_range": "절반"}, ("concession_range",)),
    ("round2", "civil", {"instructions": "가" * 301}, ("instructions",)),
    ("round2", "criminal", {"settlement_interest": False}, ("settlement_interest",)),
    ("round2", "criminal", {"concession_range": "절반"}, ("concession_range",)),
    ("end", "civil", {"resolution": "stop"}, ("resolution",)),
    ("end", "civil", {"report_style": None}, ("report_style",)),
    ("end", "civil", {"final_instructions": 5}, ("final_instructions",)),
    ("end", "civil", {"missing_evidence_answers": {"M1": "none"}}, ("missing_evidence_answers",)),
    ("end", "civil", {"missing_evidence_answers": []}, ("missing_evidence_answers",)),
    ("facts", "civil", {"choice": "wait"}, ("choice",)),
    ("facts", "civil", {"choice": "add_facts"}, ("facts",)),
    ("facts", "civil", {"choice": "add_facts", "facts": "more"}, ("facts",)),
    ("facts", "civil", {"choice": "bad", "facts": {"text": 3, "bogus": 1, "timeline": "x"}, "extra": 1},
     ("extra", "choice", "facts.bogus", "facts.text", "facts.timeline")),
    ("facts", "civil", {"choice": "add_facts", "facts": {"text": 3, "bogus": 1}, "extra": 1},
     ("extra", "facts.bogus", "facts.text")),
    ("facts", "civil", {"choice": "proceed_unclear", "facts": {"text": "a"}, "extra": 1}, ("extra", "facts")),
    ("facts", "civil", {"choice": "add_facts", "facts": {}}, ("facts",)),
    ("facts", "civil", {"choice": "add_facts", "facts": {"text": "a", "acts": "b"}}, ("facts.acts",)),
    ("facts", "civil", {"choice": "add_facts", "facts": {"answers": [{"id": "Q9", "text": "a"}]}},
     ("facts.answers[0].id",)),
    ("facts", "civil", {"choice": "add_facts", "facts": {"timeline": [{"when": "a"}]}}, ("facts.timeline[0].what",)),
]  # fmt: skip

GOOD: list[tuple[str, str, dict[str, Any]]] = [
    ("round1", "civil", {}),
    ("round1", "civil", {"focus_issues": ["가", "나"], "fact_corrections": "가" * 300}),
    ("round1", "criminal", {"missing_evidence_answers": {}}),
    ("round2", "civil", {"settlement_interest": False, "concession_range": ""}),
    ("round2", "civil", {"constraints": ["no_outside_counsel", "주말에는 일하지 않음"], "instructions": "짧게"}),
    ("round2", "criminal", {}),
    ("end", "civil", {"resolution": "extend", "report_style": "settlement", "final_instructions": "짧게"}),
    ("facts", "civil", {}),
    ("facts", "civil", {"choice": "add_facts", "facts": {"text": "더"}}),
    ("facts", "civil", {"choice": "add_facts", "facts": {"answers": [{"id": "Q1", "text": "a"}]}}),
]

QUESTIONS = {
    "ConfirmedFacts": [],
    "DisputedFacts": [],
    "MissingFactsQuestions": [{"text": "하나?"}, {"text": "둘?"}, {"text": "셋?"}],
}


def at_gate(sessions: Any, gate: str, case_type: str) -> Any:
    session = sessions(case_type=case_type)
    return session.facts().spoken(QUESTIONS) if gate == "facts" else session.to(gate)


def sent(session: Any, gate: str, changes: dict[str, Any]) -> dict[str, Any]:
    form = {**session.good_form(gate), **changes}
    if changes.get("settlement_interest") is False and "concession_range" not in changes:
        form.pop("concession_range", None)
    return form


@pytest.mark.parametrize(("gate", "case_type", "changes", "fields"), BAD)
def test_a_bad_form_names_every_field_and_the_gate_stays_open(
    sessions: Any, gate: str, case_type: str, changes: dict[str, Any], fields: tuple[str, ...]
) -> None:
    session = at_gate(sessions, gate, case_type)
    before = session.state
    form = sent(session, gate, changes)
    session.send(form).refused(Code.INVALID_FORM, *fields)
    assert session.state is before
    assert not jsonschema.Draft202012Validator(session.view()["gate"]["schema"]).is_valid(form)


@pytest.mark.parametrize(("gate", "case_type", "changes"), GOOD)
def test_a_good_form_is_taken_and_fits_the_schema(
    sessions: Any, gate: str, case_type: str, changes: dict[str, Any]
) -> None:
    session = at_gate(sessions, gate, case_type)
    form = sent(session, gate, changes)
    schema = session.view()["gate"]["schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(form)
    session.send(form)
    assert isinstance(session.decision, Accepted), session.decision
    assert session.state.gate_history[-1].gate == gate


@pytest.mark.parametrize("field", ["focus_issues", "goal", "stance"])
def test_a_missing_field_is_a_fault(session: Any, field: str) -> None:
    form = session.good_form("round1")
    del form[field]
    session.to("round1").send(form).refused(Code.INVALID_FORM, field)


def test_everything_at_fault_is_named_at_once(session: Any) -> None:
    session.to("round2").send({"gate": "round2", "hurry": True}).refused(Code.INVALID_FORM,
        "hurry", "settlement_interest", "proof_priority", "evidence_level", "obtainable_evidence", "constraints",
    )  # fmt: skip


@pytest.mark.parametrize("body", [None, [], "round1", 7])
def test_a_form_is_an_object(session: Any, body: Any) -> None:
    session.to("round1").send(body).refused(Code.INVALID_FORM, "")


@pytest.mark.parametrize("body", [{}, {"gate": "round9"}, {"gate": None}])
def test_every_form_names_its_gate(session: Any, body: Any) -> None:
    session.to("round1").send(body).refused(Code.INVALID_FORM, "gate")


@pytest.mark.parametrize("gate", ["facts", "round2", "end"])
def test_a_form_for_another_gate_is_refused(session: Any, gate: str) -> None:
    session.to("round1").form(gate).refused(Code.WRONG_GATE)


@pytest.mark.parametrize("phase", ["FACTS_INTAKE", "JUDGE_R1", "FINALIZE_DONE"])
def test_a_form_while_no_gate_is_open_is_refused(session: Any, phase: str) -> None:
    session.to(phase).form("round1").refused(Code.WRONG_GATE)


def test_texts_are_trimmed(session: Any) -> None:
    session.to("round1").form("round1", focus_issues=["  대금 지급 의무 "])
    assert session.state.steering.focus_issues == ("대금 지급 의무",)


def test_the_gate_shows_the_judges_issues_and_the_verifiers_focus(session: Any) -> None:
    session.to("VERIFIER_R1").status("Go", NextRoundFocus=["무엇을 원하는지"])
    gate = session.view()["gate"]
    assert gate["issues"] == session.state.turns[0].output["Issues"]
    assert gate["focus"] == ["무엇을 원하는지"]
    assert gate["schema"]["properties"]["focus_issues"]["examples"] == gate["issues"]


def test_the_schema_is_titled_in_the_sessions_language(sessions: Any) -> None:
    assert sessions(language="ko").to("round1").view()["gate"]["schema"]["properties"]["goal"]["title"] == "목표"
    assert sessions(language="en").to("round1").view()["gate"]["schema"]["properties"]["goal"]["title"] == "Goal"
