"""What the processes of an `up` can do with what they were told: each is tried with its own login, from outside."""

import json
import os
import time
from urllib.parse import urlsplit

import asyncpg
import nats
import pytest
from playmolt.bots import run_house_bots
from playmolt_cli.games import deciders
from playmolt_cli.local.embedded.nats import SERVICES
from playmolt_core.db.logins import LOGINS, roles_of

from tests.integration.conftest import SECONDS, StackFactory
from tests.integration.processes import environment_of
from tests.platforms import Stack, playmolt


@pytest.mark.parametrize("service", SERVICES)
def test_no_process_knows_the_superusers_password_or_anothers(running: Stack, service: str) -> None:
    passwords = {
        "postgres": urlsplit(running.run.database_url).password or "",
        **running.folder.database_passwords(LOGINS),
    }
    known = "\n".join(environment_of(running, f"{service}-1").values())
    assert {name for name, password in passwords.items() if password in known} == ({service} & set(LOGINS))


@pytest.mark.parametrize("service", [service for service in SERVICES if service != "spectator"])
async def test_a_processes_login_belongs_to_its_roles_and_gains_nothing_without_one(
    running: Stack, service: str
) -> None:
    connection = await asyncpg.connect(environment_of(running, f"{service}-1")["DATABASE_URL"])
    for statement in ("RESET ROLE", "SET ROLE NONE"):
        await connection.execute(statement)
        rows = await connection.fetch(
            "SELECT rolname FROM pg_roles WHERE pg_has_role(current_user, oid, 'MEMBER') AND rolname <> current_user"
        )
        assert {row["rolname"] for row in rows} == set(roles_of(service))
        assert await connection.fetchval("SELECT current_user") == service
        assert not await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    await connection.close()


async def test_the_readers_logins_read_and_do_nothing_else(running: Stack) -> None:
    await run_house_bots(running.run.gateway, "ox", deciders()["ox"].needed, seed="read")
    path = running.folder.path / "reader.json"
    assert path.stat().st_mode & 0o777 == 0o600
    reader = json.loads(path.read_text())
    database = await asyncpg.connect(reader["database_url"])
    position = await database.fetchval("SELECT max(position) FROM log.event")
    assert position > 10
    for statement in ("CREATE TABLE log.mine (a integer)", "DELETE FROM log.event", "SELECT * FROM account.api_key"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await database.execute(statement)
    await database.close()
    where = reader["nats"]
    bus = await nats.connect(where["url"], user=where["user"], password=where["password"])
    calls = bus.jetstream(timeout=SECONDS)
    consumer = await calls.pull_subscribe("events.ox.>", durable="test", stream="EVENTS")
    (message,) = await consumer.fetch(1, timeout=SECONDS)
    assert json.loads(message.data)["stream"].startswith("ox-")
    await message.ack_sync()
    await bus.close()


def test_up_signs_its_log_computes_scores_renews_keys_and_erases_by_itself(stack: StackFactory) -> None:
    up = stack(PLAYMOLT_ANCHOR_SECONDS="1", PLAYMOLT_KEEP_LEGAL_DAYS="1")
    until = time.monotonic() + 3 * SECONDS
    for chore, said in (
        ("seal", "0 sessions rewrapped with the newest key"),
        ("retention", "0 legal sessions and 0 juries"),
        ("scores", "overall: 0 players, 0 rated games"),
    ):
        while not ((log := up.folder.log(chore)).exists() and said in log.read_text()):
            assert time.monotonic() < until, chore
            time.sleep(0.1)
    while not (up.folder.anchors.exists() and len(up.folder.anchors.read_bytes().splitlines()) > 1):
        assert time.monotonic() < until, up.folder.log("anchor").read_text()
        time.sleep(0.1)
    verified = playmolt("log", "verify", "--anchors", "--data", str(up.folder.path), environment=os.environ)
    assert verified.returncode == 0, verified.stdout + verified.stderr
