#!/usr/bin/env bash
# msgspec 0.23.0, installed 2026-11: `msgspec.json.schema(T)` beside `msgspec.json.decode(…, type=T)`.
# Guess: both are made from one type, so a document is decoded if and only if its schema allows it, where formats are
#        checked, too.
# Seen:  refused, though the schema allows it: 1.0 for an integer (which JSON Schema counts as one), a duration in weeks or
#        months, a key of dict[int, …] that is no number. Taken, though the schema refuses it: a struct without its tag,
#        as long as it is not in a union; a sum of flags, and flags that the type does not have; a repeat in a set; a
#        decimal written as a number. And a datetime has no format in the schema unless it has `tz`.
# Why it matters: a client that checks against the published schema sends what is refused, and the schema's examples or a
#        generated client never show what the server takes. Check at the border with what was published, or say the
#        difference there.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check msgspec==0.23.0 jsonschema==4.26.0 isoduration==20.11.0
"$folder/venv/bin/python" - <<'PY'
import datetime
import decimal
import enum
import json

import msgspec
from jsonschema import Draft202012Validator

checked = Draft202012Validator.FORMAT_CHECKER
assert "duration" in checked.checkers


class Move(msgspec.Struct, tag="move"):
    to: int


class Pass(msgspec.Struct, tag="pass"):
    pass


class May(enum.IntFlag):
    READ = 1
    WRITE = 2


def decoded(kind, text):
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        return str(error)


def compare(kind, text):
    allowed = Draft202012Validator(msgspec.json.schema(kind), format_checker=checked).is_valid(json.loads(text))
    seen = decoded(kind, text)
    taken = not isinstance(seen, str)
    name = kind.__name__ if isinstance(kind, type) and kind.__module__ != "builtins" else kind
    print(f"{name}: {text} | schema allows: {allowed} | decode: {seen!r}")
    return allowed, taken


for kind, text in (
    (int, "1.0"),
    (datetime.timedelta, '"P1W"'),
    (datetime.timedelta, '"P1M"'),
    (dict[int, int], '{"one": 1}'),
):
    assert compare(kind, text) == (True, False), "it changed"
for kind, text in (
    (Move, '{"to": 3}'),
    (May, "3"),
    (May, "8"),
    (set[int], "[1, 1]"),
    (decimal.Decimal, "1.10"),
):
    assert compare(kind, text) == (False, True), "it changed"
assert compare(Move | Pass, '{"to": 3}') == (False, False)
assert compare(int, "1") == compare(datetime.timedelta, '"P1D"') == compare(May, "2") == (True, True)
assert msgspec.json.schema(datetime.datetime) == {"type": "string"}
PY
