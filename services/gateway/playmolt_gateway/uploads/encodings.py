"""The encoding of a text without a declaration, strictly, by the first that fits."""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from playmolt_gateway.uploads.outcome import FileText, refuse

SURE: Final = 0.8
_SHARE: Final = 0.9
"""The share of a script among the letters above ASCII from which an encoding fits."""
_GUESSED: Final = 0.5
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""UTF-32's mark before UTF-16's, with which it begins."""
_NAMES: Final = frozenset(
    codecs.lookup(name).name
    for name in (
        "ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "cp949",
        "euc-kr", "johab", "iso2022_kr", "gb18030", "gbk", "gb2312", "hz", "big5", "big5hkscs", "cp950", "shift_jis",
        "cp932", "euc_jp", "iso2022_jp", "koi8_r", "koi8_u", "mac_roman", "cp437", "cp850", "tis_620", "cp874",
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859-{number}" for number in (*range(1, 12), 13, 14, 15, 16)),
    )
)  # fmt: skip
_INSIDE: Final = re.compile(r"(?<=[A-Za-z])[^\x00-\x7f]+(?=[a-z])")
_LINE_CHARS: Final = 200
_SPACES: Final = "\t\n\v\f\r"


class _Read(NamedTuple):
    text: str
    encoding: str
    sure: float


def read_text(content: bytes, encoding: str, media_type: str) -> FileText:
    """A file of text. Raises UnreadableFile."""
    text, name, sure = _named(content, encoding) if encoding else _found(content)
    if sure < SURE:
        raise refuse("encoding", name, line=_first_line(text))
    return FileText(text.removeprefix("\ufeff"), media_type, encoding=name, sure=round(sure, 3))


def _named(content: bytes, encoding: str) -> _Read:
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        name = ""
    if name not in _NAMES:
        raise refuse("encoding", "unknown", line=encoding[:40])
    text = _decoded(content, name)
    if text is None:
        raise refuse("encoding", "wrong", line=name.replace("_", "-"))
    return _Read(text, name.replace("_", "-"), 1)


def _found(content: bytes) -> _Read:
    for mark, name in _MARKS:
        if content.startswith(mark) and (text := _decoded(content, name)) is not None:
            return _Read(text, name, 1)
    if (text := _decoded(content, "utf-8")) is not None and "\0" not in text:
        return _Read(text, "utf-8", 1)
    for name in _zero_sides(content):
        if (text := _decoded(content, name)) is not None and _is_text(text):
            return _Read(text, name, 1)
    if 0 in content:
        raise refuse("format", "binary")
    for name, scripts in (("cp949", ("HANGUL",)), ("gb18030", ("CJK", "KANGXI"))):
        text = _decoded(content, name)
        if text is not None and (share := _share(text, scripts)) >= _SHARE:
            return _Read(text, name, share)
    return _guess(content)


def _zero_sides(content: bytes) -> Iterator[str]:
    """UTF-16 by the side on which its ASCII letters have zero bytes."""
    if len(content) % 2 == 0 and 0 in content:
        first, second = content[::2].count(0), content[1::2].count(0)
        if first != second:
            yield "utf-16-le" if second > first else "utf-16-be"


def _is_text(text: str) -> bool:
    return not any(
        unicodedata.category(char) in ("Cn", "Co", "Cs") or (unicodedata.category(char) == "Cc" and char not in _SPACES)
        for char in set(text)
    )


def _share(text: str, scripts: tuple[str, ...]) -> float:
    """The share of some scripts among the letters above ASCII; 0 if most of these are inside Latin words.

    A German text is also one in GB18030: its umlauts, with the letters after them, are rare characters.
    """
    letters = [char for char in text if char > "\x7f" and char.isalpha()]
    if 2 * sum(map(len, _INSIDE.findall(text))) > len(letters):
        return 0
    counted = sum(unicodedata.name(char, "").startswith(scripts) for char in letters)
    return counted / len(letters) if letters else 0


def _guess(content: bytes) -> _Read:
    from charset_normalizer import from_bytes  # noqa: PLC0415 -- few files need it

    best = from_bytes(content).best()
    text = _decoded(content, best.encoding) if best else None
    if best is None or text is None or not _is_text(text):
        text = _decoded(content, "cp1252")
        if text is None or not _is_text(text):
            raise refuse("format", "binary")
        return _Read(text, "cp1252", _GUESSED)
    return _Read(text, best.encoding.replace("_", "-"), _GUESSED)


def _decoded(content: bytes, name: str) -> str | None:
    try:
        return content.decode(name)
    except (UnicodeError, ValueError):
        return None


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "".join(char for char in next(filter(None, lines), "") if char.isprintable())[:_LINE_CHARS]
