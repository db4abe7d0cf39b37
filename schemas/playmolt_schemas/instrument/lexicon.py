"""Two codes of a turn under two names (measures.md, 4): what an act is for, and whether it agrees with its thought."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, get_args

import msgspec

from playmolt_schemas.stored.agora.turn import SKILLS, Dissoc, FnClass, Language

SKILL: Final = "skill"
"""How measures name any of the architect's skills."""
_CLASSES: Final[Mapping[str, FnClass]] = {
    "trade": "A",
    "support": "A",
    SKILL: "A",
    **dict.fromkeys(SKILLS, "A"),
    "speak": "B",
    "whisper": "B",
    "move": "C",
    "idle": "C",
}
_TABLE: Final[Mapping[tuple[bool, bool], Mapping[str, Dissoc]]] = {
    (True, False): {"serving": "C", "social": "A", "idle": "A"},
    (False, True): {"serving": "B", "social": "C", "idle": "U"},
    (True, True): {"serving": "C", "social": "C", "idle": "U"},
    (False, False): {"serving": "U", "social": "U", "idle": "U"},
}


class Cues(msgspec.Struct, frozen=True):
    """What a thought names: `s` survival or resources, `o` social aims."""

    s: bool = False
    o: bool = False


class Lexicon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cues of one language; an English `*` matches any ending of a word."""

    never: tuple[str, ...]
    survival: tuple[str, ...]
    social: tuple[str, ...]


class _Lexicons(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    en: Lexicon
    ko: Lexicon


class _Matcher(msgspec.Struct, frozen=True):
    never: re.Pattern[str]
    survival: re.Pattern[str]
    social: re.Pattern[str]


def fn_class(action: str | None) -> FnClass | None:
    """What an action is for: A instrumental, B communicative, C positional; None without a known action."""
    return _CLASSES.get(action) if action is not None else None


def cues(thought: str | None, language: Language) -> Cues:
    """Read the cues of a thought off the lexicon of its run's language; no thought has none."""
    if not thought:
        return Cues()
    matcher = _matcher(language)
    text = " ".join(plain(thought).lower().split())
    never = [found.span(1) for found in matcher.never.finditer(text)]
    return Cues(s=_named(matcher.survival, text, never), o=_named(matcher.social, text, never))


def compile_all() -> None:
    """Compile the lexicons before a service has callers: the first use would hold up its event loop."""
    for language in get_args(Language):
        _matcher(language)


def plain(text: str) -> str:
    """Write a text as lexicons do (NFKC): letters composed and of ordinary width, however a model spells them."""
    return unicodedata.normalize("NFKC", text)


def dissoc(cues: Cues, *, valid: bool, action: str | None, target: str | None) -> Dissoc:
    """Whether thought and act agree: C yes, A survival but another act, B a social aim but a serving act, else U.

    `target` is where a move goes to; a move to the market serves survival, any other is social. A turn that is not
    valid and a skill are U.
    """
    kind = _kind(action, target)
    return _TABLE[cues.s, cues.o][kind] if valid and kind else "U"


def lexicon_version() -> str:
    """Name the lexicons; stored with every result that rests on them."""
    return _lexicons().version


def _kind(action: str | None, target: str | None) -> str | None:
    match action:
        case "trade":
            return "serving"
        case "move":
            return "serving" if target == "market" else "social"
        case "speak" | "support" | "whisper":
            return "social"
        case "idle":
            return "idle"
    return None


def _named(cue: re.Pattern[str], text: str, never: Sequence[tuple[int, int]]) -> bool:
    """Whether a cue begins outside of what is never one: 대화 counts in 대화합니다, where 화합 does not."""
    found = cue.search(text)
    while found and any(start <= found.start() < end for start, end in never):
        found = cue.search(text, found.start() + 1)
    return found is not None


@cache
def _lexicons() -> _Lexicons:
    source = files("playmolt_schemas.instrument").joinpath("lexicon.toml")
    return msgspec.toml.decode(source.read_bytes(), type=_Lexicons)


@cache
def _matcher(language: Language) -> _Matcher:
    lexicons = _lexicons()
    lexicon = lexicons.ko if language == "ko" else lexicons.en
    # Korean endings grow on the word and compounds are written together, so only English words have edges.
    spell = _stem if language == "ko" else _word
    # Entries of `never` are found wherever they begin, also inside one another.
    never = re.compile(f"(?=({_any_of(lexicon.never, spell)}))")
    return _Matcher(never, *(re.compile(_any_of(entries, spell)) for entries in (lexicon.survival, lexicon.social)))


def _any_of(entries: Sequence[str], spell: Callable[[str], str]) -> str:
    """Longest entry first: the first alternative that matches wins."""
    return "|".join(spell(entry) for entry in sorted(entries, key=len, reverse=True))


def _stem(entry: str) -> str:
    return re.escape(entry)


def _word(entry: str) -> str:
    if entry.endswith("*"):
        return rf"\b{re.escape(entry[:-1])}"
    return rf"\b{re.escape(entry)}\b"
