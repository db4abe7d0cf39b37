#!/usr/bin/env bash
# outlines-core 0.2.14 (JSON Schema → grammar for constrained replies, used by several model servers), installed 2026-11.
# Guess: what the grammar of a schema accepts is what the schema accepts, apart from the order of properties; a keyword
#        that it cannot express is refused, as `allOf` with a bare `pattern` is.
# Seen:  `minimum`, `maximum`, `multipleOf`, `uniqueItems` and `not` are dropped without a word: {"votes": 99} passes a
#        maximum of 10. A `pattern` beside `maxLength` or `minLength` is dropped as well; alone it is kept.
#        The other way round, a number written 1E5 or 1e5 and the escape \u00e9 are refused, which are plain JSON, so a
#        model that writes them is led to another reply.
# Why it matters: a reply that such a server returns is still to be judged by the schema itself.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check outlines-core==0.2.14 jsonschema==4.26.0
"$folder/venv/bin/python" - <<'PY'
import json
import re

import jsonschema
from outlines_core.json_schema import build_regex_from_schema

ROWS = [  # schema, reply, what the schema says, what the grammar says
    ({"type": "integer", "minimum": 0, "maximum": 10}, "99", False, True),
    ({"type": "number", "minimum": 0}, "-1.5", False, True),
    ({"type": "integer", "multipleOf": 5}, "7", False, True),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "[1,1]", False, True),
    ({"type": "string", "not": {"const": "x"}}, '"x"', False, True),
    ({"type": "string", "pattern": "^[a-z]+$"}, '"A1"', False, False),
    ({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}, '"A1"', False, True),
    ({"type": "string", "pattern": "^[a-z]+$", "minLength": 1}, '"A1"', False, True),
    ({"type": "string", "maxLength": 3}, '"abcd"', False, False),
    ({"type": "number"}, "1E5", True, False),
    ({"type": "number"}, "1e5", True, False),
    ({"type": "string"}, '"\\u00e9"', True, False),
    ({"type": "string"}, '"\\n"', True, True),
]
for schema, reply, valid, accepted in ROWS:
    assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(reply)) is valid
    seen = re.fullmatch(build_regex_from_schema(json.dumps(schema)), reply) is not None
    print(f"{json.dumps(schema):78} {reply:10} schema: {valid!s:5} grammar: {seen}")
    assert seen is accepted, "this keyword is treated in another way now"
try:
    build_regex_from_schema('{"allOf": [{"type": "string"}, {"pattern": "^a$"}]}')
except ValueError as error:
    print("allOf:", str(error).splitlines()[0][:60])
else:
    raise AssertionError("allOf with a bare pattern is accepted now")
PY
