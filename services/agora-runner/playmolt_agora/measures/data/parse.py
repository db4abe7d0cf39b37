"""How replies were read, and which (run, model) pairs are excluded (`measures.md`, sections 0 and 11)."""

import numpy as np

from playmolt_agora.measures.data.definitions import EXCLUDED_ABOVE
from playmolt_agora.measures.data.frame import CODES, Frame
from playmolt_agora.measures.data.results import Result, ratio

RunModel = tuple[str, str]


def rows(turns: Frame) -> list[Result]:
    """The table `parse`, a row per run and model."""
    groups = turns.groups(lambda seat: (seat.run, seat.model))
    return [_row(key, groups[key]) for key in sorted(groups)]


def excluded(parsed: list[Result]) -> frozenset[RunModel]:
    """The models of runs that leave the confirmatory set."""
    return frozenset((each.row["run"], each.row["model"]) for each in parsed if each.row["excluded"])


def _row(key: RunModel, group: Frame) -> Result:
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
