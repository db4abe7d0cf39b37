"""Languages, personas and models compared (`measures.md`, section 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.measures.data.results import Result, number
from playmolt_agora.measures.divergence import Floats, shares
from playmolt_agora.measures.inference import resampling
from playmolt_agora.measures.inference.arms import TwoArms
from playmolt_agora.measures.inference.resampling import Interval
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.pcs import arm


@dataclass(frozen=True)
class Contrast(TwoArms):
    """Two arms: ko and en, with persona and without, or the two models that `model` joins by a slash."""

    contrast: str
    phase: str
    condition: str
    model: str

    @property
    def key(self) -> dict[str, str]:
        return {"contrast": self.contrast, "phase": self.phase, "condition": self.condition, "model": self.model}

    @property
    def paired(self) -> bool:
        """Whether both arms act in the same runs, which are then drawn together."""
        return self.first.runs == self.second.runs


_SIDES: Final = (
    ("language", "language", ("ko", "en"), ("phase", "condition", "model")),
    ("persona", "condition", ("with_persona", "no_persona"), ("phase", "language", "model")),
)


def found(turns: pl.DataFrame) -> list[Contrast]:
    """The language and persona contrasts with valid turns in both arms."""
    contrasts = []
    for contrast, column, sides, keys in _SIDES:
        for key, group in turns.partition_by(keys, as_dict=True).items():
            first, second = (arm(group.filter(pl.col(column) == side)) for side in sides)
            contrasts.append(Contrast(first, second, contrast, *key))
    return [each for each in contrasts if not each.empty]


def of_models(turns: pl.DataFrame) -> list[Contrast]:
    """The contrasts of pairs of models inside phase, condition and language; `condition` names the last two."""
    pairs: list[Contrast] = []
    for (phase, condition, language), group in turns.partition_by(
        "phase", "condition", "language", as_dict=True
    ).items():
        models = {model: arm(group.filter(model=model)) for model in group["model"].unique().sort()}
        pairs += [
            Contrast(models[one], models[other], "model", phase, f"{condition}/{language}", f"{one}/{other}")
            for one, other in combinations(models, 2)
        ]
    return [each for each in pairs if not each.empty]


def rows(all_contrasts: Sequence[Contrast]) -> list[Result]:
    """The table `contrasts`."""
    return [_result(each, {"jsd": each.divergence}) for each in all_contrasts]


def intervals(all_contrasts: Sequence[Contrast], seed: str) -> tuple[list[Result], list[Result]]:
    """The tables `contrast_intervals` and `contrast_shares`: divergence, percentage points and effect sizes."""
    divergences: list[Result] = []
    points: list[Result] = []
    for each in all_contrasts:
        generator = stream(seed, "contrast", *each.key.values())
        left, right = resampling.resamples(generator, len(each.first.runs), len(each.second.runs))
        first, second = each.first.counts[left], each.second.counts[left if each.paired else right]
        span = _interval(each, each.between(first.sum(axis=1), second.sum(axis=1)))
        divergences.append(_result(each, {"jsd": each.divergence, **span.named("ci"), "indicative": span.indicative}))
        points += _points(each, first, second)
    return divergences, points


def _points(each: Contrast, first: Floats, second: Floats) -> list[Result]:
    drawn = 100 * (shares(first.sum(axis=1), 0.0) - shares(second.sum(axis=1), 0.0))
    observed = 100 * (shares(each.first.pooled, 0.0) - shares(each.second.pooled, 0.0))
    effects = resampling.effect_size(_of_runs(first), _of_runs(second))
    effect = resampling.effect_size(_of_runs(each.first.counts), _of_runs(each.second.counts))
    found_rows = []
    for at, action in enumerate(ACTIONS):
        span = _interval(each, drawn[:, at])
        size = _interval(each, effects[at]) if not np.isnan(effect[at]) else Interval()
        figures = {
            "action": action,
            "points": number(observed[at]),
            **span.named("ci"),
            "effect": number(effect[at]),
            **size.named("effect"),
            "indicative": span.indicative,
        }
        found_rows.append(_result(each, figures))
    return found_rows


def _of_runs(counts: Floats) -> Floats:
    """Shares with the action first and the run last: (K, …, runs)."""
    return np.moveaxis(shares(counts, 0.0), -1, 0)


def _interval(each: Contrast, values: Floats) -> Interval:
    return resampling.bootstrapped(values, each.fewest)


def _result(each: Contrast, figures: dict[str, Any]) -> Result:
    return Result({**each.key, **figures}, runs=tuple(sorted({*each.runs})), n=each.n, unit="turn", alpha=each.alpha)
