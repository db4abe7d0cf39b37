"""The PDF as pages: where they part, and what a reader finds on and behind them."""

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from playmolt_legal.report import report as reports
from playmolt_legal.report.blocks import Heading, ReportLine, ReportTable
from playmolt_legal.report.document import Document, Section
from playmolt_legal.report.pdf_format import _Paper, render_pdf
from playmolt_schemas.games.legal import Report
from pypdf import PdfReader
from pypdf.generic import ContentStream, DictionaryObject


def paper(*sections: Section) -> _Paper:
    at = "2026-11-25T09:41:00Z"
    return _Paper(
        Document(
            language="en", title="Report", cover=(), notice="", ended_at=at, sections=sections, anchors=frozenset()
        )
    )


@pytest.mark.parametrize("before", range(34, 46))
def test_headings_stand_on_the_page_of_what_they_title(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    filled = tuple(ReportLine(text=f"line {number}") for number in range(before))
    blocks = (Heading("Claimant"), ReportLine(text="what it says"))
    pages: dict[str, int] = {}
    head, line = _Paper._head, _Paper._line

    def heading(paper: Any, text: str, *rest: Any) -> None:
        head(paper, text, *rest)
        pages[text] = paper._pdf.page

    def sentence(paper: Any, shown: ReportLine, *rest: Any, **options: Any) -> None:
        pages[shown.text] = paper._pdf.page
        line(paper, shown, *rest, **options)

    monkeypatch.setattr(_Paper, "_head", heading)
    monkeypatch.setattr(_Paper, "_line", sentence)
    first = Section(name="a", title="First", blocks=(ReportLine(text="one"),))
    made = paper(
        first, Section(name="b", title="Second", blocks=filled), Section(name="c", title="Best", blocks=blocks)
    )
    made.lay_out()
    made._pdf.fonts["ko"].close()
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


def elements(node: Any) -> Iterator[Any]:
    for kid in node.get("/K", []):
        if isinstance(kid := kid.get_object(), DictionaryObject) and "/S" in kid:
            yield kid


def read(element: Any, words: Mapping[tuple[Any, int], str]) -> str:
    """The text of an element: of its own marks, then of what it holds."""
    page = element["/Pg"].indirect_reference
    own = [words.get((page, int(mark)), "") for mark in element["/K"] if isinstance(mark, int)]
    return " ".join([*own, *(read(kid, words) for kid in elements(element))])


def marked_texts(reader: PdfReader) -> tuple[dict[tuple[Any, int], str], list[str]]:
    """The texts of a document by page and mark, and those that are marked as no part of it."""
    words: dict[tuple[Any, int], str] = {}
    beside: list[str] = []
    for page in reader.pages:
        letters = {
            glyph: bytes.fromhex(letter.decode()).decode("utf-16-be")
            for font in page["/Resources"]["/Font"].values()
            for glyph, letter in re.findall(rb"<([0-9A-F]{4})> <([0-9A-F]+)>", font["/ToUnicode"].get_data())
        }
        marks: list[int | None] = []
        for operands, operator in ContentStream(page.get_contents(), reader).operations:
            if operator == b"BDC":
                marks.append(int(operands[1]["/MCID"]))
            elif operator == b"BMC":
                marks.append(None)
            elif operator == b"EMC":
                marks.pop()
            elif operator == b"Tj":
                glyphs = re.findall("....", operands[0].original_bytes.hex().upper())
                text = "".join(letters[glyph.encode()] for glyph in glyphs)
                assert marks, f"{text!r} is neither tagged nor an artifact"
                if marks[-1] is None:
                    beside.append(text)
                else:
                    place = (page.indirect_reference, marks[-1])
                    words[place] = words.get(place, "") + text
        assert marks == []
    return words, beside


def test_a_table_is_rows_of_cells_and_its_repeated_heading_is_not_part_of_the_text() -> None:
    rows = (
        ((ReportLine(text="left"),), (ReportLine(text="right"),)),
        ((ReportLine(text="short"),), (ReportLine(text="long " * 900),)),
        ((ReportLine(text="last"),), (ReportLine(text=""),)),
    )
    package = paper(
        Section(name="a", title="First", blocks=(ReportTable(rows, (50, 50)), ReportLine(text="behind")))
    ).written()
    reader = PdfReader(io.BytesIO(package))
    words, beside = marked_texts(reader)
    document = next(elements(reader.trailer["/Root"]["/StructTreeRoot"]))
    table = next(each for each in elements(document) if each["/S"] == "/Table")
    told = [[(cell["/S"], read(cell, words).split()) for cell in elements(row)] for row in elements(table)]
    assert {row["/S"] for row in elements(table)} == {"/TR"}
    assert told == [
        [("/TH", ["left"]), ("/TH", ["right"])],
        [("/TD", ["short"]), ("/TD", ["long"] * 900)],
        [("/TD", ["last"]), ("/TD", [])],
    ]
    assert all(cell["/A"]["/Scope"] == "/Column" for cell in elements(next(elements(table))))
    assert len(reader.pages) > 2
    assert beside.count("left") == beside.count("right") == len(reader.pages) - 2


def test_every_mark_of_a_page_is_found_from_the_page_and_from_the_tree(session: Any) -> None:
    made = reports.report(session.to("FINALIZE_DONE").state)
    assert isinstance(made, Report)
    reader = PdfReader(io.BytesIO(render_pdf(made)))
    root = reader.trailer["/Root"]["/StructTreeRoot"]
    numbers = root["/ParentTree"]["/Nums"]
    by_page = dict(zip(numbers[::2], numbers[1::2], strict=True))
    words, _ = marked_texts(reader)
    for page in reader.pages:
        owners = by_page[page["/StructParents"]]
        for mark, owner in enumerate(owners):
            assert owner["/K"][0] == mark
            assert (len(owner["/K"]) == 2) is (owner["/S"] == "/Link")
            assert owner["/Pg"].indirect_reference == page.indirect_reference
            assert owner.indirect_reference in owner["/P"].get("/K", [])
    marked = [by_page[page["/StructParents"]] for page in reader.pages]
    kinds = Counter(str(each["/P"]["/S"]) for owners in marked for each in owners)
    assert kinds["/TH"] >= 4
    assert kinds["/TD"] >= 4
    assert words


def test_links_are_tied_to_their_annotations(session: Any) -> None:
    made = reports.report(session.to("FINALIZE_DONE").state)
    assert isinstance(made, Report)
    reader = PdfReader(io.BytesIO(render_pdf(made)))
    numbers = reader.trailer["/Root"]["/StructTreeRoot"]["/ParentTree"]["/Nums"]
    assert list(numbers[::2]) == sorted(set(numbers[::2]))
    by_number = dict(zip(numbers[::2], numbers[1::2], strict=True))
    words, _ = marked_texts(reader)
    annotations = 0
    for page in reader.pages:
        for annotation in page.get("/Annots", []):
            element = by_number[annotation.get_object()["/StructParent"]].get_object()
            assert element["/S"] == "/Link"
            assert element["/K"][1]["/Obj"].indirect_reference == annotation.indirect_reference
            assert element["/Pg"].indirect_reference == page.indirect_reference
            assert annotation.get_object()["/Contents"] == read(element, words).strip()
            annotations += 1
        assert page["/Tabs"] == "/S"
    assert annotations > 10


def test_lists_are_items_of_label_and_body_in_standard_types(session: Any) -> None:
    made = reports.report(session.to("FINALIZE_DONE").state)
    assert isinstance(made, Report)
    reader = PdfReader(io.BytesIO(render_pdf(made)))
    root = reader.trailer["/Root"]["/StructTreeRoot"]
    inside = {"/L": {"/LI"}, "/LI": {"/Lbl", "/LBody"}, "/LBody": {"/Span", "/Link"}, "/P": {"/Span", "/Link"}}
    found: Counter[str] = Counter()

    def walk(element: Any) -> None:
        kind, kids = str(element["/S"]), list(elements(element))
        found[kind] += 1
        names = [str(kid["/S"]) for kid in kids]
        assert set(names) <= inside.get(kind, set(names))
        assert kind != "/LI" or names == ["/Lbl", "/LBody"]
        assert kind not in ("/Lbl", "/LI", "/LBody") or element["/P"]["/S"] == {"/LI": "/L"}.get(kind, "/LI")
        for kid in kids:
            walk(kid)

    walk(next(elements(root)))
    assert found["/LI"] == found["/Lbl"] == found["/LBody"] > 50
    standard = {"/Document", "/P", "/H1", "/H2", "/L", "/LI", "/Lbl", "/LBody", "/Span", "/Link", "/Table", "/TR"}
    assert {root["/RoleMap"].get(kind, kind) for kind in found} <= standard | {"/TH", "/TD"}
    assert reader.xmp_metadata.dc_title["x-default"] == reader.metadata.title
    assert reader.trailer["/Root"]["/ViewerPreferences"]["/DisplayDocTitle"].value is True
