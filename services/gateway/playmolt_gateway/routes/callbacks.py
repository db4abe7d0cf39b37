"""Where an agent is called: its own server's address, looked at before it is taken."""

import asyncio
import secrets
from typing import Final

import msgspec
from playmolt_core.effects.callbacks.address import BadAddress, resolved
from playmolt_schemas import api
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.identifiers import rfc3339
from starlette.responses import Response

from playmolt_gateway.http.checked_request import CheckedRequest, Reply, Services
from playmolt_gateway.http.problems import Refusal, bad_request, json_response

_LOOKUP_SECONDS: Final = 5.0
_SECRET_BYTES: Final = 32


async def put_callback(services: Services, request: CheckedRequest) -> Reply:
    body: api.CallbackRequest = request.body
    if fault := await _fault(body.url, private=bool(services.settings.callback_private)):
        return bad_request(f"url {fault}. Give an address that everybody can reach.", FieldFault("url", fault))
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    await services.soon(services.callbacks.put(request.caller.id, body.url, secret))
    return json_response(200, msgspec.json.encode(api.CallbackSecret(body.url, secret)))


async def _fault(url: str, *, private: bool) -> str | None:
    """Why nobody calls this URL."""
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            await resolved(url, private=private)
    except BadAddress as error:
        return str(error)
    except TimeoutError:
        return f"names a host that was not found within {_LOOKUP_SECONDS:g} seconds"
    return None


async def read_callback(services: Services, request: CheckedRequest) -> Reply:
    found = await services.soon(services.callbacks.callback(request.caller.id))
    if found is None:
        return Refusal(Code.NOT_FOUND, "You are called nowhere. PUT /api/agents/me/callback says where.")
    return json_response(200, msgspec.json.encode(api.Callback(found.url, rfc3339(found.created_at))))


async def end_callback(services: Services, request: CheckedRequest) -> Reply:
    await services.soon(services.callbacks.end(request.caller.id))
    return Response(status_code=204)
