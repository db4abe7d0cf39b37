"""A transport that fails on purpose: each fault once, with a record of the caller's retries."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import Enum

import httpx
from playmolt_schemas.codes import Code, RateLimit, problem_bytes

RETRY_AFTER_SECONDS = 1
CUT_AFTER_EVENTS = 5


class Fault(Enum):
    """A fault on an action; the value is the number of good actions before it."""

    UNAVAILABLE = 1
    RATE_LIMITED = 2
    LOST_ANSWER = 3
    ALREADY_SUBMITTED = 4


@dataclass
class Incident:
    """A fault that occurred: the action's key, the time, and the statuses of its retries."""

    key: str
    at: float
    repeated_after: float | None = None
    statuses: list[int] = field(default_factory=list)


class FaultyTransport(httpx.AsyncBaseTransport):
    """Passes requests on, except for one fault of each kind on actions and one cut stream."""

    def __init__(self, inner: httpx.AsyncBaseTransport, *, retry_after: int = RETRY_AFTER_SECONDS) -> None:
        self.incidents: dict[Fault, Incident] = {}
        self.cuts = 0
        self._inner = inner
        self._retry_after = retry_after
        self._keys: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/actions"):
            return await self._action(request)
        response = await self._inner.handle_async_request(request)
        if request.url.path.endswith("/stream") and response.status_code == 200 and not self.cuts:
            self.cuts += 1
            return httpx.Response(200, headers=response.headers, stream=_Cut(response))
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _action(self, request: httpx.Request) -> httpx.Response:
        key = request.headers.get("idempotency-key", "")
        known = next((one for one in self.incidents.values() if one.key == key), None)
        if known:
            known.repeated_after = known.repeated_after or time.monotonic() - known.at
            response = await self._inner.handle_async_request(request)
            known.statuses.append(response.status_code)
            return response
        if key not in self._keys:
            self._keys.append(key)
        fault = next((one for one in Fault if one.value < len(self._keys) and one not in self.incidents), None)
        return await (self._failed(fault, key, request) if fault else self._inner.handle_async_request(request))

    async def _failed(self, fault: Fault, key: str, request: httpx.Request) -> httpx.Response:
        passed = fault in (Fault.LOST_ANSWER, Fault.ALREADY_SUBMITTED)
        if passed:
            response = await self._inner.handle_async_request(request)
            if response.status_code != 200:
                return response
            await response.aclose()
        self.incidents[fault] = Incident(key, time.monotonic())
        if fault is Fault.LOST_ANSWER:
            raise httpx.ReadError("the connection broke before the answer came", request=request)
        return _problem(request, fault, self._retry_after)


def _problem(request: httpx.Request, fault: Fault, retry_after: int) -> httpx.Response:
    code, detail = _ANSWERS[fault]
    headers = {"Content-Type": "application/problem+json"}
    if fault is not Fault.ALREADY_SUBMITTED:
        headers["Retry-After"] = str(retry_after)
    limited = fault is Fault.RATE_LIMITED
    limit = RateLimit(key="conformance", limit=1, seconds=retry_after) if limited else None
    body = problem_bytes(code, detail, ratelimit=limit)
    return httpx.Response(code.status, headers=headers, content=body, request=request)


_ANSWERS = {
    Fault.UNAVAILABLE: (Code.UNAVAILABLE, "Conformance: try again in a second."),
    Fault.RATE_LIMITED: (Code.RATE_LIMITED, "Conformance: wait a second, then send again."),
    Fault.ALREADY_SUBMITTED: (Code.ALREADY_SUBMITTED, "Conformance: already submitted. Request your next turn."),
}


class _Cut(httpx.AsyncByteStream):
    """A stream that breaks after a few events."""

    def __init__(self, inner: httpx.Response) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = CUT_AFTER_EVENTS
        async for chunk in self._inner.aiter_raw():
            yield chunk
            left -= chunk.count(b"data:")
            if left <= 0:
                raise httpx.ReadError("the connection broke in the middle of the stream")

    async def aclose(self) -> None:
        await self._inner.aclose()
