"""The stored form of attempts."""

import hashlib
from typing import Any, Final, NamedTuple

import msgspec
from playmolt_schemas.identifiers import is_sealed_type
from playmolt_schemas.limits import RECORD_BYTES

from playmolt_core.llm.port import Attempt, session_of

REST_BYTES: Final = 16 * 1024
"""The space in a record for other data: the names of the turn, and metadata."""
SHORT_BYTES: Final = 1024
"""Messages up to this length are stored whole, even if the attempt is too long."""
RAW_BYTES: Final = 64 * 1024
"""The longest answer body that is stored inside a record."""


class RecordedAttempt(NamedTuple):
    """The stored form of an attempt, and the body to store separately under its hash."""

    fields: dict[str, Any]
    separate_text: str | None


def recorded(attempt: Attempt) -> RecordedAttempt:
    """The stored form of an attempt: whole, or with digests of long texts if it would not fit into a record.

    If a game's request is a pure function of its state, the messages can be computed again from the log, and the
    digests prove that they are equal. A long body is stored as `raw: SHA-256` with its length `raw_bytes`.
    """
    fields: dict[str, Any] = msgspec.to_builtins(attempt)
    room = _room(attempt)
    raw = attempt.raw.encode()
    fields["raw_bytes"] = len(raw)
    apart = len(raw) > RAW_BYTES
    if apart:
        fields["raw"] = hashlib.sha256(raw).hexdigest()
    if _size(fields) > room:
        fields["request"]["messages"] = [_digested(message) for message in fields["request"]["messages"]]
    if _size(fields) > room and not apart:  # JSON escapes make it longer
        apart, fields["raw"] = True, hashlib.sha256(raw).hexdigest()
    if _size(fields) > room:
        fields["reasoning"] = None  # the body contains it
    return RecordedAttempt(fields, attempt.raw if apart else None)


def _size(fields: dict[str, object]) -> int:
    return len(msgspec.json.encode(fields))


def _room(attempt: Attempt) -> int:
    """The space in a record of the attempt's stream; sealing stores four bytes for three."""
    session = session_of(attempt)
    return (RECORD_BYTES * 3 // 4 if is_sealed_type(session) else RECORD_BYTES) - REST_BYTES


def _digested(message: dict[str, object]) -> dict[str, object]:
    content = str(message["content"]).encode()
    if len(content) <= SHORT_BYTES:
        return message
    rest = {name: value for name, value in message.items() if name != "content"}
    return rest | {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
