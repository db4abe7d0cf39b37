"""The HTTP server: JSON-RPC on POST /, GET /healthz."""

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playmolt_devchain.methods import Methods, RpcError

MAX_BODY = 512 * 1024
MAX_CONNECTIONS = 128
_STACK = 256 * 1024 * 1024
_Message = MutableMapping[str, Any]


class App:
    """The ASGI application. Calls run one at a time in a thread, so that /healthz is not blocked."""

    def __init__(self, methods: Methods) -> None:
        self._methods = methods
        # py-evm raises the recursion limit tenfold: with the default stack a deeply nested body crashes the process.
        usual = threading.stack_size(_STACK)
        self._worker = ThreadPoolExecutor(1, "evm")
        self._worker.submit(int).result()
        threading.stack_size(usual)

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        status, body = _refusal(scope) or await self._answer(scope["method"], scope["path"], receive)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers + _shared(scope)})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, method: str, path: str, receive: Callable[[], Awaitable[_Message]]) -> tuple[int, bytes]:
        if method == "GET" and path == "/healthz":
            return 200, b'{"status":"alive"}'
        if method == "OPTIONS" and path == "/":
            return 200, b"{}"
        if method != "POST" or path != "/":
            return (
                404,
                b'{"code":"not_found","detail":"Path does not exist. Use POST / for JSON-RPC and GET /healthz."}',
            )
        body = await _body(receive)
        if body is None:
            return 413, _error(None, RpcError(-32600, f"the body is too large: send at most {MAX_BODY} bytes"))
        return 200, await asyncio.get_running_loop().run_in_executor(self._worker, self._called, body)

    def _called(self, body: bytes) -> bytes:
        call_id: Any = None
        try:
            call = _call(body)
            call_id = call.get("id")
            result = self._methods.answer(call["method"], call.get("params") or [])
        except RpcError as error:
            return _error(call_id, error)
        return json.dumps({"jsonrpc": "2.0", "id": call_id, "result": result}).encode()


_OWN = re.compile(rb"http://(?:127\.0\.0\.1|localhost)(?::\d{1,5})?")


def _refusal(scope: _Message) -> tuple[int, bytes] | None:
    """Refuse requests that a foreign web page makes a local browser send.

    They carry a foreign origin, or cannot have a JSON content type without a preflight.
    """
    headers = dict(scope["headers"])
    origin = headers.get(b"origin")
    if origin is not None and not _OWN.fullmatch(origin):
        return 403, b'{"code":"foreign_origin","detail":"This node accepts requests from this machine only."}'
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if (scope["method"], scope["path"]) == ("POST", "/") and kind != b"application/json":
        return 415, b'{"code":"unsupported_media_type","detail":"Send Content-Type: application/json."}'
    return None


def _shared(scope: _Message) -> list[tuple[bytes, bytes]]:
    """CORS headers for pages of this machine; the page that checks a verdict calls the node."""
    origin = dict(scope["headers"]).get(b"origin", b"")
    if not _OWN.fullmatch(origin):
        return []
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-headers", b"content-type"),
        (b"vary", b"origin"),
    ]


_BRACKETS = 200
"""More than any valid call has. The raised recursion limit would let a deeply nested body overflow the stack."""


def _call(body: bytes) -> dict[str, Any]:
    if body.count(b"[") + body.count(b"{") > _BRACKETS:
        raise RpcError(-32700, f"the body has more than {_BRACKETS} brackets")
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        raise RpcError(-32700, "the body is not JSON") from None
    if isinstance(call, list):
        raise RpcError(-32600, "batches are not supported: send one call per request")
    if not isinstance(call, dict) or not isinstance(call.get("method"), str):
        raise RpcError(-32600, "a call must be an object with method and params")
    if not isinstance(call.get("params") or [], list):
        raise RpcError(-32602, "params must be a list")
    return call


def _error(call_id: object, error: RpcError) -> bytes:
    document: dict[str, object] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        document["data"] = error.data
    return json.dumps({"jsonrpc": "2.0", "id": call_id, "error": document}).encode()


async def _body(receive: Callable[[], Awaitable[_Message]]) -> bytes | None:
    body = b""
    while True:
        message = await receive()
        part: bytes = message.get("body", b"")
        body += part
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body"):
            return body
