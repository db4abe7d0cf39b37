"""Drawings of a session at a given event, from its log."""

import asyncio

from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import StoredFacts, StreamReader

from playmolt_legal.codes import NO_SESSION
from playmolt_legal.report.scene import scene
from playmolt_legal.rules import Legal
from playmolt_legal.state import State


class SessionPictures:
    """Serves drawings after the API has granted access."""

    def __init__(self, rules: Legal, log: StreamReader) -> None:
        self._rules = rules
        self._log = log

    async def picture(self, state: State, request: ApiRequest) -> ApiReply | Refused:
        """The drawing after event number `at`; the latest if that number does not exist."""
        at = request.query.get("at", 0)
        if not 0 < at < state.version:
            return ApiReply(scene(state))
        stored = await self._log.facts(request.stream)
        if stored is None:
            return NO_SESSION
        return await asyncio.to_thread(lambda: ApiReply(scene(self._folded(request.stream, stored, at))))

    def _folded(self, stream: str, stored: StoredFacts, at: int) -> State:
        state = self._rules.initial(stream)
        for event, when in tuple(facts_of(self._rules, stored))[:at]:
            state = self._rules.evolve(state, event, when)
        return state
