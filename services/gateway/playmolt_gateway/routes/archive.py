"""Search of games by type, agent, winner, date, names and topic."""

from collections.abc import Sequence
from typing import Final

import msgspec
from playmolt_schemas import api
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.identifiers import read_rfc3339, rfc3339
from playmolt_schemas.routes.pages import PAGE_ROWS, GameListRow, RowsPage, RowsQuery
from playmolt_schemas.routes.platform import LIST_GAMES, AdminGameRow
from playmolt_schemas.routes.route import GamesQuery

from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.pages.rows import RowFilter
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.games import cursor_behind, list_rows

_SCANNED: Final = 400
"""Games scanned per request. A page may hold fewer rows than requested; its cursor continues after the last one."""
_RUNS: Final = "agora"
_Found = tuple[Sequence[tuple[AdminGameRow, GameListRow | None]], str | None] | Answer | HttpProblem
_PAGE: Final = 100


@serves(LIST_GAMES)
async def list_games(services: Services, request: CheckedRequest[GamesQuery, None]) -> Reply:
    query = request.query
    found = await _found(services, query, over=False)
    if isinstance(found, HttpProblem):
        return found
    if isinstance(found, Answer):
        return answer_response(found)
    lines = [
        api.GameRow(
            row.game_id,
            row.gameType,
            row.phase,
            row.round,
            row.seated,
            row.needed,
            row.created_at,
            row.language,
            row.private,
            row.pace,
            row.tournament,
        )
        for row, _ in found[0]
    ]
    return json_response(200, msgspec.json.encode(api.Games(lines, found[1])))


@serves(PAGE_ROWS)
async def page_rows(services: Services, request: CheckedRequest[RowsQuery, None]) -> Reply:
    """Games as rows of the web pages."""
    query = request.query
    found = await (_runs(services, query) if query.runs else _found(services, query, over=query.over))
    if isinstance(found, HttpProblem):
        return found
    if isinstance(found, Answer):
        return answer_response(found)
    rows = [row or made for (_, row), made in zip(found[0], await _rows(services, found[0]), strict=True)]
    response = json_response(200, msgspec.json.encode(RowsPage(rows, found[1])))
    response.headers["cache-control"] = "no-cache"
    return response


async def _runs(services: Services, query: GamesQuery) -> _Found:
    """The runs of experiments, newest first."""
    held = await list_rows(services, _RUNS, {}, query.limit, query.cursor)
    return held if isinstance(held, Answer) else ([(line, None) for line in held[0]], held[1])


async def _rows(services: Services, found: Sequence[tuple[AdminGameRow, GameListRow | None]]) -> Sequence[GameListRow]:
    return await _made(services, [line for line, _ in found])


async def _made(services: Services, lines: Sequence[AdminGameRow]) -> Sequence[GameListRow]:
    return await services.rows.of(lines, await services.within_deadline(services.moderation.revision()))


async def _found(services: Services, query: GamesQuery, *, over: bool) -> _Found:
    """Matching lines, with their rows where the filter needed them, and the next cursor."""
    times = {name: _utc(text) for name, text in (("from", query.since), ("to", query.until))}
    if None in times.values():
        return _no_time(next(name for name, time in times.items() if time is None))
    wanted = RowFilter(query.q or "", query.winner or "", times["from"] or "", times["to"] or "")
    plain = {"phase": query.phase, "agent": query.agent, "tournament": query.tournament}
    looks = bool(wanted) or over
    kept: list[tuple[AdminGameRow, GameListRow | None]] = []
    cursor, scanned = query.cursor, 0
    while True:
        size = query.limit if not looks else min(_PAGE, _SCANNED)
        found = await list_rows(services, query.gameType, plain, size, cursor)
        if isinstance(found, Answer):
            return found
        lines, after = found
        rows: Sequence[GameListRow | None] = await _made(services, lines) if wanted else [None] * len(lines)
        for place, (line, row) in enumerate(zip(lines, rows, strict=True)):
            if (over and not line.over) or (row is not None and not wanted.fits(row)):
                continue
            kept.append((line, row))
            if len(kept) == query.limit:
                more = after is not None or place + 1 < len(lines)
                return kept, cursor_behind(line) if more else None
        scanned += len(lines)
        if after is None or not looks or scanned >= _SCANNED:
            return kept, after
        cursor = after


def _utc(text: str | None) -> str | None:
    """A time in the format of records, which sorts as text; "" for None, None for an invalid time."""
    if text is None:
        return ""
    try:
        return rfc3339(read_rfc3339(text))
    except ValueError:
        return None


def _no_time(name: str) -> HttpProblem:
    fault = "is not a valid time"
    return bad_request(f"{name}: {fault}.", FieldFault(name, fault))
