"""JetStream for the relay: streams with given sequences, fenced batches, and a few plain subjects."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated

import msgspec
import nats.errors
import nats.js.errors
from nats.aio.msg import Msg
from nats.js.api import DiscardPolicy, StorageType, StreamConfig, StreamInfo
from playmolt_schemas import subjects
from playmolt_schemas.identifiers import type_of
from playmolt_schemas.shards import of_shard, shard_of, streams

from playmolt_core.bus import consumers
from playmolt_core.bus.batches import FENCES, BatchPublisher, StreamMessage
from playmolt_core.bus.connection import UnsuitableServer, check_jetstream, fault_of, open_connection
from playmolt_core.bus.moves import CALLER_SECONDS, ServerSwitcher
from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.bus.service import FEEDS, MOVING, SHARDS, STILL, Announcement, announce
from playmolt_core.ops.metrics import Sample
from playmolt_core.ops.process import next_tick
from playmolt_core.ops.telemetry import log
from playmolt_core.settings import Settings

_log = log("jetstream")
_SECONDS = 5.0
_READ_SECONDS = 1.5
"""For a read of a stream, which a leader answers in milliseconds. Without a leader no answer comes, so the caller
retries as soon as one may be elected."""
_POLL_SECONDS = 2.0
_NAME_IN_USE = 10058
_MESSAGE_NOT_FOUND = 10037
_NOT_DELETED = (10037, 10043, 10057)
"""The message does not exist: NATS has a code for each way of finding that out."""
_QUESTIONS = 256
Respond = Callable[[bytes], Awaitable[bytes | None]]
"""Takes the body of a request and returns the reply, or None for no reply."""


class StoredMessage(msgspec.Struct, frozen=True):
    """A message in a stream; `fenced`: it was stored by `publish`, not by a plain message."""

    message: StreamMessage
    fenced: bool


class StreamState(msgspec.Struct, frozen=True):
    """The sequences in a stream: `first` to `last`; empty if `last` is below `first`."""

    first: int
    last: int


class _HistoryRequest(msgspec.Struct):
    game: str
    game_id: str
    after: Annotated[int, msgspec.Meta(ge=0)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)]


_read_history = msgspec.json.Decoder(_HistoryRequest).decode


@contextmanager
def _unavailable(what: str) -> Iterator[None]:
    try:
        yield
    except (nats.errors.Error, OSError) as error:
        raise BusUnavailable(f"{what}: {type(error).__name__}: {error}") from error


class JetStream:
    """A connection to NATS. Every method raises BusUnavailable if NATS or the stream does not answer in 5 s."""

    def __init__(
        self,
        connection: NatsClient,
        changed: list[Callable[[], None]],
        *,
        in_memory: bool,
        most_bytes: int,
        replicas: int,
        shards: int,
    ) -> None:
        self._connection = connection
        self._shards = shards
        self._in_memory = in_memory
        self._most_bytes = most_bytes
        self._replicas = replicas
        self._changed = changed
        self._calls = connection.jetstream(timeout=_SECONDS)
        self._batches = BatchPublisher(connection)
        self._answering: set[asyncio.Task[None]] = set()
        self._announced: Announcement | None = None
        self._led_at = time.monotonic()
        self._moves = ServerSwitcher(connection, {"no_leader": lambda: self._led_at}, CALLER_SECONDS)
        self._polling = asyncio.create_task(self._poll_leaders())

    async def start(self) -> None:
        with _unavailable("inbox"):
            await self._batches.start()

    def samples(self) -> Iterator[Sample]:
        """How often the connection moved to another server, by reason."""
        return self._moves.samples()

    async def _poll_leaders(self) -> None:
        while True:
            # A single server leaves nothing to move to.
            alone = len(self._connection.server_pool) < 2
            if alone or all(await asyncio.gather(*(self._led(stream) for stream in streams(self._shards)))):
                self._led_at = time.monotonic()
            await next_tick(_POLL_SECONDS)

    async def _led(self, stream: str) -> bool:
        """Whether the leader of a stream answers, or, for a missing stream, the servers that would create it."""
        try:
            await self._calls.stream_info(stream)
        except nats.js.errors.NotFoundError:
            return True
        except (nats.errors.Error, TimeoutError, OSError):
            return False
        return True

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call back whenever the connection is lost or back: streams may have lost messages."""
        self._changed.append(callback)

    def connected(self) -> bool:
        return bool(self._connection.is_connected)

    async def fault(self) -> str:
        return await fault_of(self._connection)

    async def state(self, stream: str) -> StreamState | None:
        """The sequences in a stream; None if the stream does not exist."""
        with _unavailable(f"stream {stream}"):
            try:
                state = (await self._info(stream)).state
            except nats.js.errors.NotFoundError:
                return None
        return StreamState(state.first_seq, state.last_seq)

    async def _info(self, stream: str) -> StreamInfo:
        async with asyncio.timeout(_READ_SECONDS):
            return await self._calls.stream_info(stream)

    async def ensure(self, stream: str, stored: Sequence[str], *, first: int, limit: int) -> StreamState:
        """Create a stream that starts at sequence `first`, or set the existing one to keep the newest `limit` messages.

        The settings say whether it is stored in memory or on disk, on how many servers, and how many bytes it may have:
        a server with a full store accepts nothing for any stream. Purges are denied, and deletes but in SPECTATE.
        """
        wanted: dict[str, object] = {
            "max_msgs": limit,
            "max_bytes": self._most_bytes,
            "allow_atomic": True,
            "allow_direct": True,
        }
        if self._replicas:
            wanted["num_replicas"] = self._replicas
        config = StreamConfig(
            name=stream,
            subjects=list(stored),
            first_seq=first,
            storage=StorageType.MEMORY if self._in_memory else StorageType.FILE,
            num_replicas=self._replicas or (3 if len(self._connection.servers) >= 3 else 1),
            discard=DiscardPolicy.OLD,
            deny_delete=not stream.startswith(subjects.SPECTATE_STREAM),
            deny_purge=True,
        ).evolve(**wanted)
        with _unavailable(f"stream {stream}"):
            try:
                found = await self._info(stream)
            except nats.js.errors.NotFoundError:
                found = await self._created(config)
            if any(getattr(found.config, name) != value for name, value in wanted.items()):
                found = await self._calls.update_stream(found.config.evolve(**wanted))
        return StreamState(found.state.first_seq, found.state.last_seq)

    async def _created(self, config: StreamConfig) -> StreamInfo:
        try:
            return await self._calls.add_stream(config)
        except nats.js.errors.BadRequestError as error:
            if error.err_code != _NAME_IN_USE:
                raise
        return await self._calls.stream_info(config.name or "")  # another relay has just created it

    async def drop(self, stream: str) -> None:
        """Delete a stream with all its messages, if it exists."""
        with _unavailable(f"stream {stream}"), suppress(nats.js.errors.NotFoundError):
            await self._calls.delete_stream(stream)

    async def held(self, stream: str, sequence: int) -> StoredMessage | None:
        with _unavailable(f"stream {stream}"):
            try:
                async with asyncio.timeout(_READ_SECONDS):
                    found = await self._calls.get_msg(stream, seq=sequence)
            except nats.js.errors.NotFoundError as error:
                if error.err_code not in (None, _MESSAGE_NOT_FOUND):
                    raise
                return None
        headers = found.headers or {}
        own = {name: value for name, value in headers.items() if not name.startswith("Nats-")}
        fenced = any(name in headers for name in FENCES)
        return StoredMessage(StreamMessage(found.subject or "", found.data or b"", own), fenced)

    async def withdraw(self, stream: str, sequence: int) -> None:
        """Delete one message; its sequence stays empty. Nothing happens if it does not exist."""
        with _unavailable(f"stream {stream}"):
            try:
                await self._calls.delete_msg(stream, sequence)
            except nats.js.errors.APIError as error:
                if error.err_code not in _NOT_DELETED:
                    raise

    async def publish(self, messages: Sequence[StreamMessage], *, after: int) -> None:
        """Store messages after sequence `after`: all of them, or raise Fenced. BusUnavailable: possibly stored.

        At most 1,000 messages, all for one stream.
        """
        with _unavailable("publish"):
            await self._batches.publish(messages, after)

    async def send(self, subject: str, body: bytes) -> None:
        """Publish on a plain subject; the message may be lost."""
        with _unavailable(subject):
            await self._connection.publish(subject, body)

    async def listen(self, subject: str, callback: Callable[[], None]) -> None:
        async def receive(_: Msg) -> None:
            callback()

        with _unavailable(subject):
            subscription = await self._connection.subscribe(subject, cb=receive)
        self._connection.receive_inline(subscription, receive)

    async def answer(self, subject: str, respond: Respond, group: str) -> None:
        """Answer requests on a subject, each by one member of the group; beyond 256 at once they get no answer."""

        async def reply(question: Msg) -> None:
            with suppress(nats.errors.Error, OSError):
                answer = await respond(question.data)
                if answer is not None and question.reply:
                    await self._connection.publish(question.reply, answer)

        async def receive(question: Msg) -> None:
            if len(self._answering) < _QUESTIONS:
                task = asyncio.create_task(reply(question))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)

        with _unavailable(subject):
            await self._connection.subscribe(subject, queue=group, cb=receive)

    async def serve_history(self, group: str) -> None:
        """On request, let NATS send the messages of a game that it holds."""

        async def receive(question: Msg) -> None:
            try:
                asked = _read_history(question.data)
                if not question.reply or type_of(asked.game_id) != asked.game:
                    return
            except (msgspec.MsgspecError, ValueError):
                return
            subject = subjects.spectate(asked.game, asked.game_id, self._shards)
            stream = of_shard(subjects.SPECTATE_STREAM, shard_of(asked.game_id, self._shards), self._shards)
            ask = {"seq": 1, "batch": asked.after + asked.limit, "next_by_subj": subject}
            with suppress(nats.errors.Error, OSError):
                await self._connection.publish(
                    f"$JS.API.DIRECT.GET.{stream}", msgspec.json.encode(ask), reply=question.reply
                )

        with _unavailable(subjects.HISTORY):
            await self._connection.subscribe(subjects.HISTORY, queue=group, cb=receive)

    async def serve_consumers(self, group: str) -> None:
        """Create pull consumers for readers, who may not call JetStream."""

        async def receive(question: Msg) -> None:
            call = question.subject.removeprefix(subjects.reader_call(""))
            if not question.reply or not consumers.makes_one(call):
                return
            with suppress(nats.errors.Error, OSError):
                await self._connection.publish(question.reply, await self._consumer(call, question.data))

        with _unavailable("reader"):
            await self._connection.subscribe(subjects.reader_call(">"), queue=group, cb=receive)

    async def _consumer(self, call: str, wanted: bytes) -> bytes:
        stream = consumers.stream_of(call)
        try:
            made = (await self._calls.stream_info(stream)).state.consumer_count
        except nats.js.errors.APIError as error:
            return consumers.refused(error.description or "no such stream")
        if refusal := consumers.refusal(wanted, made):
            return refusal
        return (await self._connection.request(f"$JS.API.{call}", wanted, timeout=_SECONDS)).data

    async def announce(self, service: str) -> None:
        with _unavailable(service):
            self._announced = await announce(self._connection, service, {FEEDS: STILL, SHARDS: str(self._shards)})
        self._changed.append(self._announced.again)

    def set_feeds_moving(self, moving: bool) -> None:
        """Announce whether the feeds move."""
        if self._announced:
            self._announced.change(FEEDS, MOVING if moving else STILL)

    async def close(self) -> None:
        """Leave the rosters and close; bounded."""
        self._moves.close()
        self._polling.cancel()
        if self._announced:
            await self._announced.withdraw()
        for task in self._answering:
            task.cancel()
        with suppress(nats.errors.Error, TimeoutError, OSError):
            async with asyncio.timeout(3):
                await self._connection.close()


async def open_jetstream(settings: Settings, name: str, shards: int = 1) -> JetStream:
    """Connect for a log of `shards` shards, waiting at most 30 seconds for a server.

    Raises BusUnavailable, and UnsuitableServer at once.
    """
    changed: list[Callable[[], None]] = []

    def notify() -> None:
        for callback in changed:
            callback()

    connection = await open_connection(settings, name, notify)
    try:
        await check_jetstream(connection)
    except UnsuitableServer:
        await connection.close()
        raise
    streams = JetStream(
        connection,
        changed,
        in_memory=settings.stream_storage == "memory",
        most_bytes=max(1, settings.stream_bytes // shards),
        replicas=settings.stream_replicas,
        shards=shards,
    )
    await streams.start()
    return streams
