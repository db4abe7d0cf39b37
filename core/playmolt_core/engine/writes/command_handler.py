"""Handles calls that change something. Every call is answered, at the latest with `unavailable`.

Most calls are planned from memory and queued for the commit in one go, without a task. A call that has to wait for
something is a coroutine, `_decided`.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from msgspec.structs import replace
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.identifiers import SESSION_TYPES

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.cached_stream import number_of
from playmolt_core.engine.pending_call import ARCHIVED_GAME, BadBody, CallCounter, PendingCall, Submission, api_request
from playmolt_core.engine.stream_cache import RETRY_SECONDS, StreamCache, StreamUnreadable
from playmolt_core.engine.writes.group_committer import CommitStatus, GroupCommitter
from playmolt_core.engine.writes.outcomes import Outcomes
from playmolt_core.engine.writes.planner import Planner
from playmolt_core.engine.writes.plans import NOTHING, Known, Need, NeedFaults, Plan, Planned, Recall, Repeat
from playmolt_core.game.api import ApiRequest
from playmolt_core.game.decider import Accepted, Command, Decider, Refused
from playmolt_core.log.port import Archived, EventLog
from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log, trace_id, where
from playmolt_core.vault.vault import Erased

_log = log("deciding")
_MAX_TRIES: Final = 12
_CALM_TRIES: Final = 3
_COMPLETE_SECONDS: Final = 10.0
_TOO_LARGE = Refused(Code.BODY_TOO_LARGE, "The record would exceed the size limit of the log. Send less data.")

Complete = Callable[[ApiRequest], Awaitable[Any | Refused]]
"""Returns the body of a command with the external data that it refers to, or a refusal. Raises LogUnavailable."""
ErasedRefusal = Callable[[Call], Awaitable[Refused | None]]
"""The refusal of a call about an erased session; None if the session must look missing."""
utc_now = partial(datetime.now, UTC)


class _Retry(Exception):
    """The call must be decided again: memory and log differed. `lost`: the database was unavailable."""

    def __init__(self, *, lost: bool = False) -> None:
        super().__init__()
        self.lost = lost


def _no_response(_: Answer) -> None:
    """Submissions resolve their future instead."""


class CommandHandler:
    """Decides calls, and decides them again after conflicting commits, a limited number of times."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        planner: Planner,
        streams: StreamCache,
        committer: GroupCommitter,
        *,
        most: int,
        erased: ErasedRefusal,
        completes: Mapping[str, Complete],
        completes_at_once: int,
    ) -> None:
        self._decider = decider
        self._log = event_log
        self._planner = planner
        self._streams = streams
        self._committer = committer
        self._outcomes = Outcomes(decider, event_log, planner.api_commands, streams)
        self._most = most
        self._erased = erased
        self._completes = completes
        self._completes_at_once = completes_at_once
        self._completing = 0
        self._under_way = CallCounter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._span = f"decide {decider.game}"

    @property
    def under_way(self) -> int:
        """The number of accepted calls that are not answered yet."""
        return self._under_way.count

    def take(self, pending: PendingCall) -> None:
        if self._under_way.count >= self._most:
            pending.refuse_busy()
            return
        pending.count(self._under_way)
        complete = self._completion(pending) if self._completes else None
        if complete is None:
            self._decide(pending)
        elif self._completing >= self._completes_at_once:
            pending.refuse_busy()
        else:
            self._start(self._completed(pending, complete))

    async def submit(self, stream: str, command: Command, command_id: str) -> Accepted | Refused:
        """See `effects.leased_effect.Submit`."""
        outcome: asyncio.Future[Accepted | Refused] = asyncio.get_running_loop().create_future()
        call = Call(0, "act", stream, command_id=command_id)
        self.take(Submission(call, _no_response, command, outcome=outcome))
        return await outcome

    async def drain(self, seconds: float) -> None:
        """Wait until all accepted calls are answered, at most `seconds`."""
        end = time.monotonic() + seconds
        while self.under_way and time.monotonic() < end:  # noqa: ASYNC110 -- once per process; an event would be set on every answer
            await asyncio.sleep(0.01)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _decide(self, pending: PendingCall) -> None:
        if pending.seconds_left() < 0:
            pending.refuse_busy()
            return
        planned = self._planned(pending, NOTHING, 0)
        if isinstance(planned, Plan) and planned.fault is None:
            self._queue(pending, planned, partial(self._committed, pending, planned))
        elif planned is not None:
            self._start(self._decided(pending, planned))

    def _queue(self, pending: PendingCall, plan: Plan, settle: Callable[[CommitStatus], None]) -> None:
        """Queue a plan for the commit; one that depends on nothing stored settles immediately."""
        if not plan.changes:
            settle("stored")
            return
        for change in plan.changes:
            if self._streams.get(change.entry.stream) is None:
                self._streams.put(change.entry)
        if plan.remember_on is not None:
            plan.remember_on.seen.add(number_of(pending.call.command_id))
        self._committer.add(pending.call, plan, settle)

    def _committed(self, pending: PendingCall, plan: Plan, status: CommitStatus) -> None:
        if status == "stored":
            plan.answer(pending)
        elif status == "too_large":
            pending.refuse(_TOO_LARGE)
        else:
            self._start(self._decided(pending, None, tries=0 if status == "lost" else 1))

    async def _decided(self, pending: PendingCall, planned: Planned | None, tries: int = 0) -> None:
        """Decide a call that has to wait, until it is answered. Without `planned`, plan it first."""
        known = NOTHING
        while pending.seconds_left() >= 0:
            planned = planned or self._planned(pending, known, tries)
            if planned is None:
                return
            try:
                found = await self._stepped(pending, planned, known)
            except _Retry as retry:
                tries = 0 if retry.lost else tries + 1
            except LogUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
                tries += 1
            else:
                if found is None:
                    return
                known, planned = found, None
                continue
            if tries > _MAX_TRIES:
                break
            if tries > _CALM_TRIES:
                await asyncio.sleep(min(random.uniform(0, 0.005 * 2**tries), 0.5))  # noqa: S311 -- jitter, not security
            known, planned = replace(known, faults=None, not_in_log=None), None
        pending.refuse_busy()

    async def _stepped(self, pending: PendingCall, planned: Planned, known: Known) -> Known | None:
        """Do what a plan requires. Returns what is known for the next plan, or None if the call is answered.

        Raises _Retry and LogUnavailable.
        """
        match planned:
            case Plan():
                await self._store(pending, planned)
                return None
            case Need(stream):
                return await self._load(pending, stream, known)
            case NeedFaults(stream):
                return replace(known, faults=tuple(await self._log.counted_faults(stream)))
            case Recall(stream, since):
                answered = await self._outcomes.answer_recalled(pending, stream)
                return None if answered else replace(known, not_in_log=since)
            case Repeat(stream):
                return await self._repeat(pending, stream, known)

    async def _repeat(self, pending: PendingCall, stream: str, known: Known) -> Known | None:
        if await self._committer.settled(stream):
            return known  # the command may have been discarded
        answered = await self._outcomes.answer(pending, stream)
        if answered == "missing":
            # Removed meanwhile, or memory was ahead of a failed commit: read the stream again.
            self._streams.drop(stream)
            raise _Retry
        return replace(known, afresh=True) if answered == "afresh" else None

    async def _store(self, pending: PendingCall, plan: Plan) -> None:
        settled: asyncio.Future[CommitStatus] = asyncio.get_running_loop().create_future()
        self._queue(pending, plan, settled.set_result)
        status = await settled
        if status == "too_large":
            pending.refuse(_TOO_LARGE)
            return
        if status != "stored":
            raise _Retry(lost=status == "lost")
        # A fault of a game that ended meanwhile is decided again.
        if plan.fault is not None and not await self._log.note_fault(pending.call.target, plan.fault):
            raise _Retry
        plan.answer(pending)

    async def _load(self, pending: PendingCall, stream: str, known: Known) -> Known | None:
        """Load a stream for a call; None if it was refused because the stream is missing."""
        try:
            entry = await self._streams.load(stream)
        except Erased:
            refused = await self._erased(pending.call) if pending.call.target == stream else None
            pending.refuse(refused or self._unknown(pending))
            return None
        except Archived:
            if pending.call.target != stream:  # it is only looked up, as by `join`
                return replace(known, archived=known.archived | {stream})
            pending.refuse(self._unknown(pending) if self._decider.game in SESSION_TYPES else ARCHIVED_GAME)
            return None
        except StreamUnreadable:  # a stored event that does not fold: only calls about this game are refused
            pending.refuse_busy()
            return None
        if entry is None and not self._opens(pending):
            pending.refuse(self._unknown(pending))
            return None
        if entry is None and self._streams.get(stream) is None:
            self._streams.put(self._streams.fresh(stream))
        return known

    def _opens(self, pending: PendingCall) -> bool:
        try:
            return self._planner.api_commands.opens(pending)
        except BadBody:
            return False

    def _unknown(self, pending: PendingCall) -> Refused:
        try:
            return self._planner.api_commands.unknown(pending)
        except BadBody as error:
            return error.refused

    def _completion(self, pending: PendingCall) -> Complete | None:
        if pending.call.op != "command":
            return None
        try:
            return self._completes.get(api_request(pending).route)
        except BadBody:
            return None

    async def _completed(self, pending: PendingCall, complete: Complete) -> None:
        """Load the external data that a command's body refers to, before the pure rules decide it."""
        self._completing += 1
        try:
            async with asyncio.timeout(_COMPLETE_SECONDS):
                found = await complete(api_request(pending))
        except (LogUnavailable, TimeoutError):
            pending.refuse_busy()
            return
        except Exception:
            _log.exception("completing_failed", target=pending.call.target)
            pending.refuse_busy()
            return
        finally:
            self._completing -= 1
        if isinstance(found, Refused):
            pending.refuse(found)
            return
        pending.read = {**pending.carried(), "body": found}
        self._decide(pending)

    def _planned(self, pending: PendingCall, known: Known, tries: int) -> Planned | None:
        """Plan a call; None if it was refused because of its body or a bug in the rules."""
        started = time.time_ns() if tracing.sampled(pending.call.trace) else 0
        try:
            planned = self._planner.plan(pending, known)
        except BadBody as error:
            pending.refuse(error.refused)
            return None
        except Exception as error:  # a bug in rules must not affect other games of this engine
            _report(pending, error)
            pending.refuse_busy()
            return None
        if started:
            facts: tracing.Attributes = {
                "playmolt.op": pending.call.op,
                "playmolt.target": pending.call.target,
                "playmolt.try": tries,
            }
            tracing.record(pending.call.trace, self._span, started, facts)
        return planned


def _report(pending: PendingCall, error: Exception) -> None:
    call = pending.call
    _log.error(
        "decision_failed",
        op=call.op,
        target=call.target,
        error=type(error).__name__,
        traceback=where(error),
        trace_id=trace_id(call.trace),
    )
