"""`/mcp`: the Model Context Protocol endpoint."""

import asyncio
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from time import perf_counter
from typing import Any, Final

from playmolt_schemas.codes import Code
from playmolt_schemas.limits import BODY_BYTES
from playmolt_schemas.routes.route import Auth
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playmolt_gateway.access.auth import ANONYMOUS, Caller
from playmolt_gateway.http.metrics import MCP
from playmolt_gateway.http.problems import HttpProblem, away, bad_request
from playmolt_gateway.http.responses import json_bytes, refusal_response
from playmolt_gateway.mcp import messages
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import BUSY, read_head
from playmolt_gateway.request.fair_slots import Capacity, FairSlots, SlotsBusy
from playmolt_gateway.request.services import Services

PATH: Final = "/mcp"
MOST_BYTES: Final = BODY_BYTES + 4096
"""The largest request body plus the protocol's envelope."""
RELEASE: Final = "playmolt.release"
"""The key of the scope of a call without a key: releases its slot."""
KEYLESS: Final = Capacity(total=8, each=2)
"""Calls without a key at once."""
_NO_JSON: Final = bad_request("MCP messages must be JSON. Send Content-Type: application/json.")
_FOREIGN: Final = HttpProblem(
    Code.FOREIGN_ORIGIN, "Web pages of other origins may not call /mcp. Programs must not send an Origin header."
)
_UNKNOWN_HOST: Final = HttpProblem(
    Code.UNKNOWN_HOST, "Unknown Host header. The operator can allow it in PLAYMOLT_MCP_HOSTS."
)
_POST_ALONE: Final = HttpProblem(
    Code.METHOD_NOT_ALLOWED, "Method not allowed. Use POST; there are no server-initiated messages and no sessions.",
    allow="POST",
)  # fmt: skip


def is_mcp(path: str) -> bool:
    return path.rstrip("/") == PATH


async def _disconnected(receive: Receive) -> None:
    """Return when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


class McpEndpoint:
    """The ASGI app of `/mcp`. `app` is the gateway: tools call its routes."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services
        self._opening = asyncio.Lock()
        self._slots = FairSlots(KEYLESS)
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            caller = await self._admitted(scope)
            if isinstance(caller, HttpProblem):
                await refusal_response(caller)(scope, receive, counted)
            elif caller == ANONYMOUS:
                await self._answer_in_turn(scope, receive, counted)
            else:
                await self._answer(scope, receive, counted)
        finally:
            self._services.metrics.observe(MCP, status, perf_counter() - started, 0)  # its tool call is counted

    async def _answer_in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a caller without a key, in a slot until its tool calls a route, which takes its own slot."""
        address, seconds = self._services.rates.bucket(scope), self._services.settings.deadline_seconds
        try:
            async with AsyncExitStack() as slot:
                await slot.enter_async_context(self._slots.slot(address, seconds))
                await self._answer({**scope, RELEASE: slot.aclose}, receive, send)
        except SlotsBusy:
            await refusal_response(BUSY)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one message; malformed ones are refused here, with our error texts."""
        headers = dict(scope["headers"])
        sender = messages.as_event(send) if messages.takes_events_alone(headers.get(b"accept", b"")) else send
        body = await self._services.bodies.read(
            receive, headers.get(b"content-length"), headers.get(b"content-encoding"), MOST_BYTES
        )
        if isinstance(body, HttpProblem):
            await refusal_response(body)(scope, receive, send)
            return
        message = messages.message_of(body, headers.get(b"mcp-protocol-version", b""))
        if isinstance(message, messages.InvalidMessage):
            await json_bytes(400, message.answer)(scope, receive, sender)
        else:
            await self._handled(scope, message, receive, sender)

    async def _handled(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the library answer; cancel it when the client disconnects, which the library does not notice."""
        counted = self._services.waits.call(scope)
        if isinstance(counted, HttpProblem):
            await refusal_response(counted)(scope, receive, send)
            return
        manager = await self._opened()
        with counted:
            gone = asyncio.create_task(_disconnected(receive))
            answering = asyncio.create_task(
                manager.handle_request(messages.for_the_library(scope), messages.replayed(body, gone), send)
            )
            try:
                await asyncio.wait((gone, answering), return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
                if not answering.done():
                    answering.cancel()
            with suppress(asyncio.CancelledError):
                await answering

    def _misdirected(self, method: str, headers: dict[bytes, bytes]) -> HttpProblem | None:
        host, origin = (headers.get(name, b"").decode("latin-1") for name in (b"host", b"origin"))
        if method != "POST":
            return _POST_ALONE
        if not self._services.address.expects(host):
            return _UNKNOWN_HOST
        return _FOREIGN if origin and not self._services.address.is_own(origin, host) else None

    async def _admitted(self, scope: Scope) -> Caller | HttpProblem:
        """The caller after the checks shared with all routes. Refusals are problem documents, unlike the protocol's."""
        headers = dict(scope["headers"])
        if refusal := self._misdirected(scope["method"], headers):
            return refusal
        head = read_head(scope["headers"])
        try:
            caller = await self._services.authenticator.admit(head.authorization, Auth.OPTIONAL)
        except UNAVAILABLE_ERRORS as error:
            return away(error)
        if isinstance(caller, HttpProblem):
            return caller
        if caller == ANONYMOUS and (refusal := await self._services.rates.read_refusal(scope)):
            return refusal
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        return caller if kind == b"application/json" else _NO_JSON

    async def _opened(self) -> Any:
        async with self._opening:
            if self._manager is None:
                library = await asyncio.to_thread(import_module, "playmolt_gateway.mcp.server")
                self._manager = library.manager(self._app)
                ready = asyncio.Event()
                self._running = asyncio.create_task(self._run(ready))
                await ready.wait()
        return self._manager

    async def _run(self, ready: asyncio.Event) -> None:
        # Entered and exited in one task, as its task group requires.
        async with self._manager.run():
            ready.set()
            await asyncio.Event().wait()
