"""The planned tests of a study, from its confirmatory set: the table `tests` (`measures.md`, sections 3, 5, 7)."""

from collections.abc import Sequence
from typing import get_args

import polars as pl

from playmolt_agora.measures import ritual
from playmolt_agora.measures.data.frame import IN_SETS
from playmolt_agora.measures.data.results import Result, grouped
from playmolt_agora.measures.inference import arms, attainable_p, hypotheses
from playmolt_agora.measures.inference.arms import PcsCell
from playmolt_agora.measures.inference.permutation import Test
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.repeats import Repeats


def rows(
    turns: pl.DataFrame, cells: Sequence[PcsCell], figures: hypotheses.Figures, seed: str,
    models: Sequence[str], repeated: Repeats,
) -> list[Result]:  # fmt: skip
    """A row per test: PCS of each model, the parts of H1 and H2 and the two, RI* by model and persona.

    `models` are those that PCS is tested for: one that left the confirmatory set altogether still counts for Holm.
    Where the runs that a test compares do not differ, and over an arm without a valid turn, p is null.
    """
    found = [*_hypotheses(figures, seed)]
    for group in get_args(ritual.Group):
        test, runs = ritual.test(turns, group, seed)
        found.append(_row(f"ri_star:{group}", test, runs))
    inside = turns.filter(IN_SETS)
    silent = any(inside[arm].n_unique() > inside.filter("valid")[arm].n_unique() for arm in ("model", "persona"))
    if silent or repeated.all_alike(("A", "B")):
        for each in found:
            each.row.update(p=None, p_holm=None, p_error=None)
    return [*_pcs(cells, seed, models, repeated), *found]


def _pcs(cells: Sequence[PcsCell], seed: str, planned: Sequence[str], repeated: Repeats) -> list[Result]:
    models = grouped(cells, lambda cell: cell.model)
    tests = {model: arms.test(group, stream(seed, "pcs_test", model)) for model, group in models.items()}
    for model, group in models.items():
        if all(repeated.alike_cell(cell.model, cell.language) for cell in group if not cell.empty):
            tests[model] = tests[model].without_p()
    adjusted = attainable_p.corrected({f"pcs:{model}": tests.get(model, Test()).p for model in planned})
    found = []
    for model, test in tests.items():
        full = [cell for cell in models[model] if not cell.empty]
        runs, name = tuple(run for cell in full for run in cell.runs), f"pcs:{model}"
        alpha = max((cell.alpha for cell in full), default=None)
        found.append(_row(name, test, runs, p_holm=adjusted.get(name), alpha=alpha))
    return found


def _hypotheses(found: hypotheses.Figures, seed: str) -> list[Result]:
    parts = hypotheses.tests(found.parts, lambda part: stream(seed, part))
    sizes = {part: values.size for part, values in found.parts.items()}
    whole = {name: hypotheses.larger(parts[f"{name}a"].p, parts[f"{name}b"].p) for name in ("H1", "H2")}
    adjusted = attainable_p.corrected(whole)
    # H1 is H1b where that is the larger of the two: then it has its error.
    error = hypotheses.p_error(found, seed)
    errors = {"H1b": error, "H1": error if whole["H1"] is not None and whole["H1"] == parts["H1b"].p else None}
    return [
        *(_row(part, test, found.runs, n=sizes[part], p_error=errors.get(part)) for part, test in parts.items()),
        *(
            _row(name, Test(p=p), found.runs, n=min(sizes[f"{name}a"], sizes[f"{name}b"]), p_holm=adjusted[name],
                 p_error=errors.get(name))
            for name, p in whole.items()
        ),
    ]  # fmt: skip


def _row(
    name: str, test: Test, runs: tuple[str, ...], *,
    n: int | None = None, alpha: float | None = None, p_holm: float | None = None, p_error: float | None = None,
) -> Result:  # fmt: skip
    n = len(runs) if n is None else n
    row = {"test": name, **test._asdict(), "p_holm": p_holm, "n": n, "p_error": p_error}
    return Result(row, runs=runs, n=n, unit="run", alpha=alpha)
