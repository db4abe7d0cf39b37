"""The worker of batches, on a server over HTTP: what goes out together, and what a kill at any moment leaves."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import msgspec
import pytest
from playmolt_agora_runner.calls.batch_worker import POLL_MOST_SECONDS, POLL_SECONDS, QUIET_SECONDS, BatchWorker
from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.scripted import residents
from playmolt_core.db.ledger import Account, Amount, LedgerEntry
from playmolt_core.game.decider import Command, EndGame
from playmolt_core.llm.batch_calls import NewCall
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.file_ledger import MemoryLedger
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.agora.experiment import PinnedModel
from playmolt_schemas.stored.agora.plan import Spent

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
DAY, WORST = Account(name="day:2026-11-26", money=Decimal(9)), Amount(Decimal("0.5"), 700, 1)
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
        self.ledger = MemoryLedger()
        self.calls = MemoryBatchCalls(self.ledger)
        self.killed: Callable[[Command], bool] = lambda _: False
        catalogue = Catalogue({"fake": server.entry(batch=True, input_price="2", output_price="4")})
        self._models = Models(catalogue, MemoryLimits(), residents.cast(), environment={})
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
            await self.calls.put(NewCall(key, ID, asker, "fake", body, WORST), [LedgerEntry(DAY, WORST)])

    def judge(self) -> None:
        """Begin a judge that asks in batches."""
        pinned = PinnedModel(alias="fake", model="m", base_url="", input_price="1", output_price="2", scripted=False)
        self.when(commands.StartJudge(judge=pinned, turns="all", batch=True))

    async def work(self, looks: int, step: float = 0.5) -> None:
        """A new process looks so often, so many seconds apart."""
        self.looks = looks

        async def sleep(_: float) -> None:
            self.seconds += step
            self.looks -= 1

        began = self.state.since or datetime.now(UTC)
        worker = BatchWorker(
            self.calls, self._models, sleep=sleep, clock=lambda: self.seconds,
            now=lambda: began + timedelta(seconds=self.seconds),
        )  # fmt: skip
        await worker(cast("Any", self))

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
    stream.when(commands.Stop())
    await stream.ask(KEYS[2])
    await stream.work(13)
    assert [len(stand_in.lines(batch)) for batch in stand_in.batches] == [2]
    assert [(event.done, event.failed) for event in stream.events_of("batch_ended")] == [(2, 0)]
    assert (await stream.answers())[2] == "waits"


async def test_a_stop_sends_nothing_of_its_runs_although_a_judge_asks_on(stream: Stream, server: FakeServer) -> None:
    stand_in = BatchServer(server, says)
    stream.judge()
    await stream.ask(KEYS[0])
    await stream.ask(KEYS[1], asker="fake")
    stream.when(commands.Stop())
    stream.calls.age = QUIET_SECONDS
    await stream.work(30)
    assert [[line["custom_id"] for line in stand_in.lines(batch)] for batch in stand_in.batches] == [[KEYS[1]]]
    assert await stream.answers() == ["waits", stream.calls.rows[KEYS[1]].answer, "waits"]
    stream.when(commands.Resume())
    await stream.work(1)
    assert [line["custom_id"] for line in stand_in.lines("batch_1")] == [KEYS[0]]


async def test_a_judge_that_is_stopped_sends_nothing_although_runs_ask_on(stream: Stream, server: FakeServer) -> None:
    stand_in = BatchServer(server, says)
    stream.judge()
    await stream.ask(KEYS[0])
    await stream.ask(KEYS[1], asker="fake")
    stream.when(commands.StopJudge(judge="fake"))
    stream.calls.age = QUIET_SECONDS
    await stream.work(30)
    assert [[line["custom_id"] for line in stand_in.lines(batch)] for batch in stand_in.batches] == [[KEYS[0]]]


async def test_a_stop_after_a_kill_finds_the_batch_that_was_sent_and_sends_none(
    stream: Stream, server: FakeServer
) -> None:
    stand_in = BatchServer(server, says)
    stream.judge()
    await stream.ask(*KEYS)
    stream.killed = lambda command: isinstance(command, commands.SubmitBatch)
    with pytest.raises(Killed):
        await stream.work(1)
    stream.killed = lambda _: False
    stream.when(commands.Stop())
    await stream.work(13)
    assert len(stand_in.batches) == 1
    assert "waits" not in await stream.answers()


def counted(stream: Stream) -> tuple[str, list[tuple[int, int, str | None]]]:
    """Its last event, and of each batch that ended how many calls were done, how many counted, and their cost."""
    ends = stream.events_of("batch_ended")
    return stream.log[-1][0].type, [(event.done, event.spent.calls, event.spent.cost) for event in ends]


async def test_an_ended_experiment_cancels_its_batches_and_counts_what_was_answered(
    stream: Stream, server: FakeServer
) -> None:
    stand_in = BatchServer(server, lambda _: reply("said", usage=(1000, 100)), slow=10**6)
    stream.judge()
    await stream.ask(*KEYS[:2])
    stream.calls.age = QUIET_SECONDS
    await stream.work(1)
    await stream.ask(KEYS[2], asker="fake")
    assert stream.ledger.of(DAY.name) == Amount(Decimal("1.5"), 2100, 3)
    stream.when(EndGame(reason="wrong model"))
    assert (stream.state.status, stream.state.over, stream.state.judging) == ("stopped", True, ())
    stream.when(commands.Resume()).refused(Code.GAME_OVER)
    await stream.work(40)
    assert counted(stream) == ("game_aborted", [(1, 1, "0.0024")])
    assert (stream.state.status, stream.state.reason, stream.state.spent.cost) == ("aborted", "wrong model", "0.0024")
    assert (stream.ledger.of(DAY.name), stream.calls.rows) == (Amount(Decimal("0.0024"), 1100, 1), {})
    assert len(stand_in.batches) == 1, "what waited was not sent"
    assert [effect.kind for effect in stream.decider.effects(stream.state)] == []


async def test_a_batch_that_cannot_be_cancelled_is_polled_until_its_cost_is_known(
    stream: Stream, server: FakeServer
) -> None:
    BatchServer(server, lambda _: reply("said", usage=(1000, 100)), slow=2, cancels=False)
    await stream.ask(*KEYS)
    await stream.work(1)
    stream.when(EndGame(reason="wrong model"))
    await stream.work(20)
    assert stream.state.status == "stopped"
    await stream.work(60)
    assert counted(stream) == ("game_aborted", [(3, 3, "0.0072")])
    assert stream.ledger.of(DAY.name) == Amount(Decimal("0.0072"), 3300, 3)


async def test_a_batch_that_never_ends_is_given_up_after_a_day_at_its_worst_case(
    stream: Stream, server: FakeServer
) -> None:
    BatchServer(server, says, slow=10**6, cancels=False)
    await stream.ask(*KEYS)
    await stream.work(1)
    stream.when(EndGame(reason="wrong model"))
    await stream.work(25, step=3600.0)
    assert stream.state.status == "stopped"
    await stream.work(2, step=3600.0)
    assert counted(stream) == ("game_aborted", [(0, 3, None)])
    assert stream.state.spent == Spent(calls=3, unknown_calls=3, cost=None)
    assert stream.ledger.of(DAY.name) == Amount(Decimal("1.5"), 2100, 3)


async def test_a_reply_without_usage_that_no_run_takes_keeps_its_worst_case(stream: Stream, server: FakeServer) -> None:
    BatchServer(server, lambda _: reply("said", usage=None))
    await stream.ask(*KEYS)
    await stream.work(1)
    stream.when(EndGame(reason="wrong model"))
    await stream.work(13)
    assert counted(stream) == ("game_aborted", [(3, 3, None)])
    assert stream.ledger.of(DAY.name) == Amount(Decimal("1.5"), 2100, 3)


async def test_answers_that_come_as_the_experiment_ends_are_counted_once(stream: Stream, server: FakeServer) -> None:
    BatchServer(server, lambda _: reply("said", usage=(1000, 100)))
    await stream.ask(*KEYS)

    def ends(command: Command) -> bool:
        if isinstance(command, commands.EndBatch) and not stream.state.ended:
            stream.when(EndGame(reason="wrong model"))
        return False

    stream.killed = ends
    await stream.work(40)
    assert counted(stream) == ("game_aborted", [(3, 3, "0.0072")])
    assert stream.ledger.of(DAY.name) == Amount(Decimal("0.0072"), 3300, 3)


@pytest.mark.parametrize("lists", [True, False])
async def test_a_batch_that_is_sent_as_the_experiment_ends_is_cancelled_and_counted(
    stream: Stream, server: FakeServer, lists: bool
) -> None:
    """Also if the process ends before the log knows of it; a server without a list leaves the worst case."""
    stand_in = BatchServer(server, lambda _: reply("said", usage=(1000, 100)), slow=10**6, lists=lists)
    await stream.ask(*KEYS)

    def ends(command: Command) -> bool:
        if isinstance(command, commands.SubmitBatch) and not stream.state.ended:
            stream.when(EndGame(reason="wrong model"))
        return isinstance(command, commands.SubmitBatch)

    stream.killed = ends
    with pytest.raises(Killed):
        await stream.work(5)
    stream.killed = lambda _: False
    await stream.work(40)
    assert (stream.state.status, stream.state.reason, len(stand_in.batches)) == ("aborted", "wrong model", 1)
    if lists:
        assert counted(stream) == ("game_aborted", [(1, 1, "0.0024")])
    assert stream.ledger.of(DAY.name) == (
        Amount(Decimal("0.0024"), 1100, 1) if lists else Amount(Decimal("1.5"), 2100, 3)
    )


async def test_an_ended_experiment_drops_what_waits_for_a_batch(stream: Stream, server: FakeServer) -> None:
    stand_in = BatchServer(server, says)
    await stream.ask(KEYS[0])
    stream.when(EndGame(reason="wrong model"))
    await stream.work(3)
    assert (stream.state.status, stand_in.batches, stream.calls.rows) == ("aborted", {}, {})
    assert stream.ledger.of(DAY.name) == Amount()


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
