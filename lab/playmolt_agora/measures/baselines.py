"""How far the answers of each model are from those of people (instruments, Human baselines). Descriptive, never a test.

JSD in bits with the smoothing of `measures.md`, section 0, and its percentile bootstrap over people and runs. The
calibration is the model's mean answer minus that of people, on scales only.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from playmolt_schemas.instrument.baseline_file import Baseline, BaselineTerms, answers_of
from playmolt_schemas.instrument.definitions import BOOTSTRAPS, TIE
from playmolt_schemas.stored.agora.turn import InterviewScale

from playmolt_agora.measures.data.results import Result, grouped
from playmolt_agora.measures.divergence import Floats, count_jsd, smoothing
from playmolt_agora.measures.inference import resampling
from playmolt_agora.measures.inference.resampling import Interval
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.interviews import Answered


def rows(baselines: Iterable[Baseline], answers: Sequence[Answered], terms: BaselineTerms, seed: str) -> list[Result]:
    """The table `baselines`; `answers` are those that count, without copies of runs."""
    found = []
    for baseline in baselines:
        for (condition, item), answered in grouped(baseline.rows, lambda row: (row.condition, row.item)).items():
            points = answers_of(terms.items[item])
            people = np.zeros(len(points))
            for row in answered:
                people[points.index(row.answer)] += row.count
            here = [each for each in answers if _is_of(each, condition, item)]
            for model, mine in sorted(grouped(here, lambda each: each.model).items()):
                key = {"baseline": baseline.name, "condition": condition, "item": item, "model": model}
                scaled = isinstance(terms.items[item].scale, InterviewScale)
                found.append(_row(key, points, people, mine, seed, scaled=scaled))
    return found


def _is_of(each: Answered, condition: str, item: str) -> bool:
    name, _, turn = item.partition("@")
    parts = ((), (each.set,), (each.language,), (each.model,), (each.model, each.language))
    known = {"/".join(map(str, (each.phase, *part))) for part in parts}
    return each.id == name and (not turn or each.turn == int(turn)) and condition in known


def _row(
    key: dict[str, str], points: Sequence[int], people: Floats, mine: Sequence[Answered], seed: str, *, scaled: bool
) -> Result:
    """What a model answered to one question in one condition, beside what people did."""
    answers = ((each.run, each.choice if each.kind == "choices" else each.value) for each in mine)
    given = [(run, answer) for run, answer in answers if answer is not None and answer in points]
    runs = tuple(sorted({run for run, _ in given}))
    counts = np.zeros((len(runs), len(points)))
    for run, answer in given:
        counts[runs.index(run), points.index(answer)] += 1
    total, many = counts.sum(axis=0), int(people.sum())
    alpha = smoothing(many, len(given))
    at = np.array(points, dtype=np.float64)
    of_people, of_model = (_mean(at, people), _mean(at, total)) if scaled else (None, None)
    distance, calibration = _intervals(at, people, counts, alpha, stream(seed, "baselines", *key.values()))
    row = {
        **key,
        "people": many,
        "asked": len(mine),
        "answers": len(given),
        "runs": len(runs),
        "alpha": alpha,
        "jsd": float(count_jsd(people, total, alpha)) if given else None,
        **distance.named("ci"),
        "indicative": distance.indicative,
        "mean_people": of_people,
        "mean_model": of_model,
        "calibration": None if of_people is None or of_model is None else of_model - of_people,
        **(calibration if scaled else Interval()).named("calibration"),
    }
    return Result(row, runs=runs, n=len(given), unit="answer", alpha=alpha)


def _mean(points: Floats, counts: Floats) -> float | None:
    total = float(counts.sum())
    return float(points @ counts) / total if total else None


def _intervals(
    points: Floats, people: Floats, counts: Floats, alpha: float, generator: np.random.Generator
) -> tuple[Interval, Interval]:
    """Both bootstraps draw people and whole runs; None where no runs differ."""
    runs = len(counts)
    if runs < 2 or bool(np.all(np.ptp(counts, axis=0) <= TIE)):
        return Interval(), Interval()
    drawn = generator.multinomial(int(people.sum()), people / people.sum(), BOOTSTRAPS)
    sampled = resampling.drawn_sums(generator, counts)
    distances = np.asarray(count_jsd(drawn, sampled, alpha), dtype=np.float64)
    apart = sampled @ points / sampled.sum(axis=1) - drawn @ points / drawn.sum(axis=1)
    return resampling.bootstrapped(distances, runs), resampling.bootstrapped(apart, runs)
