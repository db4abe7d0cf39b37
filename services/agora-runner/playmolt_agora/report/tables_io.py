"""The tables for other tools: `turns.jsonl`, and each table as CSV and Parquet (measures.md, section 11)."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
from playmolt_schemas.agora.turn import ParseCode, TurnRecord

from playmolt_agora.report.study import StudyFault, Table, rows

TEXTS: Final = frozenset(
    (
        "action", "agent", "arm", "cell", "condition", "contrast", "experiment", "figure", "kind", "language", "level",
        "measure", "model", "other", "persona", "phase", "place", "run", "set", "target", "test", "unit",
        "known", "coder_a", "coder_b", "label", "model_a", "model_b", "outcome", "treatment",
    )
)  # fmt: skip
FLAGS: Final = frozenset(("degenerate_by_design", "excluded", "exploratory", "indicative", "scripted"))
COUNTS: Final = frozenset(
    (
        "a_success", "agents", "agents_kept", "count", "dissoc_a", "dissoc_b", "dissoc_c", "dissoc_u", "dyad_exposure",
        "calls", "cached_tokens", "completion_tokens", "failed_calls", "prompt_tokens", "reasoning_tokens",
        "refused_calls", "unknown_calls",
        "number", "epoch", "exposure", "failed", "feasible", "feasible_a", "interactions", "n", "n_off", "n_on",
        "n_phase1", "n_stage1", "ritual", "ritual_infeasible", "runs_phase1", "runs_stage1", "succeeded", "t_all",
        "t_rule", "t_valid", "turn", "turns", "valid", "window", *get_args(ParseCode),
    )
)  # fmt: skip
"""Names of the columns that are text, truth values and whole numbers; all others are measured. So are `labelings`, of
which a study of many runs has more than 64 bits can count."""

_encode: Final = msgspec.json.Encoder().encode


def write_tables(
    tables: Mapping[str, Table],
    turns: Iterable[TurnRecord],
    out: Path,
    provenance: Mapping[str, Table] | None = None,
) -> tuple[Path, ...]:
    """Write `turns.jsonl`, `TABLE.csv` and `TABLE.parquet` into `out`, which is made where it is missing.

    With `provenance` (a table parallel to each, as `measures.study` gives it) also `provenance.jsonl`: one line a row
    of a table, `{table, row, definition, alpha, k, n, unit, exclusions, seed, runs, events}`, rows from 1.

    Columns keep their order; null is an empty field in CSV and null in Parquet. Gives the files in the order written.
    Raises StudyFault, before anything is written, when columns differ in length or a number is not finite.
    """
    for name, table in tables.items():
        _check(name, table)
    out.mkdir(parents=True, exist_ok=True)
    files = [_write_turns(turns, out / "turns.jsonl")]
    for name, table in tables.items():
        files.append(out / f"{name}.csv")
        files[-1].write_bytes(csv_text(table).encode())
        files.append(out / f"{name}.parquet")
        _write_parquet(table, files[-1])
    if provenance is not None:
        files.append(out / "provenance.jsonl")
        files[-1].write_bytes(b"".join(_origins(provenance)))
    return tuple(files)


def _origins(provenance: Mapping[str, Table]) -> Iterator[bytes]:
    for name, table in provenance.items():
        for number, row in enumerate(rows(table), 1):
            yield _encode({"table": name, "row": number, **row}) + b"\n"


def turn_line(turn: TurnRecord) -> bytes:
    """A turn's line of `turns.jsonl`, with its end."""
    return _encode(turn) + b"\n"


def csv_text(table: Table) -> str:
    """A table as CSV: a head line, `\\n` ends, shortest decimals that read back the same, `true` and `false`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows([_field(value) for value in line] for line in zip(*table.values(), strict=True))
    return text.getvalue()


def _field(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def _check(name: str, table: Table) -> None:
    if not name.isidentifier():
        raise StudyFault(f"{name!r} is no name for a table: it becomes a file's name")
    lengths = {column: len(values) for column, values in table.items()}
    if len(set(lengths.values())) > 1:
        raise StudyFault(f"table {name}: columns of different length: {lengths}")
    for column, values in table.items():
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            raise StudyFault(f"table {name}, column {column}: a number that is not finite; null is written as None")


def _write_turns(turns: Iterable[TurnRecord], path: Path) -> Path:
    with path.open("wb") as out:
        out.writelines(turn_line(turn) for turn in turns)
    return path


def arrow_table(table: Table) -> Any:
    """A table with the types that its columns' names say."""
    arrow = import_module("pyarrow")
    kinds = {"text": arrow.string(), "flag": arrow.bool_(), "count": arrow.int64(), "measure": arrow.float64()}
    schema = arrow.schema([(name, kinds[kind_of(name, values)]) for name, values in table.items()])
    columns = [
        arrow.array(_plain(values, kind_of(name, values)), type=schema.field(name).type)
        for name, values in table.items()
    ]
    return arrow.Table.from_arrays(columns, schema=schema)


def _write_parquet(table: Table, path: Path) -> None:
    with path.open("wb") as file:  # pyarrow takes no path that is not UTF-8
        import_module("pyarrow.parquet").write_table(arrow_table(table), file)


def kind_of(column: str, values: Sequence[Any]) -> str:
    """What a column holds: text, flag, count or measure. By its name, so that a column of nulls has a type, too."""
    for names, kind in ((TEXTS, "text"), (FLAGS, "flag"), (COUNTS, "count")):
        if column in names:
            return kind
    known = next((value for value in values if value is not None), None)
    return "text" if isinstance(known, str) else "measure"


def _plain(values: Sequence[Any], kind: str) -> list[Any]:
    """Turn NumPy's numbers into Python's: Arrow is strict about mixed columns."""
    make: Callable[[Any], Any] = {"text": str, "flag": bool, "count": int, "measure": float}[kind]
    return [None if value is None else make(value) for value in values]
