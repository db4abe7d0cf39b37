"""Parts of a zip file and their XML, within bounds: DOCX and HWPX."""

import io
import lzma
import zipfile
import zlib
from functools import cache
from typing import Final
from xml.etree import ElementTree
from xml.parsers import expat

from playmolt_gateway.uploads.outcome import refuse

UNPACKED_BYTES: Final = 20 * 1024 * 1024
XML_BYTES: Final = 8 * 1024 * 1024
ENTRIES: Final = 2000
_ENCRYPTED: Final = 1
_PROLOG_BYTES: Final = 4096

_DAMAGED: Final = (
    KeyError, ValueError, OSError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error,
    lzma.LZMAError,
)  # fmt: skip

Element = ElementTree.Element


class ZipParts:
    """The entries of a zip file by name. Raises UnreadableFile beyond the bounds; nothing is unpacked before a read."""

    def __init__(self, content: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise refuse("unreadable") from error
        entries = self._zip.infolist()
        if len(entries) > ENTRIES:
            raise refuse("too_large", "entries", count=len(entries), most=ENTRIES)
        unpacked = sum(entry.file_size for entry in entries)
        if unpacked > UNPACKED_BYTES:
            raise refuse("too_large", "unpacked", count=unpacked, most=UNPACKED_BYTES)
        self.encrypted = any(entry.flag_bits & _ENCRYPTED for entry in entries)
        self.names = frozenset(entry.filename for entry in entries)

    def read(self, name: str) -> bytes:
        """A part, which is never longer than its entry says. Raises UnreadableFile, also for a damaged part."""
        try:
            entry = self._zip.getinfo(name)
            if entry.file_size > XML_BYTES:
                raise refuse("too_large", "part", count=entry.file_size, most=XML_BYTES)
            if entry.flag_bits & _ENCRYPTED:
                raise refuse("password", "zip")
            with self._zip.open(entry) as part:
                return part.read(entry.file_size)  # without a length it would unpack what the entry does not declare
        except _DAMAGED as error:
            raise refuse("unreadable") from error

    def xml(self, name: str) -> Element:
        """The root element of a part. Raises UnreadableFile, also for a part that declares a document type."""
        return parsed(self.read(name))


def parsed(content: bytes) -> Element:
    """The root of an XML document. One with a document type is refused, so no entity is resolved."""
    _check_prolog(content)
    try:
        return ElementTree.fromstring(content)  # noqa: S314 -- entities need a document type
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise refuse("unreadable") from error


class _RootReached(Exception):
    pass


def _check_prolog(content: bytes) -> None:
    """A document type can only occur before the root element."""
    parser = expat.ParserCreate()

    def doctype(*_: object) -> None:
        raise refuse("unreadable")

    def element(*_: object) -> None:
        raise _RootReached

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = element
    try:
        for start in range(0, len(content), _PROLOG_BYTES):
            parser.Parse(content[start : start + _PROLOG_BYTES], start + _PROLOG_BYTES >= len(content))
    except _RootReached:
        return
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise refuse("unreadable") from error


@cache
def local(tag: str) -> str:
    """The name of an element or attribute without its namespace, which differs between editions of a format."""
    return tag.rpartition("}")[2]


def beside(element: Element, name: str) -> str:
    """A full name in the namespace of an element: searches for it are quick."""
    space, brace, _ = element.tag.rpartition("}")
    return f"{space}{brace}{name}"


def attribute(element: Element, name: str, default: str = "") -> str:
    """An attribute by its local name."""
    for key, value in element.attrib.items():
        if local(key) == name:
            return value
    return default


def child(element: Element | None, *names: str) -> Element | None:
    """The first child of a name, its first child of the next name, and so on."""
    for name in names:
        if element is None:
            return None
        element = next((each for each in element if isinstance(each.tag, str) and local(each.tag) == name), None)
    return element
