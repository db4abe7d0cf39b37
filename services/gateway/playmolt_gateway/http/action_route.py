"""`POST /api/games/{id}/actions`, in front of FastAPI: the one route that every move of every game takes.

Same checks, same problem documents as everywhere; no routing table, no request object, no model.
"""

from asyncio import Future
from time import perf_counter
from typing import Final

from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log, trace_id
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.routes.route import Auth, Query
from starlette.types import ASGIApp, Receive, Scope, Send

from playmolt_gateway.http.auth import Caller
from playmolt_gateway.http.bodies import parse
from playmolt_gateway.http.checked_request import AWAY, Head, Services, game_of, log_bug, read_head, reason, traced
from playmolt_gateway.http.idempotency import command_id
from playmolt_gateway.http.problems import RETRY_SECONDS, Headers, Refusal, away, bug_body, json_headers, no_such_game
from playmolt_gateway.http.queries import parse_query

_log = log("gateway")
NAME: Final = "act"
BEFORE: Final = "/api/games/"
AFTER: Final = "/actions"
_RETRY: Final = [(b"retry-after", b"%d" % RETRY_SECONDS)]


Rendered = tuple[int, bytes, Headers]
"""Status, body, and the headers beside type and length."""


def rendered(reply: Answer | Refusal) -> Rendered:
    """Give what is sent for a reply."""
    if isinstance(reply, Refusal):
        return reply.status, reply.body(), reply.headers()
    return reply.status, reply.body, _RETRY if reply.status in (429, 503) else []


def failed(error: BaseException, trace: str = "") -> Rendered:
    """Give what is sent when a dependency is away, or when there is a bug; the log names the request's trace."""
    if isinstance(error, AWAY):
        _log.warning("unavailable", route=NAME, detail=reason(error), trace_id=trace_id(trace))
        return rendered(away(error))
    log_bug(NAME, error, trace)
    return 500, bug_body(), []


def is_action(path: str) -> bool:
    """Say whether a path is that of an action."""
    return path.endswith(AFTER) and path.startswith(BEFORE) and path.count("/") == 4


class Actions:
    """The ASGI app of the one route, and the checks that its fast lane shares."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.metrics = services.metrics
        self._limited = services.rates.limited("actions")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        metrics = self._services.metrics
        started = perf_counter()
        metrics.in_flight += 1
        head = read_head(scope["headers"])
        span = traced(head, NAME)
        try:
            status, body, extra = await self._serve(head, scope, receive)
        finally:
            metrics.in_flight -= 1
        if span:
            tracing.answered(span, status)
        headers = json_headers(status, len(body))
        headers += extra
        metrics.observe(NAME, status, perf_counter() - started)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _serve(self, head: Head, scope: Scope, receive: Receive) -> Rendered:
        try:
            return rendered(await self._answer(head, scope, receive))
        except Exception as error:
            return failed(error, head.trace)

    async def _answer(self, head: Head, scope: Scope, receive: Receive) -> Answer | Refusal:
        """Give the engine's Answer, or a Refusal, in the order of api.md: 401, 429, 413, 400, 404, then the engine."""
        caller = await self.admitted(head)
        if isinstance(caller, Refusal):
            return caller
        body = await self._services.bodies.read(receive, head.content_length)
        if isinstance(body, Refusal):
            return body
        sent = self.submit(caller, head, scope["path"], scope["query_string"], body)
        return sent if isinstance(sent, Refusal) else await sent

    async def admitted(self, head: Head) -> Caller | Refusal:
        """Give who calls, or why they may not now. Raises what AWAY lists."""
        services = self._services
        caller = await services.authenticator.admit(head.authorization, Auth.AGENT)
        if isinstance(caller, Refusal) or not self._limited:
            return caller
        return await services.rates.refusal(caller, "actions") or caller

    def admitted_now(self, head: Head) -> Caller | None:
        """Give who calls when that is known without asking anybody; None: ask `admitted`."""
        return None if self._limited else self._services.authenticator.known_agent(head.authorization)

    def submit(self, caller: Caller, head: Head, path: str, query: bytes, body: bytes) -> "Future[Answer] | Refusal":
        """Check the form of an action and send it to its engine."""
        services = self._services
        value = parse(body)
        if isinstance(value, Refusal):
            return value
        if query and isinstance(refusal := parse_query(query, Query), Refusal):
            return refusal
        command = command_id(caller.id, f"POST {path}", head.idempotency_key, body, value)
        if isinstance(command, Refusal):
            return command
        game_id = path[len(BEFORE) : -len(AFTER)]
        game = game_of(game_id)
        if game is None:
            return no_such_game(game_id)
        agent = caller.agent
        return services.bus.submit(
            game, "act", game_id, body, agent=agent.id, name=agent.name,
            command_id=command.id, fingerprint=command.fingerprint, trace=head.trace,
        )  # fmt: skip


class Front:
    """The whole gateway: actions past everything else, all else to the other app."""

    def __init__(self, actions: Actions, app: ASGIApp) -> None:
        self.actions = actions
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http" and scope["method"] == "POST" and is_action(scope["path"]):
            await self.actions(scope, receive, send)
            return
        await self._app(scope, receive, send)
