"""Called seats over processes: each is one's own, under a lease, and calls have room of an agent and in all."""

import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest
from msgspec.structs import replace
from playmolt_core.db.accounts import NewAgent, PgAccounts
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.effects.callbacks.seats import PgCallbacks
from playmolt_schemas.limits import CALLBACKS_IN_ALL

URL = "https://bot.example/turn"


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_gateway", size=8)
    yield pool
    await pool.close()


async def called(pool: Pool, games: int = 1) -> str:
    """An agent that is called, with seats."""
    agent, accounts = f"agent-{uuid.uuid4()}", PgAccounts(pool)
    await accounts.create_agent(agent, NewAgent("Ada"), uuid.uuid4().hex * 2)
    await PgCallbacks(pool).put(agent, URL, "secret")
    for _ in range(games):
        await accounts.keep_seat(agent, f"ox-{uuid.uuid4()}")
    return agent


async def expired(database_url: str) -> None:
    """What a killed process held is free again."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE account.called_seat SET until = now()")
    await connection.close()


async def test_a_seat_is_one_process_s_until_its_lease_ends(pool: Pool, database_url: str) -> None:
    agent = await called(pool)
    one, other = PgCallbacks(pool), PgCallbacks(pool)
    ((_, game),) = await one.claim(10)
    assert await other.claim(10) == []
    assert await one.hold() == {(agent, game)}
    await expired(database_url)
    assert await other.claim(10) == [(agent, game)]
    assert await one.hold() == frozenset()
    assert await one.called(agent, game) is None
    await other.give_back(agent, game)
    assert await one.claim(10) == [(agent, game)]


async def test_what_calls_came_to_is_there_for_the_next_process(pool: Pool, database_url: str) -> None:
    agent = await called(pool)
    one, other = PgCallbacks(pool), PgCallbacks(pool)
    ((_, game),) = await one.claim(10)
    seat = await one.called(agent, game)
    assert seat is not None
    assert (seat.url, seat.secret, seat.refusals, seat.last_error) == (URL, "secret", 0, None)
    kept = replace(seat, turn_id="question", refusals=2, last_error='{"code": "refused"}')
    await one.answered(agent, game, kept)
    await expired(database_url)
    await other.claim(10)
    assert await other.called(agent, game) == kept


async def test_who_ends_being_called_is_held_by_nobody_and_called_anew_later(pool: Pool) -> None:
    agent = await called(pool)
    one = PgCallbacks(pool)
    ((_, game),) = await one.claim(10)
    await one.end(agent)
    assert (await one.hold(), await one.called(agent, game)) == (frozenset(), None)
    assert await one.callback(agent) is None
    await one.put(agent, URL, "another")
    assert await PgCallbacks(pool).claim(10) == [(agent, game)]


async def test_calls_have_room_of_an_agent_and_in_all_over_processes(pool: Pool) -> None:
    agent = await called(pool, 3)
    others = [await called(pool, 2) for _ in range(CALLBACKS_IN_ALL // 2)]
    one, other = PgCallbacks(pool), PgCallbacks(pool)
    held = [*await one.claim(20), *await other.claim(100)]
    holder = dict.fromkeys(held[:20], one) | dict.fromkeys(held[20:], other)
    mine = [key for key in held if key[0] == agent]
    begun = [await holder[key].begin(*key, 60) for key in mine]
    assert begun == [True, True, False]
    rest = [key for key in held if key[0] in others]
    taken = [await holder[key].begin(*key, 60) for key in rest]
    assert taken == [True] * (CALLBACKS_IN_ALL - 2) + [False, False]
    seat = await holder[rest[0]].called(*rest[0])
    assert seat is not None
    await holder[rest[0]].answered(*rest[0], seat)
    assert await holder[rest[-1]].begin(*rest[-1], 60)
    assert not await holder[rest[-2]].begin(*rest[-2], 60)


async def test_a_seat_whose_end_was_told_is_gone(pool: Pool) -> None:
    agent = await called(pool)
    one = PgCallbacks(pool)
    ((_, game),) = await one.claim(10)
    await PgAccounts(pool).forget_seat(agent, game)
    assert (await one.hold(), await one.claim(10)) == (frozenset(), [])
