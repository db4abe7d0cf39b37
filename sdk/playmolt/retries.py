"""When a request is sent again, and when it is given up."""

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
    """How long to try: `attempts` sendings within `seconds`, pauses doubling from `base` up to `cap` seconds.

    By default as long as a database needs to come back after a crash; the number only ends what fails at once.
    """

    attempts: int = 30
    seconds: float = 60.0
    base: float = 0.2
    cap: float = 5.0

    def pause(self, failures: int, at_least: float = 0.0) -> float:
        """The seconds to wait after that many failures; jitter keeps many bots from coming back at once."""
        backoff = min(self.cap, self.base * 2.0 ** (failures - 1)) * _jitter.uniform(0.5, 1.0)
        return max(backoff, at_least + _jitter.uniform(0.0, self.base)) if at_least else backoff


FIRST_CONTACT = Retry(attempts=5, seconds=1.2, cap=0.4)
"""With the last connecting less than five seconds: a server that has never answered may be starting, but more often its
URL is wrong."""


class RetryAfter(msgspec.Struct, frozen=True):
    """Send the same request again after so many seconds."""

    pause: float


class RetryState(Generic[T]):
    """The life of one request: told what each sending led to, it gives the answer, a pause, or raises."""

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
        """The pause after a sending that got no answer; raises Unavailable when there is to be no other."""
        if not isinstance(error, httpx.TransportError):
            raise UnexpectedAnswer(f"{self._what}: {error!r}") from error
        what = f"{self._what}: {error!r}"
        if not (self._request.repeatable or isinstance(error, _NEVER_SENT)):
            raise Unavailable(f"{what}; it may have been applied, and is not safe to send twice") from error
        if self._retry is FIRST_CONTACT and isinstance(error, _NEVER_SENT):
            return self._again(Unreachable(f"{self._server} cannot be reached: {error}"), 0.0).pause
        return self._again(Unavailable(what), 0.0).pause

    def answered(self, status: int, headers: Mapping[str, str], body: bytes) -> T | RetryAfter:
        """Read an answer, or say when to send again; raises Refused, Unavailable or UnexpectedAnswer."""
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
        """Heed a 429. What stands in front of the platform says it without a problem document."""
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
    """Read Retry-After: seconds, or an HTTP date; `default` when there is none that makes sense."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return default
    return max(0.0, (at.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def raise_for(status: int, body: bytes, what: str) -> NoReturn:
    """Raise what an error status means: Refused for a 4xx with a problem document, Unavailable for a 5xx."""
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
