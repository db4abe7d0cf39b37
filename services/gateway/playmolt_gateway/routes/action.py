"""`POST /api/games/{id}/actions`, the route of every move.

Authenticate, take a rate token, check, submit, answer. Two callers share these steps: the ASGI app below and
`server/fast_http.py`, for actions that need no await before the engine call. The checks and problem documents are those
of all routes; the routing table and the request object are skipped.
"""

from asyncio import Future
from collections.abc import Iterable
from time import perf_counter
from typing import Final

from opentelemetry.trace import Span
from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log, trace_id
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.routes.platform import ACT
from playmolt_schemas.routes.route import Auth, Query
from starlette.types import Receive, Scope, Send

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.bodies import parse, without_bom
from playmolt_gateway.http.conversion import parse_query
from playmolt_gateway.http.metrics import Metrics
from playmolt_gateway.http.problems import BUG_STATUS, RETRY_SECONDS, Headers, HttpProblem, away, bug_body, no_such_game
from playmolt_gateway.http.responses import json_headers
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import (
    CommandId,
    RequestHead,
    command_id,
    game_of,
    log_bug,
    read_head,
    reason,
    report_presence,
    traced,
)
from playmolt_gateway.request.services import Services

_log = log("gateway")
_BEFORE, _AFTER = ACT.path.split("{id}")
_RETRY: Final = [(b"retry-after", b"%d" % RETRY_SECONDS)]


Rendered = tuple[int, bytes, Headers]
"""Status, body, and headers other than content type and length."""


def rendered(reply: Answer | HttpProblem) -> Rendered:
    if isinstance(reply, HttpProblem):
        return reply.status, reply.body(), reply.headers()
    return reply.status, reply.body, _RETRY if reply.status in (429, 503) else []


def failed(error: BaseException, trace: str = "") -> Rendered:
    """The reply to an unavailable dependency or a bug, which is logged with the request's trace."""
    if isinstance(error, UNAVAILABLE_ERRORS):
        _log.warning("unavailable", route=ACT.name, detail=reason(error), trace_id=trace_id(trace))
        return rendered(away(error))
    log_bug(ACT.name, error, trace)
    return BUG_STATUS, bug_body(), _RETRY


def is_action(path: str) -> bool:
    return path.endswith(_AFTER) and path.startswith(_BEFORE) and path.count("/") == 4


class ActionObservation:
    """Metrics and trace span of one action, from request head to answer."""

    __slots__ = ("_metrics", "_span", "_started")

    def __init__(self, metrics: Metrics, head: RequestHead) -> None:
        self._metrics = metrics
        self._started = perf_counter()
        metrics.in_flight += 1
        self._span: Span | None = traced(head, ACT.name)

    def end(self, status: int) -> None:
        self._metrics.in_flight -= 1
        seconds = perf_counter() - self._started
        self._metrics.observe(ACT.name, status, seconds, seconds)
        if self._span:
            tracing.answered(self._span, status)


class ActionRoute:
    """The steps of an action, and the ASGI app that runs them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.deadlines = services.bodies.deadlines

    def observe(self, head: RequestHead) -> ActionObservation:
        """Start metrics and span of an action; puts the span's context into `head`."""
        return ActionObservation(self._services.metrics, head)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = read_head(scope["headers"])
        observed = self.observe(head)
        status = 500
        try:
            status, body, extra = await self._serve(head, scope, receive)
        finally:
            observed.end(status)
        headers = [*json_headers(status, len(body)), *extra]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _serve(self, head: RequestHead, scope: Scope, receive: Receive) -> Rendered:
        try:
            return rendered(await self._answer(head, scope, receive))
        except Exception as error:
            return failed(error, head.trace)

    async def _answer(self, head: RequestHead, scope: Scope, receive: Receive) -> Answer | HttpProblem:
        """Check in the order of api.md (401, 429, 413, 400, 404), then ask the engine."""
        caller = await self._services.authenticator.admit(head.authorization, Auth.AGENT)
        if isinstance(caller, HttpProblem):
            return caller
        client = scope.get("client")
        if self.limited(client[0] if client else None, scope["headers"]) and (refusal := await self.over_rate(caller)):
            return refusal
        body = await self._services.bodies.read(receive, head.content_length, head.content_encoding)
        if isinstance(body, HttpProblem):
            report_presence(self._services, caller, _game_id(scope["path"]), head.trace)
            return body
        submitted = self.submit(caller, head, scope["path"], scope["query_string"], body)
        return submitted if isinstance(submitted, HttpProblem) else await submitted

    def known_caller(self, head: RequestHead) -> Caller | None:
        """The calling agent if its key is cached."""
        return self._services.authenticator.known_agent(head.authorization)

    def is_operator(self, head: RequestHead) -> bool:
        """Whether a request has the operator's key."""
        return self._services.authenticator.is_operator(head.authorization)

    def limited(self, peer: str | None, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether the action rate limit applies to this address."""
        return self._services.rates.limited("actions", peer, headers)

    async def over_rate(self, caller: Caller) -> HttpProblem | None:
        """Take an action token of the caller. Raises UNAVAILABLE_ERRORS."""
        return await self._services.rates.refusal(caller, "actions")

    def submit(
        self, caller: Caller, head: RequestHead, path: str, query: bytes, body: bytes
    ) -> "Future[Answer] | HttpProblem":
        """Check the syntax of an action and send it to its engine."""
        game_id, body = _game_id(path), without_bom(body)
        command = _command(caller, head, path, query, body)
        if isinstance(command, HttpProblem):
            report_presence(self._services, caller, game_id, head.trace)
            return command
        game = game_of(game_id)
        if game is None:
            return no_such_game(game_id)
        agent = caller.agent
        return self._services.bus.submit(
            game, "act", game_id, body, agent=agent.id, name=agent.name,
            command_id=command.id, fingerprint=command.fingerprint, trace=head.trace,
        )  # fmt: skip


def _game_id(path: str) -> str:
    return path[len(_BEFORE) : -len(_AFTER)]


def _command(caller: Caller, head: RequestHead, path: str, query: bytes, body: bytes) -> CommandId | HttpProblem:
    value = parse(body)
    if isinstance(value, HttpProblem):
        return value
    if query and isinstance(refusal := parse_query(query, Query), HttpProblem):
        return refusal
    return command_id(caller.id, f"POST {path}", head.idempotency_key, body, value)
