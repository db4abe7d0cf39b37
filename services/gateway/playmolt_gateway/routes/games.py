"""Games: join, leave, the list, states and events. What a game is, only its engine knows."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_schemas import api
from playmolt_schemas.codes import MISMATCH, NO_GAME, Code, FieldFault, problem_bytes
from playmolt_schemas.envelopes import Answer, Op
from playmolt_schemas.identifiers import GAME_TYPES, id_of_command
from playmolt_schemas.identity import Identity, identity_of
from playmolt_schemas.limits import PAGE_MAX, WAIT_SECONDS
from playmolt_schemas.routes.platform import AdminGameRow, StateQuery

from playmolt_gateway.access.invites import invite_hash
from playmolt_gateway.http.problems import Refusal, bad_request
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.ports import AWAY
from playmolt_gateway.request.checked_request import CheckedRequest, Reply, game_of
from playmolt_gateway.request.services import Services
from playmolt_gateway.request.waits import version_of, wait_for_newer

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_encode = msgspec.json.encode
_WAITS_PRIVATE: Final = (b'"phase":"waiting"', b'"private":true')
"""What stands in the state of a private game that waits. In a text the quotes would be escaped."""


class _Place(msgspec.Struct):
    created_at: str
    game_id: str


class _Seat(msgspec.Struct):
    game_id: str


class _Named(msgspec.Struct):
    """What a refusal says of the game that the caller sits in."""

    code: str
    game_id: str | None = None


class _Rows(msgspec.Struct):
    games: list[AdminGameRow]


_seat_of = msgspec.json.Decoder(_Seat).decode
_named_of = msgspec.json.Decoder(_Named).decode
_joined_of = msgspec.json.Decoder(api.Joined).decode
_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_rows_of = msgspec.json.Decoder(_Rows).decode


def ask_engine(
    services: Services, request: CheckedRequest, op: Op, body: Any, *, agent: str | None = None
) -> "asyncio.Future[Answer]":
    """Send a read about the game of the path; `agent` says as whom, by default as the caller."""
    viewer = request.caller.id if agent is None else agent
    return services.bus.submit(
        request.game, op, request.params["id"], _encode(body), agent=viewer, operator=request.caller.operator,
        trace=request.trace, invite=invite_hash(getattr(request.query, "invite", None)),
    )  # fmt: skip


async def open_game(services: Services, request: CheckedRequest) -> Reply:
    """Open a private game under an id that follows from the command, and with it its invite."""
    body: api.OpenRequest = request.body
    if found := _faults(body):
        return bad_request("; ".join(f"{fault.field} {fault.message}" for fault in found) + ".", *found)
    game_id = id_of_command(body.gameType, request.command.id)
    invite = await services.soon(services.invites.of(game_id))
    wanted = {
        "fill": body.fill,
        "fill_after_seconds": body.fill_after_seconds or 0,
        "deadline_seconds": body.deadline_seconds,
        "pack": body.pack,
        # An engine of the release before reads no null here.
        **({"language": body.language} if body.language else {}),
    }
    answer = await _seated(services, request, "open", game_id, wanted, invite)
    if answer.status != 200:
        return answer_response(answer)
    told = _joined_of(answer.body)
    return json_response(201, _encode(api.Opened(told.game_id, told.gameType, invite, told.phase)))


def _faults(body: api.OpenRequest) -> list[FieldFault]:
    faults = []
    if body.fill_after_seconds is not None and body.fill is None:
        faults.append(FieldFault("fill_after_seconds", "goes with fill alone"))
    if body.rated:
        faults.append(FieldFault("rated", "must be false: a private game is not rated"))
    return faults


async def join_game(services: Services, request: CheckedRequest) -> Reply:
    body: api.JoinRequest = request.body
    game_id = ""
    if body.invite is not None:
        found = await _invited(services, request, body)
        if not isinstance(found, str):
            return found
        game_id = found
    return answer_response(await _seated(services, request, "join", game_id, {"language": body.language}, body.invite))


async def _invited(services: Services, request: CheckedRequest, body: api.JoinRequest) -> str | Reply:
    """The private game of an invite."""
    wanted = _encode({"invite": invite_hash(body.invite)})
    answer = await services.bus.submit(body.gameType, "games", "", wanted, trace=request.trace)
    if answer.status != 200:
        return answer_response(answer)
    rows = _rows_of(answer.body).games
    return rows[0].game_id if rows else Refusal(Code.NOT_FOUND, NO_GAME)


async def _seated(
    services: Services, request: CheckedRequest, op: Op, game_id: str, wanted: dict[str, Any], invite: str | None
) -> Answer:
    """Have the caller seated; an engine's refusal is its answer."""
    agent, command = request.caller.agent, request.command
    if command.fingerprint and not await services.soon(
        services.accounts.claim_join(agent.id, command.id, command.fingerprint)
    ):
        return Answer(0, Code.IDEMPOTENCY_MISMATCH.status, problem_bytes(Code.IDEMPOTENCY_MISMATCH, MISMATCH))
    answer = await services.bus.submit(
        request.body.gameType, op, game_id, _encode(wanted), agent=agent.id, name=agent.name,
        identity=Identity(**identity_of(agent)), command_id=command.id, fingerprint=command.fingerprint,
        trace=request.trace, invite=invite_hash(invite),
    )  # fmt: skip
    if seat := _seat(answer):
        # Without it nobody calls the agent, and it is told of the game's end only if it asks while the game runs: where
        # the database is away just now, the caller sends the same again and gets, or is named, the same seat.
        await services.soon(services.accounts.keep_seat(agent.id, seat))
    return answer


def _seat(answer: Answer) -> str | None:
    """The game that an answer says the caller sits in: one it has just taken a seat in, or one it sat in already."""
    if answer.status == 200:
        return _seat_of(answer.body).game_id
    if answer.status != Code.ALREADY_SEATED.status:
        return None
    named = _named_of(answer.body)
    return named.game_id if named.code == Code.ALREADY_SEATED.wire else None


async def leave_game(services: Services, request: CheckedRequest) -> Reply:
    left = await _of_a_seat(services, request, "leave")
    with suppress(*AWAY):
        await services.soon(services.accounts.told(request.caller.id, request.params["id"]))
    return left


async def resign(services: Services, request: CheckedRequest) -> Reply:
    return await _of_a_seat(services, request, "resign")


async def forfeit(services: Services, request: CheckedRequest) -> Reply:
    return await _of_a_seat(services, request, "forfeit", _encode(request.body))


async def _of_a_seat(services: Services, request: CheckedRequest, op: Op, body: bytes = b"{}") -> Reply:
    answer = await services.bus.submit(
        request.game, op, request.params["id"], body, agent=request.caller.id,
        command_id=request.command.id, fingerprint=request.command.fingerprint, trace=request.trace,
    )  # fmt: skip
    return answer_response(answer)


def _before(cursor: str) -> tuple[str, str]:
    place = read_cursor(cursor, _Place)
    if game_of(place.game_id, sessions=True) is None or not _TIME.fullmatch(place.created_at):
        raise BadCursor("this is no cursor: use next_cursor of the page before, unchanged")
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
    """Merge the engines' lists, newest first; gives a page and the next cursor, or an engine's refusal.

    The operator's has private games that run, too.
    """
    body = {key: value for key, value in wanted.items() if value is not None}
    if cursor is not None:
        body["before"] = _before(cursor)
    # One more than asked for tells whether there is a next page.
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
    """The cursor of what comes after a line."""
    return write_cursor(_Place(line.created_at, line.game_id))


async def list_games_to_fill(services: Services, request: CheckedRequest) -> Reply:
    """List private games that wait for house bots, with their invites."""
    if not (request.caller.operator or request.caller.house):
        return Refusal(
            Code.OPERATOR_ONLY, "Which games are to be filled is told to the house's key and the operator's."
        )
    found = await list_rows(services, None, {"phase": "waiting", "fill": True}, PAGE_MAX, None, operator=True)
    if isinstance(found, Answer):
        return answer_response(found)
    games = [
        api.GameToFill(
            row.game_id, row.gameType, row.language, await services.soon(services.invites.of(row.game_id)),
            row.seated, row.needed,
        )
        for row in found[0]
    ]  # fmt: skip
    return json_response(200, _encode(api.GamesToFill(games)))


async def read_state(services: Services, request: CheckedRequest) -> Reply:
    """A state: now, as soon as it is newer than `after`, or as it was."""
    query: StateQuery = request.query
    looks_back = query.at is not None or query.seat is not None
    if looks_back and (query.after is not None or query.wait is not None):
        faults = [
            FieldFault(name, "goes with neither at nor seat")
            for name in ("after", "wait")
            if getattr(query, name) is not None
        ]
        return bad_request("at and seat look back; they go with neither after nor wait.", *faults)
    if looks_back:
        body = {key: value for key, value in (("at", query.at), ("seat", query.seat)) if value is not None}
        return answer_response(await ask_engine(services, request, "state", body))
    if query.after is None or not query.wait:
        return await _state(services, request, await ask_engine(services, request, "state", {}))
    return await _newer_state(services, request, query.after, min(query.wait, WAIT_SECONDS))


async def _newer_state(services: Services, request: CheckedRequest, after: int, seconds: float) -> Reply:
    """Subscribe, read, and read again on every message, until the version is newer or the time is up."""
    poll = request.poll(services.waits)
    if isinstance(poll, Refusal):
        return poll
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    async with poll:
        watch = await services.bus.watch(request.game, request.params["id"])
        try:
            while True:
                answer = await ask_engine(services, request, "state", {})
                if answer.status != 200 or version_of(answer.body).version > after:
                    break
                if poll.over or clock() >= end:
                    break
                await poll.first([wait_for_newer(watch, after, end - clock())], end - clock())
        finally:
            await watch.close()
    return await _state(services, request, answer)


async def _state(services: Services, request: CheckedRequest, answer: Answer) -> Reply:
    """A state as its engine tells it, with the invite of a private game that waits for who sits there."""
    if answer.status != 200 or not all(part in answer.body for part in _WAITS_PRIVATE):
        return answer_response(answer)
    state = _fields_of(answer.body)
    if "self" not in state:
        return answer_response(answer)
    invite = await services.soon(services.invites.of(request.params["id"]))
    return json_response(200, _encode(state | {"invite": invite}))


async def read_events(services: Services, request: CheckedRequest) -> Reply:
    """A page of the public events, byte for byte as they are stored."""
    body = {"after": request.query.after, "limit": request.query.limit}
    return answer_response(await ask_engine(services, request, "events", body))
