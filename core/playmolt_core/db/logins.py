"""Logins of the services, each with the rights of its group roles only, and the roles that `migrate` needs."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg
import msgspec
from playmolt_schemas.identifiers import ENGINES, SEALED_TYPES

from playmolt_core.db.pool import Connection, close, connect, queries, unavailable

_SQL = queries("logins")
ENGINE_ROLE: Final = "playmolt_engine"
VAULT_ROLE: Final = "playmolt_vault"
_ROLES: Final = {
    "gateway": "playmolt_gateway",
    "relay": "playmolt_relay",
    "reader": "playmolt_reader",
    "verifier": "playmolt_reader",
}
_OF_SESSIONS: Final = ("verifier", "eraser")
"""The logins with access to all sessions: `verifier` verifies sealed records, `eraser` erases and rewraps keys."""


def group_role(service: str) -> str:
    """The role of a service; empty for the spectator, which has no login."""
    return "" if service == "spectator" else _ROLES.get(service, ENGINE_ROLE)


def game_role(game: str) -> str:
    """The role whose members read and append to the streams of a type."""
    return f"playmolt_game_{game}"


def roles_of(service: str) -> tuple[str, ...]:
    """The roles that the login of a service belongs to."""
    types = SEALED_TYPES if service in _OF_SESSIONS else ENGINES.get(service, ())
    vault = (VAULT_ROLE,) if seals(types) else ()
    return (group_role(service), *vault, *(game_role(game) for game in types))


def seals(types: Iterable[str]) -> bool:
    """Whether one of these types is sealed and needs keys."""
    return not set(SEALED_TYPES).isdisjoint(types)


LOGINS: Final[tuple[str, ...]] = ("gateway", *ENGINES, "relay", "reader", *_OF_SESSIONS)
"""The logins of Postgres other than the owner of the database, named as their NATS users."""


class Login(msgspec.Struct, frozen=True):
    name: str
    password: str
    roles: tuple[str, ...]


def login_url(url: str, login: Login) -> str:
    """A URL of the same database for another login."""
    parts = urlsplit(url)
    where = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(login.name, safe='')}:{quote(login.password, safe='')}@{where}"))


async def settle_logins(url: str, logins: Iterable[Login]) -> None:
    """Create logins, or set existing ones to exactly these passwords and roles.

    The user of the URL may create and grant roles, and the database is migrated. Raises LogUnavailable.
    """
    connection = await connect(url, writes=True)
    try:
        with unavailable():
            async with connection.transaction():
                for login in logins:
                    await _settle(connection, login)
    finally:
        await close(connection)


async def _settle(connection: Connection, login: Login) -> None:
    roles = list(login.roles)
    for query, arguments in (
        ("missing", ([*roles, login.name],)),
        ("settle", (login.name, login.password)),
        ("narrow", (login.name, roles)),
        ("grant", (login.name, roles)),
    ):
        for (statement,) in await connection.fetch(_SQL[query], *arguments):
            await connection.execute(statement)


OWNER: Final = "playmolt_owner"
GROUP_ROLES: Final = tuple(f"playmolt_{name}" for name in ("owner", "engine", "relay", "gateway", "reader", "vault"))
ROLES: Final = (*GROUP_ROLES, *sorted(game_role(game) for games in ENGINES.values() for game in games))


async def settle_memberships(connection: Connection) -> list[str]:
    """Create our missing roles and join them. If this login may not create one, or not join the owner, change nothing
    and return the statements that an administrator has to run.

    A login that only migrates needs no role but the owner's. One that may join the others does, so that services can
    use it, too.
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
