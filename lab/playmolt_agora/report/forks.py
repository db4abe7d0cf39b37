"""What a fork changed: the first act that differs from its parent, divergence by window, and what it cost."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from playmolt_schemas.instrument.definitions import SMOOTHING, is_valid
from playmolt_schemas.stored.agora.turn import ACTIONS, TurnRecord

from playmolt_agora.measures import drift
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
        divergence=_divergence(_counts(parent), _counts(child)),
        money=run.money,
    )


def act(turn: TurnRecord) -> tuple[Any, ...]:
    """What a turn did, for a comparison: not what it cost or how long it took."""
    return (turn.parse_code, turn.action, turn.target, turn.content)


def _counts(turns: Sequence[TurnRecord]) -> dict[int, Counter[str]]:
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for turn in turns:
        if is_valid(turn):
            counts[drift.window(turn.turn, turn.turns_planned)][str(turn.action_base)] += 1
    return counts


def _divergence(
    parent: Mapping[int, Counter[str]], child: Mapping[int, Counter[str]]
) -> tuple[tuple[int, float | None], ...]:
    return tuple((window, _jsd(parent.get(window), child.get(window))) for window in sorted({*parent, *child}))


def _jsd(one: Counter[str] | None, two: Counter[str] | None) -> float | None:
    if not one or not two:
        return None
    return float(count_jsd([one[each] for each in ACTIONS], [two[each] for each in ACTIONS], SMOOTHING))
