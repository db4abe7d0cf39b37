"""`POST /api/games/{id}/actions`: the one route that every move of every game takes.

Authenticate, take a token of the rate, check, submit, answer. Two callers share the steps: the ASGI app below, and
`http/fast_http.py` for an action that needs nothing awaited before its engine is asked. Same checks, same problem
documents as everywhere; no routing table, no request object, no model.
"""

from asyncio import Future
from collections.abc import Iterable
from time import perf_counter
from typing import Final

from opentelemetry.trace import Span
from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log, trace_id
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.routes.route import Auth, Query
from starlette.types import Receive, Scope, Send

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.bodies import parse, unmarked
from playmolt_gateway.http.conversion import parse_query
from playmolt_gateway.http.metrics import Metrics
from playmolt_gateway.http.problems import BUG_STATUS, RETRY_SECONDS, Headers, Refusal, away, bug_body, no_such_game
from playmolt_gateway.http.responses import json_headers
from playmolt_gateway.ports import AWAY
from playmolt_gateway.request.checked_request import Head, command_id, game_of, log_bug, read_head, reason, traced
from playmolt_gateway.request.services import Services

_log = log("gateway")
NAME: Final = "act"
_BEFORE: Final = "/api/games/"
_AFTER: Final = "/actions"
_RETRY: Final = [(b"retry-after", b"%d" % RETRY_SECONDS)]


Rendered = tuple[int, bytes, Headers]
"""Status, body, and the headers beside type and length."""


def rendered(reply: Answer | Refusal) -> Rendered:
    if isinstance(reply, Refusal):
        return reply.status, reply.body(), reply.headers()
    return reply.status, reply.body, _RETRY if reply.status in (429, 503) else []


def failed(error: BaseException, trace: str = "") -> Rendered:
    """What is sent when a dependency is away, or when there is a bug; the log names the request's trace."""
    if isinstance(error, AWAY):
        _log.warning("unavailable", route=NAME, detail=reason(error), trace_id=trace_id(trace))
        return rendered(away(error))
    log_bug(NAME, error, trace)
    return BUG_STATUS, bug_body(), _RETRY


def is_action(path: str) -> bool:
    return path.endswith(_AFTER) and path.startswith(_BEFORE) and path.count("/") == 4


class Observed:
    """One action in the metrics and, if it is traced, in its span, from its head to its answer."""

    __slots__ = ("_metrics", "_span", "_started")

    def __init__(self, metrics: Metrics, head: Head) -> None:
        self._metrics = metrics
        self._started = perf_counter()
        metrics.in_flight += 1
        self._span: Span | None = traced(head, NAME)

    def end(self, status: int) -> None:
        self._metrics.in_flight -= 1
        self._metrics.observe(NAME, status, perf_counter() - self._started)
        if self._span:
            tracing.answered(self._span, status)


class ActionRoute:
    """The steps of an action, and the ASGI app that takes them one after the other."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.arrivals = services.bodies.arrivals

    def observe(self, head: Head) -> Observed:
        """Count an action in. From here on `head` carries the context of the action's span."""
        return Observed(self._services.metrics, head)

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

    async def _serve(self, head: Head, scope: Scope, receive: Receive) -> Rendered:
        try:
            return rendered(await self._answer(head, scope, receive))
        except Exception as error:
            return failed(error, head.trace)

    async def _answer(self, head: Head, scope: Scope, receive: Receive) -> Answer | Refusal:
        """The engine's Answer, or a Refusal, in the order of api.md: 401, 429, 413, 400, 404, then the engine."""
        caller = await self._services.authenticator.admit(head.authorization, Auth.AGENT)
        if isinstance(caller, Refusal):
            return caller
        client = scope.get("client")
        if self.limited(client[0] if client else None, scope["headers"]) and (refusal := await self.over_rate(caller)):
            return refusal
        body = await self._services.bodies.read(receive, head.content_length, head.content_encoding)
        if isinstance(body, Refusal):
            return body
        submitted = self.submit(caller, head, scope["path"], scope["query_string"], body)
        return submitted if isinstance(submitted, Refusal) else await submitted

    def known_caller(self, head: Head) -> Caller | None:
        """The agent that calls, when its key is remembered; None: the accounts have to be asked."""
        return self._services.authenticator.known_agent(head.authorization)

    def is_operator(self, head: Head) -> bool:
        """Whether a request carries the operator's key."""
        return self._services.authenticator.is_operator(head.authorization)

    def limited(self, peer: str | None, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether actions that come from there have a rate."""
        return self._services.rates.limited("actions", peer, headers)

    async def over_rate(self, caller: Caller) -> Refusal | None:
        """Take one from the caller's bucket of actions. Raises what AWAY lists."""
        return await self._services.rates.refusal(caller, "actions")

    def submit(self, caller: Caller, head: Head, path: str, query: bytes, body: bytes) -> "Future[Answer] | Refusal":
        """Check the form of an action and send it to its engine."""
        body = unmarked(body)
        value = parse(body)
        if isinstance(value, Refusal):
            return value
        if query and isinstance(refusal := parse_query(query, Query), Refusal):
            return refusal
        command = command_id(caller.id, f"POST {path}", head.idempotency_key, body, value)
        if isinstance(command, Refusal):
            return command
        game_id = path[len(_BEFORE) : -len(_AFTER)]
        game = game_of(game_id)
        if game is None:
            return no_such_game(game_id)
        agent = caller.agent
        return self._services.bus.submit(
            game, "act", game_id, body, agent=agent.id, name=agent.name,
            command_id=command.id, fingerprint=command.fingerprint, trace=head.trace,
        )  # fmt: skip
