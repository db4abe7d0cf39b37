#!/usr/bin/env bash
# llguidance 1.9.1, the grammar engine of several model servers, installed 2026-11.
# Guess: a reply that is valid JSON under the schema can be written: keys in any order, a number or a letter in any
#        spelling that JSON has; what the engine cannot hold to, it drops.
# Seen:  one spelling alone. Keys come in the order of the schema, fields that it does not name last; a number with bounds
#        has no exponent; a letter that needs no escape has none. What cannot be held (`uniqueItems`, `contains`, `not`,
#        `if`, `propertyNames`, an unknown `format`, `oneOf` unless allowed) is refused by name.
#        An object with free fields may still name one twice.
# Why it matters: an example in the prompt whose keys stand in another order than the schema's asks for what cannot be
#        written, and the model is pushed off its words; readers still have to refuse a field that comes twice.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check llguidance==1.9.1
"$folder/venv/bin/python" - <<'PY'
import json

from llguidance import LLMatcher, LLTokenizer

BYTES = LLTokenizer("byte")


def matcher(schema):
    return LLMatcher(BYTES, LLMatcher.grammar_from_json_schema(json.dumps(schema)))


def writes(schema, text):
    matched, tokens = matcher(schema), BYTES.tokenize_str(text)
    assert not matched.get_error(), matched.get_error()
    return matched.try_consume_tokens(tokens) == len(tokens) and matched.is_accepting()


def refusal(schema):
    try:
        return matcher(schema).get_error()
    except ValueError as error:
        return str(error)


vote = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "share": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["reason", "share"],
    "additionalProperties": False,
}
as_declared = '{"reason": "caf\u00e9", "share": 0.5}'
others = ('{"share": 0.5, "reason": "caf\u00e9"}', '{"reason": "caf\\u00e9", "share": 0.5}',
          '{"reason": "caf\u00e9", "share": 5e-1}')
assert writes(vote, as_declared)
for text in others:
    assert json.loads(text) == json.loads(as_declared)
    print(ascii(text), "can be written:", writes(vote, text))
    assert not writes(vote, text)
for words in ({"uniqueItems": True}, {"contains": {"const": 3}}):
    fault = refusal({"type": "array", "items": {"type": "integer"}} | words)
    print(words, "->", fault)
    assert next(iter(words)) in fault
assert "Unknown format" in refusal({"type": "string", "format": "citation"})
print("a free object with a field twice can be written:", writes({"type": "object"}, '{"a":1,"a":2}'))
assert writes({"type": "object"}, '{"a":1,"a":2}')
PY
