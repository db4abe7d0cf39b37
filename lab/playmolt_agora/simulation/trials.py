"""One draw of each test: data from a population, through the estimators, and whether it rejects or covers."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from playmolt_agora import estimators
from playmolt_agora.measures import ritual
from playmolt_agora.measures.divergence import Floats, jsd
from playmolt_agora.measures.inference.hypotheses import ARCHIVIST, JESTER, MERCHANT, AgentOf
from playmolt_agora.simulation import populations

Trial = Callable[[np.random.Generator], bool]
TURNS: Final = 600
"""Turns of a run of Stage 1 or Phase 1: twelve agents, fifty epochs."""
PHASE2_TURNS: Final = 100
WINDOWS: Final = 4
ALPHA: Final = 0.05
MODELS: Final = ("E", "M", "H")
PERSONAS: Final = (ARCHIVIST, MERCHANT, JESTER)


def white_room() -> list[AgentOf]:
    """The agents of Sets A and B, three runs each: every persona is played by two models, another one missing a run."""
    return [
        AgentOf(name, f"{name}/{run}", MODELS[(run + at + slot) % len(MODELS)], persona)
        for name in "AB"
        for run in range(3)
        for at, persona in enumerate(PERSONAS)
        for slot in range(2)
    ]


def pcs_covers(sizes: tuple[int, int], divergence: float, rho: float) -> Trial:
    shares = populations.between(divergence)
    truth = float(jsd(populations.STAGE1, shares))

    def trial(rng: np.random.Generator) -> bool:
        low, high = estimators.pcs_interval(*_arms(rng, shares, sizes, rho))
        return low is not None and high is not None and low <= truth <= high

    return trial


def pcs_rejects(sizes: tuple[int, int], divergence: float, rho: float) -> Trial:
    shares = populations.between(divergence)
    return lambda rng: _reaches(estimators.pcs(*_arms(rng, shares, sizes, rho), rng=rng).p)


def delta_rejects(sizes: tuple[int, int], divergence: float, rho: float) -> Trial:
    """Two models of the same population."""
    shares = populations.between(divergence)

    def trial(rng: np.random.Generator) -> bool:
        one, other = (_arms(rng, shares, sizes, rho) for _ in range(2))
        return _reaches(estimators.delta_pcs(one, other).p)

    return trial


def ritual_rejects(factor: ritual.Group, effect: float, other: float, sd: float) -> Trial:
    agents = white_room()
    exchange = ritual.exchange_of(agents, factor)
    spread = {"model": effect, "persona": effect, ("persona" if factor == "model" else "model"): other}
    draw = populations.rates(agents, spread["model"], spread["persona"], sd, PHASE2_TURNS)

    def trial(rng: np.random.Generator) -> bool:
        return _reaches(exchange.test(draw(rng), rng).p)

    return trial


def hypothesis_rejects(test: str, level: float, drifting: float, models: float, sd: float) -> Trial:
    """H1 or H2 or a part of them; `sd` is that of an agent's entropy for H1, of a run's slope for H2."""
    agents = white_room()
    spread = {"agent_sd": sd} if test.startswith("H1") else {"slope_sd": sd}
    draw = populations.drift(agents, WINDOWS, models=models, **spread)
    tested = estimators.h1 if test.startswith("H1") else estimators.h2

    def trial(rng: np.random.Generator) -> bool:
        return _reaches(tested(_rows(agents, *draw(rng, level, drifting)), rng)[test].p)

    return trial


def fading_rejects(agents: int, correlation: float) -> Trial:
    def trial(rng: np.random.Generator) -> bool:
        series = populations.chains(rng, agents, PHASE2_TURNS, populations.CENTRE, correlation)
        return _reaches(estimators.ri_ext(series, rng).p)

    return trial


def _arms(rng: np.random.Generator, shares: Floats, sizes: tuple[int, int], rho: float) -> tuple[Floats, Floats]:
    return (
        populations.counts(rng, populations.STAGE1, sizes[0], rho, TURNS),
        populations.counts(rng, shares, sizes[1], rho, TURNS),
    )


def _rows(agents: Sequence[AgentOf], entropy: Floats, excess: Floats) -> list[dict[str, object]]:
    return [
        {
            **agent._asdict(),
            "agent": str(at),
            "window": window + 1,
            "h_norm": float(entropy[at, window]),
            "id_excess": float(excess[at, window]),
        }
        for at, agent in enumerate(agents)
        for window in range(entropy.shape[1])
    ]


def _reaches(p: float | None) -> bool:
    return p is not None and p <= ALPHA + 1e-12
