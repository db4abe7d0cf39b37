"""A Stage 1 distribution from elsewhere: a file of counts per run, model, language and action (stage1.md)."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.stored.agora.plan import ImportedRun, Stage1Import
from playmolt_schemas.stored.agora.turn import ACTIONS, Action

from playmolt_agora_runner.plan import document

COLUMNS: Final = ("run", "model", "language", "action", "count")
"""Of the CSV file, one row for each run, model, language and action; a JSON file is a list of objects of these."""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    run: str
    model: str
    language: str
    action: Action
    count: int


def read(name: str, text: str) -> Stage1Import | tuple[PlanFault, ...]:
    """Read a file of counts; actions that are left out count 0, but a run needs one turn. Faults name the row."""
    try:
        rows = _rows(text)
    except (document.Unreadable, csv.Error) as error:
        return (PlanFault("stage1_import", f"{name}: {error}"),)
    counts: dict[tuple[str, str, str], dict[Action, int]] = {}
    first: dict[tuple[str, str, str], int] = {}
    faults = []
    for number, row in enumerate(rows, 1):
        try:
            found = msgspec.convert(row, _Row, strict=False)
        except msgspec.ValidationError as error:
            faults.append(PlanFault("stage1_import", f"{name}, row {number}: {error}"))
            continue
        key = (found.run, found.model, found.language)
        first.setdefault(key, number)
        if found.count < 0:
            faults.append(PlanFault("stage1_import", f"{name}, row {number}: count must not be negative"))
        counts.setdefault(key, dict.fromkeys(ACTIONS, 0))[found.action] += found.count
    faults += [
        PlanFault("stage1_import", f"{name}, row {first[key]}: {empty(*key)}")
        for key, run in counts.items()
        if not any(run.values())
    ]
    if not counts and not faults:
        faults.append(PlanFault("stage1_import", f"{name}: holds no counts; columns are {', '.join(COLUMNS)}"))
    return tuple(faults) or _import(name, counts)


def empty(run: str, model: str, language: str) -> str:
    """Why counts of nothing are refused: they would pass for one more run of the test."""
    return f"{run} counts no turn of {model} in {language}: omit runs without turns"


def _rows(text: str) -> Iterable[object]:
    text = text.removeprefix("\ufeff")  # spreadsheets write it, and the first column would not be found
    if text.lstrip().startswith("["):
        rows = document.load(text)
        return rows if isinstance(rows, list) else [rows]
    return list(csv.DictReader(io.StringIO(text)))


def _import(
    name: str, counts: Mapping[tuple[str, str, str], dict[Action, int]]
) -> Stage1Import | tuple[PlanFault, ...]:
    runs = [
        {"run": run, "model": model, "language": language, "counts": found}
        for (run, model, language), found in counts.items()
    ]
    try:
        return Stage1Import(file=name, runs=msgspec.convert(runs, tuple[ImportedRun, ...]))
    except msgspec.ValidationError as error:
        return (PlanFault("stage1_import", f"{name}: {error}"),)
