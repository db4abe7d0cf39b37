#!/usr/bin/env bash
# mcp 2.3.0 (the Python SDK of the Model Context Protocol), `MCPServer` and its decorated tools, installed 2026-11.
# Guess: a text arrives at a tool as the text that the client sent: what the published schema allows is accepted, and a
#        parameter that may be left out (`str | None`) takes the same texts as one that may not (`str`).
# Seen:  only a parameter annotated exactly `str` does. For each other annotation a text that is a JSON object, a JSON array
#        or `null` is parsed first: for `str | None`, "null" arrives as None, and "[1, 2]" and '{"a": 1}' are refused with
#        "Input should be a valid string", although the schema says string; '{"a": 1}' for `str | list[str]` likewise.
#        Numbers, `true` and quoted texts are left alone.
# Why it matters: an agent that plays a JSON move, quotes a record, or answers "null" through an optional field is refused,
#        or says nothing, with arguments that its own check against the schema passed. Annotate `str` and use "" as the
#        default, or use the low-level server.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0 jsonschema==4.26.0
"$folder/venv/bin/python" - <<'PY'
import asyncio

from jsonschema import Draft202012Validator
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("table")


@server.tool()
def say(text: str) -> str:
    return f"text {text!r}"


@server.tool()
def say_maybe(text: str | None = None) -> str:
    return f"text {text!r}"


@server.tool()
def say_each(text: str | list[str]) -> str:
    return f"text {text!r}"


async def main():
    schemas = {tool.name: tool.input_schema for tool in await server.list_tools()}

    async def call(tool, text):
        assert Draft202012Validator(schemas[tool]).is_valid({"text": text})
        try:
            return (await server.call_tool(tool, {"text": text})).content[0].text
        except ToolError as error:
            return "refused: " + next(line for line in str(error).splitlines() if "valid string" in line).split("[")[0].strip()

    refused = "refused: Input should be a valid string"
    for text, maybe, each in (
        ("null", "text None", refused),
        ("[1, 2]", refused, refused),
        ('{"a": 1}', refused, refused),
        ("12", "text '12'", "text '12'"),
        ("true", "text 'true'", "text 'true'"),
    ):
        seen = [await call(tool, text) for tool in ("say", "say_maybe", "say_each")]
        print(f"{text:10} str: {seen[0]}; str | None: {seen[1]}; str | list[str]: {seen[2]}")
        assert seen == [f"text {text!r}", maybe, each], "it changed"


asyncio.run(main())
PY
