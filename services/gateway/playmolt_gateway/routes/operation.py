"""Health, readiness and metrics."""

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from msgspec import UNSET
from playmolt_core.ops.metrics import Sample
from playmolt_core.ops.telemetry import log
from playmolt_schemas.codes import Code, problem
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.routes.platform import HEALTHZ, READ_METRICS, READYZ, Alive, Ready, ReadyQuery
from playmolt_schemas.routes.route import METRICS
from starlette.responses import Response

from playmolt_gateway.http.metrics import CALLBACK_METRICS, WEBHOOK_METRICS
from playmolt_gateway.http.problems import RETRY_SECONDS
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services

_log = log("gateway")
SERVICES: Final = ("relay", "spectator")
"""Services required for readiness besides engines and gateway."""
_PING_SECONDS: Final = 2.0


@serves(HEALTHZ)
async def healthz(services: Services, request: CheckedRequest) -> Reply:
    del services, request
    return json_response(200, msgspec.json.encode(Alive()))


async def _postgres(services: Services) -> bool:
    try:
        async with asyncio.timeout(_PING_SECONDS):
            return await services.database.answers()
    except UNAVAILABLE_ERRORS:
        return False


@serves(READYZ)
async def readyz(services: Services, request: CheckedRequest[ReadyQuery, None]) -> Reply:
    """Check every part; a 503 lists the missing ones. Requests during a check share it."""
    own = request.query.own is not None
    checking = services.readiness.get(own)
    if checking is None or checking.done():
        checking = services.readiness[own] = asyncio.create_task(_readiness(services, own=own))
    status, body = await asyncio.shield(checking)
    extra = [(b"retry-after", b"%d" % RETRY_SECONDS)] if status != HTTPStatus.OK else None
    return json_response(status, body, extra)


async def _readiness(services: Services, *, own: bool) -> tuple[int, bytes]:
    nats = await services.bus.fault()
    parts = {"nats": not nats, "postgres": await _postgres(services)}
    if not own:
        engines, present = services.bus.present(), services.bus.services()
        parts |= {f"engine.{game}": game in engines for games in ENGINES.values() for game in games}
        parts |= {service: service in present for service in SERVICES}
        parts["feeds"] = services.bus.feeds_move()
    parts["accepting"] = not services.waits.closed
    if all(parts.values()):
        missing = await services.within_deadline(services.packs.missing()) if not own else ()
        return HTTPStatus.OK, msgspec.json.encode(Ready(parts, tuple(missing) or UNSET))
    missing_parts = ", ".join(name for name, ready in parts.items() if not ready)
    reason = {"reason": services.database.reason} if services.database.reason else {}
    reason |= {"nats_reason": nats} if nats else {}
    document = msgspec.to_builtins(
        problem(Code.UNAVAILABLE, f"Not ready: {missing_parts}. Run `playmolt doctor` for details.")
    )
    body = msgspec.json.encode({"type": "about:blank", **document, "parts": parts, **reason})
    return Code.UNAVAILABLE.status, body


@serves(READ_METRICS)
async def metrics(services: Services, request: CheckedRequest) -> Reply:
    del request
    gauges = {"open_waits": len(services.waits), "cached_keys": len(services.keys)}
    read_only = Sample("playmolt_database_read_only", int(services.database.read_only))
    samples = (read_only, *services.bus.samples(), *CALLBACK_METRICS.samples(), *WEBHOOK_METRICS.samples())
    return Response(services.metrics.render(gauges, *samples), media_type=METRICS)
