"""Answers repeated commands with their stored outcome."""

from typing import Generic, Literal

from playmolt_schemas.codes import MISMATCH, Code
from playmolt_schemas.envelopes import Call

from playmolt_core.engine.pending_call import PendingCall, api_request, body_of
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.plans import answer
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Decider, Refused, S
from playmolt_core.log.folding import fold
from playmolt_core.log.port import Archived, Decided, Outcome, StreamReader
from playmolt_core.vault.stream_key import StreamKey, fingerprint_under, short_fingerprint
from playmolt_core.vault.vault import Erased

Answered = Literal["answered", "missing", "afresh"]
"""`missing`: the log has no outcome. `afresh`: decide it again, because the outcome had no result for lack of data."""


class Outcomes(Generic[S]):
    """Looks up outcomes."""

    def __init__(
        self, decider: Decider[S], event_log: StreamReader, api: GameApi[S] | None, streams: StreamCache[S]
    ) -> None:
        self._decider = decider
        self._log = event_log
        self._api = api
        self._streams = streams

    async def answer(self, pending: PendingCall, stream: str) -> Answered:
        """Answer a command that was decided in a stream. Raises LogUnavailable."""
        entry = self._streams.get(stream)
        key = entry.key if entry else None
        try:
            outcome = await self._log.outcome(stream, pending.call.command_id)
            if isinstance(outcome, Decided):
                outcome = await self._derived(pending.call, stream, outcome, key)
        except (Archived, Erased):
            return "missing"
        if outcome is None:
            return "missing"
        if outcome.fingerprint != fingerprint_under(key, pending.call.fingerprint):
            pending.refuse(Refused(Code.IDEMPOTENCY_MISMATCH, MISMATCH))
        elif pending.call.op == "command":
            return self._answer_command(pending, stream, outcome.body)
        else:
            pending.answer(200, outcome.body)
        return "answered"

    async def _derived(self, call: Call, stream: str, found: Decided, key: StreamKey | None) -> Outcome | None:
        """The outcome of a command, derived from its records."""
        if (stored := await self._log.facts(stream)) is None:
            return None
        state = fold(self._decider, stream, stored, until=found.version)
        body = answer(call.op, stream, self._decider.summary(state).phase, found.version, found.receipt)
        same = found.fingerprint == short_fingerprint(key, call.fingerprint)
        asked = fingerprint_under(key, call.fingerprint) if same else found.fingerprint
        return Outcome(stream=stream, command_id=call.command_id, fingerprint=asked, body=body)

    def _answer_command(self, pending: PendingCall, stream: str, body: bytes) -> Answered:
        """Answer a game's own route with the stored body, or from the current state."""
        api, entry, request = self._api, self._streams.get(stream), api_request(pending)
        if api is not None and body:
            pending.answer(201 if request.route in api.opens else 200, body)
            return "answered"
        if api is None or entry is None:
            return "missing"
        reply = api.answer(entry.committed.state, request)
        if not isinstance(reply, Refused):
            pending.answer(reply.status, body_of(reply))
        elif reply.code is Code.UNAVAILABLE:
            return "afresh"  # refusals are not stored
        else:
            pending.refuse(reply)
        return "answered"
