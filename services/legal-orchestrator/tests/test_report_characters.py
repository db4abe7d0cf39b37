"""Every visible character of a report is on paper, or a stand-in for it; a Word document says its language and ours."""

import io
import re
import unicodedata
import zipfile
from typing import Any

import pytest
from playmolt_legal.report.blocks import ReportLine, ReportTable
from playmolt_legal.report.document import Document, Section
from playmolt_legal.report.docx_format import _DocxWriter
from playmolt_legal.report.pdf_format import _Paper

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


def written(document: Document, monkeypatch: pytest.MonkeyPatch) -> str:
    """What was written with glyphs of the font, in order."""
    paper = _Paper(document)
    font: Any = paper._pdf.fonts["sans"]
    said: list[str] = []
    for name in ("write", "cell", "multi_cell"):
        method = getattr(paper._pdf, name)

        def record(*arguments: Any, _method: Any = method, **options: Any) -> Any:
            said.extend(each for each in arguments if isinstance(each, str))
            return _method(*arguments, **options)

        monkeypatch.setattr(paper._pdf, name, record)
    paper.lay_out()
    font.close()
    text = " ".join(said)
    invisible = {"Cc", "Cf", "Zl", "Zp", "Zs"}
    lost = {c for c in text if ord(c) not in font.cmap and unicodedata.category(c) not in invisible}
    assert lost <= {"\ufe0f"}, "the font has a picture of everything that is written"
    return text


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
