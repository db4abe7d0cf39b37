"""The tables of turns in a frame, a list or a file, computed by the code of `analyze`."""

from collections.abc import Collection
from functools import partial
from pathlib import Path

from playmolt_agora.measures import analysis
from playmolt_agora.measures.data.tables import TABLES, arrow_table
from playmolt_agora.measures.data.turns import dicts, read
from playmolt_agora.studies.study import Table


def measure(turns: object, *, seed: str = "0", tables: Collection[str] | None = None) -> dict[str, Table]:
    """The tables of section 11 from turn records: a polars or pandas frame, a list of dicts, or a `turns.jsonl`.

    `seed` is the study's; `tables` names those that are wanted. ValueError for a record that lacks a field.
    """
    records = read(Path(turns)) if isinstance(turns, str | Path) else dicts(turns)
    found = analysis.study(records, seed=seed).tables
    wanted = [name for name in TABLES if tables is None or name in tables]
    return {name: Table(name, partial(arrow_table, name, found[name])) for name in wanted}
