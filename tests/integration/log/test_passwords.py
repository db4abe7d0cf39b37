"""A password of Postgres that changes while services run: from a file it is read again at each new connection."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import httpx
import pytest
from playmolt_cli.local.embedded import Postgres
from playmolt_core.db.errors import PasswordRefused
from playmolt_core.db.migrate import await_database
from playmolt_core.db.pool import PASSWORD, connect, open_pool
from playmolt_core.server_urls import split_database_url
from playmolt_core.settings import from_environment, to_environment

from core.tests.waiting import wait_until
from tests.integration.conftest import OWN_SERVERS
from tests.platforms import MIGRATED, Stack, copied_cluster, playmolt


@pytest.fixture
def server(folder: Path) -> Iterator[Postgres]:
    with Postgres(copied_cluster(folder / "postgres", MIGRATED)) as server:
        yield server


async def set_password(server: Postgres, password: str) -> None:
    connection = await asyncpg.connect(server.url)
    try:
        await connection.execute(f"ALTER ROLE app PASSWORD '{password}'")
        # With a time limit it waits until they have ended.
        await connection.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'app'")
    finally:
        await connection.close()


@pytest.fixture
async def url(server: Postgres) -> str:
    """The database as a login whose password is checked, without a password in it."""
    connection = await asyncpg.connect(server.url)
    await connection.execute("CREATE ROLE app LOGIN SUPERUSER PASSWORD 'first'")
    await connection.close()
    parts = urlsplit(server.url)
    return urlunsplit(parts._replace(netloc=f"app@127.0.0.1:{parts.port}"))


def settings_url(url: str, file: Path) -> str:
    return from_environment({"DATABASE_URL": url, "DATABASE_PASSWORD_FILE": str(file)}).database_url


async def test_every_new_connection_reads_the_file_again(server: Postgres, url: str, tmp_path: Path) -> None:
    file = tmp_path / "pass word#1"
    file.write_text("first\n")
    pool = await open_pool(settings_url(url, file))
    reserved = pool.reserve()
    assert await pool.value("SELECT 1") == 1
    assert [tuple(row) for row in await reserved.fetch("SELECT 2")] == [(2,)]
    await set_password(server, "second")
    await asyncio.sleep(0)
    with pytest.raises(PasswordRefused):
        await pool.connect()
    assert await pool.parts() == {"postgres": False, "reason": PASSWORD}
    file.unlink()
    with pytest.raises(PasswordRefused, match="cannot read the password"):
        await pool.connect()
    file.write_text("second")
    assert await pool.parts() == {"postgres": True}
    assert [tuple(row) for row in await reserved.fetch("SELECT 2")] == [(2,)]
    await pool.close()


async def test_the_file_takes_precedence_over_the_url(url: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("first")
    connection = await connect(settings_url(url.replace("app@", "app:wrong@"), tmp_path / "password"))
    await connection.close()


def test_the_file_belongs_to_its_url(tmp_path: Path) -> None:
    """`up` passes settings on to its services, and starts a Postgres of its own where no URL is set."""
    environment = {"DATABASE_URL": "postgresql://app@db/x", "DATABASE_PASSWORD_FILE": "/run/a b"}
    settings = from_environment(environment)
    assert split_database_url(settings.database_url) == ("postgresql://app@db/x", "/run/a b")
    assert from_environment(to_environment(settings)) == settings
    assert to_environment(from_environment({"DATABASE_PASSWORD_FILE": "/run/a"})) == {}


async def test_migrate_waits_with_the_password_of_the_moment(url: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    waiting = asyncio.create_task(await_database(settings_url(url, file), 60))
    await asyncio.sleep(0)
    file.write_text("first")
    await waiting


async def test_services_say_why_they_are_not_ready_and_go_on_with_the_new_password(
    server: Postgres, url: str, folder: Path
) -> None:
    file = folder / "password"
    file.write_text("first")
    file.chmod(0o644)
    variables = {**OWN_SERVERS, "DATABASE_URL": url, "DATABASE_PASSWORD_FILE": str(file)}
    with Stack(folder / "data", environment=variables) as stack:
        health = stack.run.health

        def states() -> dict[str, tuple[int, object]]:
            found = {}
            for name in ("gateway-1", "relay-1", "ox-engine-1"):
                answer = httpx.get(health[name], timeout=60)
                found[name] = (answer.status_code, answer.json().get("reason"))
            return found

        await set_password(server, "second")
        refused = dict.fromkeys(("gateway-1", "relay-1", "ox-engine-1"), (503, PASSWORD))
        await wait_until(lambda: states() == refused, seconds=120)
        done = await asyncio.to_thread(
            playmolt, "doctor", "--json", "--data", str(folder / "data"), environment={**os.environ, **variables}
        )
        assert done.returncode == 1, done.stderr
        findings = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
        assert "password of role app" in findings["database"]["detail"]
        assert str(file) in findings["database"]["advice"]
        assert "Secret gateway-credentials" in findings["gateway-1"]["advice"]
        file.write_text("second")
        ready = dict.fromkeys(("gateway-1", "relay-1", "ox-engine-1"), (200, None))
        await wait_until(lambda: states() == ready, seconds=120)
