"""`stances.parquet`: a row for each change of a stance, in order."""

import io
from typing import Final

import pyarrow as arrow  # type: ignore[import-untyped]
from pyarrow import parquet

from playmolt_jury.panels.report import ReportSource, stance_rows

SCHEMA: Final = arrow.schema(
    [
        arrow.field("script", arrow.string(), nullable=False),
        arrow.field("seed", arrow.int64(), nullable=False),
        arrow.field("session", arrow.string(), nullable=False),
        arrow.field("step", arrow.int32(), nullable=False),
        arrow.field("cause", arrow.string(), nullable=False),
        arrow.field("juror", arrow.string(), nullable=False),
        arrow.field("before", arrow.int32(), nullable=False),
        arrow.field("after", arrow.int32(), nullable=False),
    ]
)


def stances(source: ReportSource) -> bytes:
    """The file. `step` counts on after the steps of the script, one for each round of deliberation."""
    rows = [
        (script, seed, session, move.step, move.cause, move.juror, move.before, move.after)
        for script, seed, session, move in stance_rows(source)
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [arrow.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    table = arrow.Table.from_arrays(arrays, schema=SCHEMA)
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()
