"""A call of a game's own route, out of its envelope."""

from typing import Any

import msgspec

from playmolt_core.engine.pending_call import BadBody, PendingCall
from playmolt_core.game.api import ApiReply, ApiRequest

_encode = msgspec.json.encode


def api_request(pending: PendingCall, seed: str = "0") -> ApiRequest:
    """Read the body of `command` and `query`: {route, params, query, body, offset}. Raises BadBody."""
    call, carried = pending.call, pending.carried()
    try:
        named: dict[str, Any] = {name: carried[name] for name in ("route", "params", "query")}
        body = carried.get("body")
        return msgspec.convert(
            {
                **named, "stream": call.target, "body": None, "agent_id": call.agent, "name": call.name,
                "operator": call.operator, "command_id": call.command_id, "seed": seed,
            },
            ApiRequest,
        ).with_body(body)  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise BadBody(str(error)) from error


def offset_of(pending: PendingCall) -> int:
    """Where the wanted part of a long answer starts. Raises BadBody."""
    offset = pending.carried().get("offset", 0)
    return offset if isinstance(offset, int) and offset >= 0 else 0


def body_of(reply: ApiReply) -> bytes:
    return reply.body if isinstance(reply.body, bytes) else _encode(reply.body)
