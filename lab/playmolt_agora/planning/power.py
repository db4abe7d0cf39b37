"""Size and power of a plan's tests, from data drawn without and with the effect that the plan states (measures.md, 7).

Every test is drawn many times at once, through the same statistics as `simulate` and the analysis; where a test lists
more arrangements than is quick, so many of them are drawn. A whole of two parts is least favourable where one of them
holds: H1 without effect keeps its slope, H2 its level Jester.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from math import comb, prod, sqrt
from typing import Final

import msgspec
import numpy as np
from playmolt_schemas.agora.plan import PlannedTest
from playmolt_schemas.instrument.definitions import LEVEL_MARGIN, TIE, windows
from playmolt_schemas.instrument.laboratory import Design, LevelTest, Power, Stratum
from playmolt_schemas.stored.agora.plan import Hypothesis
from scipy import special  # type: ignore[import-untyped]  # scipy ships no types

from playmolt_agora.measures import ritual
from playmolt_agora.measures.divergence import Floats, count_jsd, smoothing
from playmolt_agora.measures.inference import attainable_p, hypotheses, permutation
from playmolt_agora.measures.inference.hypotheses import AgentOf
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.planning import attainable
from playmolt_agora.simulation import populations

DRAWS: Final = 1000
ENOUGH: Final = 0.5
"""A power below it is planned only when the plan says so."""
_MANY: Final = 60
"""Runs beyond which only a registered test is worth the time of its draws."""
_WIDEST: Final = 0.999
_LEVEL_RUNS: Final = 2
_ARRANGEMENTS: Final = 1999
_LISTED: Final = 5000
_AT_ONCE: Final = 100
_MODELS: Final = 0.1
"""How far a model's entropy is above or below the middle one."""
_DRIFTING: Final = 0.04
_DEFAULTS: Final[Mapping[str, tuple[str, str]]] = {
    "pcs": ("0.1", "0.03"),
    "ri_star": ("0.15", "0.05"),
    "H1": ("0.1", "0.05"),
    "H2": ("0.1", "0.014"),
}


def stated(hypothesis: Hypothesis | None, test: str) -> tuple[str, str]:
    """Effect and dispersion of a test, as its hypothesis has them or by default."""
    effect, dispersion = _DEFAULTS[test.partition(":")[0]]
    if hypothesis is None:
        return effect, dispersion
    return hypothesis.effect or effect, hypothesis.dispersion or dispersion


def power(design: Design) -> Power:
    """The tests of a design, with what each can reach, its size and its power."""
    found = judged(design, attainable.tests(design))
    runs, level = len(design.persona_runs), None
    if "H2" in design.named and runs >= _LEVEL_RUNS:
        sd = level_sd(runs)
        level = LevelTest(sd=sd, needed=level_sd_for(runs), power=level_power(runs, sd))
    return Power(tests=found, most_divergence=populations.most_divergence(), level=level)


def level_sd(runs: int, alpha: float = 0.05) -> float:
    """The observed SD of slopes below which H2b passes when their mean is 0; 2 runs or more."""
    return LEVEL_MARGIN * sqrt(runs) / float(special.stdtrit(runs - 1, 1 - alpha))


def level_power(runs: int, sd: float, alpha: float = 0.05) -> float:
    """The power of H2b at a true mean of 0 and a true SD of slopes."""
    quantile = float(special.stdtrit(runs - 1, 1 - alpha))
    # Over the observed SD: its square is chi2 with runs - 1 degrees of freedom.
    steps = (np.arange(2000) + 0.5) / 2000
    observed = sd * np.sqrt(special.chdtri(runs - 1, 1 - steps) / (runs - 1))
    room = np.maximum(0.0, LEVEL_MARGIN - quantile * observed / sqrt(runs))
    return float(np.mean(2 * special.ndtr(room * sqrt(runs) / sd) - 1))


def level_sd_for(runs: int, wanted: float = 0.8, alpha: float = 0.05) -> float:
    """The true SD of slopes at which H2b has that power."""
    from scipy.optimize import brentq  # type: ignore[import-untyped]  # noqa: PLC0415 -- slow import, needed for H2 only

    return float(brentq(lambda sd: level_power(runs, sd, alpha) - wanted, 1e-4, 1.0))


def judged(design: Design, tests: Sequence[PlannedTest]) -> tuple[PlannedTest, ...]:
    """The tests with their size and power; those that give no p in this design stay as they are."""
    named = design.named
    drawn = {
        test.test: _drawn(design, test.test, *stated(named.get(test.test), test.test))
        for test in tests
        if test.p_min is not None and (test.test in named or _runs(design, test.test) <= _MANY)
    }
    return tuple(_judged(test, named.get(test.test), drawn) for test in tests)


def _runs(design: Design, test: str) -> int:
    family, _, what = test.partition(":")
    if family == "pcs":
        return sum(stratum.stage1 + stratum.phase1 for stratum in design.pcs.get(what, ()))
    return len(design.persona_runs)


_Drawn = tuple[Floats, Floats]
"""The p of every draw, without effect and with it."""


def _judged(test: PlannedTest, hypothesis: Hypothesis | None, drawn: Mapping[str, _Drawn]) -> PlannedTest:
    declared = hypothesis is not None and hypothesis.underpowered is True
    if test.test not in drawn:
        return msgspec.structs.replace(test, declared=declared)
    others = [
        without
        for name, (without, _) in drawn.items()
        if name != test.test and test.family in attainable_p.CORRECTED and attainable_p.family(name) == test.family
    ]
    size, power = (_rate(p, others, float(test.alpha)) for p in drawn[test.test])
    effect, dispersion = stated(hypothesis, test.test)
    return msgspec.structs.replace(
        test,
        size=size,
        power=power,
        attainable_p=test.p_holm if test.p_holm is not None else test.p_min,
        effect=effect,
        dispersion=dispersion,
        draws=DRAWS,
        underpowered=power < ENOUGH,
        declared=declared,
    )


def _rate(own: Floats, others: Sequence[Floats], alpha: float) -> float:
    """How often a test rejects after Holm's correction among the others."""
    adjusted = own
    if others:
        adjusted = np.array([attainable_p.holm(list(ps))[0] for ps in zip(own, *others, strict=True)], dtype=np.float64)
    return float(np.mean(adjusted <= alpha + TIE))


def _drawn(design: Design, test: str, effect: str, dispersion: str) -> _Drawn:
    family, _, what = test.partition(":")
    # No divergence exceeds that of the two populations.
    largest = populations.most_divergence() if family == "pcs" else 1.0
    size, sd = min(float(effect), largest), min(float(dispersion), _WIDEST)
    if family == "pcs":
        return _pcs(design.pcs.get(what, ()), size, sd, f"{design.seed}|{test}")
    agents = _agents(design)
    if family == "ri_star":
        return _ritual(agents, what == "model", size, sd, design.turns, design.seed)
    return _instruction(agents, test, size, sd, windows(design.turns), design.seed)


def _agents(design: Design) -> tuple[AgentOf, ...]:
    each = len(design.persona_runs) // max(1, len(design.sets))
    return tuple(
        AgentOf(design.sets[at // each], str(at), seat.model, seat.persona)
        for at, seats in enumerate(design.persona_runs)
        for seat in seats
    )


@cache
def _pcs(strata: tuple[Stratum, ...], effect: float, rho: float, seed: str) -> _Drawn:
    alpha = max(smoothing(each.stage1 * each.stage1_turns, each.phase1 * each.phase1_turns) for each in strata)
    sizes = [(each.stage1, each.phase1) for each in strata]
    listed = prod(comb(one + two, one) for one, two in sizes) <= _LISTED

    def ps(divergence: float) -> Floats:
        rng = stream(seed, "power", f"{divergence:g}")
        shares = populations.between(divergence)
        chosen = [_labels(one, two, listed=listed, rng=rng) for one, two in sizes]
        parts = [np.concatenate(_pcs_draws(stratum, inside, shares, rho, alpha, rng))
                 for stratum, inside in zip(strata, chosen, strict=True)]  # fmt: skip
        if not listed:
            return _reached(np.sum(parts, axis=0))
        total = parts[0]
        for part in parts[1:]:
            total = (total[:, :, None] + part[:, None, :]).reshape(len(total), -1)
        return _reached(total)

    return ps(0.0), ps(effect)


def _labels(one: int, two: int, *, listed: bool, rng: np.random.Generator) -> Floats:
    """Who is in the first arm, (arrangements, runs); the observed labelling comes first."""
    observed = np.concatenate([np.ones(one), np.zeros(two)])
    if listed:
        # Combinations are listed in order, which begins with the first runs.
        return permutation.members(one + two, one, rng)[0]
    return np.concatenate([observed[None], rng.permuted(np.tile(observed, (_ARRANGEMENTS, 1)), axis=1)])


def _pcs_draws(
    stratum: Stratum, inside: Floats, shares: Floats, rho: float, alpha: float, rng: np.random.Generator
) -> list[Floats]:
    sides = ((populations.STAGE1, stratum.stage1, stratum.stage1_turns), (shares, stratum.phase1, stratum.phase1_turns))
    found = []
    for _ in range(DRAWS // _AT_ONCE):
        arms = [
            populations.counts(rng, population, runs * _AT_ONCE, rho, turns).reshape(_AT_ONCE, runs, -1)
            for population, runs, turns in sides
        ]
        rows = np.concatenate(arms, axis=1)
        found.append(np.asarray(count_jsd(inside @ rows, (1 - inside) @ rows, alpha)))
    return found


@cache
def _ritual(agents: tuple[AgentOf, ...], by_model: bool, effect: float, sd: float, turns: int, seed: str) -> _Drawn:
    factor: ritual.Group = "model" if by_model else "persona"
    rng = stream(seed, "power", "ri_star", factor)
    by_group = ritual.exchange_of(agents, factor).drawn(_ARRANGEMENTS, rng).transpose(1, 2, 0).copy()

    def ps(spread: float) -> Floats:
        of_model, of_persona = (spread, 0.0) if by_model else (0.0, spread)
        draw = populations.rates(agents, of_model, of_persona, sd, turns)
        # (groups, agents, arrangements): each product is two matrices of draws that stay in the processor's cache.
        blocks = (np.array([draw(rng) for _ in range(_AT_ONCE)]) for _ in range(DRAWS // _AT_ONCE))
        return np.concatenate([_reached(np.square(values @ by_group).sum(axis=0)) for values in blocks])

    return ps(0.0), ps(effect)


@cache
def _instruction(agents: tuple[AgentOf, ...], test: str, effect: float, sd: float, count: int, seed: str) -> _Drawn:
    first = test == "H1"
    spread = {"agent_sd": sd} if first else {"slope_sd": sd}
    draw = populations.drift(agents, count, models=_MODELS, **spread)
    design = hypotheses.Design(agents)
    drifting = _DRIFTING if first else 0.0

    def ps(level: float) -> Floats:
        rng = stream(seed, "power", test, f"{level:g}")
        drawn = [draw(rng, level, drifting) for _ in range(DRAWS)]
        parts = design.parts(*(np.array(each) for each in zip(*drawn, strict=True)))
        # A run has a Jester and an Archivist or not, whatever is drawn.
        one, other = (own[:, ~np.isnan(own).any(axis=0)] for own in (parts[f"{test}a"], parts[f"{test}b"]))
        return np.maximum(_flipped(one, rng), _flipped(other, rng) if first else _level(other))

    return ps(0.0), ps(effect)


def _flipped(differences: Floats, rng: np.random.Generator) -> Floats:
    runs = differences.shape[1]
    if 2**runs <= _LISTED:
        values = differences @ np.array(list(product((1.0, -1.0), repeat=runs))).T
        return _reached(values)
    signs = rng.choice((1.0, -1.0), size=(_ARRANGEMENTS, runs))
    return _reached(differences @ np.concatenate([np.ones((1, runs)), signs]).T)


def _level(slopes: Floats) -> Floats:
    return np.array([p if (p := hypotheses.level_p(row)) is not None else 1.0 for row in slopes], dtype=np.float64)


def _reached(values: Floats) -> Floats:
    """The p of each row, whose first value is the observed one."""
    return np.asarray(np.mean(values >= values[:, :1] - TIE, axis=1))
