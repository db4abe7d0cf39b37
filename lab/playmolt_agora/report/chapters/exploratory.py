"""Description and exploration: everything that was not registered as a test."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup
from playmolt_schemas.instrument.definitions import rank_of

from playmolt_agora.measures import interaction
from playmolt_agora.measures.data.results import mean
from playmolt_agora.report import markup, prose, provenance
from playmolt_agora.report.chapters import confirmatory
from playmolt_agora.report.forks import Fork, forks
from playmolt_agora.report.plots import ritual
from playmolt_agora.report.plots.figure import Plot, shown_rows, shown_runs
from playmolt_agora.report.sections import Section, figures_markup, rows_markup
from playmolt_agora.report.study import StudyData, counted_rows, rows

_LONG: Final = 40
_DRAWN: Final = frozenset(
    ("contrast_intervals", "contrast_shares", "network", "occupancy", "pcs_left_out", "rolling", "unadjusted")
)
"""Results that have a figure, or a place of their own."""
_FURTHER: Final = {
    "repeats": "Identical runs by cell",
    "headline": "Headline figures under three treatments of failed turns",
    "pcs_pure": "PCS against the arm with real costs (pcs_pure)",
    "merchant": "Merchant between Archivist and Jester (Page's L)",
    "entropy": "Entropy by persona, model, language and window",
    "adherence": "Adherence in words: utterances with the persona's mark",
}


def sections(study: StudyData, drawn: Mapping[str, Plot]) -> tuple[Section, ...]:
    made = (
        ("behaviour", "Behaviour over time", _behaviour),
        ("rates", "Rates per action", _rates),
        ("exploratory-tests", "Unregistered tests", _tests),
        ("ritual", "Ritual Index", _ritual),
        ("drift-and-washout", "Instruction Drift and persona washout", _drift),
        ("society", "Networks, inequality, treasury", _society),
        ("codes", "Parse codes; thought and act", _codes),
        ("coding", "Coding of thoughts: agreement", _coding),
        ("contrasts-section", "Contrasts and sensitivity", _contrasts),
        ("interaction", "Interaction and length", _interaction),
        ("forks", "Forks", _forks),
    )
    found = (Section(anchor, title, make(study, drawn)) for anchor, title, make in made)
    return tuple(section for section in found if section.body)


def _behaviour(study: StudyData, drawn: Mapping[str, Plot]) -> Markup:
    return figures_markup(study, drawn, "action-mix", "occupancy")


def _rates(study: StudyData, _: Mapping[str, Plot]) -> Markup:
    found = sorted((row for row in rows(study.tables.get("shares")) if row["level"] == "cell"), key=_cell_order)
    if not found:
        return Markup()
    keys = ("phase", "set", "model", "language", "persona", "action")
    numbers = (
        "count", "succeeded", "t_valid", "p", "feasible", "q", "q_heard", "exposure", "r_seed", "r_literal",
        "dyad_exposure", "r_dyad",
    )  # fmt: skip
    shown = [key for key in keys if any(row.get(key) is not None for row in found)]
    head = [*shown, *(f"{name} †" if name in {"r_seed", "r_literal"} else name for name in numbers)]
    lines = [[row.get(name) for name in (*shown, *numbers)] for row in found]
    origin = provenance.source(study, "shares", shown_runs(study), seed=study.seed)
    return (
        markup.paragraph(prose.R_BY_DESIGN, "notice")
        + markup.table("Shares p and q, and the rates r, by cell († at most 1/(N − 1) by design)", head, lines)
        + provenance.source_markup(origin, study.links)
    )


def _cell_order(row: dict[str, Any]) -> tuple[tuple[int, str], str, str, str]:
    return rank_of(row["phase"]), row["set"] or "", row["model"], row["language"]


def _tests(study: StudyData, drawn: Mapping[str, Plot]) -> Markup:
    names = confirmatory.registered_tests(study)
    found = [row for row in rows(study.tables.get("tests")) if row["test"] not in names and row["n"]]
    body = confirmatory.tests_markup(study, "Tests that were not registered", found) if found else Markup()
    if any(row["n"] for row in rows(study.further.get("unadjusted"))):
        body += rows_markup(
            "H1 and H2 with no model's mean subtracted (descriptive)", rows(study.further["unadjusted"])
        )
    if rows(study.tables.get("shared_model")):
        body += rows_markup(
            "Contrast of Jester and Archivist of the model that plays both in a run",
            counted_rows(study, "shared_model"),
        )
    if rows(study.tables.get("pcs")) and not any(name.startswith("pcs:") for name in names):
        body += confirmatory.pcs_markup(study, drawn)
    return body


def _ritual(study: StudyData, drawn: Mapping[str, Plot]) -> Markup:
    found = shown_rows(study, study.tables.get("ri"))
    if not found:
        return Markup()
    degenerate = any(row.get("degenerate_by_design") for row in found)
    grouped = [row for row in found if row["level"] != "agent"]
    columns = ("level", "phase", "set", "language", "run", "model", "persona", "ritual", "t_valid", "a_success",
               "ritual_infeasible", "feasible_a", "ri_seed", "ri_star", "ri_opp")  # fmt: skip
    lines = [{**row, "ri_seed": _flagged(row)} for row in grouped]
    return (
        figures_markup(study, drawn, "ri-star")
        + _strong(grouped)
        + (markup.paragraph(prose.DEGENERATE, "notice") if degenerate else Markup())
        + markup.folded("The index and its companions, run by run", rows_markup("Ritual Index", lines, columns))
        + rows_markup("Does it fade? (ri_ext)", counted_rows(study, "ri_ext"))
    )


def _flagged(row: dict[str, object]) -> str | None:
    value = row["ri_seed"]
    if value is None:
        return "null, degenerate_by_design" if row.get("degenerate_by_design") else None
    return f"{value:.4f}{', degenerate_by_design' if row.get('degenerate_by_design') else ''}"


def _strong(grouped: Sequence[dict[str, Any]]) -> Markup:
    found = [
        row for row in grouped if row["level"] == "run_persona" and row.get("persona") and row["phase"] == "phase2"
    ]
    if not found:
        return Markup()
    groups = (("strongly instructed", True), ("all other personas", False))
    lines = []
    for name, strong in groups:
        mine = [row for row in found if (row["persona"] in ritual.STRONG) is strong]
        lines.append((name, len(mine), mean([row["ri_star"] for row in mine]), mean([row["ri_opp"] for row in mine])))
    head = ("personas", "run × persona", "mean RI*", "mean ri_opp")
    return markup.paragraph(prose.STRONG) + markup.table("Strongly instructed personas apart, Phase 2", head, lines)


def _drift(study: StudyData, drawn: Mapping[str, Plot]) -> Markup:
    return figures_markup(study, drawn, "drift", "entropy", "rolling", "washout")


def _society(study: StudyData, drawn: Mapping[str, Plot]) -> Markup:
    return figures_markup(study, drawn, "network-support", "network-whisper", "gini", "treasury")


def _codes(study: StudyData, drawn: Mapping[str, Plot]) -> Markup:
    return markup.paragraph(prose.TWO_CODES) + figures_markup(study, drawn, "parse-codes", "dissoc")


def _coding(study: StudyData, _: Mapping[str, Plot]) -> Markup:
    found = rows(study.tables.get("kappa"))
    if not found:
        return Markup()
    judges = [
        (each.alias, each.model, each.coded, each.failed, each.spent.calls, each.spent.cost_text)
        for each in study.judges
    ]
    head = ("judge", "model", "coded", "failed", "calls", "cost")
    origin = provenance.source(study, "kappa", study.runs, "kappa", seed=study.seed)
    return (
        markup.paragraph(prose.KAPPA)
        + rows_markup("Agreement of every pair of coders", found, tuple(study.tables["kappa"]))
        + (markup.table("Judges", head, judges) if judges else Markup())
        + provenance.source_markup(origin, study.links)
    )


def _contrasts(study: StudyData, drawn: Mapping[str, Plot]) -> Markup:
    body = figures_markup(study, drawn, "contrasts", "contrast-shares", "pcs-models")
    for name, table in study.further.items():
        note = markup.paragraph(prose.SENSITIVITY) if name == "headline" else Markup()
        if name not in _DRAWN and rows(table):
            body += note + _whole(_FURTHER.get(name, name.replace("_", " ").capitalize()), counted_rows(study, name))
    return body


def _whole(caption: str, found: Sequence[dict[str, object]]) -> Markup:
    """A table; a long one is folded, so that it does not bury what follows."""
    made = rows_markup(caption, found)
    return made if len(found) <= _LONG else markup.folded(f"{caption} ({len(found)} rows)", made)


def _interaction(study: StudyData, _: Mapping[str, Plot]) -> Markup:
    found = rows(study.tables.get("pint"))
    if not found:
        return Markup()
    cells = {run.run: f"{run.cell} #{run.number}" for run in study.runs}
    origin = provenance.source(study, "pint", study.runs, "pint")
    return (
        markup.paragraph(prose.TURN_RULE)
        + _pilots(study, found)
        + rows_markup("Interaction by run", [{"cell": cells.get(row["run"]), **row} for row in found])
        + provenance.source_markup(origin, study.links)
    )


def _pilots(study: StudyData, found: Sequence[dict[str, object]]) -> Markup:
    """Pool the pilots of Phase 2, whose length they set; a fork repeats turns that are counted already."""
    names = {run.run for run in study.runs if run.exploratory and run.phase == "phase2" and run.parent is None}
    mine = [row for row in found if row["run"] in names]
    if not mine:
        return Markup()
    pooled = interaction.pilots(mine)
    lines = (
        ("pilot runs of Phase 2", pooled.runs),
        ("valid turns, n", pooled.valid),
        ("interactions, i", pooled.interactions),
        ("P_int = i / n", pooled.p_int),
        ("turn rule, T", pooled.t_rule),
        ("runs with early_idle above .80", f"{pooled.idle_runs} of {pooled.runs}"),
        ("consider seed events (L18)", pooled.seed_events),
    )
    return markup.table("The pilots together", ("figure", "value"), lines)


def _forks(study: StudyData, _: Mapping[str, Plot]) -> Markup:
    return markup.joined(_fork(study, fork) for fork in forks(study))


def _fork(study: StudyData, fork: Fork) -> Markup:
    head = markup.part("fork", fork, study.links)
    if fork.first is None:
        first = markup.paragraph("No act differs from the parent's.")
    else:
        before, after = fork.first
        lines = [
            (name, turn.turn, turn.agent, turn.parse_code, turn.action, turn.target, turn.content)
            for name, turn in (("parent", before), ("fork", after))
        ]
        first = markup.table(
            "The first act that differs", ("run", "turn", "agent", "code", "action", "target", "content"), lines
        )
    cost = markup.paragraph(f"Cost of the fork: {fork.money if fork.money is not None else 'unknown (no price)'}.")
    return head + first + markup.table("Divergence from the parent", ("window", "JSD"), fork.divergence) + cost
