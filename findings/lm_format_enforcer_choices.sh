#!/usr/bin/env bash
# lm-format-enforcer 0.11.3 (lets a model write only what a JSON Schema accepts), installed 2026-11: `enum` and `const` with texts.
# Guess: the model can write each value of an `enum` of texts as JSON writes it, and nothing else, as `minLength` or `pattern` are
#        kept to.
# Seen:  a value with quotation marks is cut at the first: of ['say "no"', 'wait'] the model can only write "say " and "wait".
#        A value with a line break or a tab can only be written with the raw character, which is not JSON. `const` is the same. A
#        backslash is right.
#        Beside it, without a word: `minimum`, `maximum`, `multipleOf`, `uniqueItems` and `minProperties` do not count.
# Why it matters: answers that quote a witness, or options of two lines, come back as texts that no option equals or that
#        no reader takes, with a library that promises the form. Give options short names, and validate the reply.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check lm-format-enforcer==0.11.3 jsonschema==4.25.1 numpy==2.3.5
"$folder/venv/bin/python" -W ignore - <<'PY'
import json

import jsonschema
from lmformatenforcer import JsonSchemaParser


def can_write(schema, text):
    parser = JsonSchemaParser(schema)
    for character in text:
        if character not in parser.get_allowed_characters():
            return False
        parser = parser.add_character(character)
    return parser.can_end()


def fields(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


for value, other, other_is_json in (
    ('say "no"', "say ", True),
    ("line\nbreak", "line\nbreak", False),
    ("tab\there", "tab\there", False),
):
    for kind in ({"type": "string", "enum": [value, "wait"]}, {"const": value}):
        schema = fields(move=kind)
        right, wrong = json.dumps({"move": value}), f'{{"move": "{other}"}}'
        print(f"{kind}: {right} {can_write(schema, right)}, {wrong!r} {can_write(schema, wrong)}, which is JSON: {is_json(wrong)}")
        assert not can_write(schema, right) and can_write(schema, wrong) and is_json(wrong) == other_is_json, "it changed"
for value in ("wait", "C:\\game"):
    assert can_write(fields(move={"type": "string", "enum": [value]}), json.dumps({"move": value}))

numbers = {"type": "integer"}
for schema, value in (
    (fields(seat={**numbers, "minimum": 3, "maximum": 5}), {"seat": 7}),
    (fields(seat={**numbers, "multipleOf": 5}), {"seat": 3}),
    (fields(seats={"type": "array", "items": numbers, "uniqueItems": True}), {"seats": [1, 1]}),
    ({"type": "object", "additionalProperties": numbers, "minProperties": 1}, {}),
):
    print(f"{schema} lets the model write {value}")
    assert not jsonschema.Draft202012Validator(schema).is_valid(value)
    assert can_write(schema, json.dumps(value)), "it changed"
assert not can_write(fields(name={"type": "string", "minLength": 2}), '{"name": "a"}')
PY
