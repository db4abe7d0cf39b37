"""Answers of people, `baselines/NAME.csv` of a plan's folder: counts per condition and question, never rows of persons.

The first lines say where they come from and under which licence: `# source: …` and `# licence: …`.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from playmolt_schemas.agora.plan import FaultCode, PlanFault
from playmolt_schemas.instrument.definitions import ARMS
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.turn import Interview, InterviewScale
from playmolt_schemas.text import trimmed

COLUMNS: Final = ("condition", "item", "answer", "count")
PEOPLE_MOST: Final = 1_000_000_000
"""The largest count."""
_HEADERS: Final = ("source", "licence")
_HEADER: Final = re.compile(r"#\s*(source|licence)\s*:(.*)", re.IGNORECASE)
_WHOLE: Final = re.compile(r"-?[0-9]{1,12}")
_SEPARATORS: Final = (";", "\t")


class BaselineRow(msgspec.Struct, frozen=True):
    """How many people gave an answer: a point of a scale, or the number of a choice."""

    condition: str
    item: str
    answer: int
    count: int


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of people in one file."""

    name: str
    source: str
    licence: str
    rows: tuple[BaselineRow, ...]


class BaselineTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What the file may name: conditions of the plan, and its questions with numbers or choices, by their items."""

    conditions: tuple[str, ...]
    items: Mapping[str, Interview]


def terms_of(plan: Plan) -> BaselineTerms:
    """The terms of a plan. A condition is a phase or room, or a part of it by set, model or language: `phase1`,
    `phase2/A`, `pasture/ko`, `pasture/MODEL/ko`. An item is the id of a question; `ID@TURN` are its answers after one
    turn."""
    conditions: list[str] = []
    for name, models, languages, sets in _parts(plan):
        conditions += [name, *(f"{name}/{each}" for each in (*sets, *languages, *models))]
        conditions += [f"{name}/{model}/{language}" for model in models for language in languages]
    items: dict[str, Interview] = {}
    for interview in plan.interviews or ():
        if not interview.text:
            items |= {interview.id: interview, **{f"{interview.id}@{turn}": interview for turn in interview.at}}
    return BaselineTerms(conditions=tuple(conditions), items=items)


def _parts(plan: Plan) -> Iterator[tuple[str, Sequence[str], Sequence[str], Sequence[str]]]:
    """The name of each phase and room with its models, languages and sets."""
    for arm in ARMS:
        phase = getattr(plan.phases, arm)
        if phase and phase.runs:
            models, languages = phase.models or plan.models, phase.languages or plan.languages
            yield arm, models, languages, (getattr(phase, "sets", None) or "ABCD") if arm == "phase2" else ()
    for room in plan.rooms or ():
        if room.runs:
            yield room.name, room.models or plan.models, room.languages or plan.languages, ()


def answers_of(interview: Interview) -> range:
    """All answers that a question can have, as numbers."""
    if isinstance(interview.scale, InterviewScale):
        return range(interview.scale.from_, interview.scale.to + 1)
    return range(1, max(len(interview.choices_in("ko")), len(interview.choices_in("en"))) + 1)


def read(name: str, text: str, terms: BaselineTerms) -> tuple[Baseline | None, tuple[PlanFault, ...]]:
    """Read a file as far as it is sound, with every fault of it at its line; None without a row to use."""
    reader = _BaselineReader(name, text, terms)
    found = reader.baseline()
    return found, tuple(reader.faults)


class _BaselineReader:
    def __init__(self, name: str, text: str, terms: BaselineTerms) -> None:
        self._name, self._terms = name, terms
        self._lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._first: dict[tuple[str, str], int] = {}
        self.faults: list[PlanFault] = []

    def baseline(self) -> Baseline | None:
        headers, begin = self._headers()
        named = self._columns(begin)
        rows = tuple(self._rows(begin, named)) if named else ()
        for (condition, item), line in self._first.items():
            if not any(row.count for row in rows if (row.condition, row.item) == (condition, item)):
                self._fault(line, "count", f"all counts of {item} in {condition} are 0; leave the item out")
        if not rows:
            return None
        return Baseline(
            name=self._name, source=headers.get("source", ""), licence=headers.get("licence", ""), rows=rows
        )

    def _headers(self) -> tuple[dict[str, str], int]:
        """The values of the header lines, and the line after the last comment, from 0."""
        found: dict[str, str] = {}
        begin = 0
        while begin < len(self._lines) and (comment := _comment(self._lines[begin])):
            header = _HEADER.fullmatch(comment)
            if header and begin < len(_HEADERS):
                found[header[1].lower()] = trimmed(header[2])
            begin += 1
        for name in _HEADERS:
            if not found.get(name):
                where = "has no value" if name in found else f"is missing from the first {len(_HEADERS)} lines"
                self._fault(1, name, f"`# {name}:` {where}", "baseline_header")
        return found, begin

    def _columns(self, begin: int) -> list[str] | None:
        line = next((at for at in range(begin, len(self._lines)) if self._lines[at].strip()), None)
        if line is None:
            self._fault(begin + 1, "", f"has no columns; they are {','.join(COLUMNS)}", "baseline_header")
            return None
        head = self._lines[line]
        if "," not in head and any(mark in head for mark in _SEPARATORS):
            self._fault(line + 1, "", "separates its columns by something else than a comma", "baseline_header")
            return None
        named = [trimmed(cell) for cell in next(csv.reader([head]))]
        for column in named:
            if column not in COLUMNS:
                message = f"{column[:40]!r} is not a column; only counts are allowed, no rows of persons"
                self._fault(line + 1, column[:40], message, "baseline_persons")
        for column in COLUMNS:
            if named.count(column) > 1:
                self._fault(line + 1, column, f"is there {named.count(column)} times", "baseline_header")
            elif column not in named and column == "count":
                message = "is missing: give the count of each answer, no rows of persons"
                self._fault(line + 1, column, message, "baseline_persons")
            elif column not in named:
                self._fault(line + 1, column, "is missing", "baseline_header")
        return named if sorted(named) == sorted(COLUMNS) else None

    def _rows(self, begin: int, named: Sequence[str]) -> Iterator[BaselineRow]:
        seen: dict[tuple[str, str, int], int] = {}
        reader = csv.reader((f"{line}\n" for line in self._lines[begin:]), strict=True)
        try:
            before = begin
            headed = False
            for cells in reader:
                line, before = before + 1, begin + reader.line_num
                if not any(trimmed(cell) for cell in cells):
                    continue
                if not headed:
                    headed = True
                    continue
                row = self._row(line, cells, named)
                if row is None:
                    continue
                key = (row.condition, row.item, row.answer)
                if key in seen:
                    message = f"repeats line {seen[key]}; add the counts up (no rows of persons)"
                    self._fault(line, "answer", message, "duplicate_row")
                    continue
                seen[key] = line
                self._first.setdefault((row.condition, row.item), line)
                yield row
        except csv.Error as error:
            self._fault(before + 1, "", f"is not valid CSV: {error}", "unreadable")

    def _row(self, line: int, cells: Sequence[str], named: Sequence[str]) -> BaselineRow | None:
        if len(cells) != len(named):
            self._fault(line, "", f"has {len(cells)} cells, not {len(named)}", "wrong_type")
            return None
        row = {name: trimmed(cell) for name, cell in zip(named, cells, strict=True)}
        before = len(self.faults)
        if row["condition"] not in self._terms.conditions:
            self._unknown(line, "condition", row["condition"], self._terms.conditions, "unknown_condition")
        interview = self._terms.items.get(row["item"])
        answer = None
        if interview is None:
            self._unknown(line, "item", row["item"], tuple(self._terms.items), "unknown_item")
        else:
            answer = self._answer(line, row["answer"], interview)
        count = self._count(line, row["count"])
        if answer is None or count is None or len(self.faults) > before:
            return None
        return BaselineRow(row["condition"], row["item"], answer, count)

    def _unknown(self, line: int, field: str, named: str, known: Sequence[str], code: FaultCode) -> None:
        listed = ", ".join(known) or "none: a question with a scale or choices is needed"
        self._fault(line, field, f"{named[:60]!r} is not in the plan; it has {listed}", code)

    def _answer(self, line: int, spelt: str, interview: Interview) -> int | None:
        answers = answers_of(interview)
        if _WHOLE.fullmatch(spelt) and int(spelt) in answers:
            return int(spelt)
        for language in ("ko", "en"):  # the text of a choice may be a number, too
            listed = [trimmed(text) for text in interview.choices_in(language)]
            if spelt in listed:
                return listed.index(spelt) + 1
        message = f"{spelt[:60]!r} does not answer {interview.id}: give a number from {answers[0]} to {answers[-1]}"
        self._fault(line, "answer", message)
        return None

    def _count(self, line: int, spelt: str) -> int | None:
        if not _WHOLE.fullmatch(spelt):
            self._fault(line, "count", f"{spelt[:40]!r} is not a whole number", "wrong_type")
            return None
        if not 0 <= int(spelt) <= PEOPLE_MOST:
            self._fault(line, "count", f"{spelt} must be from 0 to {PEOPLE_MOST:,}")
            return None
        return int(spelt)

    def _fault(self, line: int | None, field: str, message: str, code: FaultCode = "out_of_range") -> None:
        self.faults.append(PlanFault(field, message, code=code, file=f"baselines/{self._name}.csv", line=line))


def _comment(line: str) -> str:
    """The text of a line that begins with #, "" of any other; spreadsheets quote it and add empty cells."""
    text = line.strip().rstrip(",").rstrip()
    if text.startswith('"#') and text.endswith('"'):
        text = text[1:-1].replace('""', '"')
    return text if text.startswith("#") else ""
