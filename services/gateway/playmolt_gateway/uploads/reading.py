"""Uploaded evidence as text of bounded length."""

import base64
import binascii
import hashlib
import unicodedata
from collections.abc import Mapping
from typing import Final

from playmolt_schemas.body_fields import BodyFields, Faults
from playmolt_schemas.games.legal import (
    UPLOAD_BYTES,
    UPLOAD_CHARS,
    ReadUpload,
    UploadRequest,
)
from playmolt_schemas.text import composed_text

from playmolt_gateway.uploads.pdf import Fault, PdfReaders, PdfText

_PDF: Final = b"%PDF-"
_LONG: Final = f"has more than {UPLOAD_CHARS} characters of text"
_FAULTS: Final[Mapping[Fault, str]] = {
    "encrypted": "is an encrypted PDF: save it without a password",
    "scanned": "is a PDF without text, such as a scan: send one with selectable text",
    "broken": "is a damaged PDF: it cannot be read",
    "long": _LONG,
    "slow": "is a PDF that takes too long to read: send its text instead",
}


async def read_upload(body: object, pdfs: PdfReaders) -> ReadUpload | Faults:
    """Read the body of `POST …/evidence`. Raises PdfReadersBusy."""
    fields = BodyFields(body)
    if not fields.sound:
        return tuple(fields.faults)
    fields.only(UploadRequest.__struct_encode_fields__)
    asked = fields.struct(UploadRequest, content="")
    content = _decoded(fields)
    if fields.faults:
        return tuple(fields.faults)
    found = await _pdf(content, pdfs) if asked.media_type == "application/pdf" else _plain(content)
    if isinstance(found, str):
        fields.fault("content", found)
        return tuple(fields.faults)
    text, pages = found
    return ReadUpload(
        title=asked.title,
        kind=asked.kind,
        media_type=asked.media_type,
        text=text,
        bytes=len(content),
        pages=pages,
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _decoded(fields: BodyFields) -> bytes:
    encoded = fields.body.get("content")
    if not isinstance(encoded, str) or not encoded:
        fields.fault("content", "must be a string: the file as base64")
        return b""
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        fields.fault("content", "is not base64")
        return b""
    if len(content) > UPLOAD_BYTES:
        fields.fault("content", f"has {len(content)} bytes; the maximum is {UPLOAD_BYTES}")
    return content


_Found = tuple[str, int | None]


async def _pdf(content: bytes, pdfs: PdfReaders) -> _Found | str:
    if not content.startswith(_PDF):
        return "is not a PDF: it does not begin with %PDF-"
    read = await pdfs.read(content)
    return (
        (read_text, read.pages)
        if isinstance(read, PdfText) and (read_text := _storable(read.text))
        else (_FAULTS["scanned" if isinstance(read, PdfText) else read])
    )


def _plain(content: bytes) -> _Found | str:
    if content.startswith(_PDF):
        return "is a PDF: send it with media_type application/pdf"
    try:
        text = composed_text(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return f"is not UTF-8 text: byte {error.start + 1} is 0x{content[error.start]:02X}"
    if "\0" in text:
        return "is not text: it contains NUL"
    return _bounded(text)


def _bounded(text: str) -> _Found | str:
    if not any(unicodedata.category(char)[0] not in "CZ" for char in text):
        return "has no visible character"
    return _LONG if len(text) > UPLOAD_CHARS else (text, None)


def _storable(text: str) -> str:
    """The composed text without NUL and surrogates, which a font's mapping may produce."""
    kept = "".join(" " if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in text)
    return composed_text(kept).strip()
