"""Phantom Cost Sensitivity: how far acting changes when costs are shown but not taken (`measures.md`, section 3)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np
from playmolt_schemas.instrument.definitions import COSTS_REAL, EARLY_EPOCHS, INDICATIVE_RUNS, INTERVAL_RUNS
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.measures import repeats
from playmolt_agora.measures.data.frame import Frame
from playmolt_agora.measures.data.results import Result, number
from playmolt_agora.measures.data.tables import TABLES
from playmolt_agora.measures.divergence import Floats, count_jsd, jsd, jsd_parts, shares, smoothing
from playmolt_agora.measures.inference import attainable_p, permutation, resampling
from playmolt_agora.measures.inference.resampling import Interval
from playmolt_agora.measures.inference.streams import stream

_LN2: Final = float(np.log(2))


@dataclass(frozen=True)
class Arm:
    """The runs of one arm that have a valid turn, sorted, with their counts (runs, K); turns unless it was imported."""

    runs: tuple[str, ...]
    counts: Floats
    turns: Frame | None = None

    @property
    def n(self) -> int:
        """Valid turns."""
        return int(self.counts.sum())

    @property
    def pooled(self) -> Floats:
        """Counts over all runs."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.float64)


class DeltaPcs(NamedTuple):
    """One model's divergence less another's; no interval and no p below three runs an arm and where no run differs."""

    delta: float
    ci_lo: float | None = None
    ci_hi: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class PcsCell:
    """A model in a language: both arms."""

    model: str
    language: str
    stage1: Arm
    phase1: Arm

    @property
    def empty(self) -> bool:
        """Whether an arm has no valid turn, hence no divergence."""
        return not (self.stage1.n and self.phase1.n)

    @property
    def both(self) -> bool:
        """Whether both arms were played or imported, whatever came of them."""
        return all(arm.runs or arm.turns is not None for arm in (self.stage1, self.phase1))

    @property
    def alpha(self) -> float:
        """α of the cell; it stays the same in every resampling."""
        return smoothing(self.stage1.n, self.phase1.n)

    @cached_property
    def pcs(self) -> float | None:
        return None if self.empty else float(count_jsd(self.stage1.pooled, self.phase1.pooled, self.alpha))

    def left_out(self) -> list[tuple[str, str, float]]:
        """The divergence without each run: arm, run, value; not without an arm's only run."""
        found = resampling.left_out(self.stage1.counts, self.phase1.counts, self._divergence)
        return [
            (name, run, float(value))
            for name, arm, values in zip(("stage1", "phase1"), (self.stage1, self.phase1), found, strict=True)
            for run, value in zip(arm.runs, values, strict=True)
            if len(arm.runs) > 1
        ]

    def interval(self) -> Interval:
        """The 95 % interval of the divergence; none below three runs an arm."""
        found = None if self.pcs is None else self._spread()
        fewest = min(len(self.stage1.runs), len(self.phase1.runs))
        low, high = (None, None) if found is None else found.interval(0.0, 1.0)
        return Interval(low, high, fewest <= INDICATIVE_RUNS)

    def test(self, generator: np.random.Generator) -> tuple[permutation.PermutationTest, float]:
        """The exact permutation test of run labels, and the mean of its distribution: the floor at these very sizes."""
        values, complete = permutation.relabelled(self.stage1.counts, self.phase1.counts, self._divergence, generator)
        p = (permutation.exact_p if complete else permutation.drawn_p)(values, self.pcs or 0.0)
        alike = repeats.all_equal(self.stage1.counts, self.phase1.counts)
        count = comb(len(self.stage1.runs) + len(self.phase1.runs), len(self.stage1.runs))
        return permutation.PermutationTest(None if alike else p, count), float(values.mean())

    def each_left_out(self) -> tuple[Floats, Floats] | None:
        """The divergence without each run of either arm; None below three runs an arm."""
        if min(len(self.stage1.runs), len(self.phase1.runs)) < INTERVAL_RUNS:
            return None
        return resampling.left_out(self.stage1.counts, self.phase1.counts, self._divergence)

    def _spread(self) -> resampling.Spread | None:
        left_out = self.each_left_out()
        return None if left_out is None else resampling.Spread(self.pcs or 0.0, left_out)

    def _divergence(self, first: Floats, second: Floats) -> Floats:
        return np.asarray(count_jsd(first, second, self.alpha))


def arm(turns: Frame) -> Arm:
    names, group = turns.index(lambda seat: seat.run)
    counts = turns.counts(group, len(names))
    kept = np.flatnonzero(counts.sum(axis=1))
    return Arm(tuple(names[at] for at in kept), counts[kept].astype(np.float64), turns)


def counted_arm(rows: Sequence[Sequence[int]] | Floats) -> Arm:
    """An arm known by its counts alone: a row per run, a column per action."""
    return Arm(tuple(map(str, range(len(rows)))), np.array(rows, dtype=np.float64))


def imported_arms(rows: Iterable[Mapping[str, Any]], k: int) -> dict[tuple[str, str], Arm]:
    """Read Stage 1 counts from elsewhere: run, model, language, action and count by row."""
    found: dict[tuple[str, str], dict[str, Floats]] = {}
    for row in rows:
        runs = found.setdefault((row["model"], row["language"]), {})
        runs.setdefault(row["run"], np.zeros(k))[ACTIONS.index(row["action"])] += int(row["count"])
    return {cell: _imported_arm(runs, k) for cell, runs in found.items()}


def cells(turns: Frame, imported: Sequence[Mapping[str, object]] = ()) -> list[PcsCell]:
    """The cells of Stage 1 and Phase 1 in the order of model and language; imported counts replace Stage 1."""
    arms = {name: _by_cell(turns, name) for name in ("stage1", "phase1")}
    if imported:
        arms["stage1"] = imported_arms(imported, turns.k)
    none = Arm((), np.zeros((0, turns.k)))
    keys = sorted(arms["stage1"].keys() | arms["phase1"].keys())
    return [PcsCell(*key, arms["stage1"].get(key, none), arms["phase1"].get(key, none)) for key in keys]


def tested(all_cells: Iterable[PcsCell]) -> tuple[str, ...]:
    """The models that a test of PCS was planned for: those with both arms in some language."""
    return tuple(sorted({cell.model for cell in all_cells if cell.both}))


def row(cell: PcsCell, seed: str) -> Result:
    """A cell's row of the table `pcs`."""
    known = _figures(cell) | ({} if cell.empty else _uncertainty(cell, seed))
    return Result(
        dict.fromkeys(TABLES["pcs"]) | {"model": cell.model, "language": cell.language} | known,
        runs=cell.stage1.runs + cell.phase1.runs,
        n=cell.stage1.n + cell.phase1.n,
        unit="run",
        alpha=cell.alpha,
    )


def left_out_rows(all_cells: Sequence[PcsCell]) -> list[Result]:
    """The divergence of every cell without each of its runs: the table `pcs_left_out`."""
    return [
        Result(
            {"model": cell.model, "language": cell.language, "arm": name, "run": run, "pcs": value},
            runs=tuple(each for each in cell.stage1.runs + cell.phase1.runs if each != run),
            n=cell.stage1.n + cell.phase1.n,
            unit="run",
            alpha=cell.alpha,
        )
        for cell in all_cells
        if not cell.empty
        for name, run, value in cell.left_out()
    ]


def test(model_cells: Sequence[PcsCell], seed: str) -> tuple[float | None, permutation.PermutationTest]:
    """Test a model with its languages as strata; the statistic, given first, is the sum of their PCS under one α."""
    full = [cell for cell in model_cells if not cell.empty]
    if not full:
        return None, permutation.PermutationTest(None, None)
    alpha = max(cell.alpha for cell in full)
    generator = stream(seed, "pcs_test", full[0].model)
    statistic = sum(float(count_jsd(cell.stage1.pooled, cell.phase1.pooled, alpha)) for cell in full)
    strata = [(cell.stage1.counts, cell.phase1.counts) for cell in full]
    tested = permutation.two_arms(strata, lambda p, q: count_jsd(p, q, alpha), generator)
    if repeats.all_equal(*(counts for arms in strata for counts in arms)):
        return statistic, permutation.PermutationTest(None, tested.labelings)
    return statistic, tested


def floor_iid(n: int, m: int, k: int = len(ACTIONS)) -> float:
    """The divergence to expect of two samples of n and m independent turns of one distribution."""
    return (k - 1) * (1 / n + 1 / m) / (8 * _LN2)


def floor_runs(one: Arm, alpha: float) -> float | None:
    """Mean divergence between pairs of runs inside an arm; None below two runs.

    It measures how much single runs differ; it is not a floor for the divergence of pooled arms, which are larger.
    """
    pairs = [count_jsd(one.counts[a], one.counts[b], alpha) for a, b in combinations(range(len(one.runs)), 2)]
    return number(np.mean(pairs)) if pairs else None


def by_agent(stage1: Frame, phase1: Frame) -> float | None:
    """Divergence of the unweighted means of the agents' own distributions."""
    return _between(_mean_agent(stage1), _mean_agent(phase1))


def early(stage1: Frame, phase1: Frame) -> float | None:
    """Divergence over epochs 1 to 10, when no agent that uses only the six actions can have died."""
    first, second = (each.pooled(each.turn <= EARLY_EPOCHS) for each in (stage1, phase1))
    return divergence(first, second)


def divergence(first: Any, second: Any) -> float | None:
    """Divergence of two rows of counts, α by their sizes; None where one is empty."""
    n, m = float(np.sum(first)), float(np.sum(second))
    return None if min(n, m) == 0 else float(count_jsd(first, second, smoothing(n, m)))


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


def pure(turns: Frame) -> list[Result]:
    """Compare the optional arm with real costs with Phase 1: the table `pcs_pure`."""
    real, free = _by_cell(turns, COSTS_REAL), _by_cell(turns, "phase1")
    return [
        Result(
            {
                "model": model,
                "language": language,
                "n_costs_real": one.n,
                "n_phase1": other.n,
                "pcs_pure": divergence(one.pooled, other.pooled),
            },
            runs=one.runs + other.runs,
            n=one.n + other.n,
            unit="turn",
            alpha=smoothing(one.n, other.n),
        )
        for (model, language), one in real.items()
        if (other := free.get((model, language))) is not None
    ]


def differences(all_cells: Sequence[PcsCell]) -> list[Result]:
    """Compare models within a language by the difference of their PCS: the table `delta_pcs`, Holm over its pairs."""
    rows: list[Result] = []
    for language in sorted({cell.language for cell in all_cells}):
        full = [cell for cell in all_cells if cell.language == language and not cell.empty]
        pairs = [_difference(one, other) for one, other in combinations(full, 2)]
        adjusted = attainable_p.holm([each.row["p"] for each in pairs])
        for each, p in zip(pairs, adjusted, strict=True):
            each.row["p_holm"] = p
        rows += pairs
    return rows


def difference(one: PcsCell, other: PcsCell) -> DeltaPcs:
    """What one model's PCS is above another's, with its interval and test; these are None below three runs an arm."""
    value = (one.pcs or 0.0) - (other.pcs or 0.0)
    mine, others = one.each_left_out(), other.each_left_out()
    if mine is None or others is None:
        return DeltaPcs(value)
    a, b = one.pcs or 0.0, other.pcs or 0.0
    spread = resampling.Spread(value, [*(each - b for each in mine), *(a - each for each in others)])
    low, high = spread.interval(-1.0, 1.0)
    return DeltaPcs(value, low, high, spread.p())


def _difference(one: PcsCell, other: PcsCell) -> Result:
    arms = (one.stage1, one.phase1, other.stage1, other.phase1)
    named = {"model_a": one.model, "model_b": other.model, "language": one.language}
    return Result(
        {**named, **difference(one, other)._asdict(), "p_holm": None},
        runs=tuple(run for each in arms for run in each.runs),
        n=sum(each.n for each in arms),
        unit="run",
        alpha=max(one.alpha, other.alpha),
    )


def _imported_arm(runs: Mapping[str, Floats], k: int) -> Arm:
    kept = sorted(run for run, counts in runs.items() if counts.any())
    return Arm(tuple(kept), np.array([runs[run] for run in kept]).reshape(len(kept), k))


def _by_cell(turns: Frame, name: str) -> dict[tuple[str, str], Arm]:
    groups = turns.where(lambda seat: seat.phase == name).groups(lambda seat: (seat.model, seat.language))
    return {key: arm(group) for key, group in groups.items()}


def _figures(cell: PcsCell) -> dict[str, object]:
    one, two = cell.stage1, cell.phase1
    return {
        "n_stage1": one.n,
        "n_phase1": two.n,
        "runs_stage1": len(one.runs),
        "runs_phase1": len(two.runs),
        "floor_stage1": floor_runs(one, cell.alpha),
        "floor_phase1": floor_runs(two, cell.alpha),
        **_companions(one.turns, two.turns),
    }


def _uncertainty(cell: PcsCell, seed: str) -> dict[str, object]:
    """What only a cell with turns in both arms has."""
    one, two, span = cell.stage1, cell.phase1, cell.interval()
    left_out = [value for _, _, value in cell.left_out()]
    tested, floor = cell.test(stream(seed, "pcs_perm", cell.model, cell.language))
    parts = jsd_parts(*(shares(each.pooled, cell.alpha) for each in (one, two)))
    return {
        "alpha": cell.alpha,
        "pcs": cell.pcs,
        "distance": (cell.pcs or 0.0) ** 0.5,
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


def _companions(stage1: Frame | None, phase1: Frame | None) -> dict[str, float | None]:
    """None of them where counts were imported."""
    if stage1 is None or phase1 is None:
        return {}
    first, second = _by_place(stage1), _by_place(phase1)
    inside, coverage = within(first, second)
    return {
        "pcs_agent": by_agent(stage1, phase1),
        "pcs_early": early(stage1, phase1),
        "pcs_within": inside,
        "pcs_within_coverage": coverage,
        "pcs_place": _between(*(shares(each.sum(axis=1), 0.0) for each in (first, second))),
    }


def _by_place(turns: Frame) -> Floats:
    return turns.counts(turns.place, len(turns.places)).astype(np.float64)


def _mean_agent(turns: Frame) -> Floats:
    own = shares(turns.counts(turns.seat, len(turns.seats)), 0.0)
    defined = own[~np.isnan(own).any(axis=1)]
    return defined.mean(axis=0) if len(defined) else np.full(turns.k, np.nan)


def _between(first: Floats, second: Floats) -> float | None:
    return number(jsd(first, second))
