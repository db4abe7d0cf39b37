"""Unwrapped keys of sessions, from rows of the database and keys of the file; and the long texts they seal."""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from playmolt_schemas.identifiers import is_sealed_type

from playmolt_core.db.blobs import PgBlobs
from playmolt_core.vault.key_file import KeyFile
from playmolt_core.vault.rows import KeyRow
from playmolt_core.vault.stream_key import KEY_BYTES, StreamKey, UnsealFailed

_KEPT: Final = 10_000


class Erased(LookupError):
    """The session's key was destroyed: nothing sealed under it can be opened."""

    def __init__(self, stream: str, at: datetime | None) -> None:
        super().__init__(f"{stream} was erased")
        self.stream = stream
        self.at = at


class KeyRows(Protocol):
    """The part of `rows.PgKeyRows` that the vault uses."""

    async def read(self, streams: Iterable[str]) -> Sequence[KeyRow]: ...


class Vault:
    """Loads the keys of sessions and creates those of new ones."""

    def __init__(self, rows: KeyRows, file: KeyFile) -> None:
        self.rows = rows
        self.file = file
        self._kept: OrderedDict[str, StreamKey] = OrderedDict()

    def new(self, stream: str) -> StreamKey | None:
        """A key for a stream that has no records yet; None for a type that is not sealed."""
        if not is_sealed_type(stream):
            return None
        return StreamKey(stream, secrets.token_bytes(KEY_BYTES))

    def row(self, key: StreamKey, owner: str) -> KeyRow:
        """The row of a new key, to store together with the stream's first record. Raises InvalidKeyFile."""
        kek = self.file.newest()
        return KeyRow(stream=key.stream, owner=owner, kek=kek.id, wrapped=kek.wrap(key.secret))

    async def key(self, stream: str) -> StreamKey | None:
        """The key of a stored stream; None for a type that is not sealed.

        Raises Erased, LogUnavailable, and UnsealFailed when the vault has no key for it or the file lacks the key that
        wraps it.
        """
        if not is_sealed_type(stream):
            return None
        known = self._kept.get(stream)
        if known is not None:
            self._kept.move_to_end(stream)
            return known
        for row in await self.rows.read([stream]):
            return self._keep(row)
        raise UnsealFailed(f"{stream} has no key in the vault")

    async def keys(self, streams: Iterable[str]) -> Mapping[str, StreamKey | Erased | UnsealFailed]:
        """The keys of some streams, or why one is unavailable; streams of types that are not sealed are left out.

        Raises LogUnavailable, NotPermitted.
        """
        found: dict[str, StreamKey | Erased | UnsealFailed] = {}
        for row in await self.rows.read(filter(is_sealed_type, streams)):
            try:
                found[row.stream] = self.unwrapped(row)
            except (Erased, UnsealFailed) as reason:
                found[row.stream] = reason
        return found

    def forget(self, stream: str) -> None:
        """Drop a key from memory: its session was erased."""
        self._kept.pop(stream, None)

    def unwrapped(self, row: KeyRow) -> StreamKey:
        """Raises Erased and UnsealFailed."""
        if row.wrapped is None:
            raise Erased(row.stream, row.erased_at)
        kek = self.file.find(row.kek)
        if kek is None:
            raise UnsealFailed(
                f"{row.stream} is wrapped by the key {row.kek}, which is missing from the file of PLAYMOLT_SEAL_KEYS"
            )
        return StreamKey(row.stream, kek.unwrap(row.wrapped))

    def _keep(self, row: KeyRow) -> StreamKey:
        key = self._kept[row.stream] = self.unwrapped(row)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return key


class SessionTexts:
    """Long texts by their SHA-256, each of one session. Raises LogUnavailable, Erased and UnsealFailed.

    The database stores a text under a hash that needs the session's key: its SHA-256 would confirm a guess.
    """

    def __init__(self, blobs: PgBlobs, vault: Vault) -> None:
        self._blobs = blobs
        self._vault = vault

    async def put(self, stream: str, texts: Iterable[str]) -> list[str]:
        """Store texts and return their hashes (hex)."""
        key, bodies = await self._key(stream), list(texts)
        hashes = [hashlib.sha256(body.encode()).hexdigest() for body in bodies]
        sealed = {
            _name(key, digest): key.seal_text(f"blob|{digest}", body.encode()).decode()
            for digest, body in zip(hashes, bodies, strict=True)
        }
        await self._blobs.put_of(stream, sealed)
        return hashes

    async def texts(self, stream: str, hashes: Iterable[str]) -> dict[str, str]:
        """The existing texts of a session, by their hashes."""
        key = await self._key(stream)
        wanted = {_name(key, digest): digest for digest in hashes}
        found = await self._blobs.texts(wanted)
        return {
            wanted[name]: key.open_text(f"blob|{wanted[name]}", body.encode()).decode() for name, body in found.items()
        }

    async def _key(self, stream: str) -> StreamKey:
        key = await self._vault.key(stream)
        if key is None:
            raise UnsealFailed(f"{stream} is not a sealed session")
        return key


def _name(key: StreamKey, digest: str) -> str:
    return key.hash_of("blob", digest.encode())
