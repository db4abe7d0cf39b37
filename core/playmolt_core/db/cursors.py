"""Cursors of pages: opaque to a client, who hands back what it was given."""

import base64
import binascii
from typing import TypeVar

import msgspec

T = TypeVar("T")
_MOST_CHARS = 1_000


class BadCursor(ValueError):
    """A cursor that no page handed out."""


def write_cursor(place: msgspec.Struct) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read_cursor(cursor: str, kind: type[T]) -> T:
    """Read a cursor back; raises BadCursor."""
    if len(cursor) > _MOST_CHARS:
        raise BadCursor("the cursor is too long: use next_cursor of the page before, unchanged")
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place = msgspec.json.decode(raw, type=kind)
    except (binascii.Error, ValueError) as error:
        raise BadCursor("this is no cursor: use next_cursor of the page before, unchanged") from error
    if b"\\u0000" in raw:  # which no text in Postgres holds
        raise BadCursor("this is no cursor: use next_cursor of the page before, unchanged")
    return place
