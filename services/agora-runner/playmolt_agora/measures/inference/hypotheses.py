"""H1 and H2 with runs as units (`measures.md`, section 7)."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from scipy.special import stdtr  # type: ignore[import-untyped]  # scipy ships no types

from playmolt_agora.measures import drift
from playmolt_agora.measures.data.definitions import LEVEL_MARGIN, TIE
from playmolt_agora.measures.data.frame import Frame
from playmolt_agora.measures.data.results import Result
from playmolt_agora.measures.divergence import Floats, normed_entropy
from playmolt_agora.measures.drift import Window
from playmolt_agora.measures.inference import permutation
from playmolt_agora.measures.inference.permutation import Test
from playmolt_agora.measures.inference.streams import stream

JESTER: Final = "jester"
ARCHIVIST: Final = "archivist"
MERCHANT: Final = "merchant"
PARTS: Final = ("H1a", "H1b", "H2a", "H2b")


class Figures(msgspec.Struct, frozen=True):
    """What the runs of Sets A and B say for each part, in their order; a run that says nothing is left out."""

    runs: tuple[str, ...]
    parts: dict[str, Floats]

    def means(self) -> dict[str, float | None]:
        """The statistic of each part: its mean over runs."""
        return {part: float(values.mean()) if values.size else None for part, values in self.parts.items()}


def figures(turns: Frame, seed: str) -> Figures:
    """H1a and H2a as differences of entropy, H1b of slopes of excess drift, H2b as Jester's slope, by run."""
    by_run = _in_sets(turns).groups(lambda seat: seat.run)
    values: dict[str, list[float]] = {part: [] for part in PARTS}
    for run in sorted(by_run):
        personas = by_run[run].groups(lambda seat: seat.persona)
        found = {name: drift.of_persona(group, seed) for name, group in personas.items()}
        for part, value in _run(found.get(JESTER, []), found.get(ARCHIVIST, [])).items():
            if value is not None:
                values[part].append(value)
    return Figures(tuple(sorted(by_run)), {part: np.array(listed) for part, listed in values.items()})


def parts(found: Figures, seed: str) -> dict[str, Test]:
    """Test the four parts: three by sign flips, H2b by equivalence with 0."""
    flips = {part: permutation.sign_flips(found.parts[part], stream(seed, part)) for part in ("H1a", "H1b", "H2a")}
    return {**flips, "H2b": Test(level_p(found.parts["H2b"]), None)}


def level_p(slopes: Sequence[float] | Floats) -> float | None:
    """The larger p of two one-sided t tests of the mean slope against ±0.02 a window; None below two runs.

    Slopes without any spread are level with p 0 inside the margin, and not (p 1) on it or outside.
    """
    values = np.asarray(slopes, dtype=np.float64)
    if values.size < 2:
        return None
    room = LEVEL_MARGIN - abs(float(values.mean()))
    error = float(values.std(ddof=1)) / values.size**0.5
    if error <= TIE * float(np.abs(values).max()):
        return 0.0 if room > TIE else 1.0
    return float(stdtr(values.size - 1, -room / error))


def slope(values: Sequence[float | None], first: int = 1) -> float | None:
    """Least-squares slope over window numbers, the first one given; None for fewer than two windows with a value."""
    points = [(place, value) for place, value in enumerate(values, first) if value is not None]
    if len(points) < 2:
        return None
    x, y = np.array(points, dtype=np.float64).T
    centred = x - x.mean()
    return float(centred @ y / (centred @ centred))


def shared_models(turns: Frame) -> list[Result]:
    """The table `shared_model`: models that play Jester and Archivist in one run, compared in the first window."""
    groups = _in_sets(turns).groups(lambda seat: (seat.run, seat.model))
    return [row for key in sorted(groups) if (row := _shared(*key, groups[key])) is not None]


def merchant_between(turns: Frame, seed: str) -> list[Result]:
    """Test by Page's L that mean entropy rises from Archivist over Merchant to Jester: the table `merchant`."""
    by_run = _in_sets(turns).groups(lambda seat: seat.run)
    ranked: dict[str, Floats] = {}
    for run in sorted(by_run):
        personas = by_run[run].groups(lambda seat: seat.persona)
        means = [_mean_entropy(personas.get(name)) for name in (ARCHIVIST, MERCHANT, JESTER)]
        if None not in means:
            ranked[run] = _ranks(np.array(means, dtype=np.float64))
    if not ranked:
        return []
    tested = permutation.page(list(ranked.values()), stream(seed, "merchant"))
    row = {"statistic": tested[0], "p": tested[1].p, "labelings": tested[1].labelings, "n": len(ranked)}
    return [Result(row, runs=tuple(ranked), n=len(ranked), unit="run")]


def _in_sets(turns: Frame) -> Frame:
    return turns.where(lambda seat: seat.set in {"A", "B"})


def _run(jester: list[Window], archivist: list[Window]) -> dict[str, float | None]:
    level = [each.h_norm for each in jester]
    wild, strict = ([each.id_excess for each in side[1:]] for side in (jester, archivist))
    return {
        "H1a": _minus(_first(jester), _first(archivist)),
        "H1b": _minus(slope(strict, 2), slope(wild, 2)),
        "H2a": _minus(_mean(level), _mean([each.h_norm for each in archivist])),
        "H2b": slope(level),
    }


def _first(found: list[Window]) -> float | None:
    return found[0].h_norm if found else None


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _shared(run: str, model: str, group: Frame) -> Result | None:
    personas = group.groups(lambda seat: seat.persona)
    if not {JESTER, ARCHIVIST} <= personas.keys():
        return None
    both = [personas[name] for name in (JESTER, ARCHIVIST)]
    first = [side.pooled(drift.numbered(side) == 0) for side in both]
    row: dict[str, Any] = {"run": run, "model": model, "contrast": _minus(*(normed_entropy(side) for side in first))}
    return Result(row, runs=(run,), n=int(sum(side.sum() for side in first)), unit="turn")


def _mean_entropy(group: Frame | None) -> float | None:
    if group is None:
        return None
    counts = group.counts(drift.numbered(group), drift.longest(group))
    return _mean([normed_entropy(row) for row in counts])


def _ranks(values: Floats) -> Floats:
    below = (values[:, None] > values).sum(axis=1)
    tied = (values[:, None] == values).sum(axis=1)
    return np.asarray(below + (tied + 1) / 2, dtype=np.float64)
