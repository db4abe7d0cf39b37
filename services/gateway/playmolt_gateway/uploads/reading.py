"""Uploaded evidence as text of bounded length."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final

from msgspec import UNSET
from playmolt_schemas.body_fields import BodyFields, Faults
from playmolt_schemas.games.legal import UPLOAD_BYTES, UPLOAD_CHARS, UPLOAD_TEXT_BYTES, ReadUpload, UploadRequest
from playmolt_schemas.stored.legal import EvidenceNote, MediaType

from playmolt_gateway.uploads.outcome import DOCX, HWPX, PDF, TEXT, FileText, Note, ReaderOptions, Unread
from playmolt_gateway.uploads.reader_process import FileReader
from playmolt_gateway.uploads.refusals import fault_of

_MEDIA_TYPES: Final[Mapping[str, MediaType]] = {
    TEXT: "text/plain",
    PDF: "application/pdf",
    DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    HWPX: "application/hwp+zip",
}
_ENDINGS: Final[tuple[tuple[str, str], ...]] = (
    (PDF, "pdf"),
    (DOCX, "docx docm dotx dotm"),
    (HWPX, "hwpx"),
    (TEXT, "txt text md csv tsv log json xml yaml yml toml ini tex srt ics vcf"),
    ("", "hwp hwt hml doc dot odt ott rtf pages xps oxps wps xlsx xlsm xlsb xls ods numbers pptx pptm ppt odp key"),
    ("", "html htm xhtml mht mhtml eml msg epub zip 7z rar gz tar alz egg exe ps eps"),
    ("", "png jpg jpeg gif bmp svg tif tiff webp heic avif mp3 m4a mp4 mov avi wav amr 3gp wma wmv ogg flac aac"),
)
_OF_ENDINGS: Final[Mapping[str, str]] = {ending: kind for kind, endings in _ENDINGS for ending in endings.split()}
"""The ending of a file's name → its media type, "" for one that is not read."""
_HWPX_NAMES: Final = (HWPX, "application/hwpx", "application/x-hwpx", "application/haansofthwpx",
                      "application/vnd.hancom.hwpx", "application/owpml")  # fmt: skip
_PDF_NAMES: Final = (PDF, "application/x-pdf")
_ANY: Final = ("", "application/octet-stream")


async def read_upload(body: object, reader: FileReader) -> ReadUpload | Faults:
    """Read the body of `POST …/evidence`. Raises ReaderBusy."""
    fields = BodyFields(body)
    if not fields.sound:
        return tuple(fields.faults)
    fields.only(UploadRequest.__struct_encode_fields__)
    asked = fields.struct(UploadRequest, content="")
    content = _decoded(fields)
    if fields.faults:
        return tuple(fields.faults)
    question = ReaderOptions(
        chars=UPLOAD_CHARS, text_bytes=UPLOAD_TEXT_BYTES, encoding=asked.encoding or "", pages=asked.pages or ""
    )
    read = await reader.read(content, question)
    if isinstance(read, Unread):
        return (fault_of(read),)
    notes = (*read.notes, *_mismatches(read, asked))
    return ReadUpload(
        title=asked.title,
        kind=asked.kind,
        media_type=_MEDIA_TYPES[read.media_type],
        text=read.text,
        bytes=len(content),
        pages=read.pages,
        sha256=hashlib.sha256(content).hexdigest(),
        encoding=read.encoding,
        sure=read.sure,
        notes=tuple(EvidenceNote(kind=note.kind, count=note.count, detail=note.detail or UNSET) for note in notes),
    )


def _decoded(fields: BodyFields) -> bytes:
    encoded = fields.body.get("content")
    if encoded == "":
        fields.faults.append(fault_of(Unread("empty")))
        return b""
    if not isinstance(encoded, str):
        fields.fault("content", "must be a string: the file as base64", "base64")
        return b""
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        fields.fault("content", "is not base64", "base64")
        return b""
    if len(content) > UPLOAD_BYTES:
        fields.faults.append(fault_of(Unread("too_large", "bytes", len(content), UPLOAD_BYTES)))
    return content


def _mismatches(read: FileText, asked: UploadRequest) -> list[Note]:
    """Notes where the given type, or the ending of the name, is not what the bytes are."""
    notes = []
    given = (asked.media_type or "").partition(";")[0].strip().lower()
    if given not in _ANY and not _fits(given, read.media_type):
        notes.append(Note("type", 1, read.media_type))
    ending = asked.title.rpartition(".")[2].lower() if "." in asked.title else ""
    if _OF_ENDINGS.get(ending, read.media_type) != read.media_type:
        notes.append(Note("extension", 1, read.media_type))
    return notes


def _fits(given: str, found: str) -> bool:
    if found == TEXT:
        return given.startswith("text/") and given not in ("text/html", "text/rtf")
    return given in {PDF: _PDF_NAMES, HWPX: _HWPX_NAMES}.get(found, (found,)) or (
        found == DOCX and given.startswith("application/vnd.ms-word")
    )
