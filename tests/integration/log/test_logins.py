"""Each service's login, tried from outside: it writes and reads its own, and no role that it takes widens that."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

import asyncpg
import pytest
from playmolt_core.db.logins import LOGINS, Login, login_url, roles_of, settle_logins
from playmolt_core.db.pool import Pool, open_pool, queries
from playmolt_core.log.batch import batch_of
from playmolt_core.log.port import Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.identifiers import ENGINES, SEALED_TYPES

from core.tests.log.log_contract import Game, outcome, unit
from tests.integration.conftest import drop_database, make_database

GAMES = [game for games in ENGINES.values() for game in games]
STREAMS = [name for game in GAMES for name in (f"{game}-1", f"lobby-{game}")]
APPEND = queries("log")["append"]


SEES_ALL = ("relay", "reader", "verifier")


def own(service: str) -> set[str]:
    types = SEALED_TYPES if service == "eraser" else ENGINES.get(service, ())
    return {name for game in types for name in (f"{game}-1", f"lobby-{game}")}


@pytest.fixture
async def urls(database_url: str) -> AsyncIterator[Mapping[str, str]]:
    logins = await log_in(database_url)
    yield urls_of(database_url, logins)
    await log_out(database_url, logins)


@pytest.fixture(scope="module")
def urls_to_be_refused(postgres_url: str, migrated_template: str) -> Iterator[Mapping[str, str]]:
    """One log for all who try what changes nothing: a database and its logins take longer than the attempt."""
    database_url = asyncio.run(make_database(postgres_url, migrated_template))
    logins = asyncio.run(log_in(database_url))
    yield urls_of(database_url, logins)
    asyncio.run(log_out(database_url, logins))
    asyncio.run(drop_database(postgres_url, database_url))


def urls_of(database_url: str, logins: Sequence[Login]) -> Mapping[str, str]:
    return {name: login_url(database_url, login) for name, login in zip(LOGINS, logins, strict=True)}


async def log_in(database_url: str) -> Sequence[Login]:
    """The login of each service, on a log with a game and a lobby of every type. Logins are of the whole server."""
    suffix = urlsplit(database_url).path[-8:]
    logins = [Login(f"{name}-{suffix}", f"{name} pässword/@", roles_of(name)) for name in LOGINS]
    await settle_logins(database_url, logins)
    pool = await open_pool(database_url)
    await PostgresLog(pool).append([unit(Game(name).adds(1), outcomes=[outcome(name, 1)]) for name in STREAMS])
    await pool.close()
    return logins


async def log_out(database_url: str, logins: Sequence[Login]) -> None:
    connection = await asyncpg.connect(database_url)
    for login in logins:
        await connection.execute(f'DROP OWNED BY "{login.name}"; DROP ROLE "{login.name}"')
    await connection.close()


async def tried(connection: asyncpg.Connection, added: Unit) -> str:
    try:
        await connection.fetchval(APPEND, *batch_of([added]))
    except asyncpg.InsufficientPrivilegeError:
        return "refused"
    return "stored"


@pytest.mark.parametrize("login", LOGINS)
@pytest.mark.parametrize("taken", ["", "RESET ROLE", "SET ROLE NONE", "SET ROLE playmolt_engine"])
async def test_a_login_appends_to_and_sees_its_own_types_alone(urls: Mapping[str, str], login: str, taken: str) -> None:
    connection = await asyncpg.connect(urls[login])
    if taken.endswith("playmolt_engine") and login not in (*ENGINES, "eraser"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(taken)
    elif taken:
        await connection.execute(taken)
    for number, name in enumerate(STREAMS):
        expected = "stored" if name in own(login) else "refused"
        fresh = name.replace("-1", f"-2{number}")
        assert await tried(connection, unit(Game(fresh).adds(1))) == expected, name
        mixed = unit(Game(f"{fresh}0").adds(1), outcomes=[outcome("ox-1" if name != "ox-1" else "trial-1", 2 + number)])
        if login != "ox-engine":
            assert await tried(connection, mixed) == "refused", "an outcome in a stream of another"
    for table in ("log.stream", "log.event", "log.outcome"):
        try:
            rows = await connection.fetch(f"SELECT stream FROM {table} WHERE stream = ANY ($1)", STREAMS)
        except asyncpg.InsufficientPrivilegeError:
            assert login == "gateway" or (login, table) == ("relay", "log.outcome")
        else:
            everything = login in SEES_ALL
            assert {row[0] for row in rows} == (set(STREAMS) if everything else own(login)), table
    await connection.close()


@pytest.mark.parametrize("login", LOGINS)
@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE postgres", "SET ROLE playmolt_owner", "SET SESSION AUTHORIZATION postgres",
        "ALTER TABLE log.stream DISABLE ROW LEVEL SECURITY", "DROP POLICY own ON log.stream",
        "CREATE OR REPLACE VIEW log.event AS SELECT 1", "DROP POLICY own ON log.record",
        "CREATE ROLE mine", "GRANT playmolt_game_ox, playmolt_game_trial TO CURRENT_USER",
        "CREATE OR REPLACE FUNCTION log.own_types() RETURNS text[] LANGUAGE sql AS 'SELECT NULL::text[]'",
        "SELECT log.prune('[]', 'a file', '')", "SELECT passwd FROM pg_shadow", "COPY log.event TO PROGRAM 'true'",
    ],
)  # fmt: skip
async def test_a_login_cannot_widen_itself(urls_to_be_refused: Mapping[str, str], login: str, statement: str) -> None:
    connection = await asyncpg.connect(urls_to_be_refused[login])
    with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.FeatureNotSupportedError)):
        await connection.execute(statement)
    await connection.close()


async def test_what_an_agent_has_with_another_engine_is_not_listed(urls: Mapping[str, str]) -> None:
    pools: list[Pool] = [await open_pool(urls[name], role="playmolt_engine") for name in ("ox-engine", "trial-engine")]
    ox, trial = (PostgresLog(pool) for pool in pools)
    joined = b'{"agent_id":"agent-a"}'
    await ox.append([unit(Game("ox-7").adds(1, kind="agent_joined", data=joined))])
    listed = {"phase": None, "before": None, "limit": 10, "agent": "agent-a"}
    assert [game.stream for game in await ox.games("ox", **listed)] == ["ox-7"]  # type: ignore[arg-type]
    assert await trial.games("ox", **listed) == []  # type: ignore[arg-type]
    assert await trial.load("ox-7") is None
    assert await trial.facts("ox-1") is None
    assert await trial.outcome("ox-1", f"{1:032x}") is None
    assert await trial.versions(["ox-1", "trial-1"]) == {"trial-1": 1}
    assert await pools[1].fetch("SELECT * FROM log.joined_by('agent-a')") == []
    for pool in pools:
        await pool.close()


async def test_a_login_is_settled_to_just_its_roles(database_url: str, urls: Mapping[str, str]) -> None:
    """One that was wider, by hand or by the release before, is narrowed; its new password is taken."""
    name = urlsplit(urls["ox-engine"]).username or ""
    admin = await asyncpg.connect(database_url)
    await admin.execute(f'GRANT playmolt_owner, playmolt_game_trial TO "{name}"')
    await admin.execute(f'ALTER ROLE "{name}" CREATEROLE SUPERUSER')
    await settle_logins(database_url, [Login(name, "another", roles_of("ox-engine"))])
    await admin.close()
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(urls["ox-engine"])
    connection = await asyncpg.connect(login_url(database_url, Login(name, "another", ())))
    roles = await connection.fetch(
        "SELECT roleid::regrole::text AS name FROM pg_auth_members WHERE member = current_user::regrole"
    )
    assert {row["name"] for row in roles} == {"playmolt_engine", "playmolt_game_ox"}
    assert await connection.fetchval("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = $1", name) is False
    await connection.close()


@pytest.mark.parametrize("login", ENGINES)
async def test_only_the_engine_of_tournaments_reads_and_seats_agents(urls: Mapping[str, str], login: str) -> None:
    gateway = await asyncpg.connect(urls["gateway"])
    await gateway.execute("INSERT INTO account.agent (id, name, folded) VALUES ('agent-1', 'Ada', 'ada')")
    connection = await asyncpg.connect(urls[login])
    for table in ("account.agent", "account.seat", "account.house_bot", "account.api_key"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch(f"SELECT * FROM {table}")
    await connection.execute("SELECT account.note_table('ox-1', ARRAY['agent-1', 'agent-2'])")
    found = await connection.fetch("SELECT name FROM account.entrants(ARRAY['agent-1'])")
    bots = [dict(row) for row in await connection.fetch("SELECT number, id FROM account.house_bots('cup', '{2, 1}')")]
    again = [dict(row) for row in await connection.fetch("SELECT number, id FROM account.house_bots('cup', '{2, 1}')")]
    may = login == "tournament-engine"
    assert ([row["name"] for row in found], len(bots), again) == (["Ada"] if may else [], 2 if may else 0, bots)
    seats = await gateway.fetch("SELECT agent_id, game_id FROM account.seat")
    assert [tuple(row) for row in seats] == ([("agent-1", "ox-1")] if may else [])
    for each in (gateway, connection):
        await each.close()
