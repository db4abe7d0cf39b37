"""The file of key-encryption keys, kept beside the database and never in it."""

import os
import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap
from playmolt_schemas.identifiers import rfc3339

from playmolt_core.ops.telemetry import log
from playmolt_core.vault.stream_key import KEY_BYTES, UnsealFailed, from_text, to_text


class InvalidKeyFile(ValueError):
    """The file is missing or holds no valid keys. The message names it and the remedy."""


class KeyEncryptionKey(msgspec.Struct, frozen=True):
    """Wraps the keys of sessions (AES key wrap, RFC 3394)."""

    id: str
    key: str
    """32 bytes in base64url."""
    created_at: datetime

    def __post_init__(self) -> None:
        if len(from_text(self.key)) != KEY_BYTES:
            raise ValueError(f"the key {self.id} does not have {KEY_BYTES} bytes")
        if self.created_at.tzinfo is None:
            raise ValueError(f"created_at of the key {self.id} has no offset from UTC")

    def wrap(self, secret: bytes) -> bytes:
        return aes_key_wrap(from_text(self.key), secret)

    def unwrap(self, wrapped: bytes) -> bytes:
        """Raises UnsealFailed."""
        try:
            return aes_key_unwrap(from_text(self.key), wrapped)
        except InvalidUnwrap as error:
            raise UnsealFailed(f"a session's key was not wrapped by the key {self.id} of the file") from error


_log = log("vault")
_read = msgspec.json.Decoder(list[KeyEncryptionKey]).decode


def drawn(now: datetime) -> KeyEncryptionKey:
    """A new key, with the day in its id."""
    name = f"k{now:%Y%m%d}-{secrets.token_hex(4)}"
    return KeyEncryptionKey(name, to_text(secrets.token_bytes(KEY_BYTES)), now)


def read_keys(path: Path) -> Sequence[KeyEncryptionKey]:
    """The keys of a file, newest first. Raises InvalidKeyFile."""
    try:
        keys = _read(path.read_bytes())
    except OSError as error:
        raise InvalidKeyFile(
            f"cannot read {path} ({error.strerror}): PLAYMOLT_SEAL_KEYS must name a readable file"
        ) from error
    except ValueError as error:
        raise InvalidKeyFile(f'{path} is not [{{"id", "key", "created_at"}}]: {error}') from error
    if not keys or len({key.id for key in keys}) < len(keys):
        raise InvalidKeyFile(f"{path} holds no key, or two with the same id: run `playmolt seal add` to add one")
    return sorted(keys, key=lambda key: key.created_at, reverse=True)


def write_keys(path: Path, keys: Iterable[KeyEncryptionKey]) -> None:
    """Replace the file atomically, readable by its owner only; with its folder locked if it may exist.

    Without the lock, a key of another change could be lost, and each session under it.
    """
    ordered = sorted(keys, key=lambda key: key.created_at)
    written = [{"id": key.id, "key": key.key, "created_at": rfc3339(key.created_at)} for key in ordered]
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(written), indent=1) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


class KeyFile:
    """The keys of the file. It is read again when it has changed and when a key is not found."""

    def __init__(self, path: Path) -> None:
        """Raises InvalidKeyFile."""
        self._path = path
        self._mark = self._stat()
        self._keys = read_keys(path)

    def _stat(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ino, found.st_size

    def newest(self) -> KeyEncryptionKey:
        """The key that wraps new sessions."""
        mark = self._stat()
        if mark != self._mark and self._read():
            self._mark = mark
        return self._keys[0]

    def age_seconds(self) -> float:
        """The age of the newest key."""
        return (datetime.now(UTC) - self.newest().created_at).total_seconds()

    def find(self, name: str) -> KeyEncryptionKey | None:
        """A key by its id; None if the file lacks it."""
        return self._known(name) or (self._known(name) if self._read() else None)

    def _known(self, name: str) -> KeyEncryptionKey | None:
        return next((key for key in self._keys if key.id == name), None)

    def _read(self) -> bool:
        """Read the file again; if it became invalid, keep the known keys and return False."""
        try:
            self._keys = read_keys(self._path)
        except InvalidKeyFile as error:
            _log.error("seal_keys_unreadable", detail=str(error))
            return False
        return True
