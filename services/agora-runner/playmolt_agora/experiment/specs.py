"""The specification of each run of an experiment, made anew from its plan and held to the hash registered for it."""

from msgspec.structs import replace
from playmolt_schemas.agora.plan import Plan
from playmolt_schemas.agora.turn import RunSpec
from playmolt_schemas.canonical import digest

from playmolt_agora.experiment.state import Run, State
from playmolt_agora.plan import matrix
from playmolt_agora.run import branch


def registered_spec(state: State, identifier: str) -> RunSpec:
    """A run's specification; LookupError when the experiment has no such run.

    Raises ValueError when it is no longer what was hashed: this software then is another than the one that registered.
    """
    run = state.run(identifier)
    if run is None or state.plan is None:
        raise LookupError(f"{identifier} is no run of {state.game_id}")
    made = spec_of(state, state.plan, run)
    if digest(made) != run.spec:
        raise ValueError(f"{identifier}: its specification is not the one that was locked; run it with that version")
    return made


def spec_of(state: State, plan: Plan, run: Run) -> RunSpec:
    if run.parent is not None:
        parent = state.run(run.parent.run)
        if parent is None:
            raise LookupError(f"{run.run} branches off a run that is not there")
        return branch.forked(spec_of(state, plan, parent), run.run, run.parent.version, run.parent.change)
    made = matrix.spec(plan, state.game_id, matrix.cell_of(plan, run.cell, state.rooms), run.number)
    if digest(made) == run.spec:
        return made
    return replace(made, seed=matrix.seed_of_cell(plan, run.cell, run.number))
