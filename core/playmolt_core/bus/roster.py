"""Who is on the bus now: each tells of itself, who has been silent is asked, who stays silent is forgotten."""

import asyncio
import hashlib
import math
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec
import nats.errors
from nats.aio.msg import Msg
from playmolt_schemas import subjects
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.shards import shard_of

from playmolt_core.bus.connection import answers_inbox
from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.service import ANNOUNCE_SECONDS, CUT, FEEDS, MOVING, RETURN_SECONDS, SHARDS, Presence

SERVICES: Final = ("gateway", "spectator", *ENGINES, "relay")
REMEMBERED_SECONDS: Final = 600.0
QUIET_SECONDS: Final = 4.0
"""After so long without a word the question is put. Where a service has many instances, one of them speaks sooner."""
ANSWER_SECONDS: Final = 2.0
_OVERDUE_SECONDS: Final = ANNOUNCE_SECONDS[1] + 1.0
ROSTER_POLL_SECONDS: Final = 0.5
_ALL: Final = "all"
"""Stands for an instance's id in the inbox where all instances of a service answer."""

_decode = msgspec.json.Decoder(Presence).decode


class Roster:
    """The service instances that are there, and which engine replica a game prefers.

    The services of its own name it does not hear: they are no company, and there may be hundreds.
    """

    def __init__(self, connection: NatsClient, service: str) -> None:
        self._connection = connection
        self._others = [name for name in SERVICES if name != service]
        self._needs_each = service not in ("spectator", *ENGINES)
        """Whether it has to know of every service, or only that it is not alone."""
        self._started = time.monotonic()
        self.shards: int | None = None
        """How many shards the log has; None as long as nobody has said so. It never changes."""
        self._services: dict[str, float] = {}
        """When each other service was last heard."""
        self._asked: dict[str, float] = {}
        self._seen: dict[str, tuple[Presence, float]] = {}
        self._doubted: dict[str, float] = {}
        """Since when instances that were asked whether they are there have not answered."""
        self._ask_all_at = math.inf
        self._choices: dict[tuple[str, str], str] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen, then ask who was there before."""
        self._inbox = answers_inbox(self._connection, "*")
        await self._connection.subscribe(f"{self._inbox}.*", cb=self._hear_answer)
        for service in self._others:
            await self._connection.subscribe(subjects.announced(service), cb=self._hear_announcement)
        for service in self._others:
            self._ask(service)
        self._task = asyncio.create_task(self._poll_forever())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()

    def ask_again(self) -> None:
        """Ask everybody within a second: what was told while the connection was away was missed."""
        self._ask_all_at = time.monotonic() + random.uniform(0, RETURN_SECONDS)  # noqa: S311 -- no secret

    async def _poll_forever(self) -> None:
        while True:
            await asyncio.sleep(ROSTER_POLL_SECONDS)
            now = time.monotonic()
            asks_all = now >= self._ask_all_at
            for service in [name for name in self._others if asks_all or self._is_quiet(name, now)]:
                self._ask(service)
            if asks_all:
                self._ask_all_at = math.inf
            for identity in [key for key, (_, at) in self._seen.items() if now - at > _OVERDUE_SECONDS]:
                self._doubt(identity)
            for identity in [key for key, since in self._doubted.items() if now - since > ANSWER_SECONDS]:
                self._drop(identity)

    def _is_quiet(self, service: str, now: float) -> bool:
        heard = self._services.get(service, self._started)
        last = max(heard if self._needs_each else self.another_seen_at(), self._asked.get(service, 0.0))
        return now - last >= QUIET_SECONDS and now - heard < REMEMBERED_SECONDS

    def _ask(self, service: str) -> None:
        """Ask by name: each may answer on its own part of the inbox alone."""
        now = self._asked[service] = time.monotonic()
        for identity in self._of(service):
            self._doubted.setdefault(identity, now)
        self._ping(service, service, _ALL)

    def _doubt(self, identity: str) -> None:
        """Ask one instance. Where nobody listens any more the server says so at once."""
        if identity not in self._doubted:
            self._doubted[identity] = time.monotonic()
            name = self._seen[identity][0].name
            self._ping(f"{name}.{identity}", name, identity)

    def _ping(self, whom: str, service: str, answers: str) -> None:
        with suppress(nats.errors.Error):
            self._connection.send(f"$SRV.PING.{whom}", b"", f"{self._inbox.replace('*', service)}.{answers}")

    def _of(self, service: str) -> list[str]:
        return [identity for identity, (presence, _) in self._seen.items() if presence.name == service]

    async def _hear_answer(self, message: Msg) -> None:
        _, service, _, whom = message.subject.rsplit(".", 3)
        if message.headers and message.headers.get("Status") == "503":
            for identity in self._of(service) if whom == _ALL else [whom]:
                self._drop(identity)
            return
        self._receive(service, message.data)

    async def _hear_announcement(self, message: Msg) -> None:
        self._receive(message.subject.rpartition(".")[2], message.data)

    def _receive(self, service: str, told: bytes) -> None:
        """Take what an instance says; `service` stands in the subject, and the server sees to it that it is its own."""
        with suppress(msgspec.MsgspecError):
            presence = _decode(told)
            if presence.name != service or presence.metadata.get("game") not in (None, *ENGINES.get(service, ())):
                return
            if presence.leaving:
                self._drop(presence.id)
            else:
                self._note(presence)

    def _note(self, presence: Presence) -> None:
        now = self._services[presence.name] = time.monotonic()
        if self.shards is None and (said := presence.metadata.get(SHARDS, "")).isdecimal():
            self.shards = int(said)
        if presence.id not in self._seen:
            self._choices.clear()
        self._seen[presence.id] = (presence, now)
        self._doubted.pop(presence.id, None)

    def another_seen_at(self) -> float:
        """When any other service was last heard; before the first, when listening began."""
        return max(self._services.values(), default=self._started)

    def engine_seen_at(self) -> float | None:
        """When those engines were heard that are silent longest; None when none was in the last ten minutes."""
        now = time.monotonic()
        heard = [self._services[service] for service in ENGINES if service in self._services]
        return min((at for at in heard if now - at < REMEMBERED_SECONDS), default=None)

    def _drop(self, identity: str) -> None:
        self._doubted.pop(identity, None)
        if self._seen.pop(identity, None):
            self._choices.clear()

    def forget_replica(self, instance: str) -> None:
        """Take a replica out at once: nobody listens on its subject any more."""
        for identity in self._instances(instance):
            self._drop(identity)

    def doubt_replica(self, instance: str) -> None:
        """Ask a replica that answered no call in time whether it is there; it may only be slow."""
        for identity in self._instances(instance):
            self._doubt(identity)

    def _instances(self, instance: str) -> list[str]:
        return [key for key, (presence, _) in self._seen.items() if presence.metadata.get("instance") == instance]

    def services(self) -> frozenset[str]:
        return frozenset(presence.name for presence, _ in self._seen.values())

    def feeds_move(self) -> bool:
        """Whether some relay says that it copies the log."""
        return any(
            presence.name == "relay" and presence.metadata.get(FEEDS, MOVING) == MOVING
            for presence, _ in self._seen.values()
        )

    def cut_prompts(self) -> frozenset[tuple[str, str]]:
        """Each service and each model whose prompts it saw cut."""
        return frozenset(
            (presence.name, model)
            for presence, _ in self._seen.values()
            for model in presence.metadata.get(CUT, "").split()
        )

    def games(self) -> frozenset[str]:
        return frozenset(told.metadata["game"] for told, _ in self._seen.values() if "game" in told.metadata)

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
