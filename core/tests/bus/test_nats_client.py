"""What the client writes and when: at once, in order, within bounds."""

import asyncio
import gc
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, MaxPayloadError, OutboundBufferLimitError
from playmolt_core.bus.batches import BatchPublisher, StreamMessage
from playmolt_core.bus.connection import open_connection
from playmolt_core.bus.engine_bus import EngineBus
from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.bus.service import Replies
from playmolt_core.settings import Settings
from playmolt_schemas.envelopes import Answer

from core.tests.listening import listening


class Transport:
    """Notes what is written; `unread` is what the server has not taken."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.unread = 0
        inner = SimpleNamespace(get_write_buffer_size=lambda: self.unread, is_closing=lambda: False)
        self._io_writer = SimpleNamespace(transport=inner)

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def writelines(self, data: list[bytes]) -> None:
        self.written += data

    async def drain(self) -> None:
        """Never full."""


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
async def client(transport: Transport) -> NatsClient:
    client: Any = NatsClient()
    client._transport, client._status = transport, Client.CONNECTED
    client._flush_queue, client._max_pending_size, client._max_payload = asyncio.Queue(), 1_000_000, 100
    connected: NatsClient = client
    return connected


async def test_a_message_is_written_at_once(client: NatsClient, transport: Transport) -> None:
    client.send("a.b", b"body", "reply")
    client.send("c", b"")
    assert transport.written == [b"PUB a.b reply 4\r\nbody\r\n", b"PUB c  0\r\n\r\n"]


async def test_messages_of_one_write_go_out_together_in_their_order(client: NatsClient, transport: Transport) -> None:
    with client.in_one_write():
        client.send("a", b"1")
        client.send("b", b"2")
        assert transport.written == []
    client.send("c", b"3")
    assert transport.written == [b"PUB a  1\r\n1\r\nPUB b  1\r\n2\r\n", b"PUB c  1\r\n3\r\n"]


async def test_answers_go_ahead_of_a_commits_batches_in_the_same_write(
    client: NatsClient, transport: Transport
) -> None:
    bus, replies = EngineBus(Settings(nats_url="nats://none"), "ox-engine"), Replies(client)
    client._max_payload = 10_000
    wired: Any = bus
    wired._connection, wired._replies, wired._batches = client, replies, BatchPublisher(client)
    replies.to("_INBOX.caller")(Answer(1, 200, b"{}"))
    bus.publish(0, 7, [StreamMessage("events.a", b"E")], [StreamMessage("spectate.a", b"S")], lambda: None)
    [written] = transport.written
    places = [written.index(part) for part in (b"PUB _INBOX.caller", b"HPUB events.a", b"HPUB spectate.a")]
    assert places == sorted(places)
    await asyncio.sleep(0)
    assert len(transport.written) == 1, "nothing is sent again"


async def test_what_a_server_does_not_take_waits_and_nothing_passes_it(
    client: NatsClient, transport: Transport
) -> None:
    transport.unread = 64 * 1024 + 1
    client.send("a", b"1")
    assert transport.written == []
    assert client._flush_queue
    assert client._flush_queue.qsize() == 1, "the flusher waits for room"
    transport.unread = 0
    client.send("b", b"2")
    assert transport.written == [b"PUB a  1\r\n1\r\nPUB b  1\r\n2\r\n"]


async def test_what_was_sent_while_the_server_was_away_goes_first(client: NatsClient, transport: Transport) -> None:
    client._status = Client.RECONNECTING
    client.send("a", b"1")
    client._status = Client.CONNECTED
    client.send("b", b"2")
    assert transport.written == [b"PUB a  1\r\n1\r\nPUB b  1\r\n2\r\n"]


async def test_what_waits_is_bounded(client: NatsClient, transport: Transport) -> None:
    transport.unread, client._max_pending_size = 10**7, 30
    client.send("a", b"1")
    with pytest.raises(OutboundBufferLimitError):
        client.send("b", b"2" * 20)


async def test_a_message_too_long_and_a_closed_connection_are_said(client: NatsClient) -> None:
    with pytest.raises(MaxPayloadError):
        client.send("a", b"1" * 101)
    client._status = Client.CLOSED
    with pytest.raises(ConnectionClosedError):
        client.send("a", b"1")


@pytest.mark.parametrize(("size", "fits"), [(74, True), (75, False)])
async def test_headers_count_for_the_bound_of_a_message(
    client: NatsClient, transport: Transport, size: int, fits: bool
) -> None:
    """12 bytes around all headers and 14 of this one: the server ends the connection beyond 100 together."""
    headers = {"Nats-Id": "é1"}
    if fits:
        await client.publish("a", b"1" * size, headers=headers)
        sent = b"".join(transport.written)
        assert sent.startswith(b"HPUB a ")
        assert int(sent.split(b"\r\n")[0].split()[-1]) == 100
    else:
        with pytest.raises(MaxPayloadError):
            await client.publish("a", b"1" * size, headers=headers)
        assert transport.written == []
        await client.publish("a", b"1" * size)


async def test_messages_are_heard_where_they_are_read_and_a_bug_ends_only_one(client: NatsClient) -> None:
    heard: list[bytes] = []
    bugs: list[Exception] = []

    async def hear(message: Msg) -> None:
        heard.append(message.data)
        if message.data == b"bug":
            raise ValueError

    async def told(error: Exception) -> None:
        bugs.append(error)

    client._error_cb = told
    subscription = await client.subscribe("a", cb=hear)
    client.receive_inline(subscription, hear)
    for body in (b"1", b"bug", b"2"):
        await client._process_msg(subscription._id, b"a", b"", body, b"")
        assert heard[-1] == body
    assert [type(bug) for bug in bugs] == [ValueError]
    await subscription.unsubscribe()
    await client._process_msg(subscription._id, b"a", b"", b"3", b"")
    assert heard == [b"1", b"bug", b"2"]


async def test_a_connection_that_was_not_made_in_time_leaves_nothing_open() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        async with listening(silent) as port:
            with pytest.raises(BusUnavailable):
                await open_connection(
                    Settings(nats_url=f"nats://127.0.0.1:{port}"), "late", lambda: None, connect_seconds=0.2
                )
        gc.collect()
    assert [str(one.message) for one in seen] == []
