"""What was registered, and what came of it: tests, PCS, exclusions both ways."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from playmolt_agora.report import markup, prose, provenance
from playmolt_agora.report.plots.figure import Plot, registered_runs
from playmolt_agora.report.sections import Section, cell, figures_markup, rows_markup
from playmolt_agora.report.study import StudyData, counted_rows, has_pcs, rows

PARTS: Final = {"H1": ("H1a", "H1b"), "H2": ("H2a", "H2b")}
"""The parts that a hypothesis is the conjunction of; registered with it."""


def is_confirmatory(study: StudyData) -> bool:
    """Whether anything here confirms: a test was registered, and a run that is not exploratory took place."""
    return study.registered is not None and bool(study.registered.tests) and bool(registered_runs(study))


def registered_tests(study: StudyData) -> tuple[str, ...]:
    """The names of the tests that were registered, parts included; none where nothing confirms."""
    if study.registered is None or not is_confirmatory(study):
        return ()
    return tuple(name for test in study.registered.tests for name in (test.name, *PARTS.get(test.name, ())))


def registration(study: StudyData) -> Section:
    return Section("registration", "Registration", _preregistered(study) + _deviations(study) + _prompts_cut(study))


def _preregistered(study: StudyData) -> Markup:
    registered = study.registered
    if registered is None:
        return markup.paragraph(prose.NOT_REGISTERED, "notice")
    facts = (
        ("Experiment", study.experiment),
        ("Locked at", registered.at),
        ("Plan, SHA-256", registered.plan_hash),
        ("Stimuli", registered.stimuli),
        ("Definitions at the lock", registered.definitions),
        ("Definitions of this report", study.definitions),
        ("Stopping rule", registered.stopping_rule),
        ("Exclusions", " ".join(registered.exclusions)),
        ("Logged looks before the end", str(study.looks)),
    )
    changed = registered.definitions and registered.definitions != study.definitions
    return markup.joined(
        (
            Markup() if is_confirmatory(study) else markup.paragraph(prose.NOT_REGISTERED, "notice"),
            markup.paragraph(prose.DEFINITIONS_CHANGED, "notice") if changed else Markup(),
            markup.part("facts", facts),
            markup.joined(markup.paragraph(f"{name}: {text}") for name, text in registered.hypotheses.items()),
            markup.table(
                "Registered tests",
                ("test", "α", "smallest p it can reach"),
                [(test.name, test.alpha, test.p_min) for test in registered.tests],
            ),
            (markup.paragraph("Remarks of the plan:") + markup.part("listed", registered.remarks))
            if registered.remarks
            else Markup(),
            markup.folded("The plan as it was locked", markup.part("verbatim", registered.plan_text)),
        )
    )


def _deviations(study: StudyData) -> Markup:
    if not study.deviations:
        return markup.heading("Deviations") + markup.paragraph(prose.NO_DEVIATION)
    lines = [(deviation.at, deviation.version, deviation.text) for deviation in study.deviations]
    return markup.heading("Deviations") + markup.table("Changes after the lock", ("at", "event", "what"), lines)


def _prompts_cut(study: StudyData) -> Markup:
    """Servers that cut their prompts: what the model was asked is not what the log says."""
    return markup.joined(
        markup.paragraph(prose.PROMPTS_CUT.format(alias=alias, count=count), "notice")
        for alias, count in study.prompt_cut.items()
    )


def results(study: StudyData, drawn: Mapping[str, Plot]) -> Section:
    names = registered_tests(study)
    if not names:
        return Section("confirmatory", "Confirmatory results", markup.paragraph(prose.NOT_REGISTERED, "notice"))
    found = [row for row in rows(study.tables.get("tests")) if row["test"] in names]
    missing = sorted(set(names) - {row["test"] for row in found})
    return Section(
        "confirmatory",
        "Confirmatory results",
        markup.paragraph(prose.CONFIRMATORY)
        + tests_markup(study, "Registered tests: statistic, p, and p by Holm", found)
        + (
            markup.paragraph(f"Registered but without a result: {', '.join(missing)}.", "notice")
            if missing
            else Markup()
        )
        + markup.paragraph(prose.HOLM)
        + (pcs_markup(study, drawn) if any(name.startswith("pcs:") for name in names) else Markup()),
    )


def tests_markup(study: StudyData, caption: str, found: Sequence[dict[str, Any]]) -> Markup:
    """Rows of the table `tests` with the level each was registered at."""
    levels = {test.name: test.alpha for test in study.registered.tests} if study.registered else {}
    lines = [
        (
            row["test"],
            row["statistic"],
            markup.shown_p(row["p"]),
            markup.shown_p(row["p_holm"]),
            levels.get(row["test"]),
            _verdict(row, levels.get(row["test"])),
            row["labelings"],
            row["n"],
        )
        for row in found
    ]
    origin = provenance.source(study, "tests", registered_runs(study), "tests", seed=study.seed)
    columns = ("test", "statistic", "p", "p, Holm", "α", "decision", "labelings", "n")
    return markup.table(caption, columns, lines) + provenance.source_markup(origin, study.links)


def _verdict(row: dict[str, Any], alpha: str | None) -> str | None:
    """What a registered level makes of a test; parts and exploratory tests get no verdict."""
    p = row["p_holm"] if row["p_holm"] is not None else row["p"]
    if alpha is None or p is None:
        return None
    return "holds" if p <= float(alpha) else "not shown"


def pcs_markup(study: StudyData, drawn: Mapping[str, Plot]) -> Markup:
    """PCS with its figures, companions and leave-one-run-out values, under the notice that Stage 1 asks for."""
    found = rows(study.tables.get("pcs"))
    if not has_pcs(study):
        return markup.heading("Phantom Cost Sensitivity") + markup.paragraph(prose.NO_PCS)
    indicative = (
        markup.paragraph(prose.INDICATIVE, "notice") if any(row.get("indicative") for row in found) else Markup()
    )
    parts = [
        markup.heading("Phantom Cost Sensitivity"),
        stage1_notice(study),
        figures_markup(study, drawn, "pcs", "pcs-parts"),
        markup.paragraph(prose.CELLS_DESCRIPTIVE),
        _companions(found),
        indicative,
        rows_markup("PCS with one run left out", counted_rows(study, "pcs_left_out")),
    ]
    return markup.joined(parts)


_COMPANIONS: Final = (
    "alpha", "pcs", "distance", "n_stage1", "n_phase1", "runs_stage1", "runs_phase1", "ci_lo",
    "ci_hi", "indicative", "loro_min", "loro_max", "p_perm", "p_min", "labelings", "floor_iid", "floor_null",
    "floor_stage1", "floor_phase1", "pcs_agent", "pcs_early", "pcs_within", "pcs_within_coverage", "pcs_place",
)  # fmt: skip


def _companions(found: Sequence[dict[str, object]]) -> Markup:
    """One column a cell: there are more figures than cells."""
    head = ("figure", *(f"{row['model']} · {row['language']}" for row in found))
    lines = [(name, *(cell(name, row.get(name)) for row in found)) for name in _COMPANIONS]
    return markup.table("PCS and its companions per model and language", head, lines)


def stage1_notice(study: StudyData) -> Markup:
    """The sentence that every report with Stage 1 carries, and the file where counts were imported."""
    notice = prose.STAGE1.format(stage1=study.stage1)
    if study.stage1_import is not None:
        notice = f"{notice} {prose.STAGE1_IMPORT.format(file=study.stage1_import)}"
    return markup.paragraph(notice, "notice")


def exclusions(study: StudyData) -> Section:
    """Print every headline figure with the registered exclusions and with none."""
    excluded = [row for row in rows(study.tables.get("parse")) if row["excluded"]]
    if not excluded:
        return Section("exclusions", "Exclusions", markup.paragraph(prose.NO_EXCLUSION))
    lines = [(row["run"], row["model"], row["turns"], row["failed"], row["fail_share"]) for row in excluded]
    body = markup.paragraph(prose.EXCLUSIONS) + markup.table(
        "Left the confirmatory set", ("run", "model", "turns", "failed", "share"), lines
    )
    return Section(
        "exclusions",
        "Exclusions",
        body + markup.joined(_beside(study, *each) for each in (_BOTH_WAYS if study.unexcluded else ())),
    )


_BOTH_WAYS: Final = (
    ("Tests both ways", "tests", ("test",), {"statistic": "statistic", "p": "p", "p_holm": "p, Holm"}),
    ("PCS both ways", "pcs", ("model", "language"), {"pcs": "PCS", "ci_lo": "from", "ci_hi": "to"}),
    (
        "Does it fade? (ri_ext) both ways",
        "ri_ext",
        ("set", "model"),
        {"agents_kept": "agents_kept", "beta": "beta", "beta_null": "beta_null", "beta_excess": "beta_excess",
         "p_perm": "p_perm"},
    ),
)  # fmt: skip
"""Each table of the confirmatory set: caption, name, key, and its figures by their headings."""


def _beside(study: StudyData, caption: str, name: str, key: tuple[str, ...], figures: Mapping[str, str]) -> Markup:
    kept, every = (
        {tuple(row[column] for column in key): row for row in rows(table)}
        for table in (study.tables.get(name), study.unexcluded.get(f"unexcluded_{name}"))
    )
    lines = [
        (*each, *_values(kept.get(each), figures), *_values(every.get(each), figures))
        for each in dict.fromkeys((*kept, *every))
    ]
    return markup.table(caption, (*key, *figures.values(), *(f"{each}, all runs" for each in figures.values())), lines)


def _values(row: dict[str, Any] | None, names: Iterable[str]) -> list[object]:
    found = {name: None if row is None else row.get(name) for name in names}
    return [markup.shown_p(value) if name in {"p", "p_holm", "p_perm"} else value for name, value in found.items()]
