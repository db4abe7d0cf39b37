"""Play in batches: one holds the next call of every open run, and a platform that is killed submits none twice."""

import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from playmolt_core.db.pool import open_pool

from core.tests.llm.batch_server import BatchServer
from core.tests.llm.fake_server import Canned, FakeServer, reply
from core.tests.waiting import wait_until
from tests.integration.agora.experiment_operator import Operator, calls_of, said, turns_of
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
QUESTION = "Do you trust them?"
STEPS = 6
"""A question aside and two turns, of two agents."""
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
    "interviews": [{"id": "trust", "at": [0], "ask": {"en": QUESTION}, "scale": {"from": 1, "to": 7}}],
}


class Says:
    """A model that leaves a question aside and a turn unanswered, each the third of its kind."""

    def __init__(self) -> None:
        self.asked = Counter[bool]()

    def __call__(self, body: dict[str, Any]) -> Canned | None:
        aside = QUESTION in body["messages"][1]["content"]
        self.asked[aside] += 1
        answer = json.dumps({"answer": 5}) if aside else said()
        return None if self.asked[aside] == 3 else reply(answer, usage=(1000, 100))


async def counted(running: Stack) -> tuple[int, Decimal]:
    """Calls and money on the operator's days."""
    pool = await open_pool(running.run.database_url)
    try:
        (row,) = await pool.fetch("SELECT sum(calls), sum(money) FROM limits.budget WHERE account LIKE 'day:%'")
    finally:
        await pool.close()
    return int(row[0]), row[1]


def catalogue_of(server: FakeServer, folder: Path) -> str:
    """A model that is called in batches, at half the price."""
    catalogue = folder / "models.toml"
    prices = {"input_price": 2, "output_price": 4, "batch_input_price": 1, "batch_output_price": 2}
    catalogue.write_text(server.toml(**prices).replace("input_price", "batch = true\ninput_price", 1))
    return str(catalogue)


@pytest.mark.usefixtures("one_day")
async def test_each_batch_holds_the_next_call_of_every_run_and_a_kill_submits_none_twice(
    stack: StackFactory, folder: Path
) -> None:
    async with FakeServer() as server:
        says = Says()
        stand_in = BatchServer(server, says)
        # What one key may take is not the operator's, whose experiment it is.
        running = stack(
            "--only",
            "agora-runner",
            PLAYMOLT_MODELS=catalogue_of(server, folder),
            PLAYMOLT_DAY_MONEY="1",
            PLAYMOLT_KEY_DAY_TOKENS="1",
        )
        async with Operator(running) as operator:
            experiment = await operator.open(PLAN)
            await wait_until(lambda: len(stand_in.batches) >= 2, seconds=120)
            running.kill("agora-runner-1")  # in the questions aside, maybe before it heard of the batch
            await wait_until(lambda: len(stand_in.batches) >= 4, seconds=120)
            running.kill_tree()  # likewise in the turns
            running.start()
            state = await operator.until(experiment, "finished", seconds=180)
            told = await operator.events(experiment)
            runs = [run["run"] for run in await operator.runs(experiment)]
            events = {run: await operator.events(run) for run in runs}
            day = await counted(running)
        sent = [[line["custom_id"] for line in stand_in.lines(batch)] for batch in stand_in.batches]
        keys = [key for batch in sent for key in batch]
        assert len(keys) == len(set(keys)) == 2 * STEPS, "no call is submitted twice"
        assert [len(batch) for batch in sent] == [2] * STEPS
        aside = ["interview:" in request.turn for request in stand_in.plain]
        assert aside == [True, False], "what a batch did not answer is asked plainly"
        submitted = [data for kind, data in told if kind == "batch_submitted"]
        assert submitted == [{"batch": batch, "model": "fake", "calls": 2} for batch in stand_in.batches]
        ended = [(data["done"], data["failed"]) for kind, data in told if kind == "batch_ended"]
        assert ended == [(2, 0), (1, 1), (2, 0), (1, 1), (2, 0), (2, 0)]
        turns = [turn for run in runs for turn in turns_of(events[run])]
        assert {(turn["parse_code"], turn["attempt"]) for turn in turns} == {("ok", 1)}
        assert len(turns) == 8
        answers = [data for run in runs for kind, data in events[run] if kind == "interviewed"]
        assert [(data["parse_code"], data["value"]) for data in answers] == [("ok", 5)] * 4
        assert sorted(data["cost"] for data in answers) == ["0.0012"] * 3 + ["0.0024"]
        calls = [call["call"] for run in runs for call in calls_of(events[run])]
        assert sorted(call["cost"] for call in calls) == ["0.0012"] * 10 + ["0.0024"] * 2
        assert {call.get("batch") for call in calls} == {*stand_in.batches, None}
        assert Counter(call.get("interview") for call in calls) == {"trust": 4, None: 8}
        assert (state["spent"]["calls"], state["spent"]["known"]) == (12, "0.0168")
        assert day == (12, Decimal("0.0168"))


@pytest.mark.usefixtures("one_day")
async def test_what_a_batch_of_an_ended_experiment_costs_is_counted_also_after_a_kill(
    stack: StackFactory, folder: Path
) -> None:
    async with FakeServer() as server:
        stand_in = BatchServer(server, Says(), slow=10**6)
        running = stack("--only", "agora-runner", PLAYMOLT_MODELS=catalogue_of(server, folder), PLAYMOLT_DAY_MONEY="1")
        async with Operator(running) as operator:
            experiment = await operator.open(PLAN)
            await operator.until_event(experiment, "batch_submitted")
            await operator.call("POST", f"/api/admin/games/{experiment}/end", {"reason": "wrong model"})
            running.kill("agora-runner-1")
            state = await operator.until(experiment, "aborted", seconds=180)
            log = await operator.events(experiment)
            day = await counted(running)
        assert stand_in.batches["batch_0"]["status"] == "cancelled"
        ended = [data for kind, data in log if kind == "batch_ended"]
        assert [(each["done"], each["failed"], each["spent"]["cost"]) for each in ended] == [(1, 1, "0.0012")]
        assert [kind for kind, _ in log][-1] == "game_aborted"
        assert (state["reason"], state["spent"]["calls"], state["spent"]["known"]) == ("wrong model", 1, "0.0012")
        assert (day, server.received[-1].path.endswith("/chat/completions")) == ((1, Decimal("0.0012")), False)
