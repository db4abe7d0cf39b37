"""Request bodies: bounded, JSON, and of the declared type."""

import asyncio
import codecs
import json
import re
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from typing import Any, Final

import msgspec
from playmolt_core.ops.http_protocol import MESSAGE_BYTES
from playmolt_schemas.codes import Code
from playmolt_schemas.limits import BODY_BYTES, BODY_VALUES, EXPONENT_DIGITS, NUMBER_CHARS
from starlette.types import Receive

from playmolt_gateway.http.problems import Refusal, bad_request

BODY_SECONDS: Final = 30
_SWEEP_SECONDS: Final = 1.0
NESTED: Final = 100
"""Arrays and objects inside each other: what every later step can walk through without running out of stack."""

_TOO_DEEP: Final = bad_request(f"The body is nested too deeply; {NESTED} levels are taken.")
_TOO_MANY: Final = bad_request(f"The body holds too many values; {BODY_VALUES} are taken, of all levels together.")
_TOO_LONG: Final = bad_request(
    f"The body holds a number that is too long; {NUMBER_CHARS} digits and {EXPONENT_DIGITS} of an exponent are taken."
)
SMALL_BYTES: Final = 512
"""A body up to this length cannot cost much, whatever it holds."""
_TEXTS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""The texts of a body. One without an end goes to the body's: else each quote in it would be tried as a beginning."""
_LONG_NUMBER: Final = re.compile(rb"(?<![\d.])[\d.]{%d}|[eE]\+?\d{%d}" % (NUMBER_CHARS + 1, EXPONENT_DIGITS + 1))
_EMPTY: Final = bad_request("The body is empty. Send a JSON object; /openapi.json describes what this call takes.")
CUT_SHORT: Final = bad_request("The connection ended before the body was complete. Send the request again.")
_decode = msgspec.json.Decoder().decode


def too_large(length: int | None, most: int = BODY_BYTES) -> Refusal:
    """A body beyond what a connection may send, or one that does not tell its length, ends the connection instead of
    being read to its end."""
    return Refusal(
        Code.BODY_TOO_LARGE,
        f"A body may have {most} bytes. Send a shorter one.",
        close=length is None or length > MESSAGE_BYTES,
    )


def _encoded(length: int | None) -> Refusal:
    return Refusal(
        Code.UNSUPPORTED_ENCODING,
        "A body is read as it is sent. Send it without Content-Encoding.",
        close=length is None or length > MESSAGE_BYTES,
    )


def overdue_body() -> Refusal:
    return bad_request(f"The body did not arrive within {BODY_SECONDS} seconds. Send the request again.")


def length_of(header: bytes | None) -> int | None:
    """The value of a Content-Length header; None when it says no length."""
    return int(header) if header is not None and header.isdigit() and len(header) < 19 else None


_STOPPING: Final = Refusal(
    Code.UNAVAILABLE, "This server stops, and the body was not whole. Send the request again.", close=True
)
_MARK: Final = codecs.BOM_UTF8

GiveUp = Callable[[Refusal], object]
"""What answers a request whose body does not come."""


def unmarked(body: bytes) -> bytes:
    """A body without its byte order mark."""
    return body.removeprefix(_MARK)


class Arrivals:
    """Gives up on bodies that do not arrive; one timer for all: one each is a tenth of what an action costs."""

    def __init__(self) -> None:
        self._awaited: dict[object, tuple[float, GiveUp]] = {}
        self._closed = False
        self._timer: TimerHandle | None = None

    def expect(self, body: object, give_up: GiveUp) -> None:
        """Call `give_up` once unless `arrived` is called within BODY_SECONDS and before the gateway stops."""
        loop = asyncio.get_running_loop()
        if self._closed:
            loop.call_soon(self._give_up_at_close, body)
        self._awaited.setdefault(body, (loop.time(), give_up))
        if self._timer is None:
            self._timer = loop.call_later(_SWEEP_SECONDS, self._sweep, loop)

    def arrived(self, body: object) -> None:
        self._awaited.pop(body, None)

    def __len__(self) -> int:
        return len(self._awaited)

    def close(self) -> None:
        """The gateway stops: a body that is not whole holds it no longer than an idle connection does."""
        self._closed = True
        for body in tuple(self._awaited):
            self._give_up_at_close(body)

    def _give_up_at_close(self, body: object) -> None:
        if body in self._awaited:
            _, give_up = self._awaited.pop(body)
            give_up(_STOPPING)

    def _sweep(self, loop: AbstractEventLoop) -> None:
        oldest = loop.time() - BODY_SECONDS
        for body, (since, give_up) in tuple(self._awaited.items()):
            if since < oldest:
                del self._awaited[body]
                give_up(overdue_body())
        self._timer = loop.call_later(_SWEEP_SECONDS, self._sweep, loop) if self._awaited else None


class Bodies:
    """Reads bodies of ASGI requests, each in bounded time."""

    def __init__(self) -> None:
        self.arrivals = Arrivals()

    async def read(
        self,
        receive: Receive,
        content_length: bytes | None,
        content_encoding: bytes | None = None,
        most: int = BODY_BYTES,
    ) -> bytes | Refusal:
        """Read a body of at most `most` bytes; a larger or an encoded one is refused without being read on."""
        length = length_of(content_length)
        if length is not None and length > most:
            return too_large(length, most)
        if (content_encoding or b"identity").lower() != b"identity":
            return _encoded(length)
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a body is read by a task")
        given_up: Refusal | None = None

        def give_up(why: Refusal) -> None:
            nonlocal given_up
            given_up = why
            task.cancel()

        self.arrivals.expect(task, give_up)
        try:
            body = await _collect(receive, length, most)
            return body if isinstance(body, Refusal) else unmarked(body)
        except asyncio.CancelledError:
            if given_up is None:
                raise
            task.uncancel()
            return given_up
        finally:
            self.arrivals.arrived(task)


async def _collect(receive: Receive, length: int | None, most: int) -> bytes | Refusal:
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        if len(body) > most:
            break
        message = await receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect":
        return CUT_SHORT
    return too_large(length, most) if len(body) > most else body


def parse(body: bytes) -> Any | Refusal:
    """Parse JSON. Lone surrogates pass: they are JSON, and it is the field's check that refuses them by name."""
    if not body:
        return _EMPTY
    if len(body) > SMALL_BYTES and (refusal := costly(body)):
        return refusal
    value = _parse(body)
    if body.count(b"[") + body.count(b"{") > NESTED and _nested(value) > NESTED:
        return _TOO_DEEP
    return value


def costly(body: bytes) -> Refusal | None:
    """Refuse what costs more to decode than its length says, here and at whoever decodes it after us."""
    bare = _TEXTS.sub(b"", body)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > BODY_VALUES:
        return _TOO_MANY
    return _TOO_LONG if _LONG_NUMBER.search(bare) else None


def _nested(value: Any) -> int:
    """Count the levels of a value, level by level: recursion is what deep values break."""
    depth, level = 0, [value]
    while level:
        inner = [item for item in level if isinstance(item, (dict, list))]
        level = [part for item in inner for part in (item.values() if isinstance(item, dict) else item)]
        depth += bool(inner)
    return depth


def _parse(body: bytes) -> Any | Refusal:
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _parse_slowly(body)
    except RecursionError:
        return _TOO_DEEP


def _parse_slowly(body: bytes) -> Any | Refusal:
    """Parse what the fast reader does not take; what is no JSON is told in words of our own.

    A longer body holds no exponent that leads out of range, and asking each of its floats would double its cost.
    """
    read = _finite if len(body) <= SMALL_BYTES else float
    try:
        return json.loads(body.decode(), parse_constant=_no_constant, parse_float=read)
    except RecursionError:
        return _TOO_DEEP
    except UnicodeDecodeError as error:
        return bad_request(
            f"The body is no UTF-8: its byte {error.start + 1} is 0x{body[error.start]:02X}. Send UTF-8."
        )
    except json.JSONDecodeError as error:
        return bad_request(
            f"The body is no JSON from line {error.lineno}, character {error.colno} on. Send one JSON text."
        )
    except _NoNumber as error:
        return bad_request(f"The body is no JSON: {error} is no number that can be told. Send a finite one.")


class _NoNumber(ValueError):
    """A word or a number that stands for no finite number; the message is its beginning."""


def _no_constant(name: str) -> None:
    raise _NoNumber(name)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _NoNumber(text[:NUMBER_CHARS])
    return number
