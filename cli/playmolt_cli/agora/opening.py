"""How `agora run` begins: with a fresh experiment, or with the one that this plan has opened before."""

from typing import Any

from playmolt.errors import Refused
from playmolt_schemas.agora.plan import INTERRUPTED, ExperimentState, Plan
from playmolt_schemas.codes import Code

from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.plan import Chosen, told
from playmolt_cli.terminal.failures import Failure


def opened(client: ExperimentsClient, chosen: Chosen) -> ExperimentState:
    """Lock a plan, or find the experiment that was locked with it. Raises Failure for a plan that is refused."""
    try:
        return client.open(_with_files(client, chosen), chosen.key)
    except Refused as refusal:
        if refusal.code == Code.INVALID_REQUEST.wire and refusal.errors:
            raise Failure(f"{chosen.name} was refused\n{told(refusal.errors)}") from refusal
        if refusal.code != Code.IDEMPOTENCY_MISMATCH.wire:
            raise
    found = _found(client, chosen)
    if found is None:
        raise Failure(f"{chosen.name} was locked before, but no experiment with it is there: give it another name")
    return found


def _with_files(client: ExperimentsClient, chosen: Chosen) -> Any:
    """The plan's body, once the platform has the files of its folder."""
    if not chosen.files:
        return chosen.body
    named = {path: client.put_file(text) for path, text in chosen.files.items()}
    return {"plan": chosen.body, "files": named}


def _found(client: ExperimentsClient, chosen: Chosen) -> ExperimentState | None:
    """Look for the newest experiment with this plan, however it was written and whatever its budget."""
    from playmolt_agora.plan import plan as plans  # noqa: PLC0415 -- seldom needed
    from playmolt_agora.plan import reading  # noqa: PLC0415 -- seldom needed

    for line in client.experiments().experiments:
        if line.name != chosen.plan.name:
            continue
        state = client.experiment(line.experiment)
        plan = reading.read(state.plan)
        if isinstance(plan, Plan) and plans.identity(plan, state.folder) == chosen.identity:
            return state
    return None


def taken_up(
    client: ExperimentsClient, chosen: Chosen | None, state: ExperimentState, *, resume: bool
) -> ExperimentState:
    """Let an experiment go on where that is meant: after Ctrl-C, with a raised budget, or because it is said.

    Whoever stopped it otherwise has had a reason. Raises Failure for a budget that is not a raised one.
    """
    if state.status in ("finished", "aborted"):
        return state
    if chosen is not None and chosen.plan.budget != state.budget:
        try:
            return client.resume(state.experiment, chosen.plan.budget, f"raised in {chosen.name}")
        except Refused as refusal:
            raise Failure(f"{chosen.name}: {refusal.detail}") from refusal
    by_us = state.status == "stopped" and state.reason == INTERRUPTED
    return client.resume(state.experiment) if state.status != "running" and (by_us or resume) else state
