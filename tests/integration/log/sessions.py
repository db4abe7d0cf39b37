"""Keys of sessions, as their engines store them together with the first record."""

from playmolt_core.db.pool import Pool
from playmolt_core.vault.rows import KeyRow, make


async def store_key(pool: Pool, stream: str, owner: str = "agent-1") -> None:
    """Store a session's key in the vault."""
    async with pool.transaction() as connection:
        await make(connection, [KeyRow(stream=stream, owner=owner, kek="k", wrapped=b"w" * 40)])
