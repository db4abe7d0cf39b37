"""Where the pages of the PDF part."""

from typing import Any

import pytest
from playmolt_legal.report.document import Document, Line, Section
from playmolt_legal.report.pdf_format import _Paper


@pytest.mark.parametrize("before", range(36, 40))
def test_headings_stand_on_the_page_of_what_they_title(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    section = Section(
        name="best", title="Best cases", lines=(Line(text="Claimant", head=True), Line(text="what it says"))
    )
    case = tuple(Line(text=f"line {number}") for number in range(before))
    laid_out = Document(language="en", title="Report", case=case, sections=(section,), anchors=frozenset())
    pages: dict[str, int] = {}
    head, line = _Paper._head, _Paper._line

    def heading(paper: Any, text: str, *rest: Any) -> None:
        head(paper, text, *rest)
        pages[text] = paper._pdf.page

    def sentence(paper: Any, told: Line) -> None:
        pages[told.text] = paper._pdf.page
        line(paper, told)

    monkeypatch.setattr(_Paper, "_head", heading)
    monkeypatch.setattr(_Paper, "_line", sentence)
    _Paper(laid_out).written()
    assert pages["Best cases"] == pages["Claimant"] == pages["what it says"]
