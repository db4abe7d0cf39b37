"""Results of the measures of a locked folder at analysis; a failing measure does not affect the others."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.instrument import measure_file as declaration
from playmolt_schemas.stored.agora.plan import Folder, LockedRoom
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures.data.tables import save
from playmolt_agora.measures.data.turns import table
from playmolt_agora.own_measures.running import MeasureResult, measured


class OwnContent(msgspec.Struct, frozen=True, kw_only=True):
    """The custom material of a study: the locked folder, its rooms and texts, and the results of its measures."""

    folder: Folder
    rooms: tuple[LockedRoom, ...] = ()
    texts: Mapping[str, str] = {}
    measures: tuple[MeasureResult, ...] = ()


_PLACE = "measures/"


def of(texts: Mapping[str, str], turns: Iterable[TurnRecord]) -> tuple[MeasureResult, ...]:
    """Run every measure of a folder's texts over turns."""
    paths = sorted(path for path in texts if path.startswith(_PLACE))
    if not paths:
        return ()
    laid = table(msgspec.to_builtins(turn) for turn in turns)
    return tuple(_of(path.removeprefix(_PLACE).removesuffix(".py"), texts[path], laid) for path in paths)


def write(results: Sequence[MeasureResult], out: Path) -> tuple[Path, ...]:
    """Write `measure_NAME.csv` and `.parquet` of every measure that held."""
    return tuple(
        path for each in results if each.declared is not None and each.table is not None
        for path in save(each.declared.table, each.table.to_pylist(), each.table, out)
    )  # fmt: skip


def _of(name: str, text: str, turns: object) -> MeasureResult:
    declared = declaration.read(name, text)
    if isinstance(declared, PlanFault):
        return MeasureResult(name=name, code=declared.code, detail=declared.message)
    found = measured(declared, turns)
    place = f" (line {found.line})" if found.line else ""
    return msgspec.structs.replace(found, name=name, detail=f"{found.detail}{place}", declared=declared)
