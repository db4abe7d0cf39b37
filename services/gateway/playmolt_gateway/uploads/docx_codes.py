"""Fields of a DOCX whose text is in their code: symbols, characters that are put together, prompts, numbers.

Word stores no result for these. Codes of all other fields are never read.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from playmolt_gateway.uploads.document_text import symbol_of

_WORD: Final = re.compile(r'"([^"]*)"|(\S+)')
_CODE: Final = re.compile(r"0[xX][0-9A-Fa-f]{1,4}|[0-9]{1,5}")
_FIRST_PRIVATE: Final = 0xE000
_LAST_BYTE: Final = 0xFF
_SWITCH: Final = re.compile(r"\\([a-zA-Z]+)[0-9]*")
_INNERMOST: Final = re.compile(r"((?:\\[a-zA-Z*]+[0-9]*\s*)*)\(([^()]*)\)")
_PARTS: Final = re.compile(r"[,;]")
_DEPTH: Final = 20


class Shown(NamedTuple):
    """What a field shows, and whether it counts."""

    text: str
    counts: bool = False


def shown_by(code: str, number: int) -> Shown:
    """What Word shows for a code without a result; `number` is that of the next field that counts."""
    name, _, rest = code.strip().partition(" ")
    name = name.upper()
    if name in _NUMBERS:
        return Shown(_NUMBERS[name](number), counts=True)
    if name == "MACROBUTTON":
        return Shown(rest.strip().partition(" ")[2].strip())
    read = {"SYMBOL": _symbol, "EQ": _equation, "QUOTE": _quoted}.get(name)
    return Shown(read(rest.strip()) if read else "")


_NUMBERS: Final[Mapping[str, Callable[[int], str]]] = {
    "AUTONUM": lambda number: f"{number}.",
    "AUTONUMLGL": lambda number: f"{number}.",
    "AUTONUMOUT": lambda number: f"{number}.",
}


def _words(text: str) -> list[str]:
    return [found[1] if found[1] is not None else found[2] for found in _WORD.finditer(text)]


def _symbol(rest: str) -> str:
    """`SYMBOL 254 \\f "Wingdings"`; `\\u` says that the number is one of Unicode."""
    words = _words(rest)
    if not words or not _CODE.fullmatch(words[0]):
        return ""
    code = int(words[0], 16) if words[0][:2].lower() == "0x" else int(words[0])
    font = next((words[at + 1] for at, word in enumerate(words[:-1]) if word.lower() == "\\f"), "")
    if not 0 < code < _FIRST_PRIVATE:
        return symbol_of(font or "Symbol", code & _LAST_BYTE)
    return symbol_of(font, code) if font or "\\u" in words else symbol_of("Symbol", code)


def _quoted(rest: str) -> str:
    return " ".join(word for word in _words(rest) if not word.startswith("\\"))


def _equation(rest: str) -> str:
    """Characters that are put together, from the innermost: `\\f(1,2)` is 1/2, others are read one after another."""

    def joined(found: re.Match[str]) -> str:
        switches = {each.lower() for each in _SWITCH.findall(found[1])}
        parts = [part.strip() for part in _PARTS.split(found[2])]
        if "f" in switches and len(parts) > 1:
            return f"{parts[0]}/{parts[1]}"
        if "r" in switches:
            return f"√{parts[-1]}" if len(parts) == 1 else f"{parts[0]}√{parts[-1]}"
        return "".join(parts)

    for _ in range(_DEPTH):
        rest, count = _INNERMOST.subn(joined, rest)
        if not count:
            break
    return _SWITCH.sub("", rest).strip()
