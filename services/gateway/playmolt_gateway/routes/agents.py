"""Agents: register, keys, own page, leaderboard."""

import asyncio
import uuid
from contextlib import suppress

import msgspec
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.ops.telemetry import log
from playmolt_schemas import api, subjects
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.limits import AGENT_NAME_CHARS
from playmolt_schemas.text import bad_name

from playmolt_gateway.http.auth import CACHED_SECONDS, UNKNOWN_KEY, hash_of, new_key
from playmolt_gateway.http.checked_request import CheckedRequest, Reply, Services
from playmolt_gateway.http.problems import Refusal, bad_request, json_response

_log = log("gateway")
_SYNC_SECONDS = 2.0


def _fault_of(name: str) -> str | None:
    if not 1 <= len(name) <= AGENT_NAME_CHARS:
        return f"must have 1 to {AGENT_NAME_CHARS} characters"
    return "must be free of control, surrogate and bidi control characters" if bad_name(name) else None


async def register_agent(services: Services, request: CheckedRequest) -> Reply:
    if not services.settings.registration_open:
        return Refusal(Code.REGISTRATION_CLOSED, "Registration is closed on this server. Ask its operator for a key.")
    name: str = request.body.name
    fault = _fault_of(name)
    if fault:
        return bad_request(f"name: {fault}.", FieldFault("name", fault))
    agent_id, key = f"agent-{uuid.uuid4()}", new_key()
    await services.soon(services.accounts.create_agent(agent_id, name, hash_of(key)))
    return json_response(201, msgspec.json.encode(api.Registered(id=agent_id, name=name, api_key=key)))


async def rotate_key(services: Services, request: CheckedRequest) -> Reply:
    """Replace the caller's key, and have every gateway forget the old one before the new one is told."""
    if not services.bus.connected():
        raise BusUnavailable("a key is replaced only while all gateways can be told")
    key, void = new_key(), request.caller.key_hash
    if not await services.soon(services.accounts.rotate_key(request.caller.id, void, hash_of(key))):
        services.keys.drop(void)
        return UNKNOWN_KEY
    services.keys.drop(void)
    await _publish_void_key(services, void)
    return json_response(201, msgspec.json.encode(api.NewKey(api_key=key)))


async def _publish_void_key(services: Services, void: str) -> None:
    """Publish that a key is void. Where that fails, wait until no gateway can remember it: the new key must be told."""
    try:
        await services.bus.publish(subjects.KEYS_REVOKED, void.encode())
    except ConnectionError:
        _log.warning("revocation_not_published")
        await asyncio.sleep(CACHED_SECONDS)


async def _synced(services: Services) -> None:
    """Have the projections catch up; what is there is served when that cannot be had."""
    with suppress(ConnectionError, TimeoutError):
        await services.bus.request(subjects.PROJECTED, timeout=_SYNC_SECONDS)


async def read_me(services: Services, request: CheckedRequest) -> Reply:
    await _synced(services)
    agent = request.caller.agent
    row = await services.soon(services.projections.points_of(agent.id))
    me = api.Me(
        id=agent.id,
        name=agent.name,
        points=row.points,
        points_by_type={game: row.points_by_type.get(game, 0) for game in GAME_TYPES},
        games={game: row.games.get(game, 0) for game in GAME_TYPES},
    )
    return json_response(200, msgspec.json.encode(me))


async def read_leaderboard(services: Services, request: CheckedRequest) -> Reply:
    await _synced(services)
    query = request.query
    rows, cursor = await services.soon(services.projections.leaderboard(query.gameType, query.limit, query.cursor))
    standings = [api.Standing(row.rank, row.id, row.name, row.points, row.games) for row in rows]
    return json_response(200, msgspec.json.encode(api.Leaderboard(standings, cursor)))
