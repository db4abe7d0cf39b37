"""Archives in an object store: read back and compared before a record goes, and read by commands from there."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result
from playmolt_cli.log.archive import archived
from playmolt_cli.main import cli
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.identifiers import GAME_TYPES

from tests.integration.log.object_store import ACCESS_KEY, BUCKET, SECRET_KEY, ObjectStore
from tests.integration.log.test_archive import fill, verified


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with ObjectStore() as serving:
        yield serving


@pytest.fixture
def place() -> str:
    return f"s3://{BUCKET}/production/{uuid4().hex}"


@pytest.fixture
def told(database_url: str, store: ObjectStore, place: str) -> dict[str, str]:
    return {
        "DATABASE_URL": database_url, "PLAYMOLT_STREAM_EVENTS": "2", "PLAYMOLT_ARCHIVE_DAYS": "30",
        "PLAYMOLT_ARCHIVE_URL": place, "PLAYMOLT_ARCHIVE_ENDPOINT": store.endpoint,
        "PLAYMOLT_ARCHIVE_ACCESS_KEY": ACCESS_KEY, "PLAYMOLT_ARCHIVE_SECRET_KEY": SECRET_KEY,
    }  # fmt: skip


async def run(told: dict[str, str], *arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, cli, arguments, env=told)


@pytest.fixture
async def log(database_url: str) -> AsyncIterator[PostgresLog]:
    pool = await open_pool(database_url)
    log = PostgresLog(pool)
    await fill(log)
    yield log
    await pool.close()


def kept(store: ObjectStore, place: str) -> list[str]:
    prefix = place.removeprefix(f"s3://{BUCKET}/")
    listed = store.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    return [one["Key"] for one in listed]


async def test_old_games_go_to_the_bucket_and_are_verified_from_there(
    log: PostgresLog, told: dict[str, str], store: ObjectStore, place: str
) -> None:
    done = await run(told, "log", "archive")
    assert done.exit_code == 0, done.output
    (name,) = kept(store, place)
    assert done.stdout == f"{name.rpartition('/')[2]}: 14 records of 2 games, 12 deleted\n"
    after = await verified(log)
    assert (after.breaks, after.streams, after.archived) == ([], 3, 2)
    for where in (place, f"{place}/", f"s3://{BUCKET}/{name}"):
        said = json.loads((await run(told, "log", "verify", "--json", where)).stdout)
        assert (said["streams"], said["events"]) == (2, 14)
    assert (await run(told, "log", "archive")).stdout == "nothing to archive\n"


async def test_two_files_below_one_prefix_are_one_copy(
    log: PostgresLog, told: dict[str, str], store: ObjectStore, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    done, _ = await asyncio.to_thread(partial(archived, None, place, GAME_TYPES, 30, verbose=False, file_events=7))
    assert len(done) == 2
    assert len(kept(store, place)) == 2
    said = json.loads((await run(told, "log", "verify", "--json", place)).stdout)
    assert (said["streams"], said["events"]) == (2, 14)


@pytest.mark.parametrize(
    "harm", [lambda body: body[:-9], lambda body: body + b"x", lambda body: gzip.compress(gzip.decompress(body)[:-2])]
)
async def test_what_does_not_come_back_the_same_deletes_nothing(
    log: PostgresLog, told: dict[str, str], store: ObjectStore, harm: Callable[[bytes], bytes]
) -> None:
    store.harm = harm
    try:
        done = await run(told, "log", "archive")
    finally:
        store.harm = bytes
    assert (done.exit_code, "nothing was deleted" in done.stderr) == (1, True)
    result = await verified(log)
    assert (result.breaks, result.streams, result.archived) == ([], 5, 0)
    assert (await run(told, "log", "archive")).exit_code == 0, "and a later run does it"


@pytest.mark.parametrize(
    "changes",
    [{"PLAYMOLT_ARCHIVE_ACCESS_KEY": "AKIDSTRANGER"}, {"PLAYMOLT_ARCHIVE_URL": "s3://no-such-bucket/x"}],
)
async def test_a_store_that_refuses_keeps_every_game(
    log: PostgresLog, told: dict[str, str], changes: dict[str, str]
) -> None:
    done = await run(told | changes, "log", "archive")
    assert (done.exit_code, len(done.stderr.splitlines())) == (1, 1)
    assert (await verified(log)).archived == 0


async def test_without_days_no_game_goes_and_without_a_place_none_is_asked_for(
    log: PostgresLog, told: dict[str, str], store: ObjectStore, place: str
) -> None:
    assert (await run(told | {"PLAYMOLT_ARCHIVE_DAYS": "0"}, "log", "archive")).stdout == "nothing to archive\n"
    assert (await run(told | {"PLAYMOLT_ARCHIVE_DAYS": "90"}, "log", "archive", "--idle-days", "36500")).exit_code == 0
    assert (await run(told | {"PLAYMOLT_ARCHIVE_URL": ""}, "log", "archive")).exit_code == 2
    assert kept(store, place) == []
    nothing = await run(told, "log", "verify", place)
    assert (nothing.exit_code, "No archive at" in nothing.stderr) == (2, True)
