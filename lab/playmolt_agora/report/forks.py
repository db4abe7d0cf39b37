"""What a fork changed: the first act that differs from its parent, divergence by window, and what it cost."""

from collections.abc import Sequence
from typing import Any

import msgspec
from playmolt_schemas.instrument.definitions import SMOOTHING
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures import drift
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.data.results import grouped
from playmolt_agora.measures.divergence import count_jsd
from playmolt_agora.report.study import RunNote, StudyData


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """A fork beside its parent.

    `divergence` is by window of Instruction Drift, None where one side has no valid turn; `first` is the parent's and
    the fork's turn where they first differ.
    """

    run: RunNote
    change: str
    version: int
    first: tuple[TurnRecord, TurnRecord] | None
    divergence: tuple[tuple[int, float | None], ...]
    money: str | None


def forks(study: StudyData) -> tuple[Fork, ...]:
    """The forks of a study whose parent is in it, too."""
    by_run = grouped(study.turns, lambda turn: turn.run)
    return tuple(
        _fork(run, by_run[run.parent.run], by_run.get(run.run, []))
        for run in study.runs
        if run.parent is not None and run.parent.run in by_run
    )


def _fork(run: RunNote, parent: Sequence[TurnRecord], child: Sequence[TurnRecord]) -> Fork:
    if run.parent is None:
        raise ValueError(f"{run.run} is not a fork")
    before = {(turn.turn, turn.agent): turn for turn in parent}
    ordered = sorted(child, key=lambda turn: (turn.turn, turn.order))
    pairs = ((before[turn.turn, turn.agent], turn) for turn in ordered if (turn.turn, turn.agent) in before)
    return Fork(
        run=run,
        change=run.parent.change,
        version=run.parent.version,
        first=next((pair for pair in pairs if act(pair[0]) != act(pair[1])), None),
        divergence=_divergence(parent, child),
        money=run.money,
    )


def act(turn: TurnRecord) -> tuple[Any, ...]:
    """What a turn did, for a comparison: not what it cost or how long it took."""
    return (turn.parse_code, turn.action, turn.target, turn.content)


def _divergence(parent: Sequence[TurnRecord], child: Sequence[TurnRecord]) -> tuple[tuple[int, float | None], ...]:
    """By window, where either has a valid turn."""
    sides = [frame(turns) for turns in (parent, child)]
    total = max(map(drift.longest, sides))
    counts = [side.counts(drift.numbered(side), total) for side in sides]
    return tuple(
        (window, float(count_jsd(one, two, SMOOTHING)) if one.any() and two.any() else None)
        for window, (one, two) in enumerate(zip(*counts, strict=True), 1)
        if one.any() or two.any()
    )
