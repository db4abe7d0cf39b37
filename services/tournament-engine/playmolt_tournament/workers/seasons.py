"""Closes a season, or lets the operator end it: its board over the rated public games that ended in its time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol

import msgspec
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.tables import SeasonRow
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.api import ApiRequest
from playmolt_schemas.limits import TOURNAMENT_BOARD_ROWS
from playmolt_schemas.stored.tournament import BoardRow

from playmolt_tournament import commands
from playmolt_tournament.effects import SeasonToClose
from playmolt_tournament.state import State

SETTLING_SECONDS: Final = 5.0
"""How long after its end games that ended in its time may still be committed."""
LOOKS: Final = 30
"""How often the operator's end of a season looks whether the projections are still behind."""
_LOOK_SECONDS: Final = 0.1
_NOT_YET: Final = "the projections do not include every game of the season yet"


class Results(Protocol):
    """The results of rated games; see `playmolt_core.db.tables`. Every method may raise LogUnavailable."""

    async def includes(self, ends: datetime) -> bool:
        """Whether the results include every game that ended by then."""
        ...

    async def season(self, game_type: str, begins: datetime, ends: datetime, most: int) -> Sequence[SeasonRow]: ...


class SeasonWorker:
    """Fulfils `close_season`, which is due once its time is over."""

    def __init__(
        self,
        results: Results,
        *,
        settling: float = SETTLING_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._results = results
        self._settling = settling
        self._clock = clock

    async def __call__(self, leased: LeasedEffect[SeasonToClose, State]) -> None:
        season = leased.payload
        await asyncio.sleep(max(0.0, (season.until - self._clock()).total_seconds() + self._settling))
        if not await self._results.includes(season.until):
            raise LogUnavailable(_NOT_YET)  # the effect is retried
        board = await _board(self._results, leased.snapshot.state, season.until)
        await leased.submit(commands.CloseSeason(board=board))


class SeasonCloser:
    """Adds the board of this moment to the operator's end of a season that is running."""

    def __init__(
        self,
        results: Results,
        present: Callable[[str], Awaitable[State | None]],
        *,
        looks: int = LOOKS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`present` returns the state of a tournament."""
        self._results = results
        self._present = present
        self._looks = looks
        self._clock = clock

    async def __call__(self, request: ApiRequest) -> Mapping[str, object]:
        """The body of `end_tournament`. Raises LogUnavailable."""
        body: Mapping[str, object] = request.body
        state = await self._present(request.stream)
        if state is None or state.format != "season" or state.phase != "running":
            return body
        now = self._clock()
        for _ in range(self._looks):
            if await self._results.includes(now):
                break
            await asyncio.sleep(_LOOK_SECONDS)
        board = await _board(self._results, state, min(now, state.ends_at or now))
        return {**body, "board": msgspec.to_builtins(board)}


async def _board(results: Results, state: State, until: datetime) -> tuple[BoardRow, ...]:
    """The rows of a season up to a time; `state` has started. The rules rank them."""
    begins = state.starts_at or state.started_at or until
    rows = await results.season(state.terms.game_type, begins, until, TOURNAMENT_BOARD_ROWS)
    return tuple(
        BoardRow(
            rank=0,
            agent_id=row.agent.id,
            name=row.agent.name,
            handle=row.agent.handle,
            owner_id=row.agent.owner_id,
            points=row.points,
            wins=row.wins,
            games=row.games,
        )
        for row in rows
    )
