"""The kind of a file by its bytes, whatever its name says."""

import re
from typing import Final, Literal

from playmolt_gateway.uploads.outcome import refuse
from playmolt_gateway.uploads.zip_parts import ZipParts

Kind = Literal["pdf", "docx", "hwpx", "text"]

_PDF: Final = b"%PDF-"
_PDF_WITHIN: Final = 1024
"""A PDF may begin with other bytes: readers look for its mark in the first kilobyte."""
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIPS: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_HEADS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"HWP Document File", "hwp"),
    (b"\x89PNG\r\n", "picture"),
    (b"\xff\xd8\xff", "picture"),
    (b"GIF87a", "picture"),
    (b"GIF89a", "picture"),
    (b"II*\0", "picture"),
    (b"MM\0*", "picture"),
    (b"\0\0\1\0", "picture"),
    (b"8BPS\0", "picture"),
    (b"ID3\2", "recording"),
    (b"ID3\3", "recording"),
    (b"ID3\4", "recording"),
    (b"OggS\0", "recording"),
    (b"fLaC\0", "recording"),
    (b"\x1aE\xdf\xa3", "recording"),
    (b"\x1f\x8b", "archive"),
    (b"7z\xbc\xaf\x27\x1c", "archive"),
    (b"Rar!\x1a\x07", "archive"),
    (b"BZh91AY&SY", "archive"),
    (b"\xfd7zXZ", "archive"),
    (b"%!PS", "postscript"),
    (b"\x7fELF", "program"),
    (b"MZ\x90\0", "program"),
)
_STREAMS: Final[tuple[tuple[str, str], ...]] = (
    ("FileHeader", "hwp"),
    ("WordDocument", "doc"),
    ("Workbook", "sheet"),
    ("Book", "sheet"),
    ("PowerPoint Document", "slides"),
    ("__properties_version1.0", "mail"),
)
"""Streams of OLE files that name their program."""
_OPEN_DOCUMENTS: Final = (("text", "odt"), ("spreadsheet", "sheet"), ("presentation", "slides"))
_MAIL_FIRST: Final = re.compile(
    rb"(?:From \S+@\S+ .*\n)?"
    rb"(?:Return-Path|Received|Delivered-To|From|To|Subject|Date|Message-ID|MIME-Version|X-[\w-]+): ",
    re.IGNORECASE,
)
_MAIL_ALSO: Final = re.compile(rb"^(?:MIME-Version|Message-ID|Received|Content-Type): ", re.IGNORECASE | re.MULTILINE)
_MARKUP: Final = rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*"
_WEB: Final = re.compile(_MARKUP + rb"(?:<!doctype html|<html[\s>])", re.IGNORECASE | re.DOTALL)
_DRAWING: Final = re.compile(_MARKUP + rb"(?:<!doctype svg|<svg[\s>])", re.IGNORECASE | re.DOTALL)
_RTF: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\\rtf")
_XML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*>.{0,500}(<HWPML|progid=\"Word\.Document\"|<office:document)", re.DOTALL
)
_DOCX_TYPES: Final = re.compile(rb"wordprocessingml\.(?:document|template)\.main\+xml|ms-word\.\w+\.macroEnabled")


def kind_of(content: bytes) -> Kind:
    """Raises UnreadableFile for a format that is not read, and for a protected document."""
    if content.startswith(_OLE):
        raise _refused_ole(content)
    if content.startswith(_ZIPS):
        return _zip_kind(content)
    for head, name in _HEADS:
        if content.startswith(head):
            raise refuse("format", name)
    if content[4:8] == b"ftyp":
        raise refuse("format", "picture" if content[8:11] in (b"hei", b"mif", b"avi") else "recording")
    if content.startswith(b"RIFF") and content[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        raise refuse("format", "picture" if content[8:12] == b"WEBP" else "recording")
    if content.startswith(b"BM") and content[6:10] == bytes(4):
        raise refuse("format", "picture")
    if _PDF in content[:_PDF_WITHIN]:
        return "pdf"
    if name := _markup(content[:4096]):
        raise refuse("format", name)
    head = re.split(rb"\r?\n\r?\n", content[:65536], maxsplit=1)[0]
    if _MAIL_FIRST.match(head) and len(_MAIL_ALSO.findall(head)) > 1:
        raise refuse("format", "mail")
    return "text"


def _markup(begins: bytes) -> str:
    """The format of a text that is markup for a program; "" for a text."""
    named = ((_WEB, "web"), (_DRAWING, "picture"), (_RTF, "rtf"))
    if name := next((name for pattern, name in named if pattern.match(begins)), ""):
        return name
    found = _XML.match(begins)
    return {b"<HWPML": "hwp", b"<office:document": "odt"}.get(found[1], "doc") if found else ""


def _zip_kind(content: bytes) -> Kind:
    parts = ZipParts(content)
    names = parts.names
    mimetype = parts.read("mimetype")[:100].strip() if "mimetype" in names else b""
    if mimetype.startswith(b"application/hwp+zip") or "Contents/content.hpf" in names:
        if "META-INF/manifest.xml" in names and b"encryption-data" in parts.read("META-INF/manifest.xml"):
            raise refuse("password", "hwpx")
        return "hwpx"
    if parts.encrypted:
        raise refuse("password", "zip")
    if "[Content_Types].xml" in names:
        if _DOCX_TYPES.search(parts.read("[Content_Types].xml")):
            return "docx"
        folders = {name.partition("/")[0] for name in names}
        raise refuse("format", next((kind for folder, kind in _OFFICE if folder in folders), "zip"))
    if mimetype.startswith(b"application/vnd.oasis.opendocument."):
        text = mimetype.decode("ascii", "replace")
        raise refuse("format", next((kind for word, kind in _OPEN_DOCUMENTS if f".{word}" in text), "odt"))
    if mimetype.startswith(b"application/epub"):
        raise refuse("format", "book")
    if any(name.startswith("Index/") and name.endswith(".iwa") for name in names):
        raise refuse("format", "pages")
    raise refuse("format", "zip")


_OFFICE: Final = (("xl", "sheet"), ("ppt", "slides"))

_FREE: Final = 0xFFFFFFFA
"""Numbers of sectors from here on have another meaning."""


def _refused_ole(content: bytes) -> Exception:
    streams = _ole_streams(content)
    if "EncryptedPackage" in streams:
        return refuse("password", "office")
    return refuse("format", next((kind for name, kind in _STREAMS if name in streams), "ole"))


def _ole_streams(content: bytes) -> set[str]:
    """The names at the top of an OLE file, [MS-CFB] 2.2 to 2.6; what is damaged has fewer."""
    size = 1 << min(int.from_bytes(content[30:32], "little"), 16)

    def sector(number: int) -> bytes:
        return content[(number + 1) * size : (number + 2) * size]

    def numbers(raw: bytes) -> list[int]:
        return [int.from_bytes(raw[at : at + 4], "little") for at in range(0, len(raw) - 3, 4)]

    table: list[int] = []
    for number in numbers(content[76:512]):
        if number < _FREE:
            table += numbers(sector(number))
    directory, number, seen = b"", int.from_bytes(content[48:52], "little"), set[int]()
    while number < _FREE and number not in seen and (part := sector(number)):
        seen.add(number)
        directory += part
        number = table[number] if number < len(table) else _FREE
    entries = [directory[at : at + 128] for at in range(0, len(directory) - 127, 128)]

    def beside(entry: int) -> set[str]:
        """The entries of the tree of siblings in which `entry` is."""
        found, waiting, known = set[str](), [entry], set[int]()
        while waiting:
            place = waiting.pop()
            if place >= len(entries) or place in known:
                continue
            known.add(place)
            raw = entries[place]
            length = min(int.from_bytes(raw[64:66], "little"), 64)
            found.add(raw[: max(length - 2, 0)].decode("utf-16-le", "replace"))
            waiting += numbers(raw[68:76])
        return found

    return beside(numbers(entries[0][76:80])[0]) if entries else set()
