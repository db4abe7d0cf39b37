"""A provider of little room, asked by two replicas: it refuses few calls, and no turn knows of a refusal."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, reply, status
from tests.integration.agora.experiment_operator import Operator, calls_of, plan, said, turns_of
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
CAPACITY = 2


class Narrow:
    """Takes two calls at once."""

    def __init__(self) -> None:
        self.under_way = 0
        self.refused: list[bool] = []

    def __call__(self, asked: ReceivedRequest) -> Canned:
        self.refused.append(self.under_way >= CAPACITY)
        if self.refused[-1]:
            return status(429, "too many at once")
        self.under_way += 1
        asyncio.get_running_loop().call_later(0.02, self.leave)
        return reply(said(), delay=0.03, usage=(10, 5))

    def leave(self) -> None:
        self.under_way -= 1


async def test_of_two_replicas_calls_at_most_one_in_twenty_is_refused_and_none_is_an_attempt(
    stack: StackFactory, folder: Path
) -> None:
    async with FakeServer() as server:
        narrow = Narrow()
        server.otherwise = narrow
        catalogue = folder / "models.toml"
        catalogue.write_text(server.toml(input_price=1, output_price=2, concurrent=16))
        running = stack("--only", "agora-runner", "--engines", "2", PLAYMOLT_MODELS=str(catalogue))
        async with Operator(running) as operator:
            experiment = await operator.finished(plan(turns=4, runs=8))
            state = await operator.get(f"/api/agora/experiments/{experiment}")
            runs = [run["run"] for run in await operator.runs(experiment)]
            events = {run: await operator.events(run) for run in runs}
    assert sum(narrow.refused) > 0
    later = narrow.refused[200:]
    assert len(later) > 150
    assert sum(later) <= len(later) / 20
    turns = [turn for run in runs for turn in turns_of(events[run])]
    assert {(turn["parse_code"], turn["attempt"]) for turn in turns} == {("ok", 1)}
    outcomes = [call["call"]["outcome"] for run in runs for call in calls_of(events[run])]
    assert outcomes.count("rate_limited") == sum(narrow.refused)
    assert (state["spent"]["calls"], state["spent"]["unknown_calls"]) == (len(turns), 0)
    assert sum(line["refused_calls"] for line in state["costs"]) == sum(narrow.refused)
