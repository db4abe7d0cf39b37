"""What a sentence names that can be looked up: dates, amounts, statutes, case numbers. Korean, English and Chinese."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, Literal

import msgspec

from playmolt_legal.guardrails.tables import TABLES

ParticularKind = Literal["case", "statute", "date", "amount"]


class Particular(msgspec.Struct, frozen=True):
    """Something named: its kind, what it says whatever its spelling, and the words it stands in.

    `other` is what a date such as 3/5/2024 says where the day is written first.
    """

    kind: ParticularKind
    key: tuple[str, ...]
    text: str
    other: tuple[str, ...] = ()

    @property
    def readings(self) -> tuple[tuple[str, ...], ...]:
        return (self.key, self.other) if self.other else (self.key,)


_UNITS: Final = {
    "亿": 10**8, "千万": 10**7, "百万": 10**6, "十万": 10**5, "万": 10**4, "千": 10**3, "百": 10**2,
    "조": 10**12, "억": 10**8, "천만": 10**7, "백만": 10**6, "십만": 10**5, "만": 10**4, "천": 10**3, "백": 10**2,
    "thousand": 10**3, "k": 10**3, "million": 10**6, "m": 10**6, "billion": 10**9, "bn": 10**9, "trillion": 10**12,
}  # fmt: skip

_MONTH: Final = rf"(?:{'|'.join(TABLES.months)}|(?:{'|'.join(TABLES.months_short)})\.?)"
_DAY: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_NUMBER: Final = r"\d[\d,]*(?:\.\d+)?"
_KO_UNIT: Final = "(?:조|억|천만|백만|십만|만|천|백)"
_EN_UNIT: Final = r"(?:\s?(?:thousand|million|billion|trillion|bn|k|m)\b)"
_ZH_UNIT: Final = "(?:亿|千万|百万|十万|万|千|百)"
_ZH_DIGITS: Final = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_ZH_SMALL: Final = {"十": 10, "百": 100, "千": 1000}
_ZH_LARGE: Final = {"万": 10**4, "亿": 10**8}
_ZH_SPELT: Final = f"[{''.join((*_ZH_DIGITS, *_ZH_SMALL, *_ZH_LARGE))}]"
_ZH_MONEY: Final = "美元|美金|欧元|日元|韩元|英镑|元(?!旦|素|件|首|月|气|宵)|块(?=钱|$|[，。；、])"
_CODE: Final = "|".join(sorted(TABLES.case_codes, key=len, reverse=True))
_PARTY: Final = r"[A-Z][\w.&'’-]*"
_LAW_EN: Final = r"(?:[A-Z][a-z]+ ){1,5}(?:Act|Code|Constitution)"

_CASES: Final = (
    re.compile(r"[（(\[〔](?:19|20)\d\d[）)\]〕]\s?[\u4e00-\u9fff]{1,3}\d{0,4}[\u4e00-\u9fff]{1,4}\d{1,7}号"),
    re.compile(rf"(?<!\d)(?:19|20)?\d\d\s?(?:{_CODE})\s?\d{{1,7}}(?![\d가-힣]*[년월일])(?!\d)"),
    re.compile(rf"(?<!\d)(?:19|20)\d\d\s?-?(?:{'|'.join(TABLES.case_codes_en)})-?\s?\d{{1,7}}(?!\d)"),
    re.compile(r"\[(?:18|19|20)\d\d\] (?:\d{1,2} )?[A-Z][A-Za-z]{1,6}(?: [A-Z][a-z]{1,5})? \d{1,5}\b"),
    re.compile(rf"\b\d{{1,4}} (?:{TABLES.reporters_en}) \d{{1,5}}\b"),
    re.compile(rf"\b{_PARTY}(?: (?:of|the|and|&|{_PARTY})){{0,4}} vs?\. {_PARTY}(?: [A-Z][\w&'’-]*){{0,3}}"),
    re.compile(r"\b(?:[Cc]ase|[Dd]ocket) (?:[Nn]o\.?|[Nn]umber) ?[\w-]*\d[\w/-]*"),
)
_STATUTE_KO: Final = re.compile(
    r"(?:(?P<law>[가-힣·]{0,20}[가-힣]법(?:률)?(?:\s?시행(?:령|규칙))?)\s*)?(?P<mark>제\s?)?(?P<article>\d{1,4})\s?조(?!\s?원|[건직합정사치약각])"
    r"(?:\s?의\s?(?P<branch>\d+))?(?:\s?제?\s?\d+\s?항)?(?:\s?제?\s?\d+\s?호)?"
)
_STATUTE_ZH: Final = re.compile(
    rf"(?:《(?P<law>[^》\n]{{1,40}})》\s?|(?P<bare>[\u4e00-\u9fff]{{1,12}}(?:法典|法|条例|规定)))?"
    rf"第\s?(?P<article>\d{{1,4}}|{_ZH_SPELT}{{1,9}})\s?条(?:之\s?(?P<branch>\d+|{_ZH_SPELT}{{1,3}}))?"
    rf"(?:\s?第\s?(?:\d+|{_ZH_SPELT}+)\s?[款项])*"
)
_CONTRACT: Final = re.compile(rf"(?:{TABLES.contracts})(?:\s?[의상])?\s?$")
_STATUTE_EN: Final = re.compile(
    rf"(?:(?P<before>{_LAW_EN}),? )?(?:\b(?:[Aa]rticles?|[Aa]rt\.|[Ss]ections?|[Ss]ec\.)|§§?)\s?"
    rf"(?P<article>\d{{1,4}})(?:-(?P<branch>\d+))?(?!\d|-\d)"
    rf"(?!(?:\(\d+\))* of (?:the |this |that |our |their )?(?:[a-z]+ )?(?:{TABLES.contracts_en}))"
    rf"(?:\(\d+\))*(?: of (?:the )?(?P<after>{_LAW_EN}))?"
)
_DATES: Final = (
    re.compile(r"(?<!\d)(?P<y>\d{4})\s?年\s?(?P<m>\d{1,2})\s?月(?:\s?(?P<d>\d{1,2})\s?[日号])?"),
    re.compile(r"(?<!\d)(?P<m>\d{1,2})\s?月\s?(?P<d>\d{1,2})\s?[日号]"),
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)\s?年(?!\s?月)"),
    re.compile(
        rf"(?P<y>[一二][〇零一二三四五六七八九]{{3}})年(?:(?P<m>{_ZH_SPELT}{{1,2}})月(?:(?P<d>{_ZH_SPELT}{{1,3}})[日号])?)?"
    ),
    re.compile(r"(?<!\w)['’](?P<short>\d\d)\s?[-./]\s?(?P<m>\d{1,2})\s?[-./]\s?(?P<d>\d{1,2})(?![\d-])"),
    re.compile(r"(?<!\d)(?P<y>\d{4})\s?년\s?(?P<m>\d{1,2})\s?월(?:\s?(?P<d>\d{1,2})\s?일)?"),
    re.compile(r"(?<![\d-])(?P<y>(?:19|20)\d\d)\s?[-./]\s?(?P<m>\d{1,2})\s?[-./]\s?(?P<d>\d{1,2})(?![\d-])"),
    re.compile(
        r"(?<![\d./-])(?P<m>\d{1,2})(?P<mark>[./])\s?(?P<d>\d{1,2})(?P=mark)\s?(?P<y>(?:19|20)\d\d)(?!\d|[./-]\d)"
    ),
    re.compile(
        r"(?<![\d-])(?<!번호 )(?<!번호는 )(?<!number )(?<!no\. )(?<!#)"
        r"(?P<y>(?:19|20)\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?![\d-])",
        re.IGNORECASE,
    ),
    re.compile(r"(?<!\d)(?P<m>\d{1,2})\s?월\s?(?P<d>\d{1,2})\s?일"),
    re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)\s?년"),
    re.compile(rf"\b(?P<month>{_MONTH}) {_DAY}\b(?:,? (?P<y>\d{{4}}))?", re.IGNORECASE),
    re.compile(rf"\b{_DAY} (?:of )?(?P<month>{_MONTH})\b(?:,? (?P<y>\d{{4}}))?", re.IGNORECASE),
    re.compile(rf"\b(?P<month>{_MONTH}),? (?P<y>(?:19|20)\d\d)\b", re.IGNORECASE),
    re.compile(
        r"\b(?:in|since|by|until|during|before|after|from) (?P<y>(?:19|20)\d\d)\b(?!\s?[-./]\s?\d)", re.IGNORECASE
    ),
    re.compile(
        rf"(?<!sum )(?<!total )(?<!amount )(?<!price )(?<!number )\bof (?P<y>19[5-9]\d|20(?!00)\d\d)\b(?![,.]\d|-)"
        rf"(?!\s(?:{TABLES.counters_en})\b)"
    ),
)
_DIGITS: Final = {digit: value for value, digit in enumerate("일이삼사오육칠팔구", 1)}
_SMALL: Final = {"십": 10, "백": 100, "천": 1000}
_LARGE: Final = {"만": 10**4, "억": 10**8, "조": 10**12}
_SPELT: Final = f"[{''.join((*_DIGITS, *_SMALL))}]"
_WORD_EN: Final = "|".join((*TABLES.numbers_en, *TABLES.scales_en))
_NO_NOUN: Final = r"\s*(?:$|[.,;:!?)])|\s(?:is|was|were|are|in|to|for|by|as|or|and|on|from|at|that|plus|per|due|owed)\b"
"""What follows a sum that has no currency; a noun would say that people or things are counted."""
_AMOUNTS: Final = (
    re.compile(
        rf"(?<![\d.,])(?P<zh>(?:{_NUMBER}\s?{_ZH_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)(?P<currency>{_ZH_MONEY})"
    ),
    re.compile(rf"人民币\s?(?P<zh>{_NUMBER}\s?{_ZH_UNIT}?)(?!\s?[元\d])"),
    re.compile(rf"(?P<spelt_zh>{_ZH_SPELT}{{2,12}})(?P<currency>{_ZH_MONEY})"),
    re.compile(rf"(?<![\d.,])(?P<ko>(?:{_NUMBER}\s?{_KO_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)원(?![고심칙])"),
    re.compile(
        rf"(?<![\d.,])(?P<ko>(?:{_NUMBER}\s?{_KO_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)"
        r"(?:미국\s?|미\s?)?(?P<currency>달러|유로|엔(?![지진터])|파운드|위안)"
    ),
    re.compile(
        rf"(?<![\d.,제])(?P<ko>(?:{_NUMBER}\s?조\s?)?(?:{_NUMBER}\s?(?:억|천만|백만)\s?){{1,3}})"
        rf"(?!\s?(?:{TABLES.counters_ko}))(?=$|[^\d가-힣]|[이을은의에가까정])"
    ),
    re.compile(rf"(?<![\d.,제])(?P<ko>{_NUMBER}\s?만)(?=[을은이가][^.?!]{{0,12}}(?:{TABLES.paying_ko}))"),
    re.compile(
        rf"(?P<currency>US\$|[₩￦$€£¥]|\b(?:KRW|USD|EUR|GBP|JPY|CNY|RMB)|\b[Ww]on(?=\s?\d[\d,]{{4}}))"
        rf"\s?(?P<number>{_NUMBER})(?P<unit>{_EN_UNIT})?"
    ),
    re.compile(
        rf"(?<![\d.,])(?<!weigh )(?<!weighs )(?<!weighed )(?P<number>{_NUMBER})(?P<unit>{_EN_UNIT})?"
        r"\s(?P<currency>won|dollars?|euros?|pounds?|yen|yuan|KRW|USD|EUR|GBP|JPY|CNY|RMB)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<words>(?:(?:{_WORD_EN})[\s-](?:and )?){{0,8}}(?:{'|'.join(TABLES.scales_en)}))\s"
        rf"(?P<currency>won|dollars?|euros?|pounds?|yen)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\d.,])(?P<number>{_NUMBER})(?P<unit>\s(?:million|billion|trillion))(?={_NO_NOUN})", re.IGNORECASE
    ),
    re.compile(
        rf"(?:(?<![가-힣])|(?<=금))(?<!몇 )(?<!수 )(?!구조원|[조억만])(?P<spelt>(?:{_SPELT}{{1,7}}[조억만]\s?){{1,4}}"
        rf"(?:{_SPELT}{{1,7}})?|[{''.join(_DIGITS)}][천백]{_SPELT}{{0,6}})\s?원(?![고심칙])"
    ),
)
_KO_PART: Final = re.compile(rf"({_NUMBER})\s?({_KO_UNIT}|{_ZH_UNIT})?")


def particulars(text: str) -> list[Particular]:
    """What a text names, in the order cases, statutes, dates, amounts."""
    found: list[Particular] = []
    for patterns, read in _READERS:
        for pattern in patterns:
            text, some = _take(pattern, text, read)
            found += some
    return found


Read = Callable[[re.Match[str]], Particular | None]


def _take(pattern: re.Pattern[str], text: str, read: Read) -> tuple[str, list[Particular]]:
    """Blank out what is read, so that `2024.3.5` is not read again as another number."""
    found: list[Particular] = []

    def seen(match: re.Match[str]) -> str:
        particular = read(match)
        if particular is None:
            return match[0]
        found.append(particular)
        return "\x00" * len(match[0])

    return pattern.sub(seen, text), found


def _case(match: re.Match[str]) -> Particular:
    return Particular("case", (re.sub(r"[\s()（）〔〕\[\]-]", "", match[0]).casefold(),), match[0].strip())


def _statute_ko(match: re.Match[str]) -> Particular | None:
    law = re.sub(r"\s", "", match["law"] or "")
    if any(law.endswith(word) for word in TABLES.not_laws):
        law = ""
    if not law and (not match["mark"] or _of_contract(match)):
        return None
    return Particular("statute", (law, _article(match)), match[0].strip())


def _of_contract(match: re.Match[str]) -> bool:
    """Whether an article is one of a contract, which is no law."""
    return _CONTRACT.search(match.string, 0, match.start()) is not None


def _statute_zh(match: re.Match[str]) -> Particular | None:
    law = (match["law"] or match["bare"] or "").removeprefix("中华人民共和国")
    if not law and _of_contract(match):
        return None
    law = re.sub(r"^(?:根据|依据|依照|按照|适用|违反|参照|以及|和|与|及|即|是)", "", law)
    article = _number_zh(match["article"])
    branch = f"-{_number_zh(match['branch'])}" if match["branch"] else ""
    return Particular("statute", (law, f"{article}{branch}"), match[0].strip())


def _statute_en(match: re.Match[str]) -> Particular:
    law = (match["before"] or match["after"] or "").strip().removeprefix("The ").casefold()
    return Particular("statute", (law, _article(match)), match[0].strip())


def _article(match: re.Match[str]) -> str:
    return f"{int(match['article'])}-{match['branch']}" if match["branch"] else str(int(match["article"]))


def _date(match: re.Match[str]) -> Particular | None:
    parts = match.groupdict()
    month = _number_zh(parts.get("m") or "0")
    if parts.get("month"):
        month = next(place for place, name in enumerate(TABLES.months, 1) if name[:3] == parts["month"][:3].casefold())
    year, day = _number_zh(parts.get("y") or _in_full(parts.get("short"))), _number_zh(parts.get("d") or "0")
    ways = ((month, day), (day, month)) if parts.get("mark") else ((month, day),)
    keys = [(str(year), str(month), str(day)) for month, day in ways if month <= 12 and day <= 31]
    return Particular("date", keys[0], match[0].strip(), *keys[1:]) if keys else None


def _in_full(short: str | None) -> str:
    """The year that '23 is."""
    if short is None:
        return "0"
    return f"20{short}" if short < _CENTURY_BEFORE else f"19{short}"


_CENTURY_BEFORE: Final = "70"
"""From here on two digits are a year of the century before."""


def _amount(match: re.Match[str]) -> Particular:
    parts = match.groupdict()
    if parts.get("spelt"):
        return Particular("amount", (str(_spelt(parts["spelt"])), "KRW"), match[0].strip())
    if parts.get("spelt_zh"):
        return Particular("amount", (str(_number_zh(parts["spelt_zh"])), _money_zh(parts)), match[0].strip())
    if parts.get("zh"):
        return Particular("amount", (_plain(_summed(parts["zh"])), _money_zh(parts)), match[0].strip())
    if parts.get("ko"):
        currency = TABLES.currencies[parts["currency"]] if parts.get("currency") else "KRW"
        return Particular("amount", (_plain(_summed(parts["ko"])), currency), match[0].strip())
    currency = TABLES.currencies[parts["currency"].casefold()] if parts.get("currency") else ""
    if parts.get("words"):
        return Particular("amount", (str(_worded(parts["words"])), currency), match[0].strip())
    unit = (parts["unit"] or "").strip().casefold()
    value = _decimal(parts["number"]) * _UNITS.get(unit, 1)
    return Particular("amount", (_plain(value), currency), match[0].strip())


def _summed(words: str) -> Decimal:
    """Read a number of which parts have units: 3억 5000만, 1亿2000万."""
    return sum((_decimal(number) * _UNITS.get(unit, 1) for number, unit in _KO_PART.findall(words)), Decimal(0))


def _money_zh(parts: dict[str, str]) -> str:
    return TABLES.currencies[parts.get("currency") or "元"]


def _number_zh(words: str) -> int:
    """Read a number in figures or in Chinese words: 五百七十七 is 577, 二〇二五 is 2025."""
    if words.isdecimal() and words.isascii():
        return int(words)
    if not set(words) & {*_ZH_SMALL, *_ZH_LARGE}:
        return int("".join(str(_ZH_DIGITS[char]) for char in words))
    return _read(words, _ZH_DIGITS, _ZH_SMALL, _ZH_LARGE)


def _spelt(words: str) -> int:
    """Read a number in Korean words: 이천오백만 is 25,000,000."""
    return _read(words, _DIGITS, _SMALL, _LARGE)


def _read(words: str, digits: Mapping[str, int], small: Mapping[str, int], large: Mapping[str, int]) -> int:
    whole = part = digit = 0
    for char in words:
        if char in digits:
            digit = digits[char]
        elif char in small:
            part += (digit or 1) * small[char]
            digit = 0
        elif char in large:
            whole += (part + digit) * large[char]
            part = digit = 0
    return whole + part + digit


def _worded(words: str) -> int:
    """Read a number in English words: twenty-five thousand is 25,000."""
    whole = part = 0
    for word in re.split(r"[\s-]+", words.casefold()):
        scale = TABLES.scales_en.get(word, 0)
        if scale == _HUNDRED:
            part = (part or 1) * scale
        elif scale:
            whole, part = whole + (part or 1) * scale, 0
        else:
            part += TABLES.numbers_en.get(word, 0)
    return whole + part


_HUNDRED: Final = 100


def _decimal(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")


_READERS: Final[tuple[tuple[tuple[re.Pattern[str], ...], Read], ...]] = (
    (_CASES, _case),
    ((_STATUTE_ZH,), _statute_zh),
    ((_STATUTE_KO,), _statute_ko),
    ((_STATUTE_EN,), _statute_en),
    (_DATES, _date),
    (_AMOUNTS, _amount),
)
