"""Failed turns: the table `parse` with the excluded (run, model) pairs, and headline figures under three treatments.

`measures.md`, sections 0, 10 and 11.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from playmolt_schemas.instrument.definitions import EXCLUDED_ABOVE

from playmolt_agora.measures import interaction, pcs
from playmolt_agora.measures.data.frame import CODES, Frame, Treatment
from playmolt_agora.measures.data.results import Result, ratio
from playmolt_agora.measures.inference import hypotheses

RunModel = tuple[str, str]


def parse_rows(turns: Frame) -> list[Result]:
    """The table `parse`, a row per run and model."""
    groups = turns.groups(lambda seat: (seat.run, seat.model))
    return [_parse_row(key, groups[key]) for key in sorted(groups)]


def excluded(parsed: list[Result]) -> frozenset[RunModel]:
    """The models of runs that leave the confirmatory set."""
    return frozenset((each.row["run"], each.row["model"]) for each in parsed if each.row["excluded"])


def _parse_row(key: RunModel, group: Frame) -> Result:
    total, failed = int(group.failed.size), int(group.failed.sum())
    counts = np.bincount(group.code, minlength=len(CODES))
    return Result(
        {
            "run": key[0],
            "model": key[1],
            "turns": total,
            "failed": failed,
            "fail_share": ratio(failed, total),
            "excluded": failed > EXCLUDED_ABOVE * total,
            **{code: int(count) for code, count in zip(CODES, counts, strict=True)},
        },
        runs=(key[0],),
        n=total,
        unit="turn",
    )


TREATMENTS: Final[tuple[Treatment, ...]] = ("dropped", "seventh", "idle")


def rows(turns: Frame, seed: str, imported: Sequence[Mapping[str, object]] = ()) -> list[Result]:
    """The table `headline`: PCS, RI*, P_int and the parts of H1 and H2, each three times.

    Imported Stage 1 counts hold no failed turns, so they are the same every time.
    """
    return [row for treatment in TREATMENTS for row in _treated(turns.treated(treatment), treatment, seed, imported)]


def _treated(turns: Frame, treatment: Treatment, seed: str, imported: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    for cell in pcs.cells(turns, imported):
        n = cell.stage1.n + cell.phase1.n
        key = {"model": cell.model, "language": cell.language}
        yield _row("pcs", key, treatment, n, cell.pcs, cell.stage1.runs + cell.phase1.runs)
    for (phase, set_, model), group in turns.groups(lambda seat: (seat.phase, seat.set, seat.model)).items():
        valid = int(group.valid.sum())
        yield _row(
            "ri_star",
            {"phase": phase, "set": set_, "model": model},
            treatment,
            valid,
            ratio(int(group.ritual.sum()), valid),
            group.runs,
        )
    for (phase, set_), group in turns.groups(lambda seat: (seat.phase, seat.set)).items():
        valid, met = int(group.valid.sum()), int(interaction.interactions(group).sum())
        yield _row("p_int", {"phase": phase, "set": set_}, treatment, valid, ratio(met, valid), group.runs)
    found = hypotheses.figures(turns, seed)
    for part, mean in found.means().items():
        yield _row(part, {}, treatment, found.parts[part].size, mean, found.runs)


def _row(
    figure: str, key: dict[str, Any], treatment: Treatment, n: int, value: float | None, runs: tuple[str, ...]
) -> Result:
    names = {name: key.get(name) for name in ("phase", "set", "model", "language")}
    row = {"figure": figure, **names, "treatment": treatment, "n": n, "value": value}
    return Result(row, runs=runs, n=n, unit="run" if figure in hypotheses.PARTS else "turn")
