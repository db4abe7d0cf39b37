"""Shares in Postgres: one address a stream, which a repeated call does not change; links of files, for a time."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playmolt_core.db.pool import open_pool
from playmolt_core.db.shares import FILE_LINK_SECONDS, FileLink, PgShares, Share

from core.tests.waiting import wait_until

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


async def test_a_link_opens_one_file_until_its_time_is_over(database_url: str) -> None:
    pool = await open_pool(database_url, role="playmolt_gateway", size=2)
    long, short = PgShares(pool), PgShares(pool, link_seconds=0.2)
    link = FileLink("agent-1", "/api/sessions/legal-a/report?format=pdf")
    kept, gone = await long.link_file(link), await short.link_file(link)
    assert await long.linked_file(kept) == link
    assert await long.linked_file(kept[:-1]) is None
    assert kept != gone
    assert FILE_LINK_SECONDS <= 300
    await wait_until(lambda: _is_gone(long, gone))
    assert await long.linked_file(kept) == link
    await long.link_file(link)
    held = await pool.value("SELECT array_agg(encode(token_hash, 'hex') || path) FROM account.file_link")
    assert len(held) == 2
    assert not any(kept in row or gone in row for row in held)
    await pool.close()


async def _is_gone(shares: PgShares, token: str) -> bool:
    return await shares.linked_file(token) is None
