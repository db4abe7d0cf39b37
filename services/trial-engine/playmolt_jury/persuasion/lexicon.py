"""Classifies a text by word lists: the first classification of the overseer's texts, before the model's."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

import msgspec
from playmolt_core.game.packs.frame import text_of
from playmolt_schemas.stored.jury import Impact, Language, TopicImpact

from playmolt_jury.replies import TOPICS_KEPT

_LISTS_KEPT: Final = 64
_TOUCHES: Final = 1
_ASSERTS: Final = 3
"""A phrase that takes a side has more weight than a word that names the topic."""
_REACH: Final = {
    "en": r"(?:[^\w,.;:!?]+\w+){0,2}[^\w,.;:!?]+",
    "zh": r"[^，。；：！？,.;:!?]{0,2}",
    "ko": r"[^,.;:!?]{0,4}?",
}
"""How far a negator may be from a phrase to negate it, in the same clause: two words or two characters before it; in
Korean, where negators follow, four characters after it."""


_NEAR: Final = 160
_MARKS: Final = ".!?。！？"
_STOP: Final = re.compile(f"[{_MARKS}]")
_RHETORICAL: Final = re.compile(
    r"(?:(?:and|but|so|well|then)\b,? )*(?:is|was|are|were|do|does|did|has|have|had|can|could|would|should|must)"
    r"(?:n't| not\b).*\?$"
    r"|.*(?:难道|岂).*[？?]$|.*不是.*吗[？?]?$"
    r"|.*(?:지 않(?:습니까|나요|은가|는가|을까|았습니까|느냐)|아닙니까|아닌가|아닐까|아니겠습니까|아니냐).*",
    re.DOTALL,
)
"""A negative question that affirms: "Isn't there a doubt?"."""


class _TopicPhrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    neutral: tuple[str, ...]


class _Lexicon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    negators: tuple[str, ...]
    topics: dict[str, _TopicPhrases]


class _Patterns(msgspec.Struct, frozen=True):
    positive: re.Pattern[str]
    negative: re.Pattern[str]
    neutral: re.Pattern[str]


def classify(text: str, language: Language, words: bytes = b"") -> tuple[TopicImpact, ...]:
    """At most three topics with their impacts, by descending weight; empty if no word matches.

    `words` is a case's own word list in the format of the shipped one, which is the default.
    """
    negated, topics = _patterns(language, words)
    folded = text.casefold().replace("’", "'")
    weighed: list[tuple[int, TopicImpact]] = []
    for topic, patterns in topics.items():
        yes, no = (_sides(found, folded, negated) for found in (patterns.positive, patterns.negative))
        gain, loss = yes[0] + no[1], yes[1] + no[0]
        touched = len(set(patterns.neutral.findall(folded)))
        weight = _ASSERTS * (gain + loss) + _TOUCHES * touched
        if weight:
            weighed.append((weight, TopicImpact(topic=topic, impact=_impact(gain, loss))))
    weighed.sort(key=lambda entry: -entry[0])
    return tuple(found for _, found in weighed[:TOPICS_KEPT])


def _impact(gain: int, loss: int) -> Impact:
    if gain == loss:
        return "neutral"
    return "positive" if gain > loss else "negative"


def _sides(pattern: re.Pattern[str], text: str, negated: re.Pattern[str]) -> tuple[int, int]:
    """The numbers of plain and of negated matches."""
    turned = [_turned(found, text, negated) for found in pattern.finditer(text)]
    return turned.count(False), turned.count(True)


def _turned(found: re.Match[str], text: str, negated: re.Pattern[str]) -> bool:
    behind = negated.pattern.startswith(_REACH["ko"])
    if not (negated.match(text, found.end()) if behind else negated.search(text[: found.start()])):
        return False
    return not _RHETORICAL.match(_sentence(text, found.start(), found.end()))


def _sentence(text: str, start: int, end: int) -> str:
    """The sentence around a match with its final mark; a long sentence is cut near the match."""
    least, most = max(0, start - _NEAR), min(len(text), end + _NEAR)
    begun = max(least, *(text.rfind(mark, least, start) + 1 for mark in _MARKS))
    stops = _STOP.search(text, end, most)
    return text[begun : stops.end() if stops else most].strip()


def topics_of(words: bytes) -> tuple[str, ...]:
    """The topics of a word list; ValueError if its format is invalid."""
    try:
        return tuple(msgspec.json.decode(text_of(words), type=_Lexicon).topics)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None


def prepare() -> None:
    """Compile the shipped word lists, before a service has callers: the first use would hold up its event loop."""
    for language in _REACH:
        _patterns(language, b"")


@lru_cache(_LISTS_KEPT)
def _patterns(language: Language, words: bytes) -> tuple[re.Pattern[str], Mapping[str, _Patterns]]:
    data = words or files("playmolt_jury").joinpath("data", f"lexicon.{language}.json").read_bytes()
    lexicon = msgspec.json.decode(text_of(data), type=_Lexicon)
    negators, reach = _any(lexicon.negators, language), _REACH[language]
    negated = re.compile(f"{reach}{negators}" if language == "ko" else f"{negators}{reach}$")
    topics = {
        topic: _Patterns(
            *(re.compile(_any(kind, language)) for kind in (words.positive, words.negative, words.neutral))
        )
        for topic, words in lexicon.topics.items()
    }
    return negated, topics


def _any(phrases: tuple[str, ...], language: Language) -> str:
    if not phrases:
        return r"(?!)"
    spelt = (_word(phrase) if language == "en" else re.escape(phrase) for phrase in phrases)
    # The longest first, so that a shorter phrase does not hide a longer one.
    return f"(?:{'|'.join(sorted(spelt, key=len, reverse=True))})"


def _word(phrase: str) -> str:
    """Matches whole words; a star matches any ending."""
    stem = phrase.removesuffix("*")
    return rf"\b{re.escape(stem)}" + (r"\w*" if stem != phrase else r"\b")
