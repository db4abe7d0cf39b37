"""Our roles, and the login that migrates as a member of each: a hosted Postgres gives nobody a superuser."""

from collections.abc import Sequence
from typing import Final

import asyncpg
from playmolt_schemas.identifiers import ENGINES

from playmolt_core.db.logins import game_role
from playmolt_core.db.pool import Connection
from playmolt_core.db.queries import queries

_SQL = queries("memberships")
OWNER: Final = "playmolt_owner"
GROUP_ROLES: Final = tuple(f"playmolt_{name}" for name in ("owner", "engine", "relay", "gateway", "reader", "vault"))
ROLES: Final = (*GROUP_ROLES, *sorted(game_role(game) for games in ENGINES.values() for game in games))


async def settle_memberships(connection: Connection) -> list[str]:
    """Make what is missing of our roles and join them. Where the login may not make one, or not join the owner,
    nothing is changed and the statements are given that an administrator has to run.

    Of the other roles a login that only migrates needs none; who may, joins them, so that services can use it as well.
    """
    lacking = await connection.fetch(_SQL["lacking"], list(ROLES))
    statements = await _statements(connection, lacking)
    unable = {row["name"] for row in lacking if not row["own_doing"] and (row["missing"] or row["name"] == OWNER)}
    if unable or not await connection.fetchval(_SQL["may_create"]):
        return statements
    async with connection.transaction():
        for statement in await _statements(connection, [row for row in lacking if row["own_doing"]]):
            await connection.execute(statement)
    return []


async def _statements(connection: Connection, lacking: Sequence[asyncpg.Record]) -> list[str]:
    made = [await connection.fetchval(_SQL["make"], row["name"]) for row in lacking if row["missing"]]
    joined = [await connection.fetchval(_SQL["join"], row["name"]) for row in lacking]
    able = await connection.fetchval(_SQL["may_create"])
    return made + joined + ([] if able else [await connection.fetchval(_SQL["let_create"])])
