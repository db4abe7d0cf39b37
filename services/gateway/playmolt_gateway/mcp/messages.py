"""Checks and adapters around the MCP library: one JSON-RPC message per request, answers as JSON or as an event."""

from asyncio import Task
from typing import Final

import msgspec
from playmolt_core.ops.json_values import decode_json
from playmolt_schemas.routes.route import EVENT_STREAM, JSON
from playmolt_schemas.text import escape_line_ends
from starlette.types import Message, Receive, Scope, Send

from playmolt_gateway.http.bodies import SMALL_BYTES, costly

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_INVALID_PARAMS: Final = -32602
_UNSUPPORTED_VERSION: Final = -32022
_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""The versions of the protocol that the library knows, which is imported later; a test compares them."""
_NO_JSON: Final = "The body is not valid JSON. Send one JSON-RPC 2.0 message."
_MEMBERS: Final = {"jsonrpc", "id", "method", "params", "result", "error"}
_BOTH: Final = (b"accept", f"{JSON}, {EVENT_STREAM}".encode())


class InvalidMessage(msgspec.Struct, frozen=True):
    """A body that is not one JSON-RPC 2.0 message; `answer` is the error response."""

    answer: bytes


def message_of(body: bytes, version: bytes = b"") -> bytes | InvalidMessage:
    """The message for the library; an id such as 1.0 becomes an integer. `version`: its header."""
    if len(body) > SMALL_BYTES and (costs := costly(body)):
        return _error(_INVALID_REQUEST, costs.detail)
    try:
        message = decode_json(body)
        msgspec.json.encode(message).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _error(_PARSE_ERROR, _NO_JSON)
    fault = _fault(message)
    if fault:
        return _error(_INVALID_REQUEST, fault)
    identity = message.get("id")
    if version and version.decode("latin-1") not in _VERSIONS:
        return _unsupported(identity, version.decode("latin-1"))
    if fault := _wrong_call(message):
        return _error(_INVALID_PARAMS, fault, identity)
    return msgspec.json.encode({**message, "id": int(identity)}) if isinstance(identity, float) else body


def _error(code: int, text: str, identity: object = None, **more: object) -> InvalidMessage:
    error = {"code": code, "message": text, **more}
    return InvalidMessage(msgspec.json.encode({"jsonrpc": "2.0", "id": identity, "error": error}))


def _unsupported(identity: object, version: str) -> InvalidMessage:
    text = f"MCP-Protocol-Version {version[:40]!r} is not supported. Send one of {', '.join(_VERSIONS)}, or none."
    return _error(_UNSUPPORTED_VERSION, text, identity, data={"supported": _VERSIONS, "requested": version})


def _wrong_call(message: dict[str, object]) -> str:
    """What is wrong with the call of a tool, before any tool is chosen; the library's answer would not say it."""
    call = message.get("params")
    if message.get("method") != "tools/call" or "id" not in message:
        return ""
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return "params.name must be the name of a tool. tools/list names them."
    return "" if isinstance(call.get("arguments"), dict | None) else "params.arguments must be a JSON object."


def _fault(message: object) -> str:
    if isinstance(message, list):
        return "Send one message per request."
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return 'A message must be a JSON object with "jsonrpc": "2.0".'
    if not message.keys() <= _MEMBERS:
        return f"Unknown member. A message may have {', '.join(sorted(_MEMBERS))}."
    if "id" in message and not _is_id(message["id"]):
        return "id must be a string or an integer."
    if not isinstance(message.get("params"), dict | None):
        return "params must be a JSON object."
    answers = "id" in message and ("result" in message or "error" in message)
    return "" if answers or isinstance(message.get("method"), str) else "method must be a string."


def _is_id(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return isinstance(value, str)
    return abs(value) < 2**63 and value == int(value)


def takes_events_alone(accept: bytes) -> bool:
    """Whether a caller accepts event streams but not JSON."""
    taken = [part.partition(";")[0].strip().lower() for part in accept.decode("latin-1").split(",")]
    return EVENT_STREAM in taken and not {JSON, "application/*", "*/*"} & set(taken)


def for_the_library(scope: Scope) -> Scope:
    """The request with an Accept header of both types, which the library requires; it answers with JSON."""
    return {**scope, "headers": [_BOTH, *(pair for pair in scope["headers"] if pair[0] != b"accept")]}


def replayed(body: bytes, gone: "Task[None]") -> Receive:
    """A `receive` that replays a body that was read, and then the disconnect."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            await gone
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def as_event(send: Send) -> Send:
    """Send a JSON answer as a stream of one event."""
    start: Message = {}
    body = b""

    async def wrapped(message: Message) -> None:
        nonlocal start, body
        if message["type"] == "http.response.start":
            start = message
            return
        body += message.get("body", b"")
        if message.get("more_body"):
            return
        sent = b"event: message\ndata: " + escape_line_ends(body) + b"\n\n" if body else b""
        kept = [pair for pair in start["headers"] if pair[0].lower() not in (b"content-type", b"content-length")]
        headers = [*kept, (b"content-type", EVENT_STREAM.encode()), (b"content-length", b"%d" % len(sent))]
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": sent})

    return wrapped
