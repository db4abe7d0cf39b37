"""The chronology: timeline entries by date. What a date leaves out is taken from the entry before it."""

import calendar
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Final, Literal, NamedTuple

from playmolt_schemas.games.legal import ChronologyEntry
from playmolt_schemas.stored.legal import Language, TimelineItem

from playmolt_legal.guardrails import dates
from playmolt_legal.guardrails.numbers import SPELT_ZH, chinese, english
from playmolt_legal.guardrails.tables import TABLES


def chronology(timeline: Iterable[TimelineItem], language: Language) -> tuple[ChronologyEntry, ...]:
    """The entries by date; those whose date cannot be known come last, in the order of the person.

    A year or month that an entry leaves out, and a date such as "the next day", is taken from the last dated entry
    before it in the order of the person; `inferred_from` then names that entry.
    """
    dated: list[tuple[_Day, ChronologyEntry]] = []
    undated: list[ChronologyEntry] = []
    last: _Day | None = None
    place: _Day | None = None
    source = ""
    for item in timeline:
        found = _read(item.when, language, last)
        if found is None:
            undated.append(ChronologyEntry(id=item.id, when=item.when, what=item.what, date="", inferred_from=None))
            continue
        entry = ChronologyEntry(
            id=item.id,
            when=item.when,
            what=item.what,
            date=found.first.text(),
            inferred_from=source if found.inferred else None,
        )
        # "The same year" belongs behind the entry whose year it is.
        place = found.first.not_before(place) if found.inferred and place else found.first
        dated.append((place, entry))
        last, source = found.last, item.id
    return (*(entry for _, entry in sorted(dated, key=lambda each: each[0])), *undated)


Unit = Literal["year", "month", "day"]
_LAST_YEAR: Final = 9998
_MONTHS: Final = 12
_DAYS: Final = 31


class _Day(NamedTuple):
    """A date; month and day are 0 where they are unknown."""

    year: int
    month: int = 0
    day: int = 0

    def text(self) -> str:
        return "-".join(f"{part:0{digits}}" for part, digits in zip(self, (4, 2, 2), strict=True) if part)

    def not_before(self, other: "_Day") -> "_Day":
        """Where it belongs in the order: a later part of the year or month of `other` if it may be one."""
        if self.month == 0 and self.year == other.year:
            return other
        return other if self.day == 0 and self[:2] == other[:2] else self

    def later(self, unit: Unit, steps: int) -> "_Day | None":
        """So many units later; what is unknown stays unknown. None beyond the calendar."""
        if unit == "day":
            return self._days_later(steps) if self.day else self
        months = steps * _MONTHS if unit == "year" else steps
        year, month = divmod(self.year * _MONTHS + max(self.month, 1) - 1 + months, _MONTHS)
        if not 1 <= year <= _LAST_YEAR:
            return None
        if not self.month:
            return _Day(year)
        return _Day(year, month + 1, min(self.day, calendar.monthrange(year, month + 1)[1]))

    def _days_later(self, steps: int) -> "_Day | None":
        try:
            day = date(*self) + timedelta(days=steps)
        except (OverflowError, ValueError):
            return None
        return _Day(day.year, day.month, day.day)


class _Mention(NamedTuple):
    """What a text says of one date; parts are 0 where it leaves them out.

    `unit` and `steps` count from the date before; `exact` keeps its finer parts ("a year later", not "the next year").
    `unknown`: it counts from the day on which it was written, which the log does not know.
    """

    year: int = 0
    month: int = 0
    day: int = 0
    unit: Unit | None = None
    steps: int = 0
    exact: bool = False
    unknown: bool = False

    def parts(self) -> frozenset[Unit]:
        units: tuple[Unit, ...] = ("year", "month", "day")
        said = {unit for unit, part in zip(units, self[:3], strict=True) if part}
        counted = units[: units.index(self.unit) + 1] if self.unit else ()
        return frozenset({*said, *counted})

    def joins(self, other: "_Mention") -> bool:
        """Whether both speak of one date: they say different parts of it, or "the same year, the same month"."""
        same = self.unit and other.unit and (self.steps, other.steps) == (0, 0) and not (self.unknown or other.unknown)
        return bool(same) or self.parts().isdisjoint(other.parts())

    def joined(self, other: "_Mention") -> "_Mention":
        year, month, day = (mine or its for mine, its in zip(self[:3], other[:3], strict=True))
        counted = other if other.unit else self
        return _Mention(year, month, day, *counted[3:])

    def resolved(self, last: _Day | None) -> _Day | None:
        """Its date, with what it leaves out from `last`."""
        if self.year:
            month = self.month or (last.month if last and self.day and last.year == self.year else 0)
            return _valid(self.year, month, self.day if month else 0)
        if last is None or self.unknown:
            return None
        start = last.later(self.unit, self.steps) if self.unit else last
        return start and (start if self.unit == "day" else self._within(start))

    def _within(self, start: _Day) -> _Day | None:
        """The part of the year or month of `start` that it says."""
        if self.month:
            return _valid(start.year, self.month, self.day)
        same = self.unit is None or self.unit == "month" or self.steps == 0 or self.exact
        month = start.month if same and (self.day or self.exact or self.unit == "month") else 0
        if self.day:
            return _valid(start.year, month, self.day) if month else None
        return _Day(start.year, month, start.day if month and self.exact else 0)


def _valid(year: int, month: int, day: int) -> _Day | None:
    if month > _MONTHS or day > (calendar.monthrange(year, month)[1] if month else _DAYS):
        return None
    return _Day(year, month, day)


class _Found(NamedTuple):
    """The date that an entry begins on, the one that it ends on, and whether the first needed the entry before."""

    first: _Day
    last: _Day
    inferred: bool


def _read(when: str, language: Language, last: _Day | None) -> _Found | None:
    said = _mentions(unicodedata.normalize("NFKC", when), language)
    whole = next((each for each in said if each.year), None)
    if whole:
        # "March 5 to April 2, 2024": the year that a text says is also that of the dates in front of it.
        place = said.index(whole)
        front = [each._replace(year=whole.year) for each in said[:place] if each.month and not each.unit]
        said, last = [*front, *said[place:]], None
    found: list[_Day] = []
    for mention in said:
        if day := mention.resolved(last):
            found.append(day)
            last = day
    return _Found(found[0], found[-1], inferred=whole is None) if found else None


def _mentions(text: str, language: Language) -> list[_Mention]:
    """The dates of a text in its order: parts that lie side by side and say different things make one date."""
    mentions: list[_Mention] = []
    for _, said in sorted(_pieces(text, language), key=lambda piece: piece[0]):
        if mentions and mentions[-1].joins(said):
            mentions[-1] = mentions[-1].joined(said)
        else:
            mentions.append(said)
    return mentions


def _pieces(text: str, language: Language) -> Iterator[tuple[int, _Mention]]:
    """What is read is blanked out, so that the 5 in 2024-03-05 is not read as another day."""
    for pattern, read in _PATTERNS:
        for match in list(pattern.finditer(text)):
            if said := read(match, language):
                yield match.start(), said
                text = f"{text[: match.start()]}{chr(0) * len(match[0])}{text[match.end() :]}"


_Reader = Callable[[re.Match[str], Language], _Mention | None]


def _date(match: re.Match[str], language: Language) -> _Mention | None:
    readings = dates.readings(match)
    if not readings or (language == "en" and dates.says_no_century(match)):
        return None
    year, month, day = readings[0]
    return _Mention(int(year), int(month), int(day))


def _figures(match: re.Match[str], language: Language) -> _Mention | None:
    """Three short numbers: the year is in front in Korean and Chinese, behind in English."""
    first, second, third = int(match["a"]), int(match["b"]), int(match["c"])
    if first > _DAYS or language != "en":
        year, month, day = first, second, third
    elif match["mark"] == "." or first > _MONTHS:
        year, month, day = third, second, first
    else:
        year, month, day = third, first, second
    return _Mention(_in_full(year), month, day) if 1 <= month <= _MONTHS and 1 <= day <= _DAYS else None


def _in_full(short: int) -> int:
    return short + (2000 if short < _CENTURY_BEFORE else 1900)


_CENTURY_BEFORE: Final = 70


def _pair(match: re.Match[str], _: Language) -> _Mention | None:
    month, day = int(match["a"]), int(match["b"])
    if month > _MONTHS:
        month, day = day, month
    return _Mention(0, month, day) if 1 <= month <= _MONTHS and 1 <= day <= _DAYS else None


def _parts(match: re.Match[str], _: Language) -> _Mention | None:
    said = {name: text for name, text in match.groupdict().items() if text}
    year = _in_full(int(said["short"])) if "short" in said else int(said.get("y", 0))
    month = _month(said["month"]) if "month" in said else chinese(said.get("m", "0"))
    day = chinese(said.get("d", "0"))
    return _Mention(year, month, day) if month <= _MONTHS and day <= _DAYS else None


def _month(name: str) -> int:
    return next(place for place, known in enumerate(TABLES.months, 1) if known[:3] == name[:3].casefold())


def _unknown(_: re.Match[str], __: Language) -> _Mention:
    return _Mention(unit="year", unknown=True)


def _step(unit: Unit, steps: int) -> _Reader:
    return lambda _match, _language: _Mention(unit=unit, steps=steps)


def _duration(match: re.Match[str], _: Language) -> _Mention | None:
    """So many days, weeks, months or years later or earlier."""
    said = match.groupdict()
    if days := said.get("days"):
        return _Mention(unit="day", steps=_DAYS_KO[days])
    number = _number(said["n"])
    unit, size = _UNITS[re.sub(r"\s", "", said["unit"]).casefold().removesuffix("s")]
    if not 0 <= number <= _MOST:
        return None
    steps = number * size * (-1 if said.get("earlier") else 1)
    return _Mention(unit=unit, steps=steps, exact=True)


_MOST: Final = 4000


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    if text in _NUMBERS_KO:
        return _NUMBERS_KO[text]
    if text.casefold() == "an":
        return 1
    return english(text) if text.isascii() else chinese(text)


_DAYS_KO: Final = {
    "하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "엿새": 6, "이레": 7, "여드레": 8, "아흐레": 9, "열흘": 10,
    "보름": 15, "일주일": 7, "스무날": 20,
}  # fmt: skip
_NUMBERS_KO: Final = {
    "한": 1, "두": 2, "세": 3, "석": 3, "네": 4, "넉": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9,
    "열": 10, "일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "칠": 7, "팔": 8, "구": 9, "십": 10,
}  # fmt: skip
_UNITS: Final[dict[str, tuple[Unit, int]]] = {
    "일": ("day", 1), "주": ("day", 7), "주일": ("day", 7), "개월": ("month", 1), "달": ("month", 1), "년": ("year", 1),
    "해": ("year", 1), "天": ("day", 1), "日": ("day", 1), "周": ("day", 7), "星期": ("day", 7), "个星期": ("day", 7),
    "個星期": ("day", 7), "礼拜": ("day", 7), "个礼拜": ("day", 7), "个月": ("month", 1), "個月": ("month", 1),
    "年": ("year", 1), "day": ("day", 1), "week": ("day", 7), "fortnight": ("day", 14), "month": ("month", 1),
    "year": ("year", 1),
}  # fmt: skip
_COUNT_KO: Final = (
    rf"(?:(?P<days>{'|'.join(_DAYS_KO)})|(?P<n>\d{{1,4}}|{'|'.join(_NUMBERS_KO)})\s?(?P<unit>개월|주일|[일주달년해]))"
)
_COUNT_ZH: Final = rf"(?P<n>\d{{1,4}}|{SPELT_ZH}{{1,4}})\s?(?P<unit>[个個]?(?:星期|礼拜)|[个個]月|[天日周年])"
_COUNT_EN: Final = rf"(?P<n>\d{{1,4}}|an?|{'|'.join(TABLES.numbers_en)})\s(?P<unit>(?:day|week|fortnight|month|year)s?)"
_NAME_EN: Final = rf"(?:{'|'.join(TABLES.months)}|(?:{'|'.join(TABLES.months_short)})\b\.?)"
_PART_OF_DAY: Final = "(?:day|date|morning|afternoon|evening|night)"


def _words(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(forms), re.IGNORECASE)


_STEPS: Final[Sequence[tuple[Unit, int, re.Pattern[str]]]] = (
    ("day", 2, _words("다음\\s?다음\\s?날", "다다음\\s?날", "第三天")),
    ("day", 1, _words(
        "(?:그\\s?)?다음\\s?날", "이튿날", "익일", "[次翌][日朝晨]", "[第]二[天日]", "[隔转]天", "[后後]一[天日]",
        rf"\b(?:next|following|subsequent) {_PART_OF_DAY}\b", rf"\b{_PART_OF_DAY} (?:after|thereafter)\b",
    )),
    ("day", 0, _words(
        "같은\\s?날", "그\\s?날", "당일", "동일자?", "同一?[日天]", "[当當该那][日天]",
        rf"\b(?:same|that|very) {_PART_OF_DAY}\b",
    )),
    ("day", -1, _words(
        "전날", "전일", "前一[日天]", rf"\b(?:previous|preceding|prior) {_PART_OF_DAY}\b",
        rf"\b{_PART_OF_DAY} before\b",
    )),
    ("month", 1, _words(
        "(?:그\\s?)?다음\\s?달", "익월", "이듬달", "[次翌隔]月", "下一?[个個]?月",
        r"\b(?:next|following|subsequent) month\b", r"\bmonth after\b",
    )),
    ("month", 0, _words(
        "같은\\s?달", "그\\s?달", "동월", "당월", "同一?[个個]?月", "[当當该]月", r"\b(?:same|that) month\b",
    )),
    ("month", -1, _words(
        "(?<!지난)전\\s?달", "전월", "前一[个個]?月", r"\b(?:previous|preceding|prior) month\b", r"\bmonth before\b",
    )),
    ("year", 1, _words(
        "(?:그\\s?)?다음\\s?해", "이듬해", "익년", "[次翌隔转来來]年", "第二年", "下一年", "[后後]一年",
        r"\b(?:next|following|subsequent) year\b", r"\byear after\b",
    )),
    ("year", 0, _words(
        "같은\\s?(?:해|연도|년도?)", "그\\s?해", "동년", "당해", "당년", "同一?年", "[当當该那]一?年", "是年",
        r"\b(?:same|that) year\b",
    )),
    ("year", -1, _words(
        "전년", "(?<!지난)전\\s?해", "[前上]一年", r"\b(?:previous|preceding|prior) year\b", r"\byear before\b",
    )),
)  # fmt: skip
_PATTERNS: Final[Sequence[tuple[re.Pattern[str], _Reader]]] = (
    *((pattern, _date) for pattern in dates.PATTERNS),
    # From the day on which it was written.
    (
        _words(
            "재?작년", "지난\\s?(?:해|달|주)", "올\\s?해", "금년", "내년", "이번\\s?(?:해|달|주)", "이달", "금월",
            "어제", "오늘", "내일", "그저께", "모레", "금일", "명일", "[去今明]年", "前年", "[后後]年", "上[个個]?月",
            "本[月年]", "这[个個]?月", "[昨今明][天日]", "前天",
            "[后後]天", r"\b(?:yesterday|today|tomorrow|tonight)\b",
            rf"\b(?:last|this|current) (?:week|month|year|{_PART_OF_DAY})\b",
            rf"{_COUNT_EN.replace('?P<n>', '?:').replace('?P<unit>', '?:')} ago\b",
        ),
        _unknown,
    ),
    (re.compile(rf"{_COUNT_KO}\s?전"), _unknown),
    (re.compile(rf"{_COUNT_ZH}(?:之|以)?前"), _unknown),
    (re.compile(rf"{_COUNT_KO}(?:이|가)?\s?(?:뒤|후|지나|만에)"), _duration),
    (re.compile(rf"{_COUNT_ZH}(?:之|以)?[后後]"), _duration),
    (re.compile(rf"\b{_COUNT_EN}\s(?:later|after|afterwards?|thereafter|on)\b", re.IGNORECASE), _duration),
    (re.compile(rf"\bafter {_COUNT_EN}\b", re.IGNORECASE), _duration),
    (re.compile(rf"\b{_COUNT_EN}\s(?P<earlier>earlier|before|prior)\b", re.IGNORECASE), _duration),
    *((pattern, _step(unit, steps)) for unit, steps, pattern in _STEPS),
    (re.compile(r"(?<![\d./-])(?P<y>(?:19|20)\d\d)\s?[-./]\s?(?P<m>0?[1-9]|1[0-2])(?![\d])"), _parts),
    (re.compile(r"(?<![\d./-])(?P<m>0?[1-9]|1[0-2])[-./](?P<y>(?:19|20)\d\d)(?!\d)"), _parts),
    (
        re.compile(r"(?<![\d./-])(?P<a>\d{1,2})(?P<mark>[./-])\s?(?P<b>\d{1,2})(?P=mark)\s?(?P<c>\d{1,2})(?!\d)"),
        _figures,
    ),
    (re.compile(r"(?<!\d)['’]?(?P<short>\d\d)\s?[년年](?:도|度)?"), _parts),
    (re.compile(r"(?<![\d./:-])(?P<a>\d{1,2})[./-]\s?(?P<b>\d{1,2})(?![\d:/-])"), _pair),
    (re.compile(rf"(?<![\d.,])(?P<m>\d{{1,2}}|(?<!{SPELT_ZH}){SPELT_ZH}{{1,3}})\s?[월月]"), _parts),
    (re.compile(rf"\b(?P<month>{_NAME_EN})(?!\w)", re.IGNORECASE), _parts),
    (
        re.compile(
            rf"(?<![\d.,])(?P<d>\d{{1,2}}|(?<!{SPELT_ZH}){SPELT_ZH}{{1,3}})\s?[일日号號]"
            r"(?!\s?(?:간|째|동안|이내|안에))"
        ),
        _parts,
    ),
    (re.compile(r"(?:[-–—~]|\b(?:to|until|through)\b)\s?(?P<d>\d{1,2})(?![\d:./-])", re.IGNORECASE), _parts),
    (re.compile(r"\b(?P<d>\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE), _parts),
    (re.compile(r"(?<![\d.,:/-])(?P<y>(?:19|20)\d\d)(?![\d:]|[.,]\d)"), _parts),
)  # fmt: skip
