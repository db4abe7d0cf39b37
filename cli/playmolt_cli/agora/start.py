"""Starts `agora run`: opens a new experiment, or finds the one already opened with the plan."""

from collections.abc import Iterator
from pathlib import Path

from playmolt.errors import Refused
from playmolt_schemas.agora.plan import INTERRUPTED, ExperimentState
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.agora.plan import FolderFile, Plan

from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.plan import SelectedPlan, fault_lines
from playmolt_cli.terminal.failures import Failure


def open_experiment(client: ExperimentsClient, selected: SelectedPlan) -> ExperimentState:
    """Lock a plan, or find its existing experiment. Raises Failure if the plan is refused."""
    try:
        return client.open(_with_files(client, selected), selected.key)
    except Refused as refusal:
        if refusal.code == Code.INVALID_REQUEST.wire and refusal.errors:
            faults = fault_lines(refusal.errors, Path(selected.name).name)
            raise Failure(f"{selected.name} was refused\n{faults}") from refusal
        if refusal.code != Code.IDEMPOTENCY_MISMATCH.wire:
            raise
    found = _found(client, selected)
    if found is None:
        raise Failure(f"{selected.name} was already locked, but its experiment is missing. Give the plan another name.")
    return found


def _with_files(client: ExperimentsClient, selected: SelectedPlan) -> object:
    """The plan's body; uploads the files of its folder first."""
    if not selected.files:
        return selected.body
    named = {path: client.put_file(text) for path, text in selected.files.items()}
    return {"plan": selected.body, "files": named}


def _found(client: ExperimentsClient, selected: SelectedPlan) -> ExperimentState | None:
    """The newest experiment with this plan, ignoring formatting and budget."""
    from playmolt_agora_runner.plan import plan as plans  # noqa: PLC0415 -- rarely needed
    from playmolt_agora_runner.plan import reading  # noqa: PLC0415 -- rarely needed

    for line in client.experiments().experiments:
        if line.name != selected.plan.name:
            continue
        state = client.experiment(line.experiment)
        plan = reading.read(state.plan)
        if isinstance(plan, Plan) and plans.identity(plan, state.folder) == selected.identity:
            return state
    return None


def unfinished_versions(client: ExperimentsClient, state: ExperimentState) -> Iterator[str]:
    """Unfinished experiments of the same name whose plan or folder differs, in words: a file may have been edited."""
    for row in client.experiments().experiments:
        if row.name != state.name or row.experiment == state.experiment or row.status in ("finished", "aborted"):
            continue
        other = client.experiment(row.experiment)
        changed = ["the plan"] if other.plan_hash != state.plan_hash else []
        here, there = ({(file.path, file.sha256) for file in files} for files in (_files(state), _files(other)))
        changed += sorted({path for path, _ in here ^ there})
        yield (
            f"{other.experiment} of the same name is {other.status} with {other.spent.turns} turns taken and is not "
            f"continued: {', '.join(changed)} differs. Restore what it was locked with to continue it."
        )


def _files(state: ExperimentState) -> tuple[FolderFile, ...]:
    return state.folder.files if state.folder else ()


def resume_experiment(
    client: ExperimentsClient, selected: SelectedPlan | None, state: ExperimentState, *, resume: bool
) -> ExperimentState:
    """Resume an experiment after Ctrl-C, with a raised budget, or with `resume`.

    An experiment stopped by its operator stays stopped. Raises Failure if the new budget is not higher.
    """
    if state.status in ("finished", "aborted"):
        return state
    if selected is not None and selected.plan.budget != state.budget:
        try:
            return client.resume(state.experiment, selected.plan.budget, f"raised in {selected.name}")
        except Refused as refusal:
            raise Failure(f"{selected.name}: {refusal.detail}") from refusal
    by_us = state.status == "stopped" and state.reason == INTERRUPTED
    # Runs of a running experiment may wait for this, too: their model gave no valid turn.
    return client.resume(state.experiment) if by_us or resume else state
