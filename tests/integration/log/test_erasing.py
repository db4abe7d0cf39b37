"""Erasing sessions in Postgres: one transaction, once, for ever; and what the log is afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.game.erasures import STREAM
from playmolt_core.log.chain import recomputed
from playmolt_core.log.erasing import ErasedHeads, SessionEraser, erased_heads, erasures_between
from playmolt_core.log.port import ERASED, Outcome, Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import verify
from playmolt_core.vault.vault import Erased
from playmolt_schemas.game_messages import GameSummary

from core.tests.log.log_contract import Game, statuses
from tests.integration.log.sessions import store_key

RUNNING = GameSummary(phase="FACTS_INTAKE", round=0, seated=1, needed=1)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, writes=True)
    yield pool
    await pool.close()


async def opened(pool: Pool, stream: str, *, records: int = 3) -> Game:
    """A session of agent-1."""
    game = Game(stream)
    await store_key(pool, stream)
    outcome = Outcome(stream=stream, command_id="1" * 32, fingerprint="", body=b'{"text":"marker"}')
    unit = Unit(streams=[game.adds(records, summary=RUNNING)], outcomes=[outcome])
    assert statuses(await PostgresLog(pool).append([unit])) == ["appended"]
    return game


async def counted(pool: Pool, query: str, *arguments: object) -> int:
    return int(await pool.value(query, *arguments))


async def test_a_sealed_session_loses_its_key_and_keeps_its_records(pool: Pool) -> None:
    game, log, eraser = await opened(pool, "legal-1"), PostgresLog(pool), SessionEraser(pool)
    await pool.fetch("INSERT INTO blob.text (hash, body, stream) VALUES ($1, 'sealed', 'legal-1')", bytes(32))
    erased = await eraser.erase("legal-1", "owner", "legal-2")
    assert erased is not None
    assert (erased.owner, erased.version, erased.hash) == ("agent-1", 3, game.hash)
    assert await eraser.erase("legal-1", "operator") == await eraser.session("legal-1"), "once and for ever"
    again = await eraser.session("legal-1")
    assert again is not None
    assert (again.erased_at, again.erased_by, again.linked, again.version) == (erased.erased_at, "owner", "legal-2", 3)
    assert await counted(pool, "SELECT count(*) FROM log.event WHERE stream = 'legal-1'") == 3
    assert await counted(pool, "SELECT count(*) FROM log.outcome") == 0
    assert await counted(pool, "SELECT count(*) FROM blob.text") == 0
    assert await counted(pool, "SELECT count(*) FROM vault.key WHERE wrapped IS NULL") == 1
    assert await log.versions(["legal-1"]) == {"legal-1": ERASED}
    with pytest.raises(Erased):
        await log.facts("legal-1")
    assert statuses(await log.append([Unit(streams=[game.adds(1, summary=RUNNING)])])) == ["conflict"]


async def test_the_record_of_it_is_chained_and_names_nobody(pool: Pool) -> None:
    log, eraser = PostgresLog(pool), SessionEraser(pool)
    for stream in ("legal-1", "jury-1"):
        await opened(pool, stream)
        await eraser.erase(stream, "retention")
    stored = await log.load(STREAM)
    assert stored is not None
    assert [recomputed(record) == record.hash for record in stored.records] == [True, True]
    assert stored.records[1].prev_hash == stored.records[0].hash
    assert [record.position for record in stored.records] == [4, 8], "positions have no hole"
    assert stored.head.hash == stored.records[1].hash
    assert not [record for record in stored.records if b"agent-1" in bytes(record.data) + bytes(record.metadata)]
    assert [each.stream for each in await erasures_between(pool, (4,), (8,))] == ["jury-1"]


async def test_an_erased_session_is_still_listed_for_its_owner(pool: Pool) -> None:
    await opened(pool, "jury-1")
    eraser, log = SessionEraser(pool), PostgresLog(pool)
    await eraser.erase("jury-1", "owner")
    session = await eraser.session("jury-1")
    assert session is not None
    assert (session.owner, session.version) == ("agent-1", 3)
    assert (await log.register.totals()).streams == 0, "it was not archived"
    listed = await log.games("jury", phase=None, before=None, limit=5, opened_by="agent-1")
    assert [(game.stream, game.summary.phase, game.summary.over) for game in listed] == [("jury-1", "erased", True)]


async def test_an_archived_session_is_erased_under_the_hash_of_its_last_record(pool: Pool) -> None:
    game, log, eraser = await opened(pool, "legal-1"), PostgresLog(pool), SessionEraser(pool)
    assert statuses(await log.append([Unit(streams=[game.ends()])])) == ["appended"]
    ended = json.dumps([{"stream": game.stream, "version": game.version, "hash": game.hash}])
    await pool.value("SELECT log.prune($1, 'a file', $2)", ended, bytes(32))
    erased = await eraser.erase("legal-1", "owner")
    assert erased is not None
    assert (erased.version, erased.hash) == (game.version, game.hash)
    stored = await log.load(STREAM)
    assert stored is not None
    assert json.loads(bytes(stored.records[0].data))["hash"] == game.hash
    assert await eraser.erase("legal-1", "operator") == await eraser.session("legal-1"), "once and for ever"


async def test_a_stream_without_a_key_is_no_session(pool: Pool) -> None:
    await PostgresLog(pool).append([Unit(streams=[Game("legal-1").adds(1, summary=RUNNING)])])
    eraser = SessionEraser(pool)
    assert await eraser.session("legal-1") is None
    assert await eraser.erase("legal-1", "operator") is None


async def test_an_append_and_an_erasure_at_once_leave_one_of_two_whole_histories(pool: Pool) -> None:
    log, eraser = PostgresLog(pool), SessionEraser(pool)
    for number in range(8):
        game = await opened(pool, f"legal-{number}")
        unit = Unit(streams=[game.adds(1, summary=RUNNING)])
        erased, [appended] = await asyncio.gather(eraser.erase(game.stream, "owner"), log.append([unit]))
        assert erased is not None
        assert erased.version == (4 if appended else 3)
        assert (
            await counted(pool, "SELECT max(version) FROM log.event WHERE stream = $1", game.stream) == erased.version
        )


async def test_many_erasures_at_once_follow_one_another(pool: Pool) -> None:
    for number in range(6):
        await opened(pool, f"legal-{number}", records=1)
    erasers = [SessionEraser(pool).erase(f"legal-{number}", "operator") for number in range(6)]
    assert None not in await asyncio.gather(*erasers)
    stored = await PostgresLog(pool).load(STREAM)
    assert stored is not None
    assert [record.version for record in stored.records] == [1, 2, 3, 4, 5, 6]


async def test_nothing_else_can_be_erased(pool: Pool) -> None:
    eraser = SessionEraser(pool)
    assert await eraser.erase("legal-9", "owner") is None
    with pytest.raises(Exception, match="no key of ox-1"):
        await eraser.erase("ox-1", "owner")


async def test_an_erasure_that_is_not_as_its_record_says_is_a_break(pool: Pool) -> None:
    log, eraser = PostgresLog(pool), SessionEraser(pool)
    game = await opened(pool, "legal-1")
    await opened(pool, "legal-2")
    await eraser.erase("legal-1", "owner")

    async def broken(known: ErasedHeads) -> list[tuple[str, str]]:
        found = await verify(log, {}, register=log.register, erased=known)
        return [(each.stream, each.problem) for each in found.breaks]

    known = await erased_heads(pool, (await log.position(),))
    assert known == ErasedHeads({"legal-1": (3, game.hash)}, {"legal-1": True})
    assert await broken(known) == []
    gone = ErasedHeads(known.ends, {"legal-1": True, "legal-2": True})
    assert await broken(gone) == [("legal-2", "its key is missing, but no record says that it was erased")]
    there = ErasedHeads(known.ends, {})
    assert await broken(there) == [("legal-1", "a record says that it was erased, but its key exists")]
    for ends in ((2, game.hash), (3, "0" * 64)):
        (found,) = await broken(ErasedHeads({"legal-1": ends}, known.emptied))
        assert found[0] == "legal-1"


async def test_what_is_idle_is_found(pool: Pool) -> None:
    await opened(pool, "legal-1")
    eraser = SessionEraser(pool)
    assert await eraser.idle("legal", datetime(2026, 1, 1, tzinfo=UTC)) == []
    assert await eraser.idle("legal", datetime.now(UTC) + timedelta(days=400)) == ["legal-1"]
    await eraser.erase("legal-1", "retention")
    assert await eraser.idle("legal", datetime.now(UTC) + timedelta(days=400)) == []
