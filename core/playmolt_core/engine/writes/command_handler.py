"""Handles calls that change something. Every call is answered, at the latest with `unavailable`.

Most calls are planned from memory and queued for the commit in one go, without a task. A call that has to wait for
something is a coroutine, `_decided`, whose locals are what it knows so far.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, Generic

from msgspec.structs import replace
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import SESSION_TYPES

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.pending_call import (
    ARCHIVED_GAME,
    BUSY,
    BadBody,
    CallCounter,
    PendingCall,
    api_request,
    body_of,
    route_of,
)
from playmolt_core.engine.stream_cache import RETRY_SECONDS, NotInMemory, NotLoaded, StreamCache, StreamUnreadable
from playmolt_core.engine.writes.group_committer import CommitStatus, Failure, GroupCommitter
from playmolt_core.engine.writes.outcomes import Outcomes
from playmolt_core.engine.writes.planner import Planner
from playmolt_core.engine.writes.plans import NOTHING, AddressesNotLoaded, Known, Plan, Repeat
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Decider, Refused, S
from playmolt_core.log.port import Appender, Archived
from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log, trace_id, where
from playmolt_core.vault.vault import Erased

_log = log("deciding")
_TOO_LARGE: Final = Refused(Code.BODY_TOO_LARGE, "The record would exceed the size limit of the log. Send less data.")
_MAX_TRIES: Final = 12
_CALM_TRIES: Final = 3
_COMPLETE_SECONDS: Final = 10.0

Complete = Callable[[ApiRequest], Awaitable[Any | Refused | ApiReply]]
"""Returns the body of a command with the external data that it refers to, or a refusal. Raises LogUnavailable.

A reply answers the call; its command is then decided elsewhere."""


OneAddress = Callable[[Sequence[str]], Awaitable[bool]]
"""Whether two of these agents were registered from one address. Raises LogUnavailable."""


class CommandHandler(Generic[S]):
    """Decides calls, and decides them again after conflicting commits, a limited number of times.

    `erased` returns the refusal of a call about an erased session; None if the session must look missing.
    """

    def __init__(
        self,
        decider: Decider[S],
        appender: Appender,
        planner: Planner[S],
        streams: StreamCache[S],
        committer: GroupCommitter,
        outcomes: Outcomes[S],
        *,
        most: int,
        erased: Callable[[Call], Awaitable[Refused | None]],
        completes: Mapping[str, Complete],
        completes_at_once: int,
        one_address: OneAddress,
    ) -> None:
        self._decider = decider
        self._log = appender
        self._planner = planner
        self._streams = streams
        self._committer = committer
        committer.on_failure = self._not_stored
        self._outcomes = outcomes
        self._most = most
        self._erased = erased
        self._completes = completes
        self._completions = asyncio.Semaphore(completes_at_once)
        self._one_address = one_address
        self._filling = asyncio.Lock()
        self._under_way = CallCounter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._span = f"decide {decider.game}"

    @property
    def under_way(self) -> int:
        """The number of accepted calls that are not answered yet."""
        return self._under_way.count

    def take(self, pending: PendingCall) -> None:
        if self._under_way.count >= self._most or pending.call.patience_ms < 0:
            pending.refuse_busy()
            return
        pending.count(self._under_way)
        if self._completes and (complete := self._completes.get(route_of(pending))):
            self._start(self._completed(pending, complete))
            return
        planned = self._planned(pending, NOTHING)
        if isinstance(planned, Plan) and planned.fault is None:
            self._committer.add(pending, planned)
        elif planned is not None:
            self._start(self._decided(pending, planned))

    async def drain(self, seconds: float) -> None:
        """Wait until all accepted calls are answered, at most `seconds`."""
        end = time.monotonic() + seconds
        while self.under_way and time.monotonic() < end:  # noqa: ASYNC110 -- once per process; an event would be set on every answer
            await asyncio.sleep(0.01)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _planned(self, pending: PendingCall, known: Known, tries: int = 0) -> Plan | NotLoaded | None:
        """Plan a call; None if it was refused because of its body or a bug in the rules."""
        call = pending.call
        started = time.time_ns() if tracing.sampled(call.trace) else 0
        try:
            planned: Plan | NotLoaded = self._planner.plan(pending, known)
        except NotLoaded as missing:
            planned = missing.with_traceback(None)
        except BadBody as error:
            pending.refuse(error.refused)
            return None
        except Exception as error:  # a bug in rules must not affect other games of this engine
            kind, frames = type(error).__name__, where(error)
            facts = {"op": call.op, "target": call.target, "error": kind, "trace_id": trace_id(call.trace)}
            _log.error("decision_failed", **facts, traceback=frames)
            pending.refuse_busy()
            return None
        if started:
            step: tracing.Attributes = {"playmolt.op": call.op, "playmolt.target": call.target, "playmolt.try": tries}
            tracing.record(call.trace, self._span, started, step)
        return planned

    def _not_stored(self, pending: PendingCall, status: CommitStatus) -> None:
        if status == "too_large":
            pending.refuse(_TOO_LARGE)
        else:
            self._start(self._decided(pending, tries=0 if status == "lost" else 1))

    async def _decided(self, pending: PendingCall, planned: Plan | NotLoaded | None = None, tries: int = 0) -> None:
        """Decide a call that has to wait, until it is answered. Without `planned`, plan it first."""
        known = replace(NOTHING, conflicted=planned is None)
        while pending.seconds_left() >= 0 and tries <= _MAX_TRIES:
            planned = planned or self._planned(pending, known, tries)
            if planned is None:
                return
            try:
                found = await self._stepped(pending, planned, known)
            except LogUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
                found = "conflict"
            if found is None:
                return
            planned = found if isinstance(found, Plan | NotLoaded) else None
            known = found if isinstance(found, Known) else known
            if not isinstance(found, str):
                continue
            known = replace(known, faults=None, not_in_log=None, conflicted=True)
            tries = 0 if found == "lost" else tries + 1
            if tries > _CALM_TRIES:
                await asyncio.sleep(min(random.uniform(0, 0.005 * 2**tries), 0.5))  # noqa: S311 -- jitter, not security
        pending.refuse_busy()

    async def _stepped(
        self, pending: PendingCall, planned: Plan | NotLoaded, known: Known
    ) -> Known | Plan | NotLoaded | Failure | None:
        """Do what a plan requires: what is known for the next plan, or that plan; None if the call is answered; else
        plan again. Raises LogUnavailable."""
        match planned:
            case Plan():
                return await self._store(pending, planned)
            case NotInMemory():
                return await self._load(pending, planned.stream, known)
            case Repeat():
                return await self._repeat(pending, planned.stream, planned.since, known)
            case AddressesNotLoaded():
                async with self._filling:  # all that wait would ask for the same last seat, and one would get it
                    again = self._planned(pending, known)
                    if not isinstance(again, AddressesNotLoaded) or pending.seconds_left() < 0:
                        return again
                    return replace(known, addresses=(again.agents, await self._one_address(again.agents)))
            case _:
                return replace(known, faults=tuple(await self._log.counted_faults(pending.call.target)))

    async def _store(self, pending: PendingCall, plan: Plan) -> Failure | None:
        settled: asyncio.Future[CommitStatus] = asyncio.get_running_loop().create_future()
        self._committer.add(pending, plan, settled.set_result)
        status = await settled
        if status in ("conflict", "lost"):
            return status
        if status == "too_large":
            self._not_stored(pending, status)
        elif plan.fault and not await self._log.note_fault(pending.call.target, plan.fault):
            return "conflict"  # the game ended meanwhile: its fault is decided again
        else:
            plan.answer(pending)
        return None

    async def _repeat(self, pending: PendingCall, stream: str, since: int, known: Known) -> Known | Failure | None:
        if not since and await self._streams.settled(stream):
            return known  # the command may have been discarded
        answered = await self._outcomes.answer(pending, stream)
        if answered == "answered":
            return None
        if answered == "afresh":
            return replace(known, afresh=True)
        if since:
            return replace(known, not_in_log=since)
        # Removed meanwhile, or memory was ahead of a failed commit: read the stream again.
        self._streams.drop(stream)
        return "conflict"

    async def _load(self, pending: PendingCall, stream: str, known: Known) -> Known | None:
        """Load a stream for a call; None if it was refused because the stream is missing."""
        api, target = self._planner.api_commands, pending.call.target
        try:
            entry = await self._streams.load(stream)
        except Erased:
            refused = await self._erased(pending.call) if target == stream else None
            pending.refuse(refused or api.unknown(pending))
            return None
        except Archived:
            if target != stream:  # it is only looked up, as by `join`
                return replace(known, archived=known.archived | {stream})
            pending.refuse(api.unknown(pending) if self._decider.game in SESSION_TYPES else ARCHIVED_GAME)
            return None
        except StreamUnreadable:  # a stored event that does not fold: only calls about this game are refused
            pending.refuse_busy()
            return None
        if entry is None and not api.opens(pending):
            pending.refuse(api.unknown(pending))
            return None
        if entry is None and self._streams.get(stream) is None:
            self._streams.put(self._streams.fresh(stream))
        return known

    async def _completed(self, pending: PendingCall, complete: Complete) -> None:
        """Load the external data that a command's body refers to, before the pure rules decide it."""
        if self._completions.locked():
            pending.refuse_busy()
            return
        try:
            async with self._completions, asyncio.timeout(_COMPLETE_SECONDS):
                found = await complete(api_request(pending))
        except (LogUnavailable, TimeoutError):
            found = BUSY
        except Exception:
            _log.exception("completing_failed", target=pending.call.target)
            found = BUSY
        if isinstance(found, Refused):
            pending.refuse(found)
        elif isinstance(found, ApiReply):
            pending.answer(found.status, body_of(found), found.content_type)
        else:
            pending.read = {**pending.carried(), "body": found}
            await self._decided(pending)
