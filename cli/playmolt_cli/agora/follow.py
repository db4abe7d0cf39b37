"""Follows an experiment until it finishes or stops."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from playmolt.errors import Refused
from playmolt_schemas.agora.plan import INTERRUPTED, ExperimentState, RunRow
from rich.console import Console
from rich.live import Live

from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.table import PausedRuns, line, seen_after, table
from playmolt_cli.terminal.failures import pause

_POLL_SECONDS: Final = 0.5
_LINE_SECONDS: Final = 5.0
_STILL_SECONDS: Final = 3.0
"""After this long without a turn, check for paused runs."""
_LOOKS: Final = 20
"""Maximum number of interim looks at PCS; each look is logged permanently."""

ShowState = Callable[[ExperimentState, tuple[RunRow, ...], PausedRuns | None], None]


def follow(
    client: ExperimentsClient, experiment: str, console: Console, *, blind: bool = True, poll: float = _POLL_SECONDS
) -> ExperimentState:
    """Show an experiment until it finishes or stops; returns its final state.

    On a terminal it shows a table, with the interim PCS unless `blind`; elsewhere a line every few seconds.
    """
    if not console.is_terminal:
        return _followed(client, experiment, _lines(console), blind=True, poll=poll)
    with Live(console=console, auto_refresh=False) as live:
        return _followed(
            client, experiment, lambda *seen: live.update(table(*seen), refresh=True), blind=blind, poll=poll
        )


@contextmanager
def stopped_by_ctrl_c(client: ExperimentsClient, experiment: str, console: Console) -> Iterator[None]:
    """Make Ctrl-C also stop the experiment; raises KeyboardInterrupt after the stop is committed."""
    try:
        yield
    except KeyboardInterrupt:
        console.print("stopping: turns in progress finish, no new ones start")
        client.reconnect()
        try:
            client.stop(experiment, INTERRUPTED)
        except Refused as refusal:
            console.print(refusal.detail)
        raise


def _followed(
    client: ExperimentsClient, experiment: str, show: ShowState, *, blind: bool, poll: float
) -> ExperimentState:
    turns, since, looked = -1, time.monotonic(), 0
    while True:
        state, runs = client.experiment(experiment), client.runs(experiment).runs
        looked = max(looked, seen_after(state))
        if not blind and _look_is_due(state, looked):
            state, looked = client.look(experiment), state.spent.turns
        if state.spent.turns != turns:
            turns, since = state.spent.turns, time.monotonic()
        running = state.status == "running"
        still = running and time.monotonic() - since > _STILL_SECONDS
        show(state, runs, _pause(client, runs) if still else None)
        if not running:
            return state
        pause(poll)


def _look_is_due(state: ExperimentState, looked: int) -> bool:
    """Whether enough turns were taken since the last look, which was after `looked` turns."""
    step = max(1, state.progress.turns_planned // _LOOKS)
    return state.status == "running" and bool(state.pcs_cells) and state.spent.turns >= looked + step


def _pause(client: ExperimentsClient, runs: tuple[RunRow, ...]) -> PausedRuns | None:
    paused = client.paused(frozenset(run.run for run in runs if run.status == "open"))
    code, detail = client.why_paused(paused[0]) if paused else ("", "")
    return PausedRuns(len(paused), code, detail) if code else None


def _lines(console: Console) -> ShowState:
    printed, last = "", float("-inf")

    def show(state: ExperimentState, _: tuple[RunRow, ...], pause: PausedRuns | None) -> None:
        nonlocal printed, last
        now, text = time.monotonic(), line(state, pause)
        if text != printed and (now - last >= _LINE_SECONDS or state.status != "running"):
            console.print(text)
            printed, last = text, now

    return show
