"""A service's connection to the bus (port: `bus.port`). Only bus/ imports nats."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import msgspec
import nats.errors
from nats.aio.msg import Msg
from playmolt_schemas import subjects
from playmolt_schemas.identifiers import MODERATION
from playmolt_schemas.shards import shard_of

from playmolt_core.bus.calls import Calls
from playmolt_core.bus.connection import answers_inbox, delivered, fault_of, open_connection
from playmolt_core.bus.moves import CALLER_SECONDS, SERVICE_SECONDS, LastSeen, Reason, ServerSwitcher
from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.bus.roster import ROSTER_POLL_SECONDS, Roster
from playmolt_core.bus.service import Announcement, announce
from playmolt_core.bus.watches import SubjectWatch, Watches
from playmolt_core.ops.metrics import Sample
from playmolt_core.settings import OtherShards, Settings

_HISTORY_BATCH = 256
_HISTORY_SECONDS = 2.0
_ANSWERED_BY: Final = dict.fromkeys((subjects.PROJECTED, subjects.LAG, subjects.LOG), "relay")


class _Versioned(msgspec.Struct):
    version: int


_version_of = msgspec.json.Decoder(_Versioned).decode


class NatsBus:
    """Calls to engines, watches of games, and a few requests between services."""

    def __init__(self, settings: Settings, service: str) -> None:
        self._settings = settings
        self._service = service
        self._connection: NatsClient
        self._lost: list[Callable[[], None]] = []
        self._announced: Announcement | None = None

    async def open(self) -> None:
        """Connect, subscribe and join the rosters. Raises BusUnavailable if no server answers in 30 s."""
        self._connection = await open_connection(self._settings, self._service, self._changed)
        self._watches = Watches(self._connection)
        self._roster = Roster(self._connection, self._service)
        self._calls = Calls(
            self._connection,
            self._roster,
            access="public" if self._service == "spectator" else "all",
            deadline=self._settings.deadline_seconds,
        )
        # Not a wrapper method: it would cost each action a call and two dictionaries.
        self.submit = self._calls.submit
        await self._roster.start()
        patience = CALLER_SECONDS if self._service == "gateway" else SERVICE_SECONDS
        self._moves = ServerSwitcher(self._connection, self._last_seen(), patience)
        await self._calls.start()
        self._announced = await announce(self._connection, self._service)

    async def close(self) -> None:
        """Leave the rosters and close; bounded."""
        if self._announced:
            await self._announced.withdraw()
        self._moves.close()
        await self._calls.close()
        await self._roster.close()
        with suppress(nats.errors.Error, TimeoutError, OSError):
            async with asyncio.timeout(3):
                await self._connection.close()

    def _changed(self) -> None:
        if hasattr(self, "_watches"):
            self._watches.missed()
        if hasattr(self, "_calls"):
            self._calls.resend()
            self._roster.ask_again()
        if self._announced:
            self._announced.again()
        for callback in self._lost:
            callback()

    def _last_seen(self) -> dict[Reason, LastSeen]:
        alone: dict[Reason, LastSeen] = {"alone": self._roster.another_seen_at}
        return {"no_engine": self._roster.engine_seen_at, **alone} if self._service == "gateway" else alone

    def samples(self) -> Iterator[Sample]:
        """How often the connection moved to another server, by reason."""
        return self._moves.samples()

    def present(self) -> frozenset[str]:
        return self._roster.games()

    def services(self) -> frozenset[str]:
        return self._roster.services()

    def cut_prompts(self) -> frozenset[tuple[str, str]]:
        return self._roster.cut_prompts()

    def feeds_move(self) -> bool:
        """Whether a relay reports that it keeps the feeds complete."""
        return self._roster.feeds_move()

    def connected(self) -> bool:
        return bool(self._connection.is_connected)

    async def fault(self) -> str:
        return await fault_of(self._connection)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call back whenever the connection is lost or back: messages may have been missed."""
        self._lost.append(callback)

    async def same_shards(self) -> None:
        """Wait until a service announces the number of shards. Raises OtherShards if the settings differ."""
        while self._roster.shards is None:  # noqa: ASYNC110 -- it may never be announced
            await asyncio.sleep(ROSTER_POLL_SECONDS)
        if self._settings.log_shards not in (None, self._roster.shards):
            raise OtherShards(self._settings.log_shards, self._roster.shards)

    async def watch(self, game: str, identifier: str) -> SubjectWatch:
        shards = self._settings.log_shards or self._roster.shards
        if shards is None:  # unknown yet: one subject for a single shard, one for several
            subject = subjects.spectate(game, identifier)
            return await self._watches.watch(subject, subject.replace(".", ".*.", 1))
        return await self._watches.watch(subjects.spectate(game, identifier, shards))

    async def watch_speech(self, game: str, identifier: str) -> SubjectWatch:
        return await self._watches.watch(subjects.speaking(game, identifier))

    async def watch_moderation(self) -> SubjectWatch:
        """The messages of decisions (`Moderated`)."""
        subject = subjects.spectate(MODERATION, "*")
        return await self._watches.watch(subject, subject.replace(".", ".*.", 1))

    async def watch_lobby(self) -> SubjectWatch:
        return await self._watches.watch(subjects.lobby("*"))

    async def publish(self, subject: str, data: bytes = b"") -> None:
        """Publish and wait until the server has it; raises BusUnavailable."""
        try:
            await self._connection.publish(subject, data)
            await asyncio.shield(delivered(self._connection, 2))
        except (nats.errors.Error, TimeoutError, OSError) as error:
            raise BusUnavailable(f"could not publish on {subject}: {error!r}") from error

    async def hint(self, stream: str) -> None:
        """Wake the relay after a commit to a stream of the log. Best effort: it polls as well."""
        shards = self._settings.log_shards or self._roster.shards or 1
        with suppress(nats.errors.Error, OSError):
            await self._connection.publish(subjects.committed(shard_of(stream, shards), shards), b"")

    async def on(self, subject: str, callback: Callable[[bytes], None]) -> None:
        async def receive(message: Msg) -> None:
            callback(message.data)

        await self._connection.subscribe(subject, cb=receive)

    async def request(self, subject: str, data: bytes = b"", timeout: float = 2.0) -> bytes:
        """Send a request to another service or the server. Raises BusUnavailable without an answer in time."""
        try:
            if subject not in _ANSWERED_BY:
                return bytes((await self._connection.request(subject, data, timeout=timeout)).data)
            return await self._ask(_ANSWERED_BY[subject], subject, data, timeout)
        except (nats.errors.Error, TimeoutError, OSError) as error:
            raise BusUnavailable(f"no answer on {subject}: {error!r}") from error

    async def _ask(self, service: str, subject: str, data: bytes, timeout: float) -> bytes:
        inbox = answers_inbox(self._connection, service)
        subscription = await self._connection.subscribe(inbox, max_msgs=1)
        try:
            await self._connection.publish(subject, data, reply=inbox)
            answer = await subscription.next_msg(timeout)
        finally:
            with suppress(nats.errors.Error):
                await subscription.unsubscribe()
        if answer.headers and answer.headers.get("Status") == "503":
            raise nats.errors.NoRespondersError
        return bytes(answer.data)

    async def history(self, game: str, identifier: str, after: int, limit: int) -> list[bytes]:
        """The public messages of a game with version > after that NATS still holds, in order, at most `limit`.

        They may start later than `after + 1`: the log holds the rest. Empty also if NATS is unavailable.
        """
        inbox = self._connection.new_inbox()
        found: list[bytes] = []
        done = asyncio.Event()

        async def receive(message: Msg) -> None:
            if message.headers and "Status" in message.headers:
                done.set()
            elif _version_of(message.data).version > after:
                found.append(bytes(message.data))

        with suppress(nats.errors.Error, TimeoutError, OSError):
            subscription = await self._connection.subscribe(inbox, cb=receive)
            try:
                ask = {"game": game, "game_id": identifier, "after": after, "limit": limit}
                await self._connection.publish(subjects.HISTORY, msgspec.json.encode(ask), reply=inbox)
                async with asyncio.timeout(_HISTORY_SECONDS):
                    await done.wait()
            finally:
                await subscription.unsubscribe()
        return found[:limit]


async def connect(settings: Settings, service: str) -> NatsBus:
    bus = NatsBus(settings, service)
    await bus.open()
    return bus
