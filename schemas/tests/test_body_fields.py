"""Bodies come as any JSON value; each fault is named, in the order the fields are read in."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_schemas.body_fields import BodyFields


def _named(fields: BodyFields) -> list[tuple[str, str]]:
    return [(fault.field, fault.message) for fault in fields.faults]


def test_all_faults_of_a_body_are_collected() -> None:
    fields = BodyFields({"a": 1, "b": "", "c": "y", "d": "x" * 6, "e": "\x00"})
    for field in "abde":
        assert fields.text(field, 5) == ""
    assert fields.one_of("c", ("O", "X")) == "O"
    assert fields.flag("c") is False
    assert _named(fields) == [
        ("a", "must be a string"),
        ("b", "must contain 1 to 5 characters that are not white space"),
        ("d", "has 6 characters; the maximum is 5"),
        ("e", "contains NUL or a lone surrogate"),
        ("c", 'must be "O" or "X"'),
        ("c", "must be true or false"),
    ]


def test_a_good_body_is_read_without_faults() -> None:
    fields = BodyFields({"text": " 말 ", "word": "X", "flag": False})
    assert (fields.text("text", 1), fields.one_of("word", ("O", "X")), fields.flag("flag")) == ("말", "X", False)
    assert fields.text("absent", 5, required=False) == ""
    assert fields.result("whole") == "whole"


@pytest.mark.parametrize("body", [None, 1, "text", [], [{"a": 1}]])
def test_what_is_not_an_object_has_no_field_to_blame_and_none_to_read(body: Any) -> None:
    fields = BodyFields(body, what="the form")
    assert not fields.sound
    assert not fields.required("a")
    assert _named(fields) == [("", "the form must be a JSON object"), ("a", "is required")]
    assert fields.result("whole") == tuple(fields.faults)


@pytest.mark.parametrize(
    ("known", "told", "message"),
    [
        (("b", "a"), "", "unknown field; allowed fields: a, b"),
        ((), "", "unknown field; allowed fields: none"),
        (("b", "a"), "switch has b, a", "unknown field; switch has b, a"),
    ],
)
def test_every_unknown_field_is_named_in_a_form_that_can_be_answered(
    known: tuple[str, ...], told: str, message: str
) -> None:
    fields = BodyFields({"\ud800": 1, **dict.fromkeys(known), "x" * 500: 2})
    fields.only(known, told)
    assert _named(fields) == [("?", message), ("x" * 40, message)]
    msgspec.json.encode(fields.faults)


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        (["a", " b "], []),
        ("a", [("list", "must be a list of strings")]),
        ([], [("list", "must contain 1 to 3 strings")]),
        (["a", "b", "c", "d"], [("list", "must contain 1 to 3 strings")]),
        (["a", 1, ""], [
            ("list[1]", "must be a string"), ("list[2]", "must contain 1 to 2 characters that are not white space"),
        ]),
        (["a", "a "], [("list", "contains a duplicate")]),
    ],
)  # fmt: skip
def test_a_list_of_texts_holds_different_ones(value: Any, faults: list[tuple[str, str]]) -> None:
    fields = BodyFields({"list": value})
    read = fields.texts("list", 2, fewest=1, entries=3)
    assert _named(fields) == faults
    assert faults or read == ("a", "b")


def test_a_list_that_is_left_out_is_empty() -> None:
    assert BodyFields({}).texts("list", 2, entries=3) == ()
    assert BodyFields({}).objects("list", lambda entry: entry.text("a", 1), 3) == ()


def test_a_text_may_come_as_its_lines() -> None:
    fields = BodyFields({"lines": ["a", "b"], "text": "a", "mixed": ["a", 1], "blank": []})
    assert (fields.lines("lines", 3), fields.lines("text", 3)) == ("a\nb", "a")
    assert fields.lines("blank", 3, required=False) == ""
    assert fields.sound
    fields.lines("mixed", 3)
    fields.lines("absent", 3, required=False)
    assert _named(fields) == [("mixed", "must be a string"), ("absent", "must be a string")]


@pytest.mark.parametrize(
    ("body", "read", "faults"),
    [
        ({}, "a", []),
        ({"n": "b"}, "b", []),
        ({"n": "c"}, "a", [("n", "must be one of a, b")]),
        ({"n": []}, "a", [("n", "must be one of a, b")]),
    ],
)
def test_a_name_is_one_of_those_there_are(body: Any, read: str, faults: list[tuple[str, str]]) -> None:
    fields = BodyFields(body)
    assert fields.known("n", ("b", "a"), "a") == read
    assert _named(fields) == faults


def test_the_name_that_stands_for_an_absent_one_must_be_there_too() -> None:
    fields = BodyFields({})
    assert fields.known("n", (), "a") == "a"
    assert not fields.sound


def test_faults_of_nested_objects_stand_under_their_path_among_the_others() -> None:
    fields = BodyFields({"a": {"list": [{"b": "x"}, {"b": 1}], "c": {"d": 1}}, "e": 1})
    inner = fields.inner("a")
    assert inner is not None
    assert inner.objects("list", lambda entry: (entry.text("b", 1), entry.sound), 2) == (("x", True), ("", False))
    deeper = inner.inner("c")
    assert deeper is not None
    deeper.only(())
    fields.text("e", 1)
    assert fields.inner("e") is None
    assert [field for field, _ in _named(fields)] == ["a.list[1].b", "a.c.d", "e", "e"]
    assert not inner.sound


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda fields: fields.objects("f", str, 2), "must be a list of JSON objects"),
        (lambda fields: fields.inner("f"), "must be a JSON object"),
    ],
)
@pytest.mark.parametrize("value", [1, "a", [1], [{}, None]])
def test_what_holds_no_objects_is_at_fault_as_a_whole(
    read: Callable[[BodyFields], object], message: str, value: Any
) -> None:
    fields = BodyFields({"f": value})
    read(fields)
    assert _named(fields) == [("f", message)]


def test_a_list_has_only_so_many_objects() -> None:
    fields = BodyFields({"f": [{}] * 3})
    assert fields.objects("f", str, 2) == ()
    assert _named(fields) == [("f", "has 3 entries; the maximum is 2")]
