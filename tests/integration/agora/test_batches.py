"""Play in batches: one holds the next call of every open run, and a platform that is killed submits none twice."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from playmolt_core.db.pool import open_pool

from core.tests.llm.batch_server import BatchServer
from core.tests.llm.fake_server import Canned, FakeServer, reply
from tests.integration.agora.experiment_operator import Operator, calls_of, said, turns_of
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
STEPS = 4
"""Two turns of two agents."""
PLAN: dict[str, Any] = {
    "name": "batches",
    "seed": "7",
    "models": ["fake"],
    "languages": ["en"],
    "batch": {"play": True},
    "rooms": [
        {
            "name": "small",
            "world": "phase1",
            "runs": 2,
            "turns": 2,
            "seats": [{"persona": "merchant", "count": 2}],
        }
    ],
}


class Says:
    """A model that leaves the first line of the second batch unanswered."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, body: dict[str, Any]) -> Canned | None:
        self.asked += 1
        return None if self.asked == 3 else reply(said(), usage=(1000, 100))


async def counted(running: Stack) -> tuple[int, Decimal]:
    """Calls and money on the operator's days."""
    pool = await open_pool(running.run.database_url)
    try:
        (row,) = await pool.fetch("SELECT sum(calls), sum(money) FROM limits.budget WHERE account LIKE 'day:%'")
    finally:
        await pool.close()
    return int(row[0]), row[1]


async def test_each_batch_holds_the_next_call_of_every_run_and_a_kill_submits_none_twice(
    stack: StackFactory, folder: Path
) -> None:
    async with FakeServer() as server:
        says = Says()
        stand_in = BatchServer(server, says)
        catalogue = folder / "models.toml"
        prices = {"input_price": 2, "output_price": 4, "batch_input_price": 1, "batch_output_price": 2}
        text = server.toml(**prices).replace("input_price", "batch = true\ninput_price", 1)
        catalogue.write_text(text)
        # What one key may take is not the operator's, whose experiment it is.
        running = stack(PLAYMOLT_MODELS=str(catalogue), PLAYMOLT_DAY_MONEY="1", PLAYMOLT_KEY_DAY_TOKENS="1")
        async with Operator(running) as operator:
            experiment = await operator.open(PLAN)
            async with asyncio.timeout(60):
                while len(stand_in.batches) < 2:
                    await asyncio.sleep(0.01)
            running.kill_tree()  # maybe before it heard of the batch
            running.start()
            state = await operator.until(experiment, "finished")
            told = await operator.events(experiment)
            runs = [run["run"] for run in await operator.runs(experiment)]
            events = {run: await operator.events(run) for run in runs}
            day = await counted(running)
        assert len(stand_in.batches) == STEPS
        assert [len(stand_in.lines(batch)) for batch in stand_in.batches] == [2] * STEPS
        assert len(stand_in.plain) == 1, "what a batch did not answer is asked plainly"
        submitted = [data for kind, data in told if kind == "batch_submitted"]
        assert submitted == [{"batch": batch, "model": "fake", "calls": 2} for batch in stand_in.batches]
        ended = [(data["done"], data["failed"]) for kind, data in told if kind == "batch_ended"]
        assert ended == [(2, 0), (1, 1), (2, 0), (2, 0)]
        turns = [turn for run in runs for turn in turns_of(events[run])]
        assert {(turn["parse_code"], turn["attempt"]) for turn in turns} == {("ok", 1)}
        assert len(turns) == 2 * STEPS
        calls = [call["call"] for run in runs for call in calls_of(events[run])]
        assert sorted(call["cost"] for call in calls) == ["0.0012"] * 7 + ["0.0024"]
        assert {call.get("batch") for call in calls} == {*stand_in.batches, None}
        assert (state["spent"]["calls"], state["spent"]["known"]) == (8, "0.0108")
        assert day == (8, Decimal("0.0108"))
