"""Tools of one's own on NATS: they follow the streams with consumers that remember, and say nothing that is heard."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec
import nats
import pytest
from nats.aio.client import Client
from nats.js.api import ConsumerConfig
from playmolt_cli.local.embedded import Nats
from playmolt_cli.local.embedded.nats import USERS
from playmolt_core.bus.batches import StreamMessage
from playmolt_core.bus.connection import delivered
from playmolt_core.bus.consumers import MOST
from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.relay.feeds import feeds, public_form
from playmolt_core.settings import Settings

STORED = [f"{kind}.ox.ox-1{rest}" for kind, rest in (("events", ".moved"), ("spectate", ""), ("sealed", ""))]
CALLS = [
    "$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.MINE",
    *(
        f"$JS.API.{call}"
        for stream in ("EVENTS", "SPECTATE")
        for call in (
            f"STREAM.INFO.{stream}", f"STREAM.MSG.GET.{stream}", f"STREAM.DELETE.{stream}", f"STREAM.PURGE.{stream}",
            f"STREAM.UPDATE.{stream}", f"STREAM.MSG.DELETE.{stream}", f"DIRECT.GET.{stream}",
            f"CONSUMER.INFO.{stream}.mine",
            f"CONSUMER.CREATE.{stream}", f"CONSUMER.CREATE.{stream}.other", f"CONSUMER.DURABLE.CREATE.{stream}.other",
            f"CONSUMER.MSG.NEXT.{stream}.mine",
        )
    ),
]  # fmt: skip
"""What a reader may send off."""


@pytest.fixture
async def relay(tmp_path: Path) -> AsyncIterator[tuple[Nats, JetStream]]:
    with Nats(tmp_path / "nats", passwords={user: f"{user} secret" for user in USERS}) as server:
        settings = Settings(nats_url=server.url, nats_user="relay", nats_password="relay secret")
        streams = await open_jetstream(settings, "relay")
        for feed in feeds(0, 1, public_form):
            await streams.ensure(feed.stream, feed.subjects, first=1, limit=1000)
        await streams.serve_consumers("relay")
        yield server, streams
        await streams.close()


@pytest.fixture
async def reader(relay: tuple[Nats, JetStream]) -> AsyncIterator[Client]:
    """Connected as any client does by itself, without an inbox prefix."""
    told: list[Exception] = []

    async def failed(error: Exception) -> None:
        told.append(error)

    client = await nats.connect(relay[0].url, user="reader", password="reader secret", error_cb=failed)
    yield client
    await client.close()


def moves(first: int, count: int) -> list[StreamMessage]:
    return [StreamMessage("events.ox.ox-1.moved", b"%d" % number) for number in range(first, first + count)]


async def test_a_durable_consumer_goes_on_where_it_was(relay: tuple[Nats, JetStream], reader: Client) -> None:
    server, streams = relay
    await streams.publish(moves(1, 5), after=0)
    mine = await reader.jetstream(timeout=60).pull_subscribe("events.>", durable="mine", stream="EVENTS")
    first = await mine.fetch(3, timeout=30)
    for message in first:
        await message.ack_sync()
    assert [(message.subject, message.metadata.sequence.stream) for message in first] == [
        ("events.ox.ox-1.moved", number) for number in (1, 2, 3)
    ]
    await streams.publish(moves(6, 2), after=5)
    other = await nats.connect(server.url, user="reader", password="reader secret")
    again = await other.jetstream(timeout=60).pull_subscribe("events.>", durable="mine", stream="EVENTS")
    assert [message.data for message in await again.fetch(4, timeout=30)] == [b"4", b"5", b"6", b"7"]
    assert (await other.jetstream(timeout=60).stream_info("EVENTS")).state.last_seq == 7
    await other.close()


async def test_what_comes_is_heard_live(relay: tuple[Nats, JetStream], reader: Client) -> None:
    heard = await reader.subscribe("spectate.ox.>")
    await delivered(reader, 30)
    await relay[1].publish([StreamMessage("spectate.ox.ox-1", b"{}")], after=0)
    assert (await heard.next_msg(timeout=30)).data == b"{}"


async def test_nothing_a_reader_says_gets_into_a_stream(relay: tuple[Nats, JetStream], reader: Client) -> None:
    """Not by publishing, not as the answer to a call, not by a consumer that delivers there."""
    streams = relay[1]
    await streams.publish(moves(1, 5), after=0)
    await streams.publish([StreamMessage("spectate.ox.ox-1", b"{}")] * 5, after=0)
    calls = reader.jetstream(timeout=60)
    for stream in ("EVENTS", "SPECTATE"):
        await calls.pull_subscribe("", durable="mine", stream=stream)
    for stored in STORED:
        await reader.publish(stored, b"{}")
        for call in CALLS:
            for body in (b"", b'{"seq":1}', b'{"batch":3}'):
                await reader.publish(call, body, reply=stored)
        for stream in ("EVENTS", "SPECTATE"):
            wanted = {
                "stream_name": stream,
                "config": {"name": "push", "deliver_subject": stored, "ack_policy": "none"},
            }
            for verb in ("CREATE", "DURABLE.CREATE"):
                for place in ("", ".push", ".push.events.>"):
                    await reader.publish(f"$JS.API.CONSUMER.{verb}.{stream}{place}", msgspec.json.encode(wanted))
            with pytest.raises(nats.js.errors.BadRequestError, match="push consumers are not allowed"):
                await calls.add_consumer(stream, ConsumerConfig(durable_name="push", deliver_subject=stored))
    await delivered(reader, 30)
    await asyncio.sleep(0.5)
    states = [await streams.state(stream) for stream in ("EVENTS", "SPECTATE")]
    assert [state.last for state in states if state] == [5, 5]


async def test_readers_have_so_many_consumers_and_no_more(relay: tuple[Nats, JetStream], reader: Client) -> None:
    calls = reader.jetstream(timeout=60)
    for number in range(MOST):
        await calls.add_consumer("EVENTS", ConsumerConfig(durable_name=f"tool-{number}"))
    with pytest.raises(nats.js.errors.BadRequestError, match="delete an unused one"):
        await calls.add_consumer("EVENTS", ConsumerConfig(durable_name="more"))
    await calls.delete_consumer("EVENTS", "tool-0")
    assert (await calls.add_consumer("EVENTS", ConsumerConfig(durable_name="more"))).name == "more"


@pytest.mark.parametrize(
    "subject",
    ["actions.ox.ox-1", "committed", "relay.lag", "gateway.keys.revoked", "_INBOX.gateway.relay.x", "reader.api.x"],
)
async def test_a_reader_is_heard_by_no_service(relay: tuple[Nats, JetStream], reader: Client, subject: str) -> None:
    admin = await nats.connect(relay[0].url, user="admin", password="admin secret")
    heard = await admin.subscribe(subject)
    await delivered(admin, 30)
    with suppress(nats.errors.Error):
        await reader.publish(subject, b"{}")
        await delivered(reader, 30)
    await delivered(admin, 30)
    assert heard.pending_msgs == 0
    await admin.close()
