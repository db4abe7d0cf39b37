"""Answers repeated commands with their stored outcome."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from playmolt_schemas.codes import MISMATCH, Code
from playmolt_schemas.envelopes import Call

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.pending_call import PendingCall, api_request, body_of
from playmolt_core.engine.stream_cache import RETRY_SECONDS, StreamCache
from playmolt_core.engine.writes.api_commands import ApiCommands
from playmolt_core.engine.writes.plans import Recall, answer
from playmolt_core.game.decider import Decider, Refused
from playmolt_core.log.folding import fold
from playmolt_core.log.port import Archived, Decided, EventLog, Outcome
from playmolt_core.vault.stream_key import StreamKey, fingerprint_under, short_fingerprint
from playmolt_core.vault.vault import Erased


class OutcomeReplay:
    """Answers repeated commands, after pending commits of their stream."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        api_commands: ApiCommands,
        streams: StreamCache,
        when_settled: Callable[[str, Callable[[], None]], None],
        decide: Callable[[PendingCall], None],
        again: Callable[[Iterable[PendingCall]], None],
    ) -> None:
        self._decider = decider
        self._log = event_log
        self._api_commands = api_commands
        self._streams = streams
        self._when_settled = when_settled
        self._decide = decide
        self._again = again
        self._tasks: set[asyncio.Task[None]] = set()

    def repeat(self, pending: PendingCall, stream: str) -> None:
        entry = self._streams.get(stream)
        if entry is not None and entry.uncommitted:
            self._when_settled(stream, lambda: self._decide(pending))
            return
        self._begin(self._repeated(pending, stream, entry.key if entry else None))

    def recall(self, pending: PendingCall, recall: Recall) -> None:
        """Look up in the log whether a command was already decided; otherwise decide it now."""
        self._begin(self._recalled(pending, recall))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _recalled(self, pending: PendingCall, recall: Recall) -> None:
        try:
            outcome = await self._log.outcome(recall.stream, pending.call.command_id)
        except LogUnavailable:
            await asyncio.sleep(RETRY_SECONDS)
            self._again([pending])
            return
        if isinstance(outcome, Outcome):
            self._answer(pending, recall.stream, outcome, None)
        else:
            pending.recalled = pending.tries, recall.since
            self._decide(pending)

    async def _repeated(self, pending: PendingCall, stream: str, key: StreamKey | None) -> None:
        try:
            outcome = await self._log.outcome(stream, pending.call.command_id)
            if isinstance(outcome, Decided):
                outcome = await self._derived(pending.call, stream, outcome, key)
        except LogUnavailable:
            await asyncio.sleep(RETRY_SECONDS)
            self._again([pending])
            return
        except (Archived, Erased):
            outcome = None
        if outcome is None:
            # Removed meanwhile, or memory was ahead of a failed commit: read the stream again.
            self._streams.drop(stream)
            self._again([pending])
        else:
            self._answer(pending, stream, outcome, key)

    def _answer(self, pending: PendingCall, stream: str, outcome: Outcome, key: StreamKey | None) -> None:
        if outcome.fingerprint != fingerprint_under(key, pending.call.fingerprint):
            pending.refuse(Refused(Code.IDEMPOTENCY_MISMATCH, MISMATCH))
        elif pending.call.op == "command":
            self._answer_command(pending, stream, outcome.body)
        else:
            pending.answer(200, outcome.body)

    async def _derived(self, call: Call, stream: str, found: Decided, key: StreamKey | None) -> Outcome | None:
        """The outcome of a command, derived from its records."""
        stored = await self._log.facts(stream)
        if stored is None:
            return None
        state = fold(self._decider, stream, stored, until=found.version)
        body = answer(call.op, stream, self._decider.summary(state).phase, found.version, found.receipt)
        same = found.fingerprint == short_fingerprint(key, call.fingerprint)
        asked = fingerprint_under(key, call.fingerprint) if same else found.fingerprint
        return Outcome(stream=stream, command_id=call.command_id, fingerprint=asked, body=body)

    def _answer_command(self, pending: PendingCall, stream: str, body: bytes) -> None:
        """Answer a game's own route with the stored body, or from the current state."""
        entry, request = self._streams.get(stream), api_request(pending)
        if body:
            pending.answer(self._api_commands.status(request), body)
            return
        if entry is None:
            self._again([pending])
            return
        reply = self._api_commands.answer(entry.committed.state, request)
        if not isinstance(reply, Refused):
            pending.answer(reply.status, body_of(reply))
        elif reply.code is Code.UNAVAILABLE:
            # The data was unavailable, and refusals are not stored, so the repeat is a new try.
            pending.afresh = True
            self._again([pending])
        else:
            pending.refuse(reply)
