"""The states a game went through: for time travel and for a seat's own feed."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from playmolt_core.game.decider import Decider, Event
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import EventLog, StoredFacts

_KEPT = 128


class Moment(msgspec.Struct, frozen=True):
    """An event, when it was decided, and the state right after it."""

    event: Event
    at: datetime
    state: Any


class Histories:
    """Histories of the games asked for lately, extended from the log, never older than asked for."""

    def __init__(
        self, decider: Decider[Any], event_log: EventLog, read_last: Callable[[str], StoredFacts | None]
    ) -> None:
        self._read_last = read_last
        self._decider = decider
        self._log = event_log
        self._kept: OrderedDict[str, tuple[Moment, ...]] = OrderedDict()

    async def of(self, stream: str, version: int) -> tuple[Moment, ...]:
        """The moments 1 to at least `version` (index = version - 1). Raises LogUnavailable."""
        moments = self._kept.get(stream, ())
        if len(moments) < version:
            stored = None if moments else self._read_last(stream)
            if stored is None or stored.head.version < version:
                stored = await self._log.facts(stream, after=len(moments))
            moments = self._extended(stream, moments, stored) if stored else moments
            self._kept[stream] = moments
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        if stream in self._kept:
            self._kept.move_to_end(stream)
        return moments

    def _extended(self, stream: str, moments: tuple[Moment, ...], stored: StoredFacts) -> tuple[Moment, ...]:
        state = moments[-1].state if moments else self._decider.initial(stream)
        more = []
        for event, at in facts_of(self._decider, stored):
            state = self._decider.evolve(state, event, at)
            more.append(Moment(event, at, state))
        return (*moments, *more)
