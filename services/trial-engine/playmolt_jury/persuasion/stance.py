"""Stances (jury.md, Stance 1 to 5; shapes.md): how they change, and who speaks in a deliberation round because of them.

Changes are exact fractions, rounded once, half away from zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_schemas.games.jury import Band
from playmolt_schemas.stored.jury import Impact, TopicImpact

INNOCENT: Final = 0
GUILTY: Final = 100
MIDDLE: Final = 50
MESSAGE_CAP: Final = 15
WEAKNESS_POINTS: Final = 10
EXTREMES: Final = (15, 85)
"""A listener below the first or above the second moves half as far."""
RESPONDERS: Final = 2
SPEECHES: Final = 1 + RESPONDERS
"""Speeches of a deliberation round: the leader's, then the responders'."""

WHOLE: Final = "1"
"""The factor of a part that repetition does not reduce."""

_MOST_PLACES: Final = 18
_NONE: Final = Fraction(0)
_ONE: Final = Fraction(1)
_HALF: Final = Fraction(1, 2)
_ARGUED: Final[Mapping[Impact, Fraction]] = {
    "positive": Fraction(1),
    "neutral": Fraction(3, 10),
    "negative": -_HALF,
}
_SPOKEN: Final[Mapping[Impact, Fraction]] = {
    "positive": Fraction(1),
    "neutral": Fraction(3, 10),
    "negative": Fraction(-1),
}
_BANDS: Final[tuple[tuple[int, Band], ...]] = (
    (20, "innocent"),
    (40, "leaning_innocent"),
    (59, "undecided"),
    (79, "leaning_guilty"),
    (100, "guilty"),
)


class ChangePart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The points from one topic, the cap of a message, the weakness or repetition; `points` is a decimal string.

    The parts of a change add up to it exactly, before it is rounded and clamped. `factor` is the share of the points
    that repetition leaves (rule 5); a part of rule "taken_back" has none.
    """

    rule: Literal["topic", "cap", "weakness", "taken_back"] = "topic"
    topic: str = ""
    impact: Impact | None = None
    weight: int = 0
    factor: str | UnsetType = UNSET
    points: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    before: int
    after: int
    parts: tuple[ChangePart, ...]


def band(stance: int) -> Band:
    """The band of a stance, which the overseer sees."""
    return next(name for most, name in _BANDS if stance <= most)


def votes_guilty(stance: int) -> bool:
    """Above 50; a juror at 50 votes not guilty."""
    return stance > MIDDLE


def argued(
    before: int,
    weights: Mapping[str, int],
    topics: Iterable[TopicImpact],
    *,
    half: bool = False,
    factors: Sequence[Fraction] | None = None,
    taken_back: int | None = None,
) -> Change:
    """Rule 1: the overseer's words or a presented item; `half` is rule 4, a secret note.

    `factors` are those of rule 5, one per topic; `taken_back` is the earlier effect that the message takes back.
    """
    scale = _HALF if half else Fraction(1)
    listed = tuple(topics)
    left = (Fraction(1),) * len(listed) if factors is None else factors
    points = [weights.get(each.topic, 0) * _ARGUED[each.impact] * of for each, of in zip(listed, left, strict=True)]
    total = sum(points, Fraction(0))
    capped = max(Fraction(-MESSAGE_CAP), min(Fraction(MESSAGE_CAP), total))
    parts = tuple(_part(each, weights, gain * scale, of) for each, gain, of in zip(listed, points, left, strict=True))
    if capped != total:
        parts += (ChangePart(rule="cap", factor=WHOLE, points=decimal_text((capped - total) * scale)),)
    if taken_back is not None:
        parts += (ChangePart(rule="taken_back", points=str(-taken_back)),)
    return Change(before=before, after=moved(before, capped * scale - (taken_back or 0)), parts=parts)


def struck(before_message: int, now: int) -> Change:
    """Rule 2, after rule 1: the sign follows from the stance before the message; the points change the present one."""
    points = 0
    if before_message != MIDDLE:
        points = -WEAKNESS_POINTS if before_message > MIDDLE else WEAKNESS_POINTS
    parts = (ChangePart(rule="weakness", factor=WHOLE, points=str(points)),) if points else ()
    return Change(before=now, after=moved(now, Fraction(points)), parts=parts)


def hits(text: str, keywords: Iterable[str]) -> bool:
    """Whether a text contains one of the keywords, ignoring case."""
    folded = text.casefold()
    return any(keyword.casefold() in folded for keyword in keywords)


def swayed(
    now: int,
    *,
    listener: int,
    speaker: int,
    power: str,
    weights: Mapping[str, int],
    topics: Iterable[TopicImpact],
) -> Change:
    """Rule 3: a speech to one listener. `listener` and `speaker` are stances of the round's snapshot, the change is
    added to the listener's stance of `now`."""
    factor = _force(power, abs(listener - speaker), half=listener < EXTREMES[0] or listener > EXTREMES[1])
    listed = tuple(topics)
    points = [_spoken(weights.get(each.topic, 0), each.impact) * factor for each in listed]
    parts = tuple(_part(each, weights, gain) for each, gain in zip(listed, points, strict=True))
    return Change(before=now, after=moved(now, sum(points, _NONE)), parts=parts)


@lru_cache(4096)
def _force(power: str, distance: int, *, half: bool) -> Fraction:
    factor = Fraction(power) * Fraction(GUILTY - distance, GUILTY)
    return factor * _HALF if half else factor


@lru_cache(1024)
def _spoken(weight: int, impact: Impact) -> Fraction:
    return weight * _SPOKEN[impact]


def leader(order: Sequence[str], stances: Mapping[str, int], led: Mapping[str, int]) -> str:
    """The most extreme of those who have led least; of equals the first in juror order."""
    return min(order, key=lambda juror: (led[juror], -abs(stances[juror] - MIDDLE)))


def responders(order: Sequence[str], stances: Mapping[str, int], leads: str) -> tuple[str, ...]:
    """The two farthest from the leader's stance, the farther first; of equals the first in juror order."""
    others = [juror for juror in order if juror != leads]
    return tuple(sorted(others, key=lambda juror: -abs(stances[juror] - stances[leads]))[:RESPONDERS])


def moved(stance: int, points: Fraction) -> int:
    """Points are rounded half away from zero, and the stance stays within the scale."""
    return max(INNOCENT, min(GUILTY, stance + half_away(points)))


def half_away(value: Fraction) -> int:
    """The nearest integer, halves away from zero."""
    size = (2 * abs(value.numerator) + value.denominator) // (2 * value.denominator)
    return size if value.numerator > 0 else -size


def decimal_text(value: Fraction) -> str:
    """ValueError when the fraction has no finite decimal."""
    numerator, denominator = value.numerator, value.denominator
    if denominator == 1:
        return str(numerator)
    places = _places(denominator)
    if places is None:
        raise ValueError(f"{value} has no decimal form of less than {_MOST_PLACES} places")
    digits = str(abs(numerator) * 10**places // denominator).rjust(places + 1, "0")
    return f"{'-' if numerator < 0 else ''}{digits[:-places]}.{digits[-places:]}"


@lru_cache(256)
def _places(denominator: int) -> int | None:
    return next((places for places in range(_MOST_PLACES) if 10**places % denominator == 0), None)


def _part(each: TopicImpact, weights: Mapping[str, int], points: Fraction, factor: Fraction = _ONE) -> ChangePart:
    weight = weights.get(each.topic, 0)
    return ChangePart(
        topic=each.topic, impact=each.impact, weight=weight, factor=decimal_text(factor), points=decimal_text(points)
    )
