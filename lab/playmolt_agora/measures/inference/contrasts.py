"""Languages, personas and models compared (`measures.md`, section 10)."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import polars as pl
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.measures.data.results import Result, number
from playmolt_agora.measures.divergence import Floats, count_jsd, shares, smoothing
from playmolt_agora.measures.inference import resampling
from playmolt_agora.measures.inference.arms import Arm, divergence
from playmolt_agora.measures.inference.resampling import Interval
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.pcs import arm


class Contrast(msgspec.Struct, frozen=True):
    """Two arms: ko and en, with persona and without, or the two models that `model` joins by a slash."""

    contrast: str
    phase: str
    condition: str
    model: str
    first: Arm
    second: Arm

    @property
    def key(self) -> dict[str, Any]:
        return {"contrast": self.contrast, "phase": self.phase, "condition": self.condition, "model": self.model}

    @property
    def alpha(self) -> float:
        """α by the size of both arms."""
        return smoothing(self.first.n, self.second.n)

    @property
    def paired(self) -> bool:
        """Whether both arms act in the same runs, which are then drawn together."""
        return self.first.runs == self.second.runs


def found(turns: pl.DataFrame) -> list[Contrast]:
    """The language and persona contrasts with valid turns in both arms."""
    languages = [
        Contrast("language", *key, *(arm(group.filter(language=language)) for language in ("ko", "en")))
        for key, group in turns.partition_by("phase", "condition", "model", as_dict=True).items()
    ]
    personas = [
        Contrast("persona", *key, *(arm(group.filter(condition=each)) for each in ("with_persona", "no_persona")))
        for key, group in turns.partition_by("phase", "language", "model", as_dict=True).items()
    ]
    return [each for each in (*languages, *personas) if each.first.n and each.second.n]


def of_models(turns: pl.DataFrame) -> list[Contrast]:
    """The contrasts of pairs of models inside phase, condition and language; `condition` names the last two."""
    pairs: list[Contrast] = []
    for (phase, condition, language), group in turns.partition_by(
        "phase", "condition", "language", as_dict=True
    ).items():
        models = {model: arm(group.filter(model=model)) for model in group["model"].unique().sort()}
        pairs += [
            Contrast("model", phase, f"{condition}/{language}", f"{one}/{other}", models[one], models[other])
            for one, other in combinations(models, 2)
            if models[one].n and models[other].n
        ]
    return pairs


def rows(all_contrasts: Sequence[Contrast]) -> list[Result]:
    """The table `contrasts`."""
    return [_result(each, {"jsd": divergence(each.first.pooled, each.second.pooled)}) for each in all_contrasts]


def intervals(all_contrasts: Sequence[Contrast], seed: str) -> tuple[list[Result], list[Result]]:
    """The tables `contrast_intervals` and `contrast_shares`: divergence, percentage points and effect sizes."""
    divergences: list[Result] = []
    points: list[Result] = []
    for each in all_contrasts:
        generator = stream(seed, "contrast", *each.key.values())
        left, right = resampling.resamples(generator, len(each.first.runs), len(each.second.runs))
        first, second = each.first.counts[left], each.second.counts[left if each.paired else right]
        pooled = first.sum(axis=1), second.sum(axis=1)
        span = _interval(each, count_jsd(*pooled, each.alpha))
        jsd = divergence(each.first.pooled, each.second.pooled)
        divergences.append(_result(each, {"jsd": jsd, **span.named("ci"), "indicative": span.indicative}))
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
    return resampling.bootstrapped(values, len(each.first.runs), len(each.second.runs))


def _result(each: Contrast, figures: dict[str, Any]) -> Result:
    runs = tuple(sorted({*each.first.runs, *each.second.runs}))
    return Result({**each.key, **figures}, runs=runs, n=each.first.n + each.second.n, unit="turn", alpha=each.alpha)
