"""An operator of experiments, over HTTP, and readers of the experiments' streams in the log."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx
import msgspec
from playmolt_cli.games import deciders
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import verify

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, reply
from tests.integration.contract import judged
from tests.platforms import Stack

OWN = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}
EXPERIMENTS = "/api/agora/experiments"
RUNS = "/api/agora/runs"
PLANS = "/api/agora/plans"
TURNS = ("agent_acted", "turn_failed")
MEASURED = ("latency_ms",)


FIVE_TESTS: Any = {
    "name": "five tests", "seed": "3", "languages": ["ko", "en"],
    "models": ["scripted-steady", "scripted-trader", "scripted-social"],
    "hypotheses": ["H1", "H2", "pcs:scripted-steady", "ri_star:model", "ri_star:persona"],
    "phases": {
        "stage1": {"runs": 10, "turns": 50}, "phase1": {"runs": 10, "turns": 50},
        "phase2": {"runs": 18, "turns": 100, "sets": ["A", "B"]},
    },
}  # fmt: skip
"""A plan whose tests take at least 8 s of CPU time to simulate."""


def said(action: str = "speak", target: str | None = None, content: str | None = "hello", thought: str = "so") -> str:
    return json.dumps({"thought": thought, "action": action, "target": target, "content": content})


def plan(
    model: str = "fake", *, turns: int = 1, runs: int = 1, languages: tuple[str, ...] = ("en",), **more: Any
) -> Any:
    """A plan of Phase 1 runs with 12 agents of one model."""
    phases = {"phase1": {"runs": runs, "turns": turns}}
    known = {"name": "a plan", "seed": "7", "models": [model], "languages": list(languages), "phases": phases}
    return known | more


def square_plan(turns: int = 2) -> Any:
    """A plan of both phases with scripted models: 3 Phase 1 runs and 3 Phase 2 runs."""
    return plan() | {
        "models": ["scripted-steady", "scripted-trader", "scripted-social"],
        "phases": {"phase1": {"runs": 1, "turns": turns}, "phase2": {"runs": 3, "turns": turns, "sets": ["B"]}},
    }


def playmolt_agora(*arguments: str) -> "subprocess.Popen[str]":
    """Start a `playmolt agora` command in a separate process, as a person does."""
    # A shell makes background processes ignore Ctrl-C. If it started the tests so, the command would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "playmolt_cli", "agora", *arguments]
    return subprocess.Popen(command, env=OWN, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Counted:
    """A model that gives every request the same answer, after a pause."""

    def __init__(self, text: str = "", delay: float = 0, usage: tuple[int, int] = (10, 5)) -> None:
        self.text = text or said()
        self.delay = delay
        self.usage = usage

    def __call__(self, asked: ReceivedRequest) -> Canned:
        return reply(self.text, delay=self.delay, usage=self.usage)


class Gated(Counted):
    """A model that answers the first `free` requests of each run immediately, and the others when its block ends.

    With `model`, it holds back only the calls of that model.
    """

    def __init__(self, free: int = 0, model: str = "") -> None:
        super().__init__()
        self._free = free
        self._model = model
        self._gate = threading.Event()
        self._asked: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._gate.set()

    def __call__(self, asked: ReceivedRequest) -> Canned:
        answer = super().__call__(asked)
        if self._model not in ("", asked.body["model"]):
            return answer
        run = asked.turn.partition(" ")[0]
        self._asked[run] += 1
        return answer if self._asked[run] <= self._free else msgspec.structs.replace(answer, gate=self._gate)


class Numbered(Counted):
    """A model that numbers its replies, so that all are different."""

    number = 0

    def __call__(self, asked: ReceivedRequest) -> Canned:
        self.number += 1
        return reply(said(content=f"reply {self.number}"), delay=self.delay, usage=self.usage)


def turns_asked(server: FakeServer) -> list[tuple[str, str, str]]:
    """For each request: its run, its turn and agent, and its kind."""
    return [tuple(asked.turn.split(" ")) for asked in server.received]  # type: ignore[misc]


class Operator:
    """A holder of a platform's operator key. If it has read streams, it verifies the whole log at the end."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.client = httpx.AsyncClient(timeout=40, event_hooks=judged())
        self._has_read = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.client.aclose()
        if self._has_read and kind is None:
            async with self._log() as log:
                assert (await verify(log, deciders())).breaks == []

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Call, and repeat the call while a part of the platform restarts."""
        for _ in range(120):
            try:
                run = self.stack.run
                key = {"Authorization": f"Bearer {run.operator_key}"}
                content = None if body is None else msgspec.json.encode(body)
                answer = await self.client.request(method, run.gateway + path, content=content, headers=key | headers)
            except httpx.TransportError:
                await asyncio.sleep(0.5)
                continue
            if answer.status_code != 503:
                return answer
            await asyncio.sleep(0.5)
        raise AssertionError(f"{path} never answered")

    async def get(self, path: str) -> Any:
        answer = await self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def open(self, body: Any) -> str:
        opened = await self.sent(body)
        assert opened.status_code in (200, 201), opened.text
        return str(opened.json()["experiment"])

    async def sent(self, body: Any, query: str = "", **headers: str) -> httpx.Response:
        """Send a plan and wait for its result."""
        return await self.looked_for(await self.call("POST", EXPERIMENTS + query, body, **headers))

    async def looked_for(self, answer: httpx.Response) -> httpx.Response:
        """Wait for the result of a plan that was sent."""
        async with asyncio.timeout(480):
            while answer.status_code == 202:
                await asyncio.sleep(0.2)
                answer = await self.call("GET", f"{PLANS}/{answer.json()['plan']}")
        return answer

    async def now(self, experiment: str) -> Any:
        return await self.get(f"{EXPERIMENTS}/{experiment}")

    async def runs(self, experiment: str) -> Any:
        return (await self.get(f"{EXPERIMENTS}/{experiment}/runs"))["runs"]

    async def post(self, experiment: str, what: str, body: Any = None) -> httpx.Response:
        return await self.call("POST", f"{EXPERIMENTS}/{experiment}/{what}", body)

    async def until(self, experiment: str, ready: Callable[[Any], Any] | str, seconds: float = 180) -> Any:
        """Wait for a status of the experiment, or until a function of it gives a true value."""
        there = (lambda state: state["status"] == ready) if isinstance(ready, str) else ready
        async with asyncio.timeout(seconds):
            while not there(state := await self.now(experiment)):
                await asyncio.sleep(0.1)
        return state

    async def finished(self, body: Any) -> str:
        """Open an experiment and wait for its end."""
        experiment = await self.open(body)
        await self.until(experiment, "finished")
        return experiment

    @asynccontextmanager
    async def _log(self) -> AsyncIterator[PostgresLog]:
        pool = await open_pool(self.stack.run.database_url)
        try:
            yield PostgresLog(pool)
        finally:
            await pool.close()

    async def records(self, stream: str) -> list[Any]:
        self._has_read = True
        async with self._log() as log:
            stored = await log.load(stream)
        assert stored is not None
        return list(stored.records)

    async def events(self, stream: str) -> list[tuple[str, Any]]:
        return [(record.type, msgspec.json.decode(record.data)) for record in await self.records(stream)]

    async def until_event(self, stream: str, kind: str, seconds: float = 180) -> None:
        """Wait until a stream, which need not exist yet, contains an event of a type."""
        async with asyncio.timeout(seconds), self._log() as log:
            while not ((stored := await log.load(stream)) and kind in {record.type for record in stored.records}):
                await asyncio.sleep(0.05)

    async def until_shared(self, seconds: float = 180) -> None:
        """Wait until two processes hold effects at the same time. Between two turns no process holds one."""
        holders = (
            "SELECT count(DISTINCT holder) FROM lease.effect WHERE id LIKE 'agora-%' AND until > clock_timestamp()"
        )
        pool = await open_pool(self.stack.run.database_url)
        try:
            async with asyncio.timeout(seconds):
                while await pool.value(holders) < 2:
                    await asyncio.sleep(0.02)
        finally:
            await pool.close()


def turns_of(events: list[tuple[str, Any]]) -> list[Any]:
    """The turns among a run's events."""
    return [data["record"] for kind, data in events if kind in TURNS]


def calls_of(events: list[tuple[str, Any]]) -> list[Any]:
    return [data for kind, data in events if kind == "call_made"]
