"""The relay on real servers: whatever is killed when, stream sequence k holds position k, byte for byte."""

import asyncio
import json
import math
import os
import random
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import nats
import pytest
from nats.aio.client import Client
from playmolt_cli.local import probe
from playmolt_cli.local.embedded import Nats
from playmolt_core.bus.batches import Fenced, StreamMessage
from playmolt_core.bus.jetstream import JetStream, StoredMessage, open_jetstream
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.pool import Pool, open_pool, queries
from playmolt_core.db.projections import PgProjections
from playmolt_core.log.batch import batch_of
from playmolt_core.log.port import Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.ops import telemetry
from playmolt_core.relay import relay as relay_module
from playmolt_core.relay.projector import Projector, rebuild
from playmolt_core.relay.relay import FeedBroken
from playmolt_core.settings import Settings
from playmolt_schemas import subjects
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.records import Record

from core.tests.log.log_contract import Game, Stored, all_stored, opened, statuses, unit
from tests.integration.log import finished
from tests.integration.log.finished import ox_results

LIMIT = 1_000_000
APPEND = queries("log")["append"]


def form_of(record: Record) -> bytes | None:
    """The public message of a record, in place of a game's rules."""
    if record.stream.startswith("lobby-"):
        return None
    return canonical_json({"type": record.type, "말": record.version, "text": "x" * (len(record.data) // 2)})


Relay = partial(relay_module.Relay, form_of=form_of)


def as_event(entry: Stored) -> StreamMessage:
    """What EVENTS has to hold, made without the relay's help."""
    record = entry.record
    game = record.stream.partition("-")[0]
    return StreamMessage(f"events.{game}.{record.stream}.{record.type}", msgspec.json.encode(record))


def as_public(entry: Stored) -> StreamMessage:
    """What SPECTATE has to hold."""
    stream = entry.record.stream
    game = stream.partition("-")[0]
    form = form_of(entry.record)
    if form is None:
        return StreamMessage(f"sealed.{game}.{stream}", b"")
    return StreamMessage(f"spectate.{game}.{stream}", form, {subjects.CLOSES_HEADER: "1"} if entry.closes else {})


STREAMS = {subjects.EVENTS_STREAM: as_event, subjects.SPECTATE_STREAM: as_public}


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, size=8)
    yield pool
    await pool.close()


@pytest.fixture
async def log(pool: Pool) -> PostgresLog:
    return PostgresLog(pool)


@asynccontextmanager
async def jetstream(url: str, **settings: Any) -> AsyncIterator[JetStream]:
    bus = await open_jetstream(Settings(**{"nats_url": url, "stream_storage": "file", **settings}), "relay")
    try:
        yield bus
    finally:
        await bus.close()


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[JetStream]:
    async with jetstream(nats_url) as bus:
        yield bus


@asynccontextmanager
async def running(*work: Awaitable[None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        yield
    finally:
        # Before Python 3.12 `asyncio.wait_for`, of which nats-py makes much use, forgets that it is cancelled when its
        # result comes in the same moment: the relay then goes on, and who waits for it waits for ever.
        while left := [task for task in tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=1)
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)


async def everything(log: PostgresLog) -> list[Stored]:
    entries: list[Stored] = []
    while chunk := await all_stored(log, len(entries), 1_000):
        entries += chunk
    return entries


async def message(bus: JetStream, stream: str, sequence: int) -> StreamMessage | None:
    found = await bus.held(stream, sequence)
    return found.message if found else None


async def held(bus: JetStream, stream: str, sequences: Sequence[int]) -> list[StreamMessage | None]:
    return [await message(bus, stream, sequence) for sequence in sequences]


async def assert_same(log: PostgresLog, bus: JetStream, first: int = 1) -> None:
    """Both streams hold the positions from `first` on, each at its own sequence, subject and bytes compared."""
    entries = (await everything(log))[first - 1 :]
    for stream, message_of in STREAMS.items():
        state = await bus.state(stream)
        assert state is not None
        assert (state.first, state.last) == (first, first - 1 + len(entries))
        for entry in entries:
            found = await bus.held(stream, entry.record.position)
            assert found == StoredMessage(message_of(entry), fenced=True)


def caught_up(log: PostgresLog, bus: JetStream) -> Callable[[], Awaitable[bool]]:
    async def compare() -> bool:
        with suppress(BusUnavailable):
            position = await log.position()
            states = [await bus.state(stream) for stream in STREAMS]
            return all(state is not None and state.last == position for state in states)
        return False

    return compare


async def test_both_streams_hold_the_log_position_for_position(log: PostgresLog, bus: JetStream) -> None:
    game, lobby = Game("ox-1"), Game("lobby-ox")
    await log.append([
        unit(game.adds(2), lobby.adds(1, summary=None, kind="seat_taken")),
        unit(game.adds(1, kind="game_end", closes=True)),
    ])  # fmt: skip
    await Relay(log, bus, LIMIT).step()
    events = await held(bus, subjects.EVENTS_STREAM, [1, 3, 4])
    assert [message.subject for message in events if message] == [
        "events.ox.ox-1.moved", "events.lobby.lobby-ox.seat_taken", "events.ox.ox-1.game_end",
    ]  # fmt: skip
    shown = await held(bus, subjects.SPECTATE_STREAM, [1, 3, 4])
    assert shown[1] == StreamMessage("sealed.lobby.lobby-ox", b"")
    assert shown[2] is not None
    assert (shown[2].subject, shown[2].headers) == ("spectate.ox.ox-1", {subjects.CLOSES_HEADER: "1"})
    await assert_same(log, bus)


async def test_a_private_games_messages_carry_the_hash_of_its_invite_until_the_last(
    log: PostgresLog, bus: JetStream
) -> None:
    game, invite = Game("ox-1"), "f" * 64
    summary = GameSummary("waiting", 0, 1, 5, invite=invite)
    await log.append([unit(opened(game, summary)), unit(Game("ox-2").adds(1))])
    await log.append([unit(game.adds(1, summary=summary))])
    await log.append([unit(game.adds(1, kind="game_aborted", closes=True, summary=summary))])
    await Relay(log, bus, LIMIT).step()
    shown = await held(bus, subjects.SPECTATE_STREAM, [1, 2, 3, 4])
    hidden = {subjects.INVITE_HEADER: invite}
    assert [message and message.headers for message in shown] == [hidden, {}, hidden, {subjects.CLOSES_HEADER: "1"}]


async def test_a_long_log_goes_over_in_batches(log: PostgresLog, bus: JetStream) -> None:
    big = b'"' + b"x" * 400_000 + b'"'
    await log.append([unit(Game("ox-1").adds(1_203))])
    await log.append([unit(Game("ox-2").adds(12, data=big))])
    relay, steps = Relay(log, bus, LIMIT), 0
    while await relay.step():
        steps += 1
    assert steps == 3
    await assert_same(log, bus)


async def test_rival_relays_writers_that_roll_back_and_a_server_killed_again_and_again(
    pool: Pool, log: PostgresLog, nats_server: Nats
) -> None:
    chance = random.Random(7)
    await pool.fetch("SELECT log.enter_types('{moved}')")  # of an append that is rolled back the type would be, too
    async with jetstream(nats_server.url) as one, jetstream(nats_server.url) as two:
        relays = [Relay(log, one, LIMIT), Relay(PostgresLog(pool), two, LIMIT)]

        async def write(number: int) -> None:
            mine, game = PostgresLog(pool), Game(f"ox-{number}")
            for turn in range(25):
                if chance.random() < 0.2:
                    async with pool.connection() as connection:
                        lost = connection.transaction()
                        await lost.start()
                        await connection.fetchval(APPEND, *batch_of([unit(game.twin().adds(2))]))
                        await lost.rollback()
                assert statuses(await mine.append([unit(game.adds(1 + turn % 3))])) == ["appended"]
                await asyncio.sleep(0.01)

        async def kill() -> None:
            for _ in range(5):
                await asyncio.sleep(0.4)
                nats_server.kill()
                nats_server.start()

        async with running(*(relay.run() for relay in relays)):
            await asyncio.gather(kill(), *(write(number) for number in range(20)))
            await until(caught_up(log, one))
        await assert_same(log, one)


async def test_a_store_that_is_lost_whole_is_filled_again(log: PostgresLog, nats_server: Nats) -> None:
    game = Game("ox-1")
    await log.append([unit(game.adds(30))])
    async with jetstream(nats_server.url) as bus:
        async with running(Relay(log, bus, LIMIT).run()):
            await until(caught_up(log, bus))
            nats_server.stop()
            shutil.rmtree(nats_server.folder / "jetstream")
            nats_server.start()
            await log.append([unit(game.adds(5))])
            await until(caught_up(log, bus))
        await assert_same(log, bus)


@pytest.mark.parametrize("notified", [True, False])
async def test_a_store_that_lost_its_tail_is_filled_up_though_nothing_happens(
    log: PostgresLog, nats_server: Nats, folder: Path, notified: bool
) -> None:
    """Notified: the relay's own connection broke. Otherwise the stream's leader failed, behind another server."""
    game, store = Game("ox-1"), nats_server.folder / "jetstream"
    await log.append([unit(game.adds(10))])
    async with jetstream(nats_server.url) as bus:
        # By itself it looks after a second. Notified, it looks at once, and by itself only after the test.
        relay = Relay(log, bus, LIMIT, check_seconds=3_600 if notified else 1)
        while await relay.step():
            pass
        nats_server.stop()
        shutil.copytree(store, folder / "older")
        nats_server.start()
        await until(_connected(bus))
        await log.append([unit(game.adds(10))])
        while await relay.step():
            pass
        nats_server.stop()
        shutil.rmtree(store)
        shutil.copytree(folder / "older", store)
        nats_server.start()
        await until(_connected(bus))
        state = await bus.state(subjects.EVENTS_STREAM)
        assert state is not None
        assert state.last == 10
        if notified:
            relay.recheck()
        async with running(relay.run()):
            await until(caught_up(log, bus))
        await assert_same(log, bus)


def _connected(bus: JetStream) -> Callable[[], Awaitable[bool]]:
    async def connected() -> bool:
        with suppress(BusUnavailable):
            return bus.connected() and await bus.state(subjects.EVENTS_STREAM) is not None
        return False

    return connected


async def test_a_lost_connection_is_told(nats_server: Nats) -> None:
    changes: list[bool] = []
    async with jetstream(nats_server.url) as bus:
        bus.on_change(lambda: changes.append(bus.connected()))
        nats_server.kill()
        nats_server.start()

        async def back() -> bool:
            return changes[-1:] == [True]

        await until(back)


async def test_a_new_stream_starts_with_the_newest_that_are_kept(log: PostgresLog, bus: JetStream) -> None:
    game = Game("ox-1")
    await log.append([unit(game.adds(100))])
    relay = Relay(log, bus, 30)
    while await relay.step():
        pass
    await assert_same(log, bus, first=71)
    await log.append([unit(game.adds(10))])
    await relay.step()
    await assert_same(log, bus, first=81)


async def test_another_number_of_kept_messages_changes_the_stream_there_is(log: PostgresLog, bus: JetStream) -> None:
    await log.append([unit(Game("ox-1").adds(50))])
    await Relay(log, bus, LIMIT).step()
    await Relay(log, bus, 20).step()
    await assert_same(log, bus, first=31)


async def test_streams_that_are_full_go_on_without_their_oldest(log: PostgresLog, nats_url: str) -> None:
    """What an embedded server keeps in memory has room for: more than it is never an end."""
    game, data = Game("ox-1"), canonical_json({"text": "x" * 400_000})
    async with jetstream(nats_url, stream_storage="memory") as bus:
        relay = Relay(log, bus, LIMIT)
        for _ in range(20):
            await log.append([unit(game.adds(20, data=data))])
            while await relay.step():
                pass
        state = await bus.state(subjects.SPECTATE_STREAM)
        assert state is not None
        assert (state.last, 200 < state.first < 400) == (400, True)


async def test_streams_take_neither_deletes_nor_purges(log: PostgresLog, bus: JetStream, nats_url: str) -> None:
    await log.append([unit(Game("ox-1").adds(3))])
    await Relay(log, bus, LIMIT).step()
    connection = await nats.connect(nats_url)
    calls = connection.jetstream(timeout=60)
    for attempt in (calls.purge_stream(subjects.EVENTS_STREAM), calls.delete_msg(subjects.EVENTS_STREAM, 1)):
        with pytest.raises(nats.js.errors.APIError):
            await attempt
    await connection.close()
    await assert_same(log, bus)


async def test_a_batch_is_stored_whole_behind_the_expected_end_or_not_at_all(bus: JetStream) -> None:
    await bus.ensure("EVENTS", ["events.>"], first=1, limit=10)
    messages = [StreamMessage("events.a", b"%d" % number) for number in range(3)]
    for wrong in (1, 7):
        for batch in (messages, messages[:1]):
            with pytest.raises(Fenced):
                await bus.publish(batch, after=wrong)
    await bus.publish(messages, after=0)
    with pytest.raises(Fenced):
        await bus.publish(messages, after=0)
    state = await bus.state("EVENTS")
    assert state is not None
    assert state.last == 3


async def test_what_no_stream_takes_is_unavailable(bus: JetStream) -> None:
    for count in (1, 3):
        with pytest.raises(BusUnavailable):
            await bus.publish([StreamMessage("nowhere.a", b"")] * count, after=0)


async def test_lost_streams_are_filled_again_behind_what_was_archived(
    log: PostgresLog, bus: JetStream, pool: Pool
) -> None:
    """Also when they are to keep more than when it was archived: a hole in them would be for ever."""
    old, young = Game("ox-1"), Game("ox-2")
    await log.append([unit(old.adds(2)), unit(young.adds(1)), unit(old.ends()), unit(young.adds(2))])
    ended = json.dumps([{"stream": old.stream, "version": old.version, "hash": old.hash}])
    await pool.value("SELECT log.prune($1, 'a file', $2)", ended, bytes(32))
    relay = Relay(log, bus, LIMIT)
    while await relay.step():
        continue
    left = await all_stored(log, 2, 99)
    for stream, message_of in STREAMS.items():
        state = await bus.state(stream)
        assert state is not None
        assert (state.first, state.last) == (3, 6)
        assert await held(bus, stream, [3, 4, 5, 6]) == [message_of(entry) for entry in left]


async def test_a_database_set_back_is_refused(log: PostgresLog, bus: JetStream, pool: Pool) -> None:
    await log.append([unit(Game("ox-1").adds(3))])
    relay = Relay(log, bus, LIMIT)
    await relay.step()
    await _set_back(pool, 2)
    with pytest.raises(FeedBroken, match="set back"):
        await relay.step()
    with pytest.raises(FeedBroken, match="set back"):
        await Relay(log, bus, LIMIT).step()


async def _set_back(pool: Pool, position: int) -> None:
    async with pool.transaction() as connection:
        await connection.execute("ALTER TABLE log.record DISABLE TRIGGER append_only")
        await connection.execute("DELETE FROM log.record WHERE position > $1", position)
        await connection.execute("UPDATE log.head SET position = $1", position)


async def _publish(url: str, *messages: tuple[str, bytes]) -> None:
    stranger = await nats.connect(url)
    for subject, body in messages:
        await stranger.jetstream(timeout=60).publish(subject, body)
    await stranger.close()


@pytest.mark.parametrize("count", [1, 7, 40])
async def test_what_others_publish_into_a_stream_is_dropped_and_published_again(
    log: PostgresLog, bus: JetStream, nats_url: str, count: int
) -> None:
    """Fewer than the log goes on by, and more than it is long."""
    game = Game("ox-1")
    await log.append([unit(game.adds(20))])
    relay = Relay(log, bus, LIMIT)
    await relay.step()
    await _publish(nats_url, *[("spectate.ox.ox-1", b"{}"), ("sealed.ox.ox-1", b"")] * count)
    await log.append([unit(game.adds(3))])
    while await relay.step():
        pass
    await assert_same(log, bus)
    assert relay.rebuilds == {subjects.EVENTS_STREAM: 0, subjects.SPECTATE_STREAM: 1}


async def test_the_very_message_that_is_due_is_foreign_when_others_publish_it(
    log: PostgresLog, bus: JetStream, nats_url: str
) -> None:
    """Else the relay would build upon it, and foreign messages would lie between its own."""
    game = Game("ox-1")
    await log.append([unit(game.adds(3))])
    relay = Relay(log, bus, LIMIT)
    await relay.step()
    await log.append([unit(game.adds(2))])
    due = as_event((await everything(log))[3])
    await _publish(nats_url, (due.subject, due.body))
    while await relay.step():
        pass
    await assert_same(log, bus)
    assert relay.rebuilds[subjects.EVENTS_STREAM] == 1


async def test_a_stream_that_others_filled_to_its_limit_is_made_anew(
    log: PostgresLog, bus: JetStream, nats_url: str
) -> None:
    await log.append([unit(Game("ox-1").adds(30))])
    await Relay(log, bus, 10).step()
    await _publish(nats_url, *[("events.ox.ox-1.moved", b"{}")] * 15)
    relay = Relay(log, bus, 10)
    while await relay.step():
        pass
    await assert_same(log, bus, first=21)
    assert relay.rebuilds[subjects.EVENTS_STREAM] == 1


async def test_a_log_that_was_set_back_is_not_mended_away(
    log: PostgresLog, bus: JetStream, pool: Pool, nats_url: str
) -> None:
    await log.append([unit(Game("ox-1").adds(5))])
    relay = Relay(log, bus, LIMIT)
    await relay.step()
    await _publish(nats_url, ("events.ox.ox-1.moved", b"{}"))
    await _set_back(pool, 3)
    for each in (relay, Relay(log, bus, LIMIT)):
        with pytest.raises(FeedBroken, match="set back"):
            await each.step()
    state = await bus.state(subjects.EVENTS_STREAM)
    assert state is not None
    assert state.last == 6
    assert relay.rebuilds == {subjects.EVENTS_STREAM: 0, subjects.SPECTATE_STREAM: 0}


async def test_own_messages_that_differ_from_the_log_are_refused_and_not_built_upon(
    log: PostgresLog, bus: JetStream, nats_url: str
) -> None:
    game = Game("ox-1")
    await log.append([unit(game.adds(3))])
    relay = Relay(log, bus, LIMIT)
    await relay.step()
    await bus.publish([StreamMessage("spectate.ox.ox-1", b"{}")], after=3)
    await _publish(nats_url, ("spectate.ox.ox-1", b"{}"))
    await log.append([unit(game.adds(3))])
    for each in (relay, Relay(log, bus, LIMIT)):
        with pytest.raises(FeedBroken, match="differs from the log at 4"):
            await each.step()
    state = await bus.state(subjects.SPECTATE_STREAM)
    assert state is not None
    assert state.last == 5


async def test_two_relays_mend_what_is_published_again_and_again(log: PostgresLog, nats_server: Nats) -> None:
    game = Game("ox-1")

    async def taken() -> bool:
        try:
            await _publish(nats_server.url, ("events.ox.ox-1.moved", b"{}"), ("spectate.ox.ox-1", b"{}"))
        except (nats.errors.Error, nats.js.errors.Error):
            return False  # the streams are not there yet, or away just now
        return True

    async with jetstream(nats_server.url) as one, jetstream(nats_server.url) as two:
        relays = [Relay(log, one, LIMIT), Relay(log, two, LIMIT)]

        async def mended() -> bool:
            """Whether both streams are as the log is; that they end where it does may be a stranger's doing."""
            with suppress(AssertionError, BusUnavailable):
                await assert_same(log, one)
                return True
            return False

        async with running(*(relay.run() for relay in relays)):
            for _ in range(10):
                await log.append([unit(game.adds(3))])
                await until(taken)
            await until(mended)
        assert sum(relays[0].rebuilds.values()) + sum(relays[1].rebuilds.values()) > 0


async def test_a_broken_feed_does_not_move_and_goes_on_once_repaired(log: PostgresLog, nats_server: Nats) -> None:
    game = Game("ox-1")
    await log.append([unit(game.adds(3))])
    async with jetstream(nats_server.url) as bus:
        relay = Relay(log, bus, LIMIT)
        await relay.step()
        await bus.publish([StreamMessage("events.ox.ox-1.moved", b"{}")], after=3)

        async def moving() -> bool:
            return relay.moving

        async def still() -> bool:
            return not relay.moving

        async with running(relay.run()):
            await log.append([unit(game.adds(1))])
            await until(still)
            await bus.drop(subjects.EVENTS_STREAM)
            await until(moving)
            await until(caught_up(log, bus))
        await assert_same(log, bus)


async def test_a_wrong_hash_of_an_engine_is_told_once(
    log: PostgresLog, bus: JetStream, nats_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry.configure("relay")
    good, lobby = Game("trial-1"), Game("lobby-ox")
    lying = unit(Game("ox-1").adds(3))
    false = msgspec.structs.replace(lying.streams[0].records[-1], hash="ab" * 32)
    part = msgspec.structs.replace(lying.streams[0], records=[*lying.streams[0].records[:-1], false])
    await log.append([unit(good.adds(2)), msgspec.structs.replace(lying, streams=[part]), unit(lobby.adds(1))])
    relay = Relay(log, bus, LIMIT)
    await relay.step()
    assert {game: count for game, count in relay.chain_faults.items() if count} == {"ox": 1}
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines() if "chain_broken" in line]
    assert [(line["level"], line["stream"], line["version"]) for line in told] == [("error", "ox-1", 3)]
    await assert_same(log, bus)
    await _publish(nats_url, ("events.ox.ox-1.moved", b"{}"))
    relay.recheck()
    while await relay.step():
        pass
    assert (relay.rebuilds[subjects.EVENTS_STREAM], relay.chain_faults["ox"]) == (1, 1)


def ended(game: Game, points: dict[str, int]) -> list[Unit]:
    results = [line | {"points": points[line["agent_id"]]} for line in ox_results(list(points))]
    if game.stream.startswith("trial"):
        results = [line | {"role": "JUROR", "team": None, "won": None} for line in results]
    return finished.ended(game, results)


async def scores(pool: Pool) -> list[tuple[object, ...]]:
    rows = await pool.fetch("SELECT agent_id, game_type, points, games FROM projection.score ORDER BY 1, 2")
    return [tuple(row) for row in rows]


async def test_two_projectors_count_each_game_once(log: PostgresLog, pool: Pool) -> None:
    projectors = [Projector(PostgresLog(pool), pool) for _ in range(2)]
    async with running(*(projector.run() for projector in projectors)):
        for number in range(30):
            game = Game(f"{'ox' if number % 2 else 'trial'}-{number}")
            await log.append([unit(game.adds(3))])
            await log.append(ended(game, {"agent-a": 2, "agent-b": -1}))
        for projector in projectors:
            assert await projector.sync(60)
    assert await scores(pool) == [
        ("agent-a", "", 60, 30), ("agent-a", "ox", 30, 15), ("agent-a", "trial", 30, 15),
        ("agent-b", "", -30, 30), ("agent-b", "ox", -15, 15), ("agent-b", "trial", -15, 15),
    ]  # fmt: skip


async def test_a_projector_does_not_ask_after_each_commit(log: PostgresLog, pool: Pool) -> None:
    """Its polls are put off, so that one step takes whatever was committed until it is woken."""
    asked = 0

    class Counting(PostgresLog):
        async def position(self, shard: int = 0) -> int:
            nonlocal asked
            asked += 1
            return await super().position(shard)

    projector = Projector(Counting(pool), pool, poll_seconds=math.inf)

    async def waits() -> bool:
        return projector.ready

    async with running(projector.run()):
        await until(waits)
        before = asked
        for number in range(60):
            await log.append(ended(Game(f"ox-{number}"), {"agent-a": 1}))
        assert asked == before
        assert await projector.sync(60)
        assert asked == before + 2  # one for what `sync` waits for, one for the step
    assert await scores(pool) == [("agent-a", "", 60, 60), ("agent-a", "ox", 60, 60)]


async def test_a_game_that_ends_while_the_projector_reads_counts_once(log: PostgresLog, pool: Pool) -> None:
    class Overtaken(PostgresLog):
        async def position(self, shard: int = 0) -> int:
            known = await super().position(shard)
            if known == 1:
                await log.append(ended(Game("ox-2"), {"agent-a": 1}))
            return known

    await log.append(ended(Game("ox-1"), {"agent-a": 1}))
    projector = Projector(Overtaken(pool), pool)
    while await projector.step():
        pass
    assert await scores(pool) == [("agent-a", "", 2, 2), ("agent-a", "ox", 2, 2)]


async def test_a_rebuild_gives_what_the_projector_had(log: PostgresLog, pool: Pool) -> None:
    projector = Projector(log, pool)
    for number in range(5):
        await log.append(ended(Game(f"ox-{number}"), {f"agent-{number % 2}": number}))
    while await projector.step():
        pass
    before = await scores(pool)
    await pool.value("UPDATE projection.score SET points = 77")
    assert await rebuild(pool, log) == (5,)
    assert await scores(pool) == before
    await log.append(ended(Game("ox-9"), {"agent-0": 100}))
    while await projector.step():
        pass
    assert (await PgProjections(pool).points_of("agent-0")).points == 106


async def test_results_that_cannot_be_read_are_skipped(log: PostgresLog, pool: Pool) -> None:
    strange = canonical_json({"results": [{"agent_id": "agent-a", "points": "many"}]})
    await log.append([unit(Game("ox-1").adds(1, kind="game_end", data=strange))])
    await log.append([unit(Game("ox-2").adds(1, kind="game_end", data=b"{}"))])
    await log.append(ended(Game("ox-3"), {"agent-a": 1}))
    await Projector(log, pool).step()
    assert await scores(pool) == [("agent-a", "", 1, 1), ("agent-a", "ox", 1, 1)]


async def test_a_sync_that_cannot_be_reached_is_bounded(log: PostgresLog, pool: Pool) -> None:
    await log.append([unit(Game("ox-1").adds(1))])
    assert not await Projector(log, pool).sync(0.1)


@asynccontextmanager
async def relay_process(database_url: str, nats_url: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PLAYMOLT_", "DATABASE_", "NATS_"))
    } | {
        "DATABASE_URL": database_url,
        "NATS_URL": nats_url,
        "PLAYMOLT_DATABASE_ROLE": "playmolt_relay",
        "PLAYMOLT_HEALTH_PORT": str(port),
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "playmolt_core.relay", env=environment)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def ask(connection: Client, subject: str) -> dict[str, int]:
    answer = await connection.request(subject, b"", timeout=60)
    return msgspec.json.decode(answer.data, type=dict[str, int])


async def test_the_service_relays_answers_and_stops_when_told(
    database_url: str, nats_url: str, log: PostgresLog, pool: Pool
) -> None:
    from playmolt_cli.local.embedded import free_port

    port = free_port()

    async def is_ready() -> bool:
        return (await asyncio.to_thread(probe.ready, f"http://127.0.0.1:{port}/readyz")).ready

    connection = await nats.connect(nats_url)
    async with relay_process(database_url, nats_url, port) as process:
        await until(is_ready)
        away = canonical_json({"agent_id": "agent-a", "name": "A"})
        await log.append([unit(Game("ox-1").adds(4, kind="seat_away", data=away))])
        await log.append(ended(Game("ox-2"), {"agent-a": 3}))
        await connection.publish(subjects.COMMITTED)
        assert await ask(connection, subjects.PROJECTED) == {"position": 5}
        assert (await PgProjections(pool).points_of("agent-a")).points == 3

        async def level() -> bool:
            return await ask(connection, "relay.lag") == {"log": 5, "events": 5, "spectate": 5, "projections": 5}

        await until(level)
        found = msgspec.json.decode((await connection.request("$SRV.PING.relay", b"", timeout=60)).data)
        assert found["name"] == "relay"
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0
    await connection.close()
