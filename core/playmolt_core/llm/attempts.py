"""An attempt as a record of the log holds it."""

import hashlib
from typing import Any, Final, NamedTuple

import msgspec
from playmolt_schemas.identifiers import is_sealed_type
from playmolt_schemas.limits import RECORD_BYTES

from playmolt_core.llm.port import Attempt, session_of

REST_BYTES: Final = 16 * 1024
"""What a record holds beside the attempt: the names of the turn, and metadata."""
SHORT_BYTES: Final = 1024
"""A message up to this long stays as it is even where the whole is too long."""
RAW_BYTES: Final = 64 * 1024
"""The longest body of an answer that a record holds itself."""


class Recorded(NamedTuple):
    """An attempt as it is stored, and the body that has to be kept beside the log, under its hash."""

    fields: dict[str, Any]
    kept_apart: str | None


def recorded(attempt: Attempt) -> Recorded:
    """An attempt as it is stored: whole, or with digests of its long texts where no record could hold them.

    A game whose request is a pure function of its state makes the same messages again from its log; the digests prove
    that they are the same. A long body is `raw: SHA-256`, and `raw_bytes` says how long it is.
    """
    told: dict[str, Any] = msgspec.to_builtins(attempt)
    room = _room(attempt)
    raw = attempt.raw.encode()
    told["raw_bytes"] = len(raw)
    apart = len(raw) > RAW_BYTES
    if apart:
        told["raw"] = hashlib.sha256(raw).hexdigest()
    if _size(told) > room:
        told["request"]["messages"] = [_digested(message) for message in told["request"]["messages"]]
    if _size(told) > room and not apart:  # what is escaped in JSON grows
        apart, told["raw"] = True, hashlib.sha256(raw).hexdigest()
    if _size(told) > room:
        told["reasoning"] = None  # it stands in the body
    return Recorded(told, attempt.raw if apart else None)


def _size(told: dict[str, Any]) -> int:
    return len(msgspec.json.encode(told))


def _room(attempt: Attempt) -> int:
    """What a record of the stream that asks can hold of it: sealed, four bytes are stored for three."""
    session = session_of(attempt)
    return (RECORD_BYTES * 3 // 4 if is_sealed_type(session) else RECORD_BYTES) - REST_BYTES


def _digested(message: dict[str, Any]) -> dict[str, Any]:
    content = str(message["content"]).encode()
    if len(content) <= SHORT_BYTES:
        return message
    rest = {name: value for name, value in message.items() if name != "content"}
    return rest | {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
