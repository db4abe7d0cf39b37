"""The files of figures: SVG in millimetres, PDF with its font inside, PNG with its resolution, and their index."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from playmolt_agora.report.plots.figure import Plot
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.vega import pdf, png, print_svg, size

FOLDER: Final = "figures"
INDEX: Final = "index.json"


def write(study: StudyData, figures: Mapping[str, Plot], out: Path, *, printed: bool) -> tuple[Path, ...]:
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
