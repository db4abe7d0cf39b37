"""Packs in Postgres: laid down by a gateway, offered by engines, kept for as long as somebody offers or plays them."""

from collections.abc import AsyncIterator

import pytest
from playmolt_core.db.content.packs import OPERATOR, PgPacks
from playmolt_core.db.pool import Pool, open_pool
from playmolt_schemas.canonical import files_digest
from playmolt_schemas.limits import CASES_PER_KEY

FILES = {"pack.toml": b'title = "A \xe2\x80\x9cferry\xe2\x80\x9d"', "en/case.toml": b"\xff"}
DIGEST = files_digest(FILES)
OTHERS = [files_digest({"a": b"%d" % number}) for number in range(CASES_PER_KEY + 1)]


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    opened = await open_pool(database_url, size=4)
    yield opened
    await opened.close()


@pytest.fixture
async def packs(pool: Pool) -> PgPacks:
    found = PgPacks(pool)
    await found.bring(DIGEST, FILES)
    for number, digest in enumerate(OTHERS):
        await found.bring(digest, {"a": b"%d" % number})
    return found


async def _age(pool: Pool) -> None:
    """As if all were brought two hours ago."""
    for table in ("files", "played"):
        await pool.fetch(f"UPDATE pack.{table} SET at = at - interval '2 hours'")


async def test_files_are_read_as_they_were_brought(packs: PgPacks, pool: Pool) -> None:
    assert await packs.files(DIGEST) == FILES
    assert await packs.files("0" * 64) is None
    await pool.fetch("UPDATE pack.files SET files = '\\x80' WHERE digest = $1", DIGEST)
    assert await packs.files(DIGEST) is None, "another pack is never read in its place"


async def test_an_id_has_one_pack_of_its_owner_and_the_newest_counts(packs: PgPacks) -> None:
    assert await packs.offer("agent-1", "ferry", DIGEST, b'{"n":1}') == "new"
    assert await packs.offer("agent-1", "ferry", DIGEST, b'{"n":1}') == "same"
    assert await packs.offer("agent-1", "ferry", OTHERS[0], b'{"n":2}') == "new"
    (offer,) = await packs.offers("agent-1")
    assert (offer.owner, offer.id, offer.digest, offer.about) == ("agent-1", "ferry", OTHERS[0], b'{"n":2}')
    assert await packs.offers("agent-2") == []


async def test_the_operators_ids_are_the_operators(packs: PgPacks) -> None:
    assert await packs.offer(OPERATOR, "ferry", DIGEST, b"{}") == "new"
    assert await packs.offer("agent-1", "ferry", OTHERS[0], b"{}") == "taken"
    assert [offer.owner for offer in await packs.offers("agent-1")] == [OPERATOR]


async def test_a_key_has_so_many_and_the_operator_as_many_as_it_likes(packs: PgPacks) -> None:
    for number, digest in enumerate(OTHERS[:-1]):
        assert await packs.offer("agent-1", f"case-{number}", digest, b"{}") == "new"
    assert await packs.offer("agent-1", "one-more", OTHERS[-1], b"{}") == "full"
    assert await packs.offer("agent-1", "case-0", OTHERS[-1], b"{}") == "new", "in place of another"
    for number, digest in enumerate(OTHERS):
        assert await packs.offer(OPERATOR, f"ours-{number}", digest, b"{}") == "new"


async def test_who_brought_a_case_withdraws_it_and_the_operator_anybodys(packs: PgPacks) -> None:
    for owner in ("agent-1", "agent-2"):
        await packs.offer(owner, "ferry", DIGEST, b"{}")
    assert not await packs.withdraw("agent-3", "ferry")
    assert await packs.withdraw("agent-1", "ferry")
    assert [offer.owner for offer in await packs.offers(None)] == ["agent-2"]
    await packs.offer(OPERATOR, "ferry", DIGEST, b"{}")
    assert await packs.withdraw(None, "ferry")
    assert [offer.owner for offer in await packs.offers(None)] == ["agent-2"], "its own first"
    assert await packs.withdraw(None, "ferry")
    assert not await packs.withdraw(None, "ferry")


async def test_a_pack_stays_while_it_is_offered_or_played(packs: PgPacks, pool: Pool) -> None:
    await packs.offer("agent-1", "ferry", DIGEST, b"{}")
    assert await packs.play("jury-1", DIGEST)
    await pool.fetch(
        "INSERT INTO log.stream (stream, version, hash, created_at, updated_at)"
        " VALUES ('jury-1', 1, decode(repeat('00', 32), 'hex'), now(), now())"
    )
    await packs.withdraw("agent-1", "ferry")
    await _age(pool)
    await packs.sweep()
    assert await packs.files(DIGEST) == FILES
    assert await packs.files(OTHERS[0]) is None, "nobody offers it, nobody plays it"
    await pool.fetch("UPDATE log.stream SET phase = 'erased', over = true")
    await packs.sweep()
    assert await packs.files(DIGEST) is None


async def test_what_is_at_fault_goes_at_once_unless_somebody_has_it(packs: PgPacks) -> None:
    await packs.sweep(OTHERS[0])
    assert await packs.files(OTHERS[0]) is None
    await packs.offer("agent-1", "ferry", DIGEST, b"{}")
    await packs.sweep(DIGEST)
    assert await packs.files(DIGEST) == FILES


async def test_a_pack_that_is_missed_is_told_until_it_is_back(packs: PgPacks) -> None:
    absent, files = files_digest({"b": b""}), {"b": b""}
    assert not await packs.play("jury-1", absent)
    await packs.miss(absent)
    await packs.miss(absent)
    assert await packs.missing() == [absent]
    assert await packs.play("jury-1", absent, files)
    assert await packs.missing() == []
    assert await packs.files(absent) == files
