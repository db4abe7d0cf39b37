"""How `agora run` begins: with a fresh experiment, or with the one that this plan has open_experiment before."""

from typing import Any

from playmolt.errors import Refused
from playmolt_schemas.agora.plan import INTERRUPTED, ExperimentState, Plan
from playmolt_schemas.codes import Code

from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.plan import SelectedPlan, told
from playmolt_cli.terminal.failures import Failure


def open_experiment(client: ExperimentsClient, selected: SelectedPlan) -> ExperimentState:
    """Lock a plan, or find the experiment that was locked with it. Raises Failure for a plan that is refused."""
    try:
        return client.open(_with_files(client, selected), selected.key)
    except Refused as refusal:
        if refusal.code == Code.INVALID_REQUEST.wire and refusal.errors:
            raise Failure(f"{selected.name} was refused\n{told(refusal.errors)}") from refusal
        if refusal.code != Code.IDEMPOTENCY_MISMATCH.wire:
            raise
    found = _found(client, selected)
    if found is None:
        raise Failure(f"{selected.name} was locked before, but no experiment with it is there: give it another name")
    return found


def _with_files(client: ExperimentsClient, selected: SelectedPlan) -> Any:
    """The plan's body, once the platform has the files of its folder."""
    if not selected.files:
        return selected.body
    named = {path: client.put_file(text) for path, text in selected.files.items()}
    return {"plan": selected.body, "files": named}


def _found(client: ExperimentsClient, selected: SelectedPlan) -> ExperimentState | None:
    """Look for the newest experiment with this plan, however it was written and whatever its budget."""
    from playmolt_agora.plan import plan as plans  # noqa: PLC0415 -- seldom needed
    from playmolt_agora.plan import reading  # noqa: PLC0415 -- seldom needed

    for line in client.experiments().experiments:
        if line.name != selected.plan.name:
            continue
        state = client.experiment(line.experiment)
        plan = reading.read(state.plan)
        if isinstance(plan, Plan) and plans.identity(plan, state.folder) == selected.identity:
            return state
    return None


def resume_experiment(
    client: ExperimentsClient, selected: SelectedPlan | None, state: ExperimentState, *, resume: bool
) -> ExperimentState:
    """Let an experiment go on where that is meant: after Ctrl-C, with a raised budget, or because it is said.

    Whoever stopped it otherwise has had a reason. Raises Failure for a budget that is not a raised one.
    """
    if state.status in ("finished", "aborted"):
        return state
    if selected is not None and selected.plan.budget != state.budget:
        try:
            return client.resume(state.experiment, selected.plan.budget, f"raised in {selected.name}")
        except Refused as refusal:
            raise Failure(f"{selected.name}: {refusal.detail}") from refusal
    by_us = state.status == "stopped" and state.reason == INTERRUPTED
    return client.resume(state.experiment) if state.status != "running" and (by_us or resume) else state
