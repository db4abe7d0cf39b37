"""Two arms of runs and how far apart they act: PCS with its interval, test and floors (`measures.md`, section 3).

Nothing here needs a frame of turns: a look while a matrix runs should load no more than this.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

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
class TwoArms:
    """Two arms, of Stage 1 and Phase 1 where it is PCS that is asked for."""

    first: Arm
    second: Arm

    @property
    def runs(self) -> tuple[str, ...]:
        """Those of both arms."""
        return self.first.runs + self.second.runs

    @property
    def n(self) -> int:
        """Valid turns of both arms."""
        return self.first.n + self.second.n

    @property
    def fewest(self) -> int:
        """The runs of the arm that has fewer."""
        return min(len(self.first.runs), len(self.second.runs))

    @property
    def alpha(self) -> float:
        """α by the size of both arms; it stays the same in every resampling."""
        return smoothing(self.first.n, self.second.n)

    @property
    def empty(self) -> bool:
        """Whether an arm has no valid turn, hence no divergence."""
        return not (self.first.n and self.second.n)

    @cached_property
    def divergence(self) -> float | None:
        return None if self.empty else float(self.between(self.first.pooled, self.second.pooled))

    def between(self, first: Floats, second: Floats) -> Floats:
        """The divergence of counts under the α of the arms."""
        return np.asarray(count_jsd(first, second, self.alpha))

    def left_out(self) -> tuple[Floats, Floats]:
        """The divergence without each run of either arm."""
        return resampling.left_out(self.first.counts, self.second.counts, self.between)

    def interval(self) -> Interval:
        """The 95 % interval of the divergence; none below three runs an arm."""
        indicative = self.fewest <= INDICATIVE_RUNS
        if self.divergence is None or self.fewest < INTERVAL_RUNS:
            return Interval(indicative=indicative)
        return Interval(*resampling.Spread(self.divergence, self.left_out()).interval(0.0, 1.0), indicative)

    def test(self, generator: np.random.Generator) -> tuple[Test, float]:
        """The exact permutation test of run labels, and the mean of its distribution: the floor at these very sizes."""
        values, complete = permutation.relabelled(self.first.counts, self.second.counts, self.between, generator)
        p = (permutation.exact_p if complete else permutation.drawn_p)(values, self.divergence or 0.0)
        found = Test(self.divergence, p, comb(len(self.runs), len(self.first.runs)))
        alike = all_equal(self.first.counts, self.second.counts)
        return found.without_p() if alike else found, float(values.mean())


@dataclass(frozen=True)
class PcsCell(TwoArms):
    """Stage 1 and Phase 1 of a model in a language."""

    model: str
    language: str

    def named_left_out(self) -> Iterator[tuple[str, str, float]]:
        """The divergence without each run, as arm, run, value; not without an arm's only run."""
        for name, arm, values in zip(("stage1", "phase1"), (self.first, self.second), self.left_out(), strict=True):
            if len(arm.runs) > 1:
                yield from ((name, run, float(value)) for run, value in zip(arm.runs, values, strict=True))


class DeltaPcs(NamedTuple):
    """One model's divergence less another's; no interval and no p below three runs an arm and where no run differs."""

    delta: float
    ci_lo: float | None = None
    ci_hi: float | None = None
    p: float | None = None


def difference(one: TwoArms, other: TwoArms) -> DeltaPcs:
    """What one model's PCS is above another's, with its interval and test."""
    a, b = one.divergence or 0.0, other.divergence or 0.0
    if min(one.fewest, other.fewest) < INTERVAL_RUNS:
        return DeltaPcs(a - b)
    left_out = [*(each - b for each in one.left_out()), *(a - each for each in other.left_out())]
    spread = resampling.Spread(a - b, left_out)
    return DeltaPcs(a - b, *spread.interval(-1.0, 1.0), spread.p())


def test(strata: Sequence[TwoArms], generator: np.random.Generator) -> Test:
    """Test a model with its languages as strata; the statistic is the sum of their divergences under one α."""
    full = [each for each in strata if not each.empty]
    if not full:
        return Test()
    alpha = max(each.alpha for each in full)
    counts = [(each.first.counts, each.second.counts) for each in full]
    tested = permutation.two_arms(counts, lambda p, q: count_jsd(p, q, alpha), generator)
    return tested.without_p() if all_equal(*(arm for both in counts for arm in both)) else tested


def all_equal(*arms: Floats) -> bool:
    """Whether arms of runs (runs, …) have several runs and no arm has two that differ."""
    return any(len(arm) > 1 for arm in arms) and all(bool(np.all(arm == arm[:1])) for arm in arms)


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
    cell = TwoArms(counted_arm(arms.stage1), counted_arm(arms.phase1))
    floors = [floor_runs(arm, cell.alpha) for arm in (cell.first, cell.second)]
    _, floor = cell.test(stream("", "pcs_so_far"))
    return PcsSoFar(
        pcs=six_decimals(cell.divergence or 0.0),
        floor_iid=six_decimals(floor_iid(cell.first.n, cell.second.n)),
        floor_null=six_decimals(floor),
        floor_stage1=None if floors[0] is None else six_decimals(floors[0]),
        floor_phase1=None if floors[1] is None else six_decimals(floors[1]),
        n_stage1=cell.first.n,
        n_phase1=cell.second.n,
        runs_stage1=len(arms.stage1),
        runs_phase1=len(arms.phase1),
    )


def six_decimals(value: float) -> str:
    return decimal_text(Decimal(f"{value:.6f}"))
