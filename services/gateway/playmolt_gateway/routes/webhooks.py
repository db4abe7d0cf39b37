"""Webhooks of owners."""

import uuid
from typing import Final
from urllib.parse import urlsplit

import msgspec
from playmolt_core.db.webhooks import NewWebhook
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.routes import webhooks as routes
from playmolt_schemas.routes.route import Query
from starlette.responses import Response

from playmolt_gateway.access.auth import UNKNOWN_OWNER
from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.agents import url_fault
from playmolt_gateway.routes.owners import caller_owner, shown_webhook

_NONE: Final = HttpProblem(Code.NOT_FOUND, "You have no webhook. Set one with PUT /api/owners/me/webhook.")
_TWICE: Final = "names an event twice"
_encode = msgspec.json.encode


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


@serves(routes.PUT_WEBHOOK)
async def put_webhook(services: Services, request: CheckedRequest[Query, routes.WebhookRequest]) -> Reply:
    body = request.body
    if len(set(body.events)) < len(body.events):
        return bad_request(f"events {_TWICE}. Name each once.", FieldFault("events", _TWICE))
    if fault := await url_fault(body.url, private=bool(services.settings.callback_private)):
        return bad_request(f"url {fault}. Use a publicly reachable address.", FieldFault("url", fault))
    new = NewWebhook(
        id=uuid.uuid4(),
        url=body.url,
        host=_host(body.url),
        origin=services.address.gateway(request.scope),
        events=body.events,
    )
    secret = await services.within_deadline(services.webhook_secrets.of(new.id))
    if not await services.within_deadline(services.webhooks.put(caller_owner(request).id, new)):
        return UNKNOWN_OWNER
    services.webhook_put.set()
    return json_response(200, _encode(routes.WebhookSecret(body.url, body.events, secret)))


@serves(routes.READ_WEBHOOK)
async def read_webhook(services: Services, request: CheckedRequest) -> Reply:
    found = await services.within_deadline(services.webhooks.webhook(caller_owner(request).id))
    return _NONE if found is None else json_response(200, _encode(shown_webhook(found)))


@serves(routes.END_WEBHOOK)
async def end_webhook(services: Services, request: CheckedRequest) -> Reply:
    await services.within_deadline(services.webhooks.end(caller_owner(request).id))
    return Response(status_code=204)


@serves(routes.LIST_DELIVERIES)
async def list_deliveries(services: Services, request: CheckedRequest) -> Reply:
    owner_id = caller_owner(request).id
    if await services.within_deadline(services.webhooks.webhook(owner_id)) is None:
        return _NONE
    rows = [
        routes.WebhookDelivery(row.id, row.type, rfc3339(row.changed_at), row.status, row.tries)
        for row in await services.within_deadline(services.webhooks.deliveries(owner_id))
    ]
    return json_response(200, _encode(routes.WebhookDeliveries(rows)))
