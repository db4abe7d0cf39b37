"""Whose side the person is on, and how likely it wins: asked of the judge from round 2 on, for that side alone."""

import json
from typing import Any

import pytest
from playmolt_legal import effects, outputs
from playmolt_legal.guardrails import guardrails
from playmolt_legal.report.report import report
from playmolt_legal.roles import prompts
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.legal import DraftSetAside, GuardrailHit

from core.tests.scenario import like

GOOD = {"low": 30, "high": 50, "text": "인도 사실에 달려 있다", "basis": ["F1"]}


def asked(session: Any) -> str:
    (effect,) = effects.effects(session.state)
    return json.dumps(prompts.prompt(session.state, effect.payload), ensure_ascii=False)


@pytest.mark.parametrize("side", ["claimant", "opposing", "neutral"])
def test_a_session_keeps_the_side_of_its_person(sessions: Any, side: str) -> None:
    session = sessions(side=side).to("JUDGE_R1")
    words = {"claimant": "원고 측", "opposing": "피고 측", "neutral": "중립"}
    assert session.view()["side"] == side
    for _ in range(4):
        assert f"당사자의 입장: {words[side]}." in asked(session)
        session.spoken()
    session.to("end").form("end", resolution="new_session")
    assert session.decider.successor(session.state).side == side


def test_who_says_nothing_is_neutral_and_another_side_is_refused(sessions: Any) -> None:
    assert sessions().view()["side"] == "neutral"
    session = sessions(opened=False)
    session.open({**session.body, "side": "mine"}).refused(Code.INVALID_REQUEST, "side")


def test_the_judge_is_asked_from_round_2_on(sessions: Any) -> None:
    session = sessions(side="opposing").to("JUDGE_R1")
    assert "Likelihood" not in asked(session)
    assert "피고 측이 이길 가능성" in asked(session.to("JUDGE_R2"))
    assert "Likelihood" in outputs.schema("judge", "civil", 2)["required"]


def test_a_reply_without_it_is_taken(session: Any) -> None:
    answer = {
        **session.to("JUDGE_R2").state.turns[0].output,
        "DecisionRange": "조건부",
        "RecommendedNextSteps": ["확인"],
    }
    assert outputs.fault(answer, "JUDGE_R2", "civil") is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (GOOD, True), ({**GOOD, "low": 5, "high": 95}, True), ({**GOOD, "low": 40}, True), ({**GOOD, "low": 41}, False),
        ({**GOOD, "low": 4}, False), ({**GOOD, "high": 96}, False), ({**GOOD, "low": 30.5}, False),
        ({**GOOD, "basis": []}, False), ({**GOOD, "basis": ["F9"]}, False), ({**GOOD, "basis": ["D1"]}, False),
        ({**GOOD, "text": " "}, False), ("70%", False), (None, False), ({**GOOD, "sure": True}, False),
    ],
)  # fmt: skip
def test_an_estimate_out_of_bounds_or_without_a_basis_is_left_out(session: Any, given: Any, kept: bool) -> None:
    turn = session.to("JUDGE_R2").spoken(Likelihood=given).view()["turns"][-1]
    assert turn["phase"] == "JUDGE_R2"
    assert turn["output"].get("Likelihood") == (given if kept else None)
    assert list(turn["output"])[-1] == "SteeringComplianceCheck"


@pytest.mark.parametrize(
    ("side", "told"), [("neutral", "claimant"), ("claimant", "claimant"), ("opposing", "opposing")]
)
def test_the_report_says_the_newest_one_for_that_side(sessions: Any, side: str, told: str) -> None:
    session = sessions(side=side).to("JUDGE_R3").spoken(Likelihood=GOOD).to("FINALIZE_DONE")
    made: Any = report(session.state)
    assert (made.side, made.likelihood.side, made.likelihood.low, made.likelihood.basis) == (side, told, 30, ["F1"])


PERCENT = [
    "승소 확률은 70%이다.", "70%의 확률로 승소한다.", "We have a 70% chance to win.",
    "He is 80 percent likely to be convicted.",
    "기각 가능성이 60퍼센트이다.",
]  # fmt: skip
NO_PERCENT = [
    "지분 30%를 가졌다.", "대금의 30%가 남았다.", "Thirty boxes, 30% of all, were late.", "승소 확률이 70%인가?",
    "It owns 30% of the shares and may be liable.", '상대방은 "승소 확률 70%"라고 했다.',
]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "hit"), [(each, True) for each in PERCENT] + [(each, False) for each in NO_PERCENT]
)
def test_an_outcome_in_per_cent_is_certain_advice_anywhere_else(session: Any, sentence: str, hit: bool) -> None:
    state = session.to("JUDGE_R2").state
    found = guardrails.inspect(state, {"MissingEvidence": [sentence], "Likelihood": {**GOOD, "text": sentence}})
    assert [(each.check, each.field) for each in found.hits] == [("certain_advice", "MissingEvidence")] * hit


def test_what_an_estimate_makes_up_is_a_hit(session: Any) -> None:
    session.to("JUDGE_R2").spoken(Likelihood={**GOOD, "text": "600만원의 합의에 달려 있다"})
    assert session.decision.events == (like(GuardrailHit, check="unsupported_fact"), like(DraftSetAside))
