"""What the tables are made with, in the words of a statistician: arrays or rows in, plain values out.

Rows are a polars or pandas frame or a list of dicts. `rng` is a numpy Generator, of seed 0 where none is given; it is
drawn from only where arrangements are too many to list, and by `ri_ext`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from playmolt_agora.measures import ritual
from playmolt_agora.measures.data.turns import dicts
from playmolt_agora.measures.divergence import Floats
from playmolt_agora.measures.inference import arms, attainable_p, hypotheses
from playmolt_agora.measures.inference.arms import DeltaPcs, TwoArms
from playmolt_agora.measures.inference.permutation import Test
from playmolt_agora.measures.ritual import RiExt


class Pcs(NamedTuple):
    """A cell's divergence. The interval is None below three runs an arm; it and p are None where no run differs."""

    pcs: float
    alpha: float
    ci_lo: float | None
    ci_hi: float | None
    p: float | None
    p_min: float
    floor_iid: float
    floor_null: float


def pcs(stage1: ArrayLike, phase1: ArrayLike, rng: np.random.Generator | None = None) -> Pcs:
    """PCS of counts (runs, 6) of both arms. ValueError where an arm has no turn, or a count is missing or negative."""
    cell = _cell(stage1, phase1)
    span = cell.interval()
    tested, floor = cell.test(_generator(rng))
    smallest = attainable_p.relabelled([(len(cell.first.runs), len(cell.second.runs))])[1]
    return Pcs(
        pcs=float(cell.divergence or 0.0),
        alpha=cell.alpha,
        ci_lo=span.low,
        ci_hi=span.high,
        p=tested.p,
        p_min=float(smallest),
        floor_iid=arms.floor_iid(cell.first.n, cell.second.n),
        floor_null=floor,
    )


def pcs_interval(stage1: ArrayLike, phase1: ArrayLike) -> tuple[float | None, float | None]:
    """The interval of `pcs` alone, without its test."""
    span = _cell(stage1, phase1).interval()
    return span.low, span.high


def delta_pcs(
    a: tuple[ArrayLike, ArrayLike], b: tuple[ArrayLike, ArrayLike], rng: np.random.Generator | None = None
) -> DeltaPcs:
    """The difference of two models, each (stage1, phase1), a − b. It draws nothing; `rng` is taken as everywhere."""
    del rng
    return arms.difference(_cell(*a), _cell(*b))


def ri_star(rows: Any, factor: ritual.Group, rng: np.random.Generator | None = None) -> Test:
    """Test RI* of `model` or `persona`; rows (set, run, model, persona, agent, ri_star). Runs may have equal RI*."""
    agents = [
        ritual.Rate(f"{row['set']}|{row['run']}", row["model"], row["persona"], float(row["ri_star"]))
        for row in dicts(rows)
        if row["ri_star"] is not None
    ]
    return ritual.exchanged(agents, factor, _generator(rng))


def _runs_differ(rows: Sequence[Mapping[str, object]]) -> bool:
    """Whether no set has a second run, or two runs of one set have other values for the same agents."""
    runs: dict[object, dict[object, set[tuple[object, ...]]]] = {}
    for row in rows:
        values = tuple(row[name] for name in ("agent", "window", "h_norm", "id_excess"))
        runs.setdefault(row["set"], {}).setdefault(row["run"], set()).add(values)
    if all(len(each) == 1 for each in runs.values()):
        return True
    return any(len({frozenset(run) for run in each.values()}) > 1 for each in runs.values())


def h1(rows: object, rng: np.random.Generator | None = None) -> dict[str, Test]:
    """H1a, H1b and H1 of rows (set, run, model, persona, agent, window, h_norm, id_excess)."""
    return _hypothesis("H1", rows, _generator(rng))


def h2(rows: object, rng: np.random.Generator | None = None) -> dict[str, Test]:
    """H2a, H2b and H2 of the same rows."""
    return _hypothesis("H2", rows, _generator(rng))


def ri_ext(series: Sequence[ArrayLike], rng: np.random.Generator | None = None) -> RiExt:
    """Whether a ritual fades; 0/1 sequences, one an agent, of its turns on which it was possible."""
    return ritual.ri_ext((np.asarray(each, dtype=np.float64) > 0 for each in series), _generator(rng))


def _hypothesis(name: str, rows: object, rng: np.random.Generator) -> dict[str, Test]:
    known = dicts(rows)
    design, entropy, excess = _windows(known)
    found = hypotheses.present(design.parts(entropy, excess))
    tests = hypotheses.tests({part: found[part] for part in (f"{name}a", f"{name}b")}, lambda _: rng)
    if not _runs_differ(known):
        tests = {part: test.without_p() for part, test in tests.items()}
    return {**tests, name: Test(p=hypotheses.larger(*(test.p for test in tests.values())))}


def _windows(rows: Sequence[Mapping[str, Any]]) -> tuple[hypotheses.Design, Floats, Floats]:
    agents = sorted({(row["set"], row["run"], row["model"], row["persona"], row["agent"]) for row in rows})
    places = {agent: at for at, agent in enumerate(agents)}
    longest = max((int(row["window"]) for row in rows), default=0)
    entropy, excess = np.full((2, len(agents), longest), np.nan)
    for row in rows:
        at = places[row["set"], row["run"], row["model"], row["persona"], row["agent"]]
        for laid, name in ((entropy, "h_norm"), (excess, "id_excess")):
            laid[at, int(row["window"]) - 1] = np.nan if row[name] is None else row[name]
    # A run's name may come again in another set.
    named = [hypotheses.AgentOf(set_, f"{set_}|{run}", model, persona) for set_, run, model, persona, _ in agents]
    return hypotheses.Design(named), entropy, excess


def _cell(stage1: ArrayLike, phase1: ArrayLike) -> TwoArms:
    return TwoArms(_arm(stage1), _arm(phase1))


def _arm(rows: ArrayLike) -> arms.Arm:
    counts = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    if not np.all(counts >= 0):
        raise ValueError("a count is missing or negative; give counts (runs, actions) of 0 and more")
    if not np.any(counts):
        raise ValueError("an arm has no turns; give counts (runs, actions) with at least one above 0")
    return arms.counted_arm(counts[counts.sum(axis=1) > 0])


def _generator(rng: np.random.Generator | None) -> np.random.Generator:
    return np.random.default_rng(0) if rng is None else rng
