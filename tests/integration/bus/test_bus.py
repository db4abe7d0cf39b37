"""Calls over a real NATS server: packing, preference, failover, bounds; watches and their gaps."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
import nats.errors
import pytest
import uvloop
from nats.aio.msg import Msg
from playmolt_cli.local.embedded import Nats
from playmolt_core.bus.client import NatsBus, connect
from playmolt_core.bus.connection import delivered, fault_of, open_connection
from playmolt_core.bus.engine_bus import EngineBus, Respond
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.settings import Settings
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.identifiers import time_ordered_id
from playmolt_schemas.subjects import CLOSES_HEADER, spectate

from core.tests.waiting import suspend

GAME = "ox-00000000-0000-7000-8000-000000000001"


class Echo:
    """An engine that answers every call with what it got, or keeps silent."""

    def __init__(self, settings: Settings, game: str = "ox") -> None:
        self.bus, self.game = EngineBus(settings, f"{game}-engine"), game
        self.calls: list[Call] = []
        self.silent = False

    def receive(self, call: Call, respond: Respond) -> None:
        self.calls.append(call)
        if not self.silent:
            respond(Answer(call.id, 200, msgspec.json.encode([call.op, call.target, call.agent])))

    def commands(self) -> int:
        """Commands that it got; one that it was slow to answer comes again."""
        return len({call.command_id for call in self.calls})

    async def start(self) -> "Echo":
        await self.bus.open()
        await self.bus.serve(self.game, ["x"], receive=self.receive, receive_public=self.receive)
        return self

    async def stop(self) -> None:
        await self.bus.withdraw()
        await self.bus.close()


@asynccontextmanager
async def caller(settings: Settings, service: str = "gateway") -> AsyncIterator[NatsBus]:
    bus = await connect(settings, service)
    try:
        yield bus
    finally:
        await bus.close()


async def until(condition: object, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.02)


async def test_a_call_before_any_discovery_is_answered(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    engine = await Echo(settings).start()
    async with caller(settings) as bus:
        answer = await bus.submit("ox", "act", GAME, agent="a")
    assert msgspec.json.decode(answer.body) == ["act", GAME, "a"]
    await engine.stop()


async def test_a_games_calls_meet_in_one_replica_and_move_when_it_leaves(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    engines = [await Echo(settings).start() for _ in range(3)]
    async with caller(settings) as bus:
        await until(lambda: bus.present() == {"ox"} and len(bus._roster._seen) == 3)
        await asyncio.gather(*(bus.submit("ox", "act", GAME) for _ in range(40)))
        owners = [engine for engine in engines if engine.calls]
        assert [engine.commands() for engine in owners] == [40]
        await owners[0].stop()
        await asyncio.gather(*(bus.submit("ox", "act", GAME) for _ in range(40)))
        assert sum(engine.commands() for engine in engines) == 80
    for engine in engines:
        if engine is not owners[0]:
            await engine.stop()


async def test_a_call_waits_out_a_moment_without_any_engine(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    async with caller(settings) as bus:
        waiting = bus.submit("ox", "act", GAME)
        await asyncio.sleep(0.4)
        engine = await Echo(settings).start()
        assert (await waiting).status == 200
    await engine.stop()


async def test_no_engine_until_the_deadline_is_unavailable(nats_url: str) -> None:
    async with caller(Settings(nats_url=nats_url)) as bus:
        with pytest.raises(BusUnavailable, match="no ox engine"):
            await bus.submit("ox", "act", GAME, deadline=0.3)


async def test_a_replica_that_falls_silent_is_asked_again_with_the_same_command(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    engine = await Echo(settings).start()
    engine.silent = True
    async with caller(settings) as bus:
        waiting = bus.submit("ox", "act", GAME)
        await until(lambda: engine.calls)
        engine.silent = False
        await waiting
    assert len({call.command_id for call in engine.calls}) == 1
    assert len(engine.calls) >= 2
    await engine.stop()


async def test_what_is_pending_in_one_loop_turn_travels_in_few_messages(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    engine = await Echo(settings).start()
    async with caller(settings) as bus:
        await until(bus.present)
        before = bus._connection.stats["out_msgs"]
        await asyncio.gather(*(bus.submit("ox", "act", GAME) for _ in range(200)))
        assert bus._connection.stats["out_msgs"] - before < 20
    await engine.stop()


async def test_a_spectators_calls_go_to_the_public_subject_only(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    engine = await Echo(settings).start()
    taken: list[str] = []
    engine.bus._connection._subs  # noqa: B018 -- the subscriptions exist
    async with caller(settings, "spectator") as bus, caller(settings) as listener:
        await listener.on("public.>", lambda _: taken.append("public"))
        await listener.on("actions.>", lambda _: taken.append("actions"))
        await delivered(listener._connection, 60)
        await until(bus.present)
        await bus.submit("ox", "feed", GAME)
        await until(lambda: taken)
    assert set(taken) == {"public"}
    await engine.stop()


async def test_a_watch_gets_messages_in_order_and_learns_that_the_feed_closes(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    async with caller(settings) as bus, caller(settings) as relay:
        watch, second = await bus.watch("ox", GAME), await bus.watch("ox", GAME)
        await relay.publish(spectate("ox", GAME), b"one")
        await relay._connection.publish(spectate("ox", GAME), b"two", headers={CLOSES_HEADER: "1"})
        assert [await watch.next(60), await watch.next(60)] == [b"one", b"two"]
        assert watch.closed
        assert await second.next(60) == b"one"
        assert await watch.next(0.05) is None
        await watch.close()
        await second.close()
        assert not bus._watches._subjects


async def test_a_watch_that_is_not_read_reports_a_gap_and_stays_bounded(nats_url: str) -> None:
    settings = Settings(nats_url=nats_url)
    async with caller(settings) as bus, caller(settings) as relay:
        watch = await bus.watch("ox", GAME)
        for number in range(3000):
            await relay._connection.publish(spectate("ox", GAME), b"%d" % number)
        await delivered(relay._connection, 60)
        await until(lambda: bus._connection.stats["in_msgs"] >= 3000)
        first = await watch.next(60)
        assert first == b""
        await watch.close()


async def test_a_watch_that_is_given_up_while_it_opens_leaves_nothing_behind(nats_url: str) -> None:
    async with caller(Settings(nats_url=nats_url)) as bus:
        opening = asyncio.create_task(bus.watch("ox", GAME))
        await asyncio.sleep(0)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert opening.cancelled()
        await until(lambda: not bus._watches._openings)
        assert not bus._watches._subjects
        assert bus._connection.stats["reconnects"] == 0
        await bus.publish("spectate.anonymous", b"")
        watch = await bus.watch("ox", GAME)
        await bus.publish(spectate("ox", GAME), b"one")
        assert await watch.next(60) == b"one"
        await watch.close()


async def test_losing_the_server_is_told_to_every_watch_and_calls_go_on_afterwards(nats_server: Nats) -> None:
    settings = Settings(nats_url=nats_server.url)
    engine = await Echo(settings).start()
    async with caller(settings) as bus:
        watch = await bus.watch("ox", GAME)
        nats_server.kill()
        await until(lambda: not bus.connected())
        waiting = bus.submit("ox", "act", GAME, deadline=60)
        nats_server.start()
        assert await watch.next(60) == b""
        assert (await waiting).status == 200
    await engine.stop()


def test_ids_sort_by_time_and_repeat_themselves() -> None:
    from datetime import UTC, datetime, timedelta

    now = datetime(2026, 1, 1, tzinfo=UTC)
    first = time_ordered_id("ox", now, "command")
    assert first == time_ordered_id("ox", now, "command")
    assert first < time_ordered_id("ox", now + timedelta(milliseconds=1), "command")
    assert first != time_ordered_id("ox", now, "other")


@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("tried", ["flush", "publish", "send", "subscribe", "request"])
def test_a_connection_that_was_closed_just_now_fails_as_one_that_is_lost(
    nats_server: Nats, tried: str, steps: int
) -> None:
    """Seen: RuntimeError of uvloop's closed transport, one step of the loop before the client knows of it."""

    async def try_it() -> None:
        client = await open_connection(Settings(nats_url=nats_server.url), "test", lambda: None)

        async def sent() -> None:
            client.send("x", b"")

        tries: dict[str, Callable[[], Awaitable[object]]] = {
            "flush": lambda: client.flush(2),
            "publish": lambda: asyncio.gather(*(client.publish("x", b"") for _ in range(3))),
            "send": sent,
            "subscribe": lambda: client.subscribe("x"),
            "request": lambda: client.request("x", timeout=2),
        }
        client._abort()
        for _ in range(steps):
            await asyncio.sleep(0)
        with suppress(nats.errors.Error, TimeoutError, OSError):
            await tries[tried]()
        await until(lambda: client.stats["reconnects"] == 1 and client.is_connected)
        await client.flush(60)
        await client.close()

    uvloop.run(try_it())


async def test_a_connection_reads_on_after_a_flush_that_was_given_up(nats_server: Nats) -> None:
    """The library would take no message any more, and count each later flush as done."""
    connection = await open_connection(Settings(nats_url=nats_server.url), "impatient", lambda: None)
    heard: list[bytes] = []

    async def hear(message: Msg) -> None:
        heard.append(message.data)

    try:
        assert nats_server.process
        suspend(nats_server.process.pid)
        try:
            with pytest.raises(nats.errors.FlushTimeoutError):
                await connection.flush(0.1)  # type: ignore[arg-type]  # seconds: the annotation is too narrow
        finally:
            os.kill(nats_server.process.pid, signal.SIGCONT)
        await until(lambda: not connection._pongs)
        await connection.subscribe("impatient.a", cb=hear)
        await connection.publish("impatient.a", b"heard")
        await until(lambda: heard == [b"heard"])
        assert connection.stats["reconnects"] == 0
    finally:
        await connection.close()


async def test_a_connection_that_the_server_ends_is_made_again(nats_url: str) -> None:
    """The library would close the client for good: this process would be cut off until it is started again."""
    changes: list[str] = []
    connection = await open_connection(
        Settings(nats_url=nats_url), "ended", lambda: changes.append(connection.ended_by.lower())
    )
    heard: list[bytes] = []

    async def hear(message: Msg) -> None:
        heard.append(message.data)

    try:
        await connection.subscribe("ended.a", cb=hear)
        with pytest.raises(nats.errors.MaxPayloadError):
            await connection.publish("ended.a", b"1" * (connection.max_payload - 10), headers={"X": "y" * 40})
        assert connection.is_connected
        # As the library would send it.
        connection.put(f"PUB ended.a {connection.max_payload + 1}\r\n".encode())
        await until(lambda: len(changes) >= 2 and connection.is_connected)
        assert "maximum payload violation" in changes[0]
        await until(lambda: not connection.ended_by)
        assert await fault_of(connection) == ""
        await connection.publish("ended.a", b"again")
        await until(lambda: heard == [b"again"])
    finally:
        await connection.close()
