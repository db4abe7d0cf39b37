"""Tournaments, and the seats of house bots in their games. The rules of a tournament are known to its engine only."""

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import UNSET
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.accounts import Agent
from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_schemas import api
from playmolt_schemas.codes import Code, FieldFault, faults
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.identifiers import TOURNAMENT_TYPES, id_of_command, type_of
from playmolt_schemas.routes.route import NoFields, Query
from playmolt_schemas.routes.tournaments import (
    ADD_HOUSE,
    CANCEL_TOURNAMENT,
    CHANGE_TOURNAMENT,
    END_TOURNAMENT,
    JOIN_TOURNAMENT,
    LEAVE_TOURNAMENT,
    LIST_HOUSE_TABLES,
    LIST_TOURNAMENTS,
    OPEN_TOURNAMENT,
    PAUSE_TOURNAMENT,
    READ_TOURNAMENT,
    START_TOURNAMENT,
    TAKE_HOUSE_SEATS,
    HouseEntrants,
    HouseSeat,
    HouseSeats,
    HouseTableRow,
    HouseTables,
    PauseRequest,
    TournamentChange,
    TournamentRequest,
    TournamentRow,
    Tournaments,
    TournamentsQuery,
)
from playmolt_schemas.stored.values import identity_of
from playmolt_schemas.text import has_line_breaks_or_controls, has_visible_character, reason_fault, trimmed
from starlette.responses import Response

from playmolt_gateway.access.auth import Caller, hash_of, new_key
from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.agents import refused_name

_TYPE: Final = "tournament"
_TABLES: Final = 1_000
_NO_TABLE: Final = HttpProblem(Code.NOT_FOUND, "No house bot has a seat in this game.")
_NO_OWNERS: Final = HttpProblem(
    Code.OPERATOR_ONLY, "On this server only the operator opens tournaments. List them with GET /api/tournaments."
)
_NO_PEOPLE: Final = HttpProblem(
    Code.PEOPLE_CLOSED,
    "The games of a tournament are public, and on this server people play private games only: POST /api/games.",
)
_HOUSE_ONLY: Final = HttpProblem(Code.OPERATOR_ONLY, "Only the house key and the operator key may play house bots.")
_MAKER: Final = re.compile(rb'"created_by":\{"id":"(owner-[0-9a-f-]{36})","name":""\}')
"""As the engine writes it. No text of a state can contain this: quotes are escaped there."""
_encode = msgspec.json.encode


class _Place(msgspec.Struct):
    created_at: str
    id: str


class _Page(msgspec.Struct):
    tournaments: list[TournamentRow]
    more: bool


_page_of = msgspec.json.Decoder(_Page).decode


@serves(OPEN_TOURNAMENT)
async def open_tournament(services: Services, request: CheckedRequest[Query, TournamentRequest]) -> Reply:
    """Announce a tournament. Its id is derived from the command."""
    caller = request.caller
    if not caller.operator and not services.settings.open_tournaments:
        return _NO_OWNERS
    if refused := _refused_name(services, request.body.name):
        return refused
    body = _given(request.body)
    return await _changed(services, request, id_of_command(_TYPE, request.command.id), body, status=201)


@serves(CHANGE_TOURNAMENT)
async def change_tournament(services: Services, request: CheckedRequest[Query, TournamentChange]) -> Reply:
    if request.body.name is not UNSET and (refused := _refused_name(services, request.body.name)):
        return refused
    return await _changed(services, request, request.params["id"], msgspec.to_builtins(request.body))


@serves(CANCEL_TOURNAMENT)
async def cancel_tournament(services: Services, request: CheckedRequest[Query, None]) -> Reply:
    answer = await _command(services, request, request.params["id"], {})
    return answer_response(answer) if answer.status >= 400 else Response(status_code=204)


@serves(START_TOURNAMENT)
async def start_tournament(services: Services, request: CheckedRequest[Query, NoFields]) -> Reply:
    return await _changed(services, request, request.params["id"], {})


@serves(JOIN_TOURNAMENT)
async def join_tournament(services: Services, request: CheckedRequest[Query, NoFields]) -> Reply:
    if not services.admits_to_public_games(request.caller.agent):
        return _NO_PEOPLE
    return await _changed(services, request, request.params["id"], _entrant(request.caller.agent))


@serves(LEAVE_TOURNAMENT)
async def leave_tournament(services: Services, request: CheckedRequest[Query, NoFields]) -> Reply:
    return await _changed(services, request, request.params["id"], _entrant(request.caller.agent))


@serves(PAUSE_TOURNAMENT)
async def pause_tournament(services: Services, request: CheckedRequest[Query, PauseRequest]) -> Reply:
    return await _changed(services, request, request.params["id"], {"paused": request.body.paused})


@serves(END_TOURNAMENT)
async def end_tournament(services: Services, request: CheckedRequest[Query, api.EndRequest]) -> Reply:
    reason = trimmed(request.body.reason)
    if fault := reason_fault(reason):
        return bad_request(f"reason: {fault}.", FieldFault("reason", fault))
    return await _changed(services, request, request.params["id"], {"reason": reason})


@serves(ADD_HOUSE)
async def add_house(services: Services, request: CheckedRequest[Query, HouseEntrants]) -> Reply:
    """Enter house bots, whose ids are derived from the command; those before a refusal stay."""
    identifier, command = request.params["id"], request.command
    for number in range(1, request.body.number + 1):
        step = uuid.uuid5(uuid.UUID(command.id), str(number)).hex
        bot = Agent(f"agent-{uuid.UUID(step)}", f"house {number}", kind="house")
        handle = await services.within_deadline(services.accounts.house.create(bot.id, bot.name))
        entrant = _entrant(msgspec.structs.replace(bot, handle=handle))
        answer = await services.bus.submit(
            _TYPE, "command", identifier, _call(JOIN_TOURNAMENT.name, entrant), agent=bot.id, name=bot.name,
            command_id=step, trace=request.trace,
        )  # fmt: skip
        if answer.status >= 400:
            return answer_response(answer)
    return await _state(services, request, identifier)


@serves(READ_TOURNAMENT)
async def read_tournament(services: Services, request: CheckedRequest) -> Reply:
    return await _state(services, request, request.params["id"])


@serves(LIST_TOURNAMENTS)
async def list_tournaments(services: Services, request: CheckedRequest[TournamentsQuery, None]) -> Reply:
    query = request.query
    wanted: dict[str, object] = {"limit": query.limit} | ({"state": query.state} if query.state else {})
    if query.cursor is not None:
        place = read_cursor(query.cursor, _Place)
        if type_of(place.id) not in TOURNAMENT_TYPES or _not_a_time(place.created_at):
            raise BadCursor("is invalid; use next_cursor of the previous page, unchanged")
        wanted["before"] = [place.created_at, place.id]
    answer = await _listed(services, wanted, request.trace)
    if answer.status != 200:
        return answer_response(answer)
    page = _page_of(answer.body)
    last = page.tournaments[-1] if page.tournaments else None
    cursor = write_cursor(_Place(last.created_at, last.id)) if page.more and last else None
    return json_response(200, _encode(Tournaments(page.tournaments, cursor)))


async def _listed(services: Services, wanted: Mapping[str, object], trace: str = "") -> Answer:
    return await services.bus.submit(_TYPE, "query", "", _call(LIST_TOURNAMENTS.name, None, wanted), trace=trace)


async def newest_tournaments(services: Services, most: int) -> Sequence[TournamentRow]:
    """The newest tournaments. Raises UNAVAILABLE_ERRORS."""
    answer = await _listed(services, {"limit": most})
    if answer.status != 200:
        raise BusUnavailable(f"the list of tournaments ended with {answer.status}")
    return _page_of(answer.body).tournaments


@serves(LIST_HOUSE_TABLES)
async def list_house_tables(services: Services, request: CheckedRequest) -> Reply:
    if not (request.caller.operator or request.caller.house):
        return _HOUSE_ONLY
    found = await services.within_deadline(services.accounts.house.tables(_TABLES))
    rows = [HouseTableRow(one.game_id, one.game_id.partition("-")[0], list(one.agent_ids)) for one in found]
    return json_response(200, _encode(HouseTables(rows)))


@serves(TAKE_HOUSE_SEATS)
async def take_house_seats(services: Services, request: CheckedRequest[Query, NoFields]) -> Reply:
    """Give the house process new keys for the house bots of a game."""
    if not (request.caller.operator or request.caller.house):
        return _HOUSE_ONLY
    names = await services.within_deadline(services.accounts.house.seats(request.params["id"]))
    if not names:
        return _NO_TABLE
    seats = [HouseSeat(agent_id, name, new_key()) for agent_id, name in names.items()]
    hashes = {seat.agent_id: hash_of(seat.api_key) for seat in seats}
    await services.within_deadline(services.accounts.house.take_over(hashes))
    return json_response(200, _encode(HouseSeats(seats)))


def _refused_name(services: Services, name: str) -> HttpProblem | None:
    fault = "must contain a visible character"
    if has_line_breaks_or_controls(name):
        fault = "must not contain control, surrogate, line separator or bidi control characters"
    elif has_visible_character(name):
        return refused_name(services, name)
    return bad_request(f"Fix the request body and retry: name {fault}.", *faults({"name": fault}))


def _not_a_time(text: str) -> bool:
    return len(text) != len("2026-01-31T12:00:00.000000Z") or not text.endswith("Z")


def _given(body: msgspec.Struct) -> Mapping[str, object]:
    """The fields of a body that are not null."""
    fields = msgspec.convert(msgspec.to_builtins(body), dict[str, object])
    return {name: value for name, value in fields.items() if value is not None}


def _entrant(agent: Agent) -> Mapping[str, object]:
    identity = identity_of(agent) | {"owner_id": agent.owner_id or UNSET}
    given = {name: value for name, value in identity.items() if value is not UNSET}
    return {"identity": given}


def _call(route: str, body: object, query: Mapping[str, object] | None = None, offset: int = 0) -> bytes:
    return _encode({"route": route, "params": {}, "query": query or {}, "body": body, "offset": offset})


async def _changed(
    services: Services,
    request: CheckedRequest,
    identifier: str,
    body: Mapping[str, object],
    *,
    status: int = 200,
) -> Reply:
    """Change a tournament; the answer is its state."""
    answer = await _command(services, request, identifier, body)
    return answer_response(answer) if answer.status >= 400 else await _state(services, request, identifier, status)


async def _command(services: Services, request: CheckedRequest, identifier: str, body: Mapping[str, object]) -> Answer:
    caller: Caller = request.caller
    return await services.bus.submit(
        _TYPE, "command", identifier, _call(request.route.name, body), agent=caller.holder, name=caller.agent.name,
        operator=caller.operator, command_id=request.command.id or uuid.uuid4().hex,
        fingerprint=request.command.fingerprint, trace=request.trace,
    )  # fmt: skip


async def _state(services: Services, request: CheckedRequest, identifier: str, status: int = 200) -> Reply:
    """A tournament's state, read in as many parts as needed."""
    body, last = b"", Answer(0, 200, b"")
    while last.status == 200 and (not body or len(body) < last.total):
        wanted = _call(READ_TOURNAMENT.name, None, offset=len(body))
        last = await services.bus.submit(_TYPE, "query", identifier, wanted, trace=request.trace)
        body += last.body
        if not last.body:
            break
    if last.status != 200:
        return answer_response(last)
    return json_response(status, await _with_maker(services, await services.owner_names.named(body)))


async def _with_maker(services: Services, body: bytes) -> bytes:
    """A state with the name of the owner who made the tournament; null for an erased one."""
    found = _MAKER.search(body)
    if found is None:
        return body
    try:
        owner = await services.within_deadline(services.owner_names.one(found[1].decode()))
    except UNAVAILABLE_ERRORS:
        return body
    return body[: found.start()] + b'"created_by":' + _encode(owner) + body[found.end() :]
