"""Closes a season: its board over the rated public games that ended in its time."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.tables import SeasonRow
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_schemas.limits import TOURNAMENT_BOARD_ROWS
from playmolt_schemas.stored.tournament import BoardRow

from playmolt_tournament import commands
from playmolt_tournament.effects import SeasonToClose
from playmolt_tournament.state import State

SETTLING_SECONDS: Final = 5.0
"""How long after its end games that ended in its time may still be committed."""
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
        begins = leased.snapshot.state.starts_at or season.since
        await asyncio.sleep(max(0.0, (season.until - self._clock()).total_seconds() + self._settling))
        if not await self._results.includes(season.until):
            raise LogUnavailable(_NOT_YET)  # the effect is retried
        rows = await self._results.season(season.game_type, begins, season.until, TOURNAMENT_BOARD_ROWS)
        board = tuple(
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
        await leased.submit(commands.CloseSeason(board=board))
