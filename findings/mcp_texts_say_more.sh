#!/usr/bin/env bash
# mcp 2.3.0 (the Python SDK of the Model Context Protocol), `MCPServer` and its decorated tools, installed 2026-11: the two forms of a
# result, its text and its `structured_content`.
# Guess: both hold the same values, those of the declared return type; each annotated result has a structured form.
# Seen:  a field beyond the declared type is in the text and not in the structured form: of a TypedDict, a dict given for a model,
#        a subclass of a dataclass, and items of a list. A subclass of a model by itself is whole in both, inside another model
#        it is cut in both. Decimal, datetime, timedelta and Enum have no schema and no structured form; their text is JSON
#        ("1.50" with its quotation marks), that of a `str` is not.
# Why it matters: models read the text and programs the structured form, so that a player's agent sees a role which the client, its
#        tests and its log never show; a score declared as Decimal is missing where the one declared as float is. Build the
#        declared type from the fields that it has before returning it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$folder/venv/bin/python" - <<'PY'
import asyncio
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum

from mcp import Client
from mcp.server import MCPServer
from pydantic import BaseModel
from typing_extensions import TypedDict

server = MCPServer("game")
SHOWN, WHOLE = {"name": "ana"}, {"name": "ana", "role": "spy"}


class Player(BaseModel):
    name: str


class Secret(Player):
    role: str = "spy"


class Table(BaseModel):
    players: list[Player]


class Row(TypedDict):
    name: str


@dataclass
class Seat:
    name: str


@dataclass
class SecretSeat(Seat):
    role: str = "spy"


class Verdict(Enum):
    GUILTY = "guilty"


@server.tool()
def row() -> Row:
    return WHOLE


@server.tool()
def given() -> Player:
    return WHOLE


@server.tool()
def seat() -> Seat:
    return SecretSeat("ana")


@server.tool()
def listed() -> list[Player]:
    return [Secret(name="ana")]


@server.tool()
def player() -> Player:
    return Secret(name="ana")


@server.tool()
def table() -> Table:
    return Table(players=[Secret(name="ana")])


@server.tool()
def score() -> Decimal:
    return Decimal("1.50")


@server.tool()
def start() -> datetime:
    return datetime(2026, 1, 5)


@server.tool()
def length() -> timedelta:
    return timedelta(days=3)


@server.tool()
def verdict() -> Verdict:
    return Verdict.GUILTY


@server.tool()
def word() -> str:
    return "guilty"


async def main():
    found = {}
    async with Client(server) as client:
        for tool in (await client.list_tools()).tools:
            result = await client.call_tool(tool.name, {})
            [part] = result.content
            found[tool.name] = (part.text, result.structured_content)
            print(f"{tool.name:8} text {' '.join(part.text.split())} | structured {result.structured_content}")
            assert (tool.output_schema is None) == (result.structured_content is None)
    for name in ("row", "given", "seat"):
        assert (json.loads(found[name][0]), found[name][1]) == (WHOLE, SHOWN), "it changed"
    assert (json.loads(found["listed"][0]), found["listed"][1]) == (WHOLE, {"result": [SHOWN]}), "it changed"
    assert (json.loads(found["player"][0]), found["player"][1]) == (WHOLE, WHOLE), "it changed"
    assert (json.loads(found["table"][0]), found["table"][1]) == ({"players": [SHOWN]}, {"players": [SHOWN]}), "it changed"
    for name, text in {"score": '"1.50"', "start": '"2026-01-05T00:00:00"', "length": '"P3D"', "verdict": '"guilty"'}.items():
        assert found[name] == (text, None), "it changed"
    assert found["word"] == ("guilty", {"result": "guilty"})


asyncio.run(main())
PY
