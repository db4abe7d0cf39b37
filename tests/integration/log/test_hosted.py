"""A hosted Postgres gives no superuser: a login that owns its database and makes roles is enough."""

import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from playmolt_cli.local.embedded import Postgres
from playmolt_core.db.errors import LogUnavailable, NotMigrated
from playmolt_core.db.logins import ROLES
from playmolt_core.db.migrate import MigrationRefused, migrate
from playmolt_core.db.pool import open_pool

from core.tests.listening import listening
from tests import platforms
from tests.integration.platform.test_play import Table
from tests.platforms import EMPTY, Done, Stack, copied_cluster

SYSTEM = Path("/usr/local/bin")
INSTALLED = ["wheel", *(["system"] if (SYSTEM / "initdb").exists() else [])]


@pytest.fixture(params=INSTALLED)
def server(request: pytest.FixtureRequest, folder: Path) -> Iterator[Postgres]:
    """Every Postgres that is installed here."""
    programs = SYSTEM if request.param == "system" else None
    if programs is None:
        copied_cluster(folder / "postgres", EMPTY)
    with Postgres(folder / "postgres", programs=programs) as server:
        yield server


async def run(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def a_login(server: Postgres, *rights: str) -> str:
    """A login that owns a database, and nothing else but `rights`."""
    await run(server.url, f"CREATE ROLE app LOGIN PASSWORD 'app' {' '.join(rights)}", "CREATE DATABASE app OWNER app")
    return f"postgresql://app:app@127.0.0.1:{urlsplit(server.url).port}/app"


def playmolt(url: str, *command: str, **more: str) -> Done:
    return platforms.playmolt(*command, environment={**os.environ, "DATABASE_URL": url, **more})


async def test_a_login_that_makes_roles_is_enough_for_everything(server: Postgres, folder: Path) -> None:
    url = await a_login(server, "CREATEROLE")
    applied = await asyncio.to_thread(playmolt, url, "migrate")
    assert applied.returncode == 0, applied.stderr
    stack = Stack(folder / "up", environment={"DATABASE_URL": url, "NATS_URL": ""})
    with stack:
        table = Table(stack, "ox")
        async with asyncio.timeout(120):
            await table.sit()
            await table.play()
            await table.close()
        told = await asyncio.to_thread(playmolt, url, "doctor", NATS_URL=stack.run.nats_url)
        assert "FAULT" not in "\n".join(line for line in told.stdout.splitlines() if "roles" in line or "log" in line)
        assert re.search(r"ok +roles +all present", told.stdout), told.stdout
    verified = await asyncio.to_thread(playmolt, url, "log", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


async def test_a_login_that_makes_none_is_told_what_an_administrator_has_to_run(server: Postgres) -> None:
    url = await a_login(server)
    with pytest.raises(MigrationRefused, match="nothing was changed") as refusal:
        await migrate(url)
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname IN ('migration', 'log')") == 0
    await connection.close()
    statements = [line.strip() for line in str(refusal.value).splitlines()[1:]]
    assert len(statements) == 2 * len(ROLES)
    await run(server.url, *statements)
    assert await migrate(url) != []
    pool = await open_pool(url, role="playmolt_engine")
    assert await pool.value("SELECT current_user") == "playmolt_engine"
    await pool.close()


async def test_a_role_that_cannot_be_taken_is_named(server: Postgres) -> None:
    await migrate(server.url)
    url = await a_login(server)
    pool = await open_pool(url, role="playmolt_engine")
    with pytest.raises(NotMigrated, match="cannot set the role playmolt_engine"):
        await pool.value("SELECT 1")
    await pool.close()


async def test_what_a_pooler_drops_is_named_and_the_service_is_not_ready(empty_database_url: str) -> None:
    """A session that forgets a setting as it begins is one that a pooler gives which ignores what a client asks for."""
    await run(
        empty_database_url,
        "CREATE FUNCTION forget() RETURNS event_trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM set_config('statement_timeout', '0', false); END $$",
        "CREATE EVENT TRIGGER forget ON login EXECUTE FUNCTION forget()",
    )
    pool = await open_pool(empty_database_url)
    with pytest.raises(LogUnavailable, match="dropped the settings statement_timeout"):
        await pool.value("SELECT 1")
    assert await pool.parts() == {"postgres": False, "reason": "a pooler dropped: statement_timeout"}
    await pool.close()


async def test_a_setting_that_a_pooler_refuses_is_named_and_the_service_is_not_ready() -> None:
    """PgBouncer as it comes (seen with 1.18) ends a connection that asks for a time limit, with these bytes."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while int.from_bytes(await reader.readexactly(4)) == 8:  # whether it speaks TLS
            await reader.readexactly(4)
            writer.write(b"N")
        fields = b"SERROR\0C08P01\0Munsupported startup parameter: statement_timeout\0\0"
        writer.write(b"E" + (4 + len(fields)).to_bytes(4) + fields)

    async with listening(refuse) as port:
        pool = await open_pool(f"postgresql://app@127.0.0.1:{port}/app")
        with pytest.raises(LogUnavailable, match="unsupported startup parameter: statement_timeout"):
            await pool.value("SELECT 1")
        assert await pool.parts() == {"postgres": False, "reason": "a pooler dropped: statement_timeout"}
        await pool.close()


async def test_doctor_behind_a_pooler_reports_what_it_drops_as_a_finding(empty_database_url: str) -> None:
    await run(
        empty_database_url,
        "CREATE FUNCTION forget() RETURNS event_trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM set_config('statement_timeout', '0', false); END $$",
    )
    await migrate(empty_database_url)
    await run(empty_database_url, "CREATE EVENT TRIGGER forget ON login EXECUTE FUNCTION forget()")
    done = await asyncio.to_thread(playmolt, empty_database_url, "doctor", "--json", NATS_URL="nats://127.0.0.1:9")
    assert done.returncode == 1, done.stderr
    database = next(each for each in json.loads(done.stdout)["findings"] if each["name"] == "database")
    assert not database["well"]
    assert "dropped the settings statement_timeout" in database["detail"]
    assert "pooler" in database["advice"]
