"""Texts of servers as they can be stored."""

import json
import re

from playmolt_schemas.canonical import canonical_json

from playmolt_core.llm.port import REPLY_BYTES

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str, limit: int | None = REPLY_BYTES) -> str:
    """The text as Postgres and UTF-8 can carry it, cut at so many bytes."""
    return _UNSTORABLE.sub("\ufffd", text).encode()[:limit].decode("utf-8", "ignore")


def json_text(value: object) -> str:
    """A value of a server's JSON as text; what canonical JSON has no place for is written as it came."""
    try:
        return canonical_json(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return json.dumps(value)
