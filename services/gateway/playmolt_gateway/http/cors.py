"""Cross-origin reads: any page may GET, none may do more (docs/bots.md says which calls those are)."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ORIGIN: Final = (b"access-control-allow-origin", b"*")
_READS: Final = ("GET", "HEAD")
_PREFLIGHT: Final = [
    _ORIGIN,
    (b"access-control-allow-methods", b"GET, HEAD"),
    (b"access-control-allow-headers", b"authorization, cache-control, last-event-id, traceparent"),
    (b"access-control-max-age", b"86400"),
]


class AnyoneMayRead:
    """Adds the header to GET answers and answers preflights of GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in (*_READS, "OPTIONS"):
            await self._app(scope, receive, send)
        elif scope["method"] in _READS:
            await self._app(scope, receive, _with_origin(send))
        elif _asks_to_read(scope):
            await send({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)


def _asks_to_read(scope: Scope) -> bool:
    """Whether OPTIONS asks for a call that may be made. What is a feed can only be read: a bare OPTIONS is answered."""
    if scope["path"].endswith("/stream"):
        return True
    return any((b"access-control-request-method", method.encode()) in scope["headers"] for method in _READS)


def _with_origin(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], _ORIGIN]
        await send(message)

    return sending
