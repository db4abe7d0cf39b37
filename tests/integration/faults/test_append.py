"""An engine and its database fail at the worst moment of an append: every action is stored once, or refused by name."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence

import asyncpg
import pytest

from core.tests.waiting import suspend
from tests.integration.faults.conftest import Platform
from tests.integration.faults.game import SEATS, SECONDS, Game
from tests.integration.faults.proxy import Moment

Strike = Callable[[Sequence[int]], None]


def cut(_: Sequence[int]) -> None:
    """The proxy cuts the connection by itself."""


def kill(engines: Sequence[int]) -> None:
    for pid in engines:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("strike", [cut, kill], ids=["the connection is cut", "the engines are killed"])
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_append_that_is_broken_off_is_stored_once(platform: Platform, moment: Moment, strike: Strike) -> None:
    engines = platform.engines()
    async with Game(platform.stack) as game:
        trap = platform.proxy.set_trap(moment, lambda: strike(engines))
        first = await game.choose(0)
        assert trap.sprung.is_set(), "nothing was broken off"
        assert first.status == 200
        again = await game.choose(0)
        assert (again.hash, again.version) == (first.hash, first.version)
        others = await asyncio.gather(*(game.choose(seat) for seat in range(1, SEATS)))
        assert {act.code for act in others} == {""}
        await game.checked(platform.postgres.url)


async def test_of_many_identical_calls_one_is_stored_though_the_connection_is_cut(platform: Platform) -> None:
    async with Game(platform.stack) as game:
        trap = platform.proxy.set_trap("after")
        answers = await asyncio.gather(*(game.choose(0) for _ in range(20)))
        assert trap.sprung.is_set()
        assert len({(act.status, act.hash, act.version) for act in answers}) == 1
        records = await game.checked(platform.postgres.url)
        assert [record.type for record in records].count("first_choice_submitted") == 1


async def test_the_same_key_with_another_body_writes_nothing(platform: Platform) -> None:
    async with Game(platform.stack) as game:
        platform.proxy.set_trap("after")
        await game.choose(0)
        other = {"type": "first_choice", "choice": "X", "comment": "So."}
        refused = await game.call(0, f"{game.agents[0]}:first_choice_submitted", other)
        assert refused.status == 422
        records = await game.checked(platform.postgres.url)
        assert [record.type for record in records].count("first_choice_submitted") == 1


async def test_a_database_that_falls_silent_costs_time_and_no_action(platform: Platform) -> None:
    async with Game(platform.stack) as game:
        await game.choose(0)
        platform.proxy.silent.set()
        waiting = [asyncio.create_task(game.choose(seat)) for seat in range(1, SEATS)]
        await asyncio.sleep(3)
        platform.proxy.silent.clear()
        assert {act.code for act in await asyncio.gather(*waiting)} == {""}
        await game.checked(platform.postgres.url)


async def test_a_slow_database_makes_nobody_wait_for_ever(platform: Platform) -> None:
    async with Game(platform.stack) as game:
        platform.proxy.delay = 0.1
        try:
            answers = await asyncio.gather(*(game.choose(seat) for seat in range(SEATS)))
        finally:
            platform.proxy.delay = 0.0
        assert {act.code for act in answers} == {""}
        await game.checked(platform.postgres.url)


async def test_an_engine_that_stands_still_in_a_decision_comes_back_to_a_game_that_went_on(platform: Platform) -> None:
    """Both are stopped with an append under way; one goes on at once, the other wakes up to a conflict."""
    engines = platform.engines()
    async with Game(platform.stack) as game:
        trap = platform.proxy.set_trap("before", lambda: [*map(suspend, engines)])
        first = asyncio.create_task(game.choose(0))
        try:
            assert await asyncio.to_thread(trap.sprung.wait, SECONDS)
            os.kill(engines[0], signal.SIGCONT)
            assert (await first).status == 200
            assert (await game.choose(1)).status == 200
        finally:
            for pid in engines:
                os.kill(pid, signal.SIGCONT)
        answers = await asyncio.gather(*(game.choose(seat) for seat in range(SEATS)))
        assert {act.code for act in answers} == {""}
        await game.checked(platform.postgres.url)


async def test_a_transaction_left_open_elsewhere_holds_nothing_up(platform: Platform) -> None:
    connection = await asyncpg.connect(platform.postgres.url, timeout=SECONDS)
    try:
        await connection.execute("CREATE TABLE IF NOT EXISTS public.idle (n int)")
        async with Game(platform.stack) as game:
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute("INSERT INTO public.idle VALUES (1)")
            for seat in range(SEATS):
                assert (await game.choose(seat)).status == 200
            await game.checked(platform.postgres.url)  # its feeds are whole while the transaction is still open
            await transaction.rollback()
    finally:
        await connection.close(timeout=SECONDS)


FULL = """
CREATE FUNCTION public.disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'could not extend file "base/5/16384": No space left on device' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER disk_is_full BEFORE INSERT ON log.record FOR EACH STATEMENT EXECUTE FUNCTION public.disk_is_full();
"""
"""What a server with a full disk says to every append; it goes on reading."""


async def test_a_full_disk_takes_no_action_and_loses_none(platform: Platform) -> None:
    connection = await asyncpg.connect(platform.postgres.url, timeout=SECONDS)
    try:
        async with Game(platform.stack) as game:
            assert (await game.choose(0)).status == 200
            await connection.execute(FULL)
            body = {"type": "first_choice", "choice": "O", "comment": "So."}
            keys = {seat: f"{game.agents[seat]}:first_choice_submitted" for seat in (1, 2)}
            refused = await asyncio.gather(*(game.call(seat, key, body) for seat, key in keys.items()))
            assert {(act.status, act.code) for act in refused} == {(503, "unavailable")}
            assert (await game.choose(0)).status == 200, "what is stored is answered"
            await connection.execute("DROP FUNCTION public.disk_is_full CASCADE")
            answers = await asyncio.gather(*(game.choose(seat) for seat in range(SEATS)))
            assert {act.code for act in answers} == {""}
            await game.checked(platform.postgres.url)
    finally:
        await connection.execute("DROP FUNCTION IF EXISTS public.disk_is_full CASCADE")
        await connection.close(timeout=SECONDS)
