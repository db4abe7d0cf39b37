"""The tables of turns in a frame, a list or a file, computed by the code of `analyze`."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from playmolt_agora.measures import analysis
from playmolt_agora.measures.data.tables import TABLES, arrow_table
from playmolt_agora.measures.data.turns import plain
from playmolt_agora.studies.study import Table


def measure(turns: object, *, seed: str = "0", tables: Collection[str] | None = None) -> dict[str, Table]:
    """The tables of section 11 from turn records: a polars or pandas frame, a list of dicts, or a `turns.jsonl`.

    `seed` is the study's; `tables` names those that are wanted. ValueError for a record that lacks a field.
    """
    found = analysis.study(_records(turns), seed=seed).tables
    wanted = [name for name in TABLES if tables is None or name in tables]
    return {name: Table(name, partial(arrow_table, name, found[name])) for name in wanted}


def _records(turns: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(turns, str | Path):
        return _lines(Path(turns))
    if isinstance(turns, Table):
        return map(plain, turns.to_arrow().to_pylist())
    if hasattr(turns, "to_dicts"):
        return map(plain, turns.to_dicts())
    if hasattr(turns, "to_dict"):
        return (plain(_listed(row)) for row in turns.to_dict("records"))
    return map(plain, turns)


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open("rb") as lines:
        yield from map(msgspec.json.decode, lines)


def _listed(row: Mapping[str, object]) -> dict[str, object]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in row.items()}
