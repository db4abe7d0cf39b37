"""WebSocket text frames and server-sent events, built once for all watchers."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from playmolt_schemas.text import escape_line_ends

_TEXT = 0x81  # FIN and opcode 1
_PING = b"\x89\x00"  # FIN and opcode 9, empty


class Message(NamedTuple):
    """A public message, byte for byte as stored, and its version."""

    version: int
    raw: bytes


@dataclass(frozen=True, eq=False)
class Dialect:
    """The wire format of one transport."""

    name: str
    message: Callable[[Message], bytes]
    heartbeat: Callable[[int], bytes]
    notice: Callable[[bytes], bytes]
    """A message outside the order of the feed."""


def text_frame(payload: bytes) -> bytes:
    """A server's text frame: unfragmented, unmasked, uncompressed (RFC 6455, 5.2)."""
    size = len(payload)
    if size < 126:
        return struct.pack("!BB", _TEXT, size) + payload
    if size < 65536:
        return struct.pack("!BBH", _TEXT, 126, size) + payload
    return struct.pack("!BBQ", _TEXT, 127, size) + payload


WEBSOCKET = Dialect(
    "websocket",
    lambda message: text_frame(escape_line_ends(message.raw)),
    lambda version: text_frame(b'{"type":"heartbeat","version":%d}' % version) + _PING,
    text_frame,
)
EVENTS = Dialect(
    "sse",
    lambda message: b"id: %d\ndata: %b\n\n" % (message.version, escape_line_ends(message.raw)),
    lambda version: b": heartbeat %d\n\n" % version,
    lambda raw: b"event: moderated\ndata: %b\n\n" % raw,
)
LOBBY_EVENTS = Dialect(
    "sse", lambda message: b"data: %b\n\n" % escape_line_ends(message.raw), EVENTS.heartbeat, EVENTS.notice
)
"""Lobby messages have no version, so the events have no id and cannot be resumed."""
