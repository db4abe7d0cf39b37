"""Two arms of runs and how far apart they act: PCS with its interval, test and floors (`measures.md`, section 3).

Nothing here needs a frame of turns: a look while a matrix runs should load no more than this.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from playmolt_schemas.instrument.definitions import INDICATIVE_RUNS, INTERVAL_RUNS
from playmolt_schemas.instrument.laboratory import PcsArms
from playmolt_schemas.stored.agora.plan import PcsSoFar
from playmolt_schemas.stored.agora.turn import ACTIONS
from playmolt_schemas.text import decimal_text

from playmolt_agora.measures.data.results import number
from playmolt_agora.measures.divergence import Floats, count_jsd, smoothing
from playmolt_agora.measures.inference import permutation, resampling
from playmolt_agora.measures.inference.permutation import Test
from playmolt_agora.measures.inference.resampling import Interval
from playmolt_agora.measures.inference.streams import stream

if TYPE_CHECKING:
    import polars as pl

_LN2: Final = float(np.log(2))


@dataclass(frozen=True)
class Arm:
    """The runs of one arm that have a valid turn, sorted, with their counts (runs, K); turns unless it was imported."""

    runs: tuple[str, ...]
    counts: Floats
    turns: "pl.DataFrame | None" = None

    @property
    def n(self) -> int:
        """Valid turns."""
        return int(self.counts.sum())

    @property
    def planned(self) -> bool:
        """Whether it was played or imported, whatever came of it."""
        return bool(self.runs) or self.turns is not None

    @property
    def pooled(self) -> Floats:
        """Counts over all runs."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.float64)


def counted_arm(rows: Sequence[Sequence[int]] | Floats) -> Arm:
    """An arm known by its counts alone: a row per run, a column per action."""
    return Arm(tuple(map(str, range(len(rows)))), np.array(rows, dtype=np.float64))


@dataclass(frozen=True)
class PcsCell:
    """A model in a language: both arms."""

    model: str
    language: str
    stage1: Arm
    phase1: Arm

    @property
    def runs(self) -> tuple[str, ...]:
        """Those of both arms."""
        return self.stage1.runs + self.phase1.runs

    @property
    def n(self) -> int:
        """Valid turns of both arms."""
        return self.stage1.n + self.phase1.n

    @property
    def empty(self) -> bool:
        """Whether an arm has no valid turn, hence no divergence."""
        return not (self.stage1.n and self.phase1.n)

    @property
    def alpha(self) -> float:
        """α of the cell; it stays the same in every resampling."""
        return smoothing(self.stage1.n, self.phase1.n)

    @cached_property
    def pcs(self) -> float | None:
        return None if self.empty else float(self._divergence(self.stage1.pooled, self.phase1.pooled))

    @property
    def few(self) -> bool:
        """Whether an arm has fewer than three runs, too few for an interval."""
        return min(len(self.stage1.runs), len(self.phase1.runs)) < INTERVAL_RUNS

    def left_out(self) -> tuple[Floats, Floats]:
        """The divergence without each run of either arm."""
        return resampling.left_out(self.stage1.counts, self.phase1.counts, self._divergence)

    def named_left_out(self) -> Iterator[tuple[str, str, float]]:
        """The same as arm, run, value; not without an arm's only run."""
        for name, arm, values in zip(("stage1", "phase1"), (self.stage1, self.phase1), self.left_out(), strict=True):
            if len(arm.runs) > 1:
                yield from ((name, run, float(value)) for run, value in zip(arm.runs, values, strict=True))

    def interval(self) -> Interval:
        """The 95 % interval of the divergence; none below three runs an arm."""
        indicative = min(len(self.stage1.runs), len(self.phase1.runs)) <= INDICATIVE_RUNS
        if self.pcs is None or self.few:
            return Interval(indicative=indicative)
        return Interval(*resampling.Spread(self.pcs, self.left_out()).interval(0.0, 1.0), indicative)

    def test(self, generator: np.random.Generator) -> tuple[Test, float]:
        """The exact permutation test of run labels, and the mean of its distribution: the floor at these very sizes."""
        values, complete = permutation.relabelled(self.stage1.counts, self.phase1.counts, self._divergence, generator)
        p = (permutation.exact_p if complete else permutation.drawn_p)(values, self.pcs or 0.0)
        found = Test(self.pcs, p, comb(len(self.runs), len(self.stage1.runs)))
        alike = all_equal(self.stage1.counts, self.phase1.counts)
        return found.without_p() if alike else found, float(values.mean())

    def _divergence(self, first: Floats, second: Floats) -> Floats:
        return np.asarray(count_jsd(first, second, self.alpha))


class DeltaPcs(NamedTuple):
    """One model's divergence less another's; no interval and no p below three runs an arm and where no run differs."""

    delta: float
    ci_lo: float | None = None
    ci_hi: float | None = None
    p: float | None = None


def difference(one: PcsCell, other: PcsCell) -> DeltaPcs:
    """What one model's PCS is above another's, with its interval and test."""
    a, b = one.pcs or 0.0, other.pcs or 0.0
    if one.few or other.few:
        return DeltaPcs(a - b)
    spread = resampling.Spread(
        a - b, [*(each - b for each in one.left_out()), *(a - each for each in other.left_out())]
    )
    return DeltaPcs(a - b, *spread.interval(-1.0, 1.0), spread.p())


def test(model_cells: Sequence[PcsCell], seed: str) -> Test:
    """Test a model with its languages as strata; the statistic is the sum of their PCS under one α."""
    full = [cell for cell in model_cells if not cell.empty]
    if not full:
        return Test()
    alpha = max(cell.alpha for cell in full)
    strata = [(cell.stage1.counts, cell.phase1.counts) for cell in full]
    generator = stream(seed, "pcs_test", full[0].model)
    tested = permutation.two_arms(strata, lambda p, q: count_jsd(p, q, alpha), generator)
    return tested.without_p() if all_equal(*(counts for arms in strata for counts in arms)) else tested


def all_equal(*arms: Floats) -> bool:
    """Whether arms of runs (runs, …) have several runs and no arm has two that differ."""
    return any(len(arm) > 1 for arm in arms) and all(bool(np.all(arm == arm[:1])) for arm in arms)


def divergence(first: Any, second: Any) -> float | None:
    """Divergence of two rows of counts, α by their sizes; None where one is empty."""
    n, m = float(np.sum(first)), float(np.sum(second))
    return None if min(n, m) == 0 else float(count_jsd(first, second, smoothing(n, m)))


def floor_iid(n: int, m: int, k: int = len(ACTIONS)) -> float:
    """The divergence to expect of two samples of n and m independent turns of one distribution."""
    return (k - 1) * (1 / n + 1 / m) / (8 * _LN2)


def floor_runs(one: Arm, alpha: float) -> float | None:
    """Mean divergence between pairs of runs inside an arm; None below two runs.

    It measures how much single runs differ; it is not a floor for the divergence of pooled arms, which are larger.
    """
    pairs = [count_jsd(one.counts[a], one.counts[b], alpha) for a, b in combinations(range(len(one.runs)), 2)]
    return number(np.mean(pairs)) if pairs else None


def pcs_so_far(cells: Mapping[str, PcsArms]) -> dict[str, PcsSoFar]:
    """Cell → PCS over the turns taken so far, while a matrix runs."""
    return {name: _pcs_of(arms) for name, arms in cells.items()}


def _pcs_of(arms: PcsArms) -> PcsSoFar:
    cell = PcsCell("", "", counted_arm(arms.stage1), counted_arm(arms.phase1))
    floors = [floor_runs(arm, cell.alpha) for arm in (cell.stage1, cell.phase1)]
    _, floor = cell.test(stream("", "pcs_so_far"))
    return PcsSoFar(
        pcs=six_decimals(cell.pcs or 0.0),
        floor_iid=six_decimals(floor_iid(cell.stage1.n, cell.phase1.n)),
        floor_null=six_decimals(floor),
        floor_stage1=None if floors[0] is None else six_decimals(floors[0]),
        floor_phase1=None if floors[1] is None else six_decimals(floors[1]),
        n_stage1=cell.stage1.n,
        n_phase1=cell.phase1.n,
        runs_stage1=len(arms.stage1),
        runs_phase1=len(arms.phase1),
    )


def six_decimals(value: float) -> str:
    return decimal_text(Decimal(f"{value:.6f}"))
