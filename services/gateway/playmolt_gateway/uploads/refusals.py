"""The refusals of uploads: what is wrong with the file, and what to do."""

from collections.abc import Mapping
from typing import Final

from playmolt_schemas.codes import FieldFault

from playmolt_gateway.uploads.outcome import Unread

_OPEN: Final = "open it in its program"
FORMATS: Final[Mapping[str, str]] = {
    "hwp": "is an HWP 5 document of Hancom Office. Save it as HWPX or PDF: in Hancom Office choose File > Save As "
    "(파일 > 다른 이름으로 저장하기) and the file type HWPX (*.hwpx), or File > Save as PDF (파일 > PDF로 저장하기)",
    "doc": "is a Word 97 document. Save it as DOCX: in Word choose File > Save As and the type Word Document (*.docx)",
    "odt": f"is an OpenDocument text. Save it as DOCX or PDF: {_OPEN} and choose File > Save As",
    "rtf": f"is an RTF document. Save it as DOCX or PDF: {_OPEN} and choose File > Save As",
    "pages": "is a document of Pages or Numbers. Save it as DOCX or PDF: in its program choose File > Export To",
    "sheet": f"is a spreadsheet. Save it as PDF: {_OPEN} and choose File > Export or Print",
    "slides": f"is a presentation. Save it as PDF: {_OPEN} and choose File > Export or Print",
    "mail": "is an e-mail. Save it as PDF: open it in your mail program and choose Print, or paste its text",
    "web": "is a web page. Save it as PDF: open it in a browser and choose Print, or paste its text",
    "book": "is an e-book. Save it as PDF, or paste its text",
    "xps": f"is an XPS document. Save it as PDF: {_OPEN} and print it to PDF",
    "base64": "is a file that was encoded as base64 twice. Encode the PDF, DOCX, HWPX or text once",
    "postscript": "is a PostScript file. Save it as PDF",
    "picture": "is a picture. Recognise its text with OCR software and save it as PDF, or type what it shows",
    "recording": "is a sound or video recording. Type what is said in it and send that as a text",
    "archive": "is an archive. Unpack it and send the documents in it as PDF, DOCX, HWPX or text",
    "zip": "is a ZIP archive. Unpack it and send the documents in it as PDF, DOCX, HWPX or text",
    "ole": "is an old Office document. Save it as DOCX or PDF in its program",
    "program": "is a program. Send a document as PDF, DOCX, HWPX or text",
    "binary": "is a binary file of an unknown kind. Save it as PDF, DOCX, HWPX or text",
}
_PASSWORDS: Final[Mapping[str, str]] = {
    "pdf": "is a PDF that needs a password. Save it without one",
    "office": "is an Office document with a password. Open it, remove the password and save it again",
    "hwpx": "is an HWPX document with a password. Open it, remove the password and save it again",
    "zip": "is a ZIP archive with a password. Unpack it and send the documents in it",
}
_PART: Final = 'Take a part with pages: "3-9"'
_MOST: Final = f"exceeds the limit of {{most:,}} characters. {_PART}"
_SIZES: Final[Mapping[str, str]] = {
    "chars": f"has {{count:,}} characters of text and {_MOST}",
    "more_chars": f"has more than {{count:,}} characters of text and {_MOST}",
    "text_bytes": f"has a text of {{count:,}} bytes and exceeds the limit of {{most:,}} bytes of text. {_PART}",
    "bytes": "has {count:,} bytes and exceeds the limit of {most:,} bytes. Split the file, or save it with smaller "
    "pictures",
    "unpacked": "has {count:,} bytes when unpacked and exceeds the limit of {most:,} unpacked bytes. Split the file, "
    "or save it with smaller pictures",
    "part": "has a part of {count:,} bytes and exceeds the limit of {most:,} bytes a part. Split the file",
    "entries": "has {count:,} parts and exceeds the limit of {most:,} parts. Split the file",
}
_ENCODINGS: Final[Mapping[str, str]] = {
    "unknown": 'cannot be read as "{line}", an unknown encoding. Name one such as "cp949", "gb18030" or "utf-16"',
    "wrong": 'is not a text in the encoding "{line}". Name another encoding, leave it out, or paste the text',
    "damaged": "is a text in UTF-8 with damaged characters, first in the line “{line}”. Save it again as UTF-8, or "
    "paste the text",
}
_GUESS: Final = (
    'is a text in an encoding that is not certain. As "{name}" it begins: “{line}”. If that is right, name it as '
    'encoding, else another such as "cp949", "gb18030" or "utf-16"'
)
_OTHERS: Final[Mapping[str, str]] = {
    "unreadable_text": "Its text cannot be extracted reliably. Print it to PDF again, or paste the text.",
    "unreadable": "cannot be read: it is damaged, or it takes too much time or memory. Print it to PDF again, or paste "
    "the text",
    "empty": "has no visible character. Choose another file",
}
_NO_TEXT: Final[Mapping[str, str]] = {
    "pictures": "has no text: its pages are pictures. Recognise their text with OCR software, or type what they show",
    "embedded": "has no text of its own: its text is in a document within it. Open it in its program, save it again "
    "and send that",
    "": "has no text. Choose another file, or type what it says",
}


def fault_of(unread: Unread) -> FieldFault:
    if unread.reason == "pages":
        message = f'must name pages of the file, such as "3-9"; its last page is {unread.count:,}'
        return FieldFault("pages", message, reason=unread.reason)
    return FieldFault("content", _message(unread), reason=unread.reason)


def _message(unread: Unread) -> str:
    match unread.reason:
        case "format":
            return FORMATS.get(unread.name, FORMATS["binary"])
        case "password":
            return _PASSWORDS.get(unread.name, _PASSWORDS["zip"])
        case "too_large":
            return _SIZES[unread.name].format(count=unread.count, most=unread.most)
        case "encoding":
            return _ENCODINGS.get(unread.name, _GUESS).format(name=unread.name, line=unread.line)
        case "no_text":
            return _NO_TEXT.get(unread.name, _NO_TEXT[""])
    return _OTHERS.get(unread.reason, _OTHERS["unreadable"])


def every() -> tuple[FieldFault, ...]:
    """A refusal of each kind, for the texts of pages and their test."""
    kinds = (
        *(Unread("format", name) for name in FORMATS),
        *(Unread("password", name) for name in _PASSWORDS),
        *(Unread("too_large", name, 123_456, 100_000) for name in _SIZES),
        *(Unread("encoding", name, line="cp949") for name in (*_ENCODINGS, "cp1252")),
        *(Unread("no_text", name) for name in _NO_TEXT),
        Unread("unreadable_text"), Unread("unreadable"), Unread("empty"), Unread("pages", count=7),
    )  # fmt: skip
    return tuple(map(fault_of, kinds))
