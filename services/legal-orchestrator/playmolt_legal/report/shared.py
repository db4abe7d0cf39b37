"""The shared report: the chosen sections, without ids of people or texts typed into a gate's form."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

import msgspec
from msgspec.structs import replace
from playmolt_schemas.games.legal import Report
from playmolt_schemas.routes.sharing import SharedPage
from playmolt_schemas.stored.legal import Language
from playmolt_schemas.text import WITHHELD

from playmolt_legal import texts
from playmolt_legal.report import html_format
from playmolt_legal.report.blocks import Block, Heading, ReportLine
from playmolt_legal.report.document import SECTIONS, Document, document
from playmolt_legal.report.sections import CHOICES, Writer


def page(report: Report, state: Mapping[str, object], sections: Sequence[str] | None) -> SharedPage:
    """`sections` None: all. Superseded and withdrawn facts are not shown."""
    chosen = [name for name in SECTIONS if sections is None or name in sections]
    shown = document(_without_private(report), chosen)
    parts = (
        replace(part, blocks=tuple(_choices(report))) if part.name == "steering" else part for part in shown.sections
    )
    body = "".join(html_format.section(part, shown) for part in parts)
    return SharedPage(
        title=report.case.title,
        description=_description(report),
        language=report.language,
        body=f'<p class="notice" role="note">{escape(report.disclaimer)}</p>{_case(shown)}{body}',
        state=state if {"answer", "issues"} <= set(chosen) else None,
    )


def withheld_page(language: Language) -> SharedPage:
    """The page of a report in which the operator hid a text: all of it, because every section may rest on that text."""
    return SharedPage(title=WITHHELD, description="", language=language, body=f"<p>{escape(WITHHELD)}</p>")


def _without_private(report: Report) -> Report:
    facts = replace(report.facts, past=(), history=())
    return replace(report, facts=facts, corrections=(), refused=(), stale=())


def _description(report: Report) -> str:
    label = texts.of(report.language).report
    estimate = report.likelihood
    likely = f" {label['likelihood']}: {estimate.low}–{estimate.high}%." if estimate else ""
    return f"{report.decision_range}{likely}"[:300]


def _case(shown: Document) -> str:
    return f"<ul>{''.join(f'<li>{escape(line.text)}</li>' for line in shown.cover)}</ul>"


def _choices(report: Report) -> Iterator[Block]:
    """The choices at each gate, without constraints in the person's own words."""
    words = texts.of(report.language)
    codes = Writer(report, words).codes
    for entry in report.gate_history:
        yield Heading(words.gate_names[entry.gate])
        for field, value in msgspec.to_builtins(entry.form).items():
            if field not in CHOICES:
                continue
            values = value if isinstance(value, list) else [value]
            shown = [
                codes[one] if isinstance(one, str) else words.report["yes"]
                for one in values
                if one in codes or one is True
            ]
            if shown:
                yield ReportLine(text=f"{words.fields[field]}: {'; '.join(shown)}")
