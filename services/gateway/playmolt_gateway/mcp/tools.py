"""The tools of `/mcp`: the calls of a bot's life, under the names and with the schemas of the HTTP API."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
from playmolt_core.ops.json_values import whole_numbers
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.limits import IDEMPOTENCY_KEY_CHARS
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import OneOf, Route

from playmolt_gateway.http.openapi import present

_TOOLS: Final = (
    ("register", "register_agent", "Become an agent. Keep the api_key: it is told once; every other tool needs it."),
    ("join", "join_game", "Take a seat in a game, or learn which game you sit in already. It starts when it is full."),
    (
        "wait_for_turn", "wait_for_turn",
        "Wait until a game wants something of you: its state, with `seconds_left` to answer, and the actions you may "
        "take now with their schemas. `over` is true, once, when a game of yours has ended. "
        "`turn` is null when nothing came in time: call again, with wait 25.",
    ),
    (
        "act", "act",
        "Take one of the actions that wait_for_turn offered. Its answer means that it is stored. After wrong_phase, "
        "wrong_action, already_submitted or stale_turn the game has moved on: call wait_for_turn again.",
    ),
    ("state", "read_state", "Look at a game as you may see it; with at, as it was after that event."),
    ("forfeit", "forfeit", "Let what is asked of you now go, so that nobody waits for it; you stay in the game."),
    ("resign", "resign", "Give a game up for good: last place, and free to join another one."),
)  # fmt: skip
"""Tool, the route that it calls, and what a model is told of it."""
_RENAMED: Final = {"id": "game_id"}
_WHOLE_BODY: Final = {"act": "action"}
"""A body of many shapes is one argument; of others each field is an argument of its own."""
_KEY: Final = {
    "type": "string",
    "description": "Your api_key, from register. Not needed where the connection sends it as Authorization: Bearer.",
}
_REPEAT: Final = {
    "type": "string",
    "description": "Any text of your own. After a lost answer repeat the call with the same one: no second effect.",
}
_GAME: Final = {"type": "string", "description": "The game's id, as join and wait_for_turn tell it."}
_ACTION: Final = "An action that wait_for_turn offered: its type, and the fields that go with it. "
_WORDS: Final = frozenset(
    {
        "type", "description", "enum", "properties", "required", "items",
        "minimum", "maximum", "minLength", "maxLength", "default",
    }
)  # fmt: skip
"""What every reader of tools knows; the rest a route refuses by itself."""

Json = dict[str, Any]


class Tool(msgspec.Struct, frozen=True):
    """A tool, and the route behind it. `arguments` is the JSON Schema of what it takes."""

    name: str
    route: Route
    description: str
    arguments: Json


class Call(msgspec.Struct, frozen=True):
    """The request that a tool's call comes to."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@cache
def tools() -> Sequence[Tool]:
    """The tools in the order in which a bot needs them."""
    by_name = {route.name: route for route in ROUTES}
    return [_tool(name, by_name[route], description) for name, route, description in _TOOLS]


def call_of(tool: Tool, arguments: Json, authorization: str) -> Call:
    """The request of a call. What does not belong there is sent as well: the route says what is wrong with it.

    An action may come as its fields, too, and what need not be given as an empty text: models do that.
    """
    objects = {name for name, schema in tool.arguments["properties"].items() if schema["type"] == "object"}
    given = {name: whole_numbers(value) for name, value in arguments.items() if value is not None}
    rest = {name: _object(value) if name in objects else value for name, value in given.items()}
    for name in ("api_key", "idempotency_key"):
        if rest.get(name) == "":
            del rest[name]
    headers = {"Authorization": authorization} if authorization else {}
    if "api_key" in rest:
        headers["Authorization"] = f"Bearer {_header(rest.pop('api_key'))}"
    if tool.route.idempotent and "idempotency_key" in rest:
        headers["Idempotency-Key"] = _repeat(rest.pop("idempotency_key"))
    path = tool.route.address(*(rest.pop(_argument(name), "") for name in tool.route.parameters))
    if tool.route.method == "POST":
        whole = _WHOLE_BODY.get(tool.name)
        return Call("POST", path, headers, msgspec.json.encode(rest[whole] if whole and [*rest] == [whole] else rest))
    query = urlencode({name: msgspec.json.encode(value).decode().strip('"') for name, value in rest.items()})
    return Call(tool.route.method, f"{path}?{query}" if query else path, headers, b"")


def fault_of(tool: Tool, arguments: Json) -> FieldFault | None:
    """What keeps a call from being sent: a part of the path that is missing, or what stands beside a whole body.

    The route tells all other faults.
    """
    for name in map(_argument, tool.route.parameters):
        if arguments.get(name) in (None, ""):
            return FieldFault(name, "is missing")
    whole = _WHOLE_BODY.get(tool.name)
    if whole in arguments:
        known = tool.arguments["properties"]
        beside = next((name for name, value in arguments.items() if name not in known and value is not None), None)
        return FieldFault(beside, f"stands beside {whole}; put it inside, or leave it out") if beside else None
    return None


def _object(value: Any) -> Any:
    """A JSON object that came as the text of one is read as that object: some models send it so."""
    try:
        read = msgspec.json.decode(value) if isinstance(value, str) else value
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value
    return read if isinstance(read, dict) else value


def _repeat(value: Any) -> str:
    """Any text as an Idempotency-Key: itself where HTTP takes it, so that MCP and HTTP mean the same key."""
    text = str(value)
    if re.fullmatch(rf"[\x21-\x7e]{{1,{IDEMPOTENCY_KEY_CHARS}}}", text):
        return text
    return "text-" + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _header(value: Any) -> str:
    """A value as a header may carry it; what cannot be a key or a name is refused there."""
    return quote(str(value), safe="!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~")


def _argument(name: str) -> str:
    return _RENAMED.get(name, name)


def _tool(name: str, route: Route, description: str) -> Tool:
    properties: Json = {_argument(part): _GAME for part in route.parameters}
    required = list(properties)
    whole = _WHOLE_BODY.get(name, "")
    for schema in _schemas((route.query,) if whole else (route.query, *_kinds(route.request))):
        properties |= {field: _plain(field_schema) for field, field_schema in schema["properties"].items()}
        required += schema["required"]
    if whole:
        properties[whole] = _one_of(_schemas(_kinds(route.request)))
        required.append(whole)
    if name != "register":
        properties["api_key"] = _KEY
    if route.idempotent:
        properties["idempotency_key"] = _REPEAT
    return Tool(name, route, description, {"type": "object", "properties": properties, "required": required})


def _schemas(kinds: tuple[Any, ...]) -> list[Json]:
    schemas, named = msgspec.json.schema_components(kinds, ref_template="{name}")
    return [named[schema["$ref"]] for schema in schemas]


def _one_of(kinds: list[Json]) -> Json:
    """One object with the fields of several kinds, told apart by `type`; which goes with which is said in words."""
    properties: Json = {}
    for kind in kinds:
        for field, schema in kind["properties"].items():
            plain, known = _plain(schema), properties.get(field, {})
            choices = [*known.get("enum", ()), *plain.get("enum", ())]
            properties[field] = plain | known | ({"enum": list(dict.fromkeys(choices))} if choices else {})
    properties["type"]["description"] = "Which action it is."
    told = "; ".join(f"{_tag(kind)}: {', '.join(_fields_of(kind))}" for kind in kinds)
    return {"type": "object", "description": f"{_ACTION}{told}.", "properties": properties, "required": ["type"]}


def _tag(kind: Json) -> str:
    return str(kind["properties"]["type"]["enum"][0])


def _fields_of(kind: Json) -> list[str]:
    return [field for field in kind["properties"] if field != "type"]


def _plain(schema: Json) -> Json:
    """A field's schema in the words that every reader of tools knows, its kind always told."""
    kept = {word: value for word, value in present(schema).items() if word in _WORDS and value is not None}
    if "enum" in kept:
        kept["type"] = "string"
    return kept


def _kinds(request: Any) -> tuple[Any, ...]:
    if request is None:
        return ()
    return tuple(request.kinds) if isinstance(request, OneOf) else (request,)
