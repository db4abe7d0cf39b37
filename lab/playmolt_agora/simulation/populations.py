"""Data as a study of the white room's design would give them, drawn from a population that is known."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from playmolt_agora.measures.divergence import Bools, Floats, jsd
from playmolt_agora.measures.inference.hypotheses import ARCHIVIST, JESTER, AgentOf

STAGE1: Final = np.array([0.10, 0.52, 0.25, 0.04, 0.03, 0.06])
PHASE1: Final = np.array([0.48, 0.002, 0.363, 0.12, 0.005, 0.03])
"""Shares of actions like those of the golden example; their divergence is .38."""
RUN_SD: Final = 0.02
SHARE_SD: Final = 0.05
AGENT_SD: Final = 0.05
SLOPE_SD: Final = 0.014
CENTRE: Final = 0.30
"""RI* of a study in which neither factor matters."""


def between(divergence: float) -> Floats:
    """Shares on the way from STAGE1 to PHASE1 whose divergence from STAGE1 is as given; at most `most_divergence()`."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(jsd(STAGE1, _mixed(middle))) < divergence else (low, middle)
    return _mixed(high)


def most_divergence() -> float:
    """The largest that `between` can give."""
    return float(jsd(STAGE1, PHASE1))


def _mixed(share: float) -> Floats:
    return np.asarray(STAGE1 + share * (PHASE1 - STAGE1))


def counts(rng: np.random.Generator, shares: Floats, runs: int, rho: float, turns: int) -> Floats:
    """Counts of actions (runs, 6); `rho` is the correlation of turns inside a run, 0 for independent ones."""
    own = rng.dirichlet(shares * (1 - rho) / rho, size=runs) if rho else np.tile(shares, (runs, 1))
    return rng.multinomial(turns, own).astype(np.float64)


def evenly(groups: Sequence[str], spread: float) -> Floats:
    """What each agent's group adds: the highest less the lowest is `spread`, the others are evenly spaced between."""
    names, own = np.unique(groups, return_inverse=True)
    return np.asarray(np.linspace(-spread / 2, spread / 2, len(names))[own])


def rates(
    agents: Sequence[AgentOf], model: float, persona: float, sd: float, turns: int
) -> Callable[[np.random.Generator], Floats]:
    """Draws of RI* of agents whose models and personas differ by so much; each agent has its own deviation (`sd`)."""
    models, personas = [agent.model for agent in agents], [str(agent.persona) for agent in agents]
    mean = CENTRE + evenly(models, model) + evenly(personas, persona)

    def draw(rng: np.random.Generator) -> Floats:
        rate = np.clip(mean + sd * rng.standard_normal(mean.size), 0.01, 0.99)
        return np.asarray(rng.binomial(turns, rate) / turns, dtype=np.float64)

    return draw


def drift(
    agents: Sequence[AgentOf], windows: int, *, models: float, agent_sd: float = AGENT_SD, slope_sd: float = SLOPE_SD
) -> Callable[[np.random.Generator, float, float], tuple[Floats, Floats]]:
    """Draws of entropy and excess drift (agents, windows): the Jester is `level` above the Archivist, which drifts by
    `drifting` more a window.

    An agent's entropy is its persona's and model's, a deviation of its own (`agent_sd`), one of its run, and a slope of
    its persona in that run (`slope_sd`). Its excess drift from window 2 on has an independent deviation each window.
    """
    of_model = evenly([agent.model for agent in agents], 2 * models)
    runs = sorted({agent.run for agent in agents})
    groups = sorted({(agent.run, str(agent.persona)) for agent in agents})
    run = np.array([runs.index(agent.run) for agent in agents])
    group = np.array([groups.index((agent.run, str(agent.persona))) for agent in agents])
    jester, archivist = (
        np.array([agent.persona == name for agent in agents], dtype=np.float64) for name in (JESTER, ARCHIVIST)
    )

    def draw(rng: np.random.Generator, level: float, drifting: float) -> tuple[Floats, Floats]:
        place = np.arange(windows) - (windows - 1) / 2
        own = agent_sd * rng.standard_normal(len(agents)) + RUN_SD * rng.standard_normal(len(runs))[run]
        slope = slope_sd * rng.standard_normal(len(groups))[group]
        mean = 0.7 + of_model + level * (jester - archivist) / 2
        entropy = (mean + own)[:, None] + slope[:, None] * place
        excess = drifting * archivist[:, None] * np.arange(windows)
        excess = excess + agent_sd * rng.standard_normal((len(agents), windows))
        excess[:, 0] = 0.0
        return entropy, np.asarray(excess)

    return draw


def chains(rng: np.random.Generator, agents: int, turns: int, rate: float, correlation: float) -> list[Bools]:
    """Stationary 0/1 series, one an agent: each turn holds on to the one before with so much correlation."""
    state = rng.random(agents) < rate
    series = np.empty((agents, turns), dtype=np.bool_)
    for turn in range(turns):
        series[:, turn] = state
        kept = rng.random(agents) < correlation
        state = np.where(kept, state, rng.random(agents) < rate)
    return list(series)
