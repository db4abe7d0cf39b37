"""What a file is, by its bytes; what is not read says what it is and what to save it as."""

import io
import zipfile

import msgspec
import pytest
from PIL import Image
from playmolt_gateway.uploads.outcome import Unread
from playmolt_gateway.uploads.refusals import FORMATS, every, fault_of
from playmolt_schemas.games.legal import UploadReason

from services.gateway.tests.uploads.documents import refusal, zipped


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
    from services.gateway.tests.uploads.documents import text

    assert text(b"Subject: the deposit\n\nDear Sir").text.startswith("Subject")


def test_hancom_office_is_explained_in_its_own_words() -> None:
    assert all(word in FORMATS["hwp"] for word in ("HWPX", "PDF", "다른 이름으로 저장하기", "PDF로 저장하기"))


def test_every_reason_has_a_refusal() -> None:
    made = {fault.reason for fault in every()}
    told_elsewhere = {"base64", "too_many"}
    assert made | told_elsewhere == set(msgspec.inspect.type_info(UploadReason).values)
