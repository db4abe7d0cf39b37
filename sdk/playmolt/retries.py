"""Retry policy of requests."""

import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Generic, NoReturn, TypeVar

import httpx
import msgspec
from playmolt_schemas.codes import Code, Problem, problem

from playmolt.calls import Request
from playmolt.errors import UNAVAILABLE, RateLimited, Refused, Unavailable, UnexpectedAnswer, Unreachable

T = TypeVar("T")
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_jitter = random.SystemRandom()


class Retry(msgspec.Struct, frozen=True):
    """Retry limits: `attempts` within `seconds`, with pauses that double from `base` up to `cap` seconds.

    The default time covers a database failover; the number of attempts limits requests that fail at once.
    """

    attempts: int = 30
    seconds: float = 60.0
    base: float = 0.2
    cap: float = 5.0

    def pause(self, failures: int, at_least: float = 0.0) -> float:
        """Seconds to wait after that many failures, with jitter so that many bots do not retry at once."""
        backoff = min(self.cap, self.base * 2.0 ** (failures - 1)) * _jitter.uniform(0.5, 1.0)
        return max(backoff, at_least + _jitter.uniform(0.0, self.base)) if at_least else backoff


FIRST_CONTACT = Retry(attempts=5, seconds=1.2, cap=0.4)
"""Under five seconds in total: a server that has never answered may be starting, but usually the URL is wrong."""


class RetryAfter(msgspec.Struct, frozen=True):
    """Send the same request again after `pause` seconds."""

    pause: float


class RetryState(Generic[T]):
    """Retry state of one request: from each attempt's outcome to the answer, a pause, or an exception."""

    def __init__(
        self, request: Request[T], retry: Retry, clock: Callable[[], float] = time.monotonic, *, server: str = ""
    ) -> None:
        self._request = request
        self._server = server
        self._what = f"{request} at {server}" if server else str(request)
        self._retry = retry
        self._clock = clock
        self._until = clock() + retry.seconds + (0.0 if retry is FIRST_CONTACT else request.wait)
        self._failures = 0

    def failed(self, error: httpx.RequestError) -> float:
        """The pause after an attempt without an answer; raises Unavailable when no retry is left."""
        if not isinstance(error, httpx.TransportError):
            raise UnexpectedAnswer(f"{self._what}: {error!r}") from error
        what = f"{self._what}: {error!r}"
        if not (self._request.repeatable or isinstance(error, _NEVER_SENT)):
            raise Unavailable(f"{what}; it may have been applied and cannot be retried safely") from error
        if self._retry is FIRST_CONTACT and isinstance(error, _NEVER_SENT):
            return self._again(Unreachable(f"{self._server} cannot be reached: {error}"), 0.0).pause
        return self._again(Unavailable(what), 0.0).pause

    def answered(self, status: int, headers: Mapping[str, str], body: bytes) -> T | RetryAfter:
        """Decode an answer, or return the pause before a retry; raises Refused, Unavailable or UnexpectedAnswer."""
        if status < 300:
            return self._read(status, body)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return self._slower(headers, body)
        if status in UNAVAILABLE:
            reason = Unavailable(f"{self._what}: {status} {_reason(status, body)}")
            if status != Code.UNAVAILABLE.status and not self._request.repeatable:
                raise reason
            return self._again(reason, retry_after(headers))
        return raise_for(status, body, self._what)

    def _slower(self, headers: Mapping[str, str], body: bytes) -> RetryAfter:
        """Handle a 429; a proxy may send it without a problem document."""
        status = HTTPStatus.TOO_MANY_REQUESTS
        try:
            found = read_problem(status, body, self._what)
        except UnexpectedAnswer:
            found = problem(Code.RATE_LIMITED, f"{self._what}: {status} {status.phrase}")
        after = retry_after(headers, found.ratelimit.seconds if found.ratelimit else 0.0)
        return self._again(RateLimited(found, after), after)

    def _read(self, status: int, body: bytes) -> T:
        try:
            return self._request.read(status, body)
        except msgspec.MsgspecError as error:
            raise UnexpectedAnswer(f"{self._what}: {status} with {body[:200]!r}: {error}") from error

    def _again(self, reason: Refused | Unavailable, at_least: float) -> RetryAfter:
        self._failures += 1
        pause = self._retry.pause(self._failures, at_least)
        if self._failures >= self._retry.attempts or self._clock() + pause > self._until:
            raise reason
        return RetryAfter(pause)


def retry_after(headers: Mapping[str, str], default: float = 0.0) -> float:
    """Parse Retry-After (seconds or HTTP date); `default` if missing or invalid."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return default
    return max(0.0, (at.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def raise_for(status: int, body: bytes, what: str) -> NoReturn:
    """Raise the exception for an error status: Refused for a 4xx with a problem document, Unavailable for a 5xx."""
    if status >= 500:
        raise Unavailable(f"{what}: {status} {_reason(status, body)}")
    raise Refused(read_problem(status, body, what))


def read_problem(status: int, body: bytes, what: str) -> Problem:
    """Decode a problem document; raises UnexpectedAnswer for anything else."""
    try:
        return msgspec.json.decode(body, type=Problem)
    except msgspec.MsgspecError as error:
        raise UnexpectedAnswer(f"{what}: {status} without a problem document: {body[:200]!r}") from error


def _reason(status: int, body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=Problem).detail
    except msgspec.MsgspecError:
        return UNAVAILABLE.get(status, "server fault")
