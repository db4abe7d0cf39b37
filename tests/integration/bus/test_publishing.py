"""Engines publish what they commit, and the relay what they could not: both on real servers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest
from playmolt_cli.local.embedded import Nats
from playmolt_core.bus.batches import BatchPublisher, Settle, StreamMessage
from playmolt_core.bus.engine_bus import EngineBus
from playmolt_core.bus.jetstream import JetStream
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.pool import Pool
from playmolt_core.engine.feed import Feed, StoredRecords
from playmolt_core.log.port import NewRecord
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.relay.relay import PATIENCE_SECONDS, POLL_SECONDS
from playmolt_core.settings import Settings
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.game_messages import GameSummary

from core.tests.log.log_contract import Game, unit
from tests.integration.bus.test_relay import (
    LIMIT,
    STREAMS,
    Relay,
    assert_same,
    bus,
    caught_up,
    log,
    pool,
    running,
    until,
)

__all__ = ["bus", "log", "pool"]

SECONDS = 120.0
_PLAYING = GameSummary("playing", 0, 2, 2)


class Engine:
    """What an engine does after it has decided: append, then publish."""

    def __init__(self, log: PostgresLog, bus: EngineBus) -> None:
        self._log = log
        self._feed = Feed(bus.publish, bus.send, 1)

    async def commit(self, *games: Game, publishes: bool = True, amount: int = 1) -> None:
        parts = [game.adds(amount) for game in games]
        results = await self._log.append([unit(part) for part in parts])
        if publishes:
            stored = [(part, firsts[0]) for part, firsts in zip(parts, results, strict=True) if firsts]
            self._feed.committed([
                StoredRecords(
                    part.stream, first, [_shown(part.stream, each) for each in part.records], _PLAYING, _PLAYING
                )
                for part, first in stored
            ])  # fmt: skip


def _shown(stream: str, record: NewRecord) -> NewRecord:
    public = canonical_json({"type": record.type, "말": record.version, "text": "x" * (len(record.data) // 2)})
    return msgspec.structs.replace(record, public=None if stream.startswith("lobby-") else public)


@asynccontextmanager
async def engine(log: PostgresLog, url: str) -> AsyncIterator[Engine]:
    bus = EngineBus(Settings(nats_url=url), "ox-engine")
    await bus.open()
    try:
        yield Engine(log, bus)
    finally:
        await bus.close()


async def test_a_commit_is_in_both_streams_though_no_relay_runs(
    log: PostgresLog, bus: JetStream, nats_url: str
) -> None:
    game, lobby = Game("ox-1"), Game("lobby-ox")
    async with engine(log, nats_url) as ox:
        await ox.commit(game, publishes=False)
        await Relay(log, bus, LIMIT).step()  # creates the streams
        for _ in range(20):
            await ox.commit(game, lobby, amount=2)
        await until(caught_up(log, bus))
    await assert_same(log, bus)


@pytest.fixture
def confirmed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each batch that is sent asks for a confirmation."""
    asked: list[bool] = []
    send = BatchPublisher.send

    def noted(self: BatchPublisher, messages: Sequence[StreamMessage], after: int, settle: Settle | None) -> None:
        asked.append(settle is not None)
        send(self, messages, after, settle)

    monkeypatch.setattr(BatchPublisher, "send", noted)
    return asked


async def test_commits_that_follow_each_other_are_seldom_confirmed(
    log: PostgresLog, bus: JetStream, nats_url: str, confirmed: list[bool]
) -> None:
    game = Game("ox-1")
    async with engine(log, nats_url) as ox:
        await ox.commit(game, publishes=False)
        await Relay(log, bus, LIMIT).step()
        confirmed.clear()
        for number in range(40):
            await ox.commit(game, amount=1 + number % 2)
            await until(caught_up(log, bus))
    assert confirmed[:2] == [True, True], "the first may be fenced"
    assert any(confirmed[2:])
    assert sum(confirmed) < len(confirmed) / 2
    await assert_same(log, bus)


async def test_commits_after_one_of_another_engine_are_confirmed(
    pool: Pool, log: PostgresLog, bus: JetStream, nats_url: str, confirmed: list[bool]
) -> None:
    games = Game("ox-1"), Game("ox-2")
    await log.append([unit(game.adds(1)) for game in games])
    await Relay(log, bus, LIMIT).step()
    confirmed.clear()
    async with engine(log, nats_url) as one, engine(PostgresLog(pool), nats_url) as other:
        for _ in range(10):
            for ox, game in zip((one, other), games, strict=True):
                await ox.commit(game)
                await until(caught_up(log, bus))
    assert all(confirmed)
    await assert_same(log, bus)


async def test_a_stream_that_disappears_between_commits_is_filled_and_engines_publish_again(
    log: PostgresLog, bus: JetStream, nats_url: str, confirmed: list[bool]
) -> None:
    game = Game("ox-1")
    # Also a server that is slow stores in time.
    patient = Relay(log, bus, LIMIT, patience_seconds=SECONDS)
    relay_batches = patient.batch_sizes.lines("batches", "")[-1]
    async with engine(log, nats_url) as ox:
        async with running(Relay(log, bus, LIMIT).run()):
            for number in range(30):
                await ox.commit(game)
                await until(caught_up(log, bus))
                if number in (10, 20):
                    await bus.drop(list(STREAMS)[number == 20])
        async with running(patient.run()):
            for _ in range(20):
                await ox.commit(game)
                await until(caught_up(log, bus))
    assert patient.batch_sizes.lines("batches", "")[-1] == relay_batches, "the engine publishes by itself"
    assert not all(confirmed)
    await assert_same(log, bus)


async def test_what_an_engine_stored_before_it_died_is_published_by_the_relay(
    log: PostgresLog, bus: JetStream, nats_url: str
) -> None:
    assert POLL_SECONDS + PATIENCE_SECONDS < 0.5
    game = Game("ox-1")
    async with engine(log, nats_url) as ox, running(Relay(log, bus, LIMIT).run()):
        for number in range(12):
            await ox.commit(game, publishes=number % 3 != 0)
        await until(caught_up(log, bus))
    await assert_same(log, bus)


@pytest.mark.parametrize("engines", [2, 4])
async def test_engines_on_one_shard_leave_no_gap_and_need_the_relay_seldom(
    pool: Pool, log: PostgresLog, bus: JetStream, nats_url: str, engines: int
) -> None:
    relay = Relay(log, bus, LIMIT)
    await relay.step()
    async with running(relay.run()):

        async def plays(number: int) -> None:
            games = [Game(f"ox-{number}{place}") for place in range(4)]
            async with engine(PostgresLog(pool), nats_url) as ox:
                for _ in range(40):
                    await ox.commit(*games)
                await until(caught_up(log, bus))

        await asyncio.gather(*(plays(number) for number in range(engines)))
    await assert_same(log, bus)
    batches = int(relay.batch_sizes.lines("batches", "")[-1].split()[-1])
    assert batches < engines * 40, "each commit took a batch of the relay"


async def test_a_server_that_is_lost_is_filled_and_engines_publish_again(
    log: PostgresLog, nats_server: Nats, bus: JetStream
) -> None:
    game, relay = Game("ox-1"), Relay(log, bus, LIMIT)
    async with engine(log, nats_server.url) as ox, running(relay.run()):
        for number in range(30):
            await ox.commit(game)
            if number == 10:
                nats_server.kill()
                nats_server.start()
        await until(caught_up(log, bus))
    await assert_same(log, bus)


async def test_a_message_that_the_server_would_refuse_is_not_sent_and_the_connection_lives(
    log: PostgresLog, bus: JetStream, nats_url: str
) -> None:
    """The server closes the connection for good when body and headers exceed its limit."""
    await log.append([unit(Game("ox-1").adds(1))])
    await Relay(log, bus, LIMIT).step()
    large = StreamMessage("events.ox.ox-1.moved", b"x" * (1024 * 1024 - 10))
    with pytest.raises(BusUnavailable, match="max_payload"):
        await bus.publish([large], after=1)
    assert await bus.fault() == ""
    await bus.publish([StreamMessage("events.ox.ox-1.moved", b"{}")], after=1)
