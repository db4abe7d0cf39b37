"""Effects of an experiment: open runs, take a look, watch open runs, code thoughts."""

from collections.abc import Iterator
from typing import Final

from playmolt_core.game.decider import Effect
from playmolt_schemas.canonical import digest

from playmolt_agora_runner.experiment.state import Run, State

OPEN: Final = "open_run"
LOOK: Final = "look"
WATCH: Final = "watch_runs"
JUDGE: Final = "judge"
BATCHES: Final = "batches"


Payload = str | None
"""The run to open, whose worker computes the specification (`forking.registered_spec`), or the alias of the judge."""


def effects(state: State) -> Iterator[Effect[Payload]]:
    """All unopened runs at once; judges also work on finished experiments."""
    since = state.since
    if state.status in ("unlocked", "aborted") or since is None:
        return
    for judge in state.judging:
        # Begun otherwise while a question is under way, it waits for that: nothing is asked twice.
        lease = f"{state.game_id}/{JUDGE}/{judge.judge.alias}"
        identifier = effect_id(state, JUDGE, judge.number)
        yield Effect(id=identifier, kind=JUDGE, due=judge.since, payload=judge.judge.alias, lease=lease)
    if state.status == "running":
        for run in state.runs:
            if run.status == "planned":
                yield Effect(id=effect_id(state, OPEN, run.run), kind=OPEN, due=since, payload=run.run)
        if look_is_due(state):
            yield Effect(id=look_effect(state), kind=LOOK, due=since, payload=None)
        if state.open:
            yield Effect(id=effect_id(state, WATCH), kind=WATCH, due=since, payload=None)
    if batches_are_due(state):
        yield Effect(id=effect_id(state, BATCHES), kind=BATCHES, due=since, payload=None)


def batches_are_due(state: State) -> bool:
    """Whether calls may wait for batches, or a batch is out: its replies are paid for, also after a stop."""
    return state.status not in ("unlocked", "aborted") and bool(state.batches or state.ends or askers(state))


def askers(state: State) -> frozenset[str]:
    """Who may have calls sent in batches now: judges by their alias, and all runs as ""."""
    going = state.status == "running" and any(run.status != "finished" for run in state.runs)
    playing = [""] if going and state.plays_in_batches else []
    return frozenset((*playing, *(judge.judge.alias for judge in state.judging if state.asks_in_batches(judge))))


def effect_id(state: State, kind: str, *of: str | int) -> str:
    """Name an effect: 32 hex digits, the same after a crash. `of` distinguishes those of one kind."""
    return digest([kind, state.game_id, *of])[:32]


def look_effect(state: State) -> str:
    """Name the look that adaptive sampling waits for; it has another name once more runs have ended."""
    return effect_id(state, LOOK, len(ended_of_matrix(state)))


def look_is_due(state: State) -> bool:
    adaptive = state.plan is not None and state.plan.adaptive is not None
    of_matrix = [run for run in state.runs if run.parent is None]
    return adaptive and len(ended_of_matrix(state)) == len(of_matrix) != state.looked


def ended_of_matrix(state: State) -> list[Run]:
    """The ended runs that count for the matrix."""
    return [run for run in state.runs if run.status == "finished" and run.parent is None]
