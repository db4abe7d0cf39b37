"""The rows of a simulation: what each test promises, what the draws say, and whether the two meet."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

import msgspec
from scipy.stats import binomtest  # type: ignore[import-untyped]  # scipy ships no types

from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.ritual import Group
from playmolt_agora.simulation import populations, trials
from playmolt_agora.simulation.trials import Trial

CONFIDENCE: Final = 0.99
_FLIPPED: Final = "model's mean subtracted, signs of run differences flipped"
_EXCHANGED: Final = "labels exchanged inside strata of the other factor, exact"
_METHODS: Final = {
    "pcs": "jackknife over runs, bias corrected, t (Welch)",
    "delta_pcs": "jackknife over the runs of four arms, t",
    "pcs_test": "exact permutation of runs",
    "ri_star:model": _EXCHANGED,
    "ri_star:persona": _EXCHANGED,
    "H1a": _FLIPPED,
    "H1": f"{_FLIPPED}; the larger of both parts",
    "H2a": _FLIPPED,
    "H2": f"{_FLIPPED}; t tests of the slope; the larger of both parts",
    "ri_ext": "each agent's series rotated by a random offset, 500 draws",
}
TESTS: Final = tuple(_METHODS)
_RHOS: Final = (0.0, 0.01, 0.03, 0.1)
_DIVERGENCES: Final = (0.05, 0.37)
_MODEL_SPREADS: Final = (0.0, 0.1)
_LEVEL: Final = 0.10
_DRIFTING: Final = 0.04
_RITUAL: Final = 0.15


class SimulationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a test's grid. Where it is there is text, numbers as decimals.

    `lo` and `hi` bound the rate by Clopper and Pearson at 99 %. `ok` says that they meet what is promised; nothing is
    promised of power.
    """

    test: str
    scenario: str
    quantity: str
    n: str
    dispersion: str
    effect: str
    draws: int
    estimate: float
    lo: float
    hi: float
    promised_lo: float | None
    promised_hi: float | None
    ok: bool | None
    method: str
    seed: str

    @property
    def key(self) -> tuple[str, ...]:
        return (self.test, self.scenario, self.quantity, self.n, self.dispersion, self.effect)


COLUMNS: Final = SimulationRow.__struct_fields__


class Point(NamedTuple):
    """A point before its draws; `promised` counts where its quantity is not power."""

    scenario: str
    quantity: str
    n: str
    dispersion: float
    effect: float
    trial: Trial
    promised: tuple[float, float]


def points(test: str) -> Iterator[Point]:
    """The grid of one test, of TESTS."""
    match test:
        case "pcs":
            for pcs, (one, two), rho in product(_DIVERGENCES, ((5, 3), (6, 6), (10, 10)), _RHOS):
                trial = trials.pcs_covers((one, two), pcs, rho)
                yield Point(f"pcs={pcs:g}", "coverage", f"{one}v{two}", rho, pcs, trial, (0.93, 0.97))
        case "delta_pcs":
            # A difference of models is 0 wherever both are; a divergence only where the arms do not differ.
            for pcs, rho in product(_DIVERGENCES, _RHOS):
                trial = trials.delta_rejects((5, 3), pcs, rho)
                yield Point(f"pcs={pcs:g}", "size", "5v3", rho, 0.0, trial, (0.03, 0.06))
        case "pcs_test":
            for rho in _RHOS:
                yield Point("pcs=0", "size", "5v3", rho, 0.0, trials.pcs_rejects((5, 3), 0.0, rho), (0.0, 0.05))
        case "ri_star:model" | "ri_star:persona":
            factor: Group = "model" if test.endswith("model") else "persona"
            sd = populations.SHARE_SD
            for (quantity, effect), other in product((("size", 0.0), ("power", _RITUAL)), (0.0, _RITUAL)):
                # Both sides of the other factor are `other` from its middle.
                trial = trials.ritual_rejects(factor, effect, 2 * other, sd)
                yield Point(f"other={other:g}", quantity, "6", sd, effect, trial, (0.0, 0.06))
        case "ri_ext":
            for correlation in (0.0, 0.3, 0.6):
                trial = trials.fading_rejects(12, correlation)
                yield Point(f"rate={populations.CENTRE:g}", "size", "12", correlation, 0.0, trial, (0.03, 0.07))
        case _:
            # The size of a whole is that where one part holds and the other does not, its least favourable.
            sd, drifting = (populations.AGENT_SD, _DRIFTING) if test.startswith("H1") else (populations.SLOPE_SD, 0.0)
            for (quantity, level), models in product((("size", 0.0), ("power", _LEVEL)), _MODEL_SPREADS):
                trial = trials.hypothesis_rejects(test, level, drifting, models, sd)
                yield Point(f"models={models:g}", quantity, "6", sd, level, trial, (0.0, 0.06))


def simulated(
    tests: Sequence[str] = TESTS, *, draws: int, seed: str = "0", each: Callable[[SimulationRow], None] = lambda _: None
) -> list[SimulationRow]:
    """Draw every point of these tests; `each` hears of a row as soon as there is one."""
    found = []
    for test in tests:
        for point in points(test):
            row = _row(test, point, draws, seed)
            each(row)
            found.append(row)
    return found


def bounds(hits: int, draws: int) -> tuple[float, float]:
    """The rate's 99 % interval by Clopper and Pearson."""
    found = binomtest(hits, draws).proportion_ci(CONFIDENCE)
    return float(found.low), float(found.high)


def _row(test: str, point: Point, draws: int, seed: str) -> SimulationRow:
    scenario, quantity, n, dispersion, effect, trial, (promised_lo, promised_hi) = point
    key = (test, scenario, quantity, n, f"{dispersion:g}", f"{effect:g}")
    rng = stream(seed, "simulate", *key)
    hits = sum(bool(trial(rng)) for _ in range(draws))  # a numpy count would make numpy values of all that follows
    low, high = bounds(hits, draws)
    found = SimulationRow(
        **dict(zip(COLUMNS, key, strict=False)), draws=draws, estimate=hits / draws, lo=low, hi=high,
        promised_lo=promised_lo, promised_hi=promised_hi, ok=low <= promised_hi and high >= promised_lo,
        method=_METHODS[test], seed=seed,
    )  # fmt: skip
    nothing = {"promised_lo": None, "promised_hi": None, "ok": None}
    return msgspec.structs.replace(found, **nothing) if quantity == "power" else found
