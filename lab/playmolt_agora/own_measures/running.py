"""Run a measure over turns in a separate process: its table, or the code of its failure."""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
from playmolt_schemas.agora.plan import FaultCode
from playmolt_schemas.instrument.measure_file import Kind, MeasureDeclaration

ROWS_MOST: Final = 1_000_000
START_SECONDS: Final = 60.0
"""Extra time for importing libraries on a busy machine, not charged to the measure."""
_CHILD: Final = Path(__file__).with_name("child.py")
_LIBRARY: Final = Path(__file__).parent
_ENVIRONMENT: Final = {"POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_SHOWN: Final = 500


class MeasureResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a measure: a table (Arrow), or a code with its detail."""

    table: Any = None
    code: FaultCode | None = None
    detail: str = ""
    line: int | None = None


def measured(
    declared: MeasureDeclaration, turns: object, *, seconds: float | None = None, before: str = ""
) -> MeasureResult:
    """Run a measure over an Arrow table of turns; `seconds` overrides its declared limit.

    `before` is Python that its process runs first.
    """
    found = _Child(declared, turns, before).run(seconds or declared.seconds)
    if found.code is not None:
        return found
    reason = _unlike(declared, found.table)
    if reason is not None:
        return MeasureResult(code="measure_output", detail=reason)
    return MeasureResult(table=_laid_out(declared, found.table))


class _Child:
    """One process, fed and read by threads, so that neither side waits for a full pipe."""

    def __init__(self, declared: MeasureDeclaration, turns: Any, before: str) -> None:
        self._declared, self._turns, self._before = declared, turns, before
        self._started, self._done = threading.Event(), threading.Event()
        self._said = b""
        self._output = b""

    def run(self, seconds: float) -> MeasureResult:
        with tempfile.TemporaryDirectory(prefix="playmolt-measure-") as folder:
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", f"{self._before}\n{_program()}"], cwd=folder, env=_ENVIRONMENT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            threads = [
                threading.Thread(target=work, args=(process,), daemon=True)
                for work in (self._feed, self._read, self._listen)
            ]
            for thread in threads:
                thread.start()
            try:
                return self._waited(process, seconds)
            finally:
                process.kill()
                process.wait()
                for thread in threads:
                    thread.join()
                for pipe in (process.stdin, process.stdout, process.stderr):
                    if pipe is not None:
                        pipe.close()

    def _waited(self, process: "subprocess.Popen[bytes]", seconds: float) -> MeasureResult:
        if not self._started.wait(START_SECONDS):
            return MeasureResult(code="measure_failed", detail="its process did not start in time")
        if not self._done.wait(seconds):
            return MeasureResult(code="measure_timeout", detail=f"took more than {seconds:g} seconds")
        process.wait()
        line, _, rest = self._said.partition(b"\n")
        if not line:
            return self._died(process.returncode)
        head = msgspec.json.decode(line, type=MeasureResult)
        if head.code is not None:
            return head
        return MeasureResult(table=import_module("pyarrow").ipc.open_stream(rest).read_all())

    def _died(self, status: int) -> MeasureResult:
        """A process that ended without output, as native code does when out of memory."""
        output = self._output.decode(errors="replace").strip()[-_SHOWN:]
        if "memory" in output.lower() or "alloc" in output.lower():
            detail = f"used more than {self._declared.memory_mb} MB"
            return MeasureResult(code="measure_memory", detail=detail)
        return MeasureResult(code="measure_failed", detail=f"its process ended with status {status}. {output}".strip())

    def _feed(self, process: "subprocess.Popen[bytes]") -> None:
        pipe = process.stdin
        if pipe is None:
            return
        limits = {name: getattr(self._declared, name) for name in ("text", "memory_mb", "seconds")}
        task = {**limits, "rows": ROWS_MOST}
        try:
            pipe.write(msgspec.json.encode(task) + b"\n")
            with import_module("pyarrow").ipc.new_stream(pipe, self._turns.schema) as writer:
                writer.write_table(self._turns)
            pipe.flush()
        except (OSError, ValueError):
            pass  # it ended before it had read them, and its status says why

    def _read(self, process: "subprocess.Popen[bytes]") -> None:
        pipe = process.stdout
        if pipe is not None:
            first = pipe.readline()
            self._started.set()
            self._said = pipe.read() if first == b"started\n" else first + pipe.read()
        self._done.set()

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        if process.stderr is not None:
            self._output = process.stderr.read()[-4000:]


def _program() -> str:
    """`-I` ignores the script's folder, so the child's path is given explicitly."""
    beside, child = repr(str(_LIBRARY)), repr(str(_CHILD))
    return f"import sys, runpy; sys.path.insert(0, {beside}); runpy.run_path({child}, run_name='__main__')"


def _unlike(declared: MeasureDeclaration, table: Any) -> str | None:
    """How a table differs from its declaration."""
    if table.column_names != list(declared.columns):
        returned, expected = ", ".join(table.column_names), ", ".join(declared.columns)
        return f"returned the columns {returned}; the declared columns are {expected}"
    for name, kind in declared.columns.items():
        found = table.schema.field(name).type
        if not _is_of(kind, found):
            return f"column {name} has type {found}; the declared type is {kind}"
    keys = zip(*(table.column(key).to_pylist() for key in declared.keys), strict=True)
    seen = set()
    for key in keys:
        if key in seen:
            return f"two rows with the key {', '.join(map(str, key))}"
        seen.add(key)
    return None


def _is_of(kind: Kind, found: Any) -> bool:
    types = import_module("pyarrow").types
    tests: Mapping[str, tuple[Any, ...]] = {
        "str": (types.is_string, types.is_large_string, types.is_string_view),
        "int": (types.is_integer,),
        "float": (types.is_floating,),
        "bool": (types.is_boolean,),
    }
    return any(test(found) for test in tests[kind])


def _laid_out(declared: MeasureDeclaration, table: Any) -> Any:
    """The table in its declared types, rows sorted by the keys, NaN as null."""
    arrow = import_module("pyarrow")
    compute = import_module("pyarrow.compute")
    kinds = {"str": arrow.string(), "int": arrow.int64(), "float": arrow.float64(), "bool": arrow.bool_()}
    columns = []
    for name, kind in declared.columns.items():
        column = table.column(name).cast(kinds[kind])
        if kind == "float":
            finite = compute.fill_null(compute.is_finite(column), False)
            column = compute.if_else(finite, column, arrow.scalar(None, kinds[kind]))
        columns.append(column)
    laid = arrow.Table.from_arrays(columns, names=list(declared.columns))
    return laid.sort_by([(key, "ascending") for key in declared.keys])
