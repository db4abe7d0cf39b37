"""Agents at the tables of tournaments, for the service that seats them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from playmolt_core.db.accounts import Agent
from playmolt_core.db.pool import Pool, queries

_SQL = queries("tables")
_BANS = queries("moderation")


class PgTables:
    """What the service that seats tables may read and write of the accounts. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def entrants(self, agent_ids: Sequence[str]) -> Mapping[str, Agent]:
        """The agents as they are now, by id."""
        rows = await self._pool.fetch(_SQL["entrants"], list(agent_ids))
        return {agent.id: agent for agent in (Agent(*row) for row in rows)}

    async def banned(self, subjects: Sequence[str]) -> Collection[str]:
        """Those of these agents and owners who are banned now."""
        return {subject for subject, _ in await self._pool.fetch(_BANS["bans"], list(subjects))}

    async def house_bots(self, tournament: str, numbers: Sequence[int]) -> Sequence[Agent]:
        """The house bots of a tournament with these numbers, ascending; those that are new are created."""
        return [Agent(*row) for row in await self._pool.fetch(_SQL["house_bots"], tournament, list(numbers))]

    async def note_table(self, game_id: str, agent_ids: Sequence[str]) -> None:
        """Remember the seats, so that agents are called for their turns and learn how the game ends. Idempotent."""
        await self._pool.value(_SQL["note_table"], game_id, list(agent_ids))


class SeasonRow(msgspec.Struct, frozen=True):
    """What an agent gathered in the rated games of a time."""

    agent: Agent
    points: int
    wins: int
    games: int


class PgSeasons:
    """Results of rated games, from the projections. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def includes(self, ends: datetime) -> bool:
        """Whether the projections include every game that ended by then."""
        return bool(await self._pool.value(_SQL["includes"], ends))

    async def season(self, game_type: str, begins: datetime, ends: datetime, most: int) -> Sequence[SeasonRow]:
        """The agents other than house bots that played rated games that ended in a time, both ends included: the best
        `most`, by points, then wins."""
        rows = await self._pool.fetch(_SQL["season"], game_type, begins, ends, most)
        return [SeasonRow(Agent(*agent), points, wins, games) for *agent, points, wins, games in rows]
