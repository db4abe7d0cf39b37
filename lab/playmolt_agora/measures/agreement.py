"""How far lexicon, judges and people agree on what thoughts name: the table `kappa` (`measures.md`, section 4)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    labels: dict[str, dict[str, dict[Place, object]]] = {name: {} for name in _SCALES}
    lexicon = [CodedThought(LEXICON, place, turn.cue_s, turn.cue_o) for place, turn in known.items()]
    coded = [coding for coding in codings if coding.place in known]
    for coding in (*lexicon, *coded) if coded else ():
        for name, value in _labels(coding, known[coding.place]):
            labels[name].setdefault(coding.coder, {})
            if value is not None:
                labels[name][coding.coder][coding.place] = value
    return list(_rows(labels, seed))


def _labels(coding: CodedThought, turn: TurnRecord) -> Iterator[tuple[str, object]]:
    yield "survival", coding.survival
    yield "social", coding.social
    if coding.survival is None or coding.social is None:
        yield "code", None
        return
    cues = Cues(s=coding.survival, o=coding.social)
    yield "code", dissoc(cues, valid=True, action=turn.action_base, target=turn.target)


def _rows(labels: Mapping[str, Mapping[str, Mapping[Place, object]]], seed: str) -> Iterator[Result]:
    for label, coders in labels.items():
        for one, other in combinations(coders, 2):
            both = [place for place in coders[one] if place in coders[other]]
            runs = tuple(sorted({run for run, _, _ in both}))
            counts = _by_run(
                runs, _SCALES[label], [(place[0], coders[one][place], coders[other][place]) for place in both]
            )
            whole = counts.sum(axis=0)
            span = _interval(counts, stream(seed, "kappa", label, one, other))
            row = {
                "label": label,
                "coder_a": one,
                "coder_b": other,
                "n": len(both),
                "agree": float(np.trace(whole) / len(both)) if both else None,
                "kappa": cohens_kappa(whole),
                **span.named("ci"),
            }
            yield Result(row, runs=runs, n=len(both), unit="turn")


def _by_run(runs: Sequence[str], scale: Sequence[object], said: Iterable[tuple[str, object, object]]) -> Integers:
    """What two coders said of the turns that both coded: runs × scale × scale."""
    numbers = {run: number for number, run in enumerate(runs)}
    counts = np.zeros((len(runs), len(scale), len(scale)), dtype=np.int64)
    for run, first, second in said:
        counts[numbers[run], scale.index(first), scale.index(second)] += 1
    return counts


def _interval(counts: Integers, generator: np.random.Generator) -> Interval:
    if len(counts) < INTERVAL_RUNS:
        return Interval()
    return resampling.bootstrapped(_kappas(resampling.drawn_sums(generator, counts)), len(counts))


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
