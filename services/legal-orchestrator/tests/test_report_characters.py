"""Every visible character of a report is on paper, or a stand-in for it; a Word document says its language and ours."""

import io
import re
import unicodedata
import zipfile
from typing import Any

import pytest
from pdfminer.high_level import extract_text
from playmolt_legal.report.blocks import ReportLine, ReportTable
from playmolt_legal.report.document import Document, Section
from playmolt_legal.report.docx_format import _DocxWriter
from playmolt_legal.report.pdf_format import _Paper
from pypdf import PdfReader

TABLE = ReportTable(
    (
        ((ReportLine(text="이름 name"),), (ReportLine(text="값"),)),
        ((ReportLine(text="é ① 中 ✓ 🧾"),), (ReportLine(text="끝", refs=("F1",)),)),
    ),
    (50, 50),
)


def report(text: str, language: str = "ko") -> Document:
    section = Section(name="facts", title=f"제목 {text}", blocks=(ReportLine(text=text, anchor="F1"), TABLE))
    return Document(
        language=language,
        title=text,
        cover=(ReportLine(text=text),),
        notice="",
        ended_at="2026-11-25T09:41:00Z",
        sections=(section,),
        anchors=frozenset({"F1"}),
    )


def drawn(document: Document, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was written with glyphs, in order, each with its font."""
    paper = _Paper(document)
    sheet: Any = paper._pdf
    said: list[tuple[str, str]] = []
    cell = sheet.cell

    def record(*arguments: Any, **options: Any) -> Any:
        said.extend((sheet.font_family, each) for each in arguments if isinstance(each, str))
        return cell(*arguments, **options)

    monkeypatch.setattr(sheet, "cell", record)
    paper.lay_out()
    invisible = {"Cc", "Cf", "Zl", "Zp", "Zs"}
    for family, text in said:
        font = sheet.fonts[family]
        lost = {c for c in text if ord(c) not in font.cmap and unicodedata.category(c) not in invisible}
        assert lost <= {"\ufe0f"}, "the font has a picture of everything that is written"
    for font in sheet.fonts.values():
        font.close()
    return said


def written(document: Document, monkeypatch: pytest.MonkeyPatch) -> str:
    return " ".join(text for _, text in drawn(document, monkeypatch))


@pytest.mark.parametrize(
    ("language", "text", "fonts"),
    [
        ("zh", "原告김민수", [("zh", "原告"), ("ko", "김민수")]),
        ("zh", "与被告（Beijing Co.）", [("zh", "与被告（Beijing Co.）")]),
        ("ko", "피고 张伟、北京", [("ko", "피고 "), ("zh", "张伟"), ("ko", "、北京")]),
        ("en", "Kim 김민 v. 诉讼", [("ko", "Kim 김민 v. "), ("zh", "诉讼")]),
    ],
)
def test_each_run_is_in_a_font_that_has_all_of_it(
    language: str, text: str, fonts: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = drawn(report(text, language), monkeypatch)
    places = [said[n : n + len(fonts)] for n in range(len(said))]
    assert places.count(fonts) >= 2, "on the cover and in the section"
    assert set(re.findall(r"U\+\w+", " ".join(each for _, each in said))) == {"U+1F9FE"}, "of the table"


@pytest.mark.parametrize(("language", "text"), [("zh", "原告김민수"), ("ko", "피고 张伟")])
def test_a_word_document_names_a_font_and_language_by_run(language: str, text: str) -> None:
    with zipfile.ZipFile(io.BytesIO(_DocxWriter(report(text, language)).written())) as package:
        parts = {name: package.read(name).decode() for name in ("word/document.xml", "word/header1.xml")}
    other, font, region = {
        "zh": ("김민수", "Malgun Gothic", "ko-KR"), "ko": ("张伟", "Microsoft YaHei", "zh-CN"),
    }[language]  # fmt: skip
    for part in parts.values():
        found = re.findall(rf"<w:r><w:rPr>([^/]*/><w:lang [^/]*/>)</w:rPr><w:t>{other}</w:t>", part)
        assert found
        assert all(f'w:eastAsia="{font}"' in each and f'w:eastAsia="{region}"' in each for each in found)


def test_a_word_document_holds_what_we_put_in_and_nothing_else() -> None:
    with zipfile.ZipFile(io.BytesIO(_DocxWriter(report("문서", "ko")).written())) as package:
        parts = {name: package.read(name).decode() for name in package.namelist()}
    assert sorted(parts) == [
        "[Content_Types].xml", "_rels/.rels", "docProps/app.xml", "docProps/core.xml", "word/_rels/document.xml.rels",
        "word/document.xml", "word/footer1.xml", "word/header1.xml", "word/numbering.xml", "word/settings.xml",
        "word/styles.xml",
    ]  # fmt: skip
    written = "".join(parts.values())
    assert not re.search(r"jpe?g|rsid|docId|[Tt]heme(?!FontLang)|python|Macintosh|Cambria|\uff2d\uff33", written)
    used = set(re.findall(r'<w:(?:p|r|tbl)Style w:val="(\w+)"', written)) | {"Normal"}
    linked = set(re.findall(r'<w:(?:basedOn|next|link) w:val="(\w+)"', parts["word/styles.xml"]))
    defaults = {"DefaultParagraphFont", "TableNormal", "NoList", "Header", "Footer"}
    assert set(re.findall(r'w:styleId="(\w+)"', parts["word/styles.xml"])) <= used | linked | defaults
    assert len(written) < 40_000


@pytest.mark.parametrize("char", ["👍", "🧾", "ག", "𝕏", "𐎀", "\ue000", "﷽", "\u0600", "\u06dd"])
def test_what_the_font_lacks_is_written_as_its_number_and_noted(char: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(report(f"문서 물{char}"), monkeypatch)
    number = f"U+{ord(char):04X}"
    assert f"문서 물{number}" in text
    note = text[text.index("이 문서의 글꼴에 없는 문자는") :]
    assert number in note


@pytest.mark.parametrize("text", ["문서 물", "plain – “quoted” … é", "①②③ ㎡ 中文"])
def test_what_the_font_has_is_written_as_it_is(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert text in written(report(text), monkeypatch)


def test_what_nobody_sees_needs_no_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "U+FE0F" not in written(report("a\ufe0f\u200d\u200bb"), monkeypatch)


@pytest.mark.parametrize(("language", "said"), [("ko", "ko-KR"), ("en", "en-US")])
def test_a_word_document_says_its_language_its_heading_rows_and_its_program(language: str, said: str) -> None:
    with zipfile.ZipFile(io.BytesIO(_DocxWriter(report("문서", language)).written())) as package:
        parts = {name: package.read(name).decode() for name in package.namelist() if name.endswith(".xml")}
    defaults = re.search(r"<w:docDefaults>.*?</w:docDefaults>", parts["word/styles.xml"], re.DOTALL)
    assert defaults
    for tag, text in (("lang", defaults[0]), ("themeFontLang", parts["word/settings.xml"])):
        (found,) = re.findall(rf"<w:{tag} ([^>]*)/>", text)
        assert f'w:val="{said}"' in found
        assert f'w:eastAsia="{said}"' in found
    assert parts["word/document.xml"].count("<w:tblHeader/>") == 1
    assert "<Application>PlayMolt</Application>" in parts["docProps/app.xml"]
    assert not re.search("python-docx|Microsoft", parts["docProps/app.xml"] + parts["docProps/core.xml"])


def test_readers_of_pdf_texts_get_what_is_written(language: str) -> None:
    # The last ones share glyphs: the fonts draw each pair alike.
    text = "피고 김민수, 被告张伟 v. Müller & Søn: fi “ffl” 3,100만원 ﹣ \\() Ω Ω Å Å ⼀一 µμ"
    data = _Paper(report(text, language)).written()
    read = {
        "pypdf": "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages),
        "pdfminer": extract_text(io.BytesIO(data)),
    }
    for reader, found in read.items():
        assert f"F1 {text}" in found, reader
        assert "\0" not in found, reader
