"""Runs a model judge over the thoughts of an experiment."""

import time
from typing import Final

from playmolt.errors import Refused
from playmolt_schemas.agora.coding import Codings, JudgeRequest, JudgeRow
from rich.console import Console

from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.terminal.failures import pause
from playmolt_cli.terminal.narration import printable

_POLL_SECONDS: Final = 0.3
_LINE_SECONDS: Final = 5.0


def run_judge(
    client: ExperimentsClient, experiment: str, request: JudgeRequest, console: Console, poll: float = _POLL_SECONDS
) -> JudgeRow:
    """Start or resume the judge and wait until it stops; returns its state.

    Ctrl-C also stops the judge, so that it spends no more money; then raises KeyboardInterrupt.
    """
    judge = _of(client.judge(experiment, request), request.model)
    try:
        return _followed(client, experiment, judge, console, poll)
    except KeyboardInterrupt:
        console.print("stopping: calls in flight finish, no new ones start")
        client.reconnect()
        try:
            client.stop_judge(experiment, request.model)
        except Refused as refusal:
            console.print(printable(refusal.detail))
        raise


def summary(experiment: str, judge: JudgeRow) -> dict[str, object]:
    """The JSON output of the command."""
    return {
        "experiment": experiment,
        "judge": judge.judge,
        "coded": judge.coded,
        "failed": judge.failed,
        "calls": judge.spent.calls,
        "known": judge.spent.known,
        "unknown_calls": judge.spent.unknown_calls,
    }


def status_text(judge: JudgeRow) -> str:
    """The state of a judge in one line."""
    why = f": {judge.detail}" if judge.detail else ""
    failed = f", {judge.failed:,} without labels" if judge.failed else ""
    return printable(
        f"{judge.judge} {judge.status}{why}; {judge.coded:,} coded{failed}, {judge.spent.calls:,} calls, "
        f"cost {judge.spent.cost_text}"
    )


def _followed(client: ExperimentsClient, experiment: str, judge: JudgeRow, console: Console, poll: float) -> JudgeRow:
    printed = time.monotonic()
    while judge.status == "running":
        pause(poll)
        judge = _of(client.codings(experiment), judge.judge)
        if time.monotonic() - printed > _LINE_SECONDS:
            console.print(status_text(judge))
            printed = time.monotonic()
    return judge


def _of(codings: Codings, alias: str) -> JudgeRow:
    return next(each for each in codings.judges if each.judge == alias)
