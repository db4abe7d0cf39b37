"""The report as one HTML page that loads nothing."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from playmolt_schemas.games.legal import Report

from playmolt_legal.report.blocks import Block, Heading, ReportLine, ReportTable
from playmolt_legal.report.document import Document, Section, document

_STYLE: Final = (
    "body{font:16px/1.6 system-ui,'Noto Sans KR','Noto Sans SC',sans-serif;"
    "max-width:52rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid #ccc}h3{font-size:1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border:1px solid #bbb;padding:.25rem .6rem;"
    "text-align:left;vertical-align:top}"
    "th{background:#e8edf3}td p{margin:0 0 .4rem}p:target,td:target{background:#fff3c4}"
)


def render_html(report: Report) -> str:
    """Render the report; every text is escaped."""
    laid_out = document(report)
    body = "".join(section(each, laid_out) for each in laid_out.sections)
    cover = "".join(f"<li>{escape(line.text)}</li>" for line in laid_out.cover)
    return (
        f'<!doctype html>\n<html lang="{laid_out.language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(laid_out.title)}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(laid_out.title)}</h1><ul>{cover}</ul>"
        f"<p>{escape(laid_out.notice)}</p>{body}</main></body></html>\n"
    )


def section(part: Section, laid_out: Document) -> str:
    """A titled part and its blocks."""
    return f'<section id="{part.name}"><h2>{escape(part.title)}</h2>{"".join(_blocks(part.blocks, laid_out))}</section>'


def _blocks(blocks: Sequence[Block], laid_out: Document) -> Iterator[str]:
    listing = False
    for block in blocks:
        if (isinstance(block, ReportLine) and block.listed) != listing:
            listing = not listing
            yield "<ul>" if listing else "</ul>"
        match block:
            case ReportLine(listed=False):
                yield f"<p{_id(block)}>{_line(block, laid_out)}</p>"
            case ReportLine():
                yield f"<li{_id(block)}>{_line(block, laid_out)}</li>"
            case Heading(text=text):
                yield f"<h3>{escape(text)}</h3>"
            case ReportTable():
                yield _table(block, laid_out)
    if listing:
        yield "</ul>"


def _id(line: ReportLine) -> str:
    return f' id="{escape(line.anchor)}"' if line.anchor else ""


def _line(line: ReportLine, laid_out: Document) -> str:
    label = f"<b>{escape(line.anchor)}</b> " if line.anchor else ""
    refs = "".join(f" {_ref(ref, laid_out)}" for ref in line.refs)
    return f"{label}{escape(line.text)}{refs}"


def _ref(ref: str, laid_out: Document) -> str:
    return f'[<a href="#{escape(ref)}">{escape(ref)}</a>]' if ref in laid_out.anchors else f"[{escape(ref)}]"


def _table(table: ReportTable, laid_out: Document) -> str:
    head, *body = table.rows
    rows = ["".join(f'<th scope="col">{escape(line.text)}</th>' for cell in head for line in cell)]
    for row in body:
        cells = ("".join(f"<p{_id(line)}>{_line(line, laid_out)}</p>" for line in cell) for cell in row)
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
