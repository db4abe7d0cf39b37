"""Bodies come as any JSON value; each fault is named, in the order the fields are read in."""

import unicodedata
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType
from playmolt_schemas.api import ModelAlias, Request
from playmolt_schemas.body_fields import BodyFields, _by_hand, _declared, bounds, read_body
from playmolt_schemas.games import jury, legal, ox, trial
from playmolt_schemas.stored import legal as forms
from playmolt_schemas.stored import legal as stored_legal
from playmolt_schemas.text import LINE, SPEECH, SPOKEN, STORABLE, WORDS, text_schema


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


class _Entry(Request, frozen=True, kw_only=True):
    what: Annotated[str, text_schema(3)]
    agreed: bool = False


_Text = Annotated[str, text_schema(4)]


class _Body(Request, frozen=True, kw_only=True):
    word: Literal["a", "b"]
    title: Annotated[str, text_schema(5, LINE)]
    speech: Annotated[str, text_schema(5, SPEECH)]
    aside: Annotated[str, text_schema(5, SPOKEN)] = ""
    entries: Annotated[tuple[_Entry, ...], Meta(extra_json_schema={"maxItems": 2})] = ()
    texts: Annotated[tuple[_Text, ...], Meta(extra_json_schema={"minItems": 1, "maxItems": 2, "uniqueItems": True})]
    lines: _Text | list[_Text] | UnsetType = UNSET
    note: Annotated[str, text_schema(5, STORABLE)] | None = None
    model: ModelAlias = "scripted"


GOOD = {"word": "a", "title": " t ", "speech": "hi", "texts": ["x"]}


def test_a_body_is_read_as_its_type_declares_it() -> None:
    assert read_body(_Body, GOOD, options={"model": ["scripted"]}) == _Body(
        word="a", title="t", speech="hi", texts=("x",)
    )
    more = {"entries": [{"what": "w", "agreed": True}], "lines": ["x", "y"], "note": None, "aside": "", "model": "big"}
    assert read_body(_Body, GOOD | more, options={"model": ["big"]}) == _Body(
        word="a", title="t", speech="hi", texts=("x",), lines="x\ny", model="big",
        entries=(_Entry(what="w", agreed=True),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (
            {"x": 1},
            ("x", "unknown field; allowed fields: aside, entries, lines, model, note, speech, texts, title, word"),
        ),
        ({"word": "c"}, ("word", 'must be "a" or "b"')),
        ({"title": "a\nb"}, ("title", "contains a control, line separator or bidi control character")),
        ({"speech": ""}, ("speech", "must contain 1 to 5 characters that are not white space")),
        ({"aside": "123456"}, ("aside", "has 6 characters; the maximum is 5")),
        ({"entries": [{"what": 3}]}, ("entries[0].what", "must be a string")),
        ({"entries": [{"what": "w"}] * 3}, ("entries", "has 3 entries; the maximum is 2")),
        ({"texts": []}, ("texts", "must contain 1 to 2 strings")),
        ({"texts": ["12345"]}, ("texts[0]", "has 5 characters; the maximum is 4")),
        ({"lines": [1]}, ("lines", "must be a string")),
        ({"note": 1}, ("note", "must be a string")),
        ({"model": "x"}, ("model", "must be one of scripted")),
    ],
)
def test_the_bounds_of_a_type_are_those_of_its_faults(wrong: dict[str, Any], fault: tuple[str, str]) -> None:
    read = read_body(_Body, GOOD | wrong, options={"model": ["scripted"]})
    assert isinstance(read, tuple)
    assert [(one.field, one.message) for one in read] == [fault]


def test_all_faults_of_a_declared_body_are_named_in_the_order_of_its_fields() -> None:
    read = read_body(_Body, {"model": "x", "speech": 1, "y": 2})
    assert isinstance(read, tuple)
    assert [one.field for one in read] == ["y", "word", "title", "speech", "texts", "model"]


def test_a_default_is_one_of_the_options_too() -> None:
    read = read_body(_Body, GOOD, options={"model": ["big"]})
    assert isinstance(read, tuple)
    assert [(one.field, one.message) for one in read] == [("model", "must be one of big")]


STORED_BODIES = (
    stored_legal.Form, stored_legal.TimelineEntry, stored_legal.EvidenceEntry, stored_legal.QuestionAnswer,
    stored_legal.MoreFacts,
)  # fmt: skip


def _bodies() -> Iterator[type[msgspec.Struct]]:
    for module in (jury, legal, ox, trial, stored_legal):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, (Request, ox.Action, *STORED_BODIES)):
                yield kind


BY_HAND = {"turn_id", "files", "content", "sections", "turns", "facts", "missing_evidence_answers"}
"""Fields whose value depends on more than their type."""


def test_every_other_field_of_the_games_bodies_is_read_by_its_type() -> None:
    by_hand = {field.wire for kind in _bodies() for field in _declared(kind) if field.read is _by_hand}
    assert by_hand <= BY_HAND


def test_texts_are_composed_before_their_length_counts() -> None:
    """A Mac's file names have Hangul in parts."""
    name = unicodedata.normalize("NFD", "김민수")
    assert len(name) == 8
    body = {"text": name, "line": name, "lines": [name, name], "texts": [name], "inner": [{"text": name}]}
    fields = BodyFields(body)
    read = [
        fields.text("text", 3),
        fields.line("line", 3),
        fields.lines("lines", 7),
        *fields.texts("texts", 3, entries=1),
    ]
    assert read == ["김민수", "김민수", "김민수\n김민수", "김민수"]
    assert fields.objects("inner", lambda entry: entry.text("text", 3), 1) == ("김민수",)
    assert fields.spoken("text", 3) == "김민수"
    assert not fields.faults


def test_texts_that_differ_in_their_parts_alone_are_one() -> None:
    fields = BodyFields({"texts": ["김민수", unicodedata.normalize("NFD", "김민수")]})
    fields.texts("texts", 10, entries=2)
    assert _named(fields) == [("texts", "contains a duplicate")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("title", {"minLength": 1, "maxLength": 5, "pattern": LINE}),
        ("aside", {"maxLength": 5, "pattern": SPOKEN}),
        ("lines", {"minLength": 1, "maxLength": 4, "pattern": WORDS}),
        ("entries", {"maxItems": 2, "items": {}}),
        ("texts", {
            "minItems": 1, "maxItems": 2, "uniqueItems": True,
            "items": {"minLength": 1, "maxLength": 4, "pattern": WORDS},
        }),
    ],
)  # fmt: skip
def test_the_bounds_of_a_field_are_those_of_its_type(name: str, expected: dict[str, Any]) -> None:
    assert bounds(_Body, name) == expected


def test_the_bounds_of_an_object_are_those_of_its_values() -> None:
    assert bounds(forms.EndForm, "missing_evidence_answers")["maxLength"] == forms.FORM_TEXT_CHARS
