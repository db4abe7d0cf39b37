"""A jury votes while parts of the platform are killed: never two votes, never a lost one, nothing made up."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from playmolt_cli.main import cli
from playmolt_schemas.codes import Code

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest
from tests.integration.jury.person import JURORS, Bench, Overseer, cast, kind_of, turn_of
from tests.integration.models.fake_model import fake_model
from tests.platforms import Stack

StackFactory = Callable[..., Stack]


@pytest.fixture
def model() -> Iterator[FakeServer]:
    with fake_model() as server:
        yield server


class Ballot(Bench):
    """Jurors whose philosopher makes up its mind when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = True

    def __call__(self, asked: ReceivedRequest) -> Canned:
        if turn_of(asked) in ("vote:philosopher", "chat:radical") and self.waits:
            return Canned(hang=True)
        return super().__call__(asked)


async def verdict_holds(running: Stack, overseer: Overseer) -> dict[str, Any]:
    """Wait for the end: five votes, each once in the log and once on the chain, which agree."""
    await overseer.until(lambda session: session.get("phase") == "ended", 120)
    verdict: dict[str, Any] = (await overseer.get("verdict", patient=True)).json()
    log = (await overseer.get("log", patient=True)).text
    records = [json.loads(line) for line in log.splitlines()]
    votes = Counter(record["data"]["juror_id"] for record in records if record["type"] == "vote_cast")
    assert votes == dict.fromkeys(JURORS, 1)
    assert Counter(record["type"] for record in records)["contract_deployed"] == 1
    node = running.run.health["evm-1"].removesuffix("/healthz")
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_getLogs",
            "params": [{"address": verdict["contract"], "fromBlock": "0x0", "toBlock": "latest"}]}  # fmt: skip
    async with httpx.AsyncClient(timeout=60) as client:
        found = (await client.post(node, json=call)).json()["result"]
    sent = {vote["tx_hash"] for vote in verdict["votes"]}
    assert len([each for each in found if each["transactionHash"] in sent]) == len(sent) + 1, "five votes and a verdict"
    checked = await asyncio.to_thread(
        CliRunner().invoke, cli, ["verify-verdict", overseer.session, "--data", str(running.folder.path)],
        env={"DATABASE_URL": "", "EVM_RPC_URL": ""},
    )  # fmt: skip
    assert checked.exit_code == 0, checked.output
    return verdict


async def until_cast(overseer: Overseer, count: int) -> None:
    """Follow the stream until so many votes stand on the chain."""
    seen = 0
    async with asyncio.timeout(120):
        async with overseer.client.stream("GET", overseer.path("stream"), headers=overseer.headers) as answer:
            async for line in answer.aiter_lines():
                seen += '"type":"vote_cast"' in line
                if seen == count:
                    return


@pytest.fixture
async def at_the_end() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as at_the_end:
        yield at_the_end


async def voting(gateway: str, at_the_end: AsyncExitStack) -> Overseer:
    overseer = await at_the_end.enter_async_context(Overseer(gateway))
    await overseer.open(model="fake")
    return await overseer.to("vote")


async def test_every_vote_is_cast_once_whatever_is_killed(
    stack: StackFactory, model: FakeServer, folder: Path, at_the_end: AsyncExitStack
) -> None:
    ballot = Ballot()
    model.otherwise = ballot
    catalogue = folder / "models.toml"
    catalogue.write_text(model.toml())
    running = stack("--only", "trial-engine", PLAYMOLT_MODELS=str(catalogue), EVM_RPC_URL="")
    gateway = running.run.gateway
    talking = await at_the_end.enter_async_context(Overseer(gateway))
    await talking.open(model="fake")
    await talking.to("persuasion")
    first = await voting(gateway, at_the_end)
    third = await voting(gateway, at_the_end)
    chat = asyncio.create_task(talking.chat(juror="radical", key="one", patient=True))
    vote = asyncio.create_task(first.post("vote", key="one", patient=True))
    await until_cast(first, 4)
    async with asyncio.timeout(120):
        while not {"chat:radical", "vote:philosopher"} <= {turn_of(asked) for asked in model.received}:
            await asyncio.sleep(0.05)
    running.kill("trial-engine-1")
    ballot.waits = False
    # Jurors of a session whose engine is there again vote while the chain is away.
    second = await voting_again(gateway, at_the_end)
    chain_is_killed, all_is_killed = threading.Event(), threading.Event()
    ballot.first["vote:philosopher"] = [lambda asked: Canned(body=cast(asked).body, gate=chain_is_killed)]
    late = asyncio.create_task(second.post("vote", patient=True))
    await until_cast(second, 4)
    running.kill("evm-1")
    chain_is_killed.set()
    assert (await chat).status_code in (200, 202)
    assert (await vote).status_code in (200, 202)
    assert (await late).status_code in (200, 202)
    await talking.until(lambda session: session["jurors"][1]["rounds_left"] == 9)
    asked = Counter((asked.turn.split(" ")[0], turn_of(asked), kind_of(asked)) for asked in model.received)
    assert asked[talking.session, "chat:radical", "ask"] == 2, "taken up again as a new ask"
    assert asked[talking.session, "classify", "ask"] == 1, "its reply was kept before the kill"
    for overseer in (first, second):
        await verdict_holds(running, overseer)
    ballot.first["vote:philosopher"] = [lambda asked: Canned(body=cast(asked).body, gate=all_is_killed)]
    last = asyncio.create_task(third.post("vote"))
    await until_cast(third, 4)
    last.cancel()
    running.kill_tree()
    all_is_killed.set()
    restarted = running.start()
    for overseer in (first, second, third):
        await overseer.moved(restarted.run.gateway)
    await verdict_holds(restarted, third)
    again = await first.post("vote", patient=True)
    assert (again.status_code, again.json()["code"]) == (409, Code.SESSION_PHASE.wire)


async def voting_again(gateway: str, at_the_end: AsyncExitStack) -> Overseer:
    """Come to a vote while the engine restarts."""
    overseer = await at_the_end.enter_async_context(Overseer(gateway))
    async with asyncio.timeout(120):
        while True:
            try:
                await overseer.open(model="fake")
                return await overseer.to("vote")
            except (AssertionError, httpx.TransportError):
                await asyncio.sleep(0.5)
