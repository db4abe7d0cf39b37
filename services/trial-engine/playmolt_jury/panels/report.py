"""The figures of a panel (`panel.json`), from the results of its juries. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from playmolt_schemas.games.jury_panels import (
    ArgumentResult,
    ComparisonResult,
    DeliberationResult,
    FlipResult,
    OrderMean,
    OrderResult,
    PanelReport,
    PanelStopView,
    ScriptResult,
)
from playmolt_schemas.stored.panels import JuryPlayed, PanelPlan, PanelSpent, StanceMove

from playmolt_jury.panels import statistics
from playmolt_jury.panels.order import seed_of
from playmolt_jury.panels.result import sides

_ARGUED: Final = ("chat", "evidence", "weakness")
"""Causes of the changes by a step of the overseer."""


class ReportSource(msgspec.Struct, frozen=True, kw_only=True):
    """All that a report is made of. `titles` are those of the evidence, `names` those of the jurors."""

    panel: str
    plan: PanelPlan
    title: str
    titles: dict[str, str]
    names: dict[str, str]
    varies: bool
    warnings: tuple[str, ...]
    stopped: PanelStopView | None
    spent: PanelSpent
    juries: tuple[JuryPlayed, ...]


class Argued(msgspec.Struct, frozen=True):
    """A step of one jury: how far it moved its juror."""

    course: str
    step: int
    place: int
    change: int


def report(source: ReportSource) -> PanelReport:
    """The figures so far. A jury without a verdict counts as missing and in nothing else."""
    plan = source.plan
    played = {name: _with_verdict(source.juries, name) for name in plan.scripts}
    return PanelReport(
        panel=source.panel,
        case=plan.case,
        digest=plan.case_digest,
        language=plan.language,
        seed=plan.seed,
        n=plan.n,
        scripts={name: _script(juries, varies=source.varies) for name, juries in played.items()},
        arguments=tuple(_arguments(source, played)),
        flips=tuple(
            FlipResult(script=name, juror=juror, to_guilty=flips[0], to_innocent=flips[1])
            for name, juries in played.items()
            for juror in source.names or plan.jurors
            for flips in (_flips(juries, juror),)
        ),
        deliberation={
            name: DeliberationResult(share=statistics.speech_share(_changes(juries))) for name, juries in played.items()
        },
        comparison=_comparison(plan, played, varies=source.varies),
        order=_order(source, played) if plan.shuffle else None,
        stopped=source.stopped,
        spent=source.spent,
        missing=sum(jury.outcome == "missing" for jury in source.juries),
        warnings=source.warnings,
    )


def step_text(source: ReportSource, script: str, step: int) -> str:
    """What a step says, or the item that it shows."""
    planned = source.plan.scripts[script][step - 1]
    return planned.text or f"{planned.evidence}: {source.titles.get(planned.evidence, '')}"


def stance_rows(source: ReportSource) -> Iterator[tuple[str, int, str, StanceMove]]:
    """Every change of a stance in the juries with a verdict: (script, seed, session, change)."""
    for name in source.plan.scripts:
        for jury in _with_verdict(source.juries, name):
            seed = seed_of(source.plan.seed, jury.number)
            yield from ((name, seed, jury.session, move) for move in jury.moves)


def _with_verdict(juries: Iterable[JuryPlayed], script: str) -> list[JuryPlayed]:
    found = (jury for jury in juries if jury.script == script and jury.outcome != "missing")
    return sorted(found, key=lambda jury: jury.number)


def _script(juries: Sequence[JuryPlayed], *, varies: bool) -> ScriptResult:
    n, guilty = len(juries), sum(map(_guilty, juries))
    distinct = len({jury.course for jury in juries})
    # Juries that are one and the same say nothing of how others would differ.
    interval = statistics.wilson(guilty, n) if varies and distinct > 1 else None
    low, high = interval or (None, None)
    return ScriptResult(n=n, distinct=distinct, guilty=guilty, share=guilty / n if n else None, lo=low, hi=high)


def _guilty(jury: JuryPlayed) -> bool:
    return jury.outcome == "guilty"


def _arguments(source: ReportSource, played: Mapping[str, Sequence[JuryPlayed]]) -> Iterator[ArgumentResult]:
    for name, juries in played.items():
        rows = [row for jury in juries for row in argued(jury, len(source.plan.scripts[name]))]
        found = {
            step: _mean([row for row in rows if row.step == step], varies=source.varies)
            for step in range(1, len(source.plan.scripts[name]) + 1)
        }
        ranks = statistics.ranked({step: mean for step, (_, mean, _, _) in found.items()})
        for step, (n, mean, low, high) in found.items():
            yield ArgumentResult(
                script=name, step=step, juror=source.plan.scripts[name][step - 1].juror,
                text=step_text(source, name, step), n=n, mean=mean, lo=low, hi=high, rank=ranks[step],
            )  # fmt: skip


def argued(jury: JuryPlayed, steps: int) -> Iterator[Argued]:
    """What each step of a script did to its juror; a weakness that it hit counts with it."""
    changes: dict[tuple[int, int], int] = {}
    for move in jury.moves:
        if move.step <= steps and move.cause in _ARGUED:
            at = (move.step, move.place)
            changes[at] = changes.get(at, 0) + move.after - move.before
    return (Argued(jury.course, step, place, change) for (step, place), change in changes.items())


def _mean(rows: Sequence[Argued], *, varies: bool) -> tuple[int, float | None, float | None, float | None]:
    """(n, mean, lower and upper end of its interval)."""
    mean, interval = statistics.mean_interval([(row.course, row.change) for row in rows])
    low, high = interval if interval and varies else (None, None)
    return len(rows), mean, low, high


def _flips(juries: Iterable[JuryPlayed], juror: str) -> tuple[int, int]:
    counted = [sides(jury.moves, juror) for jury in juries]
    return sum(guilty for guilty, _ in counted), sum(innocent for _, innocent in counted)


def _changes(juries: Iterable[JuryPlayed]) -> Iterator[tuple[bool, int]]:
    return ((move.cause == "speech", move.after - move.before) for jury in juries for move in jury.moves)


def _comparison(
    plan: PanelPlan, played: Mapping[str, Sequence[JuryPlayed]], *, varies: bool
) -> ComparisonResult | None:
    if plan.compare is None:
        return None
    a, b = plan.compare
    others = {jury.number: jury for jury in played[b]}
    pairs = [(_guilty(jury), _guilty(others[jury.number])) for jury in played[a] if jury.number in others]
    numbers = {jury.number for jury in played[a]} & set(others)
    # Where neither half differs from one pair to the next, the pairs are one pair.
    courses = {(jury.course, others[jury.number].course) for jury in played[a] if jury.number in numbers}
    found = statistics.compared(pairs, varies=varies and len(courses) > 1)
    return ComparisonResult(a=a, b=b, **msgspec.structs.asdict(found))


def _order(source: ReportSource, played: Mapping[str, Sequence[JuryPlayed]]) -> OrderResult:
    places: list[OrderMean] = []
    arguments: list[OrderMean] = []
    for name, juries in played.items():
        steps = len(source.plan.scripts[name])
        rows = [row for jury in juries for row in argued(jury, steps)]
        for place in range(1, steps + 1):
            here = [row for row in rows if row.place == place]
            places.append(_order_mean(name, place, None, here, varies=source.varies))
            for step in range(1, steps + 1):
                both = [row for row in here if row.step == step]
                arguments.append(_order_mean(name, place, step, both, varies=source.varies))
    return OrderResult(places=tuple(places), arguments=tuple(arguments))


def _order_mean(script: str, place: int, step: int | None, rows: Sequence[Argued], *, varies: bool) -> OrderMean:
    n, mean, low, high = _mean(rows, varies=varies)
    return OrderMean(script=script, place=place, step=step, n=n, mean=mean, lo=low, hi=high)
