"""Facts by code: what was ticked is confirmed, what no input holds is refused, all have a state and a source."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.llm.scripted.model import Cast, Said
from playmolt_legal.facts import stipulation
from playmolt_legal.texts import plain
from playmolt_legal.workers.model_worker import ModelWorker
from playmolt_schemas.stored.legal import AttemptMade, FactsStipulated, TurnStarted

from core.tests.effect_scenario import no_long_texts
from core.tests.scenario import like

RECEIPT = {"text": "인수증에 서명이 있다", "quote": "물품을 받았다는 서명이 있다", "evidence": ["E1"]}


def proposal(*confirmed: Any, disputed: Any = (), questions: Any = ()) -> dict[str, Any]:
    return {
        "ConfirmedFacts": list(confirmed),
        "DisputedFacts": list(disputed),
        "MissingFactsQuestions": [{"text": text} for text in questions],
    }


def shown(session: Any, kind: str, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(fact[field] for field in fields) for fact in session.view()["facts"][kind]]


# By code


@pytest.mark.parametrize("confirmed", [(), (RECEIPT,), ({"text": "아무것도 아닌 것", "evidence": ["E1"]},)])
def test_what_both_sides_ticked_is_a_fact_whatever_the_model_writes(session: Any, confirmed: Any) -> None:
    session.facts().spoken(proposal(*confirmed)).then(like(FactsStipulated), like(TurnStarted, phase="JUDGE_R1"))
    first = session.view()["facts"]["confirmed"][0]
    assert (first["id"], first["text"], first["timeline"]) == ("F1", "물품을 인도했다", ["T1"])
    assert (first["state"], first["source"], first["evidence"]) == ("agreed", "agreed", [])


def test_ticked_entries_take_the_first_ids_in_their_order(session: Any) -> None:
    ticked = [{"when": f"{day}일", "what": f"합의된 일 {day}", "agreed": day != 2} for day in (1, 2, 3)]
    session.facts(timeline=ticked).spoken(proposal(RECEIPT))
    assert shown(session, "confirmed", "id", "text", "timeline") == [
        ("F1", "합의된 일 1", ["T1"]), ("F2", "합의된 일 3", ["T3"]), ("F3", "인수증에 서명이 있다", []),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "item", [{"text": "물품이 인도되었다", "quote": "물품을 인도했다", "timeline": ["T1"]},
             {"text": "물품이 인도되었다", "quote": "물품을 인도했다"}],
)  # fmt: skip
def test_a_model_words_what_was_ticked_and_makes_no_second_fact_of_it(session: Any, item: dict[str, Any]) -> None:
    session.facts().spoken(proposal(item))
    assert shown(session, "confirmed", "id", "text", "wording") == [("F1", "물품을 인도했다", "물품이 인도되었다")]


def test_a_proposal_is_confirmed_by_evidence_and_disputed_without(session: Any) -> None:
    unbacked = {"text": "대금을 독촉했다", "evidence": [], "timeline": ["T2"]}
    session.facts().spoken(proposal(RECEIPT, unbacked, {**RECEIPT, "text": "서명이 있다", "evidence": ["E9"]}))
    assert shown(session, "confirmed", "id", "state", "source", "evidence")[1:] == [
        ("F2", "proposed", "evidence", ["E1"])
    ]
    assert shown(session, "disputed", "id", "text", "state", "source") == [
        ("D1", "대금을 독촉했다", "disputed", "model"), ("D2", "서명이 있다", "disputed", "model"),
    ]  # fmt: skip


def test_a_second_stipulation_keeps_the_ids_and_loses_no_fact(session: Any) -> None:
    session.facts().spoken(proposal(RECEIPT, questions=["가?", "나?", "다?"]))
    more = {"timeline": [{"when": "2024-03-07", "what": "잔금을 요구했다", "agreed": True}]}
    session.form("facts", choice="add_facts", facts=more).spoken(proposal())
    assert shown(session, "confirmed", "id", "text") == [
        ("F1", "물품을 인도했다"), ("F3", "잔금을 요구했다"), ("F2", "인수증에 서명이 있다"),
    ]  # fmt: skip


# What stands in no input


@pytest.mark.parametrize(
    ("item", "reason", "particular"),
    [
        ({"text": "대금을 이미 갚았다고 한다"}, "quote_not_found", None),
        ({**RECEIPT, "quote": "서명"}, "quote_not_found", None),
        ({**RECEIPT, "quote": "물품을 보냈으나 물품에 하자가"}, "quote_not_found", None),
        ({**RECEIPT, "quote": "!!!"}, "quote_not_found", None),
        ({**RECEIPT, "text": "2023년 1월 2일에 서명했다"}, "particular_not_supplied", "2023년 1월 2일"),
        ({**RECEIPT, "text": "600만원을 받고 서명했다"}, "particular_not_supplied", "600만원"),
        ({**RECEIPT, "text": "박영희 씨가 서명했다"}, "particular_not_supplied", "박영희"),
        ({**RECEIPT, "text": "민법 제750조에 따라 서명했다"}, "particular_not_supplied", "민법 제750조"),
    ],
)
def test_an_invention_is_refused_and_shown(session: Any, item: Any, reason: str, particular: str | None) -> None:
    session.facts().spoken(proposal(item, RECEIPT))
    refused = {"text": item["text"], "quote": item.get("quote"), "reason": reason, "particular": particular}
    facts = session.view()["facts"]
    assert facts["refused"] == [refused]
    assert [fact["text"] for fact in facts["confirmed"]] == ["물품을 인도했다", "인수증에 서명이 있다"]
    assert session.to("round1").view()["gate"]["refused"] == [refused]
    assert facts["disputed"] == []


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("대금은 오백만 원이다", "대금은 500만원이며 민법 제563조를"),
        ("하자가 있었다고 한다", "물품에 하자가 있었다."),
        ("2024년 3월 5일에 인도했다", "물품을 인도했다"), ("계약서가 있다", "계약서 대금은 ５００만원이며"),
        ("대금을 독촉했다", None),
    ],
)  # fmt: skip
def test_spelling_and_spacing_make_no_invention(session: Any, text: str, quote: str | None) -> None:
    session.facts().spoken(proposal(disputed=[{"text": text} | ({"quote": quote} if quote else {})]))
    assert (session.view()["facts"]["refused"], shown(session, "disputed", "text")) == ([], [(text,)])


def test_a_question_may_ask_what_nobody_told_and_asserts_nothing(session: Any) -> None:
    asked = ["2023년 1월 2일에 약속했는가?", "박영희 씨가 600만원을 받았음을 설명하라."]
    session.facts().spoken(proposal(questions=asked))
    assert shown(session, "questions", "text") == [(asked[0],)]
    assert [item["particular"] for item in session.view()["facts"]["refused"]] == ["600만원"]


def test_what_stood_in_either_reply_stays(session: Any) -> None:
    state = session.facts().state
    first = proposal({**RECEIPT, "timeline": []}, disputed=[{"text": "없던 일이다", "quote": None}])
    second = proposal(disputed=[{"text": "물품에 하자가 있었다.", "quote": None}])
    whole = stipulation.merged(state, first, second)
    assert [plain(item["text"]) for field in whole.values() for item in field] == [
        plain("인수증에 서명이 있다"), plain("물품에 하자가 있었다"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("second", "refused"),
    [(proposal(RECEIPT), 0), (proposal({"text": "또 다른 없던 일이다"}), 1), ({"ConfirmedFacts": 7}, 1)],
)
async def test_a_model_is_asked_once_to_repair_what_stands_nowhere(
    sessions: Callable[..., Any], second: Any, refused: int
) -> None:
    said = [proposal(RECEIPT, {"text": "없던 일이 있었다"}), second]
    heard: list[str] = []

    def character(turn: Any) -> Said:
        heard.append(turn.request.messages[-1].content)
        return Said(msgspec.json.encode(said[min(len(heard), 2) - 1]).decode())

    cast_ = Cast()
    cast_.add(character, alias="scripted-awkward")
    session = sessions(model="scripted-awkward", opened=False)
    session.open(session.body, ("scripted-awkward",)).facts()
    before = len(session.log)
    await session.carried_out(llm_turn=ModelWorker(Models(Catalogue(), MemoryLimits(), cast_), no_long_texts))
    attempts = [event.kind for event, _, _ in session.log[before:] if isinstance(event, AttemptMade)]
    assert attempts == ["ask", "repair"]
    assert "quote_not_found" in heard[1]
    assert "없던 일이 있었다" in heard[1]
    assert len(session.view()["facts"]["refused"]) == refused
    assert shown(session, "confirmed", "text") == [("물품을 인도했다",), ("인수증에 서명이 있다",)]
