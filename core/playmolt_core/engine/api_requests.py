"""A call of a game's own route, out of its envelope."""

from typing import Any

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Call

from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.ops.json_values import parse_json

_encode = msgspec.json.encode


class BadBody(ValueError):
    """A call's body is not what its op carries."""

    @property
    def refused(self) -> Refused:
        return Refused(Code.INVALID_REQUEST, f"The body does not fit: {self}.")


def api_request(call: Call, seed: str = "0") -> ApiRequest:
    """Read the body of `command` and `query`: {route, params, query, body, offset}. Raises BadBody."""
    try:
        carried = parse_json(call.body)
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


def offset_of(call: Call) -> int:
    """Where the wanted part of a long answer starts."""
    offset = parse_json(call.body).get("offset", 0)
    return offset if isinstance(offset, int) and offset >= 0 else 0


def body_of(reply: ApiReply) -> bytes:
    return reply.body if isinstance(reply.body, bytes) else _encode(reply.body)
