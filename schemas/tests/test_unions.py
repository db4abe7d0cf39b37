"""A value of several types says the same to a validator when generators of clients can compile it."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from playmolt_schemas.export.json_schemas import compiled

NULL = {"type": "null"}
TEXT = {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]*$"}
TEXTS = {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2, "uniqueItems": True}
WORD = {"type": "string", "enum": ["Unknown", "a.b"]}
OPEN = {"type": "object"}
VALUES: list[Any] = [
    "", "a", "ab", "abcd", "abcde", "AB", "Unknown", "Unknown\n", "a.b", "axb", [], ["abc"], ["abcd"], ["a", "a"],
    ["a", "b"], ["a", "b", "c"], [1], None, True, 0, 1.5, {}, {"a": 1},
]  # fmt: skip


@pytest.mark.parametrize(
    "choices", [(TEXT, TEXTS), (TEXTS, TEXT), (TEXTS, WORD), (WORD, TEXTS, NULL), (TEXT, OPEN), (OPEN, TEXT, NULL)]
)
def test_a_list_or_an_open_object_beside_a_text_takes_the_same_values_without_a_type(choices: tuple[Any, ...]) -> None:
    union = {"anyOf": list(choices), "description": "So.", "default": []}
    plain = compiled({"properties": {"a": union}})["properties"]["a"]
    assert plain["description"] == "So."
    assert not {"anyOf", "type", "default"} & plain.keys()
    before, after = Draft202012Validator(union), Draft202012Validator(plain)
    assert [value for value in VALUES if before.is_valid(value) is not after.is_valid(value)] == []
    assert {before.is_valid(value) for value in VALUES} == {True, False}


@pytest.mark.parametrize(
    ("schema", "items"),
    [({"type": "array"}, "items"), ({"type": "object"}, "additionalProperties")],
)
def test_what_holds_anything_says_so(schema: dict[str, Any], items: str) -> None:
    """Without it one generator skips an array, and another takes an object for an empty one."""
    assert compiled(schema) == {**schema, items: {}}
    assert compiled({"type": "object", "properties": {}}) == {"type": "object", "properties": {}}


def test_what_compiles_stays_as_it_is() -> None:
    for schema in (
        {"anyOf": [TEXT, NULL], "default": None},
        {"anyOf": [TEXTS, NULL], "default": []},
        {"anyOf": [TEXT, {"$ref": "#/x"}]},
        {"enum": ["a"], "default": "a"},
        {"not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}},
    ):
        assert compiled(schema) == schema
