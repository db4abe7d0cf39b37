"""Anchors in an object store: an object each, never written twice, and what is missing or edited is found."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.copies import anchors
from playmolt_core.log.copies.anchor_places import AnchorBucket, PlaceTaken
from playmolt_core.log.copies.anchors import BadAnchor, PostgresHeads
from playmolt_core.log.copies.buckets import PlaceUnavailable
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.settings import Settings

from core.tests.log.log_contract import Game, unit
from tests.integration.log.object_store import ACCESS_KEY, BUCKET, SECRET_KEY, ObjectStore
from tests.platforms import playmolt

AT = "2026-01-02T12:00:00.000000Z"
KEY = Ed25519PrivateKey.generate()


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with ObjectStore() as serving:
        yield serving


@pytest.fixture
def prefix() -> str:
    return f"production/{uuid4().hex}"


def settings(store: ObjectStore, access_key: str = ACCESS_KEY) -> Settings:
    return Settings(anchor_endpoint=store.endpoint, anchor_access_key=access_key, anchor_secret_key=SECRET_KEY)


@pytest.fixture
def place(store: ObjectStore, prefix: str) -> AnchorBucket:
    return AnchorBucket(f"s3://{BUCKET}/{prefix}", settings(store))


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


async def played(pool: Pool, place: AnchorBucket, anchored: int) -> None:
    """A game in which the log was anchored so many times."""
    game = Game("ox-1")
    for _ in range(anchored):
        await PostgresLog(pool).append([unit(game.adds(2))])
        await anchors.append(PostgresHeads(pool), place, KEY, AT)


async def problems(pool: Pool, place: AnchorBucket) -> list[str]:
    return [each.problem for each in await anchors.compare(PostgresHeads(pool), place)]


async def test_each_anchor_is_an_object_that_follows_the_one_before(
    pool: Pool, place: AnchorBucket, store: ObjectStore, prefix: str
) -> None:
    await played(pool, place, 3)
    listed = store.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]
    assert [one["Key"] for one in listed] == [f"{prefix}/{number:010}.json" for number in (1, 2, 3)]
    assert [json.loads(line)["statement"]["position"] async for line in place.lines()] == [2, 4, 6]
    assert await problems(pool, place) == []


async def test_many_anchors_are_read_in_order(pool: Pool, place: AnchorBucket) -> None:
    await played(pool, place, 35)
    assert [json.loads(line)["statement"]["position"] async for line in place.lines()] == [*range(2, 72, 2)]
    assert await problems(pool, place) == []


async def test_adding_one_asks_for_the_last_alone(pool: Pool, place: AnchorBucket, store: ObjectStore) -> None:
    await played(pool, place, 3)
    before = len(store.requests)
    await anchors.append(PostgresHeads(pool), place, KEY, AT)
    assert [method for method, _ in store.requests[before:]] == ["GET", "GET", "PUT"]


async def test_of_two_at_once_one_is_refused_and_none_overwritten(
    pool: Pool, place: AnchorBucket, store: ObjectStore, prefix: str
) -> None:
    await played(pool, place, 1)
    other = AnchorBucket(f"s3://{BUCKET}/{prefix}", settings(store))
    await asyncio.gather(place.before(), other.before())
    await place.add(b"first")
    with pytest.raises(PlaceTaken):
        await other.add(b"second")
    assert (await place.before()) == [b"first"]


@pytest.mark.parametrize(("number", "told"), [(1, "anchor 1"), (2, "anchor 2"), (3, None)])
async def test_an_object_that_was_taken_out_is_missed(
    pool: Pool, place: AnchorBucket, store: ObjectStore, prefix: str, number: int, told: str | None
) -> None:
    await played(pool, place, 3)
    store.client().delete_object(Bucket=BUCKET, Key=f"{prefix}/{number:010}.json")
    found = await problems(pool, place)
    if told is None:
        assert found == [], "without its newest anchor a bucket is an older one"
    else:
        assert len(found) == 1
        assert told in found[0]


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_an_object_that_was_edited_is_found(
    pool: Pool, place: AnchorBucket, store: ObjectStore, prefix: str, number: int
) -> None:
    await played(pool, place, 3)
    where = {"Bucket": BUCKET, "Key": f"{prefix}/{number:010}.json"}
    line = store.client().get_object(**where)["Body"].read()
    store.client().put_object(**where, Body=line.replace(b'"position":', b'"position":1'))
    assert await problems(pool, place) == [f"anchor {number} was edited: its signature is invalid"]
    if number == 3:
        with pytest.raises(BadAnchor, match="edited"):
            await anchors.append(PostgresHeads(pool), place, KEY, AT)


async def test_a_rewritten_log_is_found(pool: Pool, place: AnchorBucket) -> None:
    await played(pool, place, 2)
    async with pool.transaction() as connection:
        await connection.execute("ALTER TABLE log.record DISABLE TRIGGER USER")
        await connection.execute("UPDATE log.record SET hash = $1 WHERE version = 4", bytes(32))
        await connection.execute("ALTER TABLE log.record ENABLE TRIGGER USER")
    found = await anchors.compare(PostgresHeads(pool), place)
    assert [(each.stream, each.version) for each in found] == [("ox-1", 4)]


async def test_another_key_does_not_go_on_in_a_bucket(pool: Pool, place: AnchorBucket) -> None:
    await played(pool, place, 1)
    with pytest.raises(BadAnchor, match="another key"):
        await anchors.append(PostgresHeads(pool), place, Ed25519PrivateKey.generate(), AT)


async def test_a_store_that_refuses_or_has_no_such_bucket_is_told_in_a_line(pool: Pool, store: ObjectStore) -> None:
    refused = AnchorBucket(f"s3://{BUCKET}/x", settings(store, access_key="AKIDSTRANGER"))
    missing = AnchorBucket("s3://no-such-bucket/x", settings(store))
    for place in (refused, missing):
        with pytest.raises(PlaceUnavailable) as told:
            await anchors.append(PostgresHeads(pool), place, KEY, AT)
        assert "\n" not in str(told.value)
        assert str(told.value).startswith(str(place))
    with pytest.raises(PlaceUnavailable, match="names no bucket"):
        AnchorBucket("s3:///x", settings(store))


async def test_the_command_signs_to_a_bucket_and_verifies_from_it(
    database_url: str, pool: Pool, store: ObjectStore, prefix: str, tmp_path: Path
) -> None:
    await PostgresLog(pool).append([unit(Game("ox-1").adds(3))])
    told = {
        "DATABASE_URL": database_url, "PLAYMOLT_DATA": str(tmp_path), "PLAYMOLT_ANCHOR_URL": f"s3://{BUCKET}/{prefix}",
        "PLAYMOLT_ANCHOR_ENDPOINT": store.endpoint, "PLAYMOLT_ANCHOR_ACCESS_KEY": ACCESS_KEY,
        "PLAYMOLT_ANCHOR_SECRET_KEY": SECRET_KEY,
    }  # fmt: skip
    none = await command(told, "verify", "--anchors")
    assert none[0] == 2
    assert f"No anchors at s3://{BUCKET}/{prefix}" in none[1]
    status, said = await command(told, "anchor")
    assert (status, said.strip()) == (0, f"1 heads up to position 3 anchored in s3://{BUCKET}/{prefix}")
    assert (tmp_path / "anchor-key.pem").exists()
    assert not (tmp_path / "anchors.jsonl").exists()
    # The contract's game has no rules here to be folded by: what is asked is whether anything is told of anchors.
    for where in ((), (f"s3://{BUCKET}/{prefix}",)):
        said = (await command(told, "verify", "--anchors", *where))[1]
        assert "3 events in 1 streams" in said
        assert "anchor" not in said
    store.client().delete_object(Bucket=BUCKET, Key=f"{prefix}/0000000001.json")
    store.client().put_object(Bucket=BUCKET, Key=f"{prefix}/0000000001.json", Body=b"{}\n")
    status, said = await command(told, "verify", "--anchors")
    assert status == 1
    assert "BREAK  the log event 0: anchor 1 cannot be read" in said


async def command(told: dict[str, str], *arguments: str) -> tuple[int, str]:
    done = await asyncio.to_thread(partial(playmolt, "log", *arguments, environment=told))
    return done.returncode, done.stdout + done.stderr
