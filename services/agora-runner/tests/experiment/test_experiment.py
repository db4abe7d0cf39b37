"""An experiment: given what was planned and what its workers reported, when somebody does this, then that."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from playmolt_agora.measures.inference.arms import pcs_so_far
from playmolt_agora_runner.coding.judgement import Judgement
from playmolt_agora_runner.coding.judgement import coded as coded_events
from playmolt_agora_runner.experiment import commands, looks, views
from playmolt_agora_runner.experiment.api import ExperimentApi
from playmolt_agora_runner.experiment.effects import effect_id, look_effect
from playmolt_agora_runner.experiment.forking import registered_spec
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.plan import matrix, reading
from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.world import worlds
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import PUBLIC, Accepted, Command, EndGame, Join, Refused, Viewer, read_event
from playmolt_core.game.fold import state_hash
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_schemas.agora.coding import Codings
from playmolt_schemas.agora.plan import ExperimentRuns, Experiments, ExperimentState, Hidden
from playmolt_schemas.canonical import canonical_json, digest
from playmolt_schemas.codes import Code
from playmolt_schemas.instrument import definitions
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.stored.agora import experiment as events
from playmolt_schemas.stored.agora.experiment import (
    BatchSubmitted,
    BudgetStopped,
    JudgeBudget,
    PinnedModel,
    Preregistered,
    RunAdded,
    RunFinished,
    SheetRow,
)
from playmolt_schemas.stored.agora.plan import Budget, Limits, Noticed, Plan, Spent
from playmolt_schemas.stored.event import Event

from core.tests.scenario import Scenario, like
from schemas.tests import samples as golden
from tests.agora_locks import opening


def run_progress(run: str, spent: Spent, acts: Mapping[str, int] | None = None, **more: Any) -> commands.ReportRun:
    """What an open run has taken so far."""
    report = events.RunProgressed(run=run, spent=spent, models={}, **more)
    return commands.ReportRun(report=report, acts=acts or {})


RULES = Experiment()
ID = "experiment-00000000-0000-4000-8000-000000000001"
CATALOGUE = Catalogue(
    {
        "paid": ModelEntry(
            base_url="http://127.0.0.1:1/v1", model="mini", input_price=Decimal("0.15"), output_price=Decimal("0.6")
        ),
        "unpriced": ModelEntry(base_url="http://127.0.0.1:1/v1", model="local"),
    }
)

SMALL: dict[str, Any] = {
    "name": "small",
    "seed": "7",
    "models": ["scripted"],
    "languages": ["ko", "en"],
    "phases": {"phase1": {"runs": 1, "turns": 3}},
}
ADAPTIVE: dict[str, Any] = SMALL | {"adaptive": {"measure": "p:trade", "width": "0.1", "max_runs": 3}}
COMPARED: dict[str, Any] = SMALL | {
    "languages": ["ko"],
    "phases": {"stage1": {"runs": 1, "turns": 3}, "phase1": {"runs": 1, "turns": 3}},
}
BATCHED: dict[str, Any] = SMALL | {"batch": {"play": True}}


def out_of_budget(run: str) -> commands.StopForBudget:
    stopped = BudgetStopped(limit="calls", scope="all", run=run, most="10", spent="11", detail="Raise it and resume.")
    return commands.StopForBudget(stopped=stopped)


OPERATOR: dict[str, Any] = {"stream": ID, "operator": True}


class Bench(Scenario[State]):
    """An experiment by what its operator and its workers ask of it; `caused` are the events of the newest decision."""

    def __init__(self, plan: Any = None, *, catalogue: Catalogue = CATALOGUE) -> None:
        super().__init__(RULES, ID)
        self.catalogue = catalogue
        if plan is not None:
            self.open(plan).then(like(Preregistered))

    def open(self, plan: Any) -> "Bench":
        return self.asked(opening(ID, plan, self.catalogue))

    def asked(self, command: Command | Refused) -> "Bench":
        """A command, or the refusal of a plan before there is one."""
        if isinstance(command, Refused):
            self.decision = command
            return self
        return self.when(command)

    def see(self) -> "Bench":
        """A look at PCS as it is."""
        plan = self.state.plan
        assert plan is not None
        figures = pcs_so_far(looks.arms(plan, self.state.runs))
        return self.when(commands.SeePcs(turns=self.state.spent.turns, figures=figures))

    @property
    def caused(self) -> tuple[Event, ...]:
        assert isinstance(self.decision, Accepted), self.decision
        return self.decision.events

    def run(self, place: int) -> str:
        return self.state.runs[place].run

    def finish(self, place: int, **changes: Any) -> "Bench":
        spent = Spent(turns=36, calls=37, tokens=3700, cost="0.5", known="0.5")
        facts: dict[str, Any] = {"outcome": "completed", "version": 90, "hash": "a" * 64, "spent": spent, "models": {}}
        acts = changes.pop("acts", {})
        finished = RunFinished(run=self.run(place), **{**facts, **changes})
        return self.when(commands.ReportRun(report=finished, acts=acts))

    def effects(self) -> list[str]:
        return [effect.kind for effect in RULES.effects(self.state)]

    def folded(self) -> State:
        state = RULES.initial(ID)
        for event, at, _ in self.log:
            data = canonical_json(event)
            state = RULES.evolve(state, read_event(RULES, event.type, event.schema_version, data), at)
        return state


@pytest.fixture
def bench() -> Bench:
    return Bench(SMALL)


class TestTheLock:
    def test_is_the_first_event_and_holds_all_that_was_promised(self) -> None:
        text = reading.preset("white-room-stage1")
        preregistered = Bench(text).log[0][0]
        assert isinstance(preregistered, Preregistered)
        plan = reading.read(text)
        assert isinstance(plan, Plan)
        assert (preregistered.text, preregistered.plan, preregistered.plan_hash) == (text, plan, digest(plan))
        assert {test.test: (test.alpha, test.p_min) for test in preregistered.tests if test.confirmatory} == {
            **{f"pcs:{model}": ("0.05", "1/3136") for model in plan.models},
            "H1": ("0.05", "1/64"),
            "H2": ("0.05", "1/64"),
        }
        assert {test.n for test in preregistered.tests if test.test == "H1"} == {"6 runs"}
        assert next(test.claim for test in preregistered.tests if test.test == "H2").startswith("Jesters")
        assert "20 %" in preregistered.exclusions[0]
        assert "fixed" in preregistered.stopping_rule
        assert (preregistered.pins.stimuli, preregistered.pins.measures) == (texts.version(), definitions.version())
        assert preregistered.pins.stage1 == worlds.version("stage1", worlds.preset("stage1"), texts.version())
        assert len(preregistered.runs) == 60
        assert len(canonical_json(preregistered)) < 100_000

    def test_pins_models_with_their_prices(self) -> None:
        preregistered = Bench(SMALL | {"models": ["paid", "unpriced"]}).log[0][0]
        assert isinstance(preregistered, Preregistered)
        assert [(m.alias, m.model, m.input_price, m.scripted) for m in preregistered.models] == [
            ("paid", "mini", "0.15", False), ("unpriced", "local", None, False),
        ]  # fmt: skip

    def test_pins_stage1_with_the_changes_of_the_plan(self) -> None:
        changed = Bench(SMALL | {"phases": {"stage1": {"rules": {"pool": 30}}}}).state.pins.stage1
        assert changed.startswith("stage1@")
        assert changed != Bench().state.pins.stage1

    def test_hashes_every_run(self, bench: Bench) -> None:
        for run in bench.state.runs:
            spec = registered_spec(bench.state, run.run)
            assert (digest(spec), spec.experiment, spec.run) == (run.spec, ID, run.run)
            assert run.turns == spec.turns * len(spec.seats) == 36

    def test_another_specification_than_the_locked_one_does_not_run(self, bench: Bench) -> None:
        other = msgspec.structs.replace(bench.state.runs[0], spec="0" * 64)
        state = msgspec.structs.replace(bench.state, runs=(other,))
        with pytest.raises(ValueError, match="differs from the locked one"):
            registered_spec(state, other.run)

    def test_nothing_happens_before_it(self) -> None:
        empty = Bench()
        assert RULES.effects(empty.state) == ()
        for command in (commands.Stop(), commands.ReportRunOpened(run="agora-1"), EndGame(reason="r")):
            empty.when(command).refused(Code.NOT_FOUND)

    def test_a_plan_with_faults_is_not_locked(self) -> None:
        Bench().open(SMALL | {"models": ["nobody"], "colour": 1}).refused(Code.INVALID_REQUEST, "colour", "models")
        Bench().open(SMALL | {"models": ["nobody"]}).refused(Code.INVALID_REQUEST, "models")
        Bench().open(["no", "plan"]).refused(Code.INVALID_REQUEST, "")
        priced = SMALL | {"models": ["unpriced"], "budget": {"money": "5"}}
        Bench().open(priced).refused(Code.INVALID_REQUEST, "budget.money")

    def test_a_plan_too_large_for_one_record_is_refused(self) -> None:
        many = {"models": ["scripted-steady", "scripted-trader", "scripted-social"], "allow_unbalanced": True}
        plan = SMALL | many | {"languages": ["ko"], "phases": {"phase2": {"runs": 400, "sets": ["A", "C"]}}}
        Bench().open(plan).refused(Code.INVALID_REQUEST, "phases")

    def test_given_twice_it_changes_nothing(self, bench: Bench) -> None:
        bench.open(SMALL).then()
        bench.open(SMALL | {"seed": "8"}).refused(Code.ALREADY_STARTED)

    def test_an_imported_file_is_locked_with_its_counts(self) -> None:
        text = "run,model,language,action,count\n" + "".join(f"s{n},scripted,ko,trade,{n + 1}\n" for n in range(5))
        plan = SMALL | {"stage1_import": "old.csv", "hypotheses": ["pcs"], "phases": {"phase1": {"turns": 3}}}
        opened = opening(ID, msgspec.to_builtins(reading.read(plan, {"old.csv": text})))
        preregistered = Bench().asked(opened).then(like(Preregistered)).log[0][0]
        assert isinstance(preregistered, Preregistered)
        assert preregistered.tests[0].n == "5 v 3 runs, ko"


class TestRuns:
    def test_all_are_effects_at_once_each_by_an_id_of_its_own(self, bench: Bench) -> None:
        effects = RULES.effects(bench.state)
        assert [effect.kind for effect in effects] == ["open_run", "open_run"]
        assert len({effect.id for effect in effects}) == 2
        for effect, run in zip(effects, bench.state.runs, strict=True):
            assert effect.id == effect_id(bench.state, "open_run", run.run)
            assert len(effect.id) == 32
            assert effect.payload == run.run
            assert registered_spec(bench.state, run.run).run == run.run

    def test_an_opened_run_is_not_asked_for_again(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0))).then(like(events.RunStarted))
        assert bench.effects() == ["open_run", "watch_runs"]
        opened, _ = (effect.payload for effect in RULES.effects(bench.state))
        assert (opened, [run.run for run in bench.state.open]) == (bench.run(1), [bench.run(0)])
        bench.when(commands.ReportRunOpened(run=bench.run(0))).then()
        bench.when(commands.ReportRunOpened(run="agora-x")).refused(Code.NOT_FOUND)

    def test_progress_is_counted_and_never_goes_back(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0)))
        some = Spent(turns=2, calls=3, tokens=300, cost="0.1", known="0.1")
        bench.when(run_progress(bench.run(0), some)).then(like(events.RunProgressed))
        assert bench.state.spent == some
        for same_or_less in (some, Spent(turns=1, calls=9, tokens=900)):
            bench.when(run_progress(bench.run(0), same_or_less)).then()

    def test_the_last_one_to_end_finishes_the_experiment(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0))).finish(0).then(like(events.RunFinished))
        bench.finish(0).then()
        bench.finish(1).then(like(events.RunStarted), like(events.RunFinished), like(events.ExperimentFinished))
        assert (bench.state.status, bench.state.over, bench.effects()) == ("finished", True, [])
        assert bench.state.spent == Spent(turns=72, calls=74, tokens=7400, cost="1", known="1")

    def test_a_cost_that_is_unknown_once_stays_unknown(self, bench: Bench) -> None:
        bench.finish(0, spent=Spent(turns=36, calls=36, tokens=1, cost=None, unknown_calls=1))
        assert bench.state.spent.cost is None


class TestStops:
    def test_a_stopped_experiment_opens_nothing_until_it_is_resumed(self, bench: Bench) -> None:
        bench.when(commands.Stop(reason=" lunch ")).then(like(events.Stopped))
        assert (bench.state.status, bench.state.reason, bench.effects()) == ("stopped", "lunch", [])
        bench.when(commands.Stop()).then()
        bench.when(commands.Resume()).then(like(events.Resumed))
        assert (bench.state.reason, bench.effects()) == ("", ["open_run", "open_run"])
        bench.when(commands.Resume()).then(like(events.Resumed))
        assert (bench.state.status, bench.state.resumed_at) == ("running", bench.now)

    def test_a_run_that_ends_meanwhile_counts(self, bench: Bench) -> None:
        bench.when(commands.Stop())
        bench.finish(0).finish(1).then(
            like(events.RunStarted), like(events.RunFinished), like(events.ExperimentFinished)
        )

    def test_a_spent_budget_stops_and_a_raised_one_goes_on(self) -> None:
        bench = Bench(SMALL | {"budget": {"calls": 10}})
        bench.when(out_of_budget(bench.run(0))).then(like(events.BudgetStopped))
        stopped = bench.caused[0]
        assert isinstance(stopped, BudgetStopped)
        assert (stopped.limit, stopped.scope, stopped.run, stopped.most) == ("calls", "all", bench.run(0), "10")
        assert (bench.state.status, bench.effects()) == ("budget_stopped", [])
        bench.when(out_of_budget(bench.run(1))).then()
        raised = commands.Resume(budget=Budget(calls=20), reason="grant")
        bench.when(raised).then(like(events.Deviation), like(events.Resumed))
        assert bench.state.budget == Budget(calls=20)
        (line,) = bench.state.deviations
        assert (line.n, line.field, line.reason, json.loads(line.after)["calls"]) == (1, "budget", "grant", 20)
        bench.when(raised).then()

    def test_a_budget_is_only_raised(self) -> None:
        bench = Bench(SMALL | {"budget": {"calls": 10, "per_run": {"calls": 5}}})
        for lower in (Budget(calls=9, per_run=Limits(calls=5)), Budget(calls=10, per_run=Limits(calls=4))):
            bench.when(commands.Resume(budget=lower)).refused(Code.INVALID_REQUEST, "budget")

    def test_another_model_than_was_asked_is_a_deviation_once_with_its_count(self, bench: Bench) -> None:
        def progress(run: int, calls: int, *names: str) -> commands.ReportRun:
            noticed = Noticed(answered={"fake": dict.fromkeys(names, calls)}, prompt_cut={"fake": 1})
            return run_progress(bench.run(run), Spent(turns=calls, calls=calls), noticed=noticed)

        opened, progressed, deviated = like(events.RunStarted), like(events.RunProgressed), like(events.Deviation)
        bench.when(progress(0, 1, "mini-2")).then(opened, deviated, progressed)
        bench.when(progress(0, 4, "mini-2")).then(progressed)
        bench.when(progress(1, 2, "mini-2", "maxi")).then(opened, deviated, progressed)
        seen = views.experiment(bench.state)
        assert [(line.field, line.after, line.count) for line in seen.deviations] == [
            ("answered.fake", "mini-2", 6), ("answered.fake", "maxi", 2),
        ]  # fmt: skip
        assert seen.prompt_cut == {"fake": 2}

    def test_a_raise_while_it_runs_is_a_deviation_alone(self) -> None:
        bench = Bench(SMALL | {"budget": {"calls": 10}})
        bench.when(commands.Resume(budget=Budget())).then(like(events.Deviation))

    def test_the_operator_ends_it_for_good(self, bench: Bench) -> None:
        bench.when(EndGame(reason=" ")).refused(Code.INVALID_REQUEST, "reason")
        bench.when(EndGame(reason="wrong model")).then(like(events.ExperimentAborted))
        assert bench.state.over
        assert RULES.summary(bench.state).phase == "aborted"
        for command in (
            commands.Stop(),
            commands.Resume(),
            commands.Resume(budget=Budget(calls=1)),
            commands.ForkRun(run=bench.run(0), version=1, change="model=scripted"),
            EndGame(reason="again"),
        ):
            bench.when(command).refused(Code.GAME_OVER)
        bench.finish(0).then()


class TestRecords:
    def test_what_the_runner_has_otherwise_than_locked_is_reported_once(self) -> None:
        bench = Bench(SMALL | {"models": ["paid"]})
        same = commands.Compare(pins=bench.state.pins, models=bench.state.models)
        bench.when(same).then()
        moved = msgspec.structs.replace(bench.state.models[0], model="maxi")
        stimuli = msgspec.structs.replace(bench.state.pins, stimuli="f" * 16)
        other = commands.Compare(pins=stimuli, models=(moved,))
        bench.when(other).then(like(events.Deviation), like(events.Deviation))
        bench.when(other).then()
        assert [(line.n, line.field) for line in bench.state.deviations] == [(1, "stimuli"), (2, "models.paid")]
        assert ("mini" in bench.state.deviations[1].before, "maxi" in bench.state.deviations[1].after) == (True, True)
        assert bench.state.budget == Budget()
        bench.when(same).then(like(events.Deviation), like(events.Deviation))
        bench.when(msgspec.structs.replace(same, models=())).then()
        measures = msgspec.structs.replace(bench.state.pins, measures="measures@0")
        bench.when(msgspec.structs.replace(same, pins=measures)).then()

    def test_looks_at_pcs_are_logged_once_for_each_thing_there_is_to_see(self) -> None:
        bench = Bench(COMPARED)
        bench.see().then()
        stage1, phase1 = ({"trade": 8, "idle": 2, "build_billboard": 1}, {"trade": 1, "speak": 9})
        for place, acts in ((0, stage1), (1, phase1)):
            progress = run_progress(bench.run(place), Spent(turns=12, calls=12), acts=acts)
            bench.when(progress).then(like(events.RunStarted), like(events.ActsCounted), like(events.RunProgressed))
        bench.see().then(like(events.PcsSeen))
        bench.see().then()
        bench.finish(0, acts=stage1 | {"trade": 20}).then(like(events.ActsCounted), like(events.RunFinished))
        bench.see().then(like(events.PcsSeen))
        first, second = bench.state.looks
        assert [(look.n, look.by, look.measure, look.turns) for look in bench.state.looks] == [
            (1, "operator", "pcs", 24), (2, "operator", "pcs", 48),
        ]  # fmt: skip
        figure = first.pcs["phase1/scripted/ko"]
        assert (figure.n_stage1, figure.n_phase1, figure.runs_stage1, figure.runs_phase1) == (10, 10, 1, 1)
        assert second.pcs["phase1/scripted/ko"].n_stage1 == 22
        assert bench.state.deviations == ()
        bench.finish(1, acts=phase1)
        assert bench.state.status == "finished"
        bench.see().then()

    def test_only_a_plan_with_pcs_counts_acts_and_is_looked_at(self, bench: Bench) -> None:
        for without in (SMALL, COMPARED | {"exploratory": True}):
            bench = Bench(without)
            bench.finish(0, acts={"trade": 3}).then(like(events.RunStarted), like(events.RunFinished))
            bench.see().refused(Code.INVALID_REQUEST)
        bench = Bench(COMPARED).finish(0, acts={"trade": 3})
        bench.when(commands.ForkRun(run=bench.run(0), version=2, change="model=scripted-wild"))
        bench.finish(2, acts={"idle": 99}).then(like(events.RunStarted), like(events.RunFinished))


class TestAnAbortedRun:
    def test_is_looked_for_as_long_as_a_run_is_open(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0))).when(commands.ReportRunOpened(run=bench.run(1)))
        assert bench.effects() == ["watch_runs"]
        bench.when(commands.Stop())
        assert bench.effects() == []
        bench.when(commands.Resume()).finish(0)
        assert bench.effects() == ["watch_runs"]
        assert bench.finish(1).effects() == []

    def test_is_waited_for_no_more(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0))).finish(1)
        spent = Spent(turns=3, calls=3, tokens=30, cost="0.1", known="0.1")
        bench.when(run_progress(bench.run(0), spent))
        aborted = commands.ReportRunWithoutResult(run=bench.run(0), outcome="aborted", version=9, hash="b" * 64)
        bench.when(aborted).then(like(events.RunFinished), like(events.ExperimentFinished))
        assert (bench.state.runs[0].outcome, bench.state.runs[0].spent) == ("aborted", spent)
        bench.when(aborted).then()


class TestAPlanWhoseRunsCannotBeOpened:
    @pytest.mark.parametrize(("phase", "place", "room"), [("phase1", "plaza", 2), ("stage1", "plaza", 1)])
    def test_is_refused_before_the_lock(self, phase: str, place: str, room: int) -> None:
        full = {"phases": {phase: {"runs": 1, "turns": 3, "rules": {"capacity": {place: room}}}}}
        Bench().open(SMALL | {"languages": ["ko"]} | full).refused(Code.INVALID_REQUEST, f"phases.{phase}")


class TestForks:
    def forked(self, bench: Bench, change: str, place: int = 0, version: int = 7) -> Bench:
        fork = commands.ForkRun(run=bench.run(place), version=version, change=change, catalogue=CATALOGUE)
        return bench.when(fork)

    def test_a_fork_is_an_exploratory_run_with_one_thing_changed(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0)))
        self.forked(bench, "model=citizen_01:paid").then(like(events.Forked))
        parent, fork = registered_spec(bench.state, bench.run(0)), registered_spec(bench.state, bench.run(2))
        assert fork
        assert fork.parent
        assert (fork.parent.run, fork.parent.version, fork.parent.change) == (parent.run, 7, "model=citizen_01:paid")
        assert (fork.exploratory, fork.seed, fork.cell) == (True, parent.seed, parent.cell)
        assert [seat.agent for seat in fork.seats if seat.model != "scripted"] == ["citizen_01"]
        assert bench.effects() == ["open_run", "open_run", "watch_runs"]

    def test_changes_are_model_persona_and_content(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0)))
        for change, seats in (
            ("model=paid", {("paid", "citizen")}),
            ("persona=citizen_01:jester", {("scripted", "jester")}),
            ("persona=citizen_01:none", {("scripted", None)}),
            ("content=Hello: a=b", {("scripted", "citizen")}),
        ):
            self.forked(bench, change).then(like(events.Forked))
            fork = registered_spec(bench.state, bench.state.runs[-1].run)
            assert {(seat.model, seat.persona) for seat in fork.seats if seat.agent == "citizen_01"} == seats

    @pytest.mark.parametrize(
        "change",
        ["", "model", "model=", "temperature=1", "model=unknown", "model=scripted-unknown", "model=agent_09:paid",
         "persona=citizen_01:king", "persona=jester", "content=" + "x" * 3000],
    )  # fmt: skip
    def test_other_changes_say_what_there_is(self, bench: Bench, change: str) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0)))
        self.forked(bench, change).refused(Code.INVALID_REQUEST, "set")

    @pytest.mark.parametrize("change", ["content=  ", "persona=agent_01:influencer"])
    def test_what_could_never_be_opened_is_refused(self, change: str) -> None:
        bench = Bench(SMALL | {"phases": {"phase2": {"runs": 2, "turns": 3, "sets": ["B"]}}, "allow_unbalanced": True})
        bench.when(commands.ReportRunOpened(run=bench.run(0)))
        self.forked(bench, change).refused(Code.INVALID_REQUEST, "set")

    def test_a_fork_that_its_events_do_not_allow_ends_without_result(self, bench: Bench) -> None:
        bench.finish(0).finish(1)
        self.forked(bench, "content=Hello").then(like(events.Forked))
        bench.when(commands.ReportRunWithoutResult(run=bench.run(2), outcome="refused")).then(
            like(events.RunFinished), like(events.ExperimentFinished)
        )
        assert (bench.state.runs[2].outcome, bench.effects()) == ("refused", [])
        bench.when(commands.ReportRunWithoutResult(run=bench.run(2), outcome="refused")).then()
        assert bench.folded() == bench.state

    def test_what_has_not_begun_cannot_be_forked(self, bench: Bench) -> None:
        self.forked(bench, "model=paid").refused(Code.NOT_STARTED)
        bench.when(commands.ForkRun(run="agora-x", version=1, change="model=paid")).refused(Code.NOT_FOUND)

    def test_a_finished_experiment_opens_again_for_a_fork(self, bench: Bench) -> None:
        bench.finish(0).finish(1)
        assert bench.state.over
        self.forked(bench, "model=paid").then(like(events.Forked))
        assert (bench.state.status, bench.effects()) == ("running", ["open_run"])
        bench.finish(2).then(like(events.RunStarted), like(events.RunFinished), like(events.ExperimentFinished))

    def test_a_fork_of_a_fork_and_two_alike_are_runs_of_their_own(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0)))
        self.forked(bench, "model=paid")
        self.forked(bench, "model=paid")
        bench.when(commands.ReportRunOpened(run=bench.run(2)))
        self.forked(bench, "persona=citizen_01:jester", place=2).then(like(events.Forked))
        assert len({run.run for run in bench.state.runs}) == 5
        fork = registered_spec(bench.state, bench.run(4))
        assert fork.parent
        assert (fork.parent.run, {seat.model for seat in fork.seats}) == (bench.run(2), {"paid"})


class TestAdaptiveLooks:
    CELLS = ("phase1/scripted/ko", "phase1/scripted/en")

    def look(self, bench: Bench, *ends: tuple[str, str] | None) -> Bench:
        intervals = dict(zip(self.CELLS, ends, strict=True))
        return bench.when(commands.Look(intervals=intervals, effect_id=look_effect(bench.state)))

    def test_wide_cells_grow_by_one_run_a_look_until_they_are_narrow(self) -> None:
        bench = Bench(ADAPTIVE).finish(0).finish(1).then(like(events.RunStarted), like(events.RunFinished))
        assert (bench.state.status, bench.effects()) == ("running", ["look"])
        self.look(bench, ("0.1", "0.3"), ("0.1", "0.2")).then(like(events.Looked), like(events.RunAdded))
        added = bench.caused[1]
        assert isinstance(added, RunAdded)
        assert (added.planned.cell, added.planned.number, added.look) == (self.CELLS[0], 2, 1)
        assert bench.effects() == ["open_run"]
        bench.finish(2).then(like(events.RunStarted), like(events.RunFinished))
        self.look(bench, ("0.1", "0.2"), ("0.1", "0.2")).then(like(events.Looked), like(events.ExperimentFinished))
        assert [line.n for line in bench.state.looks] == [1, 2]

    def test_cells_stop_at_max_runs(self) -> None:
        bench = Bench(ADAPTIVE).finish(0).finish(1)
        self.look(bench, None, None).then(like(events.Looked), like(events.RunAdded), like(events.RunAdded)).finish(
            2
        ).finish(3)
        self.look(bench, None, ("0", "1")).then(
            like(events.Looked), like(events.RunAdded), like(events.RunAdded)
        ).finish(4).finish(5)
        self.look(bench, None, None).then(like(events.Looked), like(events.ExperimentFinished))
        assert bench.state.held() == dict.fromkeys(self.CELLS, 3)

    def test_an_added_run_follows_from_the_lock(self) -> None:
        bench = Bench(ADAPTIVE).finish(0).finish(1)
        self.look(bench, None, ("0", "0"))
        assert bench.state.plan
        cell = matrix.cell_of(bench.state.plan, self.CELLS[0])
        assert registered_spec(bench.state, bench.run(2)) == matrix.spec(bench.state.plan, ID, cell, 2)

    def test_an_old_answer_changes_nothing(self) -> None:
        bench = Bench(ADAPTIVE).finish(0)
        self.look(bench, None, None).then()
        bench.finish(1)
        old = look_effect(bench.state)
        self.look(bench, None, None).finish(2).finish(3)
        bench.when(commands.Look(effect_id=old)).then()

    def test_it_waits_while_the_experiment_is_stopped(self) -> None:
        bench = Bench(ADAPTIVE).finish(0).finish(1).when(commands.Stop())
        assert bench.effects() == []
        bench.when(commands.Resume())
        assert bench.effects() == ["look"]


class TestCoding:
    def begin(self, calls: int | None = None, **changes: Any) -> commands.StartJudge:
        values: dict[str, Any] = {"judge": JUDGE, "turns": "sample"}
        return commands.StartJudge(**(values | changes), budget=JudgeBudget(calls=calls))

    def judging(self, bench: Bench) -> list[str]:
        return [effect.payload for effect in RULES.effects(bench.state) if effect.kind == "judge"]

    def test_a_judge_works_on_what_runs_and_on_what_is_finished(self, bench: Bench) -> None:
        bench.when(self.begin()).then(like(events.JudgingStarted, number=1, turns="sample"))
        assert self.judging(bench) == ["paid"]
        bench.finish(0).finish(1)
        assert (bench.state.status, self.judging(bench)) == ("finished", ["paid"])

    def test_the_same_again_changes_nothing_and_another_budget_begins_anew(self, bench: Bench) -> None:
        bench.when(self.begin(5))
        bench.when(self.begin(5)).then()
        bench.when(self.begin(9)).then(
            like(events.JudgingEnded, outcome="stopped"), like(events.JudgingStarted, number=2)
        )
        assert self.judging(bench) == ["paid"]
        leases = {effect.lease for effect in RULES.effects(bench.state) if effect.kind == "judge"}
        bench.when(self.begin(10))
        assert {effect.lease for effect in RULES.effects(bench.state) if effect.kind == "judge"} == leases

    def test_what_was_said_is_counted_and_kept_when_it_begins_again(self, bench: Bench) -> None:
        bench.when(self.begin())
        lost = {"outcome": "lost", "lost": 2, "ask": 1}
        failed = {"outcome": "server_error", "status": 503, "reply": "", "usage": None, "cost": None}
        bench.when(judgement(bench, lost, survival=None, social=None, code=None))
        bench.when(judgement(bench, failed, SAID)).then(
            like(events.JudgeCoded, code=None, survival=None, raw_reply=""),
            like(events.JudgeCoded, code="ok", survival=True, social=False, raw_reply=SAID["reply"], cost="0.002"),
        )
        bench.when(judgement(bench, turn=2, survival=None, social=None, code="parse_error"))
        bench.when(commands.EndJudge(number=1, outcome="away", detail="503")).then(like(events.JudgingEnded))
        bench.when(self.begin())
        line = views.codings(bench.state).judges[0]
        assert (line.status, line.coded, line.failed) == ("running", 1, 1)
        assert (line.spent.calls, line.spent.failed_calls, line.spent.known, line.spent.unknown_calls) == (
            5,
            3,
            "0.004",
            2,
        )

    def test_another_model_is_another_coder(self, bench: Bench) -> None:
        bench.when(self.begin()).when(self.begin(judge=msgspec.structs.replace(JUDGE, alias="other")))
        assert [each.judge for each in views.codings(bench.state).judges] == ["paid", "other"]
        assert len(self.judging(bench)) == 2

    def test_a_stop_keeps_what_is_said_after_it(self, bench: Bench) -> None:
        bench.when(self.begin()).when(commands.StopJudge(judge="paid")).then(
            like(events.JudgingEnded, outcome="stopped")
        )
        assert self.judging(bench) == []
        bench.when(commands.StopJudge(judge="paid")).then()
        bench.when(commands.EndJudge(number=1, outcome="done")).then()
        bench.when(judgement(bench)).then(like(events.JudgeCoded))
        bench.when(commands.StopJudge(judge="nobody")).refused(Code.INVALID_REQUEST, "model")

    def test_an_experiment_that_was_over_is_over_again(self) -> None:
        log = [event.type for event, _, _ in coded().log]
        assert log[-1] == "experiment_finished"
        assert log.count("experiment_finished") == 3, "when it finished, after the judge and after the sheet"

    def test_a_coder_again_replaces(self, bench: Bench) -> None:
        rows = tuple(SheetRow(key=f"{number:016x}", survival=True) for number in range(2))
        bench.when(commands.TakeSheet(coder="kim", rows=rows)).then(like(events.SheetCoded, coder="kim", rows=rows))
        bench.when(commands.TakeSheet(coder="kim", rows=rows[:1]))
        assert [(each.coder, each.rows) for each in views.codings(bench.state).coders] == [("kim", 1)]
        bench.when(commands.TakeSheet(coder="lee", rows=(rows[0], rows[0]))).refused(
            Code.INVALID_REQUEST, "rows[1].key"
        )

    def test_what_was_ended_takes_no_coding(self, bench: Bench) -> None:
        bench.when(self.begin()).when(EndGame(reason="wrong"))
        assert self.judging(bench) == []
        for command in (
            self.begin(), commands.StopJudge(judge="paid"), judgement(bench),
            commands.TakeSheet(coder="kim", rows=()),
        ):  # fmt: skip
            bench.when(command).refused(Code.GAME_OVER)
        bench.when(commands.EndJudge(number=1, outcome="done")).then()

    def test_what_is_coded_folds_from_the_log(self) -> None:
        bench = coded()
        assert state_hash(bench.folded()) == state_hash(bench.state)

    @pytest.mark.parametrize(
        ("route", "body", "field"),
        [
            ("agora_judge", {"model": "nobody"}, "model"),
            ("agora_judge", {}, "model"),
            ("agora_judge", {"model": "unpriced", "budget": {"money": "1"}}, "budget.money"),
            ("agora_judge", {"model": "paid", "turns": "some"}, "turns"),
            ("agora_judge", {"model": "paid", "budget": {"calls": -1}}, "budget.calls"),
            ("agora_judge_stop", {"model": 1}, "model"),
            ("agora_sheet", {"coder": "Kim", "rows": []}, "coder"),
            ("agora_sheet", {"coder": "kim", "rows": [{"key": "x"}]}, "rows[0].key"),
            ("agora_sheet", {"coder": "kim", "rows": [{"key": "0" * 16, "survival": 1}]}, "rows[0].survival"),
        ],
    )
    def test_a_call_with_a_fault_names_its_field(self, bench: Bench, route: str, body: Any, field: str) -> None:
        refused = ExperimentApi(CATALOGUE).command(bench.state, ApiRequest(route=route, body=body, **OPERATOR))
        assert isinstance(refused, Refused)
        assert [fault.field for fault in refused.errors] == [field]

    def test_calls_are_answered_with_who_codes(self, bench: Bench) -> None:
        api = ExperimentApi(CATALOGUE)
        body = {"model": "paid", "turns": "all", "budget": {"money": 2, "calls": 7}}
        for request in (
            ApiRequest(route="agora_judge", body=body, **OPERATOR),
            ApiRequest(route="agora_sheet", body={"coder": "kim", "rows": []}, **OPERATOR),
            ApiRequest(route="agora_judge_stop", body={"model": "paid"}, **OPERATOR),
        ):
            command = api.command(bench.state, request)
            assert isinstance(command, Command)
            bench.when(command)
            answer = api.answer(bench.state, request)
            assert isinstance(answer, ApiReply)
            assert answer.body == views.codings(bench.state)
        assert isinstance(answer.body, Codings)
        judge = answer.body.judges[0]
        assert (judge.turns, judge.budget, judge.status) == ("all", JudgeBudget(money="2", calls=7), "stopped")
        stranger = msgspec.structs.replace(request, operator=False)
        for found in (api.answer(bench.state, stranger), api.command(bench.state, stranger)):
            assert isinstance(found, Refused)
            assert found.code is Code.OPERATOR_ONLY


class TestSecrecy:
    def test_nobody_but_the_operator_sees_anything(self, bench: Bench) -> None:
        for viewer in (PUBLIC, Viewer("agent-1"), Viewer("operator")):
            assert RULES.view(bench.state, viewer) == Hidden()
            assert [RULES.public(event, viewer, bench.state) for event, _, _ in bench.log] == [None]
        assert RULES.participants(bench.state) == {}
        assert RULES.allowed_actions(bench.state, "agent-1") == ()

    def test_every_route_asks_for_the_operators_key(self, bench: Bench) -> None:
        api = ExperimentApi(CATALOGUE)
        for route in api.writes:
            refused = api.command(bench.state, ApiRequest(route=route, stream=ID, agent_id="agent-1", body=SMALL))
            assert isinstance(refused, Refused)
            assert refused.code.wire == "operator_only"
        for route in (*api.writes, "agora_read", "agora_runs"):
            refused_ = api.answer(bench.state, ApiRequest(route=route, stream=ID, query={"dry": 1}, body=SMALL))
            assert isinstance(refused_, Refused)
            assert refused_.code.status == 403
        assert isinstance(api.many([bench.state], ApiRequest(route="agora_list", stream="")), Refused)

    def test_it_is_not_a_game_to_join(self, bench: Bench) -> None:
        bench.when(Join(agent_id="agent-1", name="A")).refused(Code.INVALID_REQUEST)


class TestDesk:
    api = ExperimentApi(CATALOGUE)

    def called(self, bench: Bench, route: str, body: Any = None, **query: Any) -> ApiReply | Refused:
        ask = ApiRequest(route=route, body=body, query=query, **OPERATOR)
        if route in self.api.writes:
            command = self.api.command(bench.state, ask)
            if isinstance(command, Refused):
                return command
            if command is not None and isinstance(bench.when(command).decision, Refused):
                return bench.decision  # type: ignore[return-value]  # just checked
        return self.api.answer(bench.state, ask)

    def answered(self, bench: Bench, route: str, body: Any = None, **query: Any) -> Any:
        reply = self.called(bench, route, body, **query)
        assert isinstance(reply, ApiReply), reply
        self.status = reply.status
        return reply.body

    def test_an_opened_plan_is_read(self) -> None:
        bench = Bench(SMALL)
        state = self.answered(bench, "agora_read")
        assert isinstance(state, ExperimentState)
        assert (self.status, state.experiment, state.id, state.status) == (200, ID, ID, "running")
        assert (state.progress.runs, state.progress.turns_planned, state.scripted) == (2, 72, True)
        assert state.spent == Spent()
        assert msgspec.json.decode(msgspec.json.encode(state))["spent"]["cost"] == "0"

    def test_a_plan_may_be_a_text(self) -> None:
        text = "# mine\nname: n\nmodels: [scripted]\nphases: {phase1: {runs: 1}}\n"
        assert self.answered(Bench(text), "agora_read").plan == text

    def test_stop_and_resume_answer_with_the_experiment(self) -> None:
        bench = Bench(SMALL | {"budget": {"calls": 10}})
        assert self.answered(bench, "agora_stop").status == "stopped"
        assert self.answered(bench, "agora_resume").status == "running"
        assert self.answered(bench, "agora_stop", {"reason": "lunch"}).reason == "lunch"
        state = self.answered(bench, "agora_resume", {"budget": {"calls": 30}, "reason": "more"})
        assert (state.status, state.budget.calls, state.deviations[0].reason) == ("running", 30, "more")
        assert self.status == 200

    @pytest.mark.parametrize("body", [{"why": 1}, [], {"reason": 3}, {"budget": {"calls": -1}}, {"budget": {"x": 1}}])
    def test_bodies_are_strict(self, bench: Bench, body: Any) -> None:
        refused = self.called(bench, "agora_resume", body)
        assert isinstance(refused, Refused)
        assert refused.code.wire == "invalid_request"
        assert refused.errors

    def test_runs_are_listed_with_what_they_took(self, bench: Bench) -> None:
        bench.when(commands.ReportRunOpened(run=bench.run(0)))
        bench.when(commands.ForkRun(run=bench.run(0), version=3, change="model=scripted-wild"))
        bench.finish(0)
        found = self.answered(bench, "agora_runs")
        assert isinstance(found, ExperimentRuns)
        assert [(run.cell, run.number, run.status, run.exploratory, run.parent) for run in found.runs] == [
            ("phase1/scripted/ko", 1, "finished", False, None),
            ("phase1/scripted/en", 1, "planned", False, None),
            ("phase1/scripted/ko", 1, "planned", True, bench.run(0)),
        ]
        bench.finish(2, spent=Spent(turns=9))
        assert self.answered(bench, "agora_runs").runs[2].turns_planned == 9, "what a fork took over is not its own"
        assert (found.runs[0].version, found.runs[0].hash, found.runs[0].spent.turns) == (90, "a" * 64, 36)

    def test_what_is_not_there_is_not_found(self) -> None:
        for route in ("agora_read", "agora_stop", "agora_runs"):
            refused = self.called(Bench(), route)
            assert isinstance(refused, Refused)
            assert refused.code.status == 404

    def test_a_list_shows_all(self, bench: Bench) -> None:
        found = self.api.many([bench.state], ApiRequest(route="agora_list", **OPERATOR))
        assert isinstance(found, ApiReply)
        assert isinstance(found.body, Experiments)
        assert [(line.experiment, line.name) for line in found.body.experiments] == [(ID, "small")]


class Experiments_(RuleBasedStateMachine):  # noqa: N801 -- the other one is a message
    """Whatever is commanded in whatever order: the fold is the live state, and every path can be ended."""

    bench: Bench

    @initialize(plan=st.sampled_from([SMALL, ADAPTIVE, COMPARED, SMALL | {"budget": {"calls": 50}}]))
    def open(self, plan: dict[str, Any]) -> None:
        self.bench = Bench(plan)

    def commanded(self, command: Command) -> None:
        self.bench.when(command)
        if isinstance(self.bench.decision, Refused):
            assert self.bench.decision.detail

    def pick(self, place: int) -> str:
        return self.bench.run(place % len(self.bench.state.runs))

    @rule(place=st.integers(0, 9))
    def open_run(self, place: int) -> None:
        self.commanded(commands.ReportRunOpened(run=self.pick(place)))

    @rule(place=st.integers(0, 9), turns=st.integers(0, 36), cost=st.sampled_from(["0", "0.25", None]))
    def progress(self, place: int, turns: int, cost: str | None) -> None:
        spent = Spent(turns=turns, calls=turns, tokens=turns * 9, cost=cost)
        acts = {"trade": turns // 2, "adjust_tax": 1}
        self.commanded(run_progress(self.pick(place), spent, acts=acts))

    @rule(place=st.integers(0, 9))
    def finish(self, place: int) -> None:
        spent = Spent(turns=36, calls=40, tokens=400, cost="0.5", known="0.5")
        run = self.pick(place)
        finished = RunFinished(run=run, outcome="completed", version=9, hash="b" * 64, spent=spent, models={})
        self.commanded(commands.ReportRun(report=finished))

    @rule(reason=st.text(max_size=5))
    def stop(self, reason: str) -> None:
        self.commanded(commands.Stop(reason=reason))

    @rule()
    def resume(self) -> None:
        self.commanded(commands.Resume())

    @rule(calls=st.none() | st.integers(1, 99))
    def raise_budget(self, calls: int | None) -> None:
        self.commanded(commands.Resume(budget=Budget(calls=calls)))

    @rule(place=st.integers(0, 9))
    def stop_for_budget(self, place: int) -> None:
        self.commanded(out_of_budget(self.pick(place)))

    @rule(stimuli=st.sampled_from(["a", "b"]))
    def compare(self, stimuli: str) -> None:
        pins = msgspec.structs.replace(self.bench.state.pins, stimuli=stimuli)
        self.commanded(commands.Compare(pins=pins, models=()))

    @rule(ends=st.none() | st.sampled_from([("0", "0.05"), ("0", "0.9")]), old=st.booleans())
    def look(self, ends: tuple[str, str] | None, old: bool) -> None:
        effect = "0" * 32 if old else look_effect(self.bench.state)
        intervals = {"phase1/scripted/ko": ends}
        self.commanded(commands.Look(intervals=intervals, effect_id=effect))

    @rule()
    def see_pcs(self) -> None:
        plan = self.bench.state.plan
        assert plan is not None
        figures = pcs_so_far(looks.arms(plan, self.bench.state.runs))
        self.commanded(commands.SeePcs(turns=self.bench.state.spent.turns, figures=figures))

    @rule(place=st.integers(0, 9), version=st.integers(1, 5),
          change=st.sampled_from(["model=paid", "model=x", "content=hi", "persona=citizen_01:jester"]))  # fmt: skip
    def fork(self, place: int, version: int, change: str) -> None:
        run = self.pick(place)
        self.commanded(commands.ForkRun(run=run, version=version, change=change, catalogue=CATALOGUE))

    @rule(alias=st.sampled_from(["paid", "other"]), calls=st.none() | st.integers(0, 9))
    def begin_judging(self, alias: str, calls: int | None) -> None:
        judge = msgspec.structs.replace(JUDGE, alias=alias)
        budget = JudgeBudget(calls=calls)
        self.commanded(commands.StartJudge(judge=judge, turns="all", budget=budget))

    @rule(code=st.none() | st.sampled_from(["ok", "parse_error"]), turn=st.integers(1, 3))
    def judge(self, code: str | None, turn: int) -> None:
        labels = {"survival": True, "social": True} if code == "ok" else {"survival": None, "social": None}
        self.commanded(judgement(self.bench, SAID, turn=turn, code=code, **labels))

    @rule(number=st.integers(1, 4), outcome=st.sampled_from(["done", "budget", "away"]))
    def end_judging(self, number: int, outcome: Any) -> None:
        self.commanded(commands.EndJudge(number=number, outcome=outcome))

    @rule(alias=st.sampled_from(["paid", "nobody"]))
    def stop_judging(self, alias: str) -> None:
        self.commanded(commands.StopJudge(judge=alias))

    @rule(coder=st.sampled_from(["kim", "lee"]), many=st.integers(0, 3))
    def take_sheet(self, coder: str, many: int) -> None:
        rows = tuple(SheetRow(key=f"{number:016x}", survival=True) for number in range(many))
        self.commanded(commands.TakeSheet(coder=coder, rows=rows))

    @precondition(lambda self: len(self.bench.log) > 8)
    @rule()
    def end(self) -> None:
        self.commanded(EndGame(reason="enough"))

    @invariant()
    def the_fold_is_the_live_state(self) -> None:
        assert state_hash(self.bench.folded()) == state_hash(self.bench.state)
        assert self.bench.state.version == len(self.bench.log)

    @invariant()
    def what_is_finished_ends_with_it_unless_it_is_judged(self) -> None:
        state = self.bench.state
        if state.status == "finished":
            assert (self.bench.log[-1][0].type == "experiment_finished") is (not state.judging or not state.coded_since)

    @invariant()
    def judges_count_what_was_told_of_them(self) -> None:
        for judge in self.bench.state.judges.values():
            judged = [
                event
                for event, _, _ in self.bench.log
                if isinstance(event, events.JudgeCoded) and event.judge == judge.judge.alias
            ]
            assert judge.spent.calls == len(judged)
            assert judge.coded + judge.failed == sum(event.code is not None for event in judged)

    @invariant()
    def what_is_owed_can_be_done(self) -> None:
        state = self.bench.state
        for effect in RULES.effects(state):
            if effect.kind == "open_run":
                assert registered_spec(state, effect.payload).run == effect.payload
        body = self.api_answer()
        assert body.progress.finished == state.finished
        assert RULES.summary(state).over == state.over

    def api_answer(self) -> ExperimentState:
        reply = ExperimentApi(CATALOGUE).answer(self.bench.state, ApiRequest(route="agora_read", **OPERATOR))
        assert isinstance(reply, ApiReply)
        assert isinstance(reply.body, ExperimentState)
        return reply.body

    def teardown(self) -> None:
        """Work and a raised budget lead every experiment to its end."""
        if not hasattr(self, "bench"):
            return
        state = self.bench.state
        for _ in range(20):
            if self.bench.state.over:
                break
            self.bench.when(commands.Resume())
            for effect in RULES.effects(self.bench.state):
                if effect.kind == "look":
                    self.bench.when(commands.Look(effect_id=effect.id))
            for place in range(len(self.bench.state.runs)):
                self.bench.finish(place)
        assert self.bench.state.over, state.status


Experiments_.TestCase.settings = settings(
    max_examples=30, stateful_step_count=20, suppress_health_check=list(HealthCheck)
)
TestExperiments = Experiments_.TestCase


JUDGE = PinnedModel(
    alias="paid", model="mini", base_url="http://127.0.0.1:1/v1", input_price="0.15", output_price="0.6", scripted=False
)
SAID: dict[str, Any] = {
    "outcome": "ok", "status": 200, "reply": '{"survival": true, "social": false}', "cost": "0.002",
    "usage": {"prompt_tokens": 100, "completion_tokens": 9},
}  # fmt: skip


def judgement(bench: Bench, *calls: dict[str, Any], turn: int = 1, **said: Any) -> commands.RecordJudgement:
    facts: dict[str, Any] = {"survival": True, "social": False, "code": "ok"} | said
    thought = Thought(bench.run(0), "merchant_01", turn, "phase1", "en", "paid", "so")
    found = Judgement(**facts) if facts["code"] else None
    return commands.RecordJudgement(
        judge="paid", calls=coded_events(thought, "paid", "b" * 64, calls or (SAID,), found)
    )


def coded() -> Bench:
    """An experiment whose thoughts a judge and a person coded when it was finished."""
    bench = Bench(SMALL).finish(0).finish(1)
    bench.when(commands.StartJudge(judge=JUDGE, turns="sample", budget=JudgeBudget(calls=10)))
    bench.when(judgement(bench))
    bench.when(commands.EndJudge(number=1, outcome="done"))
    row = SheetRow(key="0123456789abcdef", survival=True, social=None, note="unclear")
    return bench.when(commands.TakeSheet(coder="kim", rows=(row,)))


def every_event() -> list[Event]:
    grown = Bench(ADAPTIVE | {"budget": {"calls": 10, "per_run": {"tokens": 9000}}})
    grown.when(commands.ReportRunOpened(run=grown.run(0)))
    grown.when(run_progress(grown.run(0), Spent(turns=3, calls=4, tokens=500, cost="0.1", known="0.1")))
    grown.when(out_of_budget(grown.run(0)))
    more = Budget(calls=90, per_run=Limits(tokens=9000))
    grown.when(commands.Resume(budget=more, reason="grant"))
    grown.when(commands.Stop(reason="lunch")).when(commands.Resume())
    grown.when(commands.ForkRun(run=grown.run(0), version=5, change="model=scripted-wild"))
    grown.finish(0).finish(1).finish(2)
    for intervals in ({"phase1/scripted/ko": ("0.1", "0.4")}, {}):
        grown.when(commands.Look(intervals=intervals, effect_id=look_effect(grown.state)))
        for place in range(3, len(grown.state.runs)):
            grown.finish(place)
    while not grown.state.over:
        grown.when(commands.Look(effect_id=look_effect(grown.state)))
        for place in range(3, len(grown.state.runs)):
            grown.finish(place)
    mixed = {"models": ["scripted-steady", "scripted-trader", "paid"], "hypotheses": [{"test": "H2", "claim": "level"}]}
    phases = {"phase2": {"runs": 3, "turns": 8, "sets": ["A", "B", "C"]}}
    aborted = Bench(SMALL | mixed | {"phases": phases}).when(EndGame(reason="wrong model"))
    seen = Bench(COMPARED)
    for place, acts in enumerate(({"trade": 30, "idle": 4}, {"speak": 30, "build_billboard": 2})):
        spent = Spent(turns=34, calls=34)
        seen.when(run_progress(seen.run(place), spent, acts=acts))
    seen.see()
    batched = Bench(BATCHED).when(
        commands.SubmitBatch(submitted=BatchSubmitted(batch="batch_1", model="paid", calls=12))
    )
    batched.when(commands.EndBatch(batch="batch_1", done=11))
    return [event for each in (aborted, grown, seen, coded(), batched) for event, _, _ in each.log]


class TestBatches:
    def test_are_looked_after_while_runs_go_on_and_the_plan_asks_for_them(self) -> None:
        assert "batches" not in Bench(SMALL).effects()
        assert "batches" not in Bench(SMALL | {"batch": {"judge": True}}).effects()
        assert "batches" in Bench(BATCHED).effects()
        assert "batches" not in Bench(BATCHED).when(commands.Stop()).effects()
        assert "batches" not in Bench(BATCHED).finish(0).finish(1).effects()

    def test_are_looked_after_while_a_judge_is_to_be_asked_in_them(self) -> None:
        bench = Bench(SMALL | {"batch": {"judge": True}}).finish(0).finish(1)
        start = commands.StartJudge(judge=JUDGE, turns="all")
        assert "batches" in bench.when(start).effects()
        assert "batches" not in bench.when(commands.EndJudge(number=1, outcome="done")).effects()

    def test_one_is_open_from_its_submission_to_its_end(self) -> None:
        submit = commands.SubmitBatch(submitted=BatchSubmitted(batch="batch_1", model="paid", calls=3))
        bench = Bench(BATCHED).when(submit)
        bench.then(events.BatchSubmitted(batch="batch_1", model="paid", calls=3))
        assert bench.state.batches == (submit.submitted,)
        bench.when(submit).then()
        bench.when(commands.EndBatch(batch="batch_1", done=2)).then(
            events.BatchEnded(batch="batch_1", done=2, failed=1)
        )
        assert not bench.state.batches
        bench.when(commands.EndBatch(batch="batch_1", done=2)).then()


class TestStoredEvents:
    """Every stored type and version has a sample that must read for ever. A sample is never changed, only added to."""

    @pytest.fixture
    def samples(self) -> dict[tuple[str, int], bytes]:
        return {(kind, version): sample for kind, version, sample in golden.samples("experiment")}

    def test_every_type_has_a_sample_that_reads_and_writes_back(self, samples: dict[tuple[str, int], bytes]) -> None:
        assert samples.keys() == RULES.events.keys()
        for (kind, version), sample in samples.items():
            assert canonical_json(read_event(RULES, kind, version, sample)) == sample

    def test_what_is_stored_today_has_its_fields(self, samples: dict[tuple[str, int], bytes]) -> None:
        stored = {key: msgspec.json.decode(sample).keys() for key, sample in samples.items()}
        known = every_event()
        assert {(event.type, event.schema_version) for event in known} == stored.keys()
        for event in known:
            assert msgspec.to_builtins(event).keys() == stored[event.type, event.schema_version]

    def test_nothing_stored_holds_a_float(self) -> None:
        def check(value: Any) -> None:
            assert not isinstance(value, float)
            for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
                check(inner)

        bench = Bench(SMALL | {"sampling": {"temperature": 0.35}, "phases": {"stage1": {"rules": {"leak": 0.2}}}})
        for data in [canonical_json(event) for event in every_event()] + [
            canonical_json(event) for event, _, _ in bench.log
        ]:
            check(json.loads(data))


@pytest.mark.parametrize("name", reading.presets())
def test_every_plan_that_comes_with_the_software_can_be_locked(name: str) -> None:
    named = Catalogue({"small": ModelEntry(alias="small", base_url="http://127.0.0.1/v1", model="small-1")})
    bench = Bench(reading.preset(name), catalogue=named)
    assert len(bench.effects()) == len(bench.state.runs)
    for effect in RULES.effects(bench.state)[:5]:
        assert registered_spec(bench.state, effect.payload).run == effect.payload
