"""Dates as they are written: in figures and in words, Korean, English and Chinese."""

import re
from collections.abc import Mapping
from typing import Final

from playmolt_legal.guardrails.numbers import DIGITS_KO, SPELT_ZH, chinese, english, korean
from playmolt_legal.guardrails.tables import TABLES

_MONTH: Final = rf"(?:{'|'.join(TABLES.months)}|(?:{'|'.join(TABLES.months_short)})\.?)"
_NAMES: Final = "|".join(name.title() for name in TABLES.months)
_DAY: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth",
    "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first",
)  # fmt: skip
_ORDINAL: Final = rf"(?P<ordinal>{'|'.join(sorted(ORDINALS, key=len, reverse=True)).replace('-', '[ -]')})"
_CENTURIES: Final = {"twenty": 2000, "nineteen": 1900}
_YEAR_EN: Final = rf"(?:two thousand|{'|'.join(_CENTURIES)})(?:(?: and)?[ -](?:{'|'.join(TABLES.numbers_en)})\b){{1,2}}"
_BEHIND: Final = rf"(?:,? (?:(?P<y>\d{{4}})\b|(?:in )?(?P<year_en>{_YEAR_EN})))?"
"""The year behind day and month, where there is one."""
_MONTHS_KO: Final = {
    "십이": 12, "십일": 11, "시": 10, "십": 10, "구": 9, "팔": 8, "칠": 7, "유": 6, "육": 6, "오": 5, "사": 4,
    "삼": 3, "이": 2, "일": 1,
}  # fmt: skip
_MONTH_KO: Final = rf"(?P<month_ko>{'|'.join(_MONTHS_KO)})월"
_YEAR_KO: Final = rf"(?<![가-힣])(?P<year_ko>(?:이천|천구백)[{DIGITS_KO}십]{{1,3}})\s?년"
_DAY_KO: Final = rf"\s?(?:(?P<d>\d{{1,2}})|(?P<day_ko>[이삼]?십[{DIGITS_KO}]?|[{DIGITS_KO}]))\s?일"
_MONTH_ZH: Final = "(?P<m>十[一二]|[一二三四五六七八九十])月"
_DAY_ZH: Final = "(?P<d>[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号]"
PATTERNS: Final = (
    re.compile(rf"(?:(?<!\d)(?P<y>\d{{4}})\s?년|{_YEAR_KO})\s?{_MONTH_KO}(?:{_DAY_KO})?"),
    re.compile(rf"(?<![가-힣]){_MONTH_KO}{_DAY_KO}(?!\s?(?:간|째))"),
    re.compile(_YEAR_KO),
    re.compile(rf"(?<!\d)(?P<y>\d{{4}})\s?年\s?{_MONTH_ZH}(?:{_DAY_ZH})?"),
    re.compile(r"(?<!\d)(?P<y>\d{4})\s?年\s?(?P<m>\d{1,2})\s?月(?:\s?(?P<d>\d{1,2})\s?[日号])?"),
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)\s?年(?!\s?月)"),
    re.compile(
        rf"(?P<y>[一二][〇零一二三四五六七八九]{{3}})年(?:(?P<m>{SPELT_ZH}{{1,2}})月(?:(?P<d>{SPELT_ZH}{{1,3}})[日号])?)?"
    ),
    re.compile(rf"(?<![一二三四五六七八九十百千\d]){_MONTH_ZH}(?:{_DAY_ZH}|初|底|末|[上中下]旬)"),
    re.compile(r"(?<!\w)['’](?P<short>\d\d)\s?[-./]\s?(?P<m>\d{1,2})\s?[-./]\s?(?P<d>\d{1,2})(?![\d-])"),
    re.compile(
        r"(?<![\d.,])(?<!버전 )(?<!버전)(?<!제)(?P<short>\d\d)\.(?P<gap>\s?)(?P<m>\d{1,2})\.(?P=gap)(?P<d>\d{1,2})\."
        r"(?=\s?[가-힣]|$)"
    ),
    re.compile(r"^(?P<short>\d\d)\.\s?(?P<m>\d{1,2})\.\s?(?P<d>\d{1,2})(?P<ends>)$"),
    re.compile(r"(?<!\d)(?P<y>\d{4})\s?년\s?(?P<m>\d{1,2})\s?월(?:\s?(?P<d>\d{1,2})\s?일)?"),
    re.compile(r"(?<![\d-])(?P<y>(?:19|20)\d\d)\s?[-./]\s?(?P<m>\d{1,2})\s?[-./]\s?(?P<d>\d{1,2})(?![\d-])"),
    re.compile(
        r"(?<![\d./-])(?P<m>\d{1,2})(?P<mark>[./-])\s?(?P<d>\d{1,2})(?P=mark)\s?(?P<y>(?:19|20)\d\d)(?!\d|[./-]\d)"
    ),
    re.compile(
        r"(?<![\d-])(?<!번호 )(?<!번호는 )(?<!number )(?<!no\. )(?<!#)"
        r"(?P<y>(?:19|20)\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?![\d-])",
        re.IGNORECASE,
    ),
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)\.\s?(?P<m>\d{1,2})\.(?=\s?[가-힣]|$)"),
    re.compile(r"(?<!\w)['’](?P<short>\d\d)\s?년\s?(?P<m>\d{1,2})\s?월(?:\s?(?P<d>\d{1,2})\s?일)?"),
    re.compile(r"(?<![\d.,])(?P<short>\d\d)\s?년\s?(?P<m>\d{1,2})\s?월\s?(?P<d>\d{1,2})\s?일(?!간)"),
    re.compile(r"(?<![\d.,])(?P<short>\d\d)年(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]"),
    re.compile(
        r"(?<![\d.,])(?<!징역 )(?<!금고 )(?<!실형 )(?P<short>\d\d)\s?년\s?(?P<m>\d{1,2})\s?월"
        r"(?=에|부터|까지|경|초|말|중|자)"
    ),
    re.compile(r"(?<![\d.,])(?P<short>\d\d)年(?P<m>\d{1,2})月(?!\s?\d)"),
    re.compile(r"(?<![\d/-])(?<!번호 )(?<!no\. )(?<!제)(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\d-]|\s?[호号])"),
    re.compile(r"(?<!\d)(?P<m>\d{1,2})\s?月\s?(?P<d>\d{1,2})\s?[日号]"),
    re.compile(r"(?<!\d)(?P<m>\d{1,2})\s?월\s?(?P<d>\d{1,2})\s?일"),
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)\s?년"),
    re.compile(r"(?<!\d)(?P<m>\d{1,2})\s?월\s?(?:초|말|상순|중순|하순|경(?![력기제매우]))"),
    re.compile(r"(?<!\d)(?P<m>\d{1,2})\s?月(?:初|[上中下]旬|底|末)"),
    re.compile(rf"\b{_ORDINAL}(?: day)? of (?P<month>{'|'.join(TABLES.months)})\b{_BEHIND}", re.IGNORECASE),
    re.compile(rf"\b(?P<month>{_MONTH}) the {_ORDINAL}\b{_BEHIND}", re.IGNORECASE),
    re.compile(rf"\b(?:on|by|since|until|before|after|from) (?P<month>{_MONTH}) {_ORDINAL}\b{_BEHIND}", re.IGNORECASE),
    re.compile(rf"\b(?P<month>{_MONTH}) {_DAY}\b(?:,? (?P<y>\d{{4}}))?", re.IGNORECASE),
    re.compile(rf"\b{_DAY}[ -](?:day )?(?:of )?(?P<month>{_MONTH})\b(?:(?:,? |-)(?P<y>\d{{4}}))?", re.IGNORECASE),
    re.compile(rf"\b(?P<month>{_MONTH}),? (?P<y>(?:19|20)\d\d)\b", re.IGNORECASE),
    re.compile(rf"\b(?:[Ee]arly|[Mm]id|[Ll]ate|[Ee]nd of)[ -](?P<month>{_NAMES})\b"),
    re.compile(
        r"\b(?:early|mid|late|year[- ]end|end|FY|H[12]|spring|summer|autumn|fall|winter|Q[1-4])(?: of)?[ -]?"
        r"(?P<y>(?:19|20)\d\d)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:in|since|by|until|during|before|after|from|between) (?P<y>(?:19|20)\d\d)\b(?!\s?[-./]\s?\d)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<!sum )(?<!total )(?<!amount )(?<!price )(?<!number )\bof (?P<y>19[5-9]\d|20(?!00)\d\d)\b(?![,.]\d|-)"
        rf"(?!\s(?:{TABLES.counters_en})\b)"
    ),
)

FIGURES: Final = (re.compile(r"(?<![\d./-])(?P<m>\d{1,2})(?P<mark>/)(?P<d>\d{1,2})/(?P<short>\d\d)(?![\d/])"),)
"""Three short numbers whose order differs by language: for comparing dates, not for ordering them."""


def says_no_century(match: re.Match[str]) -> bool:
    """Whether a date is three short numbers, whose order is not the same in every language."""
    return not {"gap", "ends"}.isdisjoint(match.re.groupindex)


def readings(match: re.Match[str]) -> tuple[tuple[str, str, str], ...]:
    """Year, month and day of a date, "0" where it says none.

    Both ways of one such as 3/5/2024 or 12.05.21; nothing for a day that does not exist.
    """
    parts = match.groupdict()
    year, month, day = _year(parts), _month(parts), _day(parts)
    ways = [(year, month, day)]
    if parts.get("mark"):
        ways.append((year, day, month))
    if "ends" in parts:
        ways.append((int(_in_full(parts["d"])), month, int(parts["short"] or 0)))
    return tuple((str(year), str(month), str(day)) for year, month, day in ways if month <= 12 and day <= 31)


def _year(parts: Mapping[str, str | None]) -> int:
    if spelt := parts.get("year_ko"):
        return korean(spelt)
    if spelt := parts.get("year_en"):
        century, _, rest = spelt.casefold().partition(" ")
        return english(spelt) if rest.startswith("thousand") else _CENTURIES[century] + english(rest)
    return chinese(parts.get("y") or _in_full(parts.get("short")))


def _month(parts: Mapping[str, str | None]) -> int:
    if name := parts.get("month"):
        return next(place for place, known in enumerate(TABLES.months, 1) if known[:3] == name[:3].casefold())
    if name := parts.get("month_ko"):
        return _MONTHS_KO[name]
    return chinese(parts.get("m") or "0")


def _day(parts: Mapping[str, str | None]) -> int:
    if name := parts.get("ordinal"):
        return ORDINALS.index(name.casefold().replace(" ", "-")) + 1
    if name := parts.get("day_ko"):
        return korean(name)
    return chinese(parts.get("d") or "0")


def _in_full(short: str | None) -> str:
    """The year that '23 is."""
    if short is None:
        return "0"
    short = short.zfill(2)
    return f"20{short}" if short < _CENTURY_BEFORE else f"19{short}"


_CENTURY_BEFORE: Final = "70"
"""From here on two digits are a year of the century before."""
