"""Instruction Drift: how far a persona's acting moves from its first window, and whether what it says keeps its mark
(`measures.md`, section 6)."""

import re
from typing import Final

import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import ERROR_PARTS, MARKS, PERMUTATIONS, SMOOTHING
from playmolt_schemas.instrument.lexicon import plain

from playmolt_agora.measures.data.frame import counts, names_of
from playmolt_agora.measures.data.results import Result, rows_of
from playmolt_agora.measures.divergence import Floats, Integers, count_jsd, miller_madow, normed_entropy
from playmolt_agora.measures.inference.streams import stream

ROLLING_TURNS: Final = 20
ROLLING_STEP: Final = 5


def longest(turns: pl.DataFrame) -> int:
    """Count the windows of the run with the most of them; 0 without runs."""
    found: int | None = turns.select(pl.col("windows").max()).item()
    return found or 0


def by_window(turns: pl.DataFrame, total: int | None = None) -> Integers:
    """Count valid actions by window, `total` or as many as there are: (windows, K)."""
    return counts(turns, turns["window"], longest(turns) if total is None else total)


def by_persona(turns: pl.DataFrame) -> list[pl.DataFrame]:
    """Split the runs of Phase 2 by persona; without one, all agents of a run go together."""
    return turns.filter(phase="phase2").partition_by("run", "persona")


def rows(turns: pl.DataFrame, seed: str) -> list[Result]:
    """The table `drift`."""
    return [row for group in by_persona(turns) for row in of_persona(group, seed)]


def of_persona(turns: pl.DataFrame, seed: str) -> list[Result]:
    """The windows of one persona's agents in one run, pooled; null where there is no valid turn.

    `id_excess` is the divergence beyond what rearranging gives; it may be negative.
    """
    keys = turns.select("run", "language", "persona", "condition").row(0, named=True)
    found = by_window(turns)
    n, raw = found.sum(axis=1), _raw(found)
    null = _null(turns, len(found), stream(seed, "id_null", keys["run"], keys["persona"] or "")).mean(axis=0)
    figures = {
        "window": np.arange(1, len(found) + 1),
        "n": n,
        "h": miller_madow(found),
        "h_norm": normed_entropy(found),
        "id_raw": raw,
        "id_null": np.where(np.isnan(raw), np.nan, null),
        "id_excess": raw - null,
    }
    return rows_of(keys, figures, n=n, runs=(keys["run"],), alpha=SMOOTHING)


def of_agent(turns: pl.DataFrame, seed: str, total: int) -> tuple[Floats, Floats]:
    """One agent's normed entropy in `total` windows, and its excess drift where each tenth of the null's draws is left
    out.

    The second is (11, windows): all draws first. NaN where a window has no valid turn.
    """
    run, persona, agent = turns.select("run", "persona", "agent").row(0)
    found = by_window(turns, total)
    null = _null(turns, total, stream(seed, "id_null", run, persona or "", agent))
    parts = null.reshape(ERROR_PARTS, -1, null.shape[1]).sum(axis=1)
    rest = (parts.sum(axis=0) - parts) / (PERMUTATIONS - PERMUTATIONS // ERROR_PARTS)
    return normed_entropy(found), _raw(found) - np.concatenate([null.mean(axis=0)[None], rest])


def _raw(found: Integers) -> Floats:
    """The divergence of each window from the first, 0 for that; NaN where one of the two has no valid turn."""
    raw = np.asarray(count_jsd(found, found[:1], SMOOTHING), dtype=np.float64)
    raw[:1] = 0.0
    n = found.sum(axis=1)
    return np.where((n > 0) & (n[:1] > 0), raw, np.nan)


def _null(turns: pl.DataFrame, total: int, generator: np.random.Generator) -> Floats:
    """Divergence of each window (draws, windows) when each agent's own valid actions change their turns at random."""
    k = len(names_of(turns, "action"))
    found = np.zeros((PERMUTATIONS, total * k), dtype=np.int64)
    draws = np.arange(PERMUTATIONS)[:, None]
    for agent in turns.partition_by("seat"):
        own = agent.filter("valid").select(pl.col("window"), pl.col("action").to_physical().cast(pl.Int64))
        actions = generator.permuted(np.tile(own["action"].to_numpy(), (PERMUTATIONS, 1)), axis=1)
        flat = draws * total * k + own["window"].to_numpy() * k + actions
        found += np.bincount(flat.ravel(), minlength=found.size).reshape(found.shape)
    laid = found.reshape(PERMUTATIONS, total, k)
    return np.asarray(count_jsd(laid, laid[:, :1], SMOOTHING), dtype=np.float64)


def rolling(turns: pl.DataFrame) -> list[Result]:
    """The picture of entropy over 20 turns in steps of 5: the table `rolling`, by run and persona."""
    return [row for group in by_persona(turns) for row in _rolling(group)]


def _rolling(group: pl.DataFrame) -> list[Result]:
    keys = group.select("run", "language", "persona").row(0, named=True)
    by_turn = counts(group, group["turn"] - 1, group.select(pl.col("turn").max()).item())
    starts = np.arange(0, max(1, group["turns_planned"][0] - ROLLING_TURNS + 1), ROLLING_STEP)
    found = np.array([by_turn[start : start + ROLLING_TURNS].sum(axis=0) for start in starts])
    n = found.sum(axis=1)
    figures = {"first_turn": starts + 1, "n": n, "h_norm": normed_entropy(found)}
    return rows_of(keys, figures, n=n, runs=(keys["run"],))


def by_model(turns: pl.DataFrame) -> list[Result]:
    """Entropies by persona, window, model and language, pooled over runs: the table `entropy`."""
    rows: list[Result] = []
    for group in (
        turns.filter(phase="phase2").sort("persona", "model", "language").partition_by("persona", "model", "language")
    ):
        keys = group.select("persona", "model", "language").row(0, named=True)
        found = by_window(group)
        n = found.sum(axis=1)
        figures = {"window": np.arange(1, len(found) + 1), "n": n, "h_norm": normed_entropy(found)}
        rows += rows_of(keys, figures, n=n, runs=tuple(group["run"].unique().sort()))
    return rows


def marked(content: str, persona: str, language: str) -> bool:
    """Whether an utterance carries the persona's mark; False for a persona or language without one."""
    pattern = MARKS.get((persona, language))
    return pattern is not None and re.search(pattern, plain(content), re.IGNORECASE) is not None


def adherence(turns: pl.DataFrame) -> list[Result]:
    """The table `adherence`: utterances and marked ones by run, persona and window of Phase 2."""
    found = []
    for group in turns.filter(phase="phase2").partition_by("run", "language", "persona"):
        keys = group.select("run", "language", "persona").row(0, named=True)
        if (keys["persona"], keys["language"]) in MARKS:
            found += _adherence(keys, group)
    return found


def _adherence(keys: dict[str, str], group: pl.DataFrame) -> list[Result]:
    spoken = group.filter(pl.col("valid") & pl.col("action").is_in(["speak", "whisper"]))
    held = [marked(text or "", keys["persona"], keys["language"]) for text in spoken["content"]]
    sides = spoken["window"], spoken["window"].filter(pl.Series(held, dtype=pl.Boolean))
    said, marks = (np.bincount(side, minlength=group["windows"][0]) for side in sides)
    share = marks / np.where(said, said, np.nan)
    figures = {"window": np.arange(1, len(said) + 1), "utterances": said, "marked": marks, "share": share}
    return rows_of(keys, figures, n=said, runs=(keys["run"],))
