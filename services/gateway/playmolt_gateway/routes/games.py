"""Games: join, leave, the list, states and events. What a game is, only its engine knows."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_schemas import api
from playmolt_schemas.codes import MISMATCH, Code, FieldFault
from playmolt_schemas.envelopes import Answer, Op
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.limits import PAGE_MAX, WAIT_SECONDS
from playmolt_schemas.routes.platform import AdminGameLine, StateQuery

from playmolt_gateway.http.checked_request import Ask, House, Reply, answer_response, game_of
from playmolt_gateway.http.problems import Refusal, bad_request, json_response
from playmolt_gateway.http.waiting import Patience, news, version_of

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_encode = msgspec.json.encode


class _Place(msgspec.Struct):
    created_at: str
    game_id: str


class _Rows(msgspec.Struct):
    games: list[AdminGameLine]


_rows_of = msgspec.json.Decoder(_Rows).decode


def ask_engine(house: House, ask: Ask, op: Op, body: Any, *, agent: str | None = None) -> "asyncio.Future[Answer]":
    """Send a read about the game of the path; `agent` says as whom, by default as the caller."""
    viewer = ask.caller.id if agent is None else agent
    return house.bus.submit(ask.game, op, ask.params["id"], _encode(body), agent=viewer, trace=ask.trace)


async def join_game(house: House, ask: Ask) -> Reply:
    """Take a seat in a game of the wanted type."""
    agent, command = ask.caller.agent, ask.command
    if command.fingerprint and not await house.soon(
        house.accounts.claim_join(agent.id, command.id, command.fingerprint)
    ):
        return Refusal(Code.IDEMPOTENCY_MISMATCH, MISMATCH)
    answer = await house.bus.submit(
        ask.body.gameType, "join", "", agent=agent.id, name=agent.name,
        command_id=command.id, fingerprint=command.fingerprint, trace=ask.trace,
    )  # fmt: skip
    return answer_response(answer)


async def leave_game(house: House, ask: Ask) -> Reply:
    """Give a seat back."""
    answer = await house.bus.submit(
        ask.game, "leave", ask.params["id"], agent=ask.caller.id,
        command_id=ask.command.id, fingerprint=ask.command.fingerprint, trace=ask.trace,
    )  # fmt: skip
    return answer_response(answer)


def _before(cursor: str) -> tuple[str, str]:
    place = read_cursor(cursor, _Place)
    if game_of(place.game_id, sessions=True) is None or not _TIME.fullmatch(place.created_at):
        raise BadCursor("this is no cursor: use next_cursor of the page before, unchanged")
    return place.created_at, place.game_id


async def list_rows(
    house: House, game: str | None, wanted: dict[str, Any], limit: int, cursor: str | None
) -> tuple[Sequence[AdminGameLine], str | None] | Answer:
    """Merge the engines' lists, newest first; gives a page and the next cursor, or an engine's refusal."""
    body = {key: value for key, value in wanted.items() if value is not None}
    if cursor is not None:
        body["before"] = _before(cursor)
    # One more than asked for tells whether there is a next page.
    each = min(limit + 1, PAGE_MAX)
    games = (game,) if game else GAME_TYPES
    answers = await asyncio.gather(*(house.bus.submit(g, "games", "", _encode(body | {"limit": each})) for g in games))
    rows: list[AdminGameLine] = []
    for answer in answers:
        if answer.status != 200:
            return answer
        rows += _rows_of(answer.body).games
    rows.sort(key=lambda row: (row.created_at, row.game_id), reverse=True)
    more = len(rows) > limit or any(len(_rows_of(a.body).games) == PAGE_MAX == limit for a in answers)
    page = rows[:limit]
    return page, write_cursor(_Place(page[-1].created_at, page[-1].game_id)) if more and page else None


async def list_games(house: House, ask: Ask) -> Reply:
    """Give a page of all games."""
    query = ask.query
    found = await list_rows(house, query.gameType, {"phase": query.phase}, query.limit, query.cursor)
    if isinstance(found, Answer):
        return answer_response(found)
    rows, cursor = found
    lines = [
        api.GameLine(row.game_id, row.gameType, row.phase, row.round, row.seated, row.needed, row.created_at)
        for row in rows
    ]
    return json_response(200, _encode(api.Games(lines, cursor)))


async def read_state(house: House, ask: Ask) -> Reply:
    """Give a state: now, as soon as it is newer than `after`, or as it was."""
    query: StateQuery = ask.query
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
        return answer_response(await ask_engine(house, ask, "state", body, agent=""))
    if query.after is None or not query.wait:
        return answer_response(await ask_engine(house, ask, "state", {}))
    return await _newer_state(house, ask, query.after, min(query.wait, WAIT_SECONDS))


async def _newer_state(house: House, ask: Ask, after: int, seconds: float) -> Reply:
    """Subscribe, read, and read again on every message, until the version is newer or the time is up."""
    if house.closing.full:
        return too_many_waits()
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    watch = await house.bus.watch(ask.game, ask.params["id"])
    try:
        async with Patience(ask.receive, house.closing) as patience:
            while True:
                answer = await ask_engine(house, ask, "state", {})
                if answer.status != 200 or version_of(answer.body).version > after:
                    break
                if patience.over or clock() >= end:
                    break
                await patience.first([news(watch, after, end - clock())], end - clock())
    finally:
        await watch.close()
    return answer_response(answer)


def too_many_waits() -> Refusal:
    """Refuse a wait that this gateway has no room for."""
    return Refusal(Code.UNAVAILABLE, "Too many requests wait on this server. Repeat after Retry-After seconds.")


async def read_events(house: House, ask: Ask) -> Reply:
    """Give a page of the public events, byte for byte as they are stored."""
    body = {"after": ask.query.after, "limit": ask.query.limit}
    return answer_response(await ask_engine(house, ask, "events", body, agent=""))
