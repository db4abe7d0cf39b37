"""Run a measure over turns in a separate process: its table, or the code of its failure; twice before the lock.

At analysis all measures of the locked folder are run; a failing one does not affect the others.
"""

import os
import select
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, Final, cast

import msgspec
import pyarrow as arrow  # type: ignore[import-untyped]  # pyarrow ships no types
from playmolt_schemas.agora.plan import FaultCode, PlanFault
from playmolt_schemas.instrument import measure_file
from playmolt_schemas.instrument.laboratory import MeasureTrial
from playmolt_schemas.instrument.measure_file import ROWS_MOST, Kind, MeasureDeclaration
from playmolt_schemas.stored.agora.turn import TurnRecord
from pyarrow import compute

from playmolt_agora.measures.data.turns import table

START_SECONDS: Final = 60.0
"""Extra time for importing libraries on a busy machine, not charged to the measure."""
_CHILD: Final = (sys.executable, "-I", "-B", "-m", "playmolt_agora.own_measures.child")
_ENVIRONMENT: Final = {"POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_STARTED: Final = b"started\n"
_SHOWN: Final = 500
_PLACE: Final = "measures/"
_TYPES: Final[Mapping[Kind, tuple[Any, tuple[Callable[[object], bool], ...]]]] = {
    "str": (arrow.string(), (arrow.types.is_string, arrow.types.is_large_string, arrow.types.is_string_view)),
    "int": (arrow.int64(), (arrow.types.is_integer,)),
    "float": (arrow.float64(), (arrow.types.is_floating,)),
    "bool": (arrow.bool_(), (arrow.types.is_boolean,)),
}
"""The Arrow type of each kind, and what recognises the types that become it; a column of nulls becomes any of them."""


class MeasureResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a measure: a table (Arrow), or a code with its detail."""

    name: str = ""
    table: Any = None
    code: FaultCode | None = None
    detail: str = ""
    line: int | None = None
    declared: MeasureDeclaration | None = None

    @property
    def rows(self) -> int | None:
        return None if self.table is None else self.table.num_rows

    @property
    def described(self) -> dict[str, Any]:
        """What `analyze --json` says of it."""
        return {name: getattr(self, name) for name in ("name", "code", "detail", "rows")}


def results(texts: Mapping[str, str], turns: Iterable[TurnRecord]) -> tuple[MeasureResult, ...]:
    """Run every measure of a folder's texts over turns."""
    paths = sorted(path for path in texts if path.startswith(_PLACE))
    if not paths:
        return ()
    laid = table(msgspec.to_builtins(turn) for turn in turns)
    return tuple(_result(path.removeprefix(_PLACE).removesuffix(".py"), texts[path], laid) for path in paths)


def _result(name: str, text: str, turns: object) -> MeasureResult:
    declared = measure_file.read(name, text)
    if isinstance(declared, PlanFault):
        return MeasureResult(name=name, code=declared.code, detail=declared.message)
    found = measured(declared, turns)
    place = f" (line {found.line})" if found.line else ""
    return msgspec.structs.replace(found, name=name, detail=f"{found.detail}{place}", declared=declared)


def measured(
    declared: MeasureDeclaration, turns: object, *, seconds: float | None = None, command: Sequence[str] = _CHILD
) -> MeasureResult:
    """Run a measure over an Arrow table of turns; `seconds` overrides its declared limit, `command` its process."""
    found = _answer(declared, turns, seconds or declared.seconds, command)
    if found.code is not None:
        return found
    laid = _laid_out(declared, found.table)
    return MeasureResult(code="measure_output", detail=laid) if isinstance(laid, str) else MeasureResult(table=laid)


def _answer(declared: MeasureDeclaration, turns: object, seconds: float, command: Sequence[str]) -> MeasureResult:
    """What the process of a measure says. Its time begins when it has loaded its libraries."""
    with tempfile.TemporaryDirectory(prefix="playmolt-measure-") as folder, tempfile.TemporaryFile() as given:
        _write_task(declared, turns, given)
        with subprocess.Popen(
            command, cwd=folder, env=_ENVIRONMENT, bufsize=0, stdin=given,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                out = cast(IO[bytes], process.stdout)
                if not select.select([out], [], [], START_SECONDS)[0]:
                    return MeasureResult(code="measure_failed", detail="its process did not start in time")
                first = os.read(out.fileno(), len(_STARTED))
                rest, output = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                return MeasureResult(code="measure_timeout", detail=f"took more than {seconds:g} seconds")
            finally:
                process.kill()
    line, _, table = (rest if first == _STARTED else first + rest).partition(b"\n")
    if not line:
        return _died(declared, process.returncode, output)
    head = msgspec.json.decode(line, type=MeasureResult)
    return MeasureResult(table=arrow.ipc.open_stream(table).read_all()) if head.code is None else head


def _write_task(declared: MeasureDeclaration, turns: Any, out: IO[bytes]) -> None:
    """One line of JSON, then the turns."""
    out.write(msgspec.json.encode({name: getattr(declared, name) for name in ("text", "memory_mb", "seconds")}) + b"\n")
    with arrow.ipc.new_stream(out, turns.schema) as writer:
        writer.write_table(turns)
    out.seek(0)


def _died(declared: MeasureDeclaration, status: int, said: bytes) -> MeasureResult:
    """A process that ended without an answer, as native code does when out of memory."""
    output = said.decode(errors="replace").strip()[-_SHOWN:]
    if "memory" in output.lower() or "alloc" in output.lower():
        return MeasureResult(code="measure_memory", detail=f"used more than {declared.memory_mb} MB")
    return MeasureResult(code="measure_failed", detail=f"its process ended with status {status}. {output}".strip())


def _laid_out(declared: MeasureDeclaration, found: Any) -> Any:
    """The table in its declared types, sorted by its keys, null for numbers that are not finite; or how it differs."""
    if found.column_names != list(declared.columns):
        returned, expected = ", ".join(found.column_names) or "(none)", ", ".join(declared.columns)
        return f"returned the columns {returned}; the declared columns are {expected}"
    if found.num_rows > ROWS_MOST:
        return f"returned more than {ROWS_MOST:,} rows, which is the limit"
    laid: dict[str, Any] = {}
    for name, kind in declared.columns.items():
        column, (becomes, tests) = found.column(name), _TYPES[kind]
        if not any(test(column.type) for test in (*tests, arrow.types.is_null)):
            return f"column {name} has type {column.type}; the declared type is {kind}"
        try:
            laid[name] = column.cast(becomes)
        except arrow.ArrowInvalid as error:
            return f"column {name} has a value that {becomes} cannot hold: {error}"
        if kind == "float":
            laid[name] = compute.if_else(compute.is_finite(laid[name]), laid[name], None)
    keys = Counter(zip(*(laid[key].to_pylist() for key in declared.keys), strict=True))
    repeated = [key for key, rows in keys.items() if rows > 1]
    if repeated:
        return f"two rows with the key {', '.join(map(str, repeated[0]))}"
    return arrow.table(laid).sort_by([(key, "ascending") for key in declared.keys])


TRIAL_SECONDS: Final = 5.0


def trial_faults(trial: MeasureTrial) -> tuple[PlanFault, ...]:
    """A fault for each measure that does not hold."""
    turns = table(trial.turns)
    return tuple(fault for each in trial.measures if (fault := _fault(each, turns)) is not None)


def _fault(declared: MeasureDeclaration, turns: object) -> PlanFault | None:
    """What is wrong with a measure: the first of two runs over the same turns that fails, or that they differ."""
    seconds = min(TRIAL_SECONDS, declared.seconds)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: measured(declared, turns, seconds=seconds), range(2))
    found = second if first.code is None else first
    if found.code is None and not first.table.equals(second.table):
        found = MeasureResult(code="measure_unstable", detail="gave two different tables of the same turns")
    if found.code is None:
        return None
    path = f"{_PLACE}{declared.name}.py"
    return PlanFault("", found.detail, code=found.code, file=path, line=found.line)
