"""The operator's calls."""

import msgspec
from playmolt_schemas import subjects
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.routes.platform import AdminAgents, AdminGames, AgentName
from playmolt_schemas.text import reason_fault, trimmed

from playmolt_gateway.http.checked_request import Ask, House, Reply, answer_response
from playmolt_gateway.http.problems import bad_request, json_response
from playmolt_gateway.routes.games import list_rows

_LAG_SECONDS = 3.0
_encode = msgspec.json.encode


async def admin_games(house: House, ask: Ask) -> Reply:
    """List all games, or the running ones in which nothing happened for long."""
    query = ask.query
    wanted = {"phase": query.phase}
    if query.stuck:
        wanted |= {"open": True, "idle_seconds": house.settings.stuck_seconds}
    found = await list_rows(house, query.gameType, wanted, query.limit, query.cursor)
    if isinstance(found, Answer):
        return answer_response(found)
    return json_response(200, _encode(AdminGames(list(found[0]), found[1])))


async def admin_game(house: House, ask: Ask) -> Reply:
    """Show a game with its configuration."""
    answer = await house.bus.submit(ask.game, "operator", ask.params["id"], operator=True, trace=ask.trace)
    return answer_response(answer)


async def admin_end(house: House, ask: Ask) -> Reply:
    """End a game."""
    reason = trimmed(ask.body.reason)
    if fault := reason_fault(reason):
        return bad_request(f"reason: {fault}.", FieldFault("reason", fault))
    answer = await house.bus.submit(
        ask.game, "end", ask.params["id"], _encode({"reason": reason}), operator=True,
        command_id=ask.command.id, fingerprint=ask.command.fingerprint, trace=ask.trace,
    )  # fmt: skip
    return answer_response(answer)


async def admin_agents(house: House, ask: Ask) -> Reply:
    """List the agents."""
    rows, cursor = await house.soon(house.accounts.agents(ask.query.limit, ask.query.cursor))
    return json_response(200, _encode(AdminAgents([AgentName(row.id, row.name) for row in rows], cursor)))


async def admin_lag(house: House, ask: Ask) -> Reply:
    """Pass on what the relay says of its lag."""
    del ask
    return json_response(200, await house.bus.request(subjects.LAG, timeout=_LAG_SECONDS))


async def admin_log(house: House, ask: Ask) -> Reply:
    """Read the whole log forward; any engine can."""
    present = house.bus.present()
    game = next((game for game in GAME_TYPES if game in present), GAME_TYPES[0])
    body = _encode({"after": ask.query.after, "limit": ask.query.limit})
    answer = await house.bus.submit(game, "forward", "", body, operator=True, trace=ask.trace)
    return answer_response(answer)
