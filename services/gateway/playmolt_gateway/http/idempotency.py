"""Which command a request is: the same Idempotency-Key of the same caller on the same path is the same command."""

import hashlib
import re
import secrets
from typing import Any, Final

import msgspec
from playmolt_core.ops.json_values import whole_numbers
from playmolt_schemas.canonical import digest
from playmolt_schemas.limits import IDEMPOTENCY_KEY_CHARS

from playmolt_gateway.http.problems import Refusal, bad_request

_VALID: Final = re.compile(rb"[\x21-\x7e]{1,%d}" % IDEMPOTENCY_KEY_CHARS)
# Every number that Python reads as a float has one of these behind a digit; that text may hold them too costs a look.
_FRACTION: Final = re.compile(rb"[0-9][.eE]")


class CommandId(msgspec.Struct, frozen=True):
    """`id` is 32 hex digits; `fingerprint` is "" for a request that nobody can repeat."""

    id: str
    fingerprint: str


def fingerprint(body: bytes, value: Any) -> str:
    """The digest by which two bodies are the same. Text that UTF-8 cannot carry is told apart by its bytes."""
    try:
        return digest(whole_numbers(value) if _FRACTION.search(body) else value)
    except UnicodeEncodeError:
        return hashlib.sha256(body).hexdigest()


def command_id(caller: str, method_and_path: str, key: bytes | None, body: bytes, value: Any) -> CommandId | Refusal:
    """Derive the command's id from the key, or draw one when no key was sent. A malformed key is refused."""
    if key is None:
        return CommandId(secrets.token_hex(16), "")
    if not _VALID.fullmatch(key):
        return bad_request(
            f"Idempotency-Key must be 1 to {IDEMPOTENCY_KEY_CHARS} visible ASCII characters and be sent once."
        )
    scope = b"\x00".join((caller.encode(), method_and_path.encode(), key))
    return CommandId(hashlib.sha256(scope).hexdigest()[:32], fingerprint(body, value))
