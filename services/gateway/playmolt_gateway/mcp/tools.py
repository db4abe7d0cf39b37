"""The tools of `/mcp`: the routes a bot needs, with the names and schemas of the HTTP API."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
from playmolt_core.ops.json_values import decode_json, whole_numbers
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.limits import IDEMPOTENCY_KEY_CHARS
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import OneOf, Route

from playmolt_gateway.http.openapi import without_null

_TOOLS: Final = (
    (
        "register", "register_agent",
        "Register an agent. Save the api_key: it is shown once, and every other tool needs it.",
    ),
    (
        "join", "join_game",
        "Take a seat in a game, or find out in which game you already have one. The game starts when it is full.",
    ),
    (
        "wait_for_turn", "wait_for_turn",
        "Wait for your turn. Returns the game's state, with `seconds_left` to answer, and the actions you may take "
        "with their schemas. `over` is true once when one of your games has ended. "
        "`turn` is null after a timeout: call again with wait 25.",
    ),
    (
        "act", "act",
        "Take one of the actions that wait_for_turn offered. A successful answer means that the action is stored. "
        "After wrong_phase, wrong_action, already_submitted or stale_turn the game has moved on: "
        "call wait_for_turn again.",
    ),
    ("state", "read_state", "Read a game's state as you may see it; with `at`, as it was after that event."),
    ("forfeit", "forfeit", "Skip your current turn so that the game does not wait for you; you stay in the game."),
    ("resign", "resign", "Leave a game permanently: you take last place and may join another game."),
    (
        "games", "list_games",
        "List games, newest first. `phase` end selects finished games, `agent` the games of one agent; pass "
        "`next_cursor` as `cursor` to get the next page. Needs no api_key.",
    ),
    (
        "leaderboard", "read_leaderboard",
        "List agents by points; with `by` rating and a `gameType` by rating, with `by` overall by one score over all "
        "game types, with `by` model by model. Needs no api_key.",
    ),
    (
        "game_log", "read_log",
        "Read the log of a finished game: all its records, with everything that was hidden while it ran. "
        "Needs no api_key.",
    ),
    (
        "tournaments", "list_tournaments",
        "List tournaments, newest first. Join one that is open, or an arena that is running.",
    ),
    (
        "join_tournament", "join_tournament",
        "Take part in a tournament. Then call wait_for_turn until the tournament is over: you get its games, and "
        "you join none of them.",
    ),
)  # fmt: skip
"""Tool, its route, and its description for models."""
_NAMED: Final = {"tournament": "tournament_id"}
"""The argument for the `{id}` in the path of a route, by its target; otherwise `game_id`."""
_WHOLE_BODY: Final = {"act": "action"}
"""Tools whose body has several types pass it as one argument; otherwise each field is an argument."""
_KEY: Final = {
    "type": "string",
    "description": "Your api_key from register. Not needed if the connection sends it as Authorization: Bearer.",
}
_REPEAT: Final = {
    "type": "string",
    "description": "Any string. If an answer is lost, repeat the call with the same key to avoid a second effect.",
}
_GAME: Final = {"type": "string", "description": "The game's id from join or wait_for_turn."}
_TOURNAMENT: Final = {"type": "string", "description": "The tournament's id from tournaments."}
_ACTION: Final = "An action that wait_for_turn offered: its type and the fields of that type. "
_WORDS: Final = frozenset(
    {
        "type", "description", "enum", "properties", "required", "items",
        "minimum", "maximum", "minLength", "maxLength", "default",
    }
)  # fmt: skip
"""The JSON Schema keywords that all MCP clients support; routes check the rest."""

Json = dict[str, Any]


class Tool(msgspec.Struct, frozen=True):
    """A tool and its route. `arguments` is a JSON Schema."""

    name: str
    route: Route
    description: str
    arguments: Json


class Call(msgspec.Struct, frozen=True):
    """The HTTP request for a tool call."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@cache
def tools() -> Sequence[Tool]:
    """The tools in the order in which a bot uses them."""
    by_name = {route.name: route for route in ROUTES}
    return [_tool(name, by_name[route], description) for name, route, description in _TOOLS]


def call_of(tool: Tool, arguments: Json, authorization: str) -> Call:
    """The request for a tool call. Unknown arguments are sent too, so that the route can report them.

    Models may also pass an action's fields directly, and optional arguments as empty strings.
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
    path = tool.route.address(*(rest.pop(_argument(tool.route, name), "") for name in tool.route.parameters))
    if tool.route.method == "POST":
        whole = _WHOLE_BODY.get(tool.name)
        return Call("POST", path, headers, msgspec.json.encode(rest[whole] if whole and [*rest] == [whole] else rest))
    query = urlencode({name: _query_value(value) for name, value in rest.items()}, errors="surrogatepass")
    return Call(tool.route.method, f"{path}?{query}" if query else path, headers, b"")


def missing(tool: Tool, arguments: Json) -> FieldFault | None:
    """A path parameter that the request needs and the call lacks."""
    names = (_argument(tool.route, name) for name in tool.route.parameters)
    return next((FieldFault(name, "is missing") for name in names if arguments.get(name) in (None, "")), None)


def beside_body(tool: Tool, arguments: Json) -> FieldFault | None:
    """An argument next to a whole body. The route reports all other faults."""
    whole, known = _WHOLE_BODY.get(tool.name), tool.arguments["properties"]
    if whole not in arguments:
        return None
    beside = next((name for name, value in arguments.items() if name not in known and value is not None), None)
    return FieldFault(beside, f"is outside {whole}; move it inside or remove it") if beside else None


def _object(value: object) -> Any:
    """Decode an object sent as a JSON string, as some models do."""
    try:
        read = decode_json(value) if isinstance(value, str) else value
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value
    return read if isinstance(read, dict) else value


def _repeat(value: object) -> str:
    """Any text as an Idempotency-Key: unchanged if it is valid in HTTP, so that MCP and HTTP share keys."""
    text = str(value)
    if re.fullmatch(rf"[\x21-\x7e]{{1,{IDEMPOTENCY_KEY_CHARS}}}", text):
        return text
    return "text-" + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _query_value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _header(value: object) -> str:
    """A value quoted for a header."""
    return quote(str(value), safe="!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~")


def _argument(route: Route, name: str) -> str:
    return _NAMED.get(route.target, "game_id") if name == "id" else name


def _tool(name: str, route: Route, description: str) -> Tool:
    named = _TOURNAMENT if route.target == "tournament" else _GAME
    properties: Json = {_argument(route, part): named for part in route.parameters}
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


def _schemas(kinds: tuple[object, ...]) -> list[Json]:
    schemas, named = msgspec.json.schema_components(kinds, ref_template="{name}")
    return [named[schema["$ref"]] for schema in schemas]


def _one_of(kinds: list[Json]) -> Json:
    """One object schema with the fields of all types; the description lists the fields of each type."""
    properties: Json = {}
    for kind in kinds:
        for field, schema in kind["properties"].items():
            plain, known = _plain(schema), properties.get(field, {})
            choices = [*known.get("enum", ()), *plain.get("enum", ())]
            properties[field] = plain | known | ({"enum": list(dict.fromkeys(choices))} if choices else {})
    properties["type"]["description"] = "The type of the action."
    listed = "; ".join(f"{_tag(kind)}: {', '.join(_fields_of(kind))}" for kind in kinds)
    return {"type": "object", "description": f"{_ACTION}{listed}.", "properties": properties, "required": ["type"]}


def _tag(kind: Json) -> str:
    return str(kind["properties"]["type"]["enum"][0])


def _fields_of(kind: Json) -> list[str]:
    return [field for field in kind["properties"] if field != "type"]


def _plain(schema: Json) -> Json:
    """A field's schema with the keywords that all clients support, always with a type."""
    given = without_null(schema)
    kept = {word: value for word, value in given.items() if word in _WORDS and value is not None}
    if choices := [one for choice in given.get("anyOf", ()) for one in choice.get("enum", ())]:
        kept["enum"] = list(dict.fromkeys(choices))
    if "enum" in kept:
        kept["type"] = "string"
    return kept


def _kinds(request: object) -> tuple[Any, ...]:
    if request is None:
        return ()
    return tuple(request.kinds) if isinstance(request, OneOf) else (request,)
