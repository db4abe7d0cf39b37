#!/usr/bin/env bash
# anthropic 2.14.0 (PyPI), the schema that it makes of a Pydantic model for structured outputs, installed 2026-11.
# Guess: a field `votes: dict[str, int]` is sent as it is, or refused as not possible; what a model may write is what Pydantic takes,
#        perhaps without ranges and lengths, which Pydantic checks afterwards.
# Seen:  it becomes an object without properties to which none may be added: {} is the one value that a model can write, and
#        Pydantic takes it. The same for `dict[str, Bid]`, and for the further fields of a model with extra="allow". A pair
#        `tuple[str, int]` becomes any list of anything. The helper of openai 3.57.0 keeps all of them. Nothing is reported.
# Why it matters: votes by agent, offers by good and prices by item are empty in every answer, and look like a model that does not
#        take part. Ask for a list of pairs with named fields instead.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check anthropic==2.14.0 openai==3.57.0 jsonschema==4.25.1
"$folder/venv/bin/python" -W ignore - <<'PY'
from anthropic import transform_schema
from jsonschema import Draft202012Validator
from openai import pydantic_function_tool
from pydantic import BaseModel, ConfigDict, ValidationError


class Bid(BaseModel):
    value: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    value: int


class Ballot(BaseModel):
    votes: dict[str, int]


class Offers(BaseModel):
    bids: dict[str, Bid]


class Pair(BaseModel):
    pair: tuple[str, int]


class Named(BaseModel):
    bids: list[Bid]


def takes(model, value):
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


for model, value, pydantic, anthropic, openai in (
    (Ballot, {"votes": {}}, True, True, True),
    (Ballot, {"votes": {"kim": 3}}, True, False, True),
    (Offers, {"bids": {"kim": {"value": 3}}}, True, False, True),
    (Open, {"value": 3, "why": "late"}, True, False, True),
    (Pair, {"pair": ["kim", 3]}, True, True, True),
    (Pair, {"pair": [3, "kim", None]}, False, True, False),
    (Named, {"bids": [{"value": 3}]}, True, True, True),
):
    schemas = transform_schema(model), pydantic_function_tool(model)["function"]["parameters"]
    found = takes(model, value), *(Draft202012Validator(schema).is_valid(value) for schema in schemas)
    print(f"{model.__name__} {value}: Pydantic {found[0]}, anthropic's schema {found[1]}, openai's {found[2]}")
    assert found == (pydantic, anthropic, openai), "it changed"
print("votes:", transform_schema(Ballot)["properties"]["votes"])
PY
