"""Claims on a whole platform while parts of it are killed, and keys on two gateways."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import asyncpg
import httpx
import pytest
from playmolt.client import AsyncClient
from playmolt.errors import Refused
from playmolt.retries import Retry
from playmolt_cli.games import deciders
from playmolt_core.db.pool import open_pool
from playmolt_core.game.ownership import stream_of
from playmolt_core.log.postgres import log_of
from playmolt_core.log.verify import verify

from core.tests.waiting import wait_until
from tests.platforms import Stack

PATIENT = Retry(attempts=60, seconds=60)
AGENTS = 12
OWNERS = 3


async def claimed(owner: AsyncClient, agent_key: str, command: str) -> bool:
    """Claim until there is an answer, under one Idempotency-Key; whether the owner got the agent."""
    try:
        await owner.claim(agent_key, idempotency_key=command)
    except Refused as refused:
        if refused.code != "already_claimed":
            raise
        return False
    return True


async def some_owner(url: str, name: str) -> AsyncClient:
    client = AsyncClient(url, retry=PATIENT)
    await client.open_owner(name)
    return client


async def history(database_url: str, agent_id: str) -> list[tuple[str, str]]:
    connection = await asyncpg.connect(database_url)
    query = "SELECT type, data FROM log.event WHERE stream = $1 ORDER BY version"
    rows = await connection.fetch(query, stream_of(agent_id))
    await connection.close()
    return [(kind, json.loads(data)["owner_id"]) for kind, data in rows]


@pytest.mark.parametrize("victim", ["gateway-1", "postgres", "relay-1"])
async def test_claims_survive_kills(running: Stack, victim: str) -> None:
    """Each agent that three owners claim at once gets one owner, the same in the log, the accounts and the answers."""
    url = running.run.gateway
    owners = [await some_owner(url, f"owner {number}") for number in range(OWNERS)]
    agents = [AsyncClient(url, retry=PATIENT) for _ in range(AGENTS)]
    made = [await agent.register(f"agent {number}") for number, agent in enumerate(agents)]
    racing = [
        asyncio.create_task(claimed(owner, agent.api_key, f"{victim}-{number}"))
        for number, agent in enumerate(made)
        for owner in owners
    ]
    await wait_until(lambda: sum(task.done() for task in racing) > 2)
    with suppress(ProcessLookupError):
        running.kill(victim)
    won = await asyncio.gather(*racing)
    claims = [won[place : place + OWNERS] for place in range(0, len(won), OWNERS)]
    assert [each.count(True) for each in claims] == [1] * AGENTS
    accounts = [await owner.owner() for owner in owners]
    for agent, each in zip(made, claims, strict=True):
        winner = accounts[each.index(True)]
        assert agent.id in {one.id for one in winner.agents}
        assert await history(running.run.database_url, agent.id) == [("agent_claimed", winner.id)]
    pool = await open_pool(running.run.database_url)
    assert not (await verify(await log_of(pool), deciders())).breaks
    await pool.close()
    for client in (*owners, *agents):
        await client.aclose()


async def bans_count(two: Stack, statuses: Callable[[str, str], Awaitable[set[int]]], agent_id: str, key: str) -> None:
    """A ban, and its end, count on every gateway at once."""
    operator = {"Authorization": f"Bearer {two.run.operator_key}"}
    async with httpx.AsyncClient(base_url=two.run.gateway, trust_env=False, headers=operator, timeout=60) as client:
        assert await statuses(key, "/api/games") == {200}
        body = {"agent_id": agent_id, "note": "spam"}
        assert (await client.post("/api/admin/bans", json=body)).status_code == 201
        assert await statuses(key, "/api/games") == {403}
        assert await statuses(key, "/api/agents/me") == {200}
        assert (await client.delete(f"/api/admin/bans/{agent_id}")).status_code == 204
        assert await statuses(key, "/api/games") == {200}


async def test_a_replaced_key_is_refused_by_every_gateway_at_once(doubled: Stack) -> None:
    url = doubled.run.gateway
    owner = await some_owner(url, "Ada")
    codes = (await owner.replace_codes()).recovery_codes
    account = await owner.owner()

    async def statuses(key: str, path: str) -> set[int]:
        """What new connections get, which the gateways share."""
        found = set()
        for _ in range(12):
            async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
                answer = await client.get(path, headers={"Authorization": f"Bearer {key}"})
                found.add(answer.status_code)
        return found

    for code in codes[:2]:
        old = owner.key

        async def warm(old: str = old) -> bool:
            return await statuses(old, "/api/owners/me") == {200}

        await wait_until(warm)
        await owner.recover_owner(account.id, code)
        assert await statuses(old, "/api/owners/me") == {401}
    agent = await owner.register_owned("mine")
    assert await statuses(agent.api_key, "/api/agents/me") == {200}
    new = await owner.replace_agent_key(agent.id)
    assert await statuses(agent.api_key, "/api/agents/me") == {401}
    assert await statuses(new.api_key, "/api/agents/me") == {200}
    await bans_count(doubled, statuses, agent.id, new.api_key)
    assert await history(doubled.run.database_url, agent.id) == [("agent_claimed", account.id)]
    await owner.aclose()
