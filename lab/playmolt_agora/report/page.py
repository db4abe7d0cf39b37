"""The report: one HTML file that opens offline, without scripts and without anything loaded from elsewhere."""

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files

from playmolt_schemas.stored.agora.turn import VALID_CODES

from playmolt_agora.report import markup, prose, provenance
from playmolt_agora.report.chapters import confirmatory, exploratory, interviews, own
from playmolt_agora.report.plots import contrasts, counts, drift, epochs, networks, pcs, ritual, time
from playmolt_agora.report.plots.figure import Plot
from playmolt_agora.report.sections import Section
from playmolt_agora.report.study import StudyData, has_pcs, has_stage1, rows

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'"


def render(study: StudyData) -> str:
    """Equal studies give equal bytes; StudyFault when a table's columns differ in length."""
    drawn = gallery(study)
    confirming = (confirmatory.registration(study), confirmatory.results(study, drawn), confirmatory.exclusions(study))
    exploring = exploratory.sections(study, drawn)
    sources = _sources(study)
    asked = interviews.section(study)
    mine = (*((asked,) if asked else ()), *((own.section(study.own),) if study.own else ()))
    style = files("playmolt_agora.report").joinpath("page.css").read_text("utf-8")
    title = markup.escaped(f"{study.name}: report")
    return "".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{style}</style></head><body>",
            '<a class="skip" href="#content">Skip to the results</a>',
            _header(study),
            _contents((*confirming, *exploring, *mine, sources)),
            '<main id="content" tabindex="-1">',
            *(_section(section, "confirmatory") for section in confirming),
            '<div class="divide" role="note"><h2 id="exploratory">Exploratory part</h2>',
            markup.paragraph(prose.EXPLORATORY),
            "</div>",
            *(_section(section, "exploratory") for section in exploring),
            *(_section(section, "exploratory") for section in mine),
            _section(sources, "sources"),
            "</main></body></html>\n",
        )
    )


def _header(study: StudyData) -> str:
    kind = "confirmatory and exploratory" if confirmatory.is_confirmatory(study) else "exploratory"
    turns = provenance.counted(len(study.turns), "turn")
    runs = provenance.counted(len(study.runs), "run")
    return (
        f"<header><p>PlayMolt Agora · {markup.escaped(kind)}</p><h1>{markup.escaped(study.name)}</h1>"
        f"<p>{runs}, {turns} · made {markup.escaped(study.made_at)} · definitions "
        f"<code>{markup.escaped(study.definitions)}</code></p>"
        f"{_scripted(study)}{_silent(study)}{_identical(study)}"
        f"{confirmatory.stage1_notice(study) if has_stage1(study) else ''}"
        f"{markup.paragraph(prose.NULLS)}</header>"
    )


def _scripted(study: StudyData) -> str:
    marked = sum(run.scripted for run in study.runs)
    if not marked:
        return ""
    text = prose.SCRIPTED_ALL if marked == len(study.runs) else prose.SCRIPTED_SOME
    return f'<p class="warning" role="note">{markup.escaped(text.format(count=marked, total=len(study.runs)))}</p>'


def _silent(study: StudyData) -> str:
    """The arms without a valid turn: nothing of them is measured or tested."""
    turns: Counter[tuple[str, str]] = Counter()
    valid: Counter[tuple[str, str]] = Counter()
    for turn in study.turns:
        for arm in ((turn.model, ""), (turn.model, turn.cell)):
            turns[arm] += 1
            valid[arm] += turn.parse_code in VALID_CODES
    silent = [arm for arm in sorted(turns) if not valid[arm]]
    whole = {model for model, cell in silent if not cell}
    named = [(model, cell) for model, cell in silent if not cell or model not in whole]
    said = [
        prose.NO_VALID_TURN.format(arm=f"{model} in {cell}" if cell else model, turns=turns[model, cell])
        for model, cell in named
    ]
    return "".join(f'<p class="warning" role="note">{markup.escaped(each)}</p>' for each in said)


def _identical(study: StudyData) -> str:
    """The cells with identical runs, and how many of their runs count."""
    found = [row for row in rows(study.further.get("repeats")) if row["identical"]]
    lines = [
        prose.IDENTICAL_IN.format(
            identical=row["identical"], runs=row["runs"], distinct=row["distinct"],
            cell=" · ".join(str(part) for part in (row["phase"], row["set"], row["model"], row["language"]) if part),
        )
        for row in found
    ]  # fmt: skip
    if not lines:
        return ""
    total = prose.IDENTICAL.format(
        identical=sum(row["identical"] for row in found),
        runs=sum(row["runs"] for row in rows(study.further.get("repeats"))),
    )
    return f'<div class="warning" role="note"><p>{markup.escaped(total)}</p>{markup.listed(lines)}</div>'


def _contents(sections: Sequence[Section]) -> str:
    items = "".join(
        f'<li><a href="#{markup.escaped(section.anchor)}">{markup.escaped(section.title)}</a></li>'
        for section in sections
    )
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _section(section: Section, kind: str) -> str:
    anchor = markup.escaped(section.anchor)
    return (
        f'<section id="{anchor}" class="{kind}" aria-labelledby="{anchor}-h"><h2 id="{anchor}-h">'
        f"{markup.escaped(section.title)}</h2>{section.body}</section>"
    )


def _sources(study: StudyData) -> Section:
    models = markup.table(
        "Models and prices (per million tokens)",
        ("alias", "model asked", "models that answered", "input price", "output price", "cache_prompt", "scripted"),
        [
            (
                model.alias,
                model.asked,
                ", ".join(model.answered) or None,
                model.input_price,
                model.output_price,
                model.cache_prompt,
                model.scripted,
            )
            for model in study.models
        ],
    )
    items = "".join(
        f"<li>{provenance.run_link(run, study.links)} · {markup.escaped(run.outcome)}</li>" for run in study.runs
    )
    costs = markup.table(
        "Cost by cell and model",
        tuple(study.tables.get("costs", {})),
        [tuple(row.values()) for row in rows(study.tables.get("costs"))],
    )
    return Section("sources", "Sources", f"{models}{_probes(study)}{costs}<h3>Runs</h3><ul>{items}</ul>")


def _probes(study: StudyData) -> str:
    """How often each model gave the same reply to the same prompt, where a pilot asked."""
    found = study.plan.get("probes") or []
    names = ("model", "prompts", "times", "alone", "first", "beside", "temperature", "cache_prompt", "at")
    if not found:
        return markup.paragraph(prose.NOT_PROBED)
    table = markup.table("Reproducibility of replies", names, [[probe.get(name) for name in names] for probe in found])
    return markup.paragraph(prose.PROBED) + table


def gallery(study: StudyData) -> dict[str, Plot]:
    """Draw what can be drawn, in the order of the page."""
    makers = (
        (pcs.estimate_figure, has_pcs(study)),
        (pcs.parts_figure, has_pcs(study)),
        (time.action_figure, bool(study.turns)),
        (time.place_figure, bool(study.turns)),
        (ritual.ritual_figure, bool(rows(study.tables.get("ri")))),
        (drift.drift_figure, bool(rows(study.tables.get("drift")))),
        (drift.entropy_figure, bool(rows(study.tables.get("drift")))),
        (drift.rolling_figure, drift.rolls(study)),
        (drift.washout_figure, bool(rows(study.tables.get("washout")))),
        (networks.support_figure, bool(study.turns)),
        (networks.whisper_figure, bool(study.turns)),
        (epochs.gini_figure, bool(rows(study.tables.get("gini")))),
        (epochs.treasury_figure, bool(rows(study.treasury))),
        (counts.parse_figure, bool(study.turns)),
        (counts.dissoc_figure, bool(rows(study.tables.get("dissoc")))),
        (contrasts.contrast_figure, bool(rows(study.tables.get("contrasts")))),
        (contrasts.point_figure, bool(rows(study.further.get("contrast_shares")))),
        (contrasts.model_figure, bool(rows(study.tables.get("delta_pcs")))),
    )
    figures = [make(study) for make, holds in makers if holds]
    return {figure.name: figure for figure in figures}
