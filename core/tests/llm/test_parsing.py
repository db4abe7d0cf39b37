"""The ladder: exact JSON, one object alone in a code fence, else a fault that a model can put right."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_core.llm.parsing import DEPTH, Parsed, Unparsed, parse_arguments, parse_object
from playmolt_core.llm.port import ToolCall
from playmolt_schemas.canonical import canonical_json

STATEMENT = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1, "maxLength": 5},
        "basis": {"anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 1}, {"const": "Unknown"}]},
        "status": {"enum": ["Go", "No-Go"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 3},
    },
    "required": ["text", "basis"],
    "additionalProperties": False,
}


def fault(text: str, schema: dict[str, Any] | None = None) -> str:
    parsed = parse_object(text, schema)
    assert isinstance(parsed, Unparsed), parsed
    return parsed.detail


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' \n{"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        '  ```JSON\n\n{"a": 1}\n\n```  \n',
        '~~~\n{"a": 1}\n~~~',
    ],
)
def test_an_object_is_taken_bare_or_alone_in_a_fence(text: str) -> None:
    assert parse_object(text) == Parsed({"a": 1})


@pytest.mark.parametrize(
    "text",
    [
        'Here it is: {"a": 1}',
        '{"a": 1} I hope it helps.',
        'Sure!\n```json\n{"a": 1}\n```',
        '```json\n{"a": 1}\n```\nAnything else?',
        '```json\n{"a": 1}\n{"a": 2}\n```',
        '```json\n{"a": 1}\n```\n```json\n{"a": 1}\n```',
        '```json\n```json\n{"a": 1}\n```\n```',
        "{'a': 1}",
        '{"a": 1,}',
        '{"a": 1',
        '// a\n{"a": 1}',
    ],
)
def test_anything_around_or_missing_is_a_fault_with_its_place(text: str) -> None:
    assert "no JSON" in fault(text)
    assert "line" in fault(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("[]", "an array"),
        ('"a"', "a string"),
        ("null", "null"),
        ("true", "a boolean"),
        ("5", "the number 5"),
        ('{"a": 1, "a": 1}', '"a" stands twice'),
        ('{"x": [{"b": 1, "b": 2}]}', '"b" stands twice'),
        ('{"a": 1, "\\u0061": 1}', '"a" stands twice'),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": 9007199254740993}', "too large"),
        ('{"a": ' + "9" * 5000 + "}", "too large"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"\\u0000": 1}', "NUL"),
        ('{"a":' * 100_000, "nested"),
        ('{"a":' * (DEPTH + 1) + "1" + "}" * (DEPTH + 1), "nested"),
    ],
)
def test_what_json_or_the_log_cannot_hold_is_named(text: str, says: str) -> None:
    assert says in fault(text)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"text": 5}, "text: is the number 5, has to be string"),
        ({"text": None}, "text: is null, has to be string"),
        ({"text": ""}, "text: has 0 characters, at least 1 are wanted"),
        ({"text": "123456"}, "text: has 6 characters, at most 5 are wanted"),
        ({"status": "go"}, 'status: is "go", has to be one of "Go", "No-Go"'),
        ({"count": 1.0}, "count: is the number 1.0, has to be integer"),
        ({"count": True}, "count: is a boolean, has to be integer"),
        ({"count": 4}, "count: is 4, has to be at most 3"),
        (
            {"basis": []},
            "basis: [] fits none of the allowed forms (basis: has 0 items, at least 1 are wanted / basis: is",
        ),
        ({"more": 1}, 'the object: the key "more" is not allowed; known are "text", "basis", "status", "count"'),
    ],
)
def test_each_fault_of_form_is_reported_with_its_place(change: dict[str, Any], says: str) -> None:
    good = {"text": "a", "basis": "Unknown"}
    assert isinstance(parse_object(json.dumps(good), STATEMENT), Parsed)
    assert says in fault(json.dumps(good | change), STATEMENT)


def test_all_faults_are_reported_at_once_in_order_of_place() -> None:
    schema = {"type": "object", "properties": {"s": {"type": "array", "items": STATEMENT}}}
    items = [{"text": "a", "basis": "Unknown"}, {"text": "a"}, {"basis": "no", "text": 1}]
    told = fault(json.dumps({"s": items}), schema).split("; ")
    assert [line.split(":")[0] for line in told] == ["s[1]", "s[2].basis", "s[2].text"]


def test_many_faults_do_not_make_a_long_text() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}}
    told = fault(json.dumps({f"k{n}": "x" * 5000 for n in range(100)}), schema)
    assert "and 92 more faults" in told
    assert len(told) < 1000


def test_arguments_of_a_tool_are_read_alike_and_may_be_nothing() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    assert parse_arguments(ToolCall("c", "look", " "), schema) == Parsed({})
    assert parse_arguments(ToolCall("c", "look", '{"id": "E1"}'), schema) == Parsed({"id": "E1"})
    assert isinstance(parse_arguments(ToolCall("c", "look", '{"id": 1}'), schema), Unparsed)


_STORABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_characters="\x00", codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=3), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text("abc", max_size=4), _STORABLE, max_size=4), st.booleans())
def test_every_object_that_can_be_stored_comes_through_unchanged(value: dict[str, Any], fenced: bool) -> None:
    text = canonical_json(value).decode()
    assert parse_object(f"```json\n{text}\n```" if fenced else text) == Parsed(value)


@settings(max_examples=80)
@given(st.text('{}[]",:`abc\n 0\\u\x00', max_size=60))
def test_no_text_at_all_makes_the_parser_fail(text: str) -> None:
    parsed = parse_object(text, STATEMENT)
    assert isinstance(parsed, Parsed | Unparsed)
    if isinstance(parsed, Unparsed):
        assert parsed.detail
