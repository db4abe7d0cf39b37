"""The PDF as pages: where they part, and what a reader finds on and behind them."""

import re
from typing import Any

import pytest
from playmolt_legal.report import report as reports
from playmolt_legal.report.blocks import Heading, Line
from playmolt_legal.report.document import Document, Section
from playmolt_legal.report.pdf_format import _Paper, render_pdf
from playmolt_schemas.games.legal import Report


def paper(*sections: Section) -> _Paper:
    at = "2026-11-25T09:41:00Z"
    return _Paper(
        Document(
            language="en", title="Report", cover=(), notice="", ended_at=at, sections=sections, anchors=frozenset()
        )
    )


@pytest.mark.parametrize("before", range(34, 46))
def test_headings_stand_on_the_page_of_what_they_title(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    filled = tuple(Line(text=f"line {number}") for number in range(before))
    told = (Heading("Claimant"), Line(text="what it says"))
    pages: dict[str, int] = {}
    head, line = _Paper._head, _Paper._line

    def heading(paper: Any, text: str, *rest: Any) -> None:
        head(paper, text, *rest)
        pages[text] = paper._pdf.page

    def sentence(paper: Any, told: Line, *rest: Any, **options: Any) -> None:
        pages[told.text] = paper._pdf.page
        line(paper, told, *rest, **options)

    monkeypatch.setattr(_Paper, "_head", heading)
    monkeypatch.setattr(_Paper, "_line", sentence)
    first = Section(name="a", title="First", blocks=(Line(text="one"),))
    paper(
        first, Section(name="b", title="Second", blocks=filled), Section(name="c", title="Best", blocks=told)
    ).written()
    assert pages["Best"] == pages["Claimant"] == pages["what it says"]


def test_a_row_longer_than_its_page_goes_on_under_its_heading(session: Any) -> None:
    session.facts(overview="가" * 20, acts="나", opposing_claims="다툰다. " * 900)
    made = reports.report(session.to("FINALIZE_DONE").state)
    assert isinstance(made, Report)
    assert render_pdf(made).startswith(b"%PDF-")


def test_a_reader_finds_tags_bookmarks_pages_and_whose_it_is(session: Any) -> None:
    made = reports.report(session.to("FINALIZE_DONE").state)
    assert isinstance(made, Report)
    package = render_pdf(made)
    assert re.search(rb"/MarkInfo\s*<<\s*/Marked true", package)
    assert b"/StructTreeRoot" in package
    assert re.search(rb"/Lang \(ko\)", package)
    outline = re.search(rb"/Type /Outlines", package)
    assert outline
    assert b"/Author" in package
    year = made.ended_at[:10].replace("-", "").encode()
    assert b"/CreationDate (D:" + year in package
