"""Wishes whose time has come. Every replica looks; the log lets one of them through."""

import asyncio
import hashlib
from datetime import UTC, datetime
from typing import Any

import msgspec
from playmolt_schemas.envelopes import Answer, Call

from playmolt_core.decider import Decider
from playmolt_core.host.freshness import Freshness
from playmolt_core.host.work import Work
from playmolt_core.host.writes import Writes
from playmolt_core.log.port import EventLog, LogUnavailable
from playmolt_core.telemetry import log, where

_log = log("deadlines")
LOOK_SECONDS = 0.5
_AT_ONCE = 200


def command_of_wish(wish_id: str) -> str:
    """Give the command id in which a wish ends: the same on every replica, so a second answer is a duplicate."""
    return hashlib.sha256(f"wish/{wish_id}".encode()).hexdigest()[:32]


class Deadlines:
    """Turns due wishes of kind `deadline` into commands."""

    def __init__(self, decider: Decider[Any], event_log: EventLog, fresh: Freshness, writes: Writes) -> None:
        self._decider = decider
        self._log = event_log
        self._fresh = fresh
        self._writes = writes
        self._under_way: set[str] = set()

    async def run(self) -> None:
        """Look twice a second."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look(datetime.now(UTC))
            except LogUnavailable:
                _log.warning("log_away")

    async def look(self, now: datetime) -> None:
        """Take up every wish that is due."""
        for stream in await self._log.due(self._decider.game, now, _AT_ONCE):
            try:
                snapshot = await self._fresh.snapshot(stream)
            except LookupError as error:
                _log.error("stream_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
                continue
            if snapshot is None:
                continue
            for wish in self._decider.wants(snapshot.state):
                if wish.kind == "deadline" and wish.due <= now and wish.id not in self._under_way:
                    self._fulfil(stream, wish.id)

    def _fulfil(self, stream: str, wish_id: str) -> None:
        self._under_way.add(wish_id)

        def done(answer: Answer) -> None:
            self._under_way.discard(wish_id)
            if answer.status >= 300:
                _log.warning("deadline_refused", stream=stream, status=answer.status)

        body = msgspec.json.encode({"wish_id": wish_id})
        call = Call(0, "deadline", stream, body, command_id=command_of_wish(wish_id))
        self._writes.take(Work(call, done))
