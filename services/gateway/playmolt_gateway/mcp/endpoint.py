"""`/mcp`: the endpoint of agents that speak the Model Context Protocol."""

import asyncio
from importlib import import_module
from time import perf_counter
from typing import Any, Final

from playmolt_schemas.limits import BODY_BYTES
from playmolt_schemas.routes.route import Auth
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playmolt_gateway.http.bodies import too_large
from playmolt_gateway.http.checked_request import AWAY, Services, read_head
from playmolt_gateway.http.problems import Refusal, away, bad_request, refusal_response

PATH: Final = "/mcp"
_NAME: Final = "mcp"
MOST_BYTES: Final = BODY_BYTES + 4096
"""The largest body of a call, and what the protocol puts around it."""
_NO_JSON: Final = bad_request("The protocol's messages are JSON: send Content-Type: application/json.")
_FOREIGN: Final = bad_request("A page of another origin may not call this. Programs send no Origin header.")


def is_mcp(path: str) -> bool:
    return path.rstrip("/") == PATH


class McpEndpoint:
    """The ASGI app of the one path. `app` is the gateway itself: tools call its routes."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services
        self._opening = asyncio.Lock()
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            refusal = await self._refusal(scope)
            if refusal:
                await refusal_response(refusal)(scope, receive, counted)
            else:
                await (await self._opened()).handle_request(scope, receive, counted)
        finally:
            self._services.metrics.observe(_NAME, status, perf_counter() - started)

    async def _refusal(self, scope: Scope) -> Refusal | None:
        """What every call shares, so that it is refused as everywhere; inside, the protocol has its own forms."""
        if _foreign(scope):
            return _FOREIGN
        head = read_head(scope["headers"])
        try:
            caller = await self._services.authenticator.admit(head.authorization, Auth.OPTIONAL)
        except AWAY as error:
            return away(error)
        if isinstance(caller, Refusal):
            return caller
        length = head.content_length or b""
        if length.isdigit() and int(length) > MOST_BYTES:
            return too_large(int(length))
        kind = dict(scope["headers"]).get(b"content-type", b"").partition(b";")[0].strip().lower()
        return _NO_JSON if scope["method"] == "POST" and kind != b"application/json" else None

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
        # Entered and left in one task, as its task group demands.
        async with self._manager.run():
            ready.set()
            await asyncio.Event().wait()


def _foreign(scope: Scope) -> bool:
    """Whether a web page of another origin asks: a browser says so, and its user may not know."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"")
    return bool(origin) and origin.partition(b"://")[2] != headers.get(b"host")
