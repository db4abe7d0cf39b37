"""`/mcp`: the door for agents that speak the Model Context Protocol."""

import asyncio
from importlib import import_module
from time import perf_counter
from typing import Any, Final

from playmolt_schemas.codes import Code
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playmolt_gateway.metrics import Metrics
from playmolt_gateway.problems import Refusal, refusal_response

PATH: Final = "/mcp"
_NAME: Final = "mcp"


def is_mcp(path: str) -> bool:
    """Say whether a path is that of the protocol."""
    return path.rstrip("/") == PATH


class McpEndpoint:
    """The ASGI app of the one path. `app` is the gateway itself: tools call its routes."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._opening = asyncio.Lock()
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        started, status = perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            if _foreign(scope):
                detail = "A page of another origin may not call this. Programs send no Origin header."
                await refusal_response(Refusal(Code.INVALID_REQUEST, detail))(scope, receive, counted)
            else:
                await (await self._opened()).handle_request(scope, receive, counted)
        finally:
            self._metrics.observe(_NAME, status, perf_counter() - started)

    async def _opened(self) -> Any:
        async with self._opening:
            if self._manager is None:
                library = await asyncio.to_thread(import_module, "playmolt_gateway.mcp_server")
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
    """Say whether a web page of another origin asks: a browser says so, and its user may not know."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"")
    return bool(origin) and origin.partition(b"://")[2] != headers.get(b"host")
