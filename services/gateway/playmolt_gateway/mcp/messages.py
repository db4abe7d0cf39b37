"""The messages of `/mcp` before a library reads them: one of JSON-RPC's requests, in the form that its caller wants."""

from asyncio import Task
from typing import Any, Final

import msgspec
from playmolt_schemas.routes.route import EVENT_STREAM, JSON
from playmolt_schemas.text import on_one_line
from starlette.types import Message, Receive, Scope, Send

from playmolt_gateway.http.bodies import SMALL_BYTES, costly

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_NO_JSON: Final = "The body is no JSON. Send one JSON-RPC 2.0 message."
_MEMBERS: Final = {"jsonrpc", "id", "method", "params", "result", "error"}
_BOTH: Final = (b"accept", f"{JSON}, {EVENT_STREAM}".encode())


class NoMessage(msgspec.Struct, frozen=True):
    """A body is not one message of JSON-RPC 2.0; `answer` is the error that says so."""

    answer: bytes


def message_of(body: bytes) -> bytes | NoMessage:
    """The message as a library reads it: an id such as 1.0 is a whole number."""
    if len(body) > SMALL_BYTES and (costs := costly(body)):
        return _error(_INVALID_REQUEST, costs.detail)
    try:
        message = msgspec.json.decode(body)
        msgspec.json.encode(message).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _error(_PARSE_ERROR, _NO_JSON)
    fault = _fault(message)
    if fault:
        return _error(_INVALID_REQUEST, fault)
    identity = message.get("id")
    return msgspec.json.encode({**message, "id": int(identity)}) if isinstance(identity, float) else body


def _error(code: int, text: str) -> NoMessage:
    return NoMessage(msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}))


def _fault(message: Any) -> str:
    if isinstance(message, list):
        return "Send one message a request."
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return 'A message is a JSON object with "jsonrpc": "2.0".'
    if not message.keys() <= _MEMBERS:
        return f"A message has no members but {', '.join(sorted(_MEMBERS))}."
    if "id" in message and not _is_id(message["id"]):
        return "id is a text or a whole number."
    if not isinstance(message.get("params"), dict | None):
        return "params is a JSON object."
    answers = "id" in message and ("result" in message or "error" in message)
    return "" if answers or isinstance(message.get("method"), str) else "method is a text."


def _is_id(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return isinstance(value, str)
    return abs(value) < 2**63 and value == int(value)


def takes_events_alone(accept: bytes) -> bool:
    """Whether a caller takes events and no JSON; what says neither gets JSON."""
    taken = [part.partition(";")[0].strip().lower() for part in accept.decode("latin-1").split(",")]
    return EVENT_STREAM in taken and not {JSON, "application/*", "*/*"} & set(taken)


def for_the_library(scope: Scope) -> Scope:
    """A request that takes both forms, as the library demands; it gives JSON."""
    return {**scope, "headers": [_BOTH, *(pair for pair in scope["headers"] if pair[0] != b"accept")]}


def replayed(body: bytes, gone: "Task[None]") -> Receive:
    """Give a body that was read, then that the client has gone once it has."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            await gone
            return {"type": "http.disconnect"}
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def as_event(send: Send) -> Send:
    """Send a whole JSON answer as one event of a stream."""
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
        sent = b"event: message\ndata: " + on_one_line(body) + b"\n\n" if body else b""
        kept = [pair for pair in start["headers"] if pair[0].lower() not in (b"content-type", b"content-length")]
        headers = [*kept, (b"content-type", EVENT_STREAM.encode()), (b"content-length", b"%d" % len(sent))]
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": sent})

    return wrapped
