"""Texts as others are shown them: what a line and a speech may hold, and how a line is sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_schemas.body_fields import BodyFields
from playmolt_schemas.text import escape_line_ends

LINE_ENDS = "\u0085\u2028\u2029"
CONTROLS = "\x07\x0b\x0c\x1b\x7f\x80\x9b\u202e\u2066\u200f"


@given(st.text(st.characters(codec="utf-8")))
def test_json_on_one_line_says_the_same(text: str) -> None:
    written = escape_line_ends(json.dumps({"text": text}, ensure_ascii=False).encode())
    assert json.loads(written) == {"text": text}
    assert len(written.decode().splitlines()) == 1


def test_ends_of_lines_are_escaped_and_all_else_stays() -> None:
    assert (
        escape_line_ends('"a\u0085b\u2028c\u2029d é 말 😀"'.encode()) == '"a\\u0085b\\u2028c\\u2029d é 말 😀"'.encode()
    )


def faults(read: str, text: str) -> list[str]:
    fields = BodyFields({"it": text})
    getattr(fields, read)("it", 100)
    return [fault.field for fault in fields.faults]


@pytest.mark.parametrize("char", LINE_ENDS + "\t\n")
def test_speech_takes_ends_of_lines_and_a_title_does_not(char: str) -> None:
    assert faults("spoken", f"a{char}b") == []
    assert faults("line", f"a{char}b") == ["it"]


@pytest.mark.parametrize("char", CONTROLS)
def test_controls_are_refused_in_both(char: str) -> None:
    assert faults("spoken", f"a{char}b") == faults("line", f"a{char}b") == ["it"]


def test_a_title_shows_something() -> None:
    assert faults("line", "\u200b\u2800") == ["it"]
    assert faults("line", "재판 1") == []
