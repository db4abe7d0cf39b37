"""`stances.parquet`: a row for each change of a stance, in order."""

import io

import pyarrow as pa
import pyarrow.parquet as pq

from playmolt_jury.panels.report import ReportSource, stance_rows

SCHEMA = pa.schema(
    [
        pa.field("script", pa.string(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("session", pa.string(), nullable=False),
        pa.field("step", pa.int32(), nullable=False),
        pa.field("cause", pa.string(), nullable=False),
        pa.field("juror", pa.string(), nullable=False),
        pa.field("before", pa.int32(), nullable=False),
        pa.field("after", pa.int32(), nullable=False),
    ]
)


def stances(source: ReportSource) -> bytes:
    """The file. `step` counts on after the steps of the script, one for each round of deliberation."""
    rows = [
        (script, seed, session, move.step, move.cause, move.juror, move.before, move.after)
        for script, seed, session, move in stance_rows(source)
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    table = pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA)
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()
