"""Games: open, join, leave, list, states and events. The rules of a game are known to its engine only."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import UNSET
from playmolt_core.db.accounts import Agent
from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_schemas import api
from playmolt_schemas.codes import MISMATCH, NO_GAME, Code, FieldFault, problem_bytes
from playmolt_schemas.envelopes import Answer, Op, SeatBody
from playmolt_schemas.identifiers import GAME_TYPES, id_of_command
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.routes.agora import READ_RUN_EVENTS
from playmolt_schemas.routes.platform import (
    FORFEIT,
    JOIN_GAME,
    LEAVE_GAME,
    LIST_GAMES_TO_FILL,
    OPEN_GAME,
    READ_EVENTS,
    READ_STATE,
    RESIGN,
    AdminGameRow,
    StateQuery,
)
from playmolt_schemas.routes.route import EventsQuery, Query
from playmolt_schemas.stored.values import Identity, identity_of

from playmolt_gateway.access.invites import invite_hash
from playmolt_gateway.http.problems import HttpProblem, bad_request, no_such_run
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest, game_of
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.request.waits import version_of, wait_for_newer

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_encode = msgspec.json.encode
_WAITS_PRIVATE: Final = (b'"phase":"waiting"', b'"private":true')
"""Parts of the JSON state of a waiting private game. Text values cannot contain them: quotes are escaped there."""


class _CursorKey(msgspec.Struct):
    created_at: str
    game_id: str


class _Seat(msgspec.Struct):
    game_id: str


class _SeatedRefusal(msgspec.Struct):
    """The game named by an `already_seated` refusal."""

    code: str
    game_id: str | None = None


class _Rows(msgspec.Struct):
    games: list[AdminGameRow]


_seat_of = msgspec.json.Decoder(_Seat).decode
_named_of = msgspec.json.Decoder(_SeatedRefusal).decode
_joined_of = msgspec.json.Decoder(api.Joined).decode
_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_rows_of = msgspec.json.Decoder(_Rows).decode


def ask_engine(
    services: Services, request: CheckedRequest, op: Op, body: Any, *, agent: str | None = None, present: bool = True
) -> "asyncio.Future[Answer]":
    """Query the engine of the game in the path, as `agent` or as the caller.

    `present` is False for calls that the gateway repeats by itself: they do not show that the agent is there.
    """
    viewer = request.caller.id if agent is None else agent
    return services.bus.submit(
        request.game, op, request.params["id"], _encode(body), agent=viewer, operator=request.caller.operator,
        trace=request.trace, invite=invite_hash(getattr(request.query, "invite", None)), present=present,
    )  # fmt: skip


def named_by_route(request: CheckedRequest[Any, Any], answer: Answer) -> Reply:
    """Send an engine's answer; a run that does not exist is named as one, which engines call a game."""
    if request.route.target == "run" and answer.status == Code.NOT_FOUND.status and NO_GAME.encode() in answer.body:
        return no_such_run(request.params["id"])
    return answer_response(answer)


async def read_engine(
    services: Services, request: CheckedRequest[Any, Any], op: Op, body: Any, *, present: bool = True
) -> Answer:
    """Query the engine on behalf of a request that may wait, in a slot if it came without a key."""
    async with request.reading(services):
        return await ask_engine(services, request, op, body, present=present)


@serves(OPEN_GAME)
async def open_game(services: Services, request: CheckedRequest[Query, api.OpenRequest]) -> Reply:
    """Open a private game. Its id is derived from the command, its invite from the id."""
    body = request.body
    if found := _faults(body):
        return bad_request("; ".join(f"{fault.field} {fault.message}" for fault in found) + ".", *found)
    game_id = id_of_command(body.gameType, request.command.id)
    invite = await services.within_deadline(services.invites.of(game_id))
    wanted = SeatBody(
        language=body.language, fill=body.fill, fill_after_seconds=body.fill_after_seconds or 0,
        deadline_seconds=body.deadline_seconds, pack=body.pack,
    )  # fmt: skip
    answer = await _seated(services, request, "open", game_id, wanted, invite)
    if answer.status != 200:
        return answer_response(answer)
    joined = _joined_of(answer.body)
    return json_response(201, _encode(api.Opened(joined.game_id, joined.gameType, invite, joined.phase)))


def _faults(body: api.OpenRequest) -> list[FieldFault]:
    faults = []
    if body.fill_after_seconds is not None and body.fill is None:
        faults.append(FieldFault("fill_after_seconds", "requires fill"))
    if body.rated:
        faults.append(FieldFault("rated", "must be false: a private game is not rated"))
    return faults


@serves(JOIN_GAME)
async def join_game(services: Services, request: CheckedRequest[Query, api.JoinRequest]) -> Reply:
    body = request.body
    game_id = ""
    if body.invite is not None:
        found = await _invited(services, request, body)
        if not isinstance(found, str):
            return found
        game_id = found
    public = services.admits_to_public_games(request.caller.agent)
    wanted = SeatBody(language=body.language, pace=body.pace, public=public)
    return answer_response(await _seated(services, request, "join", game_id, wanted, body.invite))


async def _invited(services: Services, request: CheckedRequest, body: api.JoinRequest) -> str | Reply:
    """The id of the private game that an invite belongs to."""
    wanted = _encode({"invite": invite_hash(body.invite)})
    answer = await services.bus.submit(body.gameType, "games", "", wanted, trace=request.trace)
    if answer.status != 200:
        return answer_response(answer)
    rows = _rows_of(answer.body).games
    return rows[0].game_id if rows else HttpProblem(Code.NOT_FOUND, NO_GAME)


async def _seated(
    services: Services,
    request: CheckedRequest[Query, api.OpenRequest | api.JoinRequest],
    op: Op,
    game_id: str,
    wanted: SeatBody,
    invite: str | None,
) -> Answer:
    """Seat the caller; the answer may be the engine's refusal."""
    agent, command = request.caller.agent, request.command
    if command.fingerprint and not await services.within_deadline(
        services.accounts.claim_join(agent.id, command.id, command.fingerprint)
    ):
        return Answer(0, Code.IDEMPOTENCY_MISMATCH.status, problem_bytes(Code.IDEMPOTENCY_MISMATCH, MISMATCH))
    answer = await services.bus.submit(
        request.body.gameType, op, game_id, _encode(wanted), agent=agent.id, name=agent.name,
        identity=_identity(agent), command_id=command.id, fingerprint=command.fingerprint,
        trace=request.trace, invite=invite_hash(invite),
    )  # fmt: skip
    if seat := _seat(answer):
        # Callbacks and the report of the game's end depend on this row. If the database is unavailable, the caller
        # gets 503, retries, and receives the same seat.
        await services.within_deadline(services.accounts.keep_seat(agent.id, seat))
    return answer


def _identity(agent: Agent) -> Identity:
    return Identity(**identity_of(agent) | {"owner_id": agent.owner_id or UNSET})


def _seat(answer: Answer) -> str | None:
    """The game in which the caller has a seat according to an answer, new or existing."""
    if answer.status == 200:
        return _seat_of(answer.body).game_id
    if answer.status != Code.ALREADY_SEATED.status:
        return None
    named = _named_of(answer.body)
    return named.game_id if named.code == Code.ALREADY_SEATED.wire else None


@serves(LEAVE_GAME)
async def leave_game(services: Services, request: CheckedRequest) -> Reply:
    left = await _of_a_seat(services, request, "leave")
    with suppress(*UNAVAILABLE_ERRORS):
        await services.within_deadline(services.accounts.forget_seat(request.caller.id, request.params["id"]))
    return left


@serves(RESIGN)
async def resign(services: Services, request: CheckedRequest) -> Reply:
    return await _of_a_seat(services, request, "resign")


@serves(FORFEIT)
async def forfeit(services: Services, request: CheckedRequest[Query, api.ForfeitRequest]) -> Reply:
    return await _of_a_seat(services, request, "forfeit", _encode(request.body))


async def _of_a_seat(services: Services, request: CheckedRequest, op: Op, body: bytes = b"{}") -> Reply:
    answer = await services.bus.submit(
        request.game, op, request.params["id"], body, agent=request.caller.id,
        command_id=request.command.id, fingerprint=request.command.fingerprint, trace=request.trace,
    )  # fmt: skip
    return answer_response(answer)


def _cursor_key(cursor: str) -> tuple[str, str]:
    place = read_cursor(cursor, _CursorKey)
    if game_of(place.game_id, sessions=True) is None or not _TIME.fullmatch(place.created_at):
        raise BadCursor("is invalid; use next_cursor of the previous page, unchanged")
    return place.created_at, place.game_id


async def list_rows(
    services: Services,
    game: str | None,
    wanted: dict[str, Any],
    limit: int,
    cursor: str | None,
    *,
    operator: bool = False,
) -> tuple[Sequence[AdminGameRow], str | None] | Answer:
    """Merge the engines' lists, newest first: a page and the next cursor, or an engine's refusal.

    Running private games are listed for the operator only.
    """
    body = {key: value for key, value in wanted.items() if value is not None}
    if cursor is not None:
        body["before"] = _cursor_key(cursor)
    # One row more than requested shows whether there is a next page.
    each = min(limit + 1, PAGE_MAX)
    games = (game,) if game else GAME_TYPES
    answers = await asyncio.gather(
        *(services.bus.submit(g, "games", "", _encode(body | {"limit": each}), operator=operator) for g in games)
    )
    rows: list[AdminGameRow] = []
    for answer in answers:
        if answer.status != 200:
            return answer
        rows += _rows_of(answer.body).games
    rows.sort(key=lambda row: (row.created_at, row.game_id), reverse=True)
    more = len(rows) > limit or any(len(_rows_of(a.body).games) == PAGE_MAX == limit for a in answers)
    page = rows[:limit]
    return page, cursor_behind(page[-1]) if more and page else None


def cursor_behind(line: AdminGameRow) -> str:
    """The cursor of the rows after a line."""
    return write_cursor(_CursorKey(line.created_at, line.game_id))


@serves(LIST_GAMES_TO_FILL)
async def list_games_to_fill(services: Services, request: CheckedRequest) -> Reply:
    """List private games waiting for house bots, with their invites."""
    if not (request.caller.operator or request.caller.house):
        return HttpProblem(Code.OPERATOR_ONLY, "Only the house key and the operator key may list games to fill.")
    found = await list_rows(services, None, {"phase": "waiting", "fill": True}, PAGE_MAX, None, operator=True)
    if isinstance(found, Answer):
        return answer_response(found)
    games = [
        api.GameToFill(
            row.game_id, row.gameType, row.language, await services.within_deadline(services.invites.of(row.game_id)),
            row.seated, row.needed,
        )
        for row in found[0]
    ]  # fmt: skip
    return json_response(200, _encode(api.GamesToFill(games)))


@serves(READ_STATE)
async def read_state(services: Services, request: CheckedRequest[StateQuery, None]) -> Reply:
    """The current state, the next state newer than `after`, or a past state."""
    query = request.query
    looks_back = query.at is not None or query.seat is not None
    if looks_back and (query.after is not None or query.wait is not None):
        faults = [
            FieldFault(name, "cannot be combined with at or seat")
            for name in ("after", "wait")
            if getattr(query, name) is not None
        ]
        return bad_request("at and seat cannot be combined with after or wait.", *faults)
    if looks_back:
        body = {key: value for key, value in (("at", query.at), ("seat", query.seat)) if value is not None}
        return answer_response(await _named(services, await read_engine(services, request, "state", body)))
    if query.after is None or not query.wait:
        return await _state(services, request, await read_engine(services, request, "state", {}))
    return await _newer_state(services, request, query.after, min(query.wait, services.timeouts.wait))


async def _newer_state(services: Services, request: CheckedRequest, after: int, seconds: float) -> Reply:
    """Subscribe, then read after every message until the version is newer or the time is up."""
    poll = request.poll(services.waits)
    if isinstance(poll, HttpProblem):
        return poll
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    async with poll:
        watch = await services.bus.watch(request.game, request.params["id"])
        try:
            present = True
            while True:
                if refused := await services.authenticator.refusal(request.caller):
                    return refused
                answer = await read_engine(services, request, "state", {}, present=present)
                present = False
                if answer.status != 200 or version_of(answer.body).version > after:
                    break
                if poll.over or clock() >= end:
                    break
                await poll.first([wait_for_newer(watch, after, end - clock())], end - clock())
        finally:
            await watch.close()
    return await _state(services, request, answer)


async def _state(services: Services, request: CheckedRequest, answer: Answer) -> Reply:
    """The engine's state with the names of owners; for members of a waiting private game, with its invite."""
    answer = await _named(services, answer)
    if answer.status != 200 or not all(part in answer.body for part in _WAITS_PRIVATE):
        return answer_response(answer)
    state = _fields_of(answer.body)
    if "self" not in state:
        return answer_response(answer)
    invite = await services.within_deadline(services.invites.of(request.params["id"]))
    return json_response(200, _encode(state | {"invite": invite}))


async def _named(services: Services, answer: Answer) -> Answer:
    if answer.status != 200:
        return answer
    return msgspec.structs.replace(answer, body=await services.owner_names.named(answer.body))


@serves(READ_EVENTS, READ_RUN_EVENTS)
async def read_events(services: Services, request: CheckedRequest[EventsQuery, None]) -> Reply:
    """A page of the public events, byte for byte as stored."""
    body = {"after": request.query.after, "limit": request.query.limit}
    return named_by_route(request, await ask_engine(services, request, "events", body))
