"""How far the answers of each model are from those of people (instruments, Human baselines). Descriptive, never a test.

JSD in bits with the smoothing of `measures.md`, section 0, and its percentile bootstrap over people and runs. The
calibration is the model's mean answer minus that of people, on scales only.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from playmolt_schemas.instrument.baseline_file import Baseline, BaselineTerms, answers_of
from playmolt_schemas.instrument.definitions import BOOTSTRAPS, TIE
from playmolt_schemas.stored.agora.turn import Interview, InterviewScale

from playmolt_agora.measures.data.results import Result
from playmolt_agora.measures.divergence import Floats, count_jsd, smoothing
from playmolt_agora.measures.inference import bootstrap
from playmolt_agora.measures.inference.bootstrap import Interval
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.interviews import Answered

_NONE: Final = Interval()


class Compared(NamedTuple):
    """One question in one condition, answered by people and by a model: counts of every possible answer."""

    baseline: str
    condition: str
    item: str
    model: str
    points: Floats
    people: Floats
    runs: tuple[str, ...]
    counts: Floats
    """(runs, answers)."""
    asked: int
    scaled: bool


def rows(baselines: Iterable[Baseline], answers: Sequence[Answered], terms: BaselineTerms, seed: str) -> list[Result]:
    """The table `baselines`; `answers` are those that count, without copies of runs."""
    return [_row(each, seed) for baseline in baselines for each in _compared(baseline, answers, terms)]


def _compared(baseline: Baseline, answers: Sequence[Answered], terms: BaselineTerms) -> Iterator[Compared]:
    for condition, item in dict.fromkeys((row.condition, row.item) for row in baseline.rows):
        interview = terms.items[item]
        points = answers_of(interview)
        people = np.zeros(len(points))
        for row in baseline.rows:
            if (row.condition, row.item) == (condition, item):
                people[points.index(row.answer)] += row.count
        here = [each for each in answers if _is_of(each, condition, item)]
        for model in sorted({each.model for each in here}):
            mine = [each for each in here if each.model == model]
            yield _counted(baseline, condition, item, interview, people, mine)


def _counted(
    baseline: Baseline, condition: str, item: str, interview: Interview, people: Floats, mine: Sequence[Answered]
) -> Compared:
    points = answers_of(interview)
    given = [(each.run, answer) for each in mine if (answer := _answer(each)) is not None and answer in points]
    runs = tuple(sorted({run for run, _ in given}))
    counts = np.zeros((len(runs), len(points)))
    for run, answer in given:
        counts[runs.index(run), points.index(answer)] += 1
    return Compared(
        baseline.name, condition, item, mine[0].model, np.array(points, dtype=np.float64), people, runs, counts,
        len(mine), isinstance(interview.scale, InterviewScale),
    )  # fmt: skip


def _is_of(each: Answered, condition: str, item: str) -> bool:
    name, _, turn = item.partition("@")
    parts = ((), (each.set,), (each.language,), (each.model,), (each.model, each.language))
    known = {"/".join(map(str, (each.phase, *part))) for part in parts}
    return each.id == name and (not turn or each.turn == int(turn)) and condition in known


def _answer(each: Answered) -> int | None:
    return each.choice if each.kind == "choices" else each.value


def _row(each: Compared, seed: str) -> Result:
    total, people = each.counts.sum(axis=0), int(each.people.sum())
    answers = int(total.sum())
    alpha = smoothing(people, answers)
    means = (_mean(each.points, each.people), _mean(each.points, total)) if each.scaled else (None, None)
    distance, calibration = _intervals(each, alpha, seed) if answers else (_NONE, _NONE)
    row = {
        "baseline": each.baseline,
        "condition": each.condition,
        "item": each.item,
        "model": each.model,
        "people": people,
        "asked": each.asked,
        "answers": answers,
        "runs": len(each.runs),
        "alpha": alpha,
        "jsd": float(count_jsd(each.people, total, alpha)) if answers else None,
        "ci_lo": distance.low,
        "ci_hi": distance.high,
        "indicative": distance.indicative,
        "mean_people": means[0],
        "mean_model": means[1],
        "calibration": None if means[0] is None or means[1] is None else means[1] - means[0],
        "calibration_lo": calibration.low if each.scaled else None,
        "calibration_hi": calibration.high if each.scaled else None,
    }
    return Result(row, runs=each.runs, n=answers, unit="answer", alpha=alpha)


def _mean(points: Floats, counts: Floats) -> float | None:
    total = float(counts.sum())
    return float(points @ counts) / total if total else None


def _intervals(each: Compared, alpha: float, seed: str) -> tuple[Interval, Interval]:
    """Both bootstraps draw people and whole runs; None where no runs differ."""
    runs = len(each.runs)
    if runs < 2 or bool(np.all(np.ptp(each.counts, axis=0) <= TIE)):
        return _NONE, _NONE
    generator = stream(seed, "baselines", each.baseline, each.condition, each.item, each.model)
    drawn = generator.multinomial(int(each.people.sum()), each.people / each.people.sum(), BOOTSTRAPS)
    sampled = each.counts[generator.integers(0, runs, (BOOTSTRAPS, runs))].sum(axis=1)
    distances = np.asarray(count_jsd(drawn, sampled, alpha), dtype=np.float64)
    apart = sampled @ each.points / sampled.sum(axis=1) - drawn @ each.points / drawn.sum(axis=1)
    return bootstrap.interval(distances, runs, runs), bootstrap.interval(apart, runs, runs)
