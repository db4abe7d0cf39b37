"""Acts for gain that gain nothing: the Ritual Index and whether it fades (`measures.md`, section 5)."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import PERMUTATIONS

from playmolt_agora.measures.data.frame import IN_SETS, POSSIBLE, RITUAL
from playmolt_agora.measures.data.results import Result, number
from playmolt_agora.measures.divergence import Bools, Floats
from playmolt_agora.measures.inference import logit, permutation
from playmolt_agora.measures.inference.hypotheses import AgentOf
from playmolt_agora.measures.inference.permutation import Exchange, Test
from playmolt_agora.measures.inference.streams import stream

Group = Literal["model", "persona"]


class Rate(NamedTuple):
    """An agent's RI* in a run of Set A or B."""

    run: str
    model: str
    persona: str
    ri_star: float


class RiExt(NamedTuple):
    """The slope of earlier rituals, its null's mean, what it is beyond that, and the two-sided p."""

    beta: float | None
    beta_null: float | None = None
    beta_excess: float | None = None
    p: float | None = None


def test(turns: pl.DataFrame, group: Group, seed: str) -> tuple[Test, tuple[str, ...]]:
    """Test RI* of models or personas over the agents of Sets A and B: the test and its runs."""
    rates = (
        turns.filter(IN_SETS, pl.col("persona").is_not_null(), "valid")
        .group_by("seat", "run", "model", "persona", maintain_order=True)
        .agg(ri_star=RITUAL.mean())
    )
    agents = [Rate(*row) for row in rates.select(Rate._fields).iter_rows()]
    return exchanged(agents, group, stream(seed, f"ri_star:{group}")), tuple(rates["run"].unique().sort())


def exchanged(agents: Sequence[Rate], group: Group, generator: np.random.Generator) -> Test:
    """The test of a factor over agents' RI*; None where there are not two groups."""
    exchange = exchange_of(agents, group)
    if exchange.empty:
        return Test()
    return exchange.test(np.array([agent.ri_star for agent in agents], dtype=np.float64), generator)


def exchange_of(agents: Sequence[Rate | AgentOf], group: Group) -> Exchange:
    """The arrangements of a factor's labels among the agents of a run that share the other factor, which then stays as
    the design has it; whatever the agents' RI*."""
    other: Group = "persona" if group == "model" else "model"
    return Exchange(
        [agent.run for agent in agents],
        [getattr(agent, other) for agent in agents],
        [getattr(agent, group) for agent in agents],
    )


def fading(turns: pl.DataFrame, seed: str) -> list[Result]:
    """The table `ri_ext`: the slope of each model in each set, and how far it exceeds its null."""
    groups = turns.filter(pl.col("set").is_not_null()).partition_by("set", "model", as_dict=True)
    return [_fading(set_, model, group, seed) for (set_, model), group in groups.items()]


def _fading(set_: str, model: str, group: pl.DataFrame, seed: str) -> Result:
    could = group.filter(POSSIBLE).select("seat", "run", ritual=RITUAL).partition_by("seat")
    agents = [(own["run"][0], own["ritual"].to_numpy()) for own in could]
    kept = [(run, history) for run, history in agents if varies(history)]
    runs = tuple(group["run"].unique().sort())
    slopes = [slope(history for run, history in kept if run != left) for left in runs if len(runs) > 1]
    left_out = [value for value in slopes if value is not None]
    found = ri_ext([history for _, history in kept], stream(seed, "ri_ext", set_, model))
    return Result(
        {
            "set": set_,
            "model": model,
            "agents": group["seat"].n_unique(),
            "agents_kept": len(kept),
            "beta": found.beta,
            "beta_loro_min": min(left_out, default=None),
            "beta_loro_max": max(left_out, default=None),
            "beta_null": found.beta_null,
            "beta_excess": found.beta_excess,
            "p_perm": found.p,
        },
        runs=runs,
        n=sum(len(history) for _, history in kept),
        unit="turn",
    )


def varies(history: Bools) -> bool:
    """Whether an agent's history holds both a ritual and its absence."""
    return bool(history.any() and not history.all())


def slope(histories: Iterable[Bools]) -> float | None:
    """Β of agents' histories of rituals; agents whose history never varies are dropped."""
    kept = [history for history in histories if varies(history)]
    if not kept:
        return None
    y, there = logit.padded(kept)
    return number(logit.slopes(y[None], there)[0])


def ri_ext(histories: Iterable[Bools], generator: np.random.Generator) -> RiExt:
    """The slope with its null and p; these are None where either has no value."""
    kept = [history for history in histories if varies(history)]
    beta = slope(kept)
    null = np.empty(0) if beta is None else _null(kept, generator)
    if beta is None or null.size == 0:
        return RiExt(beta)
    centre = float(null.mean())
    excess = beta - centre
    return RiExt(beta, centre, excess, permutation.drawn_p(np.abs(null - centre), abs(excess)))


def _null(kept: Sequence[Bools], generator: np.random.Generator) -> Floats:
    """Β of histories rotated by random offsets: what follows on what stays, only where it began is chance."""
    y, there = logit.padded(kept)
    drawn = np.zeros((PERMUTATIONS, *y.shape), dtype=np.bool_)
    for at, history in enumerate(kept):
        offsets = generator.integers(0, len(history), PERMUTATIONS)
        turned = (np.arange(len(history)) + offsets[:, None]) % len(history)
        drawn[:, at, : len(history)] = history[turned]
    values = logit.slopes(drawn, there)
    return np.asarray(values[~np.isnan(values)], dtype=np.float64)
