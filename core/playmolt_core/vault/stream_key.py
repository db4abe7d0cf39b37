"""The key of a session, and sealing and hashing under keys derived from it (docs/event-log.md)."""

import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from playmolt_core.game.fold import state_hash, state_json

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_SHORT_DIGITS: Final = 32
_FORM: Final = "v1."
_NO_SALT: Final = bytes(32)


class UnsealFailed(ValueError):
    """The text is not sealed, or sealed under another key or for another place."""


class Sealed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Stored in place of a record's data."""

    sealed: str


_read_sealed = msgspec.json.Decoder(Sealed).decode


def to_text(raw: bytes) -> str:
    """Base64url without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_text(text: str) -> bytes:
    """Decode base64url, with or without padding. Raises ValueError."""
    return urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))


def sealed_text(data: bytes) -> str | None:
    """The sealed text in stored data; None if the data is not sealed."""
    if not data.startswith(b'{"sealed":"'):
        return None
    try:
        return _read_sealed(data).sealed
    except msgspec.MsgspecError:
        return None


def open_record(key: bytes, place: str, text: str) -> bytes:
    """Open a record's text with the record's own key; `place` comes from `record_place`. Raises UnsealFailed."""
    if not text.startswith(_FORM):
        raise UnsealFailed(f"{place} is sealed in an unknown form")
    try:
        raw = from_text(text.removeprefix(_FORM))
        return AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], place.encode())
    except (InvalidTag, ValueError) as error:
        raise UnsealFailed(f"{place} is not sealed under this key") from error


def record_place(stream: str, version: int, kind: str, schema_version: int) -> str:
    """The associated data of a record's sealed data."""
    return f"{stream}|{version}|{kind}|{schema_version}"


class StreamKey:
    """Seals and opens the data of one session."""

    __slots__ = ("_root", "secret", "stream")

    def __init__(self, stream: str, secret: bytes) -> None:
        self.stream = stream
        self.secret = secret
        self._root = hmac.digest(_NO_SALT, secret, "sha256")

    def derived(self, info: str) -> bytes:
        """HKDF-SHA-256 without salt, 32 bytes: the first block of its second step."""
        return hmac.digest(self._root, f"{self.stream}|{info}".encode() + b"\x01", "sha256")

    def record_key(self, version: int) -> bytes:
        return self.derived(str(version))

    def seal_record(self, version: int, kind: str, schema_version: int, data: bytes) -> bytes:
        """Seal a record's data for storage."""
        text = _seal(self.record_key(version), record_place(self.stream, version, kind, schema_version), data)
        return b'{"sealed":"%b"}' % text.encode()

    def open_record(self, version: int, kind: str, schema_version: int, data: bytes) -> bytes:
        """Raises UnsealFailed."""
        place, text = record_place(self.stream, version, kind, schema_version), sealed_text(data)
        if text is None:
            raise UnsealFailed(f"{place} is not sealed")
        return open_record(self.record_key(version), place, text)

    def seal_text(self, name: str, text: bytes) -> bytes:
        """Seal a text beside the log (`outcome|ID`, `blob|HASH`) in the same form."""
        return b'{"sealed":"%b"}' % _seal(self.derived(name), f"{self.stream}|{name}", text).encode()

    def open_text(self, name: str, stored: bytes) -> bytes:
        """Raises UnsealFailed."""
        place, text = f"{self.stream}|{name}", sealed_text(stored)
        if text is None:
            raise UnsealFailed(f"{place} is not sealed")
        return open_record(self.derived(name), place, text)

    def hash_of(self, purpose: str, value: bytes) -> str:
        """A keyed hash that confirms no guess: hex HMAC-SHA-256 for `state`, `request` and `blob`."""
        return hmac.digest(self.derived(purpose), value, "sha256").hex()


def hash_of_state(state: object, key: StreamKey | None) -> str:
    """The state hash of a record: keyed for a sealed stream, so that it confirms no guess."""
    return state_hash(state) if key is None else key.hash_of("state", state_json(state))


def fingerprint_under(key: StreamKey | None, fingerprint: str) -> str:
    """A request's fingerprint as stored; "" stays ""."""
    return fingerprint if key is None or not fingerprint else key.hash_of("request", fingerprint.encode())


def short_fingerprint(key: StreamKey | None, fingerprint: str) -> str:
    """A request's fingerprint in a record: 128 bits of it."""
    return fingerprint_under(key, fingerprint)[:_SHORT_DIGITS]


def _seal(key: bytes, place: str, text: bytes) -> str:
    nonce = os.urandom(_NONCE_BYTES)
    return _FORM + to_text(nonce + AESGCM(key).encrypt(nonce, text, place.encode()))
