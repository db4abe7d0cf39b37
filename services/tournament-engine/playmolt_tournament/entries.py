"""An agent takes part in one tournament of a game type at a time, which no single tournament can decide."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Final

from playmolt_core.engine.engine import Engine
from playmolt_core.game.api import ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.log.port import GameIndex
from playmolt_schemas.codes import Code
from playmolt_schemas.games.tournament import TournamentState
from playmolt_schemas.limits import PAGE_MAX

from playmolt_tournament.state import State

_UNDER_WAY: Final[tuple[TournamentState, ...]] = ("open", "running")


class EntryCheck:
    """Completes `join_tournament`: refuses an agent that takes part in another tournament of the type.

    Two joins of one agent at the same moment may both be admitted; its games then follow one another, because it has
    one seat at a time. The engine is there by the time it is first asked.
    """

    def __init__(self, log: GameIndex, engines: Mapping[str, Engine]) -> None:
        self._log = log
        self._engines = engines

    async def __call__(self, request: ApiRequest) -> object:
        """The unchanged body, or a refusal. Raises LogUnavailable."""
        entered = await self._state(request.stream)
        if entered is None:
            return request.body
        async for other in self._others(request.stream):
            entrant = other.entrant_of(request.agent_id)
            if other.terms.game_type == entered.terms.game_type and entrant is not None and entrant.state != "left":
                return Refused(
                    Code.ALREADY_JOINED,
                    f"You take part in {other.game_id}, another tournament of this game type. Leave it first.",
                )
        return request.body

    async def _others(self, stream: str) -> AsyncIterator[State]:
        for phase in _UNDER_WAY:
            before: tuple[datetime, str] | None = None
            while page := await self._log.games("tournament", phase=phase, before=before, limit=PAGE_MAX):
                for listed in page:
                    if listed.stream != stream and (state := await self._state(listed.stream)) is not None:
                        yield state
                before = page[-1].created_at, page[-1].stream

    async def _state(self, stream: str) -> State | None:
        snapshot = await self._engines["tournament"].committed.snapshot(stream)
        return snapshot.state if snapshot else None
