"""Who answers on the bus now: found by asking, forgotten by silence (NATS services API)."""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.shards import shard_of

from playmolt_core.bus.connection import answers_inbox
from playmolt_core.bus.service import CUT, FEEDS, MOVING, SHARDS

SERVICES: Final = ("gateway", "spectator", *ENGINES, "relay")
ASK_SECONDS = 0.5
SILENCE_SECONDS = 2.0
REMEMBERED_SECONDS: Final = 600.0


class _Ping(msgspec.Struct):
    name: str
    id: str
    metadata: dict[str, str] = {}


_decode = msgspec.json.Decoder(_Ping).decode


class Roster:
    """The service instances that answered lately, and which engine replica a game prefers."""

    def __init__(self, connection: Client, service: str) -> None:
        self._connection = connection
        self._service = service
        self._heard: dict[str, float] = {}
        """When each game, and each other service, was last heard."""
        self._started = time.monotonic()
        self.shards: int | None = None
        """How many shards the log has; None as long as nobody has said so. It never changes."""
        self._seen: dict[str, tuple[_Ping, float]] = {}
        self._choices: dict[tuple[str, str], str] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._inbox = answers_inbox(self._connection, "*")
        await self._connection.subscribe(self._inbox, cb=self._hear)
        self._task = asyncio.create_task(self._ask_forever())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()

    async def _ask_forever(self) -> None:
        while True:
            with suppress(nats.errors.Error, OSError):
                for service in SERVICES:  # each by name: it may answer on its own part of the inbox alone
                    await self._connection.publish(f"$SRV.PING.{service}", b"", reply=self._inbox.replace("*", service))
            await asyncio.sleep(ASK_SECONDS)
            self._forget_silent()

    async def _hear(self, message: Msg) -> None:
        with suppress(msgspec.MsgspecError):
            ping = _decode(message.data)
            if ping.name != message.subject.rsplit(".", 2)[1]:
                return
            if ping.metadata.get("game") not in (None, *ENGINES.get(ping.name, ())):
                return
            self._note(ping)
            if ping.id not in self._seen:
                self._choices.clear()
            self._seen[ping.id] = (ping, asyncio.get_running_loop().time())

    def _note(self, ping: _Ping) -> None:
        now = time.monotonic()
        if self.shards is None and (said := ping.metadata.get(SHARDS, "")).isdecimal():
            self.shards = int(said)
        if ping.name != self._service:
            self._heard[""] = now
        if "game" in ping.metadata:
            self._heard[ping.metadata["game"]] = now

    def another_heard_at(self) -> float:
        """When any other service was last heard; before the first, when listening began."""
        return self._heard.get("", self._started)

    def engine_heard_at(self) -> float | None:
        """When the engine that is missing longest was last heard; None while all of the last ten minutes are there."""
        now, present = time.monotonic(), self.games()
        missing = [at for game, at in self._heard.items() if game and game not in present]
        return min((at for at in missing if now - at < REMEMBERED_SECONDS), default=None)

    def _forget_silent(self) -> None:
        oldest = asyncio.get_running_loop().time() - SILENCE_SECONDS
        for identity in [identity for identity, (_, at) in self._seen.items() if at < oldest]:
            self._drop(identity)

    def _drop(self, identity: str) -> None:
        if self._seen.pop(identity, None):
            self._choices.clear()

    def forget_replica(self, instance: str) -> None:
        """Take a replica out at once: nobody listens on its subject any more."""
        for identity, (ping, _) in list(self._seen.items()):
            if ping.metadata.get("instance") == instance:
                self._drop(identity)

    def services(self) -> frozenset[str]:
        return frozenset(ping.name for ping, _ in self._seen.values())

    def feeds_move(self) -> bool:
        """Whether some relay says that it copies the log."""
        return any(
            ping.name == "relay" and ping.metadata.get(FEEDS, MOVING) == MOVING for ping, _ in self._seen.values()
        )

    def cut_prompts(self) -> frozenset[tuple[str, str]]:
        """Each service and each model whose prompts it saw cut."""
        return frozenset(
            (ping.name, model) for ping, _ in self._seen.values() for model in ping.metadata.get(CUT, "").split()
        )

    def games(self) -> frozenset[str]:
        return frozenset(ping.metadata["game"] for ping, _ in self._seen.values() if "game" in ping.metadata)

    def replica_for(self, game: str, target: str) -> str | None:
        """The replica that a game prefers, None when no engine of its type is known: of those of its shard, so that
        engines seldom wait for each other's commits, by rendezvous hashing.

        Every caller with the same roster gives the same answer, so a game's calls meet in one memory.
        """
        key = (game, target)
        choice = self._choices.get(key)
        if choice is None:
            present = [p.metadata["instance"] for p, _ in self._seen.values() if p.metadata.get("game") == game]
            if not present:
                return None
            near = _of_shard(sorted(present), shard_of(target, self.shards or 1), self.shards or 1)
            choice = max(near, key=lambda instance: hashlib.blake2b(f"{instance}/{target}".encode()).digest())
            if len(self._choices) > 100_000:
                self._choices.clear()
            self._choices[key] = choice
        return choice


def _of_shard(replicas: Sequence[str], shard: int, shards: int) -> Sequence[str]:
    """The replicas that a shard prefers: every one is of some shard, and every shard has one."""
    return replicas[shard % shards :: shards] or [replicas[shard % len(replicas)]]
