"""Long texts of a session beside the log: sealed as its records are, and gone with them."""

import hashlib
from collections.abc import Iterable

from playmolt_core.db.blobs import PgBlobs
from playmolt_core.vault.stream_key import NotOpened, StreamKey
from playmolt_core.vault.vault import Vault


class SessionTexts:
    """Texts by their SHA-256, each kept for one session. Raises LogUnavailable, Erased and NotOpened.

    In the database a text lies under a hash that only the session's key makes: its SHA-256 would confirm a guess.
    """

    def __init__(self, blobs: PgBlobs, vault: Vault) -> None:
        self._blobs = blobs
        self._vault = vault

    async def put(self, stream: str, texts: Iterable[str]) -> list[str]:
        """Keep texts; gives their hashes (hex)."""
        key, bodies = await self._key(stream), list(texts)
        hashes = [hashlib.sha256(body.encode()).hexdigest() for body in bodies]
        sealed = {
            _name(key, digest): key.seal_text(f"blob|{digest}", body.encode()).decode()
            for digest, body in zip(hashes, bodies, strict=True)
        }
        await self._blobs.put_of(stream, sealed)
        return hashes

    async def texts(self, stream: str, hashes: Iterable[str]) -> dict[str, str]:
        """The texts of a session that there are, by their hashes."""
        key = await self._key(stream)
        wanted = {_name(key, digest): digest for digest in hashes}
        found = await self._blobs.texts(wanted)
        return {
            wanted[name]: key.open_text(f"blob|{wanted[name]}", body.encode()).decode() for name, body in found.items()
        }

    async def _key(self, stream: str) -> StreamKey:
        key = await self._vault.key(stream)
        if key is None:
            raise NotOpened(f"{stream} is not a sealed session")
        return key


def _name(key: StreamKey, digest: str) -> str:
    return key.hash_of("blob", digest.encode())
