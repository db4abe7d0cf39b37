"""Trial of measures before the lock: each runs twice over the same turns."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.instrument.laboratory import MeasureTrial
from playmolt_schemas.instrument.measure_file import MeasureDeclaration

from playmolt_agora.measures.data.turns import table
from playmolt_agora.own_measures.running import MeasureResult, measured

SECONDS: Final = 5.0


def faults(trial: MeasureTrial) -> tuple[PlanFault, ...]:
    """A fault for each measure that does not hold."""
    turns = table(trial.turns)
    return tuple(fault for each in trial.measures for fault in _faults(each, turns))


def _faults(declared: MeasureDeclaration, turns: object) -> Iterator[PlanFault]:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: measured(declared, turns, seconds=min(SECONDS, declared.seconds)), range(2))
    found = unlike(first, second)
    if found.code is not None:
        path = f"measures/{declared.name}.py"
        yield PlanFault("", found.detail, code=found.code, file=path, line=found.line)


def unlike(first: MeasureResult, second: MeasureResult) -> MeasureResult:
    """The first of two runs over the same turns that fails, or that they differ."""
    for each in (first, second):
        if each.code is not None:
            return each
    if not first.table.equals(second.table):
        return MeasureResult(code="measure_unstable", detail="gave two different tables of the same turns")
    return first
