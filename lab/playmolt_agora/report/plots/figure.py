"""What figures have in common: a sketch, and how they name things."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from playmolt_schemas.instrument.definitions import COSTS_REAL

from playmolt_agora.report import vega

PHASES: Final = {"stage1": "Stage 1", "phase1": "Phase 1", COSTS_REAL: "Phase 1, real costs", "phase2": "Phase 2"}
CONDITIONS: Final = {"": "", "with_persona": "personas", "no_persona": "no persona"}


def phase_title(phase: str) -> str:
    """What people call a phase; a room has its name."""
    return PHASES.get(phase, phase)


class Sketch(NamedTuple):
    """A chart and the rows that its numbers are columns of; all columns if none are named."""

    chart: vega.Spec
    of: Sequence[Mapping[str, object]] = ()
    columns: tuple[str, ...] = ()
    table: str = ""


def in_order(values: Iterable[object]) -> list[str]:
    """The distinct texts among values, sorted."""
    return sorted({str(value) for value in values if value is not None})
