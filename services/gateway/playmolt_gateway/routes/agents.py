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
from playmolt_gateway.http.checked_request import Ask, House, Reply
from playmolt_gateway.http.problems import Refusal, bad_request, json_response

_log = log("gateway")
_SYNC_SECONDS = 2.0


def _fault_of(name: str) -> str | None:
    if not 1 <= len(name) <= AGENT_NAME_CHARS:
        return f"must have 1 to {AGENT_NAME_CHARS} characters"
    return "must be free of control, surrogate and bidi control characters" if bad_name(name) else None


async def register_agent(house: House, ask: Ask) -> Reply:
    """Make an agent and its key."""
    if not house.settings.registration_open:
        return Refusal(Code.REGISTRATION_CLOSED, "Registration is closed on this server. Ask its operator for a key.")
    name: str = ask.body.name
    fault = _fault_of(name)
    if fault:
        return bad_request(f"name: {fault}.", FieldFault("name", fault))
    agent_id, key = f"agent-{uuid.uuid4()}", new_key()
    await house.soon(house.accounts.create_agent(agent_id, name, hash_of(key)))
    return json_response(201, msgspec.json.encode(api.Registered(id=agent_id, name=name, api_key=key)))


async def rotate_key(house: House, ask: Ask) -> Reply:
    """Replace the caller's key, and have every gateway forget the old one before the new one is told."""
    if not house.bus.connected():
        raise BusUnavailable("a key is replaced only while all gateways can be told")
    key, void = new_key(), ask.caller.key_hash
    if not await house.soon(house.accounts.rotate_key(ask.caller.id, void, hash_of(key))):
        house.keys.drop(void)
        return UNKNOWN_KEY
    house.keys.drop(void)
    await _tell(house, void)
    return json_response(201, msgspec.json.encode(api.NewKey(api_key=key)))


async def _tell(house: House, void: str) -> None:
    """Publish that a key is void. Where that fails, wait until no gateway can remember it: the new key must be told."""
    try:
        await house.bus.publish(subjects.KEYS_REVOKED, void.encode())
    except ConnectionError:
        _log.warning("revocation_not_published")
        await asyncio.sleep(CACHED_SECONDS)


async def _synced(house: House) -> None:
    """Have the projections catch up; what is there is served when that cannot be had."""
    with suppress(ConnectionError, TimeoutError):
        await house.bus.request(subjects.PROJECTED, timeout=_SYNC_SECONDS)


async def read_me(house: House, ask: Ask) -> Reply:
    """Tell the caller who it is."""
    await _synced(house)
    agent = ask.caller.agent
    row = await house.soon(house.projections.points_of(agent.id))
    me = api.Me(
        id=agent.id,
        name=agent.name,
        points=row.points,
        points_by_type={game: row.points_by_type.get(game, 0) for game in GAME_TYPES},
        games={game: row.games.get(game, 0) for game in GAME_TYPES},
    )
    return json_response(200, msgspec.json.encode(me))


async def read_leaderboard(house: House, ask: Ask) -> Reply:
    """Give a page of the leaderboard."""
    await _synced(house)
    query = ask.query
    rows, cursor = await house.soon(house.projections.leaderboard(query.gameType, query.limit, query.cursor))
    standings = [api.Standing(row.rank, row.id, row.name, row.points, row.games) for row in rows]
    return json_response(200, msgspec.json.encode(api.Leaderboard(standings, cursor)))
