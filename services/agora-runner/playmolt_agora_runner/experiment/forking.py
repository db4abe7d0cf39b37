"""Forks of runs (exploratory, one change), and the specification of each run checked against its registered hash."""

from typing import Final

from playmolt_core.game.decider import Accepted, Decision, Refused
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.agora.experiment import Forked
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.turn import Parent, RunSpec

from playmolt_agora_runner.experiment import commands, preregistration
from playmolt_agora_runner.experiment.state import OPERATOR, Run, State, invalid, no_run
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.plan.plan import known_models
from playmolt_agora_runner.run import forks, opening


def registered_spec(state: State, identifier: str) -> RunSpec:
    """A run's specification; LookupError when the experiment has no such run.

    Raises ValueError if the hash differs: another version of the software registered the plan.
    """
    run = state.run(identifier)
    if run is None or state.plan is None:
        raise LookupError(f"{identifier} is not a run of {state.game_id}")
    made = spec_of(state, state.plan, run)
    if digest(made) != run.spec:
        raise ValueError(
            f"{identifier}: its specification differs from the locked one; use the software version that locked it"
        )
    return made


def spec_of(state: State, plan: Plan, run: Run) -> RunSpec:
    if run.parent is not None:
        parent = state.run(run.parent.run)
        if parent is None:
            raise LookupError(f"{run.run} branches off a run that does not exist")
        return forks.forked(spec_of(state, plan, parent), run.run, run.parent.version, run.parent.change)
    return matrix.spec(plan, state.game_id, matrix.cell_of(plan, run.cell, state.rooms), run.number)


_FORKS: Final = 200


def fork(state: State, command: commands.ForkRun) -> Decision:
    parent = state.run(command.run)
    if parent is None or state.plan is None:
        return no_run(command.run)
    refusal = _no_fork(state, parent, command)
    if refusal:
        return refusal
    number = sum(run.parent is not None for run in state.runs) + 1
    identifier = matrix.run_id(state.game_id, f"fork/{parent.run}/{command.version}/{command.change}", number)
    try:
        spec = forks.forked(spec_of(state, state.plan, parent), identifier, command.version, command.change)
    except forks.InvalidChange as error:
        return invalid("set", str(error))
    known = {*known_models(command.catalogue), *(pinned.alias for pinned in state.models)}
    if unknown := [seat.model for seat in spec.seats if seat.model not in known]:
        return invalid("set", f"{unknown[0][:64]} is not a model of this plan or the catalogue")
    if found := opening.faults(spec):
        return invalid("set", f"{found[0].field} {found[0].message}")
    origin = Parent(run=parent.run, version=command.version, change=command.change)
    return Accepted((Forked(by=OPERATOR, parent=origin, planned=preregistration.planned_run(spec)),))


def _no_fork(state: State, parent: Run, command: commands.ForkRun) -> Refused | None:
    if parent.status == "planned":
        return Refused(Code.NOT_STARTED, "This run has no events yet. Fork it once it is under way.")
    if parent.status == "finished" and command.version > (parent.version or 0):
        return invalid("at", f"is {command.version}, but the run ended with event {parent.version or 0}")
    if sum(run.parent is not None for run in state.runs) >= _FORKS:
        return Refused(Code.INVALID_REQUEST, f"An experiment may have at most {_FORKS} forks. Open another experiment.")
    return None
