"""Persona washout: how much a persona still shows, window by window (`measures.md`, section 6)."""

import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import SMOOTHING

from playmolt_agora.measures.data.frame import counts
from playmolt_agora.measures.data.results import Result, rows_of
from playmolt_agora.measures.divergence import Floats, count_jsd
from playmolt_agora.measures.drift import longest
from playmolt_agora.measures.inference import permutation
from playmolt_agora.measures.inference.streams import stream


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

    Takes counts (agents, windows, K); NaN where a window lacks a side, in a relabeling, too. As in the tests, beyond
    50,000 relabelings 10,000 are drawn.
    """
    observed = _jsd(on.sum(axis=0), off.sum(axis=0))
    null = np.full_like(observed, np.nan)
    for window in np.flatnonzero(~np.isnan(observed)):
        values, _ = permutation.relabelled(on[:, window], off[:, window], _jsd, generator)
        null[window] = np.nanmean(values)
    return observed, null


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
