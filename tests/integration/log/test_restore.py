"""A restore rehearsed: a base backup, archived WAL, a moment between two records; what was lost is listed by stream.

Then the streams are filled again, the anchors are content, and games go on.
"""

import asyncio
import gzip
import json
import os
import pwd
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from click.testing import CliRunner, Result
from playmolt_cli.local.embedded import Postgres
from playmolt_cli.main import cli
from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import open_pool
from playmolt_core.log.erasing import SessionEraser
from playmolt_core.log.port import ERASED
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.relay.relay import FeedBroken, Relay
from playmolt_core.settings import Settings
from playmolt_schemas import subjects

from core.tests.log.log_contract import Game, statuses, unit
from tests.integration.log.sessions import store_key
from tests.integration.log.test_backup import base_backup
from tests.platforms import EMPTY, copied_cluster

LIMIT = 1_000
SEALED = b'{"sealed":"v1.' + b"A" * 48 + b'"}'
"""Data as it lies in the log of a session; without its key nobody asks what it says."""


async def run(*arguments: object, **told: str) -> Result:
    environment = {"DATABASE_URL": "", "NATS_URL": "", **told}
    return await asyncio.to_thread(CliRunner().invoke, cli, [str(each) for each in arguments], env=environment)


async def ask(url: str, *statements: str) -> Any:
    connection = await asyncpg.connect(url, timeout=30)
    try:
        for statement in statements:
            said = await connection.fetchval(statement, timeout=30)
        return said
    finally:
        await connection.close(timeout=30)


class Archived:
    """A server that archives its WAL, and servers made of that."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._wal = folder, folder / "wal"
        self._wal.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self._wal, pwd.getpwnam("nobody").pw_name)
        self.first = Postgres(copied_cluster(folder / "first", EMPTY))

    async def start(self) -> None:
        await asyncio.to_thread(self.first.start)
        keep = f"test ! -f {self._wal}/%f && cp %p {self._wal}/%f.part && mv {self._wal}/%f.part {self._wal}/%f"
        await ask(self.first.url, "ALTER SYSTEM SET archive_mode = on", f"ALTER SYSTEM SET archive_command = '{keep}'")
        await asyncio.to_thread(self.first.stop)
        await asyncio.to_thread(self.first.start)
        await migrate(self.first.url, "all")

    async def restored(self, moment: datetime) -> Postgres:
        last = await ask(self.first.url, "SELECT pg_walfile_name(pg_switch_wal())")
        async with asyncio.timeout(60):
            while not (self._wal / last).exists():
                await asyncio.sleep(0.05)
        server = Postgres(self._folder / "restored")
        shutil.copyfile(self._folder / "first" / "password", self._folder / "restored" / "password")
        with (server.cluster / "postgresql.auto.conf").open("a") as settings:
            settings.write(
                f"archive_mode = off\nrestore_command = 'cp {self._wal}/%f %p'\n"
                f"recovery_target_time = '{moment.isoformat()}'\nrecovery_target_action = promote\n"
            )
        (server.cluster / "recovery.signal").touch()
        await asyncio.to_thread(server.start)
        async with asyncio.timeout(60):
            while await ask(server.url, "SELECT pg_is_in_recovery()"):
                await asyncio.sleep(0.05)
        return server


@pytest.fixture
async def archived(folder: Path) -> AsyncIterator[Archived]:
    servers = Archived(folder)
    await servers.start()
    yield servers
    await asyncio.to_thread(servers.first.stop)


@asynccontextmanager
async def opened(database: str, nats: str) -> AsyncIterator[tuple[PostgresLog, JetStream]]:
    pool = await open_pool(database)
    bus = await open_jetstream(Settings(nats_url=nats, stream_storage="file"), "relay")
    try:
        yield PostgresLog(pool), bus
    finally:
        await bus.close()
        await pool.close()


async def copied(log: PostgresLog, bus: JetStream) -> None:
    relay = Relay(log, bus, LIMIT)
    while await relay.step():
        pass


def lines(path: Path) -> list[tuple[str, int]]:
    return [(each["stream"], each["version"]) for each in map(json.loads, path.read_bytes().splitlines())]


async def test_what_was_played_after_the_moment_is_listed_and_all_goes_on(
    archived: Archived, folder: Path, nats_url: str, tmp_path: Path
) -> None:
    place, key, export = tmp_path / "anchors.jsonl", tmp_path / "key.pem", tmp_path / "log.jsonl"
    kept, moved, new = Game("note-kept"), Game("note-moved"), Game("note-new")
    anchor = ("log", "anchor", "--out", place, "--key", key)
    async with opened(archived.first.url, nats_url) as (log, bus):
        await log.append([unit(kept.adds(3, summary=None)), unit(moved.adds(2, summary=None))])
        await asyncio.to_thread(base_backup, archived.first.url, folder / "restored")
        await log.append([unit(moved.adds(1, summary=None))])
        moment = await ask(archived.first.url, "SELECT clock_timestamp()")
        await log.append([unit(moved.adds(2, summary=None)), unit(new.adds(4, summary=None))])
        await copied(log, bus)
    first = {"DATABASE_URL": archived.first.url}
    assert (await run(*anchor, **first)).exit_code == 0
    assert (await run("log", "export", "--running", "--out", export, **first)).exit_code == 0

    server = await archived.restored(moment)
    told = {"DATABASE_URL": server.url, "NATS_URL": nats_url}
    lost = {"note-moved": (3, 5, 2), "note-new": (0, 4, 4)}
    for source in (export, f"anchors:{place}", "nats", archived.first.url):
        out = tmp_path / "lost.jsonl"
        done = await run("log", "lost", "--against", source, "--json", "--out", out, **told)
        said = json.loads(done.stdout)
        assert (done.exit_code, said["position"], said["lost"]) == (1, 6, 6)
        assert {each["stream"]: (each["kept"], each["known"], each["lost"]) for each in said["streams"]} == lost
        heads_alone = str(source).startswith("anchors:")
        assert [each["first_at"] is None for each in said["streams"]] == [heads_alone] * 2
        records = [*(("note-moved", version) for version in (4, 5)), *(("note-new", n) for n in (1, 2, 3, 4))]
        assert lines(out) == ([] if heads_alone else records)
    text = (await run("log", "lost", "--against", export, "--against", f"anchors:{place}", **told)).stdout.splitlines()
    assert [line.partition(",")[0] for line in text] == [
        "note-moved: 2 lost after 3", "note-new: 4 lost after 0", "6 records of 2 streams lost",
    ]  # fmt: skip

    verify = ("log", "verify", "--json", "--anchors", place)
    before = await run(*verify, **told)
    assert before.exit_code == 1
    assert {each["stream"] for each in json.loads(before.stdout)["breaks"]} == {"", "note-moved", "note-new"}
    assert (await run(*anchor, **told)).exit_code == 2, "only who says so may go on behind a log that was set back"
    assert (await run(*anchor, "--restored", **told)).exit_code == 0
    after = json.loads((done := await run(*verify, **told)).stdout)
    assert (done.exit_code, after["breaks"], after["lost"]) == (0, [], 6)

    async with opened(server.url, nats_url) as (log, bus):
        with pytest.raises(FeedBroken, match="set back"):
            await copied(log, bus)
        for stream in (subjects.EVENTS_STREAM, subjects.SPECTATE_STREAM):
            await bus.drop(stream)
        again = Game("note-moved")
        again.records(3)
        stored = await log.load("note-moved")
        assert stored is not None
        again.version, again.hash = stored.head.version, stored.head.hash
        units = [unit(again.adds(4, summary=None)), unit(kept.adds(1, summary=None))]
        assert statuses(await log.append(units)) == ["appended"] * 2
        await copied(log, bus)
        state = await bus.state(subjects.EVENTS_STREAM)
        assert state is not None
        assert state.last == await log.position() == 11
    assert (await run(*anchor, **told)).exit_code == 0
    went_on = json.loads((done := await run(*verify, **told)).stdout)
    assert (done.exit_code, went_on["breaks"], went_on["lost"], went_on["events"]) == (0, [], 6, 11)
    forked = json.loads((await run("log", "lost", "--against", export, "--json", **told)).stdout)
    assert {each["stream"]: (each["kept"], each["forked"]) for each in forked["streams"]} == {
        "note-moved": (3, 4), "note-new": (0, None),
    }  # fmt: skip
    await asyncio.to_thread(server.stop)


async def told_in_session(url: str, stream: str) -> None:
    """A sealed session with two records."""
    pool = await open_pool(url, writes=True)
    await store_key(pool, stream)
    records = Game(stream).adds(2, summary=None, data=SEALED)
    assert statuses(await PostgresLog(pool).append([unit(records)])) == ["appended"]
    await pool.close()


async def erased(url: str, stream: str) -> None:
    pool = await open_pool(url, writes=True)
    assert await SessionEraser(pool).erase(stream, "owner") is not None
    await pool.close()


async def test_what_was_erased_after_the_moment_is_erased_again(
    archived: Archived, folder: Path, tmp_path: Path
) -> None:
    place, key, url = tmp_path / "anchors.jsonl", tmp_path / "key.pem", archived.first.url
    for stream in ("legal-before", "legal-after", "jury-after", "legal-kept"):
        await told_in_session(url, stream)
    await asyncio.to_thread(base_backup, url, folder / "restored")
    await erased(url, "legal-before")
    moment = await ask(url, "SELECT clock_timestamp()")
    await told_in_session(url, "legal-new")
    for stream in ("legal-after", "jury-after", "legal-new"):
        await erased(url, stream)
    anchor = ("log", "anchor", "--out", place, "--key", key)
    assert (await run(*anchor, DATABASE_URL=url)).exit_code == 0

    server = await archived.restored(moment)
    told = {"DATABASE_URL": server.url}
    open_keys = "SELECT count(*) FROM vault.key WHERE wrapped IS NOT NULL"
    assert await ask(server.url, open_keys) == 3, "what was erased after the moment opens again"
    again = json.loads((done := await run("erase", "--again", place, "--json", **told)).stdout)
    assert done.exit_code == 0, done.output
    assert {each["id"]: each["again"] for each in again["erased"]} == {
        "legal-before": True, "legal-after": False, "jury-after": False,
    }  # fmt: skip
    assert again["missing"] == ["legal-new"], "what was opened after the moment is gone as it is"
    assert await ask(server.url, open_keys) == 1
    assert (await run(*anchor, "--restored", **told)).exit_code == 0
    verified = json.loads((done := await run("log", "verify", "--json", "--anchors", place, **told)).stdout)
    assert (done.exit_code, verified["breaks"], verified["erased"], verified["unverified"]) == (0, [], 3, 1)
    pool = await open_pool(server.url)
    stored = await PostgresLog(pool).versions(["legal-before", "legal-after", "jury-after", "legal-kept"])
    await pool.close()
    assert [stream for stream, version in stored.items() if version != ERASED] == ["legal-kept"]
    twice = json.loads((await run("erase", "--again", place, "--json", **told)).stdout)
    assert [each["again"] for each in twice["erased"]] == [True] * 3
    await asyncio.to_thread(server.stop)


async def test_only_what_is_chained_counts(database_url: str, empty_database_url: str, tmp_path: Path) -> None:
    await migrate(empty_database_url, "all")
    pool = await open_pool(database_url)
    await PostgresLog(pool).append(
        [unit(Game("note-1").adds(4, summary=None)), unit(Game("note-2").adds(2, summary=None))]
    )
    await pool.close()
    whole, edited, cut = tmp_path / "whole.jsonl", tmp_path / "edited.jsonl", tmp_path / "cut.jsonl.gz"
    assert (await run("log", "export", "--running", "--out", whole, DATABASE_URL=database_url)).exit_code == 0
    rows = whole.read_bytes().splitlines(keepends=True)
    edited.write_bytes(
        b"".join([*rows[:2], rows[2].replace(b'"version":3', b'"version": 3').replace(b"moved", b"won"), *rows[3:]])
    )
    cut.write_bytes(gzip.compress(whole.read_bytes())[:-12])
    told = {"DATABASE_URL": empty_database_url}
    found = [
        json.loads((await run("log", "lost", "--against", path, "--json", **told)).stdout) for path in (whole, edited)
    ]
    assert [each["lost"] for each in found] == [6, 4]
    for source in (cut, tmp_path / "none", "anchors:" + str(tmp_path / "none"), f"anchors:{whole}", "nats"):
        done = await run("log", "lost", "--against", source, **told, PLAYMOLT_DATA=str(tmp_path))
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), done.output
    same = await run("log", "lost", "--against", whole, DATABASE_URL=database_url)
    assert (same.exit_code, same.stdout) == (0, "0 records of 0 streams lost\n")


async def test_another_database_is_read_past_a_session_that_was_erased(
    database_url: str, empty_database_url: str, tmp_path: Path
) -> None:
    await migrate(empty_database_url, "all")
    await told_in_session(database_url, "legal-gone")
    await erased(database_url, "legal-gone")
    pool = await open_pool(database_url)
    await PostgresLog(pool).append([unit(Game("note-1").adds(2, summary=None))])
    await pool.close()
    out = tmp_path / "lost.jsonl"
    done = await run("log", "lost", "--against", database_url, "--json", "--out", out, DATABASE_URL=empty_database_url)
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    assert {each["stream"]: each["lost"] for each in found["streams"]}["note-1"] == 2
    assert ("note-1", 2) in lines(out)
