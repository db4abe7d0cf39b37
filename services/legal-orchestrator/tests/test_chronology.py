"""The chronology: what a date leaves out is taken from the entry before, and the report says so."""

from collections.abc import Sequence
from typing import Any

import pytest
from playmolt_legal.report.chronology import chronology
from playmolt_legal.report.markdown_format import render_md
from playmolt_legal.report.report import report
from playmolt_schemas.games.legal import ChronologyEntry, Report
from playmolt_schemas.stored.legal import Language, TimelineItem


def of(language: Language, *whens: str) -> tuple[ChronologyEntry, ...]:
    return chronology(
        [TimelineItem(id=f"T{n}", when=when, what="…", agreed=False) for n, when in enumerate(whens, 1)], language
    )


def dates(language: Language, *whens: str) -> Sequence[str]:
    """The date of each entry, in the order given."""
    found = {entry.id: entry.date for entry in of(language, *whens)}
    return [found[f"T{n}"] for n in range(1, len(whens) + 1)]


@pytest.mark.parametrize("when", ["12.05.21", "12. 5. 21.", "12.5.21"])
def test_three_short_numbers_begin_with_the_day_in_english(when: str) -> None:
    assert (dates("en", when), dates("ko", when)) == (["2021-05-12"], ["2012-05-21"])


@pytest.mark.parametrize(
    ("language", "before", "when", "date"),
    [
        ("ko", "2024년 1월 10일", "같은 해 3월 5일", "2024-03-05"),
        ("ko", "2024년 1월 10일", "같은해 3월 5일", "2024-03-05"),
        ("ko", "2024년 1월 10일", "동년 3. 5.", "2024-03-05"),
        ("ko", "2024년 2월 28일", "다음 날", "2024-02-29"),
        ("ko", "2024년 12월 31일", "이튿날", "2025-01-01"),
        ("ko", "2024년 3월 5일", "익일 오전 9시", "2024-03-06"),
        ("ko", "2024년 3월 5일", "전날 밤", "2024-03-04"),
        ("ko", "2024년 3월 5일", "같은 날 오후", "2024-03-05"),
        ("ko", "2024년 3월 5일", "사흘 뒤", "2024-03-08"),
        ("ko", "2024년 3월 5일", "2주일 후", "2024-03-19"),
        ("ko", "2024년 1월 31일", "한 달 뒤", "2024-02-29"),
        ("ko", "2024년 3월 5일", "이듬해", "2025"),
        ("ko", "2024년 3월 5일", "이듬해 1월 7일", "2025-01-07"),
        ("ko", "2024년 3월 5일", "다음 달 20일", "2024-04-20"),
        ("ko", "2024년 12월 5일", "익월 초", "2025-01"),
        ("ko", "2024년 3월 5일", "같은 달 20일", "2024-03-20"),
        ("ko", "2024년 3월 5일", "동년 동월 9일", "2024-03-09"),
        ("ko", "2024년 3월 5일", "20일", "2024-03-20"),
        ("ko", "2024년 3월 5일부터 7일까지", "다음 날", "2024-03-08"),
        ("ko", "24년 3월 5일", "4월", "2024-04"),
        ("zh", "2024年1月10日", "同年3月5日", "2024-03-05"),
        ("zh", "2024年1月10日", "次日", "2024-01-11"),
        ("zh", "2024年1月10日", "翌年三月", "2025-03"),
        ("zh", "2024年1月10日", "第二年2月1日", "2025-02-01"),
        ("zh", "2024年1月10日", "当天下午", "2024-01-10"),
        ("zh", "2024年1月10日", "同月二十日", "2024-01-20"),
        ("zh", "2024年1月10日", "次月5日", "2024-02-05"),
        ("zh", "2024年1月10日", "三天后", "2024-01-13"),
        ("zh", "2024年1月10日", "两个月后", "2024-03-10"),
        ("zh", "2024年1月10日", "前一天", "2024-01-09"),
        ("zh", "2024年1月10日", "五月二日", "2024-05-02"),
        ("en", "January 10, 2024", "March 5", "2024-03-05"),
        ("en", "10 January 2024", "5 March", "2024-03-05"),
        ("en", "2024-01-10", "the next day", "2024-01-11"),
        ("en", "2024-01-10", "The following morning", "2024-01-11"),
        ("en", "2024-01-10", "two weeks later", "2024-01-24"),
        ("en", "2024-01-10", "a month later", "2024-02-10"),
        ("en", "2024-01-10", "May 3 of the following year", "2025-05-03"),
        ("en", "2024-01-10", "the same month, the 20th", "2024-01-20"),
        ("en", "2024-01-10", "the day before", "2024-01-09"),
        ("en", "2024-01-10", "3/5", "2024-03-05"),
        ("en", "December 20 to 22, 2024", "the next day", "2024-12-23"),
    ],
)
def test_what_a_date_leaves_out_is_taken_from_the_entry_before(
    language: Language, before: str, when: str, date: str
) -> None:
    assert dates(language, before, when)[1] == date
    assert {entry.id: entry.inferred_from for entry in of(language, before, when)} == {"T1": None, "T2": "T1"}


@pytest.mark.parametrize(
    ("language", "when"),
    [
        ("ko", "3월 5일"), ("ko", "같은 해 3월 5일"), ("ko", "다음 날"), ("ko", "언젠가"), ("ko", "작년 3월"),
        ("ko", "3일 전"), ("zh", "3月5日"), ("zh", "次日"), ("zh", "去年3月"), ("zh", "三天前"), ("en", "March 5"),
        ("en", "the next day"),
        ("en", "last year"), ("en", "two days ago"), ("en", "yesterday"), ("en", "after that"), ("en", ""),
    ],
)  # fmt: skip
def test_a_date_that_cannot_be_known_is_never_first(language: Language, when: str) -> None:
    entries = of(language, when, "2024-03-05", "2023-03-05")
    assert [(entry.id, entry.date) for entry in entries] == [("T3", "2023-03-05"), ("T2", "2024-03-05"), ("T1", "")]


@pytest.mark.parametrize(
    ("language", "whens"),
    [
        ("ko", ("2024-01-10", "작년 3월")),
        ("zh", ("2024年1月10日", "去年3月5日")),
        ("en", ("2024-01-10", "March of last year")),
    ],
)
def test_a_date_that_counts_from_the_day_of_writing_is_not_guessed(language: Language, whens: tuple[str, ...]) -> None:
    assert dates(language, *whens)[1] == ""


@pytest.mark.parametrize(
    "whens",
    [
        ("2024년 1월 10일", "2024년 3월 5일", "같은 해", "그해 여름", "4월 2일"),
        ("2024년 1월 10일", "2024년 3월 5일", "3월", "같은 달", "4월 2일"),
        ("2024년 1월 10일", "언젠가", "3월 5일", "다음 날", "이듬해"),
    ],
)
def test_an_inferred_date_is_never_before_the_entry_that_it_was_taken_from(whens: tuple[str, ...]) -> None:
    entries = [entry.id for entry in of("ko", *whens) if entry.date]
    assert entries == sorted(entries)


@pytest.mark.parametrize(
    "when",
    ["2024-02-30", "9999-12-31", "13/13/2024", "99월 99일", "4000년 뒤", "同年" * 50, "1" * 300, "０월", "0001-01-01"],
)
def test_odd_dates_lose_no_entry(when: str) -> None:
    assert len(of("ko", "9998-12-31", when, "다음 날", "백 년 뒤", "4000년 뒤")) == 5


@pytest.mark.parametrize("language", ["ko", "en", "zh"])
def test_the_report_says_what_was_inferred_and_what_has_no_date(sessions: Any, language: Language) -> None:
    words = {
        "ko": ("2024년 1월 10일", "같은 해 3월 5일", "언젠가", "2024년 3월 5일로 추정", "날짜를 알 수 없는 일"),
        "en": ("January 10, 2024", "March 5", "some day", "5 March 2024, inferred", "Without a date"),
        "zh": ("2024年1月10日", "同年3月5日", "某天", "推断为2024年3月5日", "日期不明"),
    }[language]
    session = sessions(language=language)
    session.facts(timeline=[{"when": when, "what": f"… {when}"} for when in words[:3]]).to("FINALIZE_DONE")
    made = report(session.state)
    assert isinstance(made, Report)
    assert [(entry.date, entry.inferred_from) for entry in made.chronology] == [
        ("2024-01-10", None), ("2024-03-05", "T1"), ("", None),
    ]  # fmt: skip
    written = render_md(made)
    assert all(text in written for text in words[3:])
