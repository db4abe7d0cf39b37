"""The files of a study: turns, tables as CSV and Parquet (measures.md, section 11), figures, and the page."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from playmolt_schemas.instrument.laboratory import REPORT
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures.data.results import Row
from playmolt_agora.measures.data.tables import arrow_table, save
from playmolt_agora.report import STUDY, page
from playmolt_agora.report.plots.gallery import Plot, gallery
from playmolt_agora.report.study import StudyData, StudyFault
from playmolt_agora.report.vega import pdf, png, print_svg, size

_encode: Final = msgspec.json.Encoder().encode


def write(study: StudyData, out: Path, *, printed: bool = False) -> tuple[Path, ...]:
    """Write turns.jsonl, every table as CSV and Parquet, figures, study.json and report.html into a folder.

    With `printed` figures are written as PDF and PNG, too: that takes half a second each.
    """
    drawn = gallery(study)
    return (
        *write_tables(study.tables, study.turns, out, study.provenance),
        *(
            path
            for each in (study.own.measures if study.own else ())
            if each.declared is not None and each.table is not None
            for path in save(each.declared.table, each.table.to_pylist(), each.table, out)
        ),
        *_figures(study, drawn.values(), out / "figures", printed=printed),
        _written(out / STUDY, _pretty(study.described)),
        _written(out / REPORT, page.render(study, drawn).encode()),
    )


def write_tables(
    tables: Mapping[str, Sequence[Row]], turns: Iterable[TurnRecord], out: Path,
    provenance: Mapping[str, Sequence[Row]] = {},
) -> tuple[Path, ...]:  # fmt: skip
    """Write `turns.jsonl`, `TABLE.csv` and `TABLE.parquet` into `out`, which is made where it is missing.

    Of `provenance` (a row for each of theirs, as `measures.study` gives it) `provenance.jsonl` has a line a row of a
    table: `{table, row, definition, alpha, k, n, unit, exclusions, seed, runs, events}`, rows from 1.

    Columns keep their order; null is an empty field in CSV and null in Parquet. Gives the files in the order written.
    Raises StudyFault, before anything is written, when a number is not finite.
    """
    for name, table in tables.items():
        _check(name, table)
    out.mkdir(parents=True, exist_ok=True)
    files = [_lines(out / "turns.jsonl", turns)]
    for name, table in tables.items():
        files += save(name, table, arrow_table(name, table), out)
    origins = (
        {"table": name, "row": number, **row}
        for name, table in provenance.items()
        for number, row in enumerate(table, 1)
    )
    return *files, _lines(out / "provenance.jsonl", origins)


def _check(name: str, table: Sequence[Row]) -> None:
    for column, value in (cell for row in table for cell in row.items()):
        if isinstance(value, float) and not math.isfinite(value):
            raise StudyFault(f"table {name}, column {column}: a number is not finite; write null as None")


def _figures(study: StudyData, figures: Iterable[Plot], folder: Path, *, printed: bool) -> Iterator[Path]:
    """Write `figures/NAME.svg`, with `printed` also `.pdf` and `.png`, and `figures/index.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for figure in figures:
        yield _written(folder / f"{figure.name}.svg", print_svg(figure.svg).encode())
        if printed:
            yield _written(folder / f"{figure.name}.pdf", pdf(figure.svg))
            yield _written(folder / f"{figure.name}.png", png(figure.svg))
        width, height = size(figure.svg)
        entries.append(
            {"name": figure.name, "title": figure.title, "width_mm": width, "height_mm": height,
             "tables": [figure.table] if figure.table else [], "definition": f"{figure.measure} of {study.definitions}",
             "runs": [run.run for run in figure.runs], "columns": figure.columns, "rows": figure.lines}
        )  # fmt: skip
    yield _written(folder / "index.json", _pretty(entries))


def _lines(path: Path, values: Iterable[object]) -> Path:
    with path.open("wb") as out:
        out.writelines(_encode(value) + b"\n" for value in values)
    return path


def _written(path: Path, body: bytes) -> Path:
    path.write_bytes(body)
    return path


def _pretty(value: object) -> bytes:
    return msgspec.json.format(_encode(value), indent=1)
