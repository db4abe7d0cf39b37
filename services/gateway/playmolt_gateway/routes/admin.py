"""The operator's calls."""

from typing import Any, Final

import msgspec
from playmolt_schemas import api, subjects
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.export.wire import LogPageRequest, LogRefused
from playmolt_schemas.routes.platform import (
    ADMIN_AGENTS,
    ADMIN_END,
    ADMIN_GAME,
    ADMIN_GAMES,
    ADMIN_LAG,
    ADMIN_LOG,
    AdminAgent,
    AdminAgents,
    AdminGames,
    AdminGamesQuery,
    AdminOwner,
    WholeLogQuery,
)
from playmolt_schemas.routes.route import PageQuery, Query
from playmolt_schemas.text import reason_fault, trimmed

from playmolt_gateway.http.problems import bad_request
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.games import list_rows

_LAG_SECONDS = 3.0
_LOG_SECONDS = 8.0
_encode = msgspec.json.encode
_REFUSED: Final = b'{"after":'


@serves(ADMIN_GAMES)
async def admin_games(services: Services, request: CheckedRequest[AdminGamesQuery, None]) -> Reply:
    """List all games, or the running ones that are stuck."""
    query = request.query
    wanted: dict[str, Any] = {"phase": query.phase}
    if query.stuck:
        wanted |= {"open": True, "idle_seconds": services.settings.stuck_seconds}
    found = await list_rows(services, query.gameType, wanted, query.limit, query.cursor, operator=True)
    if isinstance(found, Answer):
        return answer_response(found)
    return json_response(200, _encode(AdminGames(list(found[0]), found[1])))


@serves(ADMIN_GAME)
async def admin_game(services: Services, request: CheckedRequest) -> Reply:
    answer = await services.bus.submit(
        request.game, "operator", request.params["id"], operator=True, trace=request.trace
    )
    return answer_response(answer)


@serves(ADMIN_END)
async def admin_end(services: Services, request: CheckedRequest[Query, api.EndRequest]) -> Reply:
    reason = trimmed(request.body.reason)
    if fault := reason_fault(reason):
        return bad_request(f"reason: {fault}.", FieldFault("reason", fault))
    answer = await services.bus.submit(
        request.game, "end", request.params["id"], _encode({"reason": reason}), operator=True,
        command_id=request.command.id, fingerprint=request.command.fingerprint, trace=request.trace,
    )  # fmt: skip
    return answer_response(answer)


@serves(ADMIN_AGENTS)
async def admin_agents(services: Services, request: CheckedRequest[PageQuery, None]) -> Reply:
    rows, cursor = await services.within_deadline(services.accounts.agents(request.query.limit, request.query.cursor))
    owners = await services.within_deadline(services.owners.contacts([row.id for row in rows]))
    shown = {agent: AdminOwner(owner.id, owner.name, owner.contact) for agent, owner in owners.items()}
    agents = [AdminAgent(row.id, row.name, shown.get(row.id)) for row in rows]
    return json_response(200, _encode(AdminAgents(agents, cursor)))


@serves(ADMIN_LAG)
async def admin_lag(services: Services, request: CheckedRequest) -> Reply:
    """Forward the relay's lag."""
    del request
    return json_response(200, await services.bus.request(subjects.LAG, timeout=_LAG_SECONDS))


@serves(ADMIN_LOG)
async def admin_log(services: Services, request: CheckedRequest[WholeLogQuery, None]) -> Reply:
    """Forward a page of the whole log, read by the relay."""
    wanted = _encode(LogPageRequest(request.query.after, request.query.limit))
    answer = await services.bus.request(subjects.LOG, wanted, timeout=_LOG_SECONDS)
    if answer.startswith(_REFUSED):
        fault = msgspec.json.decode(answer, type=LogRefused).after
        return bad_request(f"after: {fault}.", FieldFault("after", fault))
    return json_response(200, answer)
