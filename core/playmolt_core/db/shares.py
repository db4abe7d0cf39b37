"""Which sessions and experiments their owners show to whoever has the address."""

import secrets
from collections.abc import Sequence

import msgspec

from playmolt_core.db.pool import Pool, queries

_SQL = queries("shares")
_TOKEN_BYTES = 16
"""128 random bits: nobody finds an address that was not given to him."""


class Share(msgspec.Struct, frozen=True):
    """What an address leads to; `sections` None: all of it. `owner` is "" where it is the operator's."""

    stream: str
    owner: str
    sections: tuple[str, ...] | None


class PgShares:
    """Shares in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def share(self, share: Share, command_id: str, fingerprint: str) -> str | None:
        """The token of the address that stands from now on; None when this key came with another body before.

        A call that was made before changes nothing of what is shown.
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
        """Take an address back; there may be none."""
        await self._pool.value(_SQL["close"], stream)

    async def shared(self, token: str) -> Share | None:
        """What a token leads to; None for one that leads nowhere, or no more."""
        row = await self._pool.row(_SQL["find"], token)
        return None if row is None else Share(row["stream"], row["owner"], _sections(row["sections"]))


def _sections(stored: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if stored is None else tuple(stored)
