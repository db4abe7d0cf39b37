"""Effects of an experiment: open runs, take a look, watch open runs, code thoughts."""

from collections.abc import Iterator
from typing import Final

import msgspec
from playmolt_core.game.decider import Effect
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.experiment import Which

from playmolt_agora_runner.experiment.state import Judge, Run, State

OPEN: Final = "open_run"
LOOK: Final = "look"
WATCH: Final = "watch_runs"
JUDGE: Final = "judge"
BATCHES: Final = "batches"


class RunToOpen(msgspec.Struct, frozen=True, gc=False):
    """Payload of `open_run`. The worker computes the specification (`forking.registered_spec`): that is slow."""

    run: str


class ThoughtsToCode(msgspec.Struct, frozen=True, gc=False):
    """Payload of `judge`: what its model is to code, since its start of this number."""

    judge: str
    number: int
    turns: Which


Payload = RunToOpen | ThoughtsToCode | None


def effects(state: State) -> Iterator[Effect[Payload]]:
    """All unopened runs at once; judges also work on finished experiments."""
    if state.status not in ("unlocked", "aborted"):
        yield from (_judging(state, judge) for judge in state.judges if judge.status == "running")
    yield from _of_runs(state)
    if state.since is not None and batches_are_due(state):
        yield Effect(id=digest([BATCHES, state.game_id])[:32], kind=BATCHES, due=state.since, payload=None)


def _judging(state: State, judge: Judge) -> Effect[ThoughtsToCode]:
    alias = judge.judge.alias
    due = ThoughtsToCode(alias, judge.number, judge.turns)
    # Begun otherwise while a question is under way, it waits for that: nothing is asked twice.
    lease = f"{state.game_id}/{JUDGE}/{alias}"
    return Effect(id=judge_effect(state, judge.number), kind=JUDGE, due=judge.since, payload=due, lease=lease)


def _of_runs(state: State) -> Iterator[Effect[Payload]]:
    if state.status != "running" or state.since is None:
        return
    for run in state.runs:
        if run.status == "planned":
            yield Effect(id=open_effect(state, run), kind=OPEN, due=state.since, payload=RunToOpen(run.run))
    if look_is_due(state):
        yield Effect(id=look_effect(state), kind=LOOK, due=state.since, payload=None)
    if state.open:
        yield Effect(id=digest([WATCH, state.game_id])[:32], kind=WATCH, due=state.since, payload=None)


def batches_are_due(state: State) -> bool:
    """Whether calls may wait for batches, or a batch is out: its replies are paid for, also after a stop."""
    return state.status not in ("unlocked", "aborted") and bool(state.batches or state.ends or askers(state))


def askers(state: State) -> frozenset[str]:
    """Who may have calls sent in batches now: judges by their alias, and all runs as ""."""
    going = state.status == "running" and any(run.status != "finished" for run in state.runs)
    playing = [""] if going and state.plays_in_batches else []
    judges = (judge for judge in state.judges if judge.status == "running" and state.asks_in_batches(judge))
    return frozenset((*playing, *(judge.judge.alias for judge in judges)))


def open_effect(state: State, run: Run) -> str:
    """Name the opening of a run: 32 hex digits, the same after a crash."""
    return digest([OPEN, state.game_id, run.run])[:32]


def look_effect(state: State) -> str:
    """Name the look that adaptive sampling waits for: 32 hex digits, another one once more runs have ended."""
    return digest([LOOK, state.game_id, len(ended_of_matrix(state))])[:32]


def judge_effect(state: State, number: int) -> str:
    """Name the work of a judge since a beginning: 32 hex digits, the same after a crash."""
    return digest([JUDGE, state.game_id, number])[:32]


def look_is_due(state: State) -> bool:
    if state.plan is None or state.plan.adaptive is None:
        return False
    of_matrix = [run for run in state.runs if run.parent is None]
    return all(run.status == "finished" for run in of_matrix) and state.looked != len(of_matrix)


def ended_of_matrix(state: State) -> list[Run]:
    """The ended runs that count for the matrix."""
    return [run for run in state.runs if run.status == "finished" and run.parent is None]
