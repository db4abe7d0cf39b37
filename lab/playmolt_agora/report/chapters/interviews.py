"""Questions asked aside, and how far answers are from those of people. All of it is descriptive."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from markupsafe import Markup
from playmolt_schemas.instrument.baseline_file import BaselineRow
from playmolt_schemas.stored.agora.turn import Interview, InterviewScale

from playmolt_agora.report import markup, prose, provenance
from playmolt_agora.report.plots.figure import shown_runs
from playmolt_agora.report.sections import Section
from playmolt_agora.report.study import StudyData, rows

TITLE: Final = "Questions asked aside"
_GROUP: Final = ("id", "answer", "phase", "set", "model", "language")
_CHANGE: Final = (
    "first_turn_asked", "last_turn_asked", "asked", "valid", "runs", "change", "ci_lo", "ci_hi", "p", "p_min",
)  # fmt: skip
_LEVEL: Final = ("turn", "asked", "valid", "runs", "mean")
_PEOPLE: Final = (
    "baseline", "condition", "item", "model", "people", "answers", "runs", "jsd", "ci_lo", "ci_hi", "mean_people",
    "mean_model", "calibration", "calibration_lo", "calibration_hi",
)  # fmt: skip


def section(study: StudyData) -> Section | None:
    """The chapter; None for a plan that asks nothing aside."""
    if not study.plan.get("interviews"):
        return None
    return Section("interviews", TITLE, markup.joined((*_asked(study), *_changes(study), *_people(study))))


def _asked(study: StudyData) -> Iterator[Markup]:
    yield markup.paragraph(prose.INTERVIEWS)
    questions = msgspec.convert(study.plan["interviews"], tuple[Interview, ...])
    columns = ("id", "turns", "answer", "who", "question")
    lines = [(each.id, ", ".join(map(str, each.at)), _kind(each), each.who, _words(each)) for each in questions]
    yield markup.table("The questions", columns, lines)
    yield from _silent(study)


def _kind(question: Interview) -> str:
    if isinstance(question.scale, InterviewScale):
        return f"{question.scale.from_} to {question.scale.to}"
    choices = question.choices_in("en") or question.choices_in("ko")
    if choices:
        return "; ".join(f"{number} {text}" for number, text in enumerate(choices, 1))
    return "in words, coded by judges" if question.code else "in words"


def _words(question: Interview) -> str:
    return " / ".join(text for text in (question.ask.ko, question.ask.en) if text)


def _silent(study: StudyData) -> Iterator[Markup]:
    """The arms without an answer: nothing is said of them but that."""
    counted: dict[tuple[str, str, str], list[int]] = {}
    for row in rows(study.tables.get("interviews")):
        arm = counted.setdefault((row["id"], row["model"], row["cell"]), [0, 0])
        arm[0] += 1
        arm[1] += any(row[name] is not None for name in ("value", "choice", "text"))
    for (name, model, cell), (asked, valid) in sorted(counted.items()):
        if not valid:
            yield markup.paragraph(
                prose.NO_VALID_ANSWER.format(id=name, model=model, cell=cell, asked=asked), "warning"
            )


def _changes(study: StudyData) -> Iterator[Markup]:
    changes = rows(study.tables.get("interview_changes"))
    if changes:
        yield markup.paragraph(prose.INTERVIEW_CHANGES, "notice")
        alike = [row for row in changes if row["identical"]]
        if alike:
            most = max(row["identical"] for row in alike)
            yield markup.paragraph(prose.INTERVIEW_IDENTICAL.format(identical=most), "warning")
        yield _table("Change from the first to the last time of asking", (*_GROUP, *_CHANGE), changes)
        origin = provenance.source(study, "interview_changes", shown_runs(study), seed=study.seed)
        yield provenance.source_markup(origin, study.links)
    levels = rows(study.tables.get("interview_levels"))
    if levels:
        inner = _table("Mean answer, or share of an answer, by turn", (*_GROUP, *_LEVEL), levels)
        yield markup.folded("Answers at each time of asking", inner)
    codes = rows(study.tables.get("interview_codes"))
    if codes:
        found = sum(row["survival"] is not None for row in codes)
        yield markup.paragraph(prose.INTERVIEW_CODES.format(coded=found, answers=len(codes)))


def _people(study: StudyData) -> Iterator[Markup]:
    compared = rows(study.tables.get("baselines"))
    if not study.baselines:
        return
    yield markup.heading("Distance to people")
    yield markup.paragraph(prose.BASELINES, "notice")
    lines = [
        (each.name, each.source, each.licence, sum(row.count for row in each.rows), _most(each.rows))
        for each in study.baselines
    ]
    yield markup.table(
        "Answers of people", ("baseline", "source", "licence", "answers", "people (largest question)"), lines
    )
    if compared:
        yield _table("Models and people", _PEOPLE, compared)


def _most(counted: Sequence[BaselineRow]) -> int:
    """How many people answered the question that most did."""
    people: dict[tuple[str, str], int] = {}
    for row in counted:
        people[row.condition, row.item] = people.get((row.condition, row.item), 0) + row.count
    return max(people.values(), default=0)


def _table(caption: str, columns: tuple[str, ...], lines: Sequence[Mapping[str, object]]) -> Markup:
    """Without columns that are null everywhere."""
    known = [column for column in columns if any(line[column] is not None for line in lines)]
    return markup.table(caption, known, [[line[column] for column in known] for line in lines])
