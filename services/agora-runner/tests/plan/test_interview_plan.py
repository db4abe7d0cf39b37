"""Questions asked aside in a plan: every fault at once, each at its line, and what they cost in the dry run."""

import json
from decimal import Decimal
from typing import Any

import pytest
from msgspec import UNSET
from playmolt_agora_runner.plan import costs, matrix, reading
from playmolt_agora_runner.plan.preview import examined
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_schemas.agora.plan import PlanFault, Preview
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.plan import Plan

from tests.agora_locks import power

PAID = Catalogue(
    {"paid": ModelEntry(base_url="http://127.0.0.1:1/v1", model="m", input_price=Decimal(1), output_price=Decimal(2))}
)
ASK = {"ko": "이웃을 얼마나 믿습니까?", "en": "How much do you trust your neighbours?"}
TRUST: dict[str, Any] = {"id": "trust", "at": [0, 2], "ask": ASK, "scale": {"from": 1, "to": 7}}
PLAN: dict[str, Any] = {"name": "n", "models": ["scripted-steady"], "phases": {"phase1": {"runs": 2, "turns": 3}}}


def plan_of(*interviews: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**PLAN, "interviews": list(interviews), **changes}


def seen(*interviews: dict[str, Any], catalogue: Catalogue = PAID, **changes: Any) -> Preview:
    return examined(reading.reading(json.dumps(plan_of(*interviews, **changes))), catalogue, power=power)


def found(*interviews: dict[str, Any], **changes: Any) -> list[tuple[str, str]]:
    return [(fault.field, fault.code) for fault in seen(*interviews, **changes).faults]


def other(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**TRUST, **changes}.items() if value is not ...}


def test_questions_of_every_kind_are_read() -> None:
    choices = {"ko": ["나눈다", "갖는다"], "en": ["Share", "Keep"]}
    kinds = (TRUST, other(id="deal", scale=..., choices=choices), other(id="why", scale=..., text=True, code=True))
    assert seen(*kinds).faults == ()
    assert seen(other(scale=..., choices=["a", "b"]), languages=["en"]).faults == ()


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"id": "Trust"}, "interviews[0].id", "out_of_range"),
        ({"id": ...}, "interviews[0].id", "wrong_type"),
        ({"at": []}, "interviews[0].at", "out_of_range"),
        ({"at": [-1]}, "interviews[0].at[0]", "out_of_range"),
        ({"at": ["0"]}, "interviews[0].at[0]", "wrong_type"),
        ({"at": [0, 4]}, "interviews[0].at[1]", "out_of_range"),
        ({"at": [1, 1]}, "interviews[0].at", "out_of_range"),
        ({"ask": {"ko": "하나"}}, "interviews[0].ask.en", "missing_text"),
        ({"ask": {**ASK, "fr": "x"}}, "interviews[0].ask.fr", "unknown_field"),
        ({"ask": {"ko": "1부터 7까지?", "en": "From 1 to 5?"}}, "interviews[0].ask", "asymmetric"),
        ({"scale": ...}, "interviews[0]", "out_of_range"),
        ({"text": True}, "interviews[0]", "out_of_range"),
        ({"scale": ..., "scal": {"from": 1, "to": 7}}, "interviews[0].scal", "unknown_field"),
        ({"scale": {"from": 1}}, "interviews[0].scale.to", "wrong_type"),
        ({"scale": {"from": "1", "to": 7}}, "interviews[0].scale.from", "wrong_type"),
        ({"scale": {"from": 7, "to": 1}}, "interviews[0].scale", "out_of_range"),
        ({"scale": {"from": 0, "to": 100}}, "interviews[0].scale", "out_of_range"),
        ({"scale": ..., "choices": ["a", "b"]}, "interviews[0].choices", "wrong_type"),
        ({"scale": ..., "choices": {"ko": ["가", "나"], "en": ["a"]}}, "interviews[0].choices.en", "out_of_range"),
        (
            {"scale": ..., "choices": {"ko": ["가", "나"], "en": ["a", "b", "c"]}},
            "interviews[0].choices",
            "asymmetric",
        ),
        ({"scale": ..., "choices": {"ko": ["가", "나"], "en": ["a", "a"]}}, "interviews[0].choices.en", "out_of_range"),
        ({"scale": ..., "choices": {"ko": ["3개", "나"], "en": ["4", "b"]}}, "interviews[0].choices", "asymmetric"),
        ({"code": True}, "interviews[0].code", "out_of_range"),
        ({"who": "baker"}, "interviews[0].who", "out_of_range"),
    ],
)
def test_a_fault_is_one_line_at_its_field(changes: dict[str, Any], field: str, code: str) -> None:
    faults = found(other(**changes))
    assert (field, code) in faults
    assert all(each.startswith(field) for each, _ in faults)


@pytest.mark.parametrize("at", [[], ["0"], 3])
def test_a_turn_at_fault_hides_no_other_fault_of_its_question(at: object) -> None:
    fields = {field for field, _ in found(other(at=at, text=True, ask={"ko": "하나"}), TRUST)}
    (turn,) = (field for field in fields if field.startswith("interviews[0].at"))
    assert fields == {turn, "interviews[0]", "interviews[0].id", "interviews[0].ask.en", "interviews[1].id"}


@pytest.mark.parametrize(
    "need", [{"name": ""}, {"name": 3}, {"name": ...}, {"models": []}, {"models": [""]}, {"models": ...}]
)
def test_a_name_or_models_at_fault_hide_no_other_fault(need: dict[str, Any]) -> None:
    """Nor does one follow from them: which tests and probes a plan may have depends on its models."""
    rest = {"seed_events": [{"turn": 1, "ko": "비", "en": "Rain"}], "hypotheses": ["pcs:other"]}
    document = {**plan_of(other(ask={"ko": "하나"}), phases={"phase2": {"runs": 0}}, **rest), **need}
    text = json.dumps({name: value for name, value in document.items() if value is not ...})
    fields = [fault.field for fault in examined(reading.reading(text), PAID, power=power).faults]
    assert fields[0].startswith(*need)
    assert {*fields[1:]} - {"hypotheses"} == {"interviews[0].ask.en", "phases", "seed_events"}
    assert ("hypotheses" in fields) == ("name" in need)


def test_all_faults_come_at_once_with_their_lines() -> None:
    text = """\
name: n
models: [scripted-steady]
phases: {phase1: {runs: 2, turns: 3}}
interviews:
  - id: trust
    at: [0, 9]
    ask: {ko: "얼마나?", en: "How much?"}
    scale: {from: 1, to: 7}
  - id: trust
    at: [0]
    ask: {ko: "왜?"}
    text: true
    who: baker
  - {id: 9, at: 0}
"""
    faults: tuple[PlanFault, ...] = examined(reading.reading(text), PAID, power=power).faults
    lines = {fault.field: fault.line for fault in faults}
    assert lines == {
        "interviews[0].id": 5,
        "interviews[0].at[1]": 6,
        "interviews[1].id": 9,
        "interviews[1].ask.en": 11,
        "interviews[1].who": 13,
        "interviews[2].id": 14,
        "interviews[2].at": 14,
        "interviews[2].ask": 14,
    }


def test_a_question_mark_outside_quotes_is_explained() -> None:
    (fault,) = reading.reading("name: n\nmodels: [scripted]\ninterviews: [{id: a, ask: {ko: 왜?, en: Why?}}]\n").faults
    assert fault.message.startswith("line 3, column")
    assert fault.message.endswith("put a text with a question mark into quotes")


def test_questions_are_in_the_dry_run() -> None:
    plain, asked = (seen(*each, models=["paid"], languages=["ko"]) for each in ((), (TRUST,)))
    assert (plain.calls, plain.interviews) == (2 * 12 * 3, UNSET)
    assert (asked.calls, asked.interviews, asked.turns) == (2 * 12 * (3 + 2), 2 * 12 * 2, plain.turns)
    assert float(asked.cost or 0) > float(plain.cost or 0)
    assert float(asked.cost_most or 0) > float(plain.cost_most or 0)


def test_only_who_is_asked_counts_and_a_question_after_a_run_costs_nothing() -> None:
    merchants = seen(other(who="merchant"), models=["paid"], languages=["ko"])
    assert merchants.interviews == 2 * 2 * 2
    longer = {"phase1": {"runs": 2, "turns": 3}, "stage1": {"runs": 1, "turns": 9}}
    assert seen(other(at=[9]), models=["paid"], languages=["ko"], phases=longer).interviews == 12


def test_a_plan_without_questions_has_the_hash_and_the_runs_that_it_had() -> None:
    plan = reading.read(json.dumps(PLAN))
    assert isinstance(plan, Plan)
    assert "interviews" not in json.dumps(digest(plan))
    assert not plan.interviews
    specs = matrix.specs(plan, "experiment-1")
    assert all(not spec.interviews for spec in specs)
    assert costs.project(plan, PAID).interviews is UNSET
