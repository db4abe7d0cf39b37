"""A log of three shards on NATS: a pair of streams each, a relay each, and calls that go to the engine of the shard."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import msgspec
import pytest
from playmolt_cli.local.embedded.nats import SERVICES, users
from playmolt_core.bus.client import connect
from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.postgres import PostgresLog, log_of
from playmolt_core.relay.relay import Relay
from playmolt_core.settings import OtherShards, Settings
from playmolt_schemas import subjects
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import Record
from playmolt_schemas.shards import of_shard, shard_of, streams

from core.tests.log.log_contract import Game, Stored, all_stored, unit
from tests.integration.bus.test_bus import Echo
from tests.integration.bus.test_relay import running, until

SHARDS, LIMIT = 3, 1_000
GAMES = [f"ox-{number}" for number in range(12)]


@pytest.fixture
async def pool(sharded_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(sharded_url, size=8)
    yield pool
    await pool.close()


@pytest.fixture
async def log(pool: Pool) -> PostgresLog:
    return await log_of(pool)


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[JetStream]:
    bus = await open_jetstream(Settings(nats_url=nats_url, stream_storage="file"), "relay", SHARDS)
    yield bus
    await bus.close()


def relays(log: PostgresLog, bus: JetStream) -> list[Relay]:
    return [Relay(log, bus, LIMIT, shard, form_of) for shard in range(SHARDS)]


async def entries(log: PostgresLog, shard: int) -> list[Stored]:
    return await all_stored(log, 0, 10_000, shard)


async def caught_up(log: PostgresLog, bus: JetStream, shards: range = range(SHARDS)) -> bool:
    for shard in shards:
        for name in (subjects.EVENTS_STREAM, subjects.SPECTATE_STREAM):
            state = await bus.state(of_shard(name, shard, SHARDS))
            if state is None or state.last != await log.position(shard):
                return False
    return True


async def copies(which: list[bool], relays: list[Relay]) -> bool:
    """A relay that has stored a batch has not said yet that it is ready."""
    return [relay.ready for relay in relays] == which


def form_of(record: Record) -> bytes | None:
    """The public message of a record, in place of a game's rules."""
    return None if record.type == "hidden" else canonical_json({"type": record.type, "version": record.version})


async def assert_same(log: PostgresLog, bus: JetStream) -> None:
    """Sequence is position within the shard, in both streams, and subjects say which it is."""
    for shard in range(SHARDS):
        for entry in await entries(log, shard):
            record = entry.record
            event = await bus.held(of_shard("EVENTS", shard, SHARDS), record.position)
            shown = await bus.held(of_shard("SPECTATE", shard, SHARDS), record.position)
            assert event is not None
            assert shown is not None
            assert event.message.subject == f"events.{shard}.ox.{record.stream}.{record.type}"
            assert event.message.body == msgspec.json.encode(record)
            form = form_of(record)
            kind = "sealed" if form is None else "spectate"
            assert shown.message.subject == f"{kind}.{shard}.ox.{record.stream}"
            assert shown.message.body == (form or b"")


async def write(log: PostgresLog, games: list[Game], turns: int = 3) -> None:
    for turn in range(turns):
        await log.append([unit(game.adds(1, kind="hidden" if turn == 1 else "moved")) for game in games])


async def test_each_shard_is_copied_to_streams_of_its_own(log: PostgresLog, bus: JetStream) -> None:
    games = [Game(name) for name in GAMES]
    async with running(*(relay.run() for relay in relays(log, bus))):
        await write(log, games)
        await until(lambda: caught_up(log, bus))
    await assert_same(log, bus)


async def test_a_lost_stream_is_filled_again_and_no_other_waits(log: PostgresLog, bus: JetStream) -> None:
    games = [Game(name) for name in GAMES]
    copying = relays(log, bus)
    async with running(*(relay.run() for relay in copying)):
        await write(log, games)
        await until(lambda: caught_up(log, bus))
        await bus.drop("EVENTS_1")
        await write(log, games)
        await until(lambda: caught_up(log, bus))
    await assert_same(log, bus)
    assert Counter(rebuilds for relay in copying for rebuilds in relay.rebuilds.values()) == {0: 2 * SHARDS}


async def test_a_shard_that_was_set_back_stops_its_own_feed_alone(log: PostgresLog, bus: JetStream, pool: Pool) -> None:
    games = [Game(name) for name in GAMES]
    async with running(*(relay.run() for relay in relays(log, bus))):
        await write(log, games)
        await until(lambda: caught_up(log, bus))
    async with pool.transaction() as connection:
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute("DELETE FROM log.record WHERE shard = 1 AND position > 3")
        await connection.execute("UPDATE log.head SET position = 3 WHERE shard = 1")
    copying = relays(log, bus)
    others = [game for game in games if shard_of(game.stream, SHARDS) != 1]
    async with running(*(relay.run() for relay in copying)):
        await write(log, others)
        await until(lambda: caught_up(log, bus, range(0, SHARDS, 2)))
        await until(lambda: copies([True, False, True], copying))


async def test_history_is_told_from_the_stream_of_the_game(log: PostgresLog, bus: JetStream, nats_url: str) -> None:
    names = [f"ox-00000000-0000-7000-8000-{number:012}" for number in range(4)]
    async with running(*(relay.run() for relay in relays(log, bus))):
        await write(log, [Game(name) for name in names])
        await until(lambda: caught_up(log, bus))
    await bus.serve_history("relay")
    asking = await connect(Settings(nats_url=nats_url, log_shards=SHARDS), "spectator")
    for name in names:
        told = await asking.history("ox", name, 0, 10)
        assert [msgspec.json.decode(message)["version"] for message in told] == [1, 3]
    await asking.close()


@pytest.mark.parametrize("shards", [None, SHARDS], ids=["not told", "told"])
async def test_a_watch_hears_its_game_in_whatever_shard_it_lies(
    log: PostgresLog, bus: JetStream, nats_url: str, shards: int | None
) -> None:
    watching = await connect(Settings(nats_url=nats_url, log_shards=shards), "spectator")
    watches = {name: await watching.watch("ox", name) for name in GAMES}
    async with running(*(relay.run() for relay in relays(log, bus))):
        await write(log, [Game(name) for name in GAMES])
        for watch in watches.values():
            heard = [await watch.next(60), await watch.next(60)]
            assert [msgspec.json.decode(message or b"null")["version"] for message in heard] == [1, 3]
    for watch in watches.values():
        await watch.close()
    assert watching._watches._subjects == {}
    await watching.close()


async def test_a_service_with_another_number_stops_and_names_both(nats_url: str) -> None:
    engine = Echo(Settings(nats_url=nats_url))
    await engine.bus.open(SHARDS)
    await engine.bus.serve("ox", ["x"], receive=engine.receive, receive_public=engine.receive)
    other = await connect(Settings(nats_url=nats_url, log_shards=2), "spectator")
    with pytest.raises(OtherShards, match="is 2, and this log was made with 3"):
        await asyncio.wait_for(other.same_shards(), 60)
    await other.close()
    await engine.stop()


async def test_games_of_one_shard_meet_in_the_same_engines(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    engines = [Echo(settings) for _ in range(SHARDS)]
    for engine in engines:
        await engine.bus.open(SHARDS)
        await engine.bus.serve("ox", ["x"], receive=engine.receive, receive_public=engine.receive)
    calling = await connect(settings, "gateway")

    async def all_seen() -> bool:
        return len({calling._roster.replica_for("ox", name) for name in GAMES}) == SHARDS

    await until(all_seen)
    await asyncio.gather(*(calling.submit("ox", "act", name) for name in GAMES))
    for engine in engines:
        assert len({shard_of(call.target, SHARDS) for call in engine.calls}) == 1
    assert {shard_of(call.target, SHARDS) for engine in engines for call in engine.calls} == {0, 1, 2}
    await calling.close()
    for engine in engines:
        await engine.stop()


def test_the_relay_alone_gets_at_the_streams_of_every_shard() -> None:
    made = [f"$JS.API.STREAM.CREATE.{stream}" for stream in streams(SHARDS)]
    for user in users(str, SHARDS):
        allowed = set(user.get("permissions", {}).get("publish", {}).get("allow", made))
        assert allowed.issuperset(made) if user["user"] in ("relay", "admin") else allowed.isdisjoint(made)
    assert {user["user"] for user in users(str, SHARDS)} == {*SERVICES, "admin"}
