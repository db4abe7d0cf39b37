"""Calls to engines: packed per loop turn, sent to the replica that prefers the game, retried until the deadline."""

import asyncio
import uuid
from asyncio import Future
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

import msgspec
import nats.errors
from nats.aio.msg import Msg
from playmolt_schemas import subjects
from playmolt_schemas.envelopes import Answer, Call, Op, decode_answers, encode_pack
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.stored.values import NO_IDENTITY, Identity

from playmolt_core.bus.connection import answers_inbox
from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.bus.roster import Roster
from playmolt_core.ops.telemetry import log

_log = log("calls")
_WAITING = 50_000
_PACK_CALLS = 256
_PACK_BYTES = 512 * 1024
_SWEEP_SECONDS = 0.05
_FIRST_PATIENCE = 1.0
_NO_LISTENER_PAUSE = 0.1
_GATHER_SECONDS = 0.001
"""The pause between packs under load. A call after a silence never waits and starts no timer."""


Access = Literal["all", "public", "tables"]
"""What a service may ask engines for: everything, what all may see, or that and the seats of tournaments' games."""


def _destination(subject: str) -> str:
    """The receiver of a subject: one replica, or any replica of a game type."""
    return subject if ".pack." in subject else subject.rpartition(".")[0]


_SERVICE_OF: Final = {game: service for service, games in ENGINES.items() for game in games}


class _PendingCall(msgspec.Struct, eq=False):
    game: str
    call: Call
    future: "Future[Answer]"
    deadline: float
    patience: float = _FIRST_PATIENCE
    resend_at: float = 0.0
    sent_to: str = ""


class Calls:
    def __init__(
        self,
        connection: NatsClient,
        roster: Roster,
        *,
        access: Access,
        deadline: float,
        sweep_seconds: float = _SWEEP_SECONDS,
    ) -> None:
        self._connection = connection
        self._roster = roster
        self._access = access
        self._deadline = deadline
        self._sweep_seconds = sweep_seconds
        self._inbox = answers_inbox(connection, "*")
        self._pending: dict[int, _PendingCall] = {}
        self._outbox: defaultdict[str, list[_PendingCall]] = defaultdict(list)
        self._destinations: dict[str, int] = {}
        self._last_id = 0
        self._sending = False
        self._sent_at = 0.0
        self._sweeping: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        subscription = await self._connection.subscribe(f"{self._inbox}.*", cb=self._receive)
        self._connection.receive_inline(subscription, self._receive)

    async def close(self) -> None:
        """Stop; pending calls fail with BusUnavailable."""
        if self._sweeping:
            self._sweeping.cancel()
        for pending in list(self._pending.values()):
            self._give_up(pending, "this process is stopping")

    def submit(
        self,
        game: str,
        op: Op,
        target: str,
        body: bytes = b"{}",
        *,
        agent: str = "",
        name: str = "",
        identity: Identity = NO_IDENTITY,
        operator: bool = False,
        command_id: str = "",
        fingerprint: str = "",
        trace: str = "",
        invite: str = "",
        present: bool = False,
        deadline: float | None = None,
    ) -> "Future[Answer]":
        loop = asyncio.get_running_loop()
        future: Future[Answer] = loop.create_future()
        if len(self._pending) >= _WAITING:
            future.set_exception(BusUnavailable("too many calls are pending"))
            return future
        self._last_id += 1
        patience = self._deadline if deadline is None else deadline
        call = Call(
            self._last_id, op, target, body, agent, name, operator, command_id or uuid.uuid4().hex, fingerprint,
            trace, identity, invite, int(patience * 1000), present,
        )  # fmt: skip
        now = loop.time()
        pending = self._pending[call.id] = _PendingCall(game, call, future, now + patience)
        self._post(pending, now)
        if self._sweeping is None:
            self._sweeping = loop.call_later(self._sweep_seconds, self._sweep)
        return future

    def _post(self, pending: _PendingCall, now: float, *, anywhere: bool = False) -> None:
        """Put a call into the pack of the replica that prefers its game; `anywhere`: of any free replica."""
        all_calls = self._access == "all"
        replica = self._roster.replica_for(pending.game, pending.call.target) if all_calls and not anywhere else None
        if replica:
            pending.sent_to = subjects.replica(pending.game, replica)
        else:
            pending.sent_to = self._subject(pending.call.op)(pending.game, pending.call.target or "lobby")
        pending.resend_at = now + pending.patience
        pending.patience *= 2
        self._outbox[pending.sent_to].append(pending)
        if not self._sending:
            self._sending = True
            loop = asyncio.get_running_loop()
            pause = self._sent_at + _GATHER_SECONDS - now
            if pause > 0:
                loop.call_later(pause, self._send_all)
            else:
                loop.call_soon(self._send_all)

    def _subject(self, op: Op) -> Callable[[str, str], str]:
        """The subjects on which this service may send an operation."""
        if self._access == "all":
            return subjects.action
        return subjects.table if op == "seat_table" else subjects.public

    def _send_all(self) -> None:
        self._sending = False
        self._sent_at = asyncio.get_running_loop().time()
        outbox, self._outbox = self._outbox, defaultdict(list)
        for subject, waiting in outbox.items():
            with suppress(nats.errors.Error):
                self._send(subject, waiting)

    def _send(self, subject: str, waiting: list[_PendingCall]) -> None:
        pack: list[Call] = []
        size = 0
        for pending in waiting:
            if pack and (size > _PACK_BYTES or len(pack) >= _PACK_CALLS):
                self._publish(subject, pack)
                pack, size = [], 0
            pack.append(pending.call)
            size += len(pending.call.body) + 300
        if pack:
            self._publish(subject, pack)

    def _publish(self, subject: str, pack: list[Call]) -> None:
        # One reply subject a destination: a "no responders" answer then names the destination, and an engine can answer
        # the calls of many packs in one message.
        number = self._destinations.setdefault(_destination(subject), len(self._destinations))
        reply = self._inbox.replace("*", _SERVICE_OF[subject.split(".")[1]])
        self._connection.send(subject, encode_pack(pack), f"{reply}.{number}")

    async def _receive(self, message: Msg) -> None:
        _, service, _, number = message.subject.rsplit(".", 3)
        if message.headers and message.headers.get("Status") == "503":
            self._no_listener(service, number)
            return
        try:
            answers = decode_answers(message.data)
        except ValueError:
            _log.warning("undecodable_answers", service=service, size=len(message.data))
            return
        for answer in answers:
            pending = self._pending.get(answer.id)
            if pending is None:
                continue
            if _SERVICE_OF[pending.game] != service:
                _log.warning("foreign_answer", service=service, game=pending.game)
                continue
            del self._pending[answer.id]
            if not pending.future.done():
                pending.future.set_result(answer)

    def resend(self) -> None:
        """Send all pending calls again: the connection was lost or is back, and messages in transit may be lost."""
        now = asyncio.get_running_loop().time()
        for pending in self._pending.values():
            pending.patience, pending.resend_at = _FIRST_PATIENCE, now

    def _no_listener(self, service: str, number: str) -> None:
        """A pack had no receiver: forget that replica and send its calls elsewhere."""
        lost = next((name for name, known in self._destinations.items() if str(known) == number), None)
        if lost is None or _SERVICE_OF[lost.split(".")[1]] != service:
            return
        to_replica = ".pack." in lost
        if to_replica:
            self._roster.forget_replica(lost.rpartition(".")[2])
        now = asyncio.get_running_loop().time()
        for pending in list(self._pending.values()):
            if _destination(pending.sent_to) != lost:
                continue
            pending.patience = _FIRST_PATIENCE
            if to_replica:
                self._post(pending, now)
            else:
                pending.resend_at = now + _NO_LISTENER_PAUSE

    def _sweep(self) -> None:
        """Expire and resend pending calls; repeats while there are any."""
        loop = asyncio.get_running_loop()
        self._sweeping = loop.call_later(self._sweep_seconds, self._sweep) if self._pending else None
        now = loop.time()
        for pending in list(self._pending.values()):
            if pending.future.done():
                self._pending.pop(pending.call.id, None)
            elif now >= pending.deadline:
                self._give_up(pending, f"no {pending.game} engine answered in time")
            elif now >= pending.resend_at:
                if ".pack." in pending.sent_to:
                    self._roster.doubt_replica(pending.sent_to.rpartition(".")[2])
                self._post(pending, now, anywhere=True)

    def _give_up(self, pending: _PendingCall, why: str) -> None:
        self._pending.pop(pending.call.id, None)
        if not pending.future.done():
            pending.future.set_exception(BusUnavailable(why))
