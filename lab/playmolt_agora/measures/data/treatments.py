"""Failed turns: the excluded (run, model) pairs, and headline figures under three treatments (`measures.md`, 0, 10)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from playmolt_agora.measures import descriptive, pcs
from playmolt_agora.measures.data.frame import Frame, Treatment
from playmolt_agora.measures.data.results import Result, ratio
from playmolt_agora.measures.inference import hypotheses

RunModel = tuple[str, str]


def excluded(parsed: list[Result]) -> frozenset[RunModel]:
    """The models of runs that leave the confirmatory set."""
    return frozenset((each.row["run"], each.row["model"]) for each in parsed if each.row["excluded"])


TREATMENTS: Final[tuple[Treatment, ...]] = ("dropped", "seventh", "idle")


def rows(
    turns: Frame, main: hypotheses.Figures, seed: str, imported: Sequence[Mapping[str, object]] = ()
) -> list[Result]:
    """The table `headline`: PCS, RI*, P_int and the parts of H1 and H2, each three times; `main` are those of `turns`.

    Imported Stage 1 counts hold no failed turns, so they are the same every time.
    """
    found: list[Result] = []
    for treatment in TREATMENTS:
        treated = turns.treated(treatment)
        figures = main if treated is turns else hypotheses.figures(treated, seed)
        found += _treated(treated, figures, treatment, imported)
    return found


def _treated(
    turns: Frame, found: hypotheses.Figures, treatment: Treatment, imported: Sequence[Mapping[str, Any]]
) -> Iterator[Result]:
    for cell in pcs.cells(turns, imported):
        n = cell.stage1.n + cell.phase1.n
        key = {"model": cell.model, "language": cell.language}
        yield _row("pcs", key, treatment, n, cell.pcs, cell.stage1.runs + cell.phase1.runs)
    laid = descriptive.columns(turns)
    for figure, above, keys in (("ri_star", "ritual", ("phase", "set", "model")), ("p_int", "met", ("phase", "set"))):
        sums = laid.group_by(keys, maintain_order=True).agg(pl.col("valid", above).sum(), pl.col("run").unique().sort())
        for row in sums.iter_rows(named=True):
            value = ratio(row[above], row["valid"])
            yield _row(figure, row, treatment, row["valid"], value, tuple(row["run"]))
    for part, mean in hypotheses.means(found.parts).items():
        yield _row(part, {}, treatment, found.parts[part].size, mean, found.runs)


def _row(
    figure: str, key: dict[str, Any], treatment: Treatment, n: int, value: float | None, runs: tuple[str, ...]
) -> Result:
    names = {name: key.get(name) for name in ("phase", "set", "model", "language")}
    row = {"figure": figure, **names, "treatment": treatment, "n": n, "value": value}
    return Result(row, runs=runs, n=n, unit="run" if figure in hypotheses.PARTS else "turn")
