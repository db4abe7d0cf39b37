"""The rows of a simulation as files for other tools."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from playmolt_agora.measures.data.tables import csv_text
from playmolt_agora.simulation.rows import COLUMNS, SimulationRow


def save(rows: Sequence[SimulationRow], out: Path) -> None:
    """Write `simulation.csv` and `simulation.parquet` into a folder, which is made where it is missing."""
    table = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    out.mkdir(parents=True, exist_ok=True)
    (out / "simulation.csv").write_text(csv_text(table), encoding="utf-8")
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    kinds = {
        **dict.fromkeys(COLUMNS, arrow.string()),
        **dict.fromkeys(("estimate", "lo", "hi", "promised_lo", "promised_hi"), arrow.float64()),
        "draws": arrow.int64(),
        "ok": arrow.bool_(),
    }
    schema = arrow.schema(list(kinds.items()))
    with (out / "simulation.parquet").open("wb") as file:  # pyarrow takes no path that is not UTF-8
        parquet.write_table(arrow.table(table, schema=schema), file)
