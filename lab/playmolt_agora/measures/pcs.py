"""Phantom Cost Sensitivity: how far acting changes when costs are shown but not taken (`measures.md`, section 3)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import COSTS_REAL, EARLY_EPOCHS
from playmolt_schemas.instrument.laboratory import CellInterval
from playmolt_schemas.stored.agora.plan import AdaptiveMeasure
from playmolt_schemas.stored.agora.turn import ACTIONS, TurnRecord

from playmolt_agora.measures.data.frame import counts, frame, names_of
from playmolt_agora.measures.data.results import Result, grouped, number
from playmolt_agora.measures.data.tables import TABLES
from playmolt_agora.measures.divergence import Floats, count_jsd, jsd, jsd_parts, shares, smoothing
from playmolt_agora.measures.inference import attainable_p, resampling
from playmolt_agora.measures.inference.arms import (
    Arm,
    PcsCell,
    TwoArms,
    difference,
    floor_iid,
    floor_runs,
    six_decimals,
)
from playmolt_agora.measures.inference.resampling import Interval
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.repeats import Repeats


def arm(turns: pl.DataFrame) -> Arm:
    names = turns["run"].unique().sort()
    found = counts(turns, turns["run"].rank("dense") - 1, len(names))
    kept = np.flatnonzero(found.sum(axis=1))
    return Arm(tuple(names[kept]), found[kept].astype(np.float64))


def imported_arms(rows: Iterable[Mapping[str, Any]], k: int) -> dict[tuple[str, str], Arm]:
    """Read Stage 1 counts from elsewhere: run, model, language, action and count by row."""
    cells = grouped(rows, lambda row: (row["model"], row["language"]))
    return {cell: _imported_arm(own, k) for cell, own in cells.items()}


def _imported_arm(rows: Sequence[Mapping[str, Any]], k: int) -> Arm:
    runs = sorted({row["run"] for row in rows if int(row["count"])})
    found = np.zeros((len(runs), k))
    for row in rows:
        if row["run"] in runs:
            found[runs.index(row["run"]), ACTIONS.index(row["action"])] += int(row["count"])
    return Arm(tuple(runs), found)


def by_cell(turns: pl.DataFrame, phase: str) -> dict[tuple[str, str], Arm]:
    """(model, language) → the runs of a phase."""
    groups = turns.filter(phase=phase).partition_by("model", "language", as_dict=True)
    return {(model, language): replace(arm(group), turns=group) for (model, language), group in groups.items()}


def cells(turns: pl.DataFrame, imported: Sequence[Mapping[str, object]] = ()) -> list[PcsCell]:
    """The cells of Stage 1 and Phase 1 in the order of model and language; imported counts replace Stage 1."""
    k = len(names_of(turns, "action"))
    stage1 = imported_arms(imported, k) if imported else by_cell(turns, "stage1")
    phase1, none = by_cell(turns, "phase1"), Arm((), np.zeros((0, k)))
    keys = sorted(stage1.keys() | phase1.keys())
    return [PcsCell(stage1.get(key, none), phase1.get(key, none), *key) for key in keys]


def tested(all_cells: Iterable[PcsCell]) -> tuple[str, ...]:
    """The models that a test of PCS was planned for: those with both arms in some language."""
    return tuple(sorted({cell.model for cell in all_cells if cell.first.planned and cell.second.planned}))


def row(cell: PcsCell, seed: str) -> Result:
    """A cell's row of the table `pcs`."""
    one, two = cell.first, cell.second
    known = {
        "model": cell.model,
        "language": cell.language,
        "n_stage1": one.n,
        "n_phase1": two.n,
        "runs_stage1": len(one.runs),
        "runs_phase1": len(two.runs),
        "floor_stage1": floor_runs(one, cell.alpha),
        "floor_phase1": floor_runs(two, cell.alpha),
        **_companions(one.turns, two.turns),
        **({} if cell.empty else _uncertainty(cell, seed)),
    }
    return Result(dict.fromkeys(TABLES["pcs"]) | known, runs=cell.runs, n=cell.n, unit="run", alpha=cell.alpha)


def _uncertainty(cell: PcsCell, seed: str) -> dict[str, object]:
    """What only a cell with turns in both arms has."""
    one, two, span = cell.first, cell.second, cell.interval()
    left_out = [value for _, _, value in cell.named_left_out()]
    tested, floor = cell.test(stream(seed, "pcs_perm", cell.model, cell.language))
    parts = jsd_parts(*(shares(each.pooled, cell.alpha) for each in (one, two)))
    return {
        "alpha": cell.alpha,
        "pcs": cell.divergence,
        "distance": (cell.divergence or 0.0) ** 0.5,
        **span.named("ci"),
        "indicative": span.indicative,
        "loro_min": min(left_out, default=None),
        "loro_max": max(left_out, default=None),
        "p_perm": tested.p,
        "p_min": float(attainable_p.relabelled([(len(one.runs), len(two.runs))])[1]),
        "labelings": tested.labelings,
        "floor_iid": floor_iid(one.n, two.n),
        "floor_null": floor,
        **{f"contrib_{action}": float(part) for action, part in zip(ACTIONS, parts, strict=True)},
    }


def _companions(stage1: pl.DataFrame | None, phase1: pl.DataFrame | None) -> dict[str, float | None]:
    """None of them where counts were imported."""
    if stage1 is None or phase1 is None:
        return {}
    first, second = _by_place(stage1), _by_place(phase1)
    inside, coverage = within(first, second)
    return {
        "pcs_agent": number(jsd(_mean_agent(stage1), _mean_agent(phase1))),
        "pcs_early": early(stage1, phase1),
        "pcs_within": inside,
        "pcs_within_coverage": coverage,
        "pcs_place": number(jsd(*(shares(each.sum(axis=1), 0.0) for each in (first, second)))),
    }


def _mean_agent(turns: pl.DataFrame) -> Floats:
    """The unweighted mean of the agents' own distributions."""
    own = shares(counts(turns, turns["seat"].rle_id(), turns["seat"].n_unique()), 0.0)
    defined = own[~np.isnan(own).any(axis=1)]
    return defined.mean(axis=0) if len(defined) else np.full(own.shape[1], np.nan)


def early(stage1: pl.DataFrame, phase1: pl.DataFrame) -> float | None:
    """Divergence over epochs 1 to 10, when no agent that uses only the six actions can have died."""
    return TwoArms(*(arm(each.filter(pl.col("turn") <= EARLY_EPOCHS)) for each in (stage1, phase1))).divergence


def _by_place(turns: pl.DataFrame) -> Floats:
    return counts(turns, turns["place"].to_physical(), len(names_of(turns, "place"))).astype(np.float64)


def within(stage1: object, phase1: object) -> tuple[float | None, float | None]:
    """The mean divergence within places, weighted by their shares, and the weight that places of both arms have.

    Takes counts (places, K), at least one turn an arm.
    """
    first, second = np.asarray(stage1, dtype=np.float64), np.asarray(phase1, dtype=np.float64)
    n, m = first.sum(axis=1), second.sum(axis=1)
    if min(n.sum(), m.sum()) == 0:
        return None, None
    weights = (n / n.sum() + m / m.sum()) / 2
    shared = np.flatnonzero((n > 0) & (m > 0))
    coverage = float(weights[shared].sum())
    if coverage == 0:
        return None, 0.0
    parts = [weights[at] * count_jsd(first[at], second[at], smoothing(n[at], m[at])) for at in shared]
    return float(sum(parts) / coverage), coverage


def left_out_rows(all_cells: Sequence[PcsCell]) -> list[Result]:
    """The divergence of every cell without each of its runs: the table `pcs_left_out`."""
    return [
        Result(
            {"model": cell.model, "language": cell.language, "arm": name, "run": run, "pcs": value},
            runs=tuple(each for each in cell.runs if each != run),
            n=cell.n,
            unit="run",
            alpha=cell.alpha,
        )
        for cell in all_cells
        if not cell.empty
        for name, run, value in cell.named_left_out()
    ]


def pure(turns: pl.DataFrame) -> list[Result]:
    """Compare the optional arm with real costs with Phase 1: the table `pcs_pure`."""
    real, free = by_cell(turns, COSTS_REAL), by_cell(turns, "phase1")
    return [
        Result(
            {
                "model": model,
                "language": language,
                "n_costs_real": one.n,
                "n_phase1": free[model, language].n,
                "pcs_pure": (both := TwoArms(one, free[model, language])).divergence,
            },
            runs=both.runs,
            n=both.n,
            unit="turn",
            alpha=both.alpha,
        )
        for (model, language), one in real.items()
        if (model, language) in free
    ]


def differences(all_cells: Sequence[PcsCell]) -> list[Result]:
    """Compare models within a language by the difference of their PCS: the table `delta_pcs`, Holm over its pairs."""
    rows: list[Result] = []
    for language in sorted({cell.language for cell in all_cells}):
        full = [cell for cell in all_cells if cell.language == language and not cell.empty]
        pairs = [(one, other, difference(one, other)) for one, other in combinations(full, 2)]
        adjusted = attainable_p.holm([found.p for _, _, found in pairs])
        rows += [
            Result(
                {"model_a": one.model, "model_b": other.model, "language": language, **found._asdict(), "p_holm": p},
                runs=one.runs + other.runs,
                n=one.n + other.n,
                unit="run",
                alpha=max(one.alpha, other.alpha),
            )
            for (one, other, found), p in zip(pairs, adjusted, strict=True)
        ]
    return rows


def intervals(
    records: Iterable[Mapping[str, object] | TurnRecord],
    measure: AdaptiveMeasure,
    seed: str,
    stage1_import: Sequence[Mapping[str, object]] = (),
) -> list[CellInterval]:
    """The 95 % interval of a measure in each cell over the runs so far, as adaptive sampling looks at it.

    `stage1_import` are counts that replace Stage 1 runs, as `analysis.study` takes them.
    """
    turns = frame(records)
    turns = Repeats(turns).once(turns)
    if measure == "pcs":
        found = {(cell.model, cell.language): cell.interval() for cell in cells(turns, stage1_import)}
    else:
        action = measure.partition(":")[2]
        found = {cell: _of_share(arm, action, seed, cell) for cell, arm in by_cell(turns, "phase1").items()}
    return [
        CellInterval(model=model, language=language, low=_decimal(span.low), high=_decimal(span.high))
        for (model, language), span in found.items()
    ]


def _decimal(end: float | None) -> str | None:
    return None if end is None else six_decimals(end)


def _of_share(arm: Arm, action: str, seed: str, cell: tuple[str, str]) -> Interval:
    """The percentile bootstrap of an action's share. One run says nothing of others: it has no interval."""
    if not arm.n or len(arm.runs) < 2:
        return Interval()
    found = resampling.drawn_sums(stream(seed, f"p:{action}", *cell), arm.counts)
    share = found[:, ACTIONS.index(action)] / found.sum(axis=1)
    return resampling.bootstrapped(share, len(arm.runs))
