"""PCS while a matrix runs agrees with the analysis, and looks at no run that the analysis leaves out."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_agora.measures.divergence import count_jsd
from playmolt_agora.measures.inference import arms
from playmolt_agora.measures.inference.arms import pcs_so_far
from playmolt_agora_runner.experiment import looks
from playmolt_agora_runner.experiment.state import Run
from playmolt_agora_runner.plan import reading
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.turn import ACTIONS, Parent

PHASES = {"stage1": {"runs": 5}, "phase1": {"runs": 3}}
STAGE1 = ((2, 11, 5, 1, 1, 0), (3, 9, 5, 1, 0, 2), (1, 12, 4, 1, 1, 1), (2, 10, 6, 0, 0, 2), (2, 10, 5, 1, 1, 1))
PHASE1 = ((16, 0, 12, 4, 0, 1), (15, 0, 13, 4, 0, 1), (16, 0, 12, 4, 1, 1))
"""The example by run of measures.md, section 3."""
CELL = "phase1/scripted/ko"
ROWS = st.lists(st.integers(0, 900), min_size=6, max_size=6).filter(any)


def plan(**changes: Any) -> Plan:
    values = {"name": "n", "models": ["scripted"], "languages": ["ko"], "phases": PHASES}
    found = reading.read(json.dumps(values | changes))
    assert isinstance(found, Plan), found
    return found


def played(cell: str, *counts: tuple[int, ...], **changes: Any) -> list[Run]:
    return [
        Run(
            run=f"agora-{cell}-{number}", cell=cell, number=number, turns=600, spec="",
            acts=dict(zip(ACTIONS, row, strict=True)), **changes,
        )
        for number, row in enumerate(counts, 1)
    ]  # fmt: skip


def test_the_example_comes_out_with_its_floors() -> None:
    runs = [*played("stage1/scripted/ko", *STAGE1), *played(CELL, *PHASE1)]
    figure = pcs_so_far(looks.arms(plan(), runs))[CELL]
    assert float(figure.pcs) == pytest.approx(0.3548, abs=5e-5)
    assert float(figure.floor_stage1 or 0) == pytest.approx(0.0226, abs=5e-5)
    assert float(figure.floor_phase1 or 0) == pytest.approx(0.0038, abs=5e-5)
    assert float(figure.floor_iid) == pytest.approx(arms.floor_iid(100, 100), abs=5e-7)
    assert (figure.n_stage1, figure.n_phase1, figure.runs_stage1, figure.runs_phase1) == (100, 100, 5, 3)


def jsd(left: list[int], right: list[int], alpha: float) -> float:
    """The definition of measures.md, section 3, word for word."""
    sides = [[(count + alpha) / (sum(row) + alpha * len(row)) for count in row] for row in (left, right)]
    return sum(
        p * math.log2(2 * p / (p + q)) / 2
        for one, other in (sides, sides[::-1])
        for p, q in zip(one, other, strict=True)
        if p
    )


@given(ROWS, ROWS)
def test_the_divergence_is_that_of_the_definition(left: list[int], right: list[int]) -> None:
    runs = [*played("stage1/scripted/ko", tuple(left)), *played(CELL, tuple(right))]
    alpha = 0.0 if min(sum(left), sum(right)) >= 600 else 0.5
    assert float(pcs_so_far(looks.arms(plan(), runs))[CELL].pcs) == pytest.approx(jsd(left, right, alpha), abs=1e-6)


@given(ROWS, ROWS, st.sampled_from([0.0, 0.5]))
def test_the_divergence_of_the_analysis_is_that_of_the_definition(
    left: list[int], right: list[int], alpha: float
) -> None:
    assert float(count_jsd(np.array(left), np.array(right), alpha)) == pytest.approx(jsd(left, right, alpha), abs=1e-12)


def test_forks_and_other_arms_are_left_out() -> None:
    runs = [*played("stage1/scripted/ko", *STAGE1), *played(CELL, *PHASE1)]
    parent = Parent(run="agora-1", version=3, change="model=scripted-wild")
    more = [*played(CELL, (900, 0, 0, 0, 0, 0), parent=parent), *played("phase1_costs_real/scripted/ko", (9,) * 6)]
    assert pcs_so_far(looks.arms(plan(), [*runs, *more])) == pcs_so_far(looks.arms(plan(), runs))
    assert [looks.enters_pcs(plan(), run) for run in (runs[0], runs[-1], *more)] == [True, True, False, False]


def test_a_cell_has_no_figure_before_both_arms_have_acted() -> None:
    assert pcs_so_far(looks.arms(plan(), played("stage1/scripted/ko", *STAGE1))) == {}
    assert pcs_so_far(looks.arms(plan(), played(CELL, (0,) * 6))) == {}


def test_imported_counts_stand_for_stage1() -> None:
    rows = [{"run": str(number), "model": "scripted", "language": "ko",
             "counts": {action: count for action, count in zip(ACTIONS, row, strict=True) if count}}
            for number, row in enumerate(STAGE1)]  # fmt: skip
    imported = plan(phases={"phase1": {"runs": 3}}, stage1_import={"file": "old.csv", "runs": rows})
    found, whole = (
        pcs_so_far(looks.arms(each, runs))
        for each, runs in (
            (imported, played(CELL, *PHASE1)),
            (plan(), [*played("stage1/scripted/ko", *STAGE1), *played(CELL, *PHASE1)]),
        )
    )
    assert found == whole


def test_pilots_and_plans_without_stage1_have_none() -> None:
    runs = [*played("stage1/scripted/ko", *STAGE1), *played(CELL, *PHASE1)]
    for without in (plan(exploratory=True), plan(phases={"phase1": {"runs": 3}})):
        assert looks.pcs_cells(without) == ()
        assert pcs_so_far(looks.arms(without, runs)) == {}
    assert [cell.name for cell in looks.pcs_cells(plan())] == [CELL]
