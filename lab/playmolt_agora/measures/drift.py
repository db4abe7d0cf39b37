"""Instruction Drift: how far a persona's acting moves from its first window, and whether what it says keeps its mark
(`measures.md`, section 6)."""

import re
from typing import Final

import numpy as np
from playmolt_schemas.instrument.definitions import ERROR_PARTS, MARKS, PERMUTATIONS, SMOOTHING, windows
from playmolt_schemas.instrument.lexicon import plain

from playmolt_agora.measures.data.frame import SPEAK, WHISPER, Frame, Integers
from playmolt_agora.measures.data.results import Result, number, ratio
from playmolt_agora.measures.divergence import Floats, count_jsd, miller_madow, normed_entropy
from playmolt_agora.measures.inference.streams import stream

ROLLING_TURNS: Final = 20
ROLLING_STEP: Final = 5


def numbered(turns: Frame) -> Integers:
    """Each turn's window from 0; none is shorter at the end."""
    planned = np.array([seat.turns_planned for seat in turns.seats], dtype=np.int64)
    count = np.array([windows(seat.turns_planned) for seat in turns.seats], dtype=np.int64)
    return (turns.turn - 1) * count[turns.seat] // planned[turns.seat]


def longest(turns: Frame) -> int:
    """Count the windows of the run with the most of them; 0 without runs."""
    return max((windows(seat.turns_planned) for seat in turns.seats), default=0)


def of_persona(turns: Frame, seed: str) -> list[Result]:
    """The windows of one persona's agents in one run, pooled; null where there is no valid turn.

    `id_excess` is the divergence beyond what rearranging gives; it may be negative.
    """
    seat = turns.seats[0]
    counts, null = _windows(turns, stream(seed, "id_null", seat.run, seat.persona or ""))
    found = []
    for place, (row, mean) in enumerate(zip(counts, null.mean(axis=0), strict=True)):
        n, raw = int(row.sum()), _raw(counts[0], row, first_window=place == 0)
        expected = None if raw is None else number(mean)
        excess = None if raw is None or expected is None else raw - expected
        figures = {"window": place + 1, "n": n, "h": miller_madow(row), "h_norm": normed_entropy(row), "id_raw": raw,
                   "id_null": expected, "id_excess": excess}  # fmt: skip
        keys = seat.of("run", "language", "persona", "condition")
        found.append(Result({**keys, **figures}, runs=(seat.run,), n=n, unit="turn", alpha=SMOOTHING))
    return found


def of_agent(turns: Frame, seed: str) -> tuple[Floats, Floats]:
    """One agent's normed entropy by window, and its excess drift where each tenth of the null's draws is left out.

    The second is (11, windows): all draws first. NaN where a window has no valid turn.
    """
    seat = turns.seats[0]
    counts, null = _windows(turns, stream(seed, "id_null", seat.run, seat.persona or "", seat.agent))
    entropy = [normed_entropy(row) for row in counts]
    raw = [_raw(counts[0], row, first_window=place == 0) for place, row in enumerate(counts)]
    parts = null.reshape(ERROR_PARTS, -1, null.shape[1]).sum(axis=1)
    rest = (parts.sum(axis=0) - parts) / (PERMUTATIONS - PERMUTATIONS // ERROR_PARTS)
    means = np.concatenate([null.mean(axis=0)[None], rest])
    return np.array(entropy, dtype=np.float64), np.array(raw, dtype=np.float64) - means


def _windows(turns: Frame, generator: np.random.Generator) -> tuple[Integers, Floats]:
    """Counts by window, and the divergences of windows under each rearrangement."""
    total = windows(turns.seats[0].turns_planned)
    at = numbered(turns)
    return turns.counts(at, total), _null(turns, at, total, generator)


def by_persona(turns: Frame) -> dict[tuple[str, str | None], Frame]:
    """Split the runs of Phase 2 by persona; without one, all agents of a run go together."""
    played = turns.where(lambda seat: seat.phase == "phase2")
    return played.groups(lambda seat: (seat.run, seat.persona))


def rows(turns: Frame, seed: str) -> list[Result]:
    """The table `drift`."""
    return [row for group in by_persona(turns).values() for row in of_persona(group, seed)]


def rolling(turns: Frame) -> list[Result]:
    """The picture of entropy over 20 turns in steps of 5: the table `rolling`, by run and persona."""
    return [row for group in by_persona(turns).values() for row in _rolling(group)]


def by_model(turns: Frame) -> list[Result]:
    """Entropies by persona, window, model and language, pooled over runs: the table `entropy`."""
    played = turns.where(lambda seat: seat.phase == "phase2")
    groups = played.groups(lambda seat: (seat.persona, seat.model, seat.language))
    ordered = sorted(groups.items(), key=lambda item: (item[0][0] or "", *item[0][1:]))
    return [row for key, group in ordered for row in _entropies(key, group)]


def _entropies(key: tuple[str | None, str, str], group: Frame) -> list[Result]:
    counts = group.counts(numbered(group), longest(group))
    return [
        Result(
            {
                **dict(zip(("persona", "model", "language"), key, strict=True)),
                "window": place,
                "n": int(row.sum()),
                "h_norm": normed_entropy(row),
            },
            runs=group.runs,
            n=int(row.sum()),
            unit="turn",
        )
        for place, row in enumerate(counts, 1)
    ]


def _rolling(group: Frame) -> list[Result]:
    seat = group.seats[0]
    last = max(1, seat.turns_planned - ROLLING_TURNS + 1)
    found = []
    for start in range(1, last + 1, ROLLING_STEP):
        row = group.pooled((group.turn >= start) & (group.turn < start + ROLLING_TURNS))
        figures = {"first_turn": start, "n": int(row.sum()), "h_norm": normed_entropy(row)}
        found.append(
            Result(
                {**seat.of("run", "language", "persona"), **figures},
                runs=(seat.run,),
                n=int(row.sum()),
                unit="turn",
            )
        )
    return found


def _raw(first: Integers, row: Integers, *, first_window: bool) -> float | None:
    if not (first.sum() and row.sum()):
        return None
    return 0.0 if first_window else float(count_jsd(row, first, SMOOTHING))


def _null(turns: Frame, at: Integers, total: int, generator: np.random.Generator) -> Floats:
    """Divergence of each window (draws, windows) when each agent's own valid actions change their turns at random."""
    counts = np.zeros((PERMUTATIONS, total * turns.k), dtype=np.int64)
    draws = np.arange(PERMUTATIONS)[:, None]
    for seat in range(len(turns.seats)):
        own = turns.valid & (turns.seat == seat)
        actions = generator.permuted(np.tile(turns.action[own], (PERMUTATIONS, 1)), axis=1)
        flat = draws * total * turns.k + at[own] * turns.k + actions
        counts += np.bincount(flat.ravel(), minlength=counts.size).reshape(counts.shape)
    laid = counts.reshape(PERMUTATIONS, total, turns.k)
    return np.asarray(count_jsd(laid, laid[:, :1], SMOOTHING), dtype=np.float64)


def marked(content: str, persona: str, language: str) -> bool:
    """Whether an utterance carries the persona's mark; False for a persona or language without one."""
    pattern = MARKS.get((persona, language))
    return pattern is not None and re.search(pattern, plain(content), re.IGNORECASE) is not None


def adherence(turns: Frame) -> list[Result]:
    """The table `adherence`: utterances and marked ones by run, persona and window of Phase 2."""
    played = turns.where(lambda seat: seat.phase == "phase2" and (seat.persona, seat.language) in MARKS)
    groups = played.groups(lambda seat: (seat.run, seat.language, seat.persona or ""))
    return [row for key, group in groups.items() for row in _adherences(key, group)]


def _adherences(key: tuple[str, str, str], group: Frame) -> list[Result]:
    run, language, persona = key
    spoken = group.valid & np.isin(group.action, (SPEAK, WHISPER))
    held = np.array([marked(text or "", persona, language) for text in group.content], dtype=np.bool_)
    windows = numbered(group)
    total = [np.bincount(windows[mask], minlength=longest(group)) for mask in (spoken, spoken & held)]
    return [
        Result(
            {
                "run": run,
                "language": language,
                "persona": persona,
                "window": window,
                "utterances": int(said),
                "marked": int(with_mark),
                "share": ratio(with_mark, said),
            },
            runs=(run,),
            n=int(said),
            unit="turn",
        )
        for window, (said, with_mark) in enumerate(zip(*total, strict=True), 1)
    ]
