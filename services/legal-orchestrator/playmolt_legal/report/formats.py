"""The report in the format a client asks for."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code, faults
from playmolt_schemas.games.legal import Report
from playmolt_schemas.routes.legal import REPORT_MEDIA, ReportFormat

from playmolt_legal.report.html_format import render_html
from playmolt_legal.report.markdown_format import render_md


class Rendered(msgspec.Struct, frozen=True):
    """A report ready to be sent."""

    content_type: str
    body: bytes


def _docx(report: Report) -> bytes:
    from playmolt_legal.report.docx_format import render_docx  # noqa: PLC0415 -- its library loads only once it is asked for

    return render_docx(report)


def _pdf(report: Report) -> bytes:
    from playmolt_legal.report.pdf_format import render_pdf  # noqa: PLC0415 -- as above

    return render_pdf(report)


_RENDER: Final[Mapping[ReportFormat, Callable[[Report], bytes]]] = {
    "json": msgspec.json.encode,
    "md": lambda report: render_md(report).encode(),
    "html": lambda report: render_html(report).encode(),
    "docx": _docx,
    "pdf": _pdf,
}


def render(report: Report, name: str = "json") -> Rendered | Refused:
    """Render a report as json, md, html, docx or pdf; any other name is refused.

    docx and pdf take about a second of processor time: do not call it on an event loop.
    """
    for known, made in _RENDER.items():
        if known == name:
            return Rendered(REPORT_MEDIA[known], made(report))
    message = f"must be one of {', '.join(_RENDER)}"
    return Refused(Code.INVALID_REQUEST, f"Unknown format: format {message}.", faults({"format": message}))
