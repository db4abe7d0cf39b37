"""A report as its owner shows it: the chosen sections, nobody's id, none of what was typed into a gate's form."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final, get_args

import msgspec
from msgspec.structs import replace
from playmolt_schemas.games.legal import GateEntry, Report, ReportFacts, ReportSection
from playmolt_schemas.routes.sharing import SharedPage

from playmolt_legal.report import html_format
from playmolt_legal.report.document import Document, Line, Section, document
from playmolt_legal.roles import texts

_PARTS: Final[Mapping[ReportSection, tuple[str, ...]]] = {
    "answer": ("decision_range", "no_go", "next_steps"),
    "facts": ("facts",),
    "issues": ("issues", "best_cases"),
    "findings": ("findings",),
    "risks": ("risks",),
    "strategy": ("strategy",),
    "settlement": ("settlement",),
    "matrix": ("evidence_matrix",),
    "marks": ("guardrail_hits",),
    "citations": ("citations",),
}
"""Which parts of the owner's report stand under a section of the shared one."""
_CHOICES: Final = (
    "choice", "goal", "stance", "constraints", "evidence_level", "settlement_interest", "resolution", "report_style",
)  # fmt: skip
"""The fields of gate forms that are chosen from a list."""


def page(report: Report, state: Mapping[str, Any], sections: Sequence[str] | None) -> SharedPage:
    """`sections` None: all. What does not stand is not shown: a corrected or withdrawn fact is no longer said."""
    whole = document(_told_to_strangers(report))
    chosen = [name for name in get_args(ReportSection) if sections is None or name in sections]
    shown = [section for name in chosen for section in _sections(name, report, whole)]
    laid_out = replace(whole, sections=tuple(shown), anchors=_anchors(shown))
    body = "".join(html_format.section(section, laid_out) for section in shown)
    return SharedPage(
        title=report.case.title,
        description=_description(report),
        language=report.language,
        body=f'<p class="notice" role="note">{escape(report.disclaimer)}</p>{_case(whole)}{body}',
        state=state if {"answer", "issues"} <= set(chosen) else None,
    )


def _told_to_strangers(report: Report) -> Report:
    facts = report.facts
    standing = ReportFacts(confirmed=facts.confirmed, disputed=facts.disputed, unknown=facts.unknown, past=())
    return replace(report, facts=standing, corrections=(), timeline=(), refused=(), stale=())


def _description(report: Report) -> str:
    label = texts.of(report.language).report
    estimate = report.likelihood
    likely = f" {label['likelihood']}: {estimate.low}–{estimate.high}%." if estimate else ""
    return f"{report.decision_range}{likely}"[:300]


def _case(whole: Document) -> str:
    return f"<ul>{''.join(f'<li>{escape(line.text)}</li>' for line in whole.case)}</ul>"


def _sections(name: ReportSection, report: Report, whole: Document) -> Sequence[Section]:
    label, fields = texts.of(report.language).report, texts.of(report.language).fields
    nothing = (Line(text=label["nothing"]),)
    match name:
        case "chronology":
            lines = tuple(Line(text=f"{item.when}: {item.what}", anchor=item.id) for item in report.timeline)
            return (Section(name=name, title=fields["timeline"], lines=lines or nothing),)
        case "steering":
            chosen = tuple(line for entry in report.gate_history for line in _choices(entry, report))
            return (Section(name=name, title=label["gate_history"], lines=chosen or nothing),)
        case "appendix":
            refused = tuple(Line(text=item.text) for item in report.refused)
            return (Section(name=name, title=label["refused"], lines=refused),) if refused else ()
    return [section for part in _PARTS.get(name, ()) for section in whole.sections if section.name == part]


def _choices(entry: GateEntry, report: Report) -> Sequence[Line]:
    """What was chosen at a gate. A constraint of the person's own words is none of the list."""
    words = texts.of(report.language)
    tables = (
        words.goals, words.stances, words.constraints, words.levels, words.resolutions, words.styles, words.choices,
    )  # fmt: skip
    named = {code: text for table in tables for code, text in table.items()}
    lines = [Line(text=f"{words.fields['gate']}: {entry.gate}", head=True)]
    for field, value in msgspec.to_builtins(entry.form).items():
        if field not in _CHOICES:
            continue
        values = value if isinstance(value, list) else [value]
        shown = [
            named[one] if isinstance(one, str) else "✓" if one else "–" for one in values if one in named or one is True
        ]
        if shown:
            lines.append(Line(text=f"{words.fields[field]}: {'; '.join(shown)}"))
    return lines


def _anchors(shown: Sequence[Section]) -> frozenset[str]:
    return frozenset(line.anchor for section in shown for line in section.lines if line.anchor)
