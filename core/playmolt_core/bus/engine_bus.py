"""An engine's connection to the bus."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec
import nats.errors
from playmolt_schemas import subjects

from playmolt_core.bus.batches import BatchPublisher, Fenced, Settle, StreamMessage, cut
from playmolt_core.bus.calls import Calls
from playmolt_core.bus.connection import fault_of, open_connection
from playmolt_core.bus.moves import SERVICE_SECONDS, ServerSwitcher
from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.port import BusUnavailable, EngineCalls
from playmolt_core.bus.roster import Roster
from playmolt_core.bus.service import CUT, Announcement, Receive, Replies, Respond, serve_engine
from playmolt_core.ops.metrics import Sample
from playmolt_core.settings import Settings

__all__ = ["EngineBus", "Receive", "Respond"]


_PAUSES: Final = (0.001, 0.002, 0.004)
_SPEECH = 256
"""Queued speech messages; further ones are dropped."""


_UNCONFIRMED: Final = 16
"""The most commits in a row that ask for no confirmation. Each wakes the server's and the engine's process twice."""


class _Commit(msgspec.Struct, eq=False):
    """A commit whose batches the server confirms."""

    shard: int
    last: int
    stored: Callable[[], None] | None
    waiting: int = 0
    """The number of its batches that are not confirmed yet."""


class _Part(NamedTuple):
    """A batch of a commit for one stream."""

    commit: _Commit
    messages: Sequence[StreamMessage]
    after: int


class _Run(NamedTuple):
    """Commits of this engine that follow each other in both streams of a shard."""

    last: int
    unconfirmed: int = 0


class EngineBus:
    """Serves the game types of one service and publishes their commits."""

    def __init__(self, settings: Settings, service: str) -> None:
        self._settings = settings
        self._service = service
        self._connection: NatsClient
        self._announced: list[Announcement] = []
        self._moves: ServerSwitcher | None = None
        self._shards = 1
        self._calls: Calls | None = None
        self._runs: dict[int, _Run] = {}
        self._speech: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue(_SPEECH)

    async def open(self, shards: int = 1) -> None:
        """Connect, for a log of `shards` shards. Raises BusUnavailable if no server answers in 30 s."""
        self._shards = shards
        self._connection = await open_connection(self._settings, self._service, self._changed)
        self._replies = Replies(self._connection)
        self._batches = BatchPublisher(self._connection)
        await self._batches.start()
        self._roster = Roster(self._connection, self._service)
        await self._roster.start()
        self._moves = ServerSwitcher(self._connection, {"alone": self._roster.another_seen_at}, SERVICE_SECONDS)
        self._speaking = asyncio.create_task(self._speak_forever())

    def _changed(self) -> None:
        self._runs.clear()
        if self._calls:
            self._calls.resend()
            self._roster.ask_again()
        for announced in self._announced:
            announced.again()

    async def tables(self) -> EngineCalls:
        """The engines of games, for calls that seat tournaments' games and read what all may see."""
        if self._calls is None:
            self._calls = Calls(
                self._connection, self._roster, access="tables", deadline=self._settings.deadline_seconds
            )
            await self._calls.start()
        return self._calls

    async def serve(
        self,
        game: str,
        schemas: Sequence[str],
        *,
        receive: Receive,
        receive_public: Receive,
        receive_table: Receive | None = None,
    ) -> None:
        announced = await serve_engine(
            self._connection,
            self._service,
            game,
            schemas,
            self._replies,
            self._shards,
            receive=receive,
            receive_public=receive_public,
            receive_table=receive_table,
        )
        self._announced.append(announced)

    def announce_cut_prompts(self, models: Collection[str]) -> None:
        """Announce the models whose prompts were cut."""
        for announced in self._announced:
            announced.change(CUT, " ".join(sorted(models)))

    def publish(
        self, shard: int, after: int, events: Sequence[StreamMessage], public: Sequence[StreamMessage],
        stored: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        """See `engine.feed.Publish`.

        A commit that follows directly on this engine's own one fits, unless the stream was lost, which the relay sees.
        So the server confirms only each sixteenth of these, and all others, which may be fenced. A batch that does not
        fit is tried again after a few milliseconds, because another engine's commit before it may be on its way, and
        then left to the relay. The answers of the commit go ahead in the same write.
        """
        last = after + len(public)
        run = self._runs.pop(shard, None)
        with self._connection.in_one_write():
            self._replies.send_all()
            if stored is None and run and run.last == after and run.unconfirmed < _UNCONFIRMED:
                self._runs[shard] = _Run(last, run.unconfirmed + 1)
                commit = None
            else:
                commit = _Commit(shard, last, stored)
            for messages in (events, public):
                behind = after
                for batch in cut(messages):
                    if commit:
                        commit.waiting += 1
                        self._publish(_Part(commit, batch, behind))
                    else:
                        self._send(shard, batch, behind, None)
                    behind += len(batch)

    def _send(self, shard: int, messages: Sequence[StreamMessage], after: int, settle: Settle | None) -> None:
        try:
            self._batches.send(messages, after, settle)
        except (BusUnavailable, nats.errors.Error):
            self._leave_to_relay(shard)

    def _publish(self, part: _Part, tries: int = 0) -> None:
        commit = part.commit

        def settle(failure: Fenced | BusUnavailable | None) -> None:
            if failure is None or (isinstance(failure, Fenced) and failure.last >= part.after + len(part.messages)):
                self._confirmed(commit)  # stored by this engine, or by the relay
            elif isinstance(failure, Fenced) and failure.last < part.after and tries < len(_PAUSES):
                asyncio.get_running_loop().call_later(_PAUSES[tries], self._publish, part, tries + 1)
            else:
                self._leave_to_relay(commit.shard)

        self._send(commit.shard, part.messages, part.after, settle)

    def _confirmed(self, commit: _Commit) -> None:
        commit.waiting -= 1
        if commit.waiting:
            return
        run = self._runs.get(commit.shard)
        if run is None or run.last < commit.last:
            self._runs[commit.shard] = _Run(commit.last)
        if commit.stored:
            commit.stored()

    def _leave_to_relay(self, shard: int) -> None:
        self._runs.pop(shard, None)
        self._replies.hint(subjects.committed(shard, self._shards))

    def send(self, subject: str, body: bytes) -> None:
        """Publish on a plain subject; the message may be lost."""
        with suppress(nats.errors.Error):
            self._connection.send(subject, body)

    def speak(self, game: str, identifier: str, message: bytes) -> None:
        """Send a session's readers a message that is stored nowhere. It may be lost, as when the queue is full."""
        with suppress(asyncio.QueueFull):
            self._speech.put_nowait((subjects.speaking(game, identifier), message))

    async def _speak_forever(self) -> None:
        while True:
            subject, message = await self._speech.get()
            with suppress(nats.errors.Error, OSError):
                await self._connection.publish(subject, message)

    def samples(self) -> Iterator[Sample]:
        """How often the connection moved to another server, by reason."""
        return self._moves.samples() if self._moves else iter(())

    def connected(self) -> bool:
        return bool(self._connection.is_connected)

    async def fault(self) -> str:
        return await fault_of(self._connection)

    async def withdraw(self) -> None:
        for announced in self._announced:
            await announced.withdraw()

    async def close(self) -> None:
        """Send the queued answers, then close; bounded."""
        self._speaking.cancel()
        if self._calls:
            await self._calls.close()
        if self._moves:
            self._moves.close()
            await self._roster.close()
        await self._replies.close()
        with suppress(nats.errors.Error, TimeoutError, OSError):
            async with asyncio.timeout(3):
                await self._connection.close()
