"""What is past its time: files of archived games and texts of experiments go by their settings, and nothing else."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import Result
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.postgres import PostgresLog

from core.tests.log.log_contract import Game, unit
from tests.integration.log.object_store import ObjectStore
from tests.integration.log.sessions import store_key
from tests.integration.log.test_archive import fill, verified
from tests.integration.log.test_archive_buckets import kept, place, run, store, told

__all__ = ("place", "store", "told")
NEVER = "36500"


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    await fill(PostgresLog(pool))
    yield pool
    await pool.close()


async def due(told: dict[str, str], **settings: str) -> Result:
    done = await run(told | settings, "erase", "--due", "--json")
    assert done.exit_code == 0, done.output
    return done


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_files_of_games_go_from_a_folder_after_their_days_and_others_stay(
    pool: Pool, told: dict[str, str], tmp_path: Path
) -> None:
    told |= {"PLAYMOLT_ARCHIVE_URL": str(tmp_path)}
    assert (await run(told, "log", "archive")).exit_code == 0
    (file,) = names(tmp_path)
    (tmp_path / "somebody-elses.jsonl.gz").write_bytes(b"")
    for settings in ({}, {"PLAYMOLT_KEEP_ARCHIVE_DAYS": "0"}, {"PLAYMOLT_KEEP_ARCHIVE_DAYS": NEVER}):
        assert json.loads((await due(told, **settings)).stdout)["files"] == []
    assert json.loads((await due(told, PLAYMOLT_KEEP_ARCHIVE_DAYS="30")).stdout)["files"] == [file]
    assert names(tmp_path) == ["somebody-elses.jsonl.gz"]
    assert json.loads((await due(told, PLAYMOLT_KEEP_ARCHIVE_DAYS="30")).stdout)["files"] == []
    after = await verified(PostgresLog(pool))
    assert (after.breaks, after.archived) == ([], 2), "that they were archived stays known"


async def test_files_of_games_go_from_a_bucket(
    pool: Pool, told: dict[str, str], store: ObjectStore, place: str
) -> None:
    assert (await run(told, "log", "archive")).exit_code == 0
    (name,) = kept(store, place)
    gone = json.loads((await due(told, PLAYMOLT_KEEP_ARCHIVE_DAYS="30")).stdout)["files"]
    assert (gone, kept(store, place)) == ([name.rpartition("/")[2]], [])


async def test_sessions_are_erased_after_the_days_of_their_kind(pool: Pool, told: dict[str, str]) -> None:
    """Nothing has happened in them since January 2026."""
    log = PostgresLog(pool)
    for name in ("legal-1", "legal-2", "jury-1"):
        await store_key(pool, name)
        await log.append([unit(Game(name).adds(1, summary=None))])
    never = {"PLAYMOLT_KEEP_LEGAL_DAYS": NEVER, "PLAYMOLT_KEEP_JURY_DAYS": "0"}
    for settings, legal, jury in (({}, 0, 0), (never, 0, 0), ({"PLAYMOLT_KEEP_LEGAL_DAYS": "7"}, 2, 0)):
        done = json.loads((await due(told, **settings)).stdout)
        assert (done["legal"], done["jury"]) == (legal, jury)
    done = json.loads((await due(told, PLAYMOLT_KEEP_LEGAL_DAYS="7", PLAYMOLT_KEEP_JURY_DAYS="7")).stdout)
    assert (done["legal"], done["jury"]) == (0, 1)
    stored = await pool.fetch("SELECT data ->> 'stream', data ->> 'by' FROM log.event WHERE type = 'session_erased'")
    assert {tuple(row) for row in stored} == {(name, "retention") for name in ("legal-1", "legal-2", "jury-1")}


async def test_texts_of_experiments_go_after_their_days_and_those_of_sessions_stay(
    pool: Pool, told: dict[str, str]
) -> None:
    await pool.fetch(
        "INSERT INTO blob.text (hash, body, at, stream) SELECT decode(repeat(to_hex(16 + n), 32), 'hex'), 'text',"
        " now() - n * interval '10 days', CASE WHEN n = 9 THEN 'legal-1' END FROM generate_series(1, 9) AS n"
    )
    assert json.loads((await due(told, PLAYMOLT_KEEP_BLOBS_DAYS="0")).stdout)["texts"] == 0
    assert json.loads((await due(told, PLAYMOLT_KEEP_BLOBS_DAYS="45")).stdout)["texts"] == 4
    left = await pool.fetch("SELECT coalesce(stream, 'experiment') FROM blob.text ORDER BY at")
    assert [row[0] for row in left] == ["legal-1", *["experiment"] * 4]
