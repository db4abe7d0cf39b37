"""Persona washout: how much a persona still shows, window by window (`measures.md`, section 6)."""

from math import prod
from typing import Final

import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import SMOOTHING

from playmolt_agora.measures.data.frame import counts
from playmolt_agora.measures.data.results import Result, rows_of
from playmolt_agora.measures.divergence import Floats, count_jsd, jsd_parts
from playmolt_agora.measures.drift import longest
from playmolt_agora.measures.inference import permutation
from playmolt_agora.measures.inference.streams import stream

_MOST_WORK: Final = 50_000_000
"""Additions for one action of one window: a tenth of a second."""


def rows(turns: pl.DataFrame, seed: str) -> list[Result]:
    """The table `washout`: each persona of a model against the same model without one, in one language."""
    found: list[Result] = []
    without = pl.col("condition") == "no_persona"
    groups = turns.filter(phase="phase2").partition_by("language", "model", as_dict=True)
    for (language, model), group in groups.items():
        off, on = group.filter(without), group.filter(~without).with_columns(pl.col("persona").fill_null(""))
        for persona in on["persona"].unique().sort():
            key = {"language": language, "model": model, "persona": persona}
            found += _rows(key, on.filter(persona=persona), off, stream(seed, "pw_null", *key.values()))
    return found


def divergences(on: Floats, off: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """The divergence of each window with its null, the mean over all relabelings of the agents.

    Takes counts (agents, windows, K); NaN where a window lacks a side. The mean is exact, but for so many agents (about
    a hundred) that summing up takes too long: then as the tests do it, over 10,000 drawn relabelings.
    """
    observed = _jsd(on.sum(axis=0), off.sum(axis=0))
    agents = np.concatenate([on, off])
    null = [
        np.nan if np.isnan(value) else _null(agents[:, window], len(on), generator)
        for window, value in enumerate(observed)
    ]
    return observed, np.array(null, dtype=np.float64)


def _null(agents: Floats, chosen: int, generator: np.random.Generator) -> float:
    """Mean over all relabelings of a window's counts (agents, K); one that leaves a side without turns has no value.

    Given the turns of the first side, an action's part of the divergence depends on its own count alone. So relabelings
    need not be listed: those with equal sums count together.
    """
    first = min(chosen, len(agents) - chosen)
    turns = agents.sum(axis=1)
    most = max(prod(_span(action, turns, first)) for action in agents.T)
    if most * (first + 1) * len(turns) > _MOST_WORK:
        inside, _ = permutation.members(len(agents), first, generator)
        return float(np.nanmean(_jsd(inside @ agents, (1 - inside) @ agents)))
    weighted, total, k = 0.0, 0.0, agents.shape[1]
    for action in agents.T:
        own, n, ways = _sums(action, turns, first)
        both = (n > 0) & (n < turns.sum())
        left = (own + SMOOTHING) / (n + SMOOTHING * k)
        right = (action.sum() - own + SMOOTHING) / (turns.sum() - n + SMOOTHING * k)
        weighted += float((ways * jsd_parts(left, right))[both].sum())
        total = float(ways[both].sum())
    return weighted / total


def _sums(action: Floats, turns: Floats, chosen: int) -> tuple[Floats, Floats, Floats]:
    """Each pair of sums, of an action and of all turns, that so many agents can have, and how many ways to it."""
    ways = np.zeros((chosen + 1, *_span(action, turns, chosen)))
    ways[0, 0, 0] = 1
    steps = np.stack([action - action.min(), turns - turns.min()], axis=1).astype(np.int64)
    for own, n in steps:
        here = ways[:-1, : ways.shape[1] - own, : ways.shape[2] - n].copy()
        ways[1:, own:, n:] += here
    own, n = np.nonzero(ways[-1])
    return own + chosen * action.min(), n + chosen * turns.min(), ways[-1, own, n]


def _span(action: Floats, turns: Floats, chosen: int) -> tuple[int, int]:
    """How many values the sums can take beyond that of the lowest counts."""
    own, n = (int(np.sort(each - each.min())[-chosen:].sum()) + 1 for each in (action, turns))
    return own, n


def _jsd(one: Floats, other: Floats) -> Floats:
    empty = (one.sum(axis=-1) == 0) | (other.sum(axis=-1) == 0)
    return np.where(empty, np.nan, count_jsd(one, other, SMOOTHING))


def _rows(key: dict[str, str], on: pl.DataFrame, off: pl.DataFrame, generator: np.random.Generator) -> list[Result]:
    runs = tuple(sorted({*on["run"], *off["run"]}))
    total = max(longest(on), longest(off))
    one, other = (_by_agent(side, total) for side in (on, off))
    raw, null = divergences(one, other, generator)
    n_on, n_off = (each.sum(axis=(0, 2)).astype(np.int64) for each in (one, other))
    figures = {"window": np.arange(1, total + 1), "n_on": n_on, "n_off": n_off}
    figures |= {"pw": raw, "pw_null": null, "pw_excess": raw - null}
    return rows_of(key, figures, n=n_on + n_off, runs=runs, unit="agent", alpha=SMOOTHING)


def _by_agent(side: pl.DataFrame, total: int) -> Floats:
    agents = side["seat"].n_unique()
    found = counts(side, side["seat"].rle_id().cast(pl.Int64) * total + side["window"], agents * total)
    return found.reshape(agents, total, found.shape[1]).astype(np.float64)
