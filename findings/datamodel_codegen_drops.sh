#!/usr/bin/env bash
# datamodel-code-generator 0.89.0 with pydantic 2.14.4 (writes Pydantic models from a JSON Schema), jsonschema 4.26.0, installed 2026-11.
# Guess: the models refuse what the schema refuses, or the generator says which keywords it leaves out. A pair [text, whole number] is a
#        tuple; unusual keywords (`propertyNames`, `unevaluatedProperties`) are the likeliest to be missing.
# Seen:  those two, `minProperties`, `patternProperties` and `oneOf` of `required` are kept. Dropped without a word are `const` of an
#        object or a list, `uniqueItems`, `contains`, `not`, `if`, `dependentRequired`, that only one branch of `oneOf` may match,
#        and a required field that `properties` does not name: its value is lost, too. The pair is a list of either in any
#        number, with `"items": false` of at most two; with both `minItems` and `maxItems` it is the tuple.
# Why it matters: client and server are made from one schema and disagree: two votes for one seat, [price, name] for
#        [name, price] or a card without its target pass on one side. Give pairs both bounds; validate with the schema first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datamodel-code-generator==0.89.0 pydantic==2.14.4 jsonschema==4.26.0
cd "$folder"
venv/bin/python - <<'PY'
import importlib.util
import json
import pathlib
import sys
import warnings

import jsonschema
import pydantic
from datamodel_code_generator import DataModelType, InputFileType, generate

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
TWO = {"a": NUMBER, "b": NUMBER}
PAIR = {"type": "array", "prefixItems": [TEXT, NUMBER]}


def field(schema):
    return {"properties": {"field": schema}, "required": ["field"]}


# What the schema says, and a value that it refuses.
DROPPED = {
    "const, an object": (field({"const": {"seat": 1}}), {"field": {"seat": 2}}),
    "const, a list": (field({"const": ["a"]}), {"field": ["b"]}),
    "uniqueItems": (field({"type": "array", "items": NUMBER, "uniqueItems": True}), {"field": [1, 1]}),
    "contains": (field({"type": "array", "items": NUMBER, "contains": {"const": 1}}), {"field": [2]}),
    "not": (field({"type": "string", "not": {"const": "me"}}), {"field": "me"}),
    "if": ({"properties": TWO, "if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}),
    "dependentRequired": ({"properties": TWO, "dependentRequired": {"a": ["b"]}}, {"a": 1}),
    "oneOf, both match": (field({"oneOf": [NUMBER | {"minimum": 10}, NUMBER | {"maximum": 20}]}), {"field": 15}),
    "required, not in properties": ({"properties": {"a": NUMBER}, "required": ["a", "b"]}, {"a": 1}),
    "pair": (field(PAIR), {"field": [1, "a"]}),
    "pair, items false, minItems": (field(PAIR | {"items": False, "minItems": 2}), {"field": [1, "a"]}),
}
KEPT = {
    "const, a text": (field({"const": "pass"}), {"field": "play"}),
    "pair, minItems, maxItems": (field(PAIR | {"minItems": 2, "maxItems": 2}), {"field": [1, "a"]}),
    "minProperties": (field({"type": "object", "additionalProperties": NUMBER, "minProperties": 1}), {"field": {}}),
    "propertyNames": (field({"type": "object", "additionalProperties": NUMBER, "propertyNames": {"enum": ["a"]}}), {"field": {"b": 1}}),
    "patternProperties": (field({"type": "object", "patternProperties": {"^s": NUMBER}, "additionalProperties": False}), {"field": {"t": 1}}),
    "oneOf, required": ({"properties": TWO, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}),
    "unevaluatedProperties": ({"allOf": [{"type": "object", "properties": TWO}], "unevaluatedProperties": False}, {"c": 1}),
}


def accepts(number, schema, value):
    path = pathlib.Path(f"model_{number}.py")
    with warnings.catch_warnings(record=True) as caught:
        generate(
            json.dumps(schema), input_file_type=InputFileType.JsonSchema, output=path, output_model_type=DataModelType.PydanticV2BaseModel
        )
    assert all("formatters" in str(warning.message) for warning in caught), [str(warning.message) for warning in caught]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.Top.model_validate_json(json.dumps(value)).model_dump(exclude_unset=True, mode="json")
    except pydantic.ValidationError:
        return None


head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Top", "type": "object"}
for number, (name, (schema, wrong)) in enumerate((DROPPED | KEPT).items()):
    assert not jsonschema.Draft202012Validator(head | schema).is_valid(wrong)
    found = accepts(number, head | schema, wrong)
    print(f"{name}: {json.dumps(wrong)} is {'refused' if found is None else 'accepted'}")
    assert (found is not None) == (name in DROPPED), "it changed"
lost = accepts("lost", head | DROPPED["required, not in properties"][0], {"a": 1, "b": 2})
print("of", {"a": 1, "b": 2}, "is left", lost)
assert lost == {"a": 1}, "it changed"
PY
