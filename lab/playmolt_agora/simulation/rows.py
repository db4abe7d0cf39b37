"""The rows of a simulation: what each test promises, what the draws say, and whether the two meet."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Final

import msgspec
from scipy.special import betaincinv  # type: ignore[import-untyped]  # scipy ships no types

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


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a point is in its test's grid. Numbers are decimal texts."""

    test: str
    scenario: str
    quantity: str
    n: str
    dispersion: str
    effect: str

    @property
    def key(self) -> tuple[str, ...]:
        return (self.test, self.scenario, self.quantity, self.n, self.dispersion, self.effect)


class SimulationRow(Place, frozen=True, kw_only=True):
    """One point. `lo` and `hi` bound the rate by Clopper and Pearson at 99 %.

    `ok` says that they meet what is promised; nothing is promised of power.
    """

    draws: int
    estimate: float
    lo: float
    hi: float
    promised_lo: float | None
    promised_hi: float | None
    ok: bool | None
    method: str
    seed: str


class Point(Place, frozen=True, kw_only=True):
    """A point before its draws."""

    method: str
    trial: Callable[[], Trial]
    promised: tuple[float, float] | None = None


COLUMNS: Final = SimulationRow.__struct_fields__


def points(test: str) -> Iterator[Point]:
    """The grid of one test, of TESTS."""
    match test:
        case "pcs":
            for divergence, (one, two), rho in product(_DIVERGENCES, ((5, 3), (6, 6), (10, 10)), _RHOS):
                made = partial(trials.pcs_covers, (one, two), divergence, rho)
                yield _point(
                    test, f"pcs={divergence:g}", "coverage", f"{one}v{two}", rho, divergence, made, (0.93, 0.97)
                )
        case "delta_pcs":
            # A difference of models is 0 wherever both are; a divergence only where the arms do not differ.
            for divergence, rho in product(_DIVERGENCES, _RHOS):
                made = partial(trials.delta_rejects, (5, 3), divergence, rho)
                yield _point(test, f"pcs={divergence:g}", "size", "5v3", rho, 0.0, made, (0.03, 0.06))
        case "pcs_test":
            for rho in _RHOS:
                yield _point(
                    test, "pcs=0", "size", "5v3", rho, 0.0, partial(trials.pcs_rejects, (5, 3), 0.0, rho), (0.0, 0.05)
                )
        case "ri_star:model" | "ri_star:persona":
            factor: Group = "model" if test.endswith("model") else "persona"
            sd = populations.SHARE_SD
            for (quantity, effect), other in product((("size", 0.0), ("power", _RITUAL)), (0.0, _RITUAL)):
                # Both sides of the other factor are `other` from its middle.
                made = partial(trials.ritual_rejects, factor, effect, 2 * other, sd)
                yield _point(test, f"other={other:g}", quantity, "6", sd, effect, made, (0.0, 0.06))
        case "ri_ext":
            for correlation in (0.0, 0.3, 0.6):
                made = partial(trials.fading_rejects, 12, correlation)
                yield _point(test, f"rate={populations.CENTRE:g}", "size", "12", correlation, 0.0, made, (0.03, 0.07))
        case _:
            # The size of a whole is that where one part holds and the other does not, its least favourable.
            sd, drifting = (populations.AGENT_SD, _DRIFTING) if test.startswith("H1") else (populations.SLOPE_SD, 0.0)
            for (quantity, level), models in product((("size", 0.0), ("power", _LEVEL)), _MODEL_SPREADS):
                made = partial(trials.hypothesis_rejects, test, level, drifting, models, sd)
                yield _point(test, f"models={models:g}", quantity, "6", sd, level, made, (0.0, 0.06))


def _point(
    test: str, scenario: str, quantity: str, n: str, dispersion: float, effect: float, trial: Callable[[], Trial],
    promised: tuple[float, float],
) -> Point:  # fmt: skip
    """Nothing is promised of power."""
    return Point(
        test=test, scenario=scenario, quantity=quantity, n=n, dispersion=f"{dispersion:g}", effect=f"{effect:g}",
        method=_METHODS[test], trial=trial, promised=None if quantity == "power" else promised,
    )  # fmt: skip


def simulated(
    tests: Sequence[str] = TESTS, *, draws: int, seed: str = "0", each: Callable[[SimulationRow], None] = lambda _: None
) -> list[SimulationRow]:
    """Draw every point of these tests; `each` hears of a row as soon as there is one."""
    found = []
    for test in tests:
        for point in points(test):
            row = _row(point, draws, seed)
            each(row)
            found.append(row)
    return found


def bounds(hits: int, draws: int) -> tuple[float, float]:
    """The rate's 99 % interval by Clopper and Pearson."""
    tail = (1 - CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, draws - hits + 1, tail))
    return low, 1.0 if hits == draws else float(betaincinv(hits + 1, draws - hits, 1 - tail))


def _row(point: Point, draws: int, seed: str) -> SimulationRow:
    rng = stream(seed, "simulate", *point.key)
    trial = point.trial()
    hits = sum(bool(trial(rng)) for _ in range(draws))  # a numpy count would make numpy values of all that follows
    low, high = bounds(hits, draws)
    promised = point.promised
    return SimulationRow(
        **{name: getattr(point, name) for name in Place.__struct_fields__},
        draws=draws,
        estimate=hits / draws,
        lo=low,
        hi=high,
        promised_lo=promised[0] if promised else None,
        promised_hi=promised[1] if promised else None,
        ok=None if promised is None else low <= promised[1] and high >= promised[0],
        method=point.method,
        seed=seed,
    )
