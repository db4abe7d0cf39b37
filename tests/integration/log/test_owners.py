"""Owners, their keys and codes, and claims of agents, in the gateway's own role."""

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest
from playmolt_cli.games import deciders
from playmolt_core.db.accounts import Agent, NewAgent, Owner, PgAccounts
from playmolt_core.db.limits import PgLimits
from playmolt_core.db.owners import OwnerAccount, PgAddresses, PgOwners
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.projections import PgProjections
from playmolt_core.game.decider import Refused
from playmolt_core.game.ownership import stream_of
from playmolt_core.log.ownership import ClaimedAgent, PgOwnership, ownership_breaks, rebuild_owners
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import verify
from playmolt_schemas.codes import Code
from playmolt_schemas.limits import OWNED_AGENTS

from core.tests.waiting import wait_until

ADA, BOB = (f"owner-00000000-0000-4000-8000-00000000000{n}" for n in (1, 2))


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def agent_id(number: int) -> str:
    return f"agent-00000000-0000-4000-8000-{number:012}"


def command() -> str:
    return uuid.uuid4().hex


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_gateway", size=8)
    yield pool
    await pool.close()


@pytest.fixture
def accounts(pool: Pool) -> PgAccounts:
    return PgAccounts(pool)


@pytest.fixture
async def owners(pool: Pool) -> PgOwners:
    owners = PgOwners(pool)
    await owners.create(OwnerAccount(ADA, "Ada", contact="ada@example.org"), key("ada"), [key("code 1"), key("code 2")])
    await owners.create(OwnerAccount(BOB, "Bob", contact=None), key("bob"), [])
    return owners


@pytest.fixture
def ownership(pool: Pool) -> PgOwnership:
    return PgOwnership(pool)


async def history(database_url: str, agent: str) -> list[tuple[str, str]]:
    """Who claimed an agent and who let it go, from the log alone."""
    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch(
        "SELECT type, data FROM log.event WHERE stream = $1 ORDER BY version", stream_of(agent)
    )
    await connection.close()
    return [(kind, msgspec.json.decode(data)["owner_id"]) for kind, data in rows]


async def test_a_key_belongs_to_its_owner(owners: PgOwners, accounts: PgAccounts) -> None:
    assert await accounts.callers([key("ada"), key("nobody's")]) == {key("ada"): Owner(ADA, "Ada")}
    assert await owners.owner(ADA) == OwnerAccount(ADA, "Ada", contact="ada@example.org")
    assert await owners.names([BOB, ADA, "owner-none"]) == {ADA: "Ada", BOB: "Bob"}


async def test_a_code_replaces_the_key_once(owners: PgOwners, accounts: PgAccounts) -> None:
    for owner, code in ((BOB, "code 1"), (ADA, "code 3"), ("owner-none", "code 1")):
        assert await owners.recover(owner, key(code), key("stolen")) is None
    recovered = await owners.recover(ADA, key("code 1"), key("new"))
    assert recovered
    assert (recovered.void, recovered.codes_left) == (key("ada"), 1)
    assert await accounts.callers([key("ada"), key("new")]) == {key("new"): Owner(ADA, "Ada")}
    assert await accounts.void_keys(60) == [key("ada")]
    assert await owners.recover(ADA, key("code 1"), key("again")) is None
    assert await owners.replace_codes(ADA, [key("code 4")])
    assert await owners.recover(ADA, key("code 2"), key("again")) is None
    assert not await owners.replace_codes("owner-none", [key("code 5")])


async def test_of_two_recoveries_at_once_of_an_owner_without_a_key_one_key_stays_valid(
    owners: PgOwners, accounts: PgAccounts, database_url: str
) -> None:
    connection, watching = [await asyncpg.connect(database_url) for _ in range(2)]
    await connection.execute("DELETE FROM account.owner_key WHERE owner_id = $1", ADA)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%account.owner%'"
    async with connection.transaction():
        await connection.execute("SELECT FROM account.owner WHERE id = $1 FOR UPDATE", ADA)
        both = [asyncio.create_task(owners.recover(ADA, key(f"code {n}"), key(f"new {n}"))) for n in (1, 2)]
        await wait_until(lambda: watching.fetchval(f"SELECT ({waiting}) = 2"), 60)
    recovered = [one for one in await asyncio.gather(*both) if one]
    for one in (connection, watching):
        await one.close()
    (valid,) = await accounts.callers([key("new 1"), key("new 2")])
    (void,) = {key("new 1"), key("new 2")} - {valid}
    assert sorted((one.codes_left, one.void) for one in recovered) == [(0, void), (1, None)]


async def test_a_claim_and_its_end_are_in_the_log(
    owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts, database_url: str
) -> None:
    agent = agent_id(1)
    handle = await accounts.create_agent(agent, NewAgent("one"), key("one"))
    claimed = await ownership.claim(ADA, key("one"), command(), "")
    assert claimed == ClaimedAgent(agent, handle or "", "one", key("one"))
    assert await accounts.void_keys(60) == [key("one")], "what gateways remember of the agent is outdated"
    assert (await accounts.callers([key("one")]))[key("one")] == Agent(agent, "one", handle or "", owner_id=ADA)
    refused = await ownership.claim(BOB, key("one"), command(), "")
    assert isinstance(refused, Refused)
    assert refused.code is Code.ALREADY_CLAIMED
    assert isinstance(await ownership.release(BOB, agent, command()), Refused)
    assert await ownership.release(ADA, agent, command()) == key("one")
    assert isinstance(await ownership.claim(BOB, key("one"), command(), ""), ClaimedAgent)
    assert await history(database_url, agent) == [
        ("agent_claimed", ADA), ("agent_released", ADA), ("agent_claimed", BOB),
    ]  # fmt: skip
    assert [one.id for one in await owners.agents(BOB)] == [agent]


async def test_a_change_that_follows_an_outdated_record_changes_nothing(
    pool: Pool, owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts, database_url: str
) -> None:
    agent = agent_id(1)
    await accounts.create_agent(agent, NewAgent("one"), key("one"))
    assert isinstance(await ownership.claim(ADA, key("one"), command(), ""), ClaimedAgent)
    for owner, kind in ((BOB, "agent_claimed"), (None, "agent_released")):
        record = {
            "type": kind, "data": {"agent_id": agent, "owner_id": owner or ADA}, "version": 2, "schema_version": 1,
            "at": "2026-11-30T12:00:00Z", "hash": "11" * 32, "salt": "22" * 16, "metadata": {},
        }  # fmt: skip
        changed = "SELECT log.change_owner($1, $2, $3, $4)"
        assert await pool.row(changed, agent, owner, bytes(32), msgspec.json.encode(record).decode()) == (False,)
    assert [one.id for one in await owners.agents(ADA)] == [agent]
    assert await history(database_url, agent) == [("agent_claimed", ADA)]


async def test_of_six_claims_at_once_one_wins(
    owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts, database_url: str
) -> None:
    agent = agent_id(1)
    await accounts.create_agent(agent, NewAgent("one"), key("one"))
    racing = [f"owner-10000000-0000-4000-8000-{n:012}" for n in range(6)]
    for owner in racing:
        await owners.create(OwnerAccount(owner, "Racer", contact=None), key(owner), [])
    results = await asyncio.gather(*(ownership.claim(owner, key("one"), command(), "") for owner in racing))
    won = [owner for owner, result in zip(racing, results, strict=True) if isinstance(result, ClaimedAgent)]
    assert [result.code for result in results if isinstance(result, Refused)] == [Code.ALREADY_CLAIMED] * 5
    assert await history(database_url, agent) == [("agent_claimed", won[0])]


async def test_a_repeated_claim_has_the_same_result_and_no_second_effect(
    owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts, database_url: str
) -> None:
    del owners
    agent, repeated = agent_id(1), command()
    await accounts.create_agent(agent, NewAgent("one"), key("one"))
    both = await asyncio.gather(*(ownership.claim(ADA, key("one"), repeated, key("body")) for _ in range(2)))
    assert {one.id for one in both if isinstance(one, ClaimedAgent)} == {agent}
    assert all(isinstance(one, ClaimedAgent) for one in both)
    await ownership.release(ADA, agent, command())
    assert isinstance(await ownership.claim(ADA, key("one"), repeated, key("body")), ClaimedAgent)
    assert await ownership.claim(ADA, key("one"), repeated, key("other body")) == "mismatch"
    assert await history(database_url, agent) == [("agent_claimed", ADA), ("agent_released", ADA)]


async def test_what_cannot_be_claimed(owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts) -> None:
    del owners
    await accounts.create_agent(agent_id(1), NewAgent("house", kind="house"), key("house"))
    await accounts.create_visitor("visitor-1", key("visitor"))
    assert await ownership.claim(ADA, key("house"), command(), "") == "house_bot"
    for unknown in ("visitor", "ada", "nothing"):
        assert await ownership.claim(ADA, key(unknown), command(), "") == "unknown_key"


async def test_an_owner_has_a_bounded_number_of_agents(
    owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts, database_url: str
) -> None:
    del owners
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "INSERT INTO account.agent (id, name, folded, owner_id) SELECT 'agent-' || n, 'x', 'x', $1"
        " FROM generate_series(1, $2) AS n",
        ADA, OWNED_AGENTS - 1,
    )  # fmt: skip
    await connection.close()
    assert await ownership.create_agent(agent_id(1), NewAgent("last"), key("1"), ADA, command())
    assert await ownership.create_agent(agent_id(2), NewAgent("more"), key("2"), ADA, command()) is None
    await accounts.create_agent(agent_id(3), NewAgent("three"), key("3"))
    assert await ownership.claim(ADA, key("3"), command(), "") == "too_many"


async def test_the_log_of_owners_verifies_in_every_shard(sharded_url: str) -> None:
    pool = await open_pool(sharded_url, role="playmolt_gateway", size=4)
    owners, ownership, accounts = PgOwners(pool), PgOwnership(pool), PgAccounts(pool)
    await owners.create(OwnerAccount(ADA, "Ada", contact=None), key("ada"), [])
    for number in range(8):
        await accounts.create_agent(agent_id(number), NewAgent("one"), key(str(number)))
        assert isinstance(await ownership.claim(ADA, key(str(number)), command(), ""), ClaimedAgent)
    for number in range(0, 8, 2):
        await ownership.release(ADA, agent_id(number), command())
    await pool.close()
    whole = await open_pool(sharded_url)
    log = PostgresLog(whole, 3)
    report = await verify(log, deciders())
    assert not report.breaks
    assert report.events == 12
    await whole.close()


TAMPERED = [
    (f"UPDATE account.agent SET owner_id = NULL WHERE id = '{agent_id(1)}'", 1, f"as None, but the log says {ADA}"),
    (f"UPDATE account.agent SET owner_id = '{BOB}' WHERE id = '{agent_id(1)}'", 1, f"as {BOB}, but the log says {ADA}"),
    (f"UPDATE account.agent SET owner_id = '{ADA}' WHERE id = '{agent_id(2)}'", 2, f"as {ADA}, but the log says None"),
    (f"UPDATE account.agent SET owner_id = '{ADA}' WHERE id = '{agent_id(3)}'", 3, f"as {ADA}, but the log says None"),
]


@pytest.mark.parametrize(("change", "number", "problem"), TAMPERED)
async def test_an_owner_that_the_log_does_not_name_is_found_and_set_back(
    owners: PgOwners,
    ownership: PgOwnership,
    accounts: PgAccounts,
    database_url: str,
    change: str,
    number: int,
    problem: str,
) -> None:
    """Agent 1 has an owner, agent 2 was let go, agent 3 never had one."""
    del owners
    for each in range(1, 4):
        await accounts.create_agent(agent_id(each), NewAgent("a bot"), key(f"agent {each}"))
    for each in (1, 2):
        await ownership.claim(ADA, key(f"agent {each}"), command(), "")
    await ownership.release(ADA, agent_id(2), command())
    pool = await open_pool(database_url)
    try:
        assert await ownership_breaks(pool) == []
        async with pool.transaction() as connection:
            await connection.execute(change)
        (found,) = await ownership_breaks(pool)
        assert found.problem == f"the owner of {agent_id(number)} is stored {problem}"
        assert (found.stream, found.version) == ((stream_of(agent_id(number)), number) if number < 3 else ("", 0))
        assert (await rebuild_owners(pool), await rebuild_owners(pool)) == (1, 0)
        assert await ownership_breaks(pool) == []
    finally:
        await pool.close()


async def test_a_claim_that_is_cut_off_leaves_nothing(
    owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts, database_url: str
) -> None:
    """Log and account change in one transaction: a gateway that is killed inside it leaves neither."""
    del owners
    agent = agent_id(1)
    await accounts.create_agent(agent, NewAgent("one"), key("one"))
    admin = await asyncpg.connect(database_url)
    blocker = await asyncpg.connect(database_url)
    held = blocker.transaction()
    await held.start()
    await blocker.execute("SELECT position FROM log.head FOR UPDATE")
    claiming = asyncio.create_task(ownership.claim(ADA, key("one"), command(), key("body")))

    async def waits() -> Any:
        return await admin.fetchval(
            "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%change_owner%'"
            " AND datname = current_database()"
        )

    async def found() -> bool:
        return bool(await waits())

    await wait_until(found)
    await admin.execute("SELECT pg_terminate_backend($1)", await waits())
    with pytest.raises(ConnectionError):
        await claiming
    await held.rollback()
    assert await history(database_url, agent) == []
    assert (await accounts.callers([key("one")]))[key("one")] == Agent(agent, "one", "one-000001")
    assert isinstance(await ownership.claim(ADA, key("one"), command(), key("body")), ClaimedAgent)
    await admin.close()
    await blocker.close()


async def test_an_owner_is_erased_once_its_agents_are_let_go(
    owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts, database_url: str
) -> None:
    agent = agent_id(1)
    await accounts.create_agent(agent, NewAgent("one"), key("one"))
    await ownership.claim(ADA, key("one"), command(), key("body"))
    assert await owners.erase(ADA) is None
    assert await ownership.agents(ADA) == [agent]
    await ownership.release(ADA, agent, command())
    admin = await asyncpg.connect(database_url)
    columns = "stream, version, subject, kind, note, at"
    await admin.execute(f"INSERT INTO account.notice ({columns}) VALUES ('m', 1, $1, 'banned', 'x', now())", ADA)
    await admin.close()
    assert await owners.erase(ADA) == key("ada")
    assert await owners.erase(ADA) == ""
    assert await accounts.callers([key("ada")]) == {}
    assert key("ada") in await accounts.void_keys(60)
    connection = await asyncpg.connect(database_url)
    for table in ("owner", "owner_key", "recovery_code", "claim_key", "notice"):
        column = {"owner": "id", "notice": "subject"}.get(table, "owner_id")
        assert not await connection.fetchval(f"SELECT count(*) FROM account.{table} WHERE {column} = $1", ADA)
    await connection.close()
    assert await ownership.create_agent(agent_id(2), NewAgent("two"), key("two"), ADA, command()) is None


async def test_an_owner_gives_its_agent_a_new_key(
    owners: PgOwners, ownership: PgOwnership, accounts: PgAccounts
) -> None:
    await ownership.create_agent(agent_id(1), NewAgent("one"), key("lost"), ADA, command())
    assert await owners.replace_agent_key(BOB, agent_id(1), key("stolen")) is None
    assert await owners.replace_agent_key(ADA, agent_id(1), key("found")) == key("lost")
    assert list(await accounts.callers([key("lost"), key("stolen"), key("found")])) == [key("found")]


class TestAddresses:
    @pytest.fixture
    async def addresses(self, database_url: str) -> AsyncIterator[PgAddresses]:
        pool = await open_pool(database_url, role="playmolt_engine")
        yield PgAddresses(pool)
        await pool.close()

    async def test_two_agents_of_an_address_are_found(self, accounts: PgAccounts, addresses: PgAddresses) -> None:
        for number, group in enumerate((b"a" * 16, b"b" * 16, b"a" * 16, None, None)):
            await accounts.create_agent(agent_id(number), NewAgent("x", address_group=group), key(str(number)))
        agents = [agent_id(number) for number in range(5)]
        assert await addresses.one_address([agents[0], agents[2]])
        assert await addresses.one_address(agents)
        assert not await addresses.one_address(agents[1:])
        assert not await addresses.one_address([agents[0], "agent-none"])

    async def test_house_bots_invited_agents_and_signed_in_owners_do_not_count(
        self,
        accounts: PgAccounts,
        owners: PgOwners,
        ownership: PgOwnership,
        addresses: PgAddresses,
        database_url: str,
    ) -> None:
        del owners
        await accounts.create_invite("invite-1", key("invite"), 5, datetime.now(UTC) + timedelta(days=1))
        new = NewAgent("x", address_group=b"a" * 16)
        await accounts.create_agent(agent_id(0), new, key("0"))
        await accounts.create_agent(agent_id(1), new, key("1"), key("invite"))
        await accounts.create_agent(agent_id(2), msgspec.structs.replace(new, kind="house"), key("2"))
        await ownership.create_agent(agent_id(3), new, key("3"), ADA, command())
        everybody = [agent_id(number) for number in range(4)]
        assert await addresses.one_address(everybody)
        connection = await asyncpg.connect(database_url)
        await connection.execute("INSERT INTO account.sign_in VALUES ('https://idp.example', 'subject', $1)", ADA)
        await connection.close()
        assert not await addresses.one_address(everybody)


async def test_a_lock_ends_and_cannot_be_kept_up(pool: Pool) -> None:
    limits = PgLimits(pool)
    assert [await limits.guess("o", 3, 0.4) for _ in range(3)] == [0, 0, 0]
    locked = [await limits.guess("o", 3, 0.4) for _ in range(3)]
    assert all(0 < wait <= 0.4 for wait in locked)
    assert await limits.guess("another", 3, 0.4) == 0

    async def let_in() -> bool:
        return await limits.guess("o", 3, 0.4) == 0

    await wait_until(let_in)
    assert [await limits.guess("o", 3, 0.4) for _ in range(5)] == [0] * 5, "who guesses on begins no lock at once"
    await limits.forgive("o")
    assert [await limits.guess("o", 3, 60) for _ in range(3)] == [0, 0, 0]
    assert await limits.guess("o", 3, 60) > 59


async def test_the_games_and_ratings_of_all_agents_of_an_owner_come_together(pool: Pool, database_url: str) -> None:
    agents = {agent_id(1): None, agent_id(2): "2", agent_id(3): None}
    connection = await asyncpg.connect(database_url)
    for number, agent in enumerate([*agents, *agents]):
        await connection.execute(
            "INSERT INTO projection.score (agent_id, game_type, points, games) VALUES ($1, $2, 5, $3)",
            agent, ("ox", "trial")[number // 3], number + 1,
        )  # fmt: skip
    await connection.close()
    projections = PgProjections(pool)
    standings = await projections.of_agents(agents)
    assert [standings[agent].games for agent in agents] == [
        {"ox": number + 1, "trial": number + 4} for number in range(3)
    ]
    assert [standings[agent].ratings for agent in agents] == [
        await projections.ratings_of(agent, version) for agent, version in agents.items()
    ]
    assert await projections.of_agents({}) == {}
