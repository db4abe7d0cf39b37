"""The questions: the source's first and unchanged, ours of the same kind."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playmolt_ox import content

SOURCE = tuple(msgspec.json.decode((Path(__file__).parent / "golden" / "source_questions.json").read_bytes()))
QUESTIONS = content.shipped().questions


def test_the_questions_of_the_source_come_first_and_unchanged() -> None:
    assert len(SOURCE) == 15
    assert QUESTIONS[:15] == SOURCE


def test_at_least_35_of_our_own_follow_each_a_statement_in_korean() -> None:
    assert len(QUESTIONS) >= 50
    for question in QUESTIONS:
        assert question.endswith("다")
        assert 5 <= len(question) <= 50


@pytest.mark.parametrize(("language", "script"), [("en", r"[A-Z][A-Za-z ,'-]+"), ("zh", r"[A-Z]*[一-鿿，A-Z]+")])
def test_the_same_questions_are_there_in_other_languages(language: Any, script: str) -> None:
    questions = content.shipped(language).questions
    assert len(questions) == len(QUESTIONS)
    assert content.shipped(language).version != content.shipped().version
    for question in questions:
        assert re.fullmatch(script, question), question
        assert len(question) <= 80


def test_the_version_changes_with_any_text_and_with_the_order() -> None:
    assert content.read(msgspec.json.encode(QUESTIONS)).version == content.shipped().version
    for other in ((*QUESTIONS[:-1], "다른 질문이다"), QUESTIONS[::-1]):
        assert content.read(msgspec.json.encode(other)).version != content.shipped().version


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        (QUESTIONS[:49], "at least 50"),
        ((*QUESTIONS, QUESTIONS[0]), "twice"),
        ((*QUESTIONS, ""), "empty"),
        ((*QUESTIONS, "끝에 빈칸이 있다 "), "not trimmed"),
    ],
)
def test_a_content_file_that_cannot_be_used_says_why(questions: tuple[str, ...], told: str) -> None:
    with pytest.raises(content.ContentError, match=told):
        content.read(msgspec.json.encode(questions))


@pytest.mark.parametrize("source", [b"", b"{}", b"[1]"])
def test_a_file_of_another_shape_is_refused(source: bytes) -> None:
    with pytest.raises(content.ContentError, match=r"questions\.json"):
        content.read(source)
