"""Measures tried before the lock: twice, on a few turns of every cell, so that none fails when the runs are over."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec
from playmolt_schemas.agora.plan import Plan, PlanFault

from playmolt_agora.folder.measure_file import MeasureDeclaration
from playmolt_agora.folder.reading import PlanFolder
from playmolt_agora.measures.data.turns import table
from playmolt_agora.own_measures import rehearsal
from playmolt_agora.own_measures.running import MeasureResult, measured

SECONDS: Final = 5.0


def tried(plan: Plan | None, folder: PlanFolder) -> PlanFolder:
    """The folder with a fault for each measure that does not hold; nothing is tried where a world is at fault."""
    if plan is None or not folder.measures or any(fault.file.startswith("worlds/") for fault in folder.faults):
        return folder
    turns = table(rehearsal.records(plan, folder.rooms, folder.texts))
    faults = tuple(fault for each in folder.measures for fault in _faults(each, turns))
    return msgspec.structs.replace(folder, faults=(*folder.faults, *faults))


def _faults(declared: MeasureDeclaration, turns: Any) -> Iterator[PlanFault]:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: measured(declared, turns, seconds=min(SECONDS, declared.seconds)), range(2))
    found = unlike(first, second)
    if found.code is not None:
        path = f"measures/{declared.name}.py"
        yield PlanFault("", found.detail, found.code, file=path, line=found.line)


def unlike(first: MeasureResult, second: MeasureResult) -> MeasureResult:
    """The first of two runs over the same turns that fails, or that they differ."""
    for each in (first, second):
        if each.code is not None:
            return each
    if not first.table.equals(second.table):
        return MeasureResult(code="measure_unstable", detail="gave two different tables of the same turns")
    return first
