"""Runs that are identical: the same acts and replies of the same agents in the same turns, in whatever order.

At temperature 0, or with a server that caches, a run says nothing that its copy has not said. Copies count once in
everything that is pooled or tested, and where no run of a comparison differs, interval and p are null.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np

from playmolt_agora.measures.data.frame import Frame, Seat
from playmolt_agora.measures.data.results import Result
from playmolt_agora.measures.divergence import Floats


class RunGroup(NamedTuple):
    """The runs that are compared with one another: those of one cell."""

    phase: str
    set: str | None
    language: str
    model: str
    """Its models, joined."""
    exploratory: bool


class Repeats:
    """The identical runs of a study, by group. A run without a valid turn is identical to none."""

    def __init__(self, turns: Frame) -> None:
        self.groups = _groups(turns)

    @property
    def copies(self) -> dict[str, str]:
        """Run → the first run that it is identical to, without those first ones."""
        return {run: alike[0] for classes in self.groups.values() for alike in classes for run in alike[1:]}

    def once(self, turns: Frame) -> Frame:
        """The turns without those of copies."""
        copies = self.copies
        return turns.where(lambda seat: seat.run not in copies) if copies else turns

    def all_alike(self, sets: Iterable[str]) -> bool:
        """Whether the runs of these sets do not differ: each group has several, and all of them are identical.

        Exploratory runs count if all runs are exploratory.
        """
        wanted = set(sets)
        planned = [group for group in self.groups if not group.exploratory] or list(self.groups)
        chosen = [self.groups[group] for group in planned if group.set in wanted]
        return bool(chosen) and all(len(classes) == 1 and len(classes[0]) > 1 for classes in chosen)

    def alike_cell(self, model: str, language: str) -> bool:
        """Whether the runs of Stage 1 and Phase 1 of a model do not differ inside either arm."""
        arms = [
            classes
            for group, classes in self.groups.items()
            if (group.model, group.language, group.exploratory) == (model, language, False)
            and group.phase in ("stage1", "phase1")
        ]
        several = any(len(alike) > 1 for classes in arms for alike in classes)
        return several and all(len(classes) == 1 for classes in arms)

    def rows(self) -> list[Result]:
        """The table `repeats`: how many runs of each group are identical to another, and how many count."""
        found = []
        for group, classes in self.groups.items():
            runs = tuple(sorted(run for alike in classes for run in alike))
            row = {
                **group._asdict(),
                "runs": len(runs),
                "identical": sum(len(alike) for alike in classes if len(alike) > 1),
                "distinct": len(classes),
            }
            found.append(Result(row, runs=runs, n=len(runs), unit="run"))
        return found


def all_equal(*arms: Floats) -> bool:
    """Whether arms of runs (runs, …) have several runs and no arm has two that differ."""
    return any(len(arm) > 1 for arm in arms) and all(bool(np.all(arm == arm[:1])) for arm in arms)


def _groups(turns: Frame) -> dict[RunGroup, list[list[str]]]:
    seats: dict[str, list[int]] = {}
    for at, seat in enumerate(turns.seats):
        seats.setdefault(seat.run, []).append(at)
    bounds = np.searchsorted(turns.seat, np.arange(len(turns.seats) + 1))
    found: dict[RunGroup, dict[Hashable, list[str]]] = {}
    for run in sorted(seats):
        own = [turns.seats[at] for at in seats[run]]
        spans = {at: (int(bounds[at]), int(bounds[at + 1])) for at in seats[run]}
        said = tuple(sorted((turns.seats[at].agent, _said(turns, *span)) for at, span in spans.items()))
        valid = any(turns.valid[start:end].any() for start, end in spans.values())
        classes = found.setdefault(_group(own), {})
        classes.setdefault(said if valid else run, []).append(run)
    return {group: list(classes.values()) for group, classes in found.items()}


def _group(seats: list[Seat]) -> RunGroup:
    first = seats[0]
    models = ", ".join(sorted({seat.model for seat in seats}))
    return RunGroup(first.phase, first.set, first.language, models, first.exploratory)


def _said(turns: Frame, start: int, end: int) -> tuple[Hashable, ...]:
    columns = (turns.turn, turns.did, turns.target, turns.content)
    return tuple(repr(each) for each in zip(*(column[start:end].tolist() for column in columns), strict=True))
