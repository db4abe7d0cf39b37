"""The report as one HTML page that loads nothing."""

from collections.abc import Iterator
from html import escape
from typing import Final

from playmolt_schemas.games.legal import Report

from playmolt_legal.report.document import Cell, Document, Line, Rows, Section, document

_STYLE: Final = (
    "body{font:16px/1.6 system-ui,'Noto Sans KR',sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid #ccc}h3{font-size:1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.25rem .6rem;text-align:left}"
    "li:target{background:#fff3c4}"
)


def render_html(report: Report) -> str:
    """Render the report; every text is escaped."""
    laid_out = document(report)
    body = "".join(section(each, laid_out) for each in laid_out.sections)
    case = "".join(f"<li>{escape(line.text)}</li>" for line in laid_out.case)
    return (
        f'<!doctype html>\n<html lang="{laid_out.language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(laid_out.title)}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(laid_out.title)}</h1><ul>{case}</ul>{body}"
        "</main></body></html>\n"
    )


def section(part: Section, laid_out: Document) -> str:
    """A titled part, its lines and its table."""
    inner = "".join(_lines(part.lines, laid_out)) + _table(part.table)
    return f'<section id="{part.name}"><h2>{escape(part.title)}</h2>{inner}</section>'


def _lines(lines: tuple[Line, ...], laid_out: Document) -> Iterator[str]:
    listing = False
    for line in lines:
        if line.head != (not listing):
            yield "</ul>" if line.head else "<ul>"
            listing = not line.head
        yield f"<h3>{escape(line.text)}</h3>" if line.head else f"<li{_id(line)}>{_line(line, laid_out)}</li>"
    if listing:
        yield "</ul>"


def _id(line: Line) -> str:
    return f' id="{escape(line.anchor)}"' if line.anchor else ""


def _line(line: Line, laid_out: Document) -> str:
    label = f"<b>{escape(line.anchor)}</b> " if line.anchor else ""
    refs = "".join(f" {_ref(ref, laid_out)}" for ref in line.refs)
    return f"{label}{escape(line.text)}{refs}"


def _ref(ref: str, laid_out: Document) -> str:
    return f'[<a href="#{escape(ref)}">{escape(ref)}</a>]' if ref in laid_out.anchors else f"[{escape(ref)}]"


def _cell(cell: Cell) -> str:
    text = f'<a href="#{escape(cell.ref)}">{escape(cell.text)}</a>' if cell.ref else escape(cell.text)
    return f"<td>{text}</td>"


def _table(rows: Rows) -> str:
    if not rows:
        return ""
    head, *body = rows
    lines = ["".join(f'<th scope="col">{escape(cell.text)}</th>' for cell in head)]
    lines += ["".join(map(_cell, row)) for row in body]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
