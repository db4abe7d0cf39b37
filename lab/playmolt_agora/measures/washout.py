"""Persona washout: how much a persona still shows, window by window (`measures.md`, section 6)."""

from math import prod
from typing import Final

import numpy as np
from playmolt_schemas.instrument.definitions import SMOOTHING

from playmolt_agora.measures.data.frame import Frame
from playmolt_agora.measures.data.results import Result, number
from playmolt_agora.measures.divergence import Floats, count_jsd, jsd_parts
from playmolt_agora.measures.drift import longest, numbered
from playmolt_agora.measures.inference import permutation
from playmolt_agora.measures.inference.streams import stream

_MOST_WORK: Final = 50_000_000
"""Additions for one action of one window: a tenth of a second."""


def rows(turns: Frame, seed: str) -> list[Result]:
    """The table `washout`: each persona of a model against the same model without one, in one language."""
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
    if max(_work(action, turns, first) for action in agents.T) > _MOST_WORK:
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


def _work(action: Floats, turns: Floats, chosen: int) -> int:
    return prod(_span(action, turns, chosen)) * (chosen + 1) * len(turns)


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
