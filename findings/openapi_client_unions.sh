#!/usr/bin/env bash
# openapi-python-client 0.29.1 (PyPI; writes a client for an OpenAPI document), installed 2026-11: fields of several types.
# Guess: a `oneOf` is read as the class whose required fields and types fit; a field that is a time or a text keeps a text that is no
#        time; written again, a reply is what the server sent.
# Seen:  the first class is taken if its required keys are there, whatever the values are: {"give": 1, "want": "fish"} is an Offer
#        with give and want in numbers. A `const` is compared. In a field of time or text, the text "11111111"
#        is a day of the year 1111 and is sent back as "1111-11-11T00:00:00", "2026-W05" as a Monday. Times lose digits after the
#        sixth. A new value of an `enum` raises for the whole reply. Nothing else is reported.
# Why it matters: a bot takes another kind of offer for the one it knows, and echoes names of rounds as dates. Give each kind of a
#        `oneOf` a `const`, and texts a field of their own.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openapi-python-client==0.29.1
cd "$folder"
cat > games.json <<'JSON'
{
  "openapi": "3.1.0",
  "info": {"title": "Games", "version": "1"},
  "paths": {
    "/action": {
      "get": {
        "operationId": "getAction",
        "responses": {
          "200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Action"}}}}
        }
      }
    }
  },
  "components": {
    "schemas": {
      "Offer": {
        "type": "object",
        "required": ["give", "want"],
        "properties": {"give": {"type": "integer"}, "want": {"type": "integer"}}
      },
      "Barter": {
        "type": "object",
        "required": ["give", "want"],
        "properties": {"give": {"type": "integer"}, "want": {"type": "string"}}
      },
      "Bid": {"type": "object", "required": ["type"], "properties": {"type": {"const": "bid"}}},
      "Pass": {"type": "object", "required": ["type"], "properties": {"type": {"const": "pass"}}},
      "Action": {
        "type": "object",
        "properties": {
          "trade": {"oneOf": [{"$ref": "#/components/schemas/Offer"}, {"$ref": "#/components/schemas/Barter"}]},
          "move": {"oneOf": [{"$ref": "#/components/schemas/Bid"}, {"$ref": "#/components/schemas/Pass"}]},
          "answer": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string"}]},
          "form": {"type": "string", "enum": ["open", "secret"]}
        }
      }
    }
  }
}
JSON
venv/bin/openapi-python-client generate --path games.json --meta none --output-path games > log.txt 2>&1
venv/bin/python - <<'PY'
from games.models import Action

REFUSED = "refused"


def read(reply):
    try:
        action = Action.from_dict(reply)
    except ValueError:
        return REFUSED
    (field,) = reply
    return type(getattr(action, field)).__name__, action.to_dict()[field]


for reply, expected in (
    ({"move": {"type": "pass"}}, ("Pass", {"type": "pass"})),
    ({"trade": {"give": 1, "want": "fish"}}, ("Offer", {"give": 1, "want": "fish"})),
    ({"answer": "guilty"}, ("str", "guilty")),
    ({"answer": "11111111"}, ("datetime", "1111-11-11T00:00:00")),
    ({"answer": "2026-W05"}, ("datetime", "2026-01-26T00:00:00")),
    ({"answer": "2026-01-01T12:00:00.123456789Z"}, ("datetime", "2026-01-01T12:00:00.123456+00:00")),
    ({"form": "secret"}, ("ActionForm", "secret")),
    ({"form": "hidden"}, REFUSED),
):
    found = read(reply)
    print(reply, "->", found)
    assert found == expected, "it changed"
PY
