"""Request bodies: bounded in size, time and cost, parsed as JSON."""

import asyncio
import codecs
import json
import re
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from typing import Any, Final

import msgspec
from playmolt_core.ops.http_protocol import MESSAGE_BYTES
from playmolt_core.ops.json_values import decode_whole, whole
from playmolt_schemas.codes import Code
from playmolt_schemas.limits import BODY_BYTES, BODY_VALUES, EXPONENT_DIGITS, NUMBER_CHARS
from starlette.types import Receive

from playmolt_gateway.http.problems import HttpProblem, bad_request

BODY_SECONDS: Final = 30
_SWEEP_SECONDS: Final = 1.0
NESTED: Final = 100
"""Maximum nesting of arrays and objects, safe for recursive code."""

_TOO_DEEP: Final = bad_request(f"The body is nested too deeply. Use at most {NESTED} levels.")
_TOO_MANY: Final = bad_request(f"The body has too many values. Send at most {BODY_VALUES}, counting all levels.")
_TOO_LONG: Final = bad_request(
    f"The body has a number that is too long. Use at most {NUMBER_CHARS} digits and {EXPONENT_DIGITS} exponent digits."
)
SMALL_BYTES: Final = 512
"""A body up to this length is cheap to decode whatever its content."""
_TEXTS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""The strings of a body. An unterminated one extends to the end of the body; otherwise matching would be quadratic."""
_SHAPES: Final = bytes.maketrans(b"123456789.E", b"0000000000e")
"""Maps the characters of all numbers to three, and `_SIGNS` are removed, so that a search finds long numbers."""
_SIGNS: Final = b"+-"
_LONG: Final = b"0" * (NUMBER_CHARS + 1)
_LARGE: Final = b"e" + b"0" * (EXPONENT_DIGITS + 1)
_EMPTY: Final = bad_request("The body is empty. Send a JSON object; see /openapi.json.")
CUT_SHORT: Final = bad_request("The connection ended before the body was complete. Retry.")


def too_large(length: int | None, most: int = BODY_BYTES) -> HttpProblem:
    """Refuse a body. The connection is closed if the rest is too long, or of unknown length, to be read and dropped."""
    return HttpProblem(
        Code.BODY_TOO_LARGE,
        f"The body is too large. Send at most {most} bytes.",
        close=length is None or length > MESSAGE_BYTES,
    )


def _encoded(length: int | None) -> HttpProblem:
    return HttpProblem(
        Code.UNSUPPORTED_ENCODING,
        "Content-Encoding is not supported. Send the body uncompressed.",
        close=length is None or length > MESSAGE_BYTES,
    )


def length_of(header: bytes | None) -> int | None:
    """The value of a Content-Length header; None when it is missing or invalid."""
    return int(header) if header is not None and header.isdigit() and len(header) < 19 else None


_STOPPING: Final = HttpProblem(
    Code.UNAVAILABLE, "The server is stopping and the body was incomplete. Retry.", close=True
)
_MARK: Final = codecs.BOM_UTF8

GiveUp = Callable[[HttpProblem], object]
"""Answers a request without waiting any longer for its body."""


def without_bom(body: bytes) -> bytes:
    """A body without its byte order mark."""
    return body.removeprefix(_MARK)


class BodyDeadlines:
    """Times out bodies that do not arrive. One timer serves all: one per body adds a tenth to an action's cost."""

    def __init__(self, seconds: float = BODY_SECONDS, sweep: float = _SWEEP_SECONDS) -> None:
        self.seconds = seconds
        self.sweep = sweep
        self._awaited: dict[object, tuple[float, GiveUp]] = {}
        self._closed = False
        self._timer: TimerHandle | None = None

    def expect(self, body: object, give_up: GiveUp) -> None:
        """Call `give_up` unless `arrived` is called within `seconds` and before the gateway stops."""
        loop = asyncio.get_running_loop()
        if self._closed:
            loop.call_soon(self._give_up_at_close, body)
        self._awaited.setdefault(body, (loop.time(), give_up))
        if self._timer is None:
            self._timer = loop.call_later(self.sweep, self._sweep, loop)

    def arrived(self, body: object) -> None:
        self._awaited.pop(body, None)

    def __len__(self) -> int:
        return len(self._awaited)

    def close(self) -> None:
        """Time out all bodies, now and later: the gateway is stopping."""
        self._closed = True
        for body in tuple(self._awaited):
            self._give_up_at_close(body)

    def _give_up_at_close(self, body: object) -> None:
        if body in self._awaited:
            _, give_up = self._awaited.pop(body)
            give_up(_STOPPING)

    def _sweep(self, loop: AbstractEventLoop) -> None:
        oldest = loop.time() - self.seconds
        for body, (since, give_up) in tuple(self._awaited.items()):
            if since < oldest:
                del self._awaited[body]
                give_up(bad_request(f"The body did not arrive within {self.seconds} seconds. Retry."))
        self._timer = loop.call_later(self.sweep, self._sweep, loop) if self._awaited else None


class BodyReader:
    """Reads bodies of ASGI requests within the time of `BodyDeadlines`."""

    def __init__(self) -> None:
        self.deadlines = BodyDeadlines()

    async def read(
        self,
        receive: Receive,
        content_length: bytes | None,
        content_encoding: bytes | None = None,
        most: int = BODY_BYTES,
    ) -> bytes | HttpProblem:
        """Read a body of at most `most` bytes. Larger or encoded ones are refused without reading the rest."""
        length = length_of(content_length)
        if length is not None and length > most:
            return too_large(length, most)
        if (content_encoding or b"identity").lower() != b"identity":
            return _encoded(length)
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("read() must run in a task")
        given_up: HttpProblem | None = None

        def give_up(why: HttpProblem) -> None:
            nonlocal given_up
            given_up = why
            task.cancel()

        self.deadlines.expect(task, give_up)
        try:
            body = await _collect(receive, length, most)
            return body if isinstance(body, HttpProblem) else without_bom(body)
        except asyncio.CancelledError:
            if given_up is None:
                raise
            task.uncancel()
            return given_up
        finally:
            self.deadlines.arrived(task)


async def _collect(receive: Receive, length: int | None, most: int) -> bytes | HttpProblem:
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        parts = bytearray(body)  # many small parts of a long body: each copies itself alone
        while message.get("more_body") and len(parts) <= most:
            message = await receive()
            parts += message.get("body", b"")
        body = bytes(parts)
    if message["type"] == "http.disconnect":
        return CUT_SHORT
    return too_large(length, most) if len(body) > most else body


def parse(body: bytes) -> Any | HttpProblem:
    """Parse JSON, with integers for numbers such as 3.0.

    Lone surrogates pass: they are valid JSON, and field checks refuse them by name.
    """
    if not body:
        return _EMPTY
    if len(body) > SMALL_BYTES and (refusal := costly(body)):
        return refusal
    value = _parse(body)
    if body.count(b"[") + body.count(b"{") > NESTED and _nested(value) > NESTED:
        return _TOO_DEEP
    return value


def costly(body: bytes) -> HttpProblem | None:
    """Refuse a body that is expensive to decode for its length, here or in later services."""
    fault = _fault_of_numbers(body)
    # What looks like a fault may be part of a string.
    return _fault_of_numbers(_TEXTS.sub(b"", body)) if fault else None


def _fault_of_numbers(text: bytes) -> HttpProblem | None:
    if text.count(b",") + text.count(b"[") + text.count(b"{") > BODY_VALUES:
        return _TOO_MANY
    shape = text.translate(_SHAPES, _SIGNS)
    return _TOO_LONG if _LONG in shape or _LARGE in shape else None


def _nested(value: object) -> int:
    """The nesting depth of a value, computed without recursion."""
    depth, level = 0, [value]
    while level:
        inner = [item for item in level if isinstance(item, (dict, list))]
        level = [part for item in inner for part in (item.values() if isinstance(item, dict) else item)]
        depth += bool(inner)
    return depth


def _parse(body: bytes) -> Any | HttpProblem:
    try:
        return decode_whole(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _parse_slowly(body)
    except RecursionError:
        return _TOO_DEEP


def _parse_slowly(body: bytes) -> Any | HttpProblem:
    """Parse what the fast decoder refuses, with our own error messages."""
    try:
        return json.loads(body.decode(), parse_constant=_no_constant, parse_float=_whole)
    except RecursionError:
        return _TOO_DEEP
    except UnicodeDecodeError as error:
        return bad_request(f"The body is not UTF-8: byte {error.start + 1} is 0x{body[error.start]:02X}. Send UTF-8.")
    except json.JSONDecodeError as error:
        return bad_request(
            f"The body is not valid JSON at line {error.lineno}, column {error.colno}. Send one JSON value."
        )
    except _NonFiniteNumber as error:
        return bad_request(f"The body is not valid JSON: {error} is not a finite number. Send a finite number.")


class _NonFiniteNumber(ValueError):
    """NaN, Infinity or a number out of range; the message is its beginning."""


def _no_constant(name: str) -> None:
    raise _NonFiniteNumber(name)


def _whole(text: str) -> float | int:
    try:
        return whole(text)
    except ValueError:
        raise _NonFiniteNumber(text[:NUMBER_CHARS]) from None
