"""A model call whose process is killed at each step: never paid twice, never over budget, never lost in silence."""

import asyncio
import multiprocessing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import asyncpg
import pytest
from playmolt_core.llm.day_budget import account_of

from core.tests.llm.fake_server import FakeServer, hang, reply
from core.tests.waiting import wait_until
from tests.integration.models import callers

pytestmark = pytest.mark.usefixtures("one_day")
USED = 15
"""Tokens of an answer."""
WITHIN_A_TURN = {"turn": callers.EXPERIMENT, "judge": callers.JUDGE_ACCOUNT}
STEPS = {
    # killed: requests that the server gets in all, requests that are logged as lost
    "reserve": (1, 0),  # before anything is reserved
    "mark": (1, 1),  # reserved and marked, not sent: nobody can say so
    "ask": (2, 1),  # sent, not answered
    "keep": (2, 1),  # answered, not kept
    "settle": (1, 0),  # kept: found by the next process, and not paid again
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("caller", callers.CALLERS)
async def test_a_call_whose_process_is_killed(caller: str, step: str, database_url: str, tmp_path: Path) -> None:
    requests, lost = STEPS[step]
    log = tmp_path / "log"
    async with FakeServer(*([hang()] if step == "ask" else [])) as server:
        server.otherwise = reply(callers.replies()[caller], usage=(10, 5))
        await killed(caller, step, database_url, server, log)
        await callers.run(caller, "", database_url, server.base_url, log)
        assert len(server.received) == requests
        assert len(callers.logged(log, "said")) == 1
        if caller != "legal":
            assert sum(callers.logged(log, "lost")) == lost
            await callers.run(caller, "", database_url, server.base_url, log)
            assert len(server.received) == requests, "the reply is found again"
    spent = await accounts(database_url)
    today = datetime.now(UTC).date().isoformat()
    worst = spent[account_of(today)][1] - USED
    if caller == "legal":
        assert spent[account_of(today, callers.OWNER)] == spent[account_of(today)]
        # A kept reply that was not settled stays at its worst case, too.
        assert (worst > 0) == (step != "reserve")
    else:
        assert spent[WITHIN_A_TURN[caller]] == (1 + lost, USED, Decimal("0.00002"))
        assert (worst > 0) == bool(lost)
    assert USED * requests <= spent[account_of(today)][1] <= callers.MOST


async def test_a_legal_turn_that_is_killed_before_it_ends_takes_its_reply_from_the_log(
    database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with FakeServer() as server:
        server.otherwise = reply(callers.replies()["legal"], usage=(10, 5))
        await killed("legal", "answer", database_url, server, log)
        await callers.run("legal", "", database_url, server.base_url, log)
        assert len(server.received) == len(callers.logged(log, "attempt")) == len(callers.logged(log, "said")) == 1
    assert (await accounts(database_url))[account_of(datetime.now(UTC).date().isoformat())][:2] == (1, USED)


async def killed(caller: str, step: str, database_url: str, server: FakeServer, log: Path) -> None:
    """A process that is killed at the step; while it waits for an answer it is killed from here."""
    arguments = (caller, step, database_url, server.base_url, log)
    process = multiprocessing.get_context("fork").Process(target=_first, args=arguments)
    process.start()
    if step == "ask":
        await wait_until(lambda: server.received)
        process.kill()
    await wait_until(lambda: not process.is_alive())
    assert process.exitcode == -9


def _first(*arguments: object) -> None:
    asyncio.run(callers.run(*arguments))  # type: ignore[arg-type]  # as `run` names them


async def accounts(database_url: str) -> dict[str, tuple[int, int, Decimal]]:
    connection = await asyncpg.connect(database_url)
    try:
        rows = await connection.fetch("SELECT account, calls, tokens, money FROM limits.budget")
    finally:
        await connection.close()
    return {row["account"]: (row["calls"], row["tokens"], row["money"]) for row in rows}
