"""Persona washout: how much a persona still shows, window by window (`measures.md`, section 6)."""

import numpy as np

from playmolt_agora.measures import permutation
from playmolt_agora.measures.definitions import SMOOTHING
from playmolt_agora.measures.divergence import Floats, count_jsd
from playmolt_agora.measures.drift import longest, numbered
from playmolt_agora.measures.frame import Frame
from playmolt_agora.measures.results import Result, number
from playmolt_agora.measures.streams import stream


def rows(turns: Frame, seed: str) -> list[Result]:
    """Give the table `washout`: each persona of a model against the same model without one, in one language."""
    played = turns.where(lambda seat: seat.phase == "phase2")
    found: list[Result] = []
    for (language, model), group in played.groups(lambda seat: (seat.language, seat.model)).items():
        off = group.where(lambda seat: seat.condition == "no_persona")
        on = group.where(lambda seat: seat.condition != "no_persona").groups(lambda seat: seat.persona or "")
        for persona, with_it in sorted(on.items()):
            generator = stream(seed, "pw_null", language, model, persona)
            found += _rows((language, model, persona), with_it, off, generator)
    return found


def divergences(on: Floats, off: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Give the divergence of each window with its null, the mean over all relabelings of the agents.

    Takes counts (agents, windows, K); NaN where a window lacks a side.
    """
    agents = np.concatenate([on, off])
    inside, _ = permutation.members(len(agents), len(on), generator)
    null = _jsd(np.tensordot(inside, agents, axes=1), np.tensordot(1 - inside, agents, axes=1))
    observed = _jsd(on.sum(axis=0), off.sum(axis=0))
    defined = ~np.isnan(null)
    mean = np.where(defined, null, 0.0).sum(axis=0) / np.maximum(1, defined.sum(axis=0))
    return observed, np.where(np.isnan(observed), np.nan, mean)


def _jsd(one: Floats, other: Floats) -> Floats:
    empty = (one.sum(axis=-1) == 0) | (other.sum(axis=-1) == 0)
    return np.where(empty, np.nan, count_jsd(one, other, SMOOTHING))


def _rows(key: tuple[str, str, str], on: Frame, off: Frame, generator: np.random.Generator) -> list[Result]:
    total = max(longest(on), longest(off))
    one, other = (_by_agent(side, total) for side in (on, off))
    raw, null = divergences(one, other, generator)
    return [
        Result(
            {
                **dict(zip(("language", "model", "persona"), key, strict=True)),
                "window": place + 1,
                "n_on": int(one[:, place].sum()),
                "n_off": int(other[:, place].sum()),
                "pw": number(raw[place]),
                "pw_null": number(null[place]),
                "pw_excess": number(raw[place] - null[place]),
            },
            runs=tuple(sorted({*on.runs, *off.runs})),
            n=int(one[:, place].sum() + other[:, place].sum()),
            unit="agent",
            alpha=SMOOTHING,
        )
        for place in range(total)
    ]


def _by_agent(side: Frame, total: int) -> Floats:
    agents = len(side.seats)
    counts = side.counts(side.seat * total + numbered(side), agents * total)
    return counts.reshape(agents, total, side.k).astype(np.float64)
