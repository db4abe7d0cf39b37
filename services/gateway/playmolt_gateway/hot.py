"""`POST /api/games/{id}/actions`, in front of FastAPI: the one route that every move of every game takes.

Same checks, same problem documents as everywhere; no routing table, no request object, no model.
"""

from time import perf_counter
from typing import Any, Final

from playmolt_core.telemetry import log
from playmolt_schemas.routes import Auth, Query
from starlette.types import ASGIApp, Receive, Scope, Send

from playmolt_gateway.bodies import parse
from playmolt_gateway.exchange import AWAY, House, game_of, log_bug, read_head
from playmolt_gateway.idempotency import command_id
from playmolt_gateway.problems import (
    RETRY_SECONDS,
    Headers,
    Refusal,
    away,
    bug_body,
    json_headers,
    no_such_game,
)
from playmolt_gateway.queries import parse_query

_log = log("gateway")
NAME: Final = "act"
_BEFORE: Final = "/api/games/"
_AFTER: Final = "/actions"
_RETRY: Final = [(b"retry-after", b"%d" % RETRY_SECONDS)]


class Actions:
    """The ASGI app of the one route."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        metrics = self._house.metrics
        started = perf_counter()
        metrics.in_flight += 1
        try:
            status, body, extra = await self._serve(scope, receive)
        finally:
            metrics.in_flight -= 1
        headers = json_headers(status, len(body))
        headers += extra
        metrics.observe(NAME, status, perf_counter() - started)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _serve(self, scope: Scope, receive: Receive) -> tuple[int, bytes, Headers]:
        try:
            reply = await self._answer(scope, receive)
        except AWAY as error:
            _log.warning("unavailable", route=NAME, error=type(error).__name__)
            reply = away(error)
        except Exception as error:
            log_bug(NAME, error)
            return 500, bug_body(), []
        if isinstance(reply, Refusal):
            return reply.status, reply.body(), reply.headers()
        return reply.status, reply.body, _RETRY if reply.status in (429, 503) else []

    async def _answer(self, scope: Scope, receive: Receive) -> Any:  # noqa: PLR0911 -- one return a check
        """Give the engine's Answer, or a Refusal, in the order of api.md: 401, 429, 413, 400, 404, then the engine."""
        house = self._house
        head = read_head(scope["headers"])
        caller = await house.door.admit(head.authorization, Auth.AGENT)
        if isinstance(caller, Refusal):
            return caller
        if house.rates.limited("actions") and (refusal := await house.rates.refusal(caller, "actions")):
            return refusal
        body = await house.bodies.read(receive, head.content_length)
        if isinstance(body, Refusal):
            return body
        value = parse(body)
        if isinstance(value, Refusal):
            return value
        if scope["query_string"] and isinstance(refusal := parse_query(scope["query_string"], Query), Refusal):
            return refusal
        path = scope["path"]
        command = command_id(caller.id, f"POST {path}", head.idempotency_key, body, value)
        if isinstance(command, Refusal):
            return command
        game_id = path[len(_BEFORE) : -len(_AFTER)]
        game = game_of(game_id)
        if game is None:
            return no_such_game(game_id)
        agent = caller.agent
        return await house.bus.submit(
            game, "act", game_id, body, agent=agent.id, name=agent.name,
            command_id=command.id, fingerprint=command.fingerprint, trace=head.trace,
        )  # fmt: skip


class Front:
    """The whole gateway: actions past everything else, all else to the other app."""

    def __init__(self, actions: Actions, app: ASGIApp) -> None:
        self._actions = actions
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            if path.endswith(_AFTER) and path.startswith(_BEFORE) and path.count("/") == 4:
                await self._actions(scope, receive, send)
                return
        await self._app(scope, receive, send)
