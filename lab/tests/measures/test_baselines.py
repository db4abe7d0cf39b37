"""Answers of people: every fault of a file with its line, and the distance of models to them."""

import math
from typing import Any

import pytest
from playmolt_agora.measures import baselines
from playmolt_agora.measures.interviews import Answered
from playmolt_schemas.instrument.baseline_file import Baseline, BaselineTerms, read
from playmolt_schemas.stored.agora.turn import Interview, InterviewAsk, InterviewChoices, InterviewScale

ASK = InterviewAsk(ko="?", en="?")
TRUST = Interview(id="trust", at=(0, 9), ask=ASK, scale=InterviewScale(from_=1, to=3))
DEAL = Interview(
    id="deal", at=(9,), ask=ASK, choices=InterviewChoices(ko=("나눈다", "갖는다"), en=("Share, all", "Keep"))
)
TERMS = BaselineTerms(
    conditions=("phase1", "phase1/ko", "phase1/other/ko"), items={"trust": TRUST, "trust@9": TRUST, "deal": DEAL}
)
HEAD = "# source: a survey\n# licence: CC0\ncondition,item,answer,count\n"


def faults(text: str) -> list[tuple[int | None, str, str]]:
    found = read("people", text, TERMS)[1]
    assert {fault.file for fault in found} <= {"baselines/people.csv"}
    return [(fault.line, fault.field, fault.code) for fault in found]


def sound(text: str) -> Baseline:
    found, wrong = read("people", text, TERMS)
    assert wrong == ()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "line", "field", "code"),
    [
        ("# licence: CC0\ncondition,item,answer,count\nphase1,trust,1,2\n", 1, "source", "baseline_header"),
        ("# source: a\ncondition,item,answer,count\nphase1,trust,1,2\n", 1, "licence", "baseline_header"),
        ("# source:\n# licence: CC0\ncondition,item,answer,count\nphase1,trust,1,2\n", 1, "source", "baseline_header"),
        ("# source: a\n# licence: CC0\n", 3, "", "baseline_header"),
        ("# source: a\n# licence: CC0\ncondition;item;answer;count\n", 3, "", "baseline_header"),
        ("# source: a\n# licence: CC0\nitem,answer,count\ntrust,1,2\n", 3, "condition", "baseline_header"),
        ("# source: a\n# licence: CC0\ncondition,item,answer\nphase1,trust,1\n", 3, "count", "baseline_persons"),
        ("# source: a\n# licence: CC0\nperson,condition,item,answer,count\n", 3, "person", "baseline_persons"),
        (f"{HEAD}phase1,trust,1,-2\n", 4, "count", "out_of_range"),
        (f"{HEAD}phase1,trust,1,2.5\n", 4, "count", "wrong_type"),
        (f"{HEAD}phase1,trust,1,\n", 4, "count", "wrong_type"),
        (f"{HEAD}phase1,trust,1,２\n", 4, "count", "wrong_type"),
        (f"{HEAD}phase1,trust,1,9999999999\n", 4, "count", "out_of_range"),
        (f"{HEAD}phase9,trust,1,2\n", 4, "condition", "unknown_condition"),
        (f"{HEAD}phase1,why,1,2\n", 4, "item", "unknown_item"),
        (f"{HEAD}phase1,trust@3,1,2\n", 4, "item", "unknown_item"),
        (f"{HEAD}phase1,trust,4,2\n", 4, "answer", "out_of_range"),
        (f"{HEAD}phase1,deal,Burn,2\n", 4, "answer", "out_of_range"),
        (f"{HEAD}phase1,trust,1,2\n\nphase1,trust,1,3\n", 6, "answer", "duplicate_row"),
        (f"{HEAD}phase1,deal,2,2\nphase1,deal,Keep,3\n", 5, "answer", "duplicate_row"),
        (f"{HEAD}phase1,trust,1\n", 4, "", "wrong_type"),
        (f"{HEAD}phase1,trust,1,0\nphase1,trust,2,0\n", 4, "count", "out_of_range"),
        (f'{HEAD}phase1,trust,1,"2\n', 4, "", "unreadable"),
    ],
)
def test_a_fault_has_its_line(text: str, line: int, field: str, code: str) -> None:
    assert faults(text) == [(line, field, code)]


def test_all_faults_come_at_once() -> None:
    text = "# source: a\ncondition,item,answer,count\nphase9,why,1,-1\nphase1,trust,9,x\nphase1,trust,1,1\n"
    assert faults(text) == [
        (1, "licence", "baseline_header"),
        (3, "condition", "unknown_condition"),
        (3, "item", "unknown_item"),
        (3, "count", "out_of_range"),
        (4, "answer", "out_of_range"),
        (4, "count", "wrong_type"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_sheets_of_every_program_are_read(mark: str, end: str) -> None:
    lines = (
        "# Licence: CC BY 4.0", "#source : Kim, 2024", "# a further remark", "", '"item","condition","count","answer"',
        'deal,phase1,"12","Share, all"', ' deal , phase1/ko ,3, 갖는다 ', "trust@9,phase1,0,1",
        "trust@9,phase1,4,3", "",
    )  # fmt: skip
    found = sound(mark + end.join(lines))
    assert (found.source, found.licence) == ("Kim, 2024", "CC BY 4.0")
    assert [(row.condition, row.item, row.answer, row.count) for row in found.rows] == [
        ("phase1", "deal", 1, 12), ("phase1/ko", "deal", 2, 3),
        ("phase1", "trust@9", 1, 0), ("phase1", "trust@9", 3, 4),
    ]  # fmt: skip


def answers(run: str, *values: int | None, turn: int = 9, **fields: Any) -> list[Answered]:
    known: dict[str, Any] = {
        "run": run, "turn": turn, "id": "trust", "cell": "phase1/m/ko", "phase": "phase1", "set": None, "model": "m",
        "language": "ko", "persona": None, "exploratory": False, "kind": "scale", "choice": None, "text": None,
        "prompt_tokens": 1, "completion_tokens": 1, "cost": "0",
    }  # fmt: skip
    return [
        Answered(**{**known, "agent": f"a{n}", "value": value, "parse_code": "ok" if value else "refusal", **fields})
        for n, value in enumerate(values)
    ]


def row(text: str, *given: list[Answered]) -> dict[str, Any]:
    (found,) = baselines.rows([sound(HEAD + text)], [each for run in given for each in run], TERMS, "7")
    return found.row


def test_a_choice_whose_text_is_a_number_is_named_by_it() -> None:
    amounts = Interview(id="amount", at=(9,), ask=ASK, choices=InterviewChoices(ko=("10", "20"), en=("10", "20")))
    terms = BaselineTerms(conditions=("phase1",), items={"amount": amounts})
    found, wrong = read("people", f"{HEAD}phase1,amount,20,3\nphase1,amount,1,4\n", terms)
    assert wrong == ()
    assert found is not None
    assert [(row.answer, row.count) for row in found.rows] == [(2, 3), (1, 4)]


def test_the_distance_is_in_bits_with_the_smoothing_of_the_measures() -> None:
    apart = row("phase1,trust,1,600\n", answers("r0", *[3] * 300), answers("r1", *[3] * 300))
    assert (apart["alpha"], apart["jsd"], apart["people"], apart["answers"]) == (0, 1.0, 600, 600)
    few = row("phase1,trust,1,2\nphase1,trust,3,2\n", answers("r0", 1, 3), answers("r1", 1, 3))
    assert (few["alpha"], few["jsd"]) == (0.5, pytest.approx(0.0, abs=1e-12))
    small = row("phase1,trust,1,3\n", answers("r0", 3, 3, 3))
    one, other = 3.5 / 4.5, 0.5 / 4.5
    middle = (one + other) / 2
    parts = one * math.log2(one / middle) + other * math.log2(other / middle)
    assert small["jsd"] == pytest.approx(parts)


def test_the_calibration_is_the_models_mean_minus_that_of_people() -> None:
    found = row("phase1,trust,1,1\nphase1,trust,3,3\n", answers("r0", 3, 3), answers("r1", 3, 2))
    assert (found["mean_people"], found["mean_model"], found["calibration"]) == (2.5, 2.75, 0.25)
    assert found["calibration_lo"] <= 0.25 <= found["calibration_hi"]
    assert found["ci_lo"] < found["ci_hi"]
    assert found["indicative"]


def test_the_interval_is_over_people_too() -> None:
    runs = [answers(f"r{n}", *values) for n, values in enumerate([(1, 2, 3, 3)] * 3 + [(1, 2, 2, 3)] * 3)]
    few, many = (row(f"phase1,trust,1,{n}\nphase1,trust,2,{n}\nphase1,trust,3,{2 * n}\n", *runs) for n in (3, 3000))
    assert few["calibration_hi"] - few["calibration_lo"] > 2 * (many["calibration_hi"] - many["calibration_lo"])


def test_where_nothing_varies_or_nothing_is_valid_there_is_no_interval() -> None:
    for given in ([answers("r0", 1, 2)], [answers("r0", 1, 2), answers("r1", 1, 2)]):
        found = row("phase1,trust,1,5\n", *given)
        assert (found["ci_lo"], found["calibration_lo"]) == (None, None)
        assert found["jsd"] is not None
    silent = row("phase1,trust,1,5\n", answers("r0", None, None))
    assert (silent["asked"], silent["answers"], silent["jsd"], silent["mean_model"]) == (2, 0, None, None)


def test_a_condition_and_a_time_choose_the_answers() -> None:
    given = (answers("r0", 1, turn=0), answers("r0", 3), answers("r1", 2, language="en"))
    assert row("phase1,trust,1,5\n", *given)["answers"] == 3
    assert row("phase1/ko,trust,1,5\n", *given)["answers"] == 2
    assert row("phase1/ko,trust@9,1,5\n", *given)["mean_model"] == 3
    others = (*given, answers("r2", 2, model="other"))
    assert row("phase1/other/ko,trust,1,5\n", *others)["runs"] == 1
