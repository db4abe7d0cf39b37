"""Callbacks of agents, and the seats that this process calls, each under a lease.

One statement renews the leases of all seats of this process, and one claims free seats.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from playmolt_schemas.limits import CALLBACKS_IN_ALL, CALLBACKS_OF_AN_AGENT

from playmolt_core.db.pool import Pool, queries

HELD_SECONDS: Final = 15.0
"""The duration of a lease on a seat."""
_SQL = queries("callbacks")

SeatKey = tuple[str, str]
"""Agent and game."""


class Callback(msgspec.Struct, frozen=True):
    """The callback of an agent."""

    url: str
    created_at: datetime


class CalledSeat(msgspec.Struct, frozen=True):
    """The data for a call about a seat, and the result of earlier calls."""

    url: str
    secret: str
    turn_id: str = ""
    """The turn for which `refusals` answers were refused."""
    refusals: int = 0
    last_error: str | None = None
    """The problem document of the last answer in this game, as JSON."""


class PgCallbacks:
    """Callbacks in Postgres, and the seats that this process has leased. All methods may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._holder = uuid.uuid4().hex

    async def put(self, agent_id: str, url: str, secret: str) -> None:
        """Set the callback of an agent."""
        await self._pool.fetch(_SQL["put"], agent_id, url, secret)

    async def callback(self, agent_id: str) -> Callback | None:
        row = await self._pool.row(_SQL["callback"], agent_id)
        return Callback(*row) if row else None

    async def end(self, agent_id: str) -> None:
        await self._pool.fetch(_SQL["end"], agent_id)

    async def claim(self, most: int) -> Sequence[SeatKey]:
        """Lease free seats of agents with a callback."""
        return [(agent, game) for agent, game in await self._pool.poll(_SQL["claim"], self._holder, HELD_SECONDS, most)]

    async def hold(self) -> frozenset[SeatKey]:
        """Renew all leases and return their seats; seats of agents without a callback are dropped."""
        rows = await self._pool.fetch(_SQL["hold"], self._holder, HELD_SECONDS)
        return frozenset((agent, game) for agent, game in rows)

    async def give_back(self, agent_id: str, game_id: str) -> None:
        """Release a seat for other processes."""
        await self._pool.fetch(_SQL["give_back"], agent_id, game_id, self._holder)

    async def called(self, agent_id: str, game_id: str) -> CalledSeat | None:
        """A leased seat; None if the lease is lost or the agent has no callback anymore."""
        row = await self._pool.row(_SQL["called"], agent_id, game_id, self._holder)
        return CalledSeat(*row) if row else None

    async def begin(self, agent_id: str, game_id: str, seconds: float) -> bool:
        """Reserve capacity for a call for `seconds`, across all processes; False if there is none now."""
        room = (CALLBACKS_OF_AN_AGENT, CALLBACKS_IN_ALL)
        return bool(await self._pool.value(_SQL["begin"], agent_id, game_id, self._holder, seconds, *room))

    async def answered(self, agent_id: str, game_id: str, seat: CalledSeat) -> None:
        """Release the capacity of a call and store its result."""
        kept = (seat.turn_id, seat.refusals, seat.last_error)
        await self._pool.fetch(_SQL["answered"], agent_id, game_id, self._holder, *kept)
