"""The cases: the source's first and unchanged, ours in the same shape."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playmolt_schemas.stored.trial import Case
from playmolt_trial import content

SOURCE = msgspec.json.decode((Path(__file__).parent / "golden" / "source_cases.json").read_bytes())
CASES = content.shipped().cases


def test_the_cases_of_the_source_come_first_and_unchanged() -> None:
    assert len(SOURCE) == 3
    assert CASES[:3] == msgspec.convert(SOURCE, tuple[Case, ...])


def test_at_least_nine_cases_of_our_own_follow_in_the_same_shape() -> None:
    assert len(CASES) >= 12
    assert [case.case_id for case in CASES] == [f"case_{n:03}" for n in range(1, len(CASES) + 1)]
    assert all(len(case.evidence_for) == len(case.evidence_against) == 2 for case in CASES)
    assert all(case.title.endswith("사건") for case in CASES)


@pytest.mark.parametrize(("language", "foreign"), [("en", "[^\x00-\x7f]"), ("zh", "[가-힣a-z]")])
def test_the_same_cases_are_there_in_other_languages(language: Any, foreign: str) -> None:
    cases = content.shipped(language).cases
    assert [case.case_id for case in cases] == [case.case_id for case in CASES]
    assert content.shipped(language).version != content.shipped().version
    for case, own in zip(cases, CASES, strict=True):
        texts = (case.title, case.description, *case.evidence_for, *case.evidence_against)
        assert not [text for text in texts if re.search(foreign, text)]
        assert len(case.evidence_for) == len(own.evidence_for)


def test_the_version_changes_with_any_text() -> None:
    changed = (msgspec.structs.replace(CASES[0], title="x"), *CASES[1:])
    assert content.read(msgspec.json.encode(CASES)).version == content.shipped().version
    assert content.read(msgspec.json.encode(changed)).version != content.shipped().version


def _case(**changes: object) -> Case:
    return msgspec.structs.replace(CASES[0], **changes)


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        (CASES[:11], "at least 12"),
        ((*CASES, CASES[0]), "case_001"),
        ((_case(title=" x"), *CASES[1:]), "not trimmed"),
        ((_case(description=""), *CASES[1:]), "empty"),
        ((_case(evidence_for=("one",)), *CASES[1:]), "same number"),
        ((_case(evidence_for=(), evidence_against=()), *CASES[1:]), "at least one"),
    ],
)
def test_a_content_file_that_cannot_be_used_says_why(cases: tuple[Case, ...], told: str) -> None:
    with pytest.raises(content.ContentError, match=told):
        content.read(msgspec.json.encode(cases))


@pytest.mark.parametrize("source", [b"", b"{}", b'[{"case_id": 1}]'])
def test_a_file_of_another_shape_is_refused(source: bytes) -> None:
    with pytest.raises(content.ContentError, match=r"cases\.json"):
        content.read(source)
