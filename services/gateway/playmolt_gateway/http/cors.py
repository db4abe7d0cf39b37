"""Cross-origin reads: any page may GET, none may do more."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ORIGIN: Final = (b"access-control-allow-origin", b"*")
_PREFLIGHT: Final = [
    _ORIGIN,
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", b"authorization, last-event-id, traceparent"),
    (b"access-control-max-age", b"86400"),
]


class AnyoneMayRead:
    """Adds the header to GET answers and answers preflights of GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "OPTIONS"):
            await self._app(scope, receive, send)
        elif scope["method"] == "GET":
            await self._app(scope, receive, _with_origin(send))
        elif (b"access-control-request-method", b"GET") in scope["headers"]:
            await send({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)


def _with_origin(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], _ORIGIN]
        await send(message)

    return sending
