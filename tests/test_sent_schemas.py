"""Every schema that is sent to a model uses only rules that servers can enforce while the model writes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec
import pytest
from playmolt_cli.model_seats.requests import schema_of
from playmolt_core.llm.openai.portable_schema import ITEMS_MOST, portable
from playmolt_jury import replies
from playmolt_legal import outputs, phases, texts
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.game_messages import Action
from playmolt_schemas.games import ox, trial
from playmolt_schemas.games.legal import Role
from playmolt_schemas.stored.legal import CaseType, Language

KEPT = {
    "type", "description", "properties", "required", "additionalProperties", "items", "prefixItems", "minItems",
    "maxItems", "anyOf", "$ref", "$defs", "enum", "const", "maxLength", "pattern", "format", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum",
}  # fmt: skip
TOPICS = ("procedural_justice", "empathy")


def legal() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for case_type in get_args(CaseType):
        names = [phases.name(role, round_) for role in get_args(Role) for round_ in (1, 2, 3)]
        for phase in ("FACTS_STIPULATE", *names, phases.FINAL):
            yield f"legal {case_type} {phase}", outputs.phase_schema(phase, case_type)


def actions() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas for models that play as bots: the actions of O/X and trials."""
    for module in (ox, trial):
        for name, kind in vars(module).items():
            if isinstance(kind, type) and issubclass(kind, Action) and kind is not Action:
                yield f"{module.__name__} {name}", schema_of([ActionOffer(name, msgspec.json.schema(kind))])


SENT = dict([
    *legal(), *actions(),
    ("jury topics", replies.classify_schema(TOPICS)), ("jury speech", replies.speech_schema(TOPICS)),
    ("jury look-up", replies.LOOKUP_PARAMETERS), ("jury vote", replies.CAST_PARAMETERS),
])  # fmt: skip


def parts(schema: Any, *, names: bool = False) -> Iterator[Mapping[str, Any]]:
    """A schema and every schema within it."""
    if isinstance(schema, list):
        for each in schema:
            yield from parts(each)
    elif isinstance(schema, Mapping):
        if not names:
            yield schema
        for word, value in schema.items():
            if names or word not in ("enum", "const", "required"):
                yield from parts(value, names=not names and word in ("properties", "$defs"))


def unheld(schema: Mapping[str, Any]) -> Iterator[str]:
    """The parts of a schema that a server would ignore, or with which a model could write invalid JSON."""
    for part in parts(schema):
        yield from (f"{word} is not held" for word in part if word not in KEPT)
        kind = part.get("type")
        if "$ref" in part and set(part) - {"$ref", "$defs"}:
            yield "beside a reference"
        if "anyOf" in part and set(part) - {"anyOf", "description", "$defs"}:
            yield "beside choices"
        if "pattern" in part and "maxLength" in part:
            yield "a length beside a pattern"
        if "pattern" in part and not re.fullmatch(r"\^[^.]*\$", part["pattern"]):
            yield f"a pattern that is not anchored, or takes any character: {part['pattern']}"
        if part.get("format", "date") not in ("date", "date-time"):
            yield f"format {part['format']}"
        if kind != "integer" and {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} & set(part):
            yield "bounds of what is not an integer"
        if kind == "array" and "maxItems" not in part and not ("prefixItems" in part and "items" not in part):
            yield "a list without an end"


@pytest.mark.parametrize("text_chars", [None, 400])
def test_a_schema_that_is_sent_says_only_what_is_held(text_chars: int | None) -> None:
    assert {name: said for name in SENT if (said := [*unheld(portable(SENT[name], text_chars))])} == {}


def test_the_walk_finds_what_is_not_held() -> None:
    assert set(unheld({"type": "array", "items": {"type": "string", "pattern": "\\S", "maxLength": 3}})) >= {
        "a list without an end", "a length beside a pattern",
    }  # fmt: skip
    assert [*unheld({"anyOf": [{"type": "null"}], "type": "object"})] == ["beside choices"]
    assert len(SENT) > 30


TEXT = {"type": "string"}
ONE_DIGIT = {"type": "integer", "minimum": 1, "maximum": 9}
LIST = {"type": "array", "items": TEXT}
PAIR = {"type": "array", "prefixItems": [TEXT, TEXT], "maxItems": 2}


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (TEXT | {"maxLength": 16, "minLength": 1}, TEXT | {"maxLength": 16}),
        (TEXT | {"maxLength": 16_000, "pattern": "\\S", "title": "T", "default": "x"}, TEXT),
        (TEXT | {"pattern": "^F[0-9]+$", "maxLength": 8}, TEXT | {"pattern": "^F[0-9]+$"}),
        (TEXT | {"pattern": "^.{1,16}$", "maxLength": 16}, TEXT | {"maxLength": 16}),
        (TEXT | {"pattern": "^[^a]+$"}, TEXT),
        (TEXT | {"pattern": "^(?=a)a$"}, TEXT),
        (TEXT | {"pattern": "^a"}, TEXT),
        (TEXT | {"pattern": "^\\S+$"}, TEXT),
        (TEXT | {"pattern": "^a\"b$"}, TEXT),
        (TEXT | {"format": "date"}, TEXT | {"format": "date"}),
        (TEXT | {"format": "uri"}, TEXT),
        (ONE_DIGIT | {"multipleOf": 2}, ONE_DIGIT),
        ({"type": "number", "minimum": 1, "maximum": 9}, {"type": "number"}),
        (LIST | {"uniqueItems": True}, LIST | {"maxItems": ITEMS_MOST}),
        (LIST | {"maxItems": 90, "minItems": 1}, LIST | {"maxItems": 90, "minItems": 1}),
        (PAIR, PAIR),
        ({"$ref": "#/$defs/a", "description": "d", "maxLength": 3}, {"$ref": "#/$defs/a"}),
        ({"allOf": [TEXT | {"maxLength": 3}]}, TEXT | {"maxLength": 3}),
        ({"oneOf": [TEXT, {"type": "null"}]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": ["a", 1]}, {"enum": ["a", 1]}),
        ({"const": "x", "not": {"const": "y"}, "if": TEXT, "then": TEXT}, {"const": "x"}),
        (
            {"type": "object", "properties": {"title": TEXT, "enum": TEXT}, "additionalProperties": False},
            {"type": "object", "properties": {"title": TEXT, "enum": TEXT}, "additionalProperties": False},
        ),
    ],
)  # fmt: skip
def test_what_is_not_held_is_left_to_the_check_of_the_reply(schema: Any, sent: Any) -> None:
    assert portable(schema) == sent
    assert list(unheld(portable(schema))) == []


def test_without_bounds_types_fields_and_choices_remain() -> None:
    schema = {"type": "array", "maxItems": 3, "items": TEXT | {"maxLength": 3}, "minItems": 1}
    assert portable(schema, bounds=False) == {"type": "array", "items": TEXT}
    assert msgspec.json.encode(portable(SENT["legal civil FACTS_STIPULATE"], bounds=False))


def keys_out_of_order(schema: Mapping[str, Any], value: Any, shared: Mapping[str, Any]) -> Iterator[list[str]]:
    schema = shared[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if isinstance(value, dict):
        declared = schema["properties"]
        if list(value) != [name for name in declared if name in value]:
            yield list(value)
        for name, part in value.items():
            yield from keys_out_of_order(declared[name], part, shared)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for part in value:
            yield from keys_out_of_order(schema["items"], part, shared)


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("case_type", get_args(CaseType))
def test_an_example_has_its_keys_in_the_order_of_its_schema(language: Language, case_type: CaseType) -> None:
    """Grammar engines accept keys only in the order of the schema, even if the example in the prompt shows another."""
    roles = {
        "opening_judge": "JUDGE_R1", "judge": "JUDGE_R2", "claimant": "CLAIMANT_R1", "verifier": "VERIFIER_R1",
        f"opposing_{case_type}": "OPPOSING_R1", "final": phases.FINAL,
    }  # fmt: skip
    for task, phase in roles.items():
        schema: Any = portable(outputs.phase_schema(phase, case_type))
        wrong = keys_out_of_order(schema, texts.example(language, task), schema.get("$defs", {}))
        assert list(wrong) == [], task
