"""A jury that plays itself: to its end, through crashes at every moment, and until a budget or an owner stops it.

What a model has answered and the log holds is asked no second time.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_core.effects.leased_effect import LeasedEffect, Submit
from playmolt_core.game.decider import Accepted, Command, Decider, Effect, Refused
from playmolt_core.game.fold import Snapshot
from playmolt_core.game.redecision import Fact
from playmolt_core.llm.port import Failed, Listener, Model, ModelRequest, Record, Reply, Sending
from playmolt_core.llm.scripted.model import Cast, ScriptedModel
from playmolt_jury import rules
from playmolt_jury.jurors import scripted
from playmolt_jury.panels import plan as plans
from playmolt_jury.panels import player
from playmolt_jury.panels.player import JuryPlayer
from playmolt_jury.panels.preview import varies
from playmolt_jury.panels.rules import (
    PLAY,
    OpenPanel,
    Panel,
    ResumePanel,
    SetAside,
    StopPanel,
    panel_view,
    session_of,
)
from playmolt_jury.panels.state import PanelState
from playmolt_jury.workers.model_worker import ModelWorker
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import AttemptMade
from playmolt_schemas.stored.panels import JuryPlayed, JurySetAside, PanelPlace, PanelPlan, PanelSpent

from core.tests.decided_again import redecided

JURY, PANEL = rules.jury(), Panel()
NAME = "panel-00000000-0000-4000-8000-000000000001"
AT = datetime(2026, 1, 1, tzinfo=UTC)
PLAN = """language = "en"
n = 2
seed = 3
deliberation = 1
[[scripts.A]]
juror = "ophiuchus"
text = "There is reasonable doubt."
[[scripts.A]]
juror = "radical"
evidence = "E1"
"""


class Killed(BaseException):
    """The process ends here."""


class Log:
    """The streams of one game in memory. `kill` is asked after each commit whether the process ends."""

    def __init__(self, decider: Decider[Any], kill: Callable[[], bool]) -> None:
        self.decider = decider
        self.kill = kill
        self.states: dict[str, Any] = {}
        self.stored: dict[str, list[Event]] = {}
        self.facts: dict[str, list[Fact]] = {}
        self.known: set[tuple[str, str]] = set()

    async def submit(self, stream: str, command: Command, command_id: str, agent: str = "") -> Accepted | Refused:
        if (stream, command_id) in self.known:
            return Accepted()
        state = self.states.get(stream) or self.decider.initial(stream)
        decided = self.decider.decide(state, command, AT)
        if isinstance(decided, Refused):
            return decided
        facts = self.facts.setdefault(stream, [])
        for event in decided.events:
            facts.append(Fact(state, event, len(facts) + 1, AT, command_id))
            state = self.decider.evolve(state, event, AT)
        if decided.events:
            self.states[stream] = state
            self.stored.setdefault(stream, []).extend(decided.events)
            self.known.add((stream, command_id))
            if self.kill():
                raise Killed
        return Accepted()

    def present(self, stream: str) -> Snapshot[Any] | None:
        state = self.states.get(stream)
        return Snapshot(state, state.version, "", AT, self.decider.summary(state)) if state else None

    async def snapshot(self, stream: str) -> Snapshot[Any] | None:
        return self.present(stream)

    def differing(self) -> list[str]:
        """The streams that today's rules decide otherwise."""
        again = {stream: redecided(self.decider, facts) for stream, facts in self.facts.items()}
        return [stream for stream, found in again.items() if not found.known or found.differs_at is not None]

    # As `player.Juries`.
    streams = property(lambda self: self)

    def submit_for(self, _: str) -> Submit:
        return self.submit

    async def now(self, stream: str) -> Snapshot[Any] | None:
        return self.present(stream)

    async def events(self, stream: str) -> Sequence[Event]:
        return tuple(self.stored.get(stream, ()))


class Asked(Model):
    """A scripted model that counts its requests; `answer` may answer in its place."""

    def __init__(self, answer: Callable[[ModelRequest], Failed | None] = lambda _: None) -> None:
        self.requests: list[str] = []
        self._answer = answer
        self._model = ScriptedModel(scripted.add_to(Cast()))

    def get(self, _: str) -> Model:
        return self

    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        self.requests.append(digest(request))
        return self._answer(request) or await self._model.ask(request, record)


class Table:
    """A panel of one plan, its juries and its models."""

    def __init__(self, plan: str = PLAN, model: Asked | None = None) -> None:
        found = plans.read(plan, JURY.cases.named, ("scripted",))
        assert isinstance(found, PanelPlan), found
        self.plan, self.model, self.left = found, model or Asked(), -1
        self.panels, self.juries = Log(PANEL, self._ends), Log(JURY, self._ends)
        self.full = ""

    def _ends(self) -> bool:
        self.left -= 1
        return self.left == 0

    async def open(self) -> None:
        opening = OpenPanel(owner="agent-1", name="Ada", plan=self.plan, content_version="")
        await self.panels.submit(NAME, opening, "open")

    @property
    def state(self) -> PanelState:
        found: PanelState = self.panels.states[NAME]
        return found

    async def run(self) -> None:
        """Carry out all effects side by side, as the runner does, until there is none."""
        under_way: dict[str, asyncio.Task[None]] = {}
        while effects := PANEL.effects(self.state):
            for effect in effects:
                if effect.id not in under_way:
                    under_way[effect.id] = asyncio.create_task(self.play(effect=effect))
            await asyncio.wait(under_way.values(), return_when=asyncio.FIRST_COMPLETED)
            for name in [name for name, task in under_way.items() if task.done()]:
                await under_way.pop(name)
        await asyncio.gather(*under_way.values())

    async def play(self, place: int = 0, attempt: int = 1, effect: Effect[PanelPlace] | None = None) -> None:
        """Carry out one of the panel's effects."""

        async def room(owner: str, stream: str, pack: str) -> str:
            return self.full

        async def keep(_: str, __: object) -> None: ...

        plays = JuryPlayer(lambda: self.juries, lambda _, __: ModelWorker(JURY, self.model, keep), room)  # type: ignore[arg-type, return-value]
        effect, snapshot = effect or PANEL.effects(self.state)[place], self.panels.present(NAME)
        assert effect.kind == PLAY
        assert snapshot
        await plays(LeasedEffect(NAME, effect, snapshot, attempt, self.panels.submit, self.panels))

    def played(self) -> list[JuryPlayed]:
        return [event for event in self.panels.stored[NAME] if isinstance(event, JuryPlayed)]


async def test_a_panel_plays_all_its_juries_and_is_over() -> None:
    table = Table()
    await table.open()
    await table.play()
    await table.play()
    first, second = table.played()
    assert (first.number, second.number, table.state.status) == (1, 2, "finished")
    assert first.course != second.course
    assert first.outcome in ("guilty", "not_guilty")
    assert len(first.votes) == 5
    assert first.spent.calls == sum(isinstance(e, AttemptMade) for e in table.juries.stored[first.session])
    assert [move.step for move in first.moves if move.cause != "speech"] == [1, 2]
    assert {move.step for move in first.moves if move.cause == "speech"} == {3}
    assert (len(table.juries.facts), table.juries.differing()) == (2, [])


async def test_the_same_plan_gives_the_same_juries() -> None:
    one, other = Table(), Table()
    for table in (one, other):
        await table.open()
        await table.play()
    assert one.played() == other.played()


async def test_at_temperature_zero_all_juries_are_one() -> None:
    table = Table(f"temperature = 0\n{PLAN}")
    await table.open()
    await table.play()
    await table.play()
    assert len({jury.course for jury in table.played()}) == 1
    assert not varies(table.plan)


async def test_at_temperature_zero_juries_with_shuffled_steps_differ() -> None:
    table = Table(f"temperature = 0\nshuffle = true\n{PLAN}")
    await table.open()
    await table.play()
    await table.play()
    assert len({jury.course for jury in table.played()}) == 2
    assert varies(table.plan)
    alone = table.plan.scripts["A"][:1]
    assert not varies(replace(table.plan, scripts={"A": alone}))


async def test_a_jury_that_is_killed_after_any_commit_asks_no_model_again() -> None:
    whole = Table()
    await whole.open()
    await whole.play()
    commits = sum(len(events) for events in whole.juries.stored.values())
    for at in range(1, commits):
        table = Table()
        await table.open()
        table.left = at
        try:
            await table.play()
        except Killed:
            if table.played():  # the last commit
                break
            table.left = -1
            await table.play(attempt=2)
        assert table.played() == whole.played()
        assert sorted(table.model.requests) == sorted(whole.model.requests), f"killed after commit {at}"
    assert at > 20


async def test_a_spent_budget_stops_the_panel_and_a_resume_goes_on() -> None:
    spent = True
    broke = Failed(code="budget_spent", detail="the budget is spent", attempts=0)
    table = Table(model=Asked(lambda request: broke if spent and "speech" in request.schema_name else None))
    await table.open()
    await table.play()
    assert table.state.status == "stopped"
    assert table.state.stopped
    assert table.state.stopped.by == "budget"
    assert table.state.spent.calls > 0
    assert panel_view(table.state).settling == 1
    while PANEL.effects(table.state):
        await table.play()
    assert panel_view(table.state).settling == 0
    assert len(table.juries.stored) == 1
    spent = False
    raised = replace(table.plan, budget=replace(table.plan.budget, calls=900))
    await table.panels.submit(NAME, ResumePanel(plan=raised), "resume")
    await table.play()
    whole = Table()
    await whole.open()
    await whole.play()
    assert table.played()[0].moves == whole.played()[0].moves
    assert table.state.budget.calls == 900
    assert table.juries.differing() == []


async def test_a_budget_that_ends_during_the_vote_gives_no_jury_up() -> None:
    """The jurors vote side by side: some find the budget spent, others do not."""
    left = 2
    broke = Failed(code="budget_spent", detail="the budget is spent", attempts=0)

    def answer(request: ModelRequest) -> Failed | None:
        nonlocal left
        if not request.schema_name.startswith("vote"):
            return None
        left -= 1
        return None if left >= 0 else broke

    table = Table(model=Asked(answer))
    await table.open()
    await table.play()
    assert table.state.stopped
    assert table.state.stopped.by == "budget"
    left = 100
    await table.panels.submit(NAME, ResumePanel(), "resume")
    await table.play()
    (jury,) = table.played()
    assert jury.outcome in ("guilty", "not_guilty")
    assert len(jury.votes) == 5


class Purse:
    """A budget of calls for a panel's models, as its account counts them."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, _: ModelRequest) -> Failed | None:
        self.left -= 1
        return Failed(code="budget_spent", detail="the budget is spent", attempts=0) if self.left < 0 else None


def budgeted(calls: int, n: int = 4) -> str:
    return PLAN.replace("n = 2", f"n = {n}").replace("[[scripts.A]]", f"[budget]\ncalls = {calls}\n[[scripts.A]]", 1)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player, "_SPENT_SECONDS", 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("share", [1.0, 1.4, 2.2])
async def test_a_budget_that_does_not_pay_every_jury_plays_whole_ones(share: float) -> None:
    """Seen: juries side by side used up a small budget together, and none of them had a verdict."""
    whole = Table()
    await whole.open()
    await whole.play()
    cost = whole.played()[0].spent.calls
    calls = int(cost * share) + 5
    table = Table(budgeted(calls), model=Asked(Purse(calls)))
    await table.open()
    await table.run()
    assert table.state.stopped
    assert table.state.stopped.by == "budget"
    assert len(table.played()) == int(share)
    assert [jury.number for jury in table.played()] == list(range(1, int(share) + 1))
    assert table.juries.differing() == []


@pytest.mark.usefixtures("impatient")
async def test_the_rest_of_a_budget_is_for_the_first_of_the_juries_under_way() -> None:
    """Two juries are under way when the budget ends: the later one waits for what the first one leaves."""
    purse = Purse(0)
    answered = purse.__call__

    def asked(request: ModelRequest) -> Failed | None:
        failed = answered(request)
        if purse.left == _RETURNED:
            purse.left = 10**6  # calls of other juries cost less than was reserved for them
        return failed

    purse.left = 14
    table = Table(model=Asked(asked))
    await table.open()
    await table.run()
    assert (table.state.status, [jury.number for jury in table.played()]) == ("finished", [1, 2])


_RETURNED = -2
"""What is left of a budget after two calls that it did not pay: one of each jury."""


async def test_a_panel_plays_as_many_juries_at_a_time_as_its_budget_pays() -> None:
    table = Table(budgeted(10**6, n=60))
    await table.open()
    assert len(PANEL.effects(table.state)) == 1
    await table.play()
    cost = table.played()[0].spent.calls
    for times, at_once in ((1.5, 1), (3.0, 2), (40.0, 32), (0.5, 1)):
        budget = replace(table.plan.budget, calls=int(cost * times))
        await table.panels.submit(NAME, ResumePanel(plan=replace(table.plan, budget=budget)), f"resume {times}")
        assert len(PANEL.effects(table.state)) == at_once
    free = Table(PLAN.replace("n = 2", "n = 60"))
    await free.open()
    assert len(PANEL.effects(free.state)) == 32


async def test_a_model_that_is_gone_stops_the_panel() -> None:
    gone = Failed(code="model_unavailable", detail="no server", attempts=1)
    table = Table(model=Asked(lambda _: gone))
    await table.open()
    await table.play()
    assert table.state.stopped
    assert table.state.stopped.by == "model"


async def test_a_jury_whose_models_talk_nonsense_is_given_up_and_missing() -> None:
    refusal = Failed(code="refused", detail="I cannot", attempts=1)
    table = Table(model=Asked(lambda request: refusal if "speech" in request.schema_name else None))
    await table.open()
    await table.play()
    (jury,) = table.played()
    assert (jury.outcome, table.state.status) == ("missing", "running")


async def test_a_stop_leaves_the_jury_for_later() -> None:
    table = Table()
    await table.open()
    snapshot = table.panels.present(NAME)
    assert snapshot
    effect = PANEL.effects(table.state)[0]
    await table.panels.submit(NAME, StopPanel(by="owner", detail="stopped"), "stop")
    await table.play()
    assert session_of(effect.payload) not in table.juries.stored
    assert effect not in PANEL.effects(table.state)
    await table.panels.submit(NAME, ResumePanel(), "resume")
    assert PANEL.effects(table.state)[0].id == effect.id


async def test_a_jury_that_is_set_aside_after_the_resume_goes_on() -> None:
    table = Table()
    await table.open()
    await table.panels.submit(NAME, StopPanel(by="owner", detail="stopped"), "stop")
    await table.panels.submit(NAME, ResumePanel(), "resume")
    left = JurySetAside(script="A", number=1, session="", spent=PanelSpent())
    await table.panels.submit(NAME, SetAside(left=left), "late")
    assert len(PANEL.effects(table.state)) == 2


@pytest.mark.parametrize("at", [2, 7, 15])
async def test_a_panel_that_is_stopped_and_killed_counts_what_its_juries_have_cost(at: int) -> None:
    table = Table()
    await table.open()
    table.left = at
    with pytest.raises(Killed):
        await table.play()
    await table.panels.submit(NAME, StopPanel(by="owner", detail="stopped"), "stop")
    asked = len(table.model.requests)
    while PANEL.effects(table.state):
        await table.play(attempt=2)
    assert len(table.model.requests) == asked
    (stored,) = table.juries.stored.values()
    assert table.state.spent.calls == sum(isinstance(event, AttemptMade) for event in stored)
    assert panel_view(table.state).settling == 0
    for script in table.panels.stored[NAME]:
        if isinstance(script, JurySetAside):
            assert bool(script.session) == (script.number == 1)


async def test_a_full_day_stops_the_panel_before_a_jury_is_opened() -> None:
    table = Table()
    await table.open()
    table.full = "the day is full"
    await table.play()
    assert table.state.stopped
    assert (table.state.stopped.by, table.state.stopped.detail) == ("budget", "the day is full")
    assert not table.juries.stored


@pytest.mark.parametrize("change", ["n = 3", "deliberation = 2"])
async def test_another_plan_does_not_resume_a_panel(change: str) -> None:
    table = Table()
    await table.open()
    other = plans.read(
        PLAN.replace("n = 2", change) if change[0] == "n" else PLAN.replace("deliberation = 1", change),
        JURY.cases.named,
        ("scripted",),
    )
    assert isinstance(other, PanelPlan)
    refused = await table.panels.submit(NAME, ResumePanel(plan=other), "resume")
    assert isinstance(refused, Refused)
