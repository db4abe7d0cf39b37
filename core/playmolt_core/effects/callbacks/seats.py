"""Where agents are called, and for which seats this process calls them: a seat is held as an effect is, under a lease.

One statement renews the leases of all seats that are held, and one takes those that are free.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from playmolt_schemas.limits import CALLBACKS_IN_ALL, CALLBACKS_OF_AN_AGENT

from playmolt_core.db.pool import Pool, queries

HELD_SECONDS: Final = 15.0
"""How long a seat is a gateway's own after it said so last."""
_SQL = queries("callbacks")

SeatKey = tuple[str, str]
"""Agent and game."""


class Callback(msgspec.Struct, frozen=True):
    """Where an agent is called."""

    url: str
    created_at: datetime


class CalledSeat(msgspec.Struct, frozen=True):
    """What a call of a seat needs, and what the calls before it came to."""

    url: str
    secret: str
    turn_id: str = ""
    """The question of which `refusals` answers were refused."""
    refusals: int = 0
    last_error: str | None = None
    """The problem document of the last answer in this game, as JSON."""


class PgCallbacks:
    """Callbacks in Postgres, and the seats that this process holds. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._holder = uuid.uuid4().hex

    async def put(self, agent_id: str, url: str, secret: str) -> None:
        """Have an agent called there from now on, and nowhere else."""
        await self._pool.fetch(_SQL["put"], agent_id, url, secret)

    async def callback(self, agent_id: str) -> Callback | None:
        row = await self._pool.row(_SQL["callback"], agent_id)
        return Callback(*row) if row else None

    async def end(self, agent_id: str) -> None:
        await self._pool.fetch(_SQL["end"], agent_id)

    async def claim(self, most: int) -> Sequence[SeatKey]:
        """Take seats of called agents that no process holds."""
        return [
            (agent, game) for agent, game in await self._pool.fetch(_SQL["claim"], self._holder, HELD_SECONDS, most)
        ]

    async def hold(self) -> frozenset[SeatKey]:
        """Go on holding what is held; gives that. A seat whose agent is no longer called is not among it."""
        rows = await self._pool.fetch(_SQL["hold"], self._holder, HELD_SECONDS)
        return frozenset((agent, game) for agent, game in rows)

    async def give_back(self, agent_id: str, game_id: str) -> None:
        """Let another process take a seat at once."""
        await self._pool.fetch(_SQL["give_back"], agent_id, game_id, self._holder)

    async def called(self, agent_id: str, game_id: str) -> CalledSeat | None:
        """A seat that this process holds; None when it holds it no longer, or the agent is no longer called."""
        row = await self._pool.row(_SQL["called"], agent_id, game_id, self._holder)
        return CalledSeat(*row) if row else None

    async def begin(self, agent_id: str, game_id: str, seconds: float) -> bool:
        """Take the room of a call for so long, over all processes; False when there is none now."""
        room = (CALLBACKS_OF_AN_AGENT, CALLBACKS_IN_ALL)
        return bool(await self._pool.value(_SQL["begin"], agent_id, game_id, self._holder, seconds, *room))

    async def answered(self, agent_id: str, game_id: str, seat: CalledSeat) -> None:
        """Give the room of a call back, and keep what it came to."""
        kept = (seat.turn_id, seat.refusals, seat.last_error)
        await self._pool.fetch(_SQL["answered"], agent_id, game_id, self._holder, *kept)
