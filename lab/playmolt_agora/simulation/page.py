"""The tables of a simulation: between marks of a Markdown page, compared with later draws; and its rows as files."""

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from math import sqrt
from pathlib import Path
from typing import Final

from msgspec.structs import asdict
from playmolt_schemas.instrument import definitions

from playmolt_agora.measures.data import tables
from playmolt_agora.measures.data.turns import schema
from playmolt_agora.simulation.rows import COLUMNS, SimulationRow

_BLOCK: Final = re.compile(r"(<!-- simulate:begin (\S+) -->\n)(.*?)(<!-- simulate:end \2 -->)", re.DOTALL)
_VERSION: Final = definitions.version()
_APART: Final = 4.0
"""Standard errors between two estimates of one rate that are called different: one row in 15,000 by chance."""


def written(page: str, rows: Sequence[SimulationRow]) -> str:
    """The page with each test's table replaced. Raises ValueError for a test without a place in it."""
    places = {match[2] for match in _BLOCK.finditer(page)}
    missing = sorted({row.test for row in rows} - places)
    if missing:
        raise ValueError(f"the page has no place for {', '.join(missing)}: write <!-- simulate:begin TEST --> and end")

    def block(match: re.Match[str]) -> str:
        mine = [row for row in rows if row.test == match[2]]
        return f"{match[1]}{_table(mine)}{match[4]}" if mine else match[0]

    return _BLOCK.sub(block, page)


def differences(page: str, rows: Sequence[SimulationRow], version: str = _VERSION) -> Iterator[str]:
    """What the page says otherwise: another version, other points, an estimate beyond the binomial error of both."""
    blocks = {match[2]: match[3] for match in _BLOCK.finditer(page)}
    for test in dict.fromkeys(row.test for row in rows):
        if test not in blocks:
            yield f"{test}: the page has no table of it"
            continue
        if f"`{version}`" not in blocks[test]:
            yield f"{test}: the page is of other definitions than {version}"
        there = _read(blocks[test])
        mine = {row.key: row for row in rows if row.test == test}
        yield from (f"{' '.join(key)}: is in the page alone" for key in there.keys() - mine.keys())
        yield from (f"{' '.join(key)}: is not in the page" for key in mine.keys() - there.keys())
        for key in mine.keys() & there.keys():
            row, (estimate, draws) = mine[key], there[key]
            both = (row.estimate * row.draws + estimate * draws) / (row.draws + draws)
            error = sqrt(max(both * (1 - both), 1 / (row.draws + draws)) * (1 / row.draws + 1 / draws))
            if abs(row.estimate - estimate) > _APART * error:
                yield f"{' '.join(key)}: {row.estimate:.3f}, the page says {estimate:.3f}"


def _table(rows: Sequence[SimulationRow]) -> str:
    head = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
    lines = "".join(f"| {' | '.join(_cell(row, column) for column in COLUMNS)} |\n" for row in rows)
    return f"\nDefinitions `{_VERSION}`.\n\n{head}{lines}\n"


def _cell(row: SimulationRow, column: str) -> str:
    value = getattr(row, column)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _read(block: str) -> dict[tuple[str, ...], tuple[float, int]]:
    found = {}
    for line in block.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        row = dict(zip(COLUMNS, cells, strict=False))
        if len(cells) == len(COLUMNS) and row["draws"].isdigit():
            key = tuple(row[name] for name in ("test", "scenario", "quantity", "n", "dispersion", "effect"))
            found[key] = float(row["estimate"]), int(row["draws"])
    return found


def save(rows: Sequence[SimulationRow], out: Path) -> None:
    """Write `simulation.csv` and `simulation.parquet` into a folder, which is made where it is missing."""
    out.mkdir(parents=True, exist_ok=True)
    lines = [*map(asdict, rows)]
    table = import_module("pyarrow").Table.from_pylist(lines, schema=schema(SimulationRow))
    tables.save("simulation", lines, table, out)
