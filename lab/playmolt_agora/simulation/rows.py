"""The rows of a simulation: what each test promises, what the draws say, and whether the two meet."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
from scipy.special import betaincinv  # type: ignore[import-untyped]  # scipy ships no types

from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.ritual import Group
from playmolt_agora.simulation import populations, trials
from playmolt_agora.simulation.trials import Trial

CONFIDENCE: Final = 0.99
TESTS: Final = (
    *("pcs", "delta_pcs", "pcs_test", "ri_star:model", "ri_star:persona"),
    *("H1a", "H1", "H2a", "H2", "ri_ext"),
)
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
            yield from _coverage()
        case "delta_pcs" | "pcs_test":
            yield from _pcs_sizes(test)
        case "ri_star:model" | "ri_star:persona":
            yield from _ritual(test)
        case "ri_ext":
            yield from _fading()
        case _:
            yield from _hypothesis(test)


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


def _coverage() -> Iterator[Point]:
    for divergence in _DIVERGENCES:
        for sizes in ((5, 3), (6, 6), (10, 10)):
            for rho in _RHOS:
                yield Point(
                    test="pcs",
                    scenario=f"pcs={divergence:g}",
                    quantity="coverage",
                    n=f"{sizes[0]}v{sizes[1]}",
                    dispersion=f"{rho:g}",
                    effect=f"{divergence:g}",
                    method="jackknife over runs, bias corrected, t (Welch)",
                    trial=partial(trials.pcs_covers, sizes, divergence, rho),
                    promised=(0.93, 0.97),
                )


def _pcs_sizes(test: str) -> Iterator[Point]:
    # A difference of models is 0 wherever both are; a divergence only where the arms do not differ.
    scenarios = _DIVERGENCES if test == "delta_pcs" else (0.0,)
    make = trials.delta_rejects if test == "delta_pcs" else trials.pcs_rejects
    for divergence in scenarios:
        for rho in _RHOS:
            yield Point(
                test=test,
                scenario=f"pcs={divergence:g}",
                quantity="size",
                n="5v3",
                dispersion=f"{rho:g}",
                effect="0",
                method="jackknife over the runs of four arms, t"
                if test == "delta_pcs"
                else "exact permutation of runs",
                trial=partial(make, (5, 3), divergence, rho),
                promised=(0.03, 0.06) if test == "delta_pcs" else (0.0, 0.05),
            )


def _ritual(test: str) -> Iterator[Point]:
    factor: Group = "model" if test.endswith("model") else "persona"
    for quantity, effect in (("size", 0.0), ("power", _RITUAL)):
        for other in (0.0, _RITUAL):
            yield Point(
                test=test,
                scenario=f"other={other:g}",
                quantity=quantity,
                n="6",
                dispersion=f"{populations.SHARE_SD:g}",
                effect=f"{effect:g}",
                method="labels exchanged inside strata of the other factor, exact",
                # Both sides of the other factor are `other` from its middle.
                trial=partial(trials.ritual_rejects, factor, effect, 2 * other, populations.SHARE_SD),
                promised=(0.0, 0.06) if quantity == "size" else None,
            )


def _hypothesis(test: str) -> Iterator[Point]:
    """The size of a whole is that where one part holds and the other does not, its least favourable."""
    first = test.startswith("H1")
    dispersion = populations.AGENT_SD if first else populations.SLOPE_SD
    for quantity, level in (("size", 0.0), ("power", _LEVEL)):
        for models in _MODEL_SPREADS:
            yield Point(
                test=test,
                scenario=f"models={models:g}",
                quantity=quantity,
                n="6",
                dispersion=f"{dispersion:g}",
                effect=f"{level:g}",
                method="model's mean subtracted, signs of run differences flipped"
                + {"H1": "; the larger of both parts", "H2": "; t tests of the slope; the larger of both parts"}.get(
                    test, ""
                ),
                trial=partial(trials.hypothesis_rejects, test, level, _DRIFTING if first else 0.0, models, dispersion),
                promised=(0.0, 0.06) if quantity == "size" else None,
            )


def _fading() -> Iterator[Point]:
    for correlation in (0.0, 0.3, 0.6):
        yield Point(
            test="ri_ext",
            scenario=f"rate={populations.CENTRE:g}",
            quantity="size",
            n="12",
            dispersion=f"{correlation:g}",
            effect="0",
            method="each agent's series rotated by a random offset, 500 draws",
            trial=partial(trials.fading_rejects, 12, correlation),
            promised=(0.03, 0.07),
        )
