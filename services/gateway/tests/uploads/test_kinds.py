"""What a file is, by its bytes; what is not read says what it is and what to save it as."""

import io
import zipfile

import msgspec
import pytest
from PIL import Image
from playmolt_gateway.uploads.outcome import Unread
from playmolt_gateway.uploads.refusals import FORMATS, every, fault_of
from playmolt_schemas.games.legal import UploadReason

from services.gateway.tests.uploads.documents import refusal, text, zipped


def ole(*names: str) -> bytes:
    """A compound file whose root has streams of these names: a header, a table, a directory."""
    free, end = 0xFFFFFFFF, 0xFFFFFFFE
    header = bytearray(512)
    header[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    header[24:32] = b"\x3e\0\x03\0\xfe\xff\x09\0"
    header[44:52] = (1).to_bytes(4, "little") + (1).to_bytes(4, "little")
    header[76:512] = (0).to_bytes(4, "little") + free.to_bytes(4, "little") * 108
    sectors = (len(names) + 1 + 3) // 4
    chain = [0xFFFFFFFD, *range(2, sectors + 1), end]
    table = b"".join(each.to_bytes(4, "little") for each in (chain + [free] * 128)[:128])

    def entry(name: str, kind: int, right: int, child: int) -> bytes:
        raw = name.encode("utf-16-le") + b"\0\0"
        start = raw.ljust(64, b"\0") + len(raw).to_bytes(2, "little") + bytes((kind, 1))
        return (start + b"\xff" * 4 + right.to_bytes(4, "little") + child.to_bytes(4, "little")).ljust(128, b"\0")

    entries = [entry("Root Entry", 5, free, 1)]
    for place, name in enumerate(names, 1):
        entries.append(entry(name, 2, place + 1 if place < len(names) else free, free))
    return bytes(header) + table + b"".join(entries).ljust(512 * sectors, b"\0")


def picture(kind: str) -> bytes:
    made = io.BytesIO()
    Image.new("L", (4, 4)).save(made, kind)
    return made.getvalue()


OFFICE = "[Content_Types].xml"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (ole("FileHeader", "DocInfo", "\5HwpSummaryInformation", "BodyText", "PrvText"), "hwp"),
        (b"HWP Document File V3.00 \x1a\1\2", "hwp"),
        (ole("1Table", "WordDocument"), "doc"),
        (ole("Workbook"), "sheet"),
        (ole("PowerPoint Document"), "slides"),
        (ole("__nameid_version1.0", "__properties_version1.0"), "mail"),
        (ole("Something"), "ole"),
        (ole("FileHeader")[:700], "ole"),
        (b"{\\rtf1\\ansi text}", "rtf"),
        (b"\xef\xbb\xbf\r\n{\\rtf1\\ansi text}", "rtf"),
        (b'<?xml version="1.0"?>\n<!-- drawn -->\n<svg><text>a</text></svg>', "picture"),
        (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html><body>text', "web"),
        (b"<!-- saved --><!-- twice --><html><body>text", "web"),
        (b"From a@b.example Mon Jan  1\nReceived: x\nMIME-Version: 1.0\nMessage-ID: <1>\n\ntext", "mail"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<x/>"}), "odt"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}), "sheet"),
        (zipped({OFFICE: "<Types/>", "xl/workbook.xml": "<x/>"}), "sheet"),
        (zipped({OFFICE: "<Types/>", "ppt/presentation.xml": "<x/>"}), "slides"),
        (zipped({"letter.txt": "text"}), "zip"),
        (b"From: a@example.com\r\nTo: b@example.com\r\nMIME-Version: 1.0\r\nMessage-ID: <1@x>\r\n\r\nText", "mail"),
        (b"<!DOCTYPE html><p>text", "web"),
        (picture("PNG"), "picture"),
        (picture("JPEG"), "picture"),
        (picture("TIFF"), "picture"),
        (picture("BMP"), "picture"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "picture"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0", "recording"),
        (b"\x1f\x8b\x08\0", "archive"),
        (b"MIME-Version: 1.0\r\nFrom: a@example.com\r\nTo: b@example.com\r\n\r\nText", "mail"),
        (b"ARC-Seal: i=1\r\nMIME-Version: 1.0\r\nFrom: a@example.com\r\n\r\nText", "mail"),
        (b"\xef\xbb\xbfFrom: a@example.com\r\nSubject: =?utf-8?b?YQ==?=\r\nMIME-Version: 1.0\r\n\r\nText", "mail"),
        (b"From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\r\n-", "web"),
        (b"<head><title>a</title></head><body>text</body>", "web"),
        (b"<meta charset=utf-8><p>text", "web"),
        (b"<table border=1><tr><td>1</td></tr></table>", "web"),
        ("<html><body>계약</body></html>".encode("utf-16"), "web"),
        (b'<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?><Workbook/>', "sheet"),
        (b'<?xml version="1.0"?><office:document mimetype="application/vnd.oasis.opendocument.spreadsheet"', "sheet"),
        (zipped({OFFICE: "<Types/>", "FixedDocSeq.fdseq": "<x/>"}), "xps"),
        (zipped({"Index/Document.iwa": "x", "Index/Slide-1.iwa": "x"}), "slides"),
        (zipped({"Index/Document.iwa": "x", "Index/Tables/Tile.iwa": "x"}), "pages"),
        (b"#!AMR\n\x3c\x91\x17", "recording"),
        (b"\xff\xfb\x90\x64\0\0", "recording"),
        (b"\xff\xf1\x50\x80\x02", "recording"),
        (bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c"), "recording"),
        (b"\0\0\0\x08wide\0\0\0\0mdat", "recording"),
        (b"FORM\0\0\0\x20AIFF", "recording"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "picture"),
        (b"\1\0\0\0".ljust(40, b"\0") + b" EMF\0", "picture"),
        (b"letter.txt".ljust(257, b"\0") + b"ustar\0", "archive"),
        (b"EGGA\0\1\x8b\x91", "archive"),
        (b"ALZ\1\x0a\0\0\0", "archive"),
        (b"JVBERi0xLjcKJeLjz9MKMSAwIG9iago8PC9UeXBl", "base64"),
    ],
)  # fmt: skip
def test_a_format_that_is_not_read_is_named(content: bytes, name: str) -> None:
    assert refusal(content) == ("format", name)
    message = fault_of(Unread("format", name)).message
    assert any(word in message for word in ("PDF", "DOCX", "text"))


def test_protected_documents_ask_for_the_password_to_be_removed() -> None:
    assert refusal(ole("EncryptionInfo", "EncryptedPackage")) == ("password", "office")
    locked = bytearray(zipped({"a.txt": "text"}, compressed=zipfile.ZIP_STORED))
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        locked[locked.index(mark) + place] |= 1
    assert refusal(bytes(locked)) == ("password", "zip")


def test_a_letter_that_begins_like_mail_is_a_text() -> None:
    assert text(b"Subject: the deposit\n\nDear Sir").text.startswith("Subject")


@pytest.mark.parametrize(
    "words",
    [
        "ab-lh5- is how a file of LHA begins", "The header %PDF-1.4 is described here.", "<p. 3> of the contract",
        "From: a@example.com\nTo: b@example.com\nSubject: the deposit\n\nDear Sir", "widemouth: moov",
        "From: Kim\nTo: Lee\nReceived: 3 boxes\n\nSigned", "JVC owes me",
    ],
)  # fmt: skip
def test_a_text_that_begins_like_another_kind_is_a_text(words: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        assert text(words.encode(encoding)).text == words


def test_hancom_office_is_explained_in_its_own_words() -> None:
    assert all(word in FORMATS["hwp"] for word in ("HWPX", "PDF", "다른 이름으로 저장하기", "PDF로 저장하기"))


def test_every_reason_has_a_refusal() -> None:
    made = {fault.reason for fault in every()}
    told_elsewhere = {"base64", "too_many"}
    assert made | told_elsewhere == set(msgspec.inspect.type_info(UploadReason).values)
