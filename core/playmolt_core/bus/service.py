"""A service on the bus: announced to all others, receives packs of calls, sends packs of answers."""

import asyncio
import itertools
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from playmolt_schemas import subjects
from playmolt_schemas.envelopes import Answer, Call, decode_calls, encode_pack

from playmolt_core.bus.connection import delivered
from playmolt_core.bus.nats_client import NatsClient, Receiver
from playmolt_core.ops.telemetry import log

ANNOUNCE_SECONDS: Final = (12.0, 15.0)
"""A random time between these, so that services that start together do not stay in step."""
RETURN_SECONDS: Final = 1.0
"""Within this time after a lost connection: a server that stops disconnects all its clients at once."""


class Presence(msgspec.Struct):
    name: str
    id: str
    version: str = ""
    type: str = "io.nats.micro.v1.ping_response"
    metadata: dict[str, str] = {}
    leaving: bool = False


_log = log("service")
_VERSION = "1.0.0"
FEEDS, MOVING, STILL = "feeds", "moving", "still"
"""The state of the feeds in a relay's announcement."""
SHARDS = "shards"
"""The number of shards of the log, announced by engines and relays."""
CUT = "prompt_cut"
"""The models, by alias, whose prompts an engine saw cut since its start."""
_NO_ENDPOINTS: Final[dict[str, object]] = {"description": "", "endpoints": []}
_QUESTIONS: Final[Mapping[str, dict[str, object]]] = {
    "PING": {},
    "INFO": {"type": "io.nats.micro.v1.info_response", **_NO_ENDPOINTS},
    "STATS": {"type": "io.nats.micro.v1.stats_response", **_NO_ENDPOINTS},
}
"""What each question of the tools of NATS (ADR-32) adds to a presence. Subjects and figures of services are not
in it: metrics have them."""
_DELIVERED_SECONDS: Final = 2
_PACK_BYTES = 800 * 1024
_AT_ONCE = 16
"""Calls of a pack that are processed in one loop turn. Then the database commits their decisions while the next calls
are decided; otherwise each waits for the other, and a tenth of the machine is idle."""

Respond = Callable[[Answer], None]
Receive = Callable[[Call, Respond], None]
"""Takes a call and answers it once, now or later, through the given function."""


class Replies:
    """Batches answers: those of one loop turn to one caller are sent in one message."""

    def __init__(self, connection: NatsClient) -> None:
        self._connection = connection
        self._waiting: dict[str, list[Answer]] = {}
        self._hints: dict[str, None] = {}
        self._sending = False

    def to(self, reply: str) -> Respond:
        def respond(answer: Answer) -> None:
            answers = self._waiting.get(reply)
            if answers is not None:
                answers.append(answer)
                return
            self._waiting[reply] = [answer]
            self._send_soon()

        return respond

    def hint(self, subject: str) -> None:
        """Send an empty message once, after the answers of this turn. It may be lost."""
        self._hints[subject] = None
        self._send_soon()

    def _send_soon(self) -> None:
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_soon(self.send_all)

    def send_all(self) -> None:
        """Send what is waiting now."""
        self._sending = False
        if not self._waiting and not self._hints:  # sent before the turn ended
            return
        waiting, self._waiting = self._waiting, {}
        hints, self._hints = self._hints, {}
        with self._connection.in_one_write():
            for reply, answers in waiting.items():
                # A caller that cannot be reached retries with the same command id.
                with suppress(nats.errors.Error):
                    self._send(reply, answers)
            for subject in hints:
                with suppress(nats.errors.Error):
                    self._connection.send(subject, b"")

    def _send(self, reply: str, answers: list[Answer]) -> None:
        pack: list[Answer] = []
        size = 0
        for answer in answers:
            if pack and size + len(answer.body) > _PACK_BYTES:
                self._connection.send(reply, encode_pack(pack))
                pack, size = [], 0
            pack.append(answer)
            size += len(answer.body) + 16
        self._connection.send(reply, encode_pack(pack))

    async def close(self) -> None:
        """Send the queued answers."""
        self.send_all()
        with suppress(nats.errors.Error, TimeoutError, OSError):
            await delivered(self._connection, 1)


class Announcement:
    """The announcement of a service to all rosters, with changing metadata, until it is withdrawn.

    Sent at the start, on changes, every few seconds, and in answers to pings.
    """

    def __init__(self, connection: NatsClient, presence: Presence) -> None:
        self._connection = connection
        self._presence = presence
        self._subscriptions: list[Subscription] = []
        self._soon = asyncio.Event()
        self._announcing: asyncio.Task[None] | None = None

    def change(self, fact: str, value: str) -> None:
        if self._presence.metadata.get(fact) != value:
            self._presence.metadata[fact] = value
            self._soon.set()

    def again(self) -> None:
        """Announce again within a second: the connection was lost, and others may have dropped this service."""
        asyncio.get_running_loop().call_later(random.uniform(0, RETURN_SECONDS), self._soon.set)  # noqa: S311 -- no secret

    async def _announce_forever(self) -> None:
        while True:
            self._soon.clear()
            self._send(self._presence)
            with suppress(TimeoutError):
                async with asyncio.timeout(random.uniform(*ANNOUNCE_SECONDS)):  # noqa: S311 -- no secret
                    await self._soon.wait()

    def _send(self, presence: Presence) -> None:
        with suppress(nats.errors.Error):
            self._connection.send(subjects.announced(presence.name), msgspec.json.encode(presence))

    async def begin(self) -> None:
        """Announce the service and answer questions to all services, to its name, and to this instance."""
        name = self._presence.name
        for asked in ("$SRV.*", f"$SRV.*.{name}", f"$SRV.*.{name}.{self._presence.id}"):
            await self.subscribe(asked, self._answer_question)
        await delivered(self._connection, _DELIVERED_SECONDS)  # what others send from now on arrives
        self._announcing = asyncio.create_task(self._announce_forever())

    async def _answer_question(self, message: Msg) -> None:
        answer: dict[str, object] | None = _QUESTIONS.get(message.subject.split(".")[1])
        if message.reply and answer is not None:
            with suppress(nats.errors.Error):
                self._connection.send(message.reply, msgspec.json.encode(msgspec.to_builtins(self._presence) | answer))

    async def subscribe(self, subject: str, receive: Receiver, queue: str = "") -> None:
        """Process the messages of a subject where they are read, until this service is withdrawn."""
        subscription = await self._connection.subscribe(subject, queue=queue, cb=receive)
        self._connection.receive_inline(subscription, receive)
        self._subscriptions.append(subscription)

    async def withdraw(self) -> None:
        """Accept no more requests; accepted ones continue."""
        if self._announcing:
            self._announcing.cancel()
        with suppress(nats.errors.Error, TimeoutError):
            async with asyncio.timeout(3):
                self._send(msgspec.structs.replace(self._presence, leaving=True))
                for subscription in self._subscriptions:
                    await subscription.drain()  # type: ignore[no-untyped-call]


async def announce(connection: NatsClient, name: str, metadata: Mapping[str, str] | None = None) -> Announcement:
    announcement = _unannounced(connection, name, metadata or {})
    await announcement.begin()
    return announcement


def _unannounced(connection: NatsClient, name: str, metadata: Mapping[str, str]) -> Announcement:
    return Announcement(connection, Presence(name=name, id=uuid.uuid4().hex, version=_VERSION, metadata=dict(metadata)))


async def serve_engine(
    connection: NatsClient,
    service_name: str,
    game: str,
    schemas: Sequence[str],
    replies: Replies,
    shards: int,
    *,
    receive: Receive,
    receive_public: Receive,
    receive_table: Receive | None = None,
) -> Announcement:
    """Serve a game type: any replica through the queue group, this replica through a subject of its own.

    Public messages are requested on a subject of their own, which reaches `receive_public` only: a client that may only
    publish there can learn nothing else. `receive_table` alone gets the seats of tournaments' games, in the same way.
    """
    instance = uuid.uuid4().hex[:12]
    metadata = {"game": game, "instance": instance, "schemas": ",".join(schemas), SHARDS: str(shards)}
    taken = itertools.count(1)

    def handler(take: Receive) -> Receiver:
        async def handle(message: Msg) -> None:
            if not message.reply:
                return
            respond = replies.to(message.reply)
            try:
                calls = decode_calls(message.data)
            except ValueError:
                _log.warning("undecodable_pack", subject=message.subject, size=len(message.data))
                return
            for call in calls:
                take(call, respond)
                if next(taken) % _AT_ONCE == 0:
                    await asyncio.sleep(0)

        return handle

    announcement = _unannounced(connection, service_name, metadata)
    group = f"{game}-engine"
    await announcement.subscribe(subjects.replica(game, instance), handler(receive), instance)
    await announcement.subscribe(subjects.action(game, "*"), handler(receive), group)
    await announcement.subscribe(subjects.public(game, "*"), handler(receive_public), group)
    if receive_table is not None:
        await announcement.subscribe(subjects.table(game, "*"), handler(receive_table), group)
    await announcement.begin()
    return announcement
