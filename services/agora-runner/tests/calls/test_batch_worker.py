"""The worker of batches, on a server over HTTP: what goes out together, and what a kill at any moment leaves."""

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import msgspec
import pytest
from playmolt_agora_runner.calls.batch_worker import POLL_MOST_SECONDS, POLL_SECONDS, QUIET_SECONDS, BatchWorker
from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.scripted import residents
from playmolt_core.db.ledger import Amount
from playmolt_core.game.decider import Command
from playmolt_core.llm.batch_calls import NewCall
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models

from core.tests.llm.batch_server import BatchServer
from core.tests.llm.fake_server import Canned, FakeServer, reply, status
from core.tests.llm.memory_batch_calls import MemoryBatchCalls
from core.tests.scenario import Scenario
from tests.agora_locks import opened

ID = "experiment-00000000-0000-4000-8000-000000000001"
PLAN = {
    "name": "n",
    "models": ["scripted"],
    "languages": ["en"],
    "phases": {"phase1": {"runs": 3, "turns": 3}},
    "batch": {"play": True},
}
KEYS = tuple(f"{number:064x}" for number in range(3))


class Killed(BaseException):
    """The process ends here."""


class _Snapshot(msgspec.Struct, frozen=True):
    state: State


class Stream(Scenario[State]):
    """An experiment of three runs, with the lease of its worker, which looks `looks` times and is then stopped."""

    def __init__(self, server: FakeServer) -> None:
        super().__init__(Experiment(), ID)
        self.when(opened(ID, PLAN))
        for run in self.state.runs:
            self.when(commands.ReportRunOpened(run=run.run))
        self.stream, self.seconds, self.looks = ID, 0.0, 0
        self.calls = MemoryBatchCalls()
        self.killed: Callable[[Command], bool] = lambda _: False
        self._models = Models(
            Catalogue({"fake": server.entry(batch=True)}), MemoryLimits(), residents.cast(), environment={}
        )
        self._steps: set[str] = set()

    @property
    def stopping(self) -> bool:
        return self.looks <= 0

    async def present(self) -> Any:
        return _Snapshot(self.state)

    async def submit(self, command: Command, step: str = "") -> None:
        """The same step commits once."""
        if self.killed(command):
            raise Killed
        if step not in self._steps:
            self._steps.add(step)
            self.when(command)

    async def ask(self, *keys: str, asker: str = "") -> None:
        for key in keys:
            body = {"model": "fake-model", "messages": [{"role": "user", "content": key[-1]}]}
            await self.calls.put(NewCall(key, ID, asker, "fake", body, Amount()))

    async def work(self, looks: int, step: float = 0.5) -> None:
        """A new process looks so often, so many seconds apart."""
        self.looks = looks

        async def sleep(_: float) -> None:
            self.seconds += step
            self.looks -= 1

        await BatchWorker(self.calls, self._models, sleep=sleep, clock=lambda: self.seconds)(cast("Any", self))

    async def answers(self) -> list[str | None]:
        found = [await self.calls.found(key) for key in KEYS]
        return [call.answer if call and call.answered else "waits" for call in found]

    def events_of(self, kind: str) -> list[Any]:
        return [event for event, _, _ in self.log if event.type == kind]

    async def close(self) -> None:
        await self._models.close()


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def stream(server: FakeServer) -> AsyncIterator[Stream]:
    stream = Stream(server)
    yield stream
    await stream.close()


def says(body: dict[str, Any]) -> Canned | None:
    return None if body["messages"][-1]["content"] == "2" else reply(f"said {body['messages'][-1]['content']}")


async def test_the_calls_of_all_runs_go_out_together_and_come_back(stream: Stream, server: FakeServer) -> None:
    stand_in = BatchServer(server, says)
    await stream.ask(*KEYS[:2])
    await stream.work(3)
    assert not stand_in.batches, "one run has not asked yet"
    await stream.ask(KEYS[2])
    await stream.work(13)
    assert [[line["custom_id"] for line in stand_in.lines(batch)] for batch in stand_in.batches] == [[*KEYS]]
    assert [(event.calls, event.model) for event in stream.events_of("batch_submitted")] == [(3, "fake")]
    assert [(event.done, event.failed) for event in stream.events_of("batch_ended")] == [(2, 1)]
    first, second, third = await stream.answers()
    assert "said 0" in str(first)
    assert "said 1" in str(second)
    assert third is None, "it is to be asked plainly"


async def test_a_stop_sends_nothing_more_and_takes_what_is_out(stream: Stream, server: FakeServer) -> None:
    stand_in = BatchServer(server, says)
    await stream.ask(*KEYS[:2])
    stream.calls.age = QUIET_SECONDS
    await stream.work(1)
    stream.when(commands.Stop(by="operator"))
    await stream.ask(KEYS[2])
    await stream.work(13)
    assert [len(stand_in.lines(batch)) for batch in stand_in.batches] == [2]
    assert [(event.done, event.failed) for event in stream.events_of("batch_ended")] == [(2, 0)]
    assert (await stream.answers())[2] == "waits"


async def test_runs_that_ask_nothing_are_not_waited_for_long(stream: Stream, server: FakeServer) -> None:
    stand_in = BatchServer(server, says)
    await stream.ask(*KEYS[:2])
    stream.calls.age = QUIET_SECONDS
    await stream.work(1)
    assert [len(stand_in.lines(batch)) for batch in stand_in.batches] == [2]


async def test_a_batch_is_polled_every_5_to_60_seconds(stream: Stream, server: FakeServer) -> None:
    stand_in = BatchServer(server, says, slow=10**6)
    await stream.ask(*KEYS)
    await stream.work(1200)
    assert 600 / POLL_MOST_SECONDS <= stand_in.polls <= 600 / POLL_SECONDS


@pytest.mark.parametrize("lists", [True, False])
async def test_a_batch_that_was_submitted_before_a_kill_is_polled_and_not_submitted_again(
    stream: Stream, server: FakeServer, lists: bool
) -> None:
    stand_in = BatchServer(server, says, lists=lists)
    await stream.ask(*KEYS)
    await stream.work(1)
    await stream.work(12)
    assert len(stand_in.batches) == 1
    assert len(stream.events_of("batch_ended")) == 1


async def test_a_kill_before_the_log_hears_of_a_batch_finds_it_by_its_name(stream: Stream, server: FakeServer) -> None:
    stand_in = BatchServer(server, says)
    await stream.ask(*KEYS)
    stream.killed = lambda command: isinstance(command, commands.SubmitBatch)
    with pytest.raises(Killed):
        await stream.work(1)
    stream.killed = lambda _: False
    await stream.work(13)
    assert len(stand_in.batches) == 1
    assert (len(stream.events_of("batch_submitted")), len(stream.events_of("batch_ended"))) == (1, 1)


async def test_a_kill_between_the_log_and_the_calls_gives_them_to_the_open_batch(
    stream: Stream, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = BatchServer(server, says, lists=False)
    await stream.ask(*KEYS)

    async def killed(*_: str) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(stream.calls, "submitted", killed)
        with pytest.raises(Killed):
            await stream.work(1)
    await stream.work(13)
    assert len(stand_in.batches) == 1
    assert "waits" not in await stream.answers()


async def test_a_kill_before_the_log_hears_of_the_end_ends_it_once(stream: Stream, server: FakeServer) -> None:
    BatchServer(server, says)
    await stream.ask(*KEYS)
    stream.killed = lambda command: isinstance(command, commands.EndBatch)
    with pytest.raises(Killed):
        await stream.work(30)
    stream.killed = lambda _: False
    await stream.work(12)
    assert [(event.done, event.failed) for event in stream.events_of("batch_ended")] == [(2, 1)]


async def test_a_server_that_takes_no_batches_has_its_calls_asked_plainly(stream: Stream, server: FakeServer) -> None:
    server.otherwise = status(400)
    await stream.ask(*KEYS)
    await stream.work(1)
    assert await stream.answers() == [None] * 3
    assert not stream.events_of("batch_submitted")


async def test_a_server_that_is_away_is_asked_again_later(stream: Stream, server: FakeServer) -> None:
    server.otherwise = status(503)
    await stream.ask(*KEYS)
    await stream.work(3)
    assert len(server.received) == 1
    stand_in = BatchServer(server, says)
    await stream.work(20)
    assert len(stand_in.batches) == 1
