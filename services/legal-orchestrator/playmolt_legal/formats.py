"""The report in the format a client asks for."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from playmolt_core.decider import Refused
from playmolt_schemas.codes import Code, faults
from playmolt_schemas.legal import Report

from playmolt_legal.report_html import render_html
from playmolt_legal.report_markdown import render_md


class Rendered(msgspec.Struct, frozen=True):
    """A report ready to be sent."""

    content_type: str
    body: bytes


def _docx(report: Report) -> bytes:
    from playmolt_legal.report_docx import render_docx  # noqa: PLC0415 -- its library loads only once it is asked for

    return render_docx(report)


def _pdf(report: Report) -> bytes:
    from playmolt_legal.report_pdf import render_pdf  # noqa: PLC0415 -- as above

    return render_pdf(report)


_DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_RENDER: Final[Mapping[str, tuple[str, Callable[[Report], bytes]]]] = {
    "json": ("application/json", msgspec.json.encode),
    "md": ("text/markdown; charset=utf-8", lambda report: render_md(report).encode()),
    "html": ("text/html; charset=utf-8", lambda report: render_html(report).encode()),
    "docx": (_DOCX, _docx),
    "pdf": ("application/pdf", _pdf),
}


def render(report: Report, name: str = "json") -> Rendered | Refused:
    """Render a report as json, md, html, docx or pdf; any other name is refused.

    docx and pdf take about a second of the processor: call it away from an event loop.
    """
    if name not in _RENDER:
        message = f"must be one of {', '.join(_RENDER)}"
        return Refused(Code.INVALID_REQUEST, f"There is no such format: format {message}.", faults({"format": message}))
    content_type, made = _RENDER[name]
    return Rendered(content_type, made(report))
