"""A Stage 1 distribution from elsewhere: a file of counts per run, model, language and action (stage1.md)."""

import csv
from typing import Final

import msgspec
from playmolt_schemas.agora.plan import FaultCode, PlanFault
from playmolt_schemas.stored.agora.plan import Alias, Count, ImportedRun, Line, Stage1Import
from playmolt_schemas.stored.agora.turn import ACTIONS, Action, Language
from playmolt_schemas.text import unstorable

from playmolt_agora_runner.struct_reader import explained

COLUMNS: Final = ("run", "model", "language", "action", "count")
"""Of the CSV file, one row for each run, model, language and action."""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    run: Line
    model: Alias
    language: Language
    action: Action
    count: Count


def read(name: str, text: str) -> Stage1Import | tuple[PlanFault, ...]:
    """Read a file of counts; actions that are left out count 0, but a run needs one turn. Faults name file and line."""
    faults: list[PlanFault] = []

    def fault(message: str, line: int | None = None, code: FaultCode = "out_of_range") -> None:
        faults.append(PlanFault("stage1_import", message, code=code, file=name, line=line))

    if unstorable(text):
        fault("contains NUL or a lone surrogate", code="not_text")
        return tuple(faults)
    counts: dict[tuple[str, str, Language], dict[Action, int]] = {}
    first: dict[tuple[str, str, str], int] = {}
    # Spreadsheets write a byte order mark, and the first column would not be found.
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    rows = csv.DictReader(lines, strict=True, restkey="a further cell")
    try:
        for number, row in enumerate(rows, 1):
            try:
                found = msgspec.convert(row, _Row, strict=False)
            except msgspec.ValidationError as error:
                message, place = explained(error)
                fault(f"row {number}: {place.removeprefix('.')}{': ' if place else ''}{message}", rows.line_num)
                continue
            named = (found.run, found.model, found.language)
            first.setdefault(named, rows.line_num)
            run = counts.setdefault(named, {})
            if found.action in run:
                fault(f"row {number}: {found.action} of {found.run} is there already; add the counts up", rows.line_num)
            run[found.action] = found.count
    except csv.Error as error:
        fault(f"is not valid CSV: {error}", code="unreadable")
    for key, run in counts.items():
        if not any(run.values()):
            fault(empty(*key), first[key])
    if not counts and not faults:
        fault(f"holds no counts; columns are {', '.join(COLUMNS)}")
    runs = (
        ImportedRun(run=run, model=model, language=language, counts=dict.fromkeys(ACTIONS, 0) | acts)
        for (run, model, language), acts in counts.items()
    )
    return tuple(faults) or Stage1Import(file=name, runs=tuple(runs))


def empty(run: str, model: str, language: str) -> str:
    """Why counts of nothing are refused: they would pass for one more run of the test."""
    return f"{run} counts no turn of {model} in {language}: omit runs without turns"
