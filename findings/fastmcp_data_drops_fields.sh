#!/usr/bin/env bash
# fastmcp 4.2.3 (client and server of the Model Context Protocol), installed 2026-11: `data` of a tool's result.
# Guess: `result.data` is what `structured_content` says, with types: what the server sends is there, what it does not send is not.
# Seen:  a field that the output schema does not name is missing from `data`, although a schema without `additionalProperties`
#        allows it; only objects with `additionalProperties: true` keep it. A field that was not sent is there, as None or with
#        the schema's default, so that no bid and a bid of null are the same. "seat-1" is the attribute seat_1, and where
#        "seat_1" exists as well, that one is seat_1_2. `structured_content` is right in each case.
# Why it matters: fields that a server adds in a minor release, which its rules of versions allow, do not reach a client whose
#        tests pass, and a default looks like an answer of the server. Read `structured_content` for what counts.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fastmcp==4.2.3
"$folder/venv/bin/python" -W ignore - <<'PY'
import asyncio

from fastmcp import Client, FastMCP
from fastmcp.tools import ToolResult

NUMBER = {"type": "integer"}
SEAT = {"type": "object", "properties": {"number": NUMBER}}
TOOLS = {
    "field_not_named": (
        {"type": "object", "properties": {"round": NUMBER, "seat": SEAT}},
        {"round": 3, "phase": "vote", "seat": {"number": 1, "agent": "kim"}},
        "Root(round=3, seat=Root_2(number=1))",
    ),
    "more_allowed": (
        {"type": "object", "properties": {"round": NUMBER, "seat": SEAT | {"additionalProperties": True}}, "additionalProperties": True},
        {"round": 3, "phase": "vote", "seat": {"number": 1, "agent": "kim"}},
        "round=3 seat=Root_2(number=1, agent='kim') phase='vote'",
    ),
    "not_sent": (
        {"type": "object", "properties": {"bid": {"type": ["integer", "null"]}, "votes": NUMBER | {"default": 1}}},
        {},
        "Root(bid=None, votes=1)",
    ),
    "null_sent": (
        {"type": "object", "properties": {"bid": {"type": ["integer", "null"]}, "votes": NUMBER | {"default": 1}}},
        {"bid": None},
        "Root(bid=None, votes=1)",
    ),
    "two_names": (
        {"type": "object", "properties": {"seat-1": NUMBER, "seat_1": NUMBER}},
        {"seat-1": 7, "seat_1": 8},
        "Root(seat_1=7, seat_1_2=8)",
    ),
}


def tool(content):
    return lambda: ToolResult(structured_content=content)


server = FastMCP("games")
for name, (schema, content, _) in TOOLS.items():
    server.tool(tool(content), name=name, output_schema=schema)


async def main():
    async with Client(server) as client:
        for name, (_, content, expected) in TOOLS.items():
            result = await client.call_tool(name)
            print(f"{name}: structured_content {result.structured_content}, data {result.data}")
            assert result.structured_content == content and str(result.data) == expected, "it changed"


asyncio.run(main())
PY
