"""Questions asked aside and answers of people, from the log to tables, report and bundle."""

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from playmolt_agora.bundle import verify
from playmolt_agora.report import page
from playmolt_agora.report.assembly import asides_of, prompts_aside, turns_of
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.transcript import Format, transcript

from lab.tests.bundle.conftest import Played, answered, exported, play

PLAN: dict[str, Any] = {
    "name": "aside", "seed": "3", "models": ["scripted-steady", "scripted-trader"], "languages": ["ko", "en"],
    "phases": {"phase1": {"runs": 3, "turns": 2}},
    "interviews": [
        {
            "id": "trust", "at": [0, 2], "ask": {"ko": "믿습니까?", "en": "Do you trust them?"},
            "scale": {"from": 1, "to": 7},
        },
        {
            "id": "deal", "at": [0, 1], "ask": {"ko": "어떻게?", "en": "What now?"}, "who": "merchant",
            "choices": {"ko": ["나눈다", "갖는다"], "en": ["Share", "Keep"]},
        },
        {"id": "why", "at": [2], "ask": {"ko": "왜?", "en": "Why?"}, "text": True, "code": True, "who": "jester"},
    ],
}  # fmt: skip
PEOPLE = """\ufeff# source: a survey of students\r
# licence: CC-BY-4.0\r
condition,item,answer,count\r
phase1,trust,4,30\r
phase1,trust,7,10\r
"phase1/ko","deal","나눈다",12\r
phase1/ko,deal,2,8\r
"""
FILES = {"baselines/students.csv": PEOPLE}


@pytest.fixture(scope="module")
def asked() -> Played:
    return play(json.dumps(PLAN), FILES)


@pytest.fixture(scope="module")
def study(asked: Played) -> StudyData:
    return answered(asked, FILES)


@pytest.fixture(scope="module")
def plain() -> StudyData:
    return answered(play(json.dumps({**PLAN, "interviews": []})))


def test_every_question_is_a_row_of_its_table(study: StudyData) -> None:
    found = study.tables["interviews"]
    counted = {name: sum(row["id"] == name for row in found) for name in ("trust", "deal", "why")}
    assert counted == {"trust": 12 * 12 * 2, "deal": 12 * 2 * 2, "why": 12 * 2}
    for row in found:
        given = [name for name in ("value", "choice", "text") if row[name] is not None]
        kind = {"scale": "value", "choices": "choice", "text": "text"}[row["kind"]]
        assert given == ([kind] if row["parse_code"].startswith("ok") else [])
    assert {row["persona"] for row in found if row["id"] == "deal"} == {"merchant"}


def test_changes_go_from_the_first_to_the_last_time_with_runs_as_units(study: StudyData) -> None:
    found = study.tables["interview_changes"]
    trust = [row for row in found if row["id"] == "trust"]
    assert {(row["model"], row["language"]) for row in trust} == {
        (model, language) for model in PLAN["models"] for language in ("ko", "en")
    }
    for row in trust:
        assert (row["first_turn_asked"], row["last_turn_asked"], row["runs"], row["labelings"]) == (0, 2, 3, 8)
        assert (row["asked"], row["p_min"]) == (36, 0.25)
        assert row["valid"] <= row["asked"]
        assert row["p"] is None or row["p"] in {0.25, 0.5, 0.75, 1.0}
    assert {row["answer"] for row in found if row["id"] == "deal"} == {"1", "2"}
    assert not any(row["id"] == "why" for row in found), "asked once, so that nothing can change"


def test_judges_code_answers_in_words_apart_from_thoughts(study: StudyData, plain: StudyData) -> None:
    codes = study.tables["interview_codes"]
    words = [row for row in study.tables["interviews"] if row["text"] is not None]
    assert len(codes) == len(words) > 10
    assert {row["judge"] for row in codes} == {"scripted-wild"}
    assert study.tables["kappa"] == plain.tables["kappa"]
    labels = {row["answer"] for row in study.tables["interview_levels"] if row["id"] == "why"}
    assert labels == {"answered", "survival, scripted-wild", "social, scripted-wild"}


def test_no_other_table_depends_on_them(study: StudyData, plain: StudyData) -> None:
    left_out = {"interviews", "interview_levels", "interview_changes", "interview_codes", "baselines", "costs", "runs"}
    for name in plain.tables.keys() - left_out:
        one, other = (
            [{column: value for column, value in row.items() if column != "run"} for row in each.tables[name]]
            for each in (study, plain)
        )
        assert one == other, name


def test_people_are_counted_and_enter_no_test(study: StudyData, asked: Played) -> None:
    found = study.tables["baselines"]
    assert [(row["condition"], row["item"], row["model"], row["people"], row["runs"]) for row in found] == [
        ("phase1", "trust", "scripted-steady", 40, 6),
        ("phase1", "trust", "scripted-trader", 40, 6),
        ("phase1/ko", "deal", "scripted-steady", 20, 3),
        ("phase1/ko", "deal", "scripted-trader", 20, 3),
    ]
    trust, deal = found[0], found[2]
    assert trust["mean_people"] == 4.75
    assert trust["calibration"] == trust["mean_model"] - 4.75
    assert 0 <= trust["ci_lo"] <= trust["ci_hi"] <= 1
    assert (deal["mean_people"], deal["calibration"], deal["calibration_lo"]) == (None, None, None)
    without = answered(asked)
    assert "baselines" not in without.tables
    assert study.tables["tests"] == without.tables["tests"]


def test_the_report_has_a_chapter_and_only_where_something_was_asked(study: StudyData, plain: StudyData) -> None:
    shown = page.render(study, {})
    for words in (
        "Questions asked aside",
        "Do you trust them?",
        "Distance to people",
        "CC-BY-4.0",
        "enters no registered",
    ):
        assert words in shown
    assert "Questions asked aside" not in page.render(plain, {})
    silent = [{**row, "value": None, "choice": None, "text": None} for row in study.tables["interviews"]]
    unanswered = page.render(replaced(study, {"interviews": silent}), {})
    assert "0 of 72 answers valid" in unanswered


def replaced(study: StudyData, tables: Mapping[str, Any]) -> StudyData:
    return msgspec.structs.replace(study, tables={**study.tables, **tables})


def test_the_bundle_holds_the_table_and_every_prompt(asked: Played, tmp_path: Path) -> None:
    out = tmp_path / "aside"
    exported(asked, out, FILES)

    def faults() -> list[str]:
        verifier = verify.Verifier(verify.opened(out))
        verifier.check()
        return [fault for fault in verifier.faults if "SHA-256" not in fault and "manifest" not in fault]

    assert faults() == []
    prompt = min(prompts_aside((), asked.runs))
    kept = (out / "prompts" / f"{prompt}.json").read_bytes()
    (out / "prompts" / f"{prompt}.json").unlink()
    assert faults() == [f"prompts/{prompt}.json: a question used this prompt, which is not in the bundle"]
    (out / "prompts" / f"{prompt}.json").write_bytes(kept)
    table = out / "interviews.csv"
    read = list(csv.DictReader(io.StringIO(table.read_text("utf-8"))))
    at = next(number for number, row in enumerate(read) if row["value"])
    lines = table.read_text("utf-8").splitlines(keepends=True)
    name = f"to {read[at]['agent']} after turn {read[at]['turn']} of {read[at]['run']}"
    table.write_text("".join(line for number, line in enumerate(lines) if number != at + 1), "utf-8")
    assert faults() == [f"interviews.csv: lacks question trust {name}, as the log has it"]
    changed = {**read[at], "value": "1" if read[at]["value"] != "1" else "2"}
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, read[0])
        writer.writeheader()
        writer.writerows(changed if number == at else row for number, row in enumerate(read))
    assert faults() == [
        f"interviews.csv: lacks question trust {name}, as the log has it",
        f"interviews.csv: has question trust {name}, which differs from the log",
    ]


def test_a_transcript_shows_questions_in_their_place_as_outside_the_run(asked: Played) -> None:
    run, records = next(
        (run, records) for run, records in asked.runs.items() if asides_of(records)[0].event.language == "en"
    )
    turns, asides = turns_of({run: records}), asides_of(records)
    text = transcript(turns, "text", title="t", asides=asides)
    blocks = text.removesuffix("\n\n").split("\n\n")
    heads = [block.split("]")[0].removeprefix("[") for block in blocks]
    every = ["0.trust", "0.deal", *(f"1.{order}" for order in range(1, 13)), "1.deal",
             *(f"2.{order}" for order in range(1, 13)), "2.trust", "2.why"]  # fmt: skip
    assert list(dict.fromkeys(heads)) == every
    assert {head: heads.count(head) for head in every if head[-1].isalpha()} == {
        "0.trust": 12, "0.deal": 2, "1.deal": 2, "2.trust": 12, "2.why": 2,
    }  # fmt: skip
    assert all((" · outside the run" in block) == block.split("]")[0][-1].isalpha() for block in blocks)
    by_kind = {head: block for head, block in zip(heads, blocks, strict=True) if "answer: " in block}
    assert re.search(r"\nasks: Do you trust them\?\nanswer: [1-7] \(1 to 7\)\nresult: ok$", by_kind["2.trust"])
    assert re.search(r"\nanswer: (1 \(Share\)|2 \(Keep\))\n", by_kind["1.deal"])
    without = [transcript(turns, kind, title="t") for kind in get_args(Format)]
    for kind, plain in zip(get_args(Format), without, strict=True):
        lines = iter(transcript(turns, kind, title="t", asides=asides).splitlines())
        assert all(line in lines for line in plain.splitlines()), "the turns are as they were"
    page = transcript(turns, "html", title="t", asides=asides)
    assert (page.count("<article "), page.count("<aside ")) == (24, len(asides))
    assert '<aside data-turn="2" data-question="why" data-agent="' in page


def test_what_was_asked_aside_and_not_answered_shows_its_reply_and_steers_no_page(asked: Played) -> None:
    aside = next(aside for aside in asides_of(next(iter(asked.runs.values()))) if aside.question.id == "trust")
    event = msgspec.structs.replace(aside.event, parse_code="refusal", value=None, raw_reply="<b>no</b>\n*never*")
    failed = aside._replace(event=event)
    shown = transcript([], "text", title="t", asides=[failed])
    assert shown.endswith("result: refusal\nraw: <b>no</b>\n  *never*\n\n")
    assert r"- raw: \<b\>no\</b\>" in transcript([], "md", title="t", asides=[failed])
    assert "<b>" not in transcript([], "html", title="t", asides=[failed])
    prompted = transcript([], "text", title="t", asides=[failed], prompts=asked.prompts)
    assert prompted.index("system: ") < prompted.index("user: ") < prompted.index("asks: ")
