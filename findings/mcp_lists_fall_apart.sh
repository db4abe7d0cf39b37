#!/usr/bin/env bash
# mcp 2.3.0 (the Python SDK of the Model Context Protocol), `MCPServer` and its decorated tools, installed 2026-11: lists that a
# tool returns.
# Guess: a list is one text of content, its JSON, as an object is; an empty list is "[]", and nested lists stay nested.
# Seen:  each item becomes a text of its own, at every depth, and None and empty lists within vanish: the board [[0, 1], [1, 0]] is
#        "0", "1", "1", "0", and [["a1"], [], None, ["b2"]] is "a1", "b2". An empty list is content without any part, the same
#        as None. An object that holds the list is one JSON text. `structured_content` is whole, but only where the
#        function has a return annotation.
# Why it matters: most hosts show a model the texts alone. It reads a board without rows, legal moves of the wrong piece, and
#        nothing at all where there is no legal move. Return an object, {"board": …}.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$folder/venv/bin/python" - <<'PY'
import asyncio
import json

from mcp import Client
from mcp.server import MCPServer

server = MCPServer("game")
GRID = [[0, 1], [1, 0]]


@server.tool()
def annotated() -> list[list[int]]:
    return GRID


@server.tool()
def board():
    return GRID


@server.tool()
def moves():
    return [["a1"], [], None, ["b2"]]


@server.tool()
def stuck():
    return []


@server.tool()
def silent():
    return None


@server.tool()
def wrapped():
    return {"board": GRID}


async def main():
    seen = {}
    async with Client(server) as client:
        for name in ("annotated", "board", "moves", "stuck", "silent", "wrapped"):
            result = await client.call_tool(name, {})
            seen[name] = [part.text for part in result.content], result.structured_content
            print(f"{name:10} -> {seen[name]}")
    assert seen["board"] == (["0", "1", "1", "0"], None), "it changed"
    assert seen["annotated"] == (["0", "1", "1", "0"], {"result": GRID}), "it changed"
    assert seen["moves"] == (["a1", "b2"], None), "it changed"
    assert seen["stuck"] == seen["silent"] == ([], None), "it changed"
    texts, _ = seen["wrapped"]
    assert len(texts) == 1 and json.loads(texts[0]) == {"board": GRID}


asyncio.run(main())
PY
