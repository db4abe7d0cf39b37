"""What the chapters of the report show of a study; their texts and their order are in `templates/chapters.html`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from markupsafe import Markup
from msgspec import UNSET
from playmolt_schemas.instrument.definitions import rank_of
from playmolt_schemas.instrument.measure_file import MeasureDeclaration
from playmolt_schemas.stored.agora.experiment import PinnedTest
from playmolt_schemas.stored.agora.turn import VALID_CODES, Interview, InterviewScale
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora.measures import descriptive
from playmolt_agora.measures.data.frame import SEAT
from playmolt_agora.measures.data.results import Row, grouped, mean
from playmolt_agora.measures.data.tables import TABLES, keys_of
from playmolt_agora.own_measures.running import MeasureResult
from playmolt_agora.report.markup import cell, cleaned, shown_p
from playmolt_agora.report.plots.tables import STRONG
from playmolt_agora.report.study import OwnContent, StudyData

Lines = list[tuple[object, ...]]

PARTS: Final = {"H1": ("H1a", "H1b"), "H2": ("H2a", "H2b")}
"""The parts that a hypothesis is the conjunction of; registered with it."""
_COMPANIONS: Final = [name for name in TABLES["pcs"] if name not in keys_of("pcs") and not name.startswith("contrib_")]
_ROWS: Final = 200
_PRIVATE: Final = Markup("<span data-private>{}</span>")


def silent_arms(study: StudyData) -> Lines:
    """The arms without a valid turn, with their turns; of a model without any, not its cells."""
    arms = Counter((turn.model, cell) for turn in study.turns for cell in ("", turn.cell))
    valid = {(turn.model, cell) for turn in study.turns if turn.parse_code in VALID_CODES for cell in ("", turn.cell)}
    silent = [(model, cell) for model, cell in sorted(arms.keys() - valid) if not cell or (model, "") in valid]
    return [(f"{model} in {cell}" if cell else model, arms[model, cell]) for model, cell in silent]


def is_confirmatory(study: StudyData) -> bool:
    """Whether anything here confirms: a test was registered, and a run that is not exploratory took place."""
    return bool(planned_tests(study)) and bool(study.registered_runs)


def planned_tests(study: StudyData) -> dict[str, PinnedTest]:
    """The tests that were registered to confirm something."""
    return {test.test: test for test in study.lock.tests if test.confirmatory} if study.lock else {}


def registered_tests(study: StudyData) -> list[str]:
    """The names of the tests that were registered, parts included; none where nothing confirms."""
    planned = planned_tests(study) if is_confirmatory(study) else {}
    return [name for test in planned for name in (test, *PARTS.get(test, ()))]


def tests_pcs(names: Sequence[str]) -> bool:
    return any(name.startswith("pcs:") for name in names)


def tests(study: StudyData, found: Sequence[Row]) -> Lines:
    """Rows of the table `tests` with the level each was registered at; parts and exploratory tests have none."""
    planned = planned_tests(study)
    lines: Lines = []
    for row in found:
        alpha = planned[row["test"]].alpha if row["test"] in planned else None
        p = row["p"] if row["p_holm"] is None else row["p_holm"]
        verdict = None if alpha is None or p is None else "holds" if p <= float(alpha) else "not shown"
        ps = shown_p(row["p"]), shown_p(row["p_holm"])
        lines.append((row["test"], row["statistic"], *ps, alpha, verdict, row["labelings"], row["n"]))
    return lines


def companions(found: Sequence[Row]) -> tuple[list[str], Lines]:
    """One column a cell of PCS: there are more figures than cells."""
    heads = ["figure", *(f"{row['model']} · {row['language']}" for row in found)]
    return heads, [(name, *(cell(name, row.get(name)) for row in found)) for name in _COMPANIONS]


def both_ways(study: StudyData, name: str, key: Sequence[str], figures: Mapping[str, str]) -> tuple[list[str], Lines]:
    """A confirmatory table with the registered exclusions and with none; `figures` are its columns by heading."""
    kept, every = (
        {tuple(row[column] for column in key): row for row in study.rows(table)}
        for table in (name, f"unexcluded_{name}")
    )
    lines: Lines = [
        (*each, *(_figure(column, found.get(each, {})) for found in (kept, every) for column in figures))
        for each in dict.fromkeys((*kept, *every))
    ]
    return [*key, *figures.values(), *(f"{each}, all runs" for each in figures.values())], lines


def _figure(column: str, row: Row) -> object:
    return shown_p(row.get(column)) if column == "p" else cell(column, row.get(column))


def rates(study: StudyData) -> list[Row]:
    found = (row for row in study.rows("shares") if row["level"] == "cell")
    return sorted(found, key=lambda row: (rank_of(row["phase"]), row["set"] or "", row["model"], row["language"]))


def rituals(found: Sequence[Row]) -> list[Row]:
    """The index by model and by persona, with its flag beside `ri_seed`."""
    return [{**row, "ri_seed": _flagged(row)} for row in found if row["level"] != "agent"]


def _flagged(row: Row) -> str | None:
    value = None if row["ri_seed"] is None else f"{row['ri_seed']:.4f}"
    return f"{value or 'null'}, degenerate_by_design" if row.get("degenerate_by_design") else value


def strong(found: Sequence[Row]) -> Lines:
    """The means of the strongly instructed personas and of all others; none without personas."""
    personas = [row for row in found if row["level"] == "run_persona" and row["persona"] and row["phase"] == "phase2"]
    apart = {name: [row for row in personas if (row["persona"] in STRONG) is strong]
             for name, strong in (("strongly instructed", True), ("all other personas", False))}  # fmt: skip
    return [
        (name, len(mine), *(mean(row[figure] for row in mine) for figure in ("ri_star", "ri_opp")))
        for name, mine in apart.items()
        if personas
    ]


def pilots(study: StudyData) -> Row | None:
    """Pool the pilots of Phase 2, whose length they set; a fork repeats turns that are counted already."""
    names = {run.run for run in study.runs if run.exploratory and run.phase == "phase2" and run.parent is None}
    mine = [row for row in study.rows("pint") if row["run"] in names]
    return descriptive.pilots(mine) if mine else None


def interaction_rows(study: StudyData) -> list[Row]:
    cells = {run.run: f"{run.cell} #{run.number}" for run in study.runs}
    return [{"cell": cells.get(row["run"]), **row} for row in study.rows("pint")]


def questions(study: StudyData) -> tuple[Interview, ...]:
    return msgspec.convert(study.plan["interviews"], tuple[Interview, ...])


def kind(question: Interview) -> str:
    """How a question is answered."""
    if isinstance(question.scale, InterviewScale):
        return f"{question.scale.from_} to {question.scale.to}"
    if choices := question.choices_in("en") or question.choices_in("ko"):
        return "; ".join(f"{number} {text}" for number, text in enumerate(choices, 1))
    return "in words, coded by judges" if question.code else "in words"


def unanswered(study: StudyData) -> Iterator[tuple[tuple[str, str, str], int]]:
    """The arms without an answer, with how often they were asked: nothing is said of them but that."""
    arms = grouped(study.rows("interviews"), lambda row: (row["id"], row["model"], row["cell"]))
    for arm, asked in sorted(arms.items()):
        if all(row[name] is None for row in asked for name in ("value", "choice", "text")):
            yield arm, len(asked)


def people(study: StudyData) -> Lines:
    """What is known of each baseline, with how many people answered the question that most did."""
    lines: Lines = []
    for each in study.baselines:
        asked = Counter[tuple[str, str]]()
        for row in each.rows:
            asked[row.condition, row.item] += row.count
        lines.append((each.name, each.source, each.licence, asked.total(), max(asked.values(), default=0)))
    return lines


def worlds(own: OwnContent) -> Iterator[tuple[str, Lines]]:
    """The rules of each world of the folder, as far as they say anything."""
    for name, rules in {room.world: room.rules for room in own.rooms}.items():
        if rules is not UNSET:
            flat = _flat(msgspec.to_builtins(msgspec.convert(rules, Rules)))
            yield name, [line for line in flat if line[1] not in ("", {}, [], None)]


def own_table(declared: MeasureDeclaration, result: MeasureResult) -> tuple[str, list[str], Lines]:
    """The first rows of a measure's table under the labels of its columns; a text of its own may quote an agent."""
    more = f" (the first {_ROWS} of {result.rows})" if (result.rows or 0) > _ROWS else ""
    heads = [declared.labels[name]["en"] if name in declared.labels else name for name in declared.columns]
    own = {name for name, kind in declared.columns.items() if kind == "str"}.difference(declared.keys, SEAT)
    rows = result.table.slice(0, _ROWS).to_pylist()
    for row in rows:
        row |= {name: _PRIVATE.format(cleaned(row[name])) for name in own if row[name]}
    return f"{declared.table}{more}", heads, [tuple(row.values()) for row in rows]


def _flat(value: object, head: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{head}.{name}" if head else str(name))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{head}[{number}]")
    else:
        yield head, ", ".join(map(str, value)) if isinstance(value, list) else value
