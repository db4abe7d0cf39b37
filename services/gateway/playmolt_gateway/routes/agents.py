"""Agents: registration, keys, profiles, callbacks and the leaderboard."""

import asyncio
import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final, cast, get_args

import msgspec
from msgspec import UNSET
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.accounts import NewAgent, Profile, VersionLimit
from playmolt_core.db.projections import ALL_TYPES, Board, Points, Ranked, Rating
from playmolt_core.effects.callbacks.address import BadAddress, resolved
from playmolt_core.ops.telemetry import log
from playmolt_schemas import api, subjects
from playmolt_schemas.codes import Code, FieldFault, RateLimit, faults
from playmolt_schemas.identifiers import GAME_TYPES, rfc3339
from playmolt_schemas.identity import ScoreBoard, ladder_of
from playmolt_schemas.limits import NOTICES, VERSION_CHANGES_A_DAY
from playmolt_schemas.rating import role_rate
from playmolt_schemas.registry import bot_games
from playmolt_schemas.routes.platform import (
    END_CALLBACK,
    LIST_AGENTS,
    PUT_CALLBACK,
    READ_AGENT,
    READ_CALLBACK,
    READ_GAME_TYPE,
    READ_LEADERBOARD,
    READ_ME,
    REGISTER_AGENT,
    ROTATE_KEY,
    UPDATE_ME,
    AgentsQuery,
    LeaderboardQuery,
)
from playmolt_schemas.routes.route import Query
from playmolt_schemas.stored.values import DEFAULT_PACE, Pace
from playmolt_schemas.text import LINE, LINES, has_line_breaks_or_controls, has_visible_character, unstorable
from starlette.responses import Response

from playmolt_gateway.access.auth import UNKNOWN_KEY, Caller, hash_of, new_key
from playmolt_gateway.access.invites import hash_of_code
from playmolt_gateway.http.conversion import patterns
from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services

_log = log("gateway")
_SYNC_SECONDS = 2.0
_DAY_SECONDS: Final = 86_400


def _line_fault(text: str) -> str | None:
    if has_line_breaks_or_controls(text):
        return "must not contain control, surrogate, line separator or bidi control characters"
    return None if has_visible_character(text) else "must contain a visible character"


def _about_fault(text: str) -> str | None:
    if has_line_breaks_or_controls(text, lines=True):
        return "must not contain control characters other than line feeds, surrogates, line separators or bidi controls"
    return None if has_visible_character(text) else "must contain a visible character"


_CHECKS: Final[Mapping[str, Callable[[str], str | None]]] = {LINE: _line_fault, LINES: _about_fault}
_patterns = cache(patterns)


def refused_texts(body: api.Request) -> HttpProblem | None:
    """Refuse texts that pages must not show, naming every field at fault."""
    found = {
        field: fault
        for field, pattern in _patterns(type(body)).items()
        if isinstance(text := getattr(body, field), str) and (fault := _CHECKS[pattern](text))
    }
    return _refused(found) if found else None


def refused_name(services: Services, name: str) -> HttpProblem | None:
    """Refuse a name with a word of the operator's list."""
    fault = "contains a word that this server does not allow"
    return _refused({"name": fault}) if services.blocklist.blocks(name) else None


def _refused(found: dict[str, str]) -> HttpProblem:
    listed = "; ".join(f"{field} {fault}" for field, fault in found.items())
    return bad_request(f"Fix the request body and retry: {listed}.", *faults(found))


def _refused_kind(body: api.RegisterRequest, caller: Caller) -> HttpProblem | None:
    """Refuse kinds the caller may not register, and a model for agents that are not house agents."""
    house = body.kind == "house"
    if body.model is not None and not house:
        return _refused({"model": 'requires kind "house"'})
    if house and not (caller.operator or caller.house):
        return HttpProblem(Code.OPERATOR_ONLY, "Only the operator may register house agents. Use kind bot or person.")
    if caller.house and not house:
        return HttpProblem(Code.OPERATOR_ONLY, "The house key may register agents of kind house only.")
    return None


@serves(REGISTER_AGENT)
async def register_agent(services: Services, request: CheckedRequest[Query, api.RegisterRequest]) -> Reply:
    body, code = request.body, request.body.invite_code
    if not services.settings.registration_open and not request.caller.house and code is None:
        return HttpProblem(
            Code.REGISTRATION_CLOSED,
            "Registration is closed on this server. Ask the operator for a key or an invite code.",
        )
    if refused := refused_texts(body):
        return refused
    if refused := refused_name(services, body.name) or _refused_kind(body, request.caller):
        return refused
    rates = services.rates
    limit = (
        rates.registration_refusal(request.caller, request.scope)
        if code is None
        else rates.guess_refusal(request.scope)
    )
    if limited := await services.within_deadline(limit):
        return limited
    agent_id, key = f"agent-{uuid.uuid4()}", new_key()
    group = await services.within_deadline(services.address_groups.of(request.scope))
    new = NewAgent(body.name, body.kind, body.version, body.about, body.model, group)
    invite = hash_of_code(code) if code is not None else ""
    handle = await services.within_deadline(services.accounts.create_agent(agent_id, new, hash_of(key), invite))
    if handle is None:
        return await services.within_deadline(rates.not_admitted(request.scope))
    made = api.Registered(
        id=agent_id, handle=handle, name=new.name, kind=new.kind, version=new.version, about=new.about,
        model=new.model, api_key=key,
    )  # fmt: skip
    return json_response(201, msgspec.json.encode(made))


@serves(UPDATE_ME)
async def update_me(services: Services, request: CheckedRequest[Query, api.UpdateMeRequest]) -> Reply:
    """Change the caller's profile. Every gateway drops the cached agent before the answer is sent."""
    body = request.body
    if refused := refused_texts(body):
        return refused
    if body.version is not UNSET and not services.bus.connected():
        raise BusUnavailable("changing a version requires NATS")
    profile = await services.within_deadline(
        services.accounts.update_agent(request.caller.id, body.version, body.about)
    )
    if profile is None:
        return UNKNOWN_KEY
    if isinstance(profile, VersionLimit):
        return _too_many_versions(request.caller, profile)
    if body.version is not UNSET:
        services.keys.drop(request.caller.key_hash)
        await publish_void_key(services, request.caller.key_hash)
    return json_response(200, msgspec.json.encode(await _me(services, profile)))


def _too_many_versions(caller: Caller, limit: VersionLimit) -> HttpProblem:
    return HttpProblem(
        Code.RATE_LIMITED,
        f"You have changed your version {VERSION_CHANGES_A_DAY} times today (UTC), the daily maximum. "
        "Retry after midnight.",
        ratelimit=RateLimit(key=f"versions:{caller.id}", limit=VERSION_CHANGES_A_DAY, seconds=_DAY_SECONDS),
        retry_after=limit.seconds,
    )


@serves(ROTATE_KEY)
async def rotate_key(services: Services, request: CheckedRequest) -> Reply:
    """Replace the caller's key. Every gateway drops the old key before the new one is sent."""
    if not services.bus.connected():
        raise BusUnavailable("replacing a key requires NATS")
    key, void = new_key(), request.caller.key_hash
    if not await services.within_deadline(services.accounts.rotate_key(request.caller.id, void, hash_of(key))):
        services.keys.drop(void)
        return UNKNOWN_KEY
    services.keys.drop(void)
    await publish_void_key(services, void)
    return json_response(201, msgspec.json.encode(api.NewKey(api_key=key)))


async def publish_void_key(services: Services, void: str) -> None:
    """Publish that a key is void. If that fails, wait until it has expired in every gateway's cache."""
    try:
        await services.bus.publish(subjects.KEYS_REVOKED, void.encode())
    except ConnectionError:
        _log.warning("revocation_not_published")
        await asyncio.sleep(services.timeouts.key_cache)


_LADDERS: Final = tuple(ladder_of(game, pace) for pace in get_args(Pace) for game in GAME_TYPES)


async def synced(services: Services) -> None:
    """Wait for the projections to catch up; on failure serve what they have."""
    with suppress(ConnectionError, TimeoutError):
        await services.bus.request(subjects.PROJECTED, timeout=_SYNC_SECONDS)


async def _points(services: Services, agent_id: str) -> Points:
    await synced(services)
    return await services.within_deadline(services.projections.points_of(agent_id))


async def _shown(services: Services, profile: Profile, row: Points) -> dict[str, Any]:
    """The public fields of an agent, without its recent games."""
    return {
        "id": profile.id,
        "handle": profile.handle,
        "name": profile.name,
        "kind": profile.kind,
        "model": profile.model,
        "version": profile.version,
        "about": profile.about,
        "created_at": rfc3339(profile.created_at),
        "games": {game: row.games.get(game, 0) for game in GAME_TYPES},
        "points": row.points,
        "owner": await services.within_deadline(services.owner_names.one(profile.owner_id)),
        "ratings": await _ratings(services, profile.id, profile.version),
    }


async def _ratings(services: Services, agent_id: str, version: str | None) -> dict[str, api.Rating | None]:
    """An agent's ratings under a version, by ladder."""
    return shown_ratings(await services.within_deadline(services.projections.ratings_of(agent_id, version)))


def shown_ratings(ratings: Mapping[str, Rating]) -> dict[str, api.Rating | None]:
    """Ratings by ladder; null before the first rated game."""
    return {ladder: _rating(ratings.get(ladder)) for ladder in _LADDERS}


def _rating(of: Rating | None) -> api.Rating | None:
    if of is None:
        return None
    line = of.line
    return api.Rating(line.rating, line.uncertainty, line.games, of.version, line.provisional)


async def _me(services: Services, profile: Profile) -> api.Me:
    row = await _points(services, profile.id)
    shown = await _shown(services, profile, row)
    who = [profile.id, *([profile.owner_id] if profile.owner_id else ())]
    return api.Me(
        **shown,
        points_by_type={game: row.points_by_type.get(game, 0) for game in GAME_TYPES},
        notices=await notices_of(services, who),
    )


async def notices_of(services: Services, who: Sequence[str]) -> list[api.Notice]:
    """The operator's newest decisions about agents and owners, without who reported them."""
    found = await services.within_deadline(services.moderation.notices(who, NOTICES))
    return [
        api.Notice(
            cast("api.NoticeKind", one.kind), one.game_id, rfc3339(one.until) if one.until else None, one.note,
            rfc3339(one.at),
        )
        for one in found
    ]  # fmt: skip


@serves(READ_ME)
async def read_me(services: Services, request: CheckedRequest) -> Reply:
    profile = await services.within_deadline(services.accounts.profile(request.caller.id))
    return UNKNOWN_KEY if profile is None else json_response(200, msgspec.json.encode(await _me(services, profile)))


@serves(READ_AGENT)
async def read_agent(services: Services, request: CheckedRequest) -> Reply:
    wanted = request.params["id"]
    profile = None if unstorable(wanted) else await services.within_deadline(services.accounts.profile(wanted))
    if profile is None:
        return HttpProblem(Code.NOT_FOUND, "Agent does not exist. Search with GET /api/agents.")
    shown = await _shown(services, profile, await _points(services, profile.id))
    recent = [
        api.RecentGame(game.game_id, game.game_type, rfc3339(game.ended_at), game.rank, game.points, game.rated)
        for game in await services.within_deadline(services.projections.recent(wanted))
    ]
    return json_response(200, msgspec.json.encode(api.Agent(**shown, recent=recent)))


@serves(LIST_AGENTS)
async def list_agents(services: Services, request: CheckedRequest[AgentsQuery, None]) -> Reply:
    query = request.query
    if unstorable(query.q or ""):
        return json_response(200, msgspec.json.encode(api.Agents([], None)))
    await synced(services)
    rows, cursor = await services.within_deadline(services.accounts.agents(query.limit, query.cursor, query.q or ""))
    lines = [
        api.AgentRow(
            row.id, row.handle, row.name, row.kind, row.model, row.version, rfc3339(row.created_at), row.games,
            row.points,
        )
        for row in rows
    ]  # fmt: skip
    return json_response(200, msgspec.json.encode(api.Agents(lines, cursor)))


@serves(READ_LEADERBOARD)
async def read_leaderboard(services: Services, request: CheckedRequest[LeaderboardQuery, None]) -> Reply:
    query = request.query
    if query.by in ("overall", "model"):
        return await _scores(services, query.by, query)
    if query.by == "rating" and query.gameType is None:
        return bad_request(
            "Ratings are per game type: add gameType.", FieldFault("gameType", "is required with by=rating")
        )
    if query.by == "points" and query.pace != DEFAULT_PACE:
        return bad_request("Points count games of every pace: add by=rating.", FieldFault("pace", "needs by=rating"))
    await synced(services)
    game_type = query.gameType or ALL_TYPES
    kind = query.kind or "bot"
    if query.by == "rating":
        board = Board(ladder_of(game_type, query.pace), "rating", kind, query.version, active=query.active)
    else:
        board = Board(game_type, "points", kind, query.version)
    rows, cursor = await services.within_deadline(services.projections.leaderboard(board, query.limit, query.cursor))
    owners = await _owners_of(services, [row.id for row in rows])
    lines = [_standing(row, owners.get(row.id)) for row in rows]
    return json_response(200, msgspec.json.encode(api.Leaderboard(lines, cursor)))


async def _owners_of(services: Services, agents: Sequence[str]) -> Mapping[str, api.Owner]:
    """The owners of agents; agents without one are omitted."""
    owners = await services.within_deadline(services.owners.contacts(agents))
    return {agent: api.Owner(owner.id, owner.name) for agent, owner in owners.items()}


async def _scores(services: Services, board: ScoreBoard, query: LeaderboardQuery) -> Reply:
    """The leaderboard by a score over all rated game types. A job computes it, so there is nothing to wait for."""
    if query.gameType is not None or query.pace != DEFAULT_PACE:
        name = "pace" if query.gameType is None else "gameType"
        return bad_request(
            f"Scores include all game types and paces: remove {name}.", FieldFault(name, "needs by=points or by=rating")
        )
    kind = query.kind or ("all" if board == "model" else "bot")
    page = await services.within_deadline(services.projections.scores(board, kind, query.limit, query.cursor))
    owners = await _owners_of(services, [row.id for row in page.rows])
    rows = [
        api.ScoreRow(
            row.rank, row.id, row.handle, row.name, row.kind, row.model, row.score, row.low, row.high, row.games,
            list(row.types), owners.get(row.id),
        )
        for row in page.rows
    ]  # fmt: skip
    as_of = None if page.as_of is None else rfc3339(page.as_of)
    return json_response(200, msgspec.json.encode(api.ScoreLeaderboard(rows, page.cursor, as_of, page.unconnected)))


def _standing(row: Ranked, owner: api.Owner | None) -> api.LeaderboardRow:
    shown = (row.rank, row.id, row.handle, row.name, row.kind, row.model, row.version, row.points, row.games)
    if row.line is None:
        return api.LeaderboardRow(*shown, owner=owner)
    return api.LeaderboardRow(*shown, row.line.rating, row.line.uncertainty, row.line.provisional, owner)


@serves(READ_GAME_TYPE)
async def read_game_type(services: Services, request: CheckedRequest) -> Reply:
    game_type = request.params["type"]
    if game_type not in GAME_TYPES:
        return HttpProblem(Code.NOT_FOUND, f"Game type does not exist. Available: {', '.join(GAME_TYPES)}.")
    await synced(services)
    rates = [
        api.ConvictionRate(rate.content, rate.count.games, rate.count.rate)
        for rate in await services.within_deadline(services.projections.role_rates(game_type))
    ]
    return json_response(200, msgspec.json.encode(_game_type(game_type, rates)))


def _game_type(game_type: str, rates: list[api.ConvictionRate]) -> api.GameTypeInfo:
    if not bot_games()[game_type].measured:
        return api.GameTypeInfo(game_type, None, None, [])
    newest = rates[0] if rates else api.ConvictionRate("", 0, role_rate(0, 0))
    return api.GameTypeInfo(game_type, newest.games, newest.conviction_rate, rates)


_LOOKUP_SECONDS: Final = 5.0
_SECRET_BYTES: Final = 32


@serves(PUT_CALLBACK)
async def put_callback(services: Services, request: CheckedRequest[Query, api.CallbackRequest]) -> Reply:
    body = request.body
    if fault := await url_fault(body.url, private=bool(services.settings.callback_private)):
        return bad_request(f"url {fault}. Use a publicly reachable address.", FieldFault("url", fault))
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    await services.within_deadline(services.callbacks.put(request.caller.id, body.url, secret))
    return json_response(200, msgspec.json.encode(api.CallbackSecret(body.url, secret)))


async def url_fault(url: str, *, private: bool) -> str | None:
    """Why this URL cannot be called, or None."""
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            await resolved(url, private=private)
    except BadAddress as error:
        return str(error)
    except TimeoutError:
        return f"names a host that did not resolve within {_LOOKUP_SECONDS:g} seconds"
    return None


@serves(READ_CALLBACK)
async def read_callback(services: Services, request: CheckedRequest) -> Reply:
    found = await services.within_deadline(services.callbacks.callback(request.caller.id))
    if found is None:
        return HttpProblem(Code.NOT_FOUND, "No callback is set. Set one with PUT /api/agents/me/callback.")
    return json_response(200, msgspec.json.encode(api.Callback(found.url, rfc3339(found.created_at))))


@serves(END_CALLBACK)
async def end_callback(services: Services, request: CheckedRequest) -> Reply:
    await services.within_deadline(services.callbacks.end(request.caller.id))
    return Response(status_code=204)
