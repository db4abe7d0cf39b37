"""The kind of a file by its bytes, whatever its name says."""

import re
from typing import Final, Literal

from playmolt_gateway.uploads.outcome import refuse
from playmolt_gateway.uploads.zip_parts import ZipParts

Kind = Literal["pdf", "docx", "hwpx", "text"]

_PDF: Final = b"%PDF-"
_PDF_WITHIN: Final = 1024
"""A PDF may begin with other bytes: readers look for its mark in the first kilobyte."""
_PDF_OBJECT: Final = re.compile(rb"\d\s+\d+\s+obj\b")
_MARKUP_WITHIN: Final = 8192
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIPS: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_HEADS: Final[tuple[tuple[str, tuple[bytes, ...]], ...]] = (
    ("hwp", (b"HWP Document File",)),
    ("picture", (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*", b"\0\0\1\0", b"8BPS\0",
                 b"\0\0\0\x0cjP  ", b"\xff\x4f\xff\x51", b"\xd7\xcd\xc6\x9a", b"AT&TFORM")),
    ("recording", (b"ID3\2", b"ID3\3", b"ID3\4", b"OggS\0", b"fLaC\0", b"\x1aE\xdf\xa3", b"#!AMR", b"FLV\1", b"caff\0",
                   b"\0\0\1\xba", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", b"MThd\0")),
    ("archive", (b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"BZh91AY&SY", b"\xfd7zXZ", b"ALZ\1", b"EGGA\0",
                 b"\x28\xb5\x2f\xfd", b"MSCF\0")),
    ("postscript", (b"%!PS",)),
    ("program", (b"\x7fELF", b"MZ\x90\0", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe")),
    ("base64", (b"JVBERi0", b"UEsDBB", b"0M8R4KGxGuE")),
)  # fmt: skip
_WITHIN: Final[tuple[tuple[int, bytes, str], ...]] = (
    (257, b"ustar", "archive"), (2, b"-lh5-", "archive"), (4, b"mdat", "recording"), (4, b"moov", "recording"),
    (4, b"wide", "recording"), (40, b" EMF", "picture"),
)  # fmt: skip
"""Marks that do not begin a file: their place, and what it is."""
_SOUND: Final = re.compile(rb"\xff[\xe2\xe3\xf0-\xf3\xf8-\xfb][\x10-\xef]")
"""A frame of MPEG sound without a head; no text begins like this."""
_UNPRINTED: Final = re.compile(rb"[\0-\x08\x0e-\x1f]")
_CHUNKS: Final = {
    b"WEBP": "picture", b"WAVE": "recording", b"AVI ": "recording", b"AIFF": "recording", b"AIFC": "recording",
}  # fmt: skip
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
    rb"(?:From \S+@\S+ .*\n)?(?:Return-Path|Received|Delivered-To|From|To|Subject|Date|Message-ID|MIME-Version|"
    rb"X-[\w-]+|ARC-[\w-]+|List-[\w-]+|Authentication-Results|DKIM-Signature|Content-[\w-]+|Reply-To|Sender): ?",
    re.IGNORECASE,
)
_MAIL_ALSO: Final = re.compile(
    rb"^(?:MIME-Version:|Message-ID:|Received: ?(?:from|by)\b|DKIM-Signature:|ARC-Seal:)", re.IGNORECASE | re.MULTILINE
)
_SAVED_PAGE: Final = re.compile(
    rb"^(?:From: <Saved by |Snapshot-Content-Location:|Content-Type: multipart/related;\s.*text/html)",
    re.IGNORECASE | re.MULTILINE,
)
_MARKUP: Final = rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*"
_WEB: Final = re.compile(_MARKUP + rb"(?:<!doctype html|<html[\s>])", re.IGNORECASE | re.DOTALL)
_PART_OF_WEB: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(head|body|title|table|div|span|style|script|frameset|center|font|p)\b[^<>]*>(?=.*</\1>)",
    re.IGNORECASE | re.DOTALL,
)
_META: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<meta\s[^<>]*(?:charset|http-equiv|name)=", re.IGNORECASE)
_DRAWING: Final = re.compile(_MARKUP + rb"(?:<!doctype svg|<svg[\s>])", re.IGNORECASE | re.DOTALL)
_RTF: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\\rtf")
_XML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*>.{0,500}"
    rb"(<HWPML|progid=\"(?:Word\.Document|Excel\.Sheet|PowerPoint\.Show)\"|<office:document[^<>]*)",
    re.DOTALL,
)
_XML_KINDS: Final = (
    (b"<HWPML", "hwp"), (b"Word", "doc"), (b"Excel", "sheet"), (b"PowerPoint", "slides"), (b"spreadsheet", "sheet"),
    (b"presentation", "slides"), (b"<office", "odt"),
)  # fmt: skip
_DOCX_TYPES: Final = re.compile(rb"wordprocessingml\.(?:document|template)\.main\+xml|ms-word\.\w+\.macroEnabled")


def kind_of(content: bytes) -> Kind:
    """Raises UnreadableFile for a format that is not read, and for a protected document."""
    if content.startswith(_OLE):
        raise _refused_ole(content)
    if content.startswith(_ZIPS):
        return _zip_kind(content)
    if name := _kind_of_head(content):
        raise refuse("format", name)
    if content.startswith(_PDF) or (_PDF in content[:_PDF_WITHIN] and _PDF_OBJECT.search(content)):
        return "pdf"
    if name := _markup(_first_letters(content)):
        raise refuse("format", name)
    head = re.split(rb"\r?\n\r?\n", content[:65536].removeprefix(b"\xef\xbb\xbf"), maxsplit=1)[0]
    if _MAIL_FIRST.match(head) and _MAIL_ALSO.search(head):
        raise refuse("format", "web" if _SAVED_PAGE.search(head) else "mail")
    return "text"


def _kind_of_head(content: bytes) -> str:
    """What begins like this and is not read; "" for what may be."""
    if name := next((name for name, heads in _HEADS if content.startswith(heads)), ""):
        return name
    for place, mark, name in _WITHIN:
        if content[place : place + len(mark)] == mark and _UNPRINTED.search(content[:512]):
            return name
    if content[4:8] == b"ftyp":
        return "picture" if content[8:11] in (b"hei", b"mif", b"avi") else "recording"
    if content.startswith((b"RIFF", b"FORM")):
        return _CHUNKS.get(content[8:12], "")
    if content.startswith(b"BM") and content[6:10] == bytes(4):
        return "picture"
    return "recording" if _SOUND.match(content) else ""


def _first_letters(content: bytes) -> bytes:
    """The beginning of a text that may be UTF-16."""
    for mark, name in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[2:_MARKUP_WITHIN].decode(name, "replace").encode()
    return content[:_MARKUP_WITHIN]


def _markup(begins: bytes) -> str:
    """The format of a text that is markup for a program; "" for a text."""
    named = ((_WEB, "web"), (_DRAWING, "picture"), (_RTF, "rtf"), (_META, "web"), (_PART_OF_WEB, "web"))
    if name := next((name for pattern, name in named if pattern.match(begins)), ""):
        return name
    found = _XML.match(begins)
    return next((kind for word, kind in _XML_KINDS if word in found[1]), "") if found else ""


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
    if "[Content_Types].xml" in names and not any(".fdseq" in name for name in names):
        if _DOCX_TYPES.search(parts.read("[Content_Types].xml")):
            return "docx"
        folders = {name.partition("/")[0] for name in names}
        raise refuse("format", next((kind for folder, kind in _OFFICE if folder in folders), "zip"))
    if mimetype.startswith(b"application/vnd.oasis.opendocument."):
        text = mimetype.decode("ascii", "replace")
        raise refuse("format", next((kind for word, kind in _OPEN_DOCUMENTS if f".{word}" in text), "odt"))
    if mimetype.startswith(b"application/epub"):
        raise refuse("format", "book")
    if any(name.endswith((".fdseq", ".fdseq/[0].piece")) for name in names):
        raise refuse("format", "xps")
    if any(name.startswith("Index/") and name.endswith(".iwa") for name in names):
        slides = any(name.startswith("Index/Slide") for name in names)
        raise refuse("format", "slides" if slides else "pages")
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
