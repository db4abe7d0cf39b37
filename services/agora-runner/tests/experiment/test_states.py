"""Every command in every state of an experiment: it stores something, changes nothing, or is refused with a code."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest
from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.effects import look_effect
from playmolt_core.game.decider import Accepted, Command, EndGame
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.agora import experiment as events
from playmolt_schemas.stored.agora.experiment import BatchSubmitted, JudgeBudget, RunFinished, SheetRow
from playmolt_schemas.stored.agora.plan import Budget, Spent

from core.tests.scenario import like
from tests.agora_locks import opened

from .test_experiment import BATCHED, CATALOGUE, ID, JUDGE, SMALL, Bench, judgement, out_of_budget, run_progress

PLAN: Final[dict[str, Any]] = BATCHED | {"budget": {"calls": 10}}
START: Final = commands.StartJudge(judge=JUDGE, turns="all", budget=JudgeBudget(calls=9))
SUBMIT: Final = commands.SubmitBatch(submitted=BatchSubmitted(batch="batch_1", model="paid", calls=3))
SPENT: Final = Spent(turns=3, calls=4, tokens=50, cost="0.1", known="0.1")


GROWING: Final[dict[str, Any]] = PLAN | {"adaptive": {"measure": "p:trade", "width": "0.1", "max_runs": 3}}
OPENED: Final = {
    name: opened(ID, plan, CATALOGUE) for name, plan in (("plan", PLAN), ("growing", GROWING), ("other", SMALL))
}


def running(plan: str = "plan") -> Bench:
    bench = Bench().when(OPENED[plan])
    return bench.when(commands.ReportRunOpened(run=bench.run(0)))


def finished(plan: str = "plan") -> Bench:
    return running(plan).finish(0).finish(1)


OVER: Final = commands.EndBatch(batch="batch_1", done=1, spent=Spent(calls=1, cost="0.1", known="0.1"))
STATES: Final[dict[str, Callable[[], Bench]]] = {
    "draft": Bench,
    "locked": lambda: Bench().when(OPENED["plan"]),
    "running": running,
    "looking": lambda: finished("growing"),
    "stopped": lambda: running().when(commands.Stop()),
    "short": lambda: running().when(out_of_budget(running().run(0))),
    "batch": lambda: running().when(SUBMIT),
    "judging": lambda: running().when(START),
    "finished": finished,
    "coding": lambda: finished().when(START),
    "ending": lambda: running().when(START).when(SUBMIT).when(EndGame(reason="enough")),
    "ended": lambda: STATES["ending"]().when(OVER).when(commands.CloseBatches()),
}
COMMANDS: Final[dict[str, Callable[[Bench], Command]]] = {
    "open": lambda _: OPENED["plan"],
    "open another": lambda _: OPENED["other"],
    "run opened": lambda bench: commands.ReportRunOpened(run=_run(bench, 1)),
    "run progress": lambda bench: run_progress(_run(bench, 0), SPENT),
    "run finished": lambda bench: commands.ReportRun(
        report=RunFinished(run=_run(bench, 0), spent=SPENT, outcome="completed", version=9, hash="a" * 64, models={})
    ),
    "run aborted": lambda bench: commands.ReportRunWithoutResult(run=_run(bench, 0), outcome="aborted"),
    "run unknown": lambda _: commands.ReportRunOpened(run="agora-0"),
    "budget reached": lambda bench: out_of_budget(_run(bench, 0)),
    "stop": lambda _: commands.Stop(),
    "resume": lambda _: commands.Resume(),
    "raise budget": lambda _: commands.Resume(budget=Budget(calls=20)),
    "lower budget": lambda _: commands.Resume(budget=Budget(calls=1)),
    "compare": lambda bench: commands.Compare(
        pins=msgspec.structs.replace(bench.state.pins, stimuli="other"), models=()
    ),
    "look": lambda bench: commands.Look(effect_id=look_effect(bench.state)),
    "see PCS": lambda _: commands.SeePcs(turns=0),
    "fork": lambda bench: commands.ForkRun(run=_run(bench, 0), version=5, change="model=paid", catalogue=CATALOGUE),
    "judge": lambda _: START,
    "stop judge": lambda _: commands.StopJudge(judge="paid"),
    "judgement": lambda _: judgement(running()),
    "judge done": lambda _: commands.EndJudge(number=1, outcome="done"),
    "sheet": lambda _: commands.TakeSheet(coder="kim", rows=(SheetRow(key="0" * 16, survival=True),)),
    "batch out": lambda _: commands.SubmitBatch(submitted=BatchSubmitted(batch="batch_2", model="paid", calls=3)),
    "batch over": lambda _: commands.EndBatch(batch="batch_1", done=3),
    "batch counted": lambda _: OVER,
    "batches closed": lambda _: commands.CloseBatches(),
    "end": lambda _: EndGame(reason="enough"),
}
_SIGNS: Final = {
    Code.NOT_FOUND: "?", Code.ALREADY_STARTED: "!", Code.NOT_STARTED: "<", Code.INVALID_REQUEST: "x",
    Code.GAME_OVER: "#",
}  # fmt: skip
TABLE: Final = """\
                draft locked running looking stopped short batch judging finished coding ending ended
open            +     .      .       !       .       .     .     .       .        .      .      .
open another    +     !      !       !       !       !     !     !       !        !      !      !
run opened      ?     +      +       .       +       +     +     +       .        .      .      .
run progress    ?     +      +       .       +       +     +     +       .        .      .      .
run finished    ?     +      +       .       +       +     +     +       .        .      .      .
run aborted     ?     +      +       .       +       +     +     +       .        .      .      .
run unknown     ?     ?      ?       ?       ?       ?     ?     ?       ?        ?      ?      ?
budget reached  ?     +      +       +       .       .     +     +       .        .      .      .
stop            ?     +      +       +       .       +     +     +       #        #      #      #
resume          ?     +      +       +       +       +     +     +       #        #      #      #
raise budget    ?     +      +       +       +       +     +     +       #        #      #      #
lower budget    ?     x      x       x       x       x     x     x       #        #      #      #
compare         ?     +      +       +       +       +     +     +       .        .      .      .
look            ?     .      .       +       .       .     .     .       .        .      .      .
see PCS         ?     x      x       x       x       x     x     x       x        x      x      x
fork            ?     <      +       +       +       +     +     +       +        +      #      #
judge           ?     +      +       +       +       +     +     .       +        .      #      #
stop judge      ?     x      x       x       x       x     x     +       x        +      #      #
judgement       ?     x      x       x       x       x     x     +       x        +      +      #
judge done      ?     .      .       .       .       .     .     +       .        +      .      .
sheet           ?     +      +       +       +       +     +     +       +        +      #      #
batch out       ?     +      +       +       +       +     +     +       +        +      +      .
batch over      ?     .      .       .       .       .     +     .       .        .      .      .
batch counted   ?     .      .       .       .       .     +     .       .        .      +      .
batches closed  ?     .      .       .       .       .     .     .       .        .      .      .
end             ?     +      +       +       +       +     +     +       #        #      #      #
"""
"""`+` stores something, `.` changes nothing. Refused: `?` not found, `!` already started, `<` not started, `x` invalid,
`#` over."""


def _run(bench: Bench, place: int) -> str:
    return bench.run(place) if bench.state.runs else "agora-0"


def _sign(bench: Bench, command: Command) -> str:
    decision = bench.when(command).decision
    if isinstance(decision, Accepted):
        return "+" if decision.events else "."
    assert decision.detail.endswith((".", "…"))
    return _SIGNS[decision.code]


@pytest.mark.parametrize("row", TABLE.splitlines()[1:], ids=lambda row: row[:16].strip())
def test_every_command_in_every_state(row: str) -> None:
    command = COMMANDS[row[:16].strip()]
    made = [state() for state in STATES.values()]
    assert [_sign(bench, command(bench)) for bench in made] == row[16:].split()


def test_the_table_has_every_state_and_command() -> None:
    head, *rows = TABLE.splitlines()
    assert (head.split(), [row[:16].strip() for row in rows]) == ([*STATES], [*COMMANDS])


def test_an_end_stops_the_judges_first() -> None:
    bench = running().when(START).when(EndGame(reason="enough"))
    bench.then(like(events.JudgingEnded, judge="paid", outcome="stopped"), like(events.Stopped, ends=True))
    assert bench.effects() == ["batches"]
    bench.when(commands.CloseBatches()).then(like(events.ExperimentAborted, reason="enough"))
    assert bench.effects() == []
    assert not bench.state.judging


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_stored_after_an_end(name: str) -> None:
    """The record of an end closes its stream: one after it would break the verification of the log."""
    bench = STATES["ended"]()
    assert bench.log[-1][0].closes
    decision = bench.when(COMMANDS[name](bench)).decision
    assert not decision.events


@pytest.mark.parametrize(
    ("state", "polled"), [("stopped", True), ("short", True), ("finished", True), ("ending", True), ("ended", False)]
)
def test_a_batch_that_is_out_is_polled_until_it_is_over(state: str, polled: bool) -> None:
    bench = STATES[state]().when(SUBMIT)
    assert ("batches" in bench.effects()) is polled
    assert "batches" not in bench.when(OVER).when(commands.CloseBatches()).effects()


def test_a_fork_cannot_begin_after_the_end_of_its_parent() -> None:
    bench = finished()
    fork = commands.ForkRun(run=bench.run(0), version=90, change="model=paid", catalogue=CATALOGUE)
    bench.when(fork).then(like(events.Forked))
    bench.when(msgspec.structs.replace(fork, version=91)).refused(Code.INVALID_REQUEST, "at")
    refused = running().when(commands.ReportRunWithoutResult(run=bench.run(1), outcome="refused"))
    refused.when(commands.ForkRun(run=bench.run(1), version=1, change="model=paid", catalogue=CATALOGUE))
    refused.refused(Code.INVALID_REQUEST, "at")
