"""Shares in Postgres: one address a stream, the same while it stands; a repeated call changes nothing of it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playmolt_core.db.pool import open_pool
from playmolt_core.db.shares import PgShares, Share

ALL = Share("jury-a", "agent-1", None)
PART = Share("jury-a", "agent-1", ("facts", "answer"))


@pytest.fixture
async def shares(database_url: str) -> AsyncIterator[PgShares]:
    pool = await open_pool(database_url, role="playmolt_gateway", size=8)
    yield PgShares(pool)
    await pool.close()


async def test_an_address_is_the_same_while_it_stands_and_another_one_afterwards(shares: PgShares) -> None:
    token = await shares.share(ALL, "a", "")
    assert token
    assert len(token) >= 22
    assert await shares.shared(token) == ALL
    assert await shares.share(PART, "b", "") == token
    assert await shares.shared(token) == PART

    await shares.unshare("jury-a")
    await shares.unshare("jury-a")
    assert await shares.shared(token) is None
    assert await shares.share(ALL, "c", "") not in (None, token)


async def test_many_who_share_at_once_get_one_address(shares: PgShares) -> None:
    tokens = await asyncio.gather(*(shares.share(ALL, f"c{number}", f"f{number}") for number in range(20)))
    assert len(set(tokens)) == 1


async def test_a_repeat_under_an_old_key_gives_what_stands_and_opens_no_other_sections(shares: PgShares) -> None:
    first = await shares.share(ALL, "key", "print")
    assert first
    await shares.share(PART, "another", "other print")
    assert await shares.share(ALL, "key", "print") == first
    assert await shares.shared(first) == PART
    assert await shares.share(PART, "key", "other print") is None

    await shares.unshare("jury-a")
    second = await shares.share(PART, "third", "print")
    assert await shares.share(ALL, "key", "print") == second != first
