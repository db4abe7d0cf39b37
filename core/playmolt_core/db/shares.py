"""What an address shows without a key: shared sessions and experiments, and files of their owners for minutes."""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Final

import msgspec

from playmolt_core.db.pool import Pool, queries

_SQL = queries("shares")
_TOKEN_BYTES = 16
"""128 random bits: an address cannot be guessed."""


class Share(msgspec.Struct, frozen=True):
    """What an address shows; `sections` None: everything. `owner` is "" for the operator."""

    stream: str
    owner: str
    sections: tuple[str, ...] | None


FILE_LINK_SECONDS: Final = 300.0


class FileLink(msgspec.Struct, frozen=True):
    """The one file that a token opens: the path and query of an API route. `caller` is "" for the operator."""

    caller: str
    path: str


class PgShares:
    """Shares and links of files in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool, *, link_seconds: float = FILE_LINK_SECONDS) -> None:
        self._pool = pool
        self._link_seconds = link_seconds

    async def share(self, share: Share, command_id: str, fingerprint: str) -> str | None:
        """Share, and return the token of the address; None if this key came with another body before.

        A repeated call does not change what is shown.
        """
        async with self._pool.transaction() as connection:
            known = False
            if fingerprint:
                known = not await connection.fetchval(_SQL["claim_key"], share.stream, command_id, fingerprint)
                if known and fingerprint != await connection.fetchval(_SQL["claimed_key"], share.stream, command_id):
                    return None
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            sections = None if share.sections is None else list(share.sections)
            return str(await connection.fetchval(_SQL["open"], share.stream, token, share.owner, sections, known))

    async def unshare(self, stream: str) -> None:
        """Revoke an address, if there is one."""
        await self._pool.value(_SQL["close"], stream)

    async def link_file(self, link: FileLink) -> str:
        """Store a link, and return its token, which is valid for `link_seconds` and stored as a hash alone."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        await self._pool.value(_SQL["link_file"], _hash(token), link.caller, link.path, self._link_seconds)
        return token

    async def linked_file(self, token: str) -> FileLink | None:
        """The file of a token; None if it is unknown or its time is over."""
        row = await self._pool.row(_SQL["linked_file"], _hash(token))
        return None if row is None else FileLink(row["caller"], row["path"])

    async def shared(self, token: str) -> Share | None:
        """What a token shows; None if it is unknown or revoked."""
        row = await self._pool.row(_SQL["find"], token)
        return None if row is None else Share(row["stream"], row["owner"], _sections(row["sections"]))

    async def is_shared(self, stream: str) -> bool:
        """Whether an address shows this stream."""
        return bool(await self._pool.value(_SQL["is_shared"], stream))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _sections(stored: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if stored is None else tuple(stored)
