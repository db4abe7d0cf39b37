"""The files of a study: turns, tables as CSV and Parquet (measures.md, section 11), figures, and the page."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from playmolt_schemas.instrument.laboratory import REPORT
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures.data.tables import arrow_table, save
from playmolt_agora.own_measures import results
from playmolt_agora.report import STUDY, page
from playmolt_agora.report.plots.figure import Plot
from playmolt_agora.report.plots.gallery import gallery
from playmolt_agora.report.study import StudyData, StudyFault, Table, rows
from playmolt_agora.report.vega import pdf, png, print_svg, size


def write(study: StudyData, out: Path, *, printed: bool = False) -> tuple[Path, ...]:
    """Write turns.jsonl, every table as CSV and Parquet, figures, study.json and report.html into a folder.

    With `printed` figures are written as PDF and PNG, too: that takes half a second each.
    """
    tables = {**study.tables, **study.further, **study.unexcluded}
    files = write_tables(tables, study.turns, out, study.provenance)
    own = results.write(study.own.measures, out) if study.own else ()
    report, described = out / REPORT, out / STUDY
    drawn = gallery(study)
    report.write_text(page.render(study, drawn), encoding="utf-8")
    described.write_bytes(msgspec.json.format(msgspec.json.encode(study.described), indent=1))
    return (*files, *own, *_write_figures(study, drawn, out, printed=printed), described, report)


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
        files += save(name, table, arrow_table(table), out)
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


def _check(name: str, table: Table) -> None:
    if not name.isidentifier():
        raise StudyFault(f"{name!r} is not a valid table name: it becomes a file name")
    lengths = {column: len(values) for column, values in table.items()}
    if len(set(lengths.values())) > 1:
        raise StudyFault(f"table {name}: columns of different length: {lengths}")
    for column, values in table.items():
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            raise StudyFault(f"table {name}, column {column}: a number is not finite; write null as None")


def _write_turns(turns: Iterable[TurnRecord], path: Path) -> Path:
    with path.open("wb") as out:
        out.writelines(turn_line(turn) for turn in turns)
    return path


FOLDER: Final = "figures"
INDEX: Final = "index.json"


def _write_figures(study: StudyData, figures: Mapping[str, Plot], out: Path, *, printed: bool) -> tuple[Path, ...]:
    """Write `figures/NAME.svg`, with `printed` also `.pdf` and `.png`, and `figures/index.json`; gives the files."""
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    found = [path for figure in figures.values() for path in _formats(figure, folder, printed=printed)]
    index = folder / INDEX
    index.write_bytes(msgspec.json.format(msgspec.json.encode(list(_entries(study, figures.values()))), indent=1))
    return (*found, index)


def _formats(figure: Plot, folder: Path, *, printed: bool) -> Iterable[Path]:
    bodies = {"svg": print_svg(figure.svg).encode()}
    if printed:
        bodies |= {"pdf": pdf(figure.svg, figure.title), "png": png(figure.svg)}
    for ending, body in bodies.items():
        path = folder / f"{figure.name}.{ending}"
        path.write_bytes(body)
        yield path


def _entries(study: StudyData, figures: Iterable[Plot]) -> Iterable[dict[str, object]]:
    for figure in figures:
        width, height = size(figure.svg)
        yield {
            "name": figure.name,
            "title": figure.title,
            "width_mm": width,
            "height_mm": height,
            "tables": [figure.table] if figure.table else [],
            "definition": f"{figure.measure} of {study.definitions}",
            "runs": [run.run for run in figure.runs],
            "columns": figure.columns,
            "rows": figure.lines,
        }
