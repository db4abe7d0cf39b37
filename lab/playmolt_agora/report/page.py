"""The report: one HTML file that opens offline, without scripts and without anything loaded from elsewhere."""

from collections import Counter
from collections.abc import Iterator, Mapping

from markupsafe import Markup
from playmolt_schemas.stored.agora.turn import VALID_CODES

from playmolt_agora.report import markup, prose
from playmolt_agora.report.chapters import confirmatory, exploratory, interviews, own
from playmolt_agora.report.plots import contrasts, counts, drift, epochs, networks, pcs, ritual, time
from playmolt_agora.report.plots.figure import Plot
from playmolt_agora.report.sections import Section
from playmolt_agora.report.study import StudyData, has_pcs, has_stage1, rows


def render(study: StudyData, figures: Mapping[str, Plot] | None = None) -> str:
    """Equal studies give equal bytes; StudyFault when a table's columns differ in length.

    `figures` are those of its `gallery`, where they are already drawn.
    """
    drawn = gallery(study) if figures is None else figures
    asked = interviews.section(study)
    return markup.rendered(
        "page.html",
        study=study,
        prose=prose,
        kind="confirmatory and exploratory" if confirmatory.is_confirmatory(study) else "exploratory",
        warnings=[*_scripted(study), *_silent(study)],
        identical=_identical(study),
        notice=confirmatory.stage1_notice(study) if has_stage1(study) else Markup(),
        confirming=[
            confirmatory.registration(study),
            confirmatory.results(study, drawn),
            confirmatory.exclusions(study),
        ],
        exploring=[
            *exploratory.sections(study, drawn),
            *((asked,) if asked else ()),
            *((own.section(study.own),) if study.own else ()),
        ],
        sources=_sources(study),
    )


def _scripted(study: StudyData) -> Iterator[str]:
    marked = sum(run.scripted for run in study.runs)
    if marked:
        text = prose.SCRIPTED_ALL if marked == len(study.runs) else prose.SCRIPTED_SOME
        yield text.format(count=marked, total=len(study.runs))


def _silent(study: StudyData) -> list[str]:
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
    return [
        prose.NO_VALID_TURN.format(arm=f"{model} in {cell}" if cell else model, turns=turns[model, cell])
        for model, cell in named
    ]


def _identical(study: StudyData) -> list[str]:
    """How many runs are identical, then each cell with such runs."""
    found = [row for row in rows(study.further.get("repeats")) if row["identical"]]
    lines = [
        prose.IDENTICAL_IN.format(
            identical=row["identical"], runs=row["runs"], distinct=row["distinct"],
            cell=" · ".join(str(part) for part in (row["phase"], row["set"], row["model"], row["language"]) if part),
        )
        for row in found
    ]  # fmt: skip
    if not lines:
        return []
    total = prose.IDENTICAL.format(
        identical=sum(row["identical"] for row in found),
        runs=sum(row["runs"] for row in rows(study.further.get("repeats"))),
    )
    return [total, *lines]


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
    costs = markup.table(
        "Cost by cell and model",
        tuple(study.tables.get("costs", {})),
        [tuple(row.values()) for row in rows(study.tables.get("costs"))],
    )
    return Section(
        "sources", "Sources", models + _probes(study) + costs + markup.part("run_list", study.runs, study.links)
    )


def _probes(study: StudyData) -> Markup:
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
