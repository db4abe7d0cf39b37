"""Page cursors. They are opaque to clients, which return them unchanged."""

import base64
import binascii
from typing import TypeVar

import msgspec

T = TypeVar("T")
_MOST_CHARS = 1_000


class BadCursor(ValueError):
    """The cursor was not issued by any page."""


def write_cursor(place: msgspec.Struct) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read_cursor(cursor: str, kind: type[T]) -> T:
    """Read a cursor back; raises BadCursor."""
    if len(cursor) > _MOST_CHARS:
        raise BadCursor("is too long; use next_cursor of the previous page, unchanged")
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place = msgspec.json.decode(raw, type=kind)
    except (binascii.Error, ValueError) as error:
        raise BadCursor("is invalid; use next_cursor of the previous page, unchanged") from error
    if b"\\u0000" in raw:  # Postgres stores no such text
        raise BadCursor("is invalid; use next_cursor of the previous page, unchanged")
    return place
