"""One HTTP exchange with an OpenAI-compatible server through the openai client, without retries."""

import asyncio
import re
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import import_module
from typing import Any, Final

import httpx2
import msgspec
import openai
from playmolt_schemas.proxies import UnusableProxy, proxy_for

from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.openai.speech import Speech
from playmolt_core.llm.port import AttemptOutcome, Listener

BODY_BYTES: Final = 1024 * 1024
"""The maximum size of an answer; a complete reply fits, however its characters are escaped."""
RETRY_AFTER_SECONDS: Final = 60.0
"""The upper limit for a server's Retry-After."""
_RETRY_HEADERS: Final = ("retry-after", "llm_provider-retry-after")
_SECONDS = re.compile(r"\d{1,9}(\.\d+)?")


_LATE: Final = (
    "openai.lib.streaming.chat",
    "openai.resources.chat.chat",
    "openai.resources.chat.completions.completions",
    "anyio._backends._asyncio",
    "anyio.streams.stapled",
)
"""What the client imports with its first request."""


def load_client(addresses: Iterable[str] = ()) -> None:
    """Import it, and read the certificates for the addresses, before a service has callers.

    That takes most of a second, during which its loop does nothing else.
    """
    for name in _LATE:
        import_module(name)
    for address in addresses:
        _verified(address)


def _verified(address: str) -> ssl.SSLContext | bool:
    """The certificates; plain HTTP needs none, which are slow to load."""
    return _certificates() if address.startswith("https:") else False


@cache
def _certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


class HttpResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an exchange: a status with a body, or the fault that prevented it."""

    fault: AttemptOutcome | None = None
    status: int | None = None
    body: bytes = b""
    detail: str = ""
    latency_ms: int = 0
    retry_after_ms: int | None = None


_KEY_CHARS: Final = 8
"""Shorter keys are words such as `none`, which replies contain for other reasons."""


class _BodyTooLarge(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _BoundedBody(httpx2.AsyncByteStream):
    """A body that raises an error instead of exceeding the size limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, status: int) -> None:
        self._stream = stream
        self._status = status

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > BODY_BYTES:
                raise _BodyTooLarge(self._status)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedBody(response.stream, response.status_code)


class ModelConnection:
    """A connection to the server of one model."""

    def __init__(self, entry: ModelEntry, key: str) -> None:
        self._timeout = float(entry.timeout_s)
        self._model = entry.model
        self._key = key
        self._headers: dict[str, Any] = {"Accept-Encoding": "identity", **authorized(key)}
        self._client = opened(entry, key, hooks={"response": [_bound]})

    async def send(
        self, body: Mapping[str, object], headers: Mapping[str, str], listener: Listener | None = None
    ) -> HttpResult:
        """Send a request body; returns within the model's timeout. `listener` receives the text of a stream."""
        streamed = listener if body.get("stream") else None
        started = time.monotonic()
        parts = bytearray()
        try:
            async with asyncio.timeout(self._timeout):
                result = await self._heard(body, headers, parts, streamed)
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException):
            result = HttpResult(fault="timeout", detail=f"no answer within {self._timeout:g} s")
        except openai.APIStatusError as error:
            result = _status(error)
        except _BodyTooLarge as large:
            fault = fault_of(large.status) if large.status >= 400 else "too_large"
            result = HttpResult(fault=fault, status=large.status, detail=f"the answer has more than {BODY_BYTES} bytes")
        except (openai.APIError, httpx2.HTTPError, OSError) as error:
            result = HttpResult(fault="connection", detail=f"the connection broke: {_cause(error)}")
        known = self._without_key(result.body or bytes(parts))
        return msgspec.structs.replace(result, body=known, latency_ms=int((time.monotonic() - started) * 1000))

    def _without_key(self, body: bytes) -> bytes:
        """Remove the key from an answer before it is stored, because servers may quote it."""
        return body.replace(self._key.encode(), b"[key]") if len(self._key) >= _KEY_CHARS else body

    async def _heard(
        self, body: Mapping[str, object], headers: Mapping[str, str], parts: bytearray, listener: Listener | None
    ) -> HttpResult:
        if listener is None:
            return await self._send(body, headers, parts, None)
        listener.begin()
        try:
            return await self._send(body, headers, parts, Speech(listener))
        finally:
            listener.end()

    async def _send(
        self, body: Mapping[str, Any], headers: Mapping[str, str], parts: bytearray, speech: Speech | None
    ) -> HttpResult:
        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        async with self._client.chat.completions.with_streaming_response.create(
            model=self._model,
            messages=body["messages"],
            extra_body=rest,
            extra_headers={**self._headers, **headers},
        ) as response:
            async for chunk in response.iter_bytes():
                parts += chunk
                if speech is not None:
                    speech.feed(chunk)
                if len(parts) > BODY_BYTES:  # the body exceeded the limit when it was decompressed
                    raise _BodyTooLarge(response.status_code)
            after = _retry_after_ms(response.headers)
            return HttpResult(status=response.status_code, body=bytes(parts), retry_after_ms=after)

    async def close(self) -> None:
        await self._client.close()


class _Unreachable(httpx2.AsyncBaseTransport):
    """The way to a server to which the environment names no usable proxy: every request fails and says why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ProxyError(self._reason, request=request)


def opened(entry: ModelEntry, key: str, hooks: Mapping[str, list[Any]] | None = None) -> openai.AsyncOpenAI:
    """A client for one model's server. Of the environment only proxies count, and only for a server elsewhere."""
    # organization and project would otherwise be read from the environment and sent to any server
    transport: httpx2.AsyncBaseTransport | None = None
    proxy = None
    try:
        proxy = proxy_for(entry.base_url)
    except UnusableProxy as error:
        transport = _Unreachable(str(error))
    return openai.AsyncOpenAI(
        api_key=key or "none",
        base_url=entry.base_url,
        max_retries=0,
        timeout=float(entry.timeout_s),
        default_headers={"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()},  # type: ignore[dict-item]  # the client takes Omit, its types do not say so
        http_client=openai.DefaultAsyncHttpxClient(
            event_hooks=hooks or {},
            verify=_verified(entry.base_url),
            transport=transport,
            proxy=proxy,
            trust_env=False,
        ),
    )


def authorized(key: str) -> dict[str, Any]:
    """Sends no authorization if there is no key."""
    return {} if key else {"Authorization": openai.Omit()}


def _status(error: openai.APIStatusError) -> HttpResult:
    status = error.response.status_code
    return HttpResult(
        fault=fault_of(status),
        status=status,
        body=error.response.content,
        detail=f"the server answered {status}",
        retry_after_ms=_retry_after_ms(error.response.headers),
    )


def fault_of(status: int) -> AttemptOutcome:
    if status == 429:
        return "rate_limited"
    return "server_error" if status >= 500 else "rejected"


def _retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """Retry-After in seconds or as a date; other values are ignored. A proxy may pass on its provider's alone."""
    text = next((text for name in _RETRY_HEADERS if (text := headers.get(name, "").strip())), "")
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = (date - datetime.now(UTC)).total_seconds()
    return int(1000 * min(max(seconds, 0.0), RETRY_AFTER_SECONDS))


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}"[:200]
