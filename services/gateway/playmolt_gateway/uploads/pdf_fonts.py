"""Makes fonts of a PDF say which of their letters cannot be identified.

A composite font with Identity encoding has numbers of glyphs as codes; without a map to letters, pypdf (7.1.1) takes
the numbers for letters, and so it does with the codes that an incomplete map leaves out. Where the glyphs are those of
an Adobe collection their letters are known: pdfminer has tables. A simple font may have glyph names of its own: pypdf
then writes the names, or the letters of another encoding. Codes that say nothing are mapped to one letter of private
use, which the extracted text contains instead.
"""

import codecs
import io
import re
from collections.abc import Iterator, Mapping
from typing import Final

from fontTools import agl
from fontTools.cffLib import CFFFontSet
from pypdf import _cmap
from pypdf._codecs import adobe_glyphs
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, PdfObject, StreamObject
from typing_extensions import Buffer

UNIDENTIFIED: Final = "\ue0ff"
_UNIDENTIFIED_NAME: Final = NameObject("/uniE0FF")
_UNMAPPED: Final = "\U0010fffd"
"""A letter of private use that is the code of no map."""
_CODEC: Final = "playmolt_unidentified"
_MAPPED_CODEC: Final = "playmolt_mapped"
_ENCODING: Final = NameObject("/PlayMoltUnidentified")
_COLLECTIONS: Final = ("Korea1", "GB1", "CNS1", "Japan1")
_CODES: Final = 256
_LETTERS_FROM: Final = 32
_SYMBOLIC: Final = 4
_NUMBERED_FROM: Final = 33
"""The first code of fonts whose glyphs macOS numbers."""
_SPACE_RANGES: Final = re.compile(rb"begincodespacerange(.*?)endcodespacerange", re.DOTALL)
_HEXADECIMAL: Final = re.compile(rb"<\s*([0-9A-Fa-f]{2,8})\s*>")
_FORM_DEPTH: Final = 8
_LEGACY: Final[Mapping[str, str]] = {
    "KSC-EUC": "euc_kr", "KSCms-UHC": "cp949", "KSCms-UHC-HW": "cp949", "KSCpc-EUC": "euc_kr", "GBKp-EUC": "gbk",
    "GBpc-EUC": "gbk", "Add-RKSJ": "cp932", "Ext-RKSJ": "cp932",
    "B5pc": "big5", "HKscs-B5": "big5hkscs", "ETen-B5": "cp950", "90msp-RKSJ": "cp932",
    "90pv-RKSJ": "cp932", "83pv-RKSJ": "cp932", "EUC": "euc_jp", "UniKS-UTF16": "utf-16-be",
    "UniAKR-UTF16": "utf-16-be",
    "UniJIS2004-UTF16": "utf-16-be", "UniKS-UTF8": "utf-8", "UniGB-UTF8": "utf-8", "UniCNS-UTF8": "utf-8",
    "UniJIS-UTF8": "utf-8", "UniKS-UTF32": "utf-32-be", "UniGB-UTF32": "utf-32-be", "UniCNS-UTF32": "utf-32-be",
    "UniJIS-UTF32": "utf-32-be",
}  # fmt: skip
"""Predefined encodings of composite fonts that pypdf (7.1.1) does not know."""


_maps: Final[dict[str, tuple[frozenset[int], frozenset[int]]]] = {}
"""The codes that a font's map has, and the first bytes of codes of one byte, by the name of the font's codec."""


def _codec(name: str) -> codecs.CodecInfo | None:
    """Decodes the codes of a composite font.

    As letters of a collection, as codes for the map of the font, or all as unidentified.
    """
    if name in _maps:
        return _codec_of_map(name)
    if not name.startswith(_CODEC):
        return None
    collection = name.removeprefix(_CODEC).strip("_")
    letters = _letters(next((each for each in _COLLECTIONS if each.lower() == collection), ""))

    def decode(content: Buffer, errors: str = "strict", /) -> tuple[str, int]:
        del errors
        raw = bytes(content)
        numbers = (int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw), 2))
        return "".join(letters.get(number, UNIDENTIFIED) for number in numbers), len(raw)

    return codecs.CodecInfo(_encode, decode, name=name)


def _encode(text: str, errors: str = "strict", /) -> tuple[bytes, int]:
    """For pypdf, which asks how wide a space is."""
    del errors
    return b"\0\0" * len(text), len(text)


def _codec_of_map(name: str) -> codecs.CodecInfo:
    known, short = _maps[name]

    def decode(content: Buffer, errors: str = "strict", /) -> tuple[str, int]:
        del errors
        raw, at, letters = bytes(content), 0, list[str]()
        while at < len(raw):
            length = 1 if raw[at] in short else 2
            code = int.from_bytes(raw[at : at + length], "big")
            letters.append(chr(code) if code in known else _UNMAPPED)
            at += length
        return "".join(letters), len(raw)

    return codecs.CodecInfo(_encode, decode, name=name)


def _letters(collection: str) -> Mapping[int, str]:
    if not collection:
        return {}
    from pdfminer.cmapdb import CMapDB  # noqa: PLC0415 -- few files need it

    return CMapDB.get_unicode_map(f"Adobe-{collection}").cid2unichr


def install() -> None:
    """Teach pypdf the encodings above; `_predefined_cmap` is private (7.1.1)."""
    codecs.register(_codec)
    table = _cmap._predefined_cmap  # noqa: SLF001 -- the library has no call for this
    for collection in _COLLECTIONS:
        table[f"{_ENCODING}{collection}"] = f"{_CODEC}_{collection.lower()}"
    table[_ENCODING] = _CODEC
    for name, codec in _LEGACY.items():
        for direction in "HV":
            table[f"/{name}-{direction}"] = codec


class Fonts:
    """Prepares the fonts of pages, each once."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def prepare(self, holder: DictionaryObject, depth: int = 0) -> None:
        """Prepare the fonts of a page or form, and of the forms in it."""
        resources = _resolved(holder, "/Resources")
        if not isinstance(resources, DictionaryObject) or id(resources) in self._known:
            return
        self._known.add(id(resources))
        for font in _values(resources, "/Font"):
            if isinstance(font, DictionaryObject) and id(font) not in self._known:
                self._known.add(id(font))
                _prepare(font)
        if depth < _FORM_DEPTH:
            for form in _values(resources, "/XObject"):
                if isinstance(form, StreamObject) and form.get("/Subtype") == "/Form":
                    self.prepare(form, depth + 1)


def _values(holder: DictionaryObject, key: str) -> Iterator[PdfObject | None]:
    found = _resolved(holder, key)
    if isinstance(found, DictionaryObject):
        for each in found.values():
            yield each.get_object()


def _resolved(holder: DictionaryObject, key: str) -> PdfObject | None:
    found = holder.get(key)
    return found.get_object() if isinstance(found, PdfObject) else None


def _prepare(font: DictionaryObject) -> None:
    mapped = _mapped(font)
    if not mapped:
        font.pop("/ToUnicode", None)
    if font.get("/Subtype") == "/Type0":
        _prepare_composite(font, mapped)
    else:
        _prepare_simple(font, mapped)


def _mapped(font: DictionaryObject) -> frozenset[int]:
    """The codes that the font's map to letters has."""
    if not isinstance(_resolved(font, "/ToUnicode"), StreamObject):
        return frozenset()
    _, codes = _cmap._parse_to_unicode(font)  # noqa: SLF001 -- as in `install`
    return frozenset(codes)


def _prepare_composite(font: DictionaryObject, mapped: frozenset[int]) -> None:
    encoding = _resolved(font, "/Encoding")
    embedded = isinstance(encoding, StreamObject)
    numbered = isinstance(encoding, NameObject) and encoding in ("/Identity-H", "/Identity-V")
    if isinstance(encoding, NameObject) and not numbered and _is_known(encoding):
        font.pop("/ToUnicode", None)  # its codes are letters; pypdf would look these up in a map of codes
    elif mapped:
        short = _first_bytes(encoding.get_data()) if isinstance(encoding, StreamObject) else frozenset[int]()
        name = f"{_MAPPED_CODEC}_{len(_maps)}"
        _maps[name] = mapped, short
        font[NameObject("/Encoding")] = NameObject(f"/{name}")
        _cmap._predefined_cmap[f"/{name}"] = name  # noqa: SLF001 -- as in `install`
    elif numbered and not embedded:
        font[NameObject("/Encoding")] = NameObject(f"{_ENCODING}{_collection(font)}")
    else:
        font[NameObject("/Encoding")] = _ENCODING  # pypdf would read all others as UTF-16


def _first_bytes(encoding: bytes) -> frozenset[int]:
    """The bytes that are a code by themselves in an encoding that the file brings along."""
    found = set[int]()
    for part in _SPACE_RANGES.findall(encoding):
        bounds = _HEXADECIMAL.findall(part)
        for low, high in zip(bounds[::2], bounds[1::2], strict=False):
            if len(low) == len(high) == 2:
                found |= set(range(int(low, 16), int(high, 16) + 1))
    return frozenset(found)


def _is_known(encoding: str) -> bool:
    return encoding in _cmap._predefined_cmap or "-UCS2-" in encoding  # noqa: SLF001 -- as in `install`


def _collection(font: DictionaryObject) -> str:
    """The Adobe collection that a composite font's glyphs are of; "" if it is none of those known."""
    descendants = _resolved(font, "/DescendantFonts")
    descendant = descendants[0].get_object() if isinstance(descendants, ArrayObject) and descendants else None
    system = _resolved(descendant, "/CIDSystemInfo") if isinstance(descendant, DictionaryObject) else None
    if not isinstance(system, DictionaryObject) or str(system.get("/Registry")) != "Adobe":
        return ""
    return next((each for each in _COLLECTIONS if each == str(system.get("/Ordering"))), "")


def _prepare_simple(font: DictionaryObject, mapped: frozenset[int]) -> None:
    encoding = _resolved(font, "/Encoding")
    differences = _resolved(encoding, "/Differences") if isinstance(encoding, DictionaryObject) else None
    names = dict(_named_codes(differences)) if isinstance(differences, ArrayObject) else {}
    if not isinstance(encoding, NameObject) and not (
        isinstance(encoding, DictionaryObject) and "/BaseEncoding" in encoding
    ):
        names = _built_in(font) | names
    if encoding is None and font.get("/Subtype") == "/TrueType" and _is_numbered(font):
        names = dict.fromkeys(range(_CODES), "")  # a part of a font that numbers its glyphs
        if mapped:
            names[ord(" ")] = "space"
    names = {code: name for code, name in names.items() if code not in mapped}
    replaced = ArrayObject()
    for code, name in sorted(names.items()):
        replaced += [NumberObject(code), _readable(name)]
    if replaced or (mapped and isinstance(differences, ArrayObject)):
        base = encoding.get("/BaseEncoding") if isinstance(encoding, DictionaryObject) else None
        own = DictionaryObject({NameObject("/Differences"): replaced})
        if base is not None:
            own[NameObject("/BaseEncoding")] = base
        font[NameObject("/Encoding")] = own
    if font.get("/Subtype") == "/Type3":
        font.pop("/CharProcs", None)  # pypdf leaves out a font whose glyphs have names of its own


def _is_numbered(font: DictionaryObject) -> bool:
    """Whether the codes of a font are those of no letters, by the first of them."""
    first: object = _resolved(font, "/FirstChar")
    descriptor = _resolved(font, "/FontDescriptor")
    flags: object = _resolved(descriptor, "/Flags") if isinstance(descriptor, DictionaryObject) else None
    symbolic = isinstance(flags, int) and bool(flags & _SYMBOLIC) and "+" in str(font.get("/BaseFont", ""))
    return isinstance(first, int) and (first < _LETTERS_FROM or (symbolic and first == _NUMBERED_FROM))


def _named_codes(differences: ArrayObject) -> Iterator[tuple[int, str]]:
    code = 0
    for each in differences:
        found = each.get_object()
        if isinstance(found, int):
            code = int(found)
        elif isinstance(found, NameObject):
            if 0 <= code < _CODES:
                yield code, found.removeprefix("/")
            code += 1


def _readable(name: str) -> NameObject:
    """A glyph's name as pypdf reads it; that of an unidentified letter if the name is not one of letters."""
    if f"/{name}" in adobe_glyphs:
        return NameObject(f"/{name}")
    letters = agl.toUnicode(name)
    if len(letters) == 1:
        return NameObject(f"/uni{ord(letters):04X}")
    return _LIGATURES.get(letters, _UNIDENTIFIED_NAME)


_LIGATURES: Final = {
    "ff": NameObject("/uniFB00"), "fi": NameObject("/uniFB01"), "fl": NameObject("/uniFB02"),
    "ffi": NameObject("/uniFB03"), "ffl": NameObject("/uniFB04"),
}  # fmt: skip


def _built_in(font: DictionaryObject) -> dict[int, str]:
    """The encoding in an embedded Type 1 font: code → glyph name; empty if it is a standard one."""
    descriptor = _resolved(font, "/FontDescriptor")
    if not isinstance(descriptor, DictionaryObject):
        return {}
    for key, read in (("/FontFile", _type1_names), ("/FontFile3", _cff_names)):
        program = _resolved(descriptor, key)
        if isinstance(program, StreamObject) and (key == "/FontFile" or program.get("/Subtype") == "/Type1C"):
            try:
                return read(program.get_data())
            except Exception:  # a damaged font: its letters are those of the standard encoding
                return {}
    return {}


def _type1_names(program: bytes) -> dict[int, str]:
    words = program.partition(b"eexec")[0].partition(b"/Encoding")[2].split()
    return {
        int(words[at + 1]): words[at + 2].decode("ascii", "replace").removeprefix("/")
        for at in range(len(words) - 3)
        if words[at] == b"dup" and words[at + 1].isdigit() and words[at + 3] == b"put" and int(words[at + 1]) < _CODES
    }


def _cff_names(program: bytes) -> dict[int, str]:
    fonts = CFFFontSet()
    fonts.decompile(io.BytesIO(program), None)
    encoding = fonts.topDictIndex[0].Encoding
    if isinstance(encoding, str):
        return {}
    return {code: name for code, name in enumerate(encoding[:_CODES]) if name and name != ".notdef"}
