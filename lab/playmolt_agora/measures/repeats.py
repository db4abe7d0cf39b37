"""Runs that are identical: the same acts and replies of the same agents in the same turns, in whatever order.

At temperature 0, or with a server that caches, a run says nothing that its copy has not said. Copies count once in
everything that is pooled or tested, and where no run of a comparison differs, interval and p are null.
"""

from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

import polars as pl

from playmolt_agora.measures.data.results import Result

_SAID: Final = ("agent", "turn", "act", "target", "content")


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

    def __init__(self, turns: pl.DataFrame) -> None:
        self.groups = _groups(turns)

    @property
    def copies(self) -> dict[str, str]:
        """Run → the first run that it is identical to, without those first ones."""
        return {run: alike[0] for classes in self.groups.values() for alike in classes for run in alike[1:]}

    def once(self, turns: pl.DataFrame) -> pl.DataFrame:
        """The turns without those of copies."""
        return turns.filter(~pl.col("run").is_in(list(self.copies))) if self.copies else turns

    def all_alike(self, sets: Iterable[str]) -> bool:
        """Whether the runs of these sets do not differ: each group has several, and all of them are identical.

        Exploratory runs count if all runs are exploratory.
        """
        wanted = set(sets)
        planned = [group for group in self.groups if not group.exploratory] or list(self.groups)
        chosen = [self.groups[group] for group in planned if group.set in wanted]
        return bool(chosen) and all(len(classes) == 1 and len(classes[0]) > 1 for classes in chosen)

    def alike_cell(self, model: str, language: str) -> bool:
        """Whether both arms of a model were played, and the runs do not differ inside either."""
        arms = [
            classes
            for group, classes in self.groups.items()
            if (group.model, group.language, group.exploratory) == (model, language, False)
            and group.phase in ("stage1", "phase1")
        ]
        several = any(len(alike) > 1 for classes in arms for alike in classes)
        return several and len(arms) == 2 and all(len(classes) == 1 for classes in arms)

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


def _groups(turns: pl.DataFrame) -> dict[RunGroup, list[list[str]]]:
    """The runs of each group by what was said in them."""
    runs = turns.sort("run", *_SAID).group_by("run", maintain_order=True).agg(
        pl.col("phase", "set", "language", "exploratory").first(),
        pl.col(_SAID),
        model=pl.col("model").unique().sort().str.join(", "),
        valid=pl.col("valid").any(),
    )  # fmt: skip
    found: dict[RunGroup, dict[Hashable, list[str]]] = {}
    for row in runs.iter_rows(named=True):
        classes = found.setdefault(RunGroup(*(row[name] for name in RunGroup._fields)), {})
        said = tuple(tuple(row[name]) for name in _SAID)
        classes.setdefault(said if row["valid"] else row["run"], []).append(row["run"])
    return {group: list(classes.values()) for group, classes in found.items()}
