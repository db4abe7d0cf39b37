"""The specification of each run of an experiment, rebuilt from its plan and checked against the registered hash."""

from msgspec.structs import replace
from playmolt_schemas.agora.plan import Plan
from playmolt_schemas.agora.turn import RunSpec
from playmolt_schemas.canonical import digest

from playmolt_agora.experiment.state import Run, State
from playmolt_agora.plan import matrix
from playmolt_agora.run import branch


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
        return branch.forked(spec_of(state, plan, parent), run.run, run.parent.version, run.parent.change)
    made = matrix.spec(plan, state.game_id, matrix.cell_of(plan, run.cell, state.rooms), run.number)
    if digest(made) == run.spec:
        return made
    return replace(made, seed=matrix.seed_of_cell(plan, run.cell, run.number))
