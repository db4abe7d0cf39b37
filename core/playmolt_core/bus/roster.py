"""The services on the bus: each announces itself, silent ones are pinged, and dropped without an answer."""

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
from playmolt_core.ops.process import next_tick

SERVICES: Final = ("gateway", "spectator", *ENGINES, "relay")
REMEMBERED_SECONDS: Final = 600.0
QUIET_SECONDS: Final = 4.0
"""A service is pinged after this time without a message. Of many instances one announces itself sooner."""
ANSWER_SECONDS: Final = 2.0
_OVERDUE_SECONDS: Final = ANNOUNCE_SECONDS[1] + 1.0
ROSTER_POLL_SECONDS: Final = 0.5
_ALL: Final = "all"
"""In place of an instance's id in a reply subject: for all instances of a service."""

_decode = msgspec.json.Decoder(Presence).decode


class Roster:
    """The present service instances, and the engine replica that a game prefers.

    It ignores services with its own name: they do not count as peers, and there may be hundreds.
    """

    def __init__(
        self,
        connection: NatsClient,
        service: str,
        *,
        quiet_seconds: float = QUIET_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._connection = connection
        self._others = [name for name in SERVICES if name != service]
        self._needs_each = service not in ("spectator", *ENGINES)
        """Whether it must know every service, or only that it is not alone."""
        self._quiet_seconds = quiet_seconds
        self._answer_seconds = answer_seconds
        self._started = time.monotonic()
        self.shards: int | None = None
        """The number of shards of the log; None until it is announced. It never changes."""
        self._services: dict[str, float] = {}
        """When each other service was last seen."""
        self._asked: dict[str, float] = {}
        self._seen: dict[str, tuple[Presence, float]] = {}
        self._doubted: dict[str, float] = {}
        """Instances that were pinged and have not answered, with the time of the ping."""
        self._ask_all_at = math.inf
        self._choices: dict[tuple[str, str], str] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Subscribe, then ping the services that are already present."""
        self._inbox = answers_inbox(self._connection, "*")
        await self._connection.subscribe(f"{self._inbox}.*", cb=self._receive_answer)
        for service in self._others:
            await self._connection.subscribe(subjects.announced(service), cb=self._receive_announcement)
        for service in self._others:
            self._ask(service)
        self._task = asyncio.create_task(self._poll_forever())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()

    def ask_again(self) -> None:
        """Ping all services within a second: announcements were missed while the connection was lost."""
        self._ask_all_at = time.monotonic() + random.uniform(0, RETURN_SECONDS)  # noqa: S311 -- no secret

    async def _poll_forever(self) -> None:
        while True:
            await next_tick(ROSTER_POLL_SECONDS)
            now = time.monotonic()
            asks_all = now >= self._ask_all_at
            for service in [name for name in self._others if asks_all or self._is_quiet(name, now)]:
                self._ask(service)
            if asks_all:
                self._ask_all_at = math.inf
            for identity in [key for key, (_, at) in self._seen.items() if now - at > _OVERDUE_SECONDS]:
                self._doubt(identity)
            for identity in [key for key, since in self._doubted.items() if now - since > self._answer_seconds]:
                self._drop(identity)

    def _is_quiet(self, service: str, now: float) -> bool:
        seen = self._services.get(service, self._started)
        last = max(seen if self._needs_each else self.another_seen_at(), self._asked.get(service, 0.0))
        return now - last >= self._quiet_seconds and now - seen < REMEMBERED_SECONDS

    def _ask(self, service: str) -> None:
        """Ping a service by name: it may answer on its own part of the inbox only."""
        now = self._asked[service] = time.monotonic()
        for identity in self._of(service):
            self._doubted.setdefault(identity, now)
        self._ping(service, service, _ALL)

    def _doubt(self, identity: str) -> None:
        """Ping one instance. If it has no subscription any more, the server reports that at once."""
        if identity not in self._doubted:
            self._doubted[identity] = time.monotonic()
            name = self._seen[identity][0].name
            self._ping(f"{name}.{identity}", name, identity)

    def _ping(self, whom: str, service: str, answers: str) -> None:
        with suppress(nats.errors.Error):
            self._connection.send(f"$SRV.PING.{whom}", b"", f"{self._inbox.replace('*', service)}.{answers}")

    def _of(self, service: str) -> list[str]:
        return [identity for identity, (presence, _) in self._seen.items() if presence.name == service]

    async def _receive_answer(self, message: Msg) -> None:
        _, service, _, whom = message.subject.rsplit(".", 3)
        if message.headers and message.headers.get("Status") == "503":
            for identity in self._of(service) if whom == _ALL else [whom]:
                self._drop(identity)
            return
        self._receive(service, message.data)

    async def _receive_announcement(self, message: Msg) -> None:
        self._receive(message.subject.rpartition(".")[2], message.data)

    def _receive(self, service: str, body: bytes) -> None:
        """Process an instance's message; `service` is from the subject, which the server lets only that service use."""
        with suppress(msgspec.MsgspecError):
            presence = _decode(body)
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
        """When any other service was last seen; initially the time of the start."""
        return max(self._services.values(), default=self._started)

    def engine_seen_at(self) -> float | None:
        """When the engine that is silent longest was last seen; None if none was seen in the last ten minutes."""
        now = time.monotonic()
        seen = [self._services[service] for service in ENGINES if service in self._services]
        return min((at for at in seen if now - at < REMEMBERED_SECONDS), default=None)

    def _drop(self, identity: str) -> None:
        self._doubted.pop(identity, None)
        if self._seen.pop(identity, None):
            self._choices.clear()

    def forget_replica(self, instance: str) -> None:
        """Drop a replica at once: its subject has no subscription any more."""
        for identity in self._instances(instance):
            self._drop(identity)

    def doubt_replica(self, instance: str) -> None:
        """Ping a replica that did not answer a call in time; it may only be slow."""
        for identity in self._instances(instance):
            self._doubt(identity)

    def _instances(self, instance: str) -> list[str]:
        return [key for key, (presence, _) in self._seen.items() if presence.metadata.get("instance") == instance]

    def services(self) -> frozenset[str]:
        return frozenset(presence.name for presence, _ in self._seen.values())

    def feeds_move(self) -> bool:
        """Whether a relay reports that it keeps the feeds complete."""
        return any(
            presence.name == "relay" and presence.metadata.get(FEEDS) == MOVING for presence, _ in self._seen.values()
        )

    def cut_prompts(self) -> frozenset[tuple[str, str]]:
        """Pairs of a service and a model whose prompts it saw cut."""
        return frozenset(
            (presence.name, model)
            for presence, _ in self._seen.values()
            for model in presence.metadata.get(CUT, "").split()
        )

    def games(self) -> frozenset[str]:
        return frozenset(each.metadata["game"] for each, _ in self._seen.values() if "game" in each.metadata)

    def replica_for(self, game: str, target: str) -> str | None:
        """The replica that a game prefers, None if no engine of its type is known. Rendezvous hashing over the replicas
        of its shard, so that engines rarely wait for each other's commits.

        Callers with the same roster agree, so the calls of a game meet in one process.
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
    """The replicas that a shard prefers: each replica belongs to a shard, and each shard has one."""
    return replicas[shard % shards :: shards] or [replicas[shard % len(replicas)]]
