"""A plan's design as its power is computed from: runs, turns and seats of the arms that tests compare."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.instrument.laboratory import Design, MeasureTrial, Power, Stratum
from playmolt_schemas.stored.agora.plan import Plan

from playmolt_agora_runner.plan import latin_squares, matrix
from playmolt_agora_runner.plan import plan as plans

PowerOf: TypeAlias = Callable[[Design], Power]
"""Computes the power of a design: a process of the laboratory, or its function."""
TrialOf: TypeAlias = Callable[[MeasureTrial], Sequence[PlanFault]]
"""Tries measures, likewise."""


def is_pcs(test: str) -> bool:
    return test.startswith("pcs:")


def design(plan: Plan, tests: Sequence[str]) -> Design:
    """The design of a plan for these of the tests that it could hold."""
    phase = plans.phase_of(plan, "phase2")
    models = [test.partition(":")[2] for test in tests if is_pcs(test)]
    sets = tuple(name for name in plans.sets(plan) if name in plans.WITH_PERSONA)
    numbers = range(1, phase.runs + 1) if phase else ()
    return Design(
        seed=plan.seed,
        exploratory=plan.exploratory,
        tests=tuple(tests),
        hypotheses=plans.hypotheses(plan),
        pcs={model: found for model in models if (found := _strata(plan, model))},
        sets=sets,
        persona_runs=tuple(latin_squares.seats(plan, number, personas=True) for number in numbers) * len(sets),
        turns=phase.turns if phase else 0,
    )


def _strata(plan: Plan, model: str) -> tuple[Stratum, ...]:
    turns = {(cell.arm, cell.language): cell.turns * cell.agents for cell in matrix.cells(plan)}
    found = []
    for language in plans.languages(plan, "phase1"):
        one, two = plans.stage1_runs(plan, model, language), plans.runs_of(plan, "phase1", model, language)
        if one and two:
            phase1 = turns["phase1", language]
            stage1 = turns.get(("stage1", language), phase1)
            found.append(Stratum(language=language, stage1=one, phase1=two, stage1_turns=stage1, phase1_turns=phase1))
    return tuple(found)
