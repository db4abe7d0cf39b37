"""How far lexicon, judges and people agree on what thoughts name: the table `kappa` (`measures.md`, section 4)."""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Final

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from playmolt_schemas.instrument.definitions import INTERVAL_RUNS, TIE
from playmolt_schemas.instrument.lexicon import Cues, dissoc
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures.data.results import Result
from playmolt_agora.measures.divergence import Floats, Integers
from playmolt_agora.measures.inference import resampling
from playmolt_agora.measures.inference.resampling import Interval
from playmolt_agora.measures.inference.streams import stream

LEXICON: Final = "lexicon"
_SCALES: Final[Mapping[str, tuple[object, ...]]] = {
    "survival": (False, True),
    "social": (False, True),
    "code": ("A", "B", "C", "U"),
}

Place = tuple[str, str, int]
"""Run, agent and turn."""
CoderLabels = dict[Place, int]
"""A coder's labels of thoughts, as places on a scale."""


class CodedThought(msgspec.Struct, frozen=True):
    """What a coder says of the thought of a turn; None is not coded."""

    coder: str
    place: Place
    survival: bool | None
    social: bool | None


def kappa(
    turns: Iterable[TurnRecord], codings: Iterable[CodedThought], seed: str, copies: Collection[str] = ()
) -> list[Result]:
    """Agreement of every pair of coders beyond chance, over the turns that both coded; none without codings.

    `turns` are those whose thoughts can be coded. Coders come in the order of their codings, the lexicon before them.
    The interval is the percentile bootstrap over runs, null below three. The runs of `copies` are identical to others
    and do not count.
    """
    known = {(turn.run, turn.agent, turn.turn): turn for turn in turns if turn.run not in copies}
    lexicon = [CodedThought(LEXICON, place, turn.cue_s, turn.cue_o) for place, turn in known.items()]
    coded = [coding for coding in codings if coding.place in known]
    labels: dict[str, dict[str, CoderLabels]] = {label: {} for label in _SCALES}
    for coding in (*lexicon, *coded) if coded else ():
        for label, value in _labels(coding, known[coding.place]).items():
            of_coder = labels[label].setdefault(coding.coder, {})
            if value is not None:
                of_coder[coding.place] = _SCALES[label].index(value)
    return [
        _row(label, (one, other), coders[one], coders[other], seed)
        for label, coders in labels.items()
        for one, other in combinations(coders, 2)
    ]


def _labels(coding: CodedThought, turn: TurnRecord) -> dict[str, object]:
    survival, social, code = coding.survival, coding.social, None
    if survival is not None and social is not None:
        cues = Cues(s=survival, o=social)
        code = dissoc(cues, valid=True, action=turn.action_base, target=turn.target)
    return {"survival": survival, "social": social, "code": code}


def _row(label: str, coders: tuple[str, str], one: CoderLabels, other: CoderLabels, seed: str) -> Result:
    both = [place for place in one if place in other]
    runs = {run: at for at, run in enumerate(sorted({run for run, _, _ in both}))}
    counts = np.zeros((len(runs), len(_SCALES[label]), len(_SCALES[label])), dtype=np.int64)
    for place in both:
        counts[runs[place[0]], one[place], other[place]] += 1
    whole = counts.sum(axis=0)
    span = Interval()
    if len(runs) >= INTERVAL_RUNS:
        drawn = resampling.drawn_sums(stream(seed, "kappa", label, *coders), counts)
        span = resampling.bootstrapped(_kappas(drawn), len(runs))
    row = {
        "label": label,
        "coder_a": coders[0],
        "coder_b": coders[1],
        "n": len(both),
        "agree": float(np.trace(whole) / len(both)) if both else None,
        "kappa": cohens_kappa(whole),
        **span.named("ci"),
    }
    return Result(row, runs=tuple(runs), n=len(both), unit="turn")


def cohens_kappa(matrix: ArrayLike) -> float | None:
    """Agreement of two coders beyond chance, from their square table of counts; None for no counts or p_e = 1."""
    found = float(_kappas(np.asarray(matrix)[None])[0])
    return None if np.isnan(found) else found


def _kappas(counts: Integers | Floats) -> Floats:
    """Cohen's κ of many square tables; NaN for no counts and where chance makes agreement certain."""
    total = counts.sum(axis=(1, 2)).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(counts, axis1=1, axis2=2) / total
        expected = np.einsum("ij,ij->i", counts.sum(axis=1), counts.sum(axis=2)) / total**2
        return np.asarray(np.where(1 - expected <= TIE, np.nan, (observed - expected) / (1 - expected)))
