"""Postgres fails over: the address leads to the old primary, which is a standby now, and then to the new one.

Writes come back by themselves, nothing that was accepted is lost or doubled, and everybody says what is wrong.
"""

import asyncio
import json
import os
import re
import statistics
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest
from playmolt_cli.local.embedded import Postgres
from playmolt_core.db.errors import ReadOnly
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.postgres import PostgresLog

from core.tests.log.log_contract import Game, statuses, unit
from tests.integration.log.address import Address
from tests.integration.log.test_backup import base_backup, playmolt
from tests.platforms import EMPTY, Stack, copied_cluster

TIMES = int(os.environ.get("FAILOVERS", "1"))
AGENT = re.compile(r"agent-[0-9a-f]{8}-[0-9a-f-]{27}")
BOUND_SECONDS = 15.0
SECONDS = 60.0
AWAY_SECONDS = 2.0
"""How long the address leads to a standby."""
StackFactory = Callable[..., Stack]


class Pair:
    """A primary and its standby, and the address that services know."""

    def __init__(self, folder: Path) -> None:
        self.primary = Postgres(copied_cluster(folder / "a", EMPTY)).start()
        base_backup(self.primary.url, folder / "b", "-R")
        self.standby = Postgres(folder / "b")
        password, copy = folder / "a" / "password", folder / "b" / "password"
        copy.write_bytes(password.read_bytes())
        self.standby.start()

    def follow(self, server: Postgres, primary: Postgres) -> None:
        """Let a server that is down come up as another's standby."""
        at = urlsplit(primary.url)
        told = f"host=127.0.0.1 port={at.port} user={at.username} password={at.password}"
        with (server.cluster / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"primary_conninfo = '{told}'\n")
        (server.cluster / "standby.signal").touch()
        server.start()

    async def promote(self) -> None:
        connection = await asyncpg.connect(self.standby.url)
        try:
            assert await connection.fetchval("SELECT pg_promote(true, 60)")
        finally:
            await connection.close()

    async def fail_over(self) -> None:
        """The primary stops, its standby takes over, and it comes back as a standby of that, where it was."""
        assert self.primary.stop(SECONDS), "a primary that is killed may be ahead of its standby, and cannot follow it"
        await self.promote()
        self.follow(self.primary, self.standby)
        self.primary, self.standby = self.standby, self.primary

    def stop(self) -> None:
        self.primary.stop()
        self.standby.stop()


@pytest.fixture
def pair(folder: Path) -> Iterator[Pair]:
    pair = Pair(folder)
    yield pair
    pair.stop()


@pytest.fixture
def address(pair: Pair) -> Iterator[Address]:
    with Address(pair.primary.port) as address:
        yield address


def through(address: Address, server: Postgres) -> str:
    return server.url.replace(f":{server.port}/", f":{address.port}/")


@pytest.fixture
async def pool(pair: Pair, address: Address) -> AsyncIterator[Pool]:
    await migrate(pair.primary.url)
    pool = await open_pool(through(address, pair.primary), writes=True)
    yield pool
    await pool.close()


async def test_a_connection_that_met_a_standby_is_not_used_again(pair: Pair, address: Address, pool: Pool) -> None:
    log = PostgresLog(pool)
    game = Game("ox-1")
    assert statuses(await log.append([unit(game.adds(1))])) == ["appended"]
    assert await pool.parts() == {"postgres": True}

    await pair.fail_over()  # the address leads to the standby still
    with pytest.raises(ReadOnly):
        await log.append([unit(game.twin().adds(1))])
    with pytest.raises(ReadOnly):
        await pool.value("SELECT 1")
    assert await pool.parts() == {"postgres": False, "reason": "read_only"}

    address.target = pair.primary.port
    assert statuses(await log.append([unit(game.adds(1))])) == ["appended"]
    assert [each.position for each in await log.outgoing(0, 10)] == [1, 2]
    assert await pool.parts() == {"postgres": True}


async def test_a_server_that_turns_read_only_is_left_by_every_connection(pair: Pair, pool: Pool) -> None:
    """As a proxy or a hosting provider does it: beneath connections that stay open."""
    log, game = PostgresLog(pool), Game("ox-1")
    await log.append([unit(game.adds(1))])
    await log.outgoing(0, 10)
    administrator = await asyncpg.connect(pair.primary.url)
    await administrator.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    await administrator.execute("SELECT pg_reload_conf()")
    try:
        while not await pool.value("SELECT current_setting('default_transaction_read_only') = 'on'"):
            pass
    except ReadOnly:
        pass
    with pytest.raises(ReadOnly):
        await log.append([unit(game.twin().adds(1))])
    with pytest.raises(ReadOnly):
        await log.outgoing(0, 10)  # though it only reads
    assert await pool.parts() == {"postgres": False, "reason": "read_only"}
    await administrator.execute("SET default_transaction_read_only = off")
    await administrator.execute("ALTER SYSTEM RESET default_transaction_read_only")
    await administrator.execute("SELECT pg_reload_conf()")
    await administrator.close()
    until = time.monotonic() + SECONDS
    while not await pool.answers():
        assert time.monotonic() < until
    assert statuses(await log.append([unit(game.adds(1))])) == ["appended"]
    assert not pool.read_only


class Joiner:
    """Registers agents and joins games one after another, each call repeated with its key until it is taken."""

    def __init__(self, gateway: str) -> None:
        self._gateway = gateway
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.taken: list[float] = []
        self.seats: dict[str, str] = {}
        self.statuses: Counter[int] = Counter()
        self._thread.start()

    def _run(self) -> None:
        with httpx.Client(base_url=self._gateway, timeout=60) as client:
            number = 0
            while not self._over.is_set():
                number += 1
                me = self._until_taken(client, "/api/agents", {"name": f"joiner {number}"}, {})
                if me is None:
                    return
                key = {"Authorization": f"Bearer {me['api_key']}"}
                seat = self._until_taken(client, "/api/games/join", {"gameType": "ox"}, key)
                if seat is None:
                    return
                self.seats[me["id"]] = seat["game_id"]

    def _until_taken(
        self, client: httpx.Client, path: str, body: dict[str, str], headers: dict[str, str]
    ) -> dict[str, object] | None:
        idem = {"Idempotency-Key": os.urandom(8).hex()}
        while not self._over.is_set():
            answer = client.post(path, json=body, headers=headers | idem)
            self.statuses[answer.status_code] += 1
            if answer.is_success:
                self.taken.append(time.monotonic())
                return dict(answer.json())
            time.sleep(0.05)
        return None

    def stop(self) -> None:
        self._over.set()
        self._thread.join(60)


def test_writes_are_back_within_seconds_of_the_address_leading_to_the_new_primary(
    pair: Pair, address: Address, stack: StackFactory
) -> None:
    running = stack(DATABASE_URL=through(address, pair.primary))
    joiner = Joiner(running.run.gateway)
    away, back = [], []
    try:
        until = time.monotonic() + SECONDS
        while not joiner.taken:  # the first may take longer than what is waited below
            assert time.monotonic() < until, joiner.statuses
            time.sleep(0.02)
        for _ in range(TIMES):
            time.sleep(1)
            asyncio.run(pair.fail_over())
            time.sleep(AWAY_SECONDS)
            for name in ("gateway-1", "relay-1", "ox-engine-1"):
                told = read_only(running.run.health[name])
                assert told.get("parts", told)["postgres"] is False
            doctor = playmolt("doctor", "--data", str(running.folder.path))
            assert doctor.exit_code == 1
            assert "postgres: read-only" in doctor.stdout
            last = joiner.taken[-1]
            address.target = pair.primary.port
            switched = time.monotonic()
            while len(written := [at for at in joiner.taken if at > last]) < 2:  # an account and a seat
                assert time.monotonic() < switched + SECONDS, joiner.statuses
                time.sleep(0.02)
            back.append(written[1] - switched)
            away.append(written[1] - last)
    finally:
        joiner.stop()
    figures = {"away": away, "back": back, "statuses": joiner.statuses, "seats": len(joiner.seats)}
    sys.stdout.write(f"{json.dumps(figures)}\n")
    assert statistics.median(back) < BOUND_SECONDS
    assert set(joiner.statuses) <= {200, 201, 503}
    until = time.monotonic() + SECONDS
    while (told := httpx.get(f"{running.run.gateway}/readyz", timeout=SECONDS)).status_code != 200:
        assert time.monotonic() < until, told.text
        time.sleep(0.1)
    asyncio.run(nothing_is_lost(pair, joiner))
    running.stop()
    done = playmolt("log", "verify", DATABASE_URL=pair.primary.url)
    assert done.exit_code == 0, done.output


def read_only(url: str) -> dict[str, object]:
    """What a service says of itself once it has met the standby."""
    until = time.monotonic() + SECONDS
    while (told := httpx.get(url, timeout=SECONDS)).status_code != 503 or told.json()["reason"] != "read_only":
        assert time.monotonic() < until, told.text
        time.sleep(0.05)
    return dict(told.json())


async def nothing_is_lost(pair: Pair, joiner: Joiner) -> None:
    pool = await open_pool(pair.primary.url)
    try:
        records = [each.record for each in await PostgresLog(pool).forward(0, 10_000)]
    finally:
        await pool.close()
    assert [record.position for record in records] == list(range(1, len(records) + 1))
    seated: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.stream.startswith("ox-"):
            for agent in joiner.seats.keys() & set(AGENT.findall(bytes(record.data).decode())):
                seated[agent].add(record.stream)
    assert len(joiner.seats) > TIMES
    assert seated == {agent: {game} for agent, game in joiner.seats.items()}
