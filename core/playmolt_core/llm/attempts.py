"""An attempt as a record of the log holds it."""

import hashlib
from typing import Any, Final

import msgspec
from playmolt_schemas.limits import RECORD_BYTES

from playmolt_core.llm.port import Attempt

REST_BYTES: Final = 16 * 1024
"""What a record holds beside the attempt: the names of the turn, and metadata."""
SHORT_BYTES: Final = 1024
"""A message up to this long stays as it is even where the whole is too long."""


def recorded(attempt: Attempt) -> dict[str, Any]:
    """An attempt as it is stored: whole, or with digests of its long messages where no record could hold it.

    A game whose request is a pure function of its state makes the same messages again from its log; the digests prove
    that they are the same.
    """
    told: dict[str, Any] = msgspec.to_builtins(attempt)
    if len(msgspec.json.encode(told)) > RECORD_BYTES - REST_BYTES:
        told["request"]["messages"] = [_digested(message) for message in told["request"]["messages"]]
    return told


def _digested(message: dict[str, Any]) -> dict[str, Any]:
    content = str(message["content"]).encode()
    if len(content) <= SHORT_BYTES:
        return message
    rest = {name: value for name, value in message.items() if name != "content"}
    return rest | {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
