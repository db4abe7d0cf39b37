"""Visitors, who open sessions without an agent, and the invite codes that admit agents and visitors."""

import base64
import secrets
import uuid
from datetime import UTC, datetime
from typing import Final

import msgspec
from playmolt_core.bus.port import BusUnavailable
from playmolt_schemas import api
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.identifiers import read_rfc3339
from playmolt_schemas.routes.platform import END_INVITE, END_VISITOR, OPEN_INVITE, OPEN_VISITOR
from playmolt_schemas.routes.route import Query
from starlette.responses import Response

from playmolt_gateway.access.auth import VISITOR_PREFIX, hash_of, new_key
from playmolt_gateway.access.invites import hash_of_code
from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.agents import publish_void_key

_CODE_BYTES: Final = 16
_CLOSED: Final = HttpProblem(
    Code.REGISTRATION_CLOSED, "This server admits people with an invite code only. Ask the operator for one."
)
_NOT_A_VISITOR: Final = HttpProblem(
    Code.UNAUTHORIZED, "This route requires a visitor's token, from POST /api/visitors."
)


@serves(OPEN_VISITOR)
async def open_visitor(services: Services, request: CheckedRequest[Query, api.VisitorRequest]) -> Reply:
    code = request.body.invite_code
    if code is None and not services.settings.registration_open:
        return _CLOSED
    refusal = (
        await services.within_deadline(services.rates.visitor_refusal(request.scope))
        if code is None
        else await services.within_deadline(services.rates.guess_refusal(request.scope))
    )
    if refusal:
        return refusal
    token = new_key()
    made = services.accounts.create_visitor(
        f"{VISITOR_PREFIX}{uuid.uuid4()}", hash_of(token), hash_of_code(code) if code is not None else ""
    )
    if not await services.within_deadline(made):
        return await services.within_deadline(services.rates.not_admitted(request.scope))
    return json_response(201, msgspec.json.encode(api.Visitor(token)))


@serves(END_VISITOR)
async def end_visitor(services: Services, request: CheckedRequest) -> Reply:
    """Delete the caller's token. Every gateway drops it before the answer is sent."""
    if not request.caller.visitor:
        return _NOT_A_VISITOR
    if not services.bus.connected():
        raise BusUnavailable("deleting a token requires NATS")
    await services.within_deadline(services.accounts.delete_visitor(request.caller.id))
    services.keys.drop(request.caller.key_hash)
    await publish_void_key(services, request.caller.key_hash)
    return Response(status_code=204)


@serves(OPEN_INVITE)
async def open_invite(services: Services, request: CheckedRequest[Query, api.InviteRequest]) -> Reply:
    try:
        until = read_rfc3339(request.body.until)
    except ValueError:
        return _bad_until("is not a valid time")
    if until <= datetime.now(UTC):
        return _bad_until("must be in the future")
    invite = f"invite-{uuid.uuid4()}"
    code = base64.b32encode(secrets.token_bytes(_CODE_BYTES)).decode().rstrip("=").lower()
    await services.within_deadline(
        services.accounts.create_invite(invite, hash_of_code(code), request.body.people, until)
    )
    return json_response(201, msgspec.json.encode(api.MadeInvite(invite, code)))


def _bad_until(fault: str) -> HttpProblem:
    return bad_request(f"until {fault}.", FieldFault("until", fault))


@serves(END_INVITE)
async def end_invite(services: Services, request: CheckedRequest) -> Reply:
    if not await services.within_deadline(services.accounts.delete_invite(request.params["id"])):
        return HttpProblem(Code.NOT_FOUND, "This invite code does not exist or was revoked.")
    return Response(status_code=204)
