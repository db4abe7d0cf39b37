"""Files that other libraries made (`make_files.py`)."""

import io
from pathlib import Path

import pytest
from playmolt_gateway.uploads.outcome import FileText, ReaderOptions
from playmolt_gateway.uploads.program import read
from pypdf import PdfWriter
from pypdf.generic import ArrayObject as Array
from pypdf.generic import DictionaryObject as Dictionary
from pypdf.generic import NameObject as Name
from pypdf.generic import StreamObject
from pypdf.generic import TextStringObject as Text

from services.gateway.tests.uploads.documents import QUESTION, counts, lines, refusal, text
from services.gateway.tests.uploads.make_texts import CHINESE, ENGLISH, KOREAN

FILES = Path(__file__).parent / "files"


def made(name: str) -> bytes:
    return (FILES / name).read_bytes()


@pytest.mark.parametrize(
    "name", ["plain", "owner_rc4_40", "owner_rc4_128", "owner_aes_128", "owner_aes_256", "letterhead"]
)
def test_a_pdf_that_opens_everywhere_is_read(name: str) -> None:
    found = text(made(f"{name}.pdf"))
    assert found.text.splitlines() == [f"1: {KOREAN}", f"1: {ENGLISH}", f"1: {KOREAN}"]
    assert (found.pages, found.encoding, found.sure, found.notes) == (1, None, None, ())


@pytest.mark.parametrize(
    ("name", "reason"),
    [("user_password", "password"), ("no_map", "unreadable_text"), ("own_glyph_names", "unreadable_text"),
     ("own_codes", "unreadable_text"), ("drawn_form", "unreadable_text"),
     ("scan", "no_text")],
)  # fmt: skip
def test_a_pdf_that_cannot_be_evidence_says_why(name: str, reason: str) -> None:
    assert refusal(made(f"{name}.pdf"))[0] == reason


def test_an_hwp_5_file_says_how_to_save_it() -> None:
    assert refusal(made("library.hwp")) == ("format", "hwp")


def test_letters_of_adobe_collections_are_known_without_a_map() -> None:
    assert lines(made("collections.pdf")) == [KOREAN, CHINESE]
    assert text(made("korea1.pdf")).text.startswith("갗같갚갛개객갠갤")


def test_pages_of_pictures_are_named() -> None:
    found = text(made("stamped.pdf"))
    assert [(note.kind, note.count, note.detail) for note in found.notes] == [("picture", 2, "2–3")]
    assert "4: " + KOREAN in found.text


def test_recognised_text_is_read_and_told() -> None:
    found = text(made("recognised.pdf"))
    assert KOREAN in found.text
    assert [(note.kind, note.count, note.detail) for note in found.notes] == [("recognised", 1, "1")]


def test_what_was_filled_in_and_typed_on_a_pdf_is_read_and_the_rest_is_counted() -> None:
    found = text(made("noted_form.pdf"))
    assert found.text.splitlines() == [
        "Statement of claim", "claimant: Hong Gildong", "oral: ☒", "interpreter: ☐", "court: Seoul", "track: fast",
        "received 2 March",
    ]  # fmt: skip
    assert {note.kind: note.count for note in found.notes} == {"comment": 2, "hidden": 1, "embedded": 1}


@pytest.mark.parametrize(("state", "read"), [("/Off", None), ("/Yes", "agreed: ☒")])
def test_a_scan_with_boxes_alone_is_still_one_of_pictures(state: str, read: str | None) -> None:
    writer = PdfWriter(clone_from=FILES / "scan.pdf")
    box = {"/Subtype": "/Widget", "/FT": "/Btn", "/AS": state, "/V": state}
    widget = Dictionary({Name(key): Name(value) for key, value in box.items()} | {Name("/T"): Text("agreed")})
    writer.pages[0][Name("/Annots")] = Array([widget])
    written = io.BytesIO()
    writer.write(written)
    if read is None:
        assert refusal(written.getvalue()) == ("no_text", "pictures")
    else:
        assert text(written.getvalue()).text == read


@pytest.mark.parametrize(
    ("encoding", "codec", "words"),
    [("KSC-Johab-H", "johab", ""), ("CNS-EUC-H", "big5", ""), ("Unknown-H", "utf-16-be", ""),
     ("83pv-RKSJ-H", "cp932", "契約"), ("UniKS-UCS2-V", "utf-16-be", "契約"), ("GBKp-EUC-V", "gbk", "契約")],
)  # fmt: skip
def test_an_encoding_that_is_not_known_gives_no_letters(encoding: str, codec: str, words: str) -> None:
    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = Dictionary(
        {Name("/Type"): Name("/Font"), Name("/Subtype"): Name("/Type0"), Name("/BaseFont"): Name("/X"),
         Name("/Encoding"): Name(f"/{encoding}"), Name("/DescendantFonts"): Array()}
    )  # fmt: skip
    page[Name("/Resources")] = Dictionary({Name("/Font"): Dictionary({Name("/F1"): font})})
    shown = StreamObject()
    shown.set_data(b"BT /F1 12 Tf 20 200 Td <" + "契約".encode(codec).hex().encode() + b"> Tj ET")
    page[Name("/Contents")] = writer._add_object(shown)
    made_of_it = io.BytesIO()
    writer.write(made_of_it)
    if words:
        assert text(made_of_it.getvalue()).text == words
    else:
        assert refusal(made_of_it.getvalue())[0] == "unreadable_text"


def test_some_pages_are_taken() -> None:
    found = read(made("three_pages.pdf"), ReaderOptions(100_000, 370_000, pages="2-3"))
    assert isinstance(found, FileText)
    assert found.text.startswith("2: ")
    assert "3: " in found.text
    assert found.pages == 3
    assert [(note.kind, note.count, note.detail) for note in found.notes] == [("pages", 2, "2–3/3")]
    short = ReaderOptions(chars=150, text_bytes=370_000)
    assert refusal(made("three_pages.pdf"), short) == ("too_large", "chars")


def test_a_docx_of_python_docx() -> None:
    assert lines(made("library.docx")) == [
        "매매 계약서", KOREAN, "1. 첫째 항목", "2. 둘째 항목", "• 글머리 항목", "품목 | 수량 | 금액",
        "기계 | 2 | 4,000", "합계 | 4,000", "잔금은 나중에 지급한다.", "보이는 글 ", "", "대금은 육백만 원이다.",
        "서울중앙지방법원", "대외비",
    ]  # fmt: skip
    kinds = {note.kind: note.count for note in text(made("library.docx")).notes}
    assert kinds == {"insertion": 1, "deletion": 1, "comment": 1, "hidden": 1, "picture": 1}


def test_an_hwpx_of_python_hwpx() -> None:
    assert lines(made("library.hwpx")) == [
        "소장", f"{KOREAN}［1: 민법 제563조］", "뒤의 문단이다.", "원고 | 피고", "김철수 | 이영희", "메모가 있는 문단",
        "대금은  원이다.육백만", "서울중앙지방법원", "제출용",
    ]  # fmt: skip
    kinds = {note.kind: note.count for note in text(made("library.hwpx")).notes}
    assert kinds == {"insertion": 1, "deletion": 1, "comment": 1}


def test_every_file_is_read_within_the_bounds() -> None:
    assert sorted(path.suffix for path in FILES.iterdir()) == [
        *[".docx"] * 2, ".fodt", ".hwp", ".hwpx", *[".pdf"] * 19
    ]  # fmt: skip
    assert QUESTION.chars == 100_000


def test_a_document_of_libreoffice_is_read_as_its_writer_sees_it() -> None:
    assert (lines(made("writer.docx")), counts(made("writer.docx"))) == (
        [
            "Contract",
            "1. Price $3,100",
            "noted［*: its own mark］ affine office end",
            "across",
            "left | right",
            "last.",
        ],
        {"comment": 1, "hidden": 1},
    )
    assert (lines(made("writer.pdf")), counts(made("writer.pdf"))) == (
        ["Contract", "1.Price $3,100", "noted* affine office end", "across", "left right", "last.", "* its own mark"],
        {"comment": 1},
    )
    assert refusal(made("writer.fodt")) == ("format", "odt")
