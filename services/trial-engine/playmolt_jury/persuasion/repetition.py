"""Repeated messages of the overseer count less (jury.md, rule 5)."""

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

import msgspec
from playmolt_schemas.stored.jury import TopicImpact

WORN: Final = (Fraction(1), Fraction(1, 2), Fraction(0))
"""The share of an argument that counts, by the number of its earlier uses."""
TAKEN_BACK_AT: Final = 2
"""A message that repeats this many earlier ones takes back their effect."""

_KEPT: Final = "LMN"
"""Letters, marks, digits, by the first character of their category."""
_DENSE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff]+"
)
"""Runs of Han, kana and Hangul: one of their characters carries as much as several letters."""
_DENSE_SIZE: Final = 2
_SPARSE_SIZE: Final = 3
_SHARED: Final = Fraction(6, 10)
_PART_CHARS: Final = 6
_TEXTS_KEPT: Final = 512


class RememberedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A chat, note or presented item that a juror has received.

    `moved` is how far rules 1 and 4 moved the juror by it; 0 once that is taken back.
    """

    text: str = ""
    evidence_id: str = ""
    topics: tuple[TopicImpact, ...] = ()
    repeats: int = 0
    moved: int = 0


class Repetition(msgspec.Struct, frozen=True, kw_only=True):
    """What a message repeats: the indices of earlier messages, and the factor of each of its topics."""

    earlier: tuple[int, ...] = ()
    factors: tuple[Fraction, ...] = ()
    taken_back: int | None = None
    """The total effect of the repeated messages, if this message takes it back."""

    @property
    def repeats(self) -> int:
        return len(self.earlier)


def repetition(heard: Sequence[RememberedMessage], new: RememberedMessage) -> Repetition:
    """What `new` repeats of the earlier messages."""
    earlier = tuple(place for place, each in enumerate(heard) if _repeats(new, each))
    whole = _left(len(earlier))
    factors = tuple(min(whole, _left(_worn(heard, new, topic))) for topic in new.topics)
    moved = sum(heard[place].moved for place in earlier) if len(earlier) == TAKEN_BACK_AT else None
    return Repetition(earlier=earlier, factors=factors, taken_back=moved)


def took_back(heard: Sequence[RememberedMessage]) -> tuple[RememberedMessage, ...]:
    """The messages after the latest one has taken back the effect of those that it repeats."""
    gone = repetition(heard[:-1], heard[-1]).earlier
    return tuple(msgspec.structs.replace(each, moved=0) if place in gone else each for place, each in enumerate(heard))


def like(said: str, earlier: str) -> bool:
    """Whether two texts use nearly the same words, or the second contains the first."""
    text, other = _plain(said), _plain(earlier)
    if not text or not other:
        return False
    if len(text) >= _PART_CHARS and text in other:
        return True
    ours, theirs = _units(text), _units(other)
    return 2 * len(ours & theirs) >= _SHARED * (len(ours) + len(theirs))


def _left(times: int) -> Fraction:
    return WORN[min(times, len(WORN) - 1)]


def _worn(heard: Sequence[RememberedMessage], new: RememberedMessage, topic: TopicImpact) -> int:
    """The number of earlier messages with the same topic and impact. Presented items neither count nor wear out."""
    return 0 if new.evidence_id else sum(topic in each.topics for each in heard if not each.evidence_id)


def _repeats(new: RememberedMessage, earlier: RememberedMessage) -> bool:
    if new.evidence_id or earlier.evidence_id:
        return new.evidence_id == earlier.evidence_id
    return like(new.text, earlier.text) and not _opposed(new.topics, earlier.topics)


def _opposed(topics: Sequence[TopicImpact], others: Sequence[TopicImpact]) -> bool:
    sides = {(each.topic, each.impact) for each in topics}
    turned = {"positive": "negative", "negative": "positive"}
    return any((each.topic, turned.get(each.impact)) in sides for each in others)


@lru_cache(_TEXTS_KEPT)
def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] in _KEPT)


@lru_cache(_TEXTS_KEPT)
def _units(plain: str) -> frozenset[str]:
    dense = _DENSE.findall(plain)
    sparse = _DENSE.split(plain)
    pairs = (unit for run in dense for unit in _cut(run, _DENSE_SIZE))
    triples = (unit for run in sparse if run for unit in _cut(run, _SPARSE_SIZE))
    return frozenset((*pairs, *triples))


def _cut(run: str, size: int) -> list[str]:
    return [run[at : at + size] for at in range(max(1, len(run) - size + 1))]
