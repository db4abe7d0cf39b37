"""What a sentence names that can be looked up: dates, amounts, statutes, case numbers. Korean, English and Chinese."""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal

import msgspec

from playmolt_legal.guardrails import dates
from playmolt_legal.guardrails.numbers import DIGITS_KO, SPELT_KO, SPELT_ZH, chinese, english, korean
from playmolt_legal.guardrails.tables import TABLES

ParticularKind = Literal["case", "statute", "date", "amount"]


class Particular(msgspec.Struct, frozen=True):
    """Something named: its kind, its value independent of spelling, and its original text.

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

_NUMBER: Final = r"\d[\d,]*(?:\.\d+)?"
_KO_UNIT: Final = "(?:조|억|천만|백만|십만|만|천|백)"
_EN_UNIT: Final = r"(?:\s?(?:thousand|million|billion|trillion|bn|k|m)\b)"
_ZH_UNIT: Final = "(?:亿|千万|百万|十万|万|千|百)"
_ZH_MONEY: Final = (
    "港元|港币|加元|澳元|瑞士法郎|卢布|卢比|新台币|美元|美金|欧元|日元|韩元|英镑"
    "|元(?!旦|素|件|首|月|气|宵)|块(?=钱|$|[，。；、])"
)
_CODE: Final = "|".join(sorted(TABLES.case_codes, key=len, reverse=True))
_PARTY: Final = r"[A-Z][\w.&'’-]*"
_LAW_EN: Final = (
    r"(?:[A-Z][a-z]+ (?:of |and |for )?){1,5}(?:Act|Code|Constitution|Ordinance|Convention|Rules|Regulations?)"
)

_CASES: Final = (
    re.compile(r"[（(\[〔](?:19|20)\d\d[）)\]〕]\s?[\u4e00-\u9fff]{1,3}\d{0,4}[\u4e00-\u9fff]{1,4}\d{1,7}号"),
    re.compile(rf"(?<!\d)(?:19|20)?\d\d\s?(?:{_CODE})\s?\d{{1,7}}(?![\d가-힣]*[년월일])(?!\d)"),
    re.compile(rf"(?<!\d)(?:19|20)\d\d\s?-?(?:{'|'.join(TABLES.case_codes_en)})-?\s?\d{{1,7}}(?!\d)"),
    re.compile(r"\[(?:18|19|20)\d\d\] (?:\d{1,2} )?[A-Z][A-Za-z]{1,6}(?: [A-Z][a-z]{1,5})? \d{1,5}\b"),
    re.compile(rf"\b\d{{1,4}} (?:{TABLES.reporters_en}) \d{{1,5}}\b"),
    re.compile(rf"\b{_PARTY}(?: (?:of|the|and|&|{_PARTY})){{0,4}} vs?\.? {_PARTY}(?: [A-Z][\w&'’-]*){{0,3}}"),
    re.compile(r"\b[Cc]ases? [CT][-‑]\d{1,4}/\d\d\b"),
    re.compile(r"\b(?:[Cc]ase|[Dd]ocket) (?:[Nn]o\.?|[Nn]umber) ?[\w-]*\d[\w/-]*"),
)
_STATUTE_KO: Final = re.compile(
    r"(?:(?P<law>[가-힣·]{0,20}[가-힣]법(?:률)?(?:\s?시행(?:령|규칙))?)\s*)?(?P<mark>제\s?)?(?P<article>\d{1,4})\s?조(?!\s?원|[건직합정사치약각])"
    r"(?:\s?의\s?(?P<branch>\d+))?(?:\s?제?\s?\d+\s?항)?(?:\s?제?\s?\d+\s?호)?"
)
_STATUTE_ZH: Final = re.compile(
    rf"(?:《(?P<law>[^》\n]{{1,40}})》\s?|(?P<bare>[\u4e00-\u9fff]{{1,12}}(?:法典|法|条例|规定)))?"
    rf"第\s?(?P<article>\d{{1,4}}|{SPELT_ZH}{{1,9}})\s?条(?:之\s?(?P<branch>\d+|{SPELT_ZH}{{1,3}}))?"
    rf"(?:\s?第\s?(?:\d+|{SPELT_ZH}+)\s?[款项])*"
)
_CONTRACT: Final = re.compile(rf"(?:{TABLES.contracts})(?:\s?[의상])?\s?$")
_OF_LAW: Final = (
    rf"(?<![\w'’])(?:ss?\.|[Rr]ules?|[Rr]egulations?)(?=\s?\d{{1,4}}(?:\(\w{{1,3}}\))* of (?:the )?{_LAW_EN})"
)
"""What also begins an article where its law follows."""
_STATUTE_EN: Final = re.compile(
    rf"(?:(?P<before>{_LAW_EN}),? )?(?:\b(?:[Aa]rticles?|[Aa]rt\.|[Ss]ections?|[Ss]ec\.)|§§?|{_OF_LAW})\s?"
    rf"(?P<article>\d{{1,4}})(?:-(?P<branch>\d+))?(?!\d|-\d)"
    rf"(?!(?:\(\w{{1,3}}\))* of (?:the |this |that |our |their )?(?:[a-z]+ )?(?:{TABLES.contracts_en}))"
    rf"(?:\(\w{{1,3}}\))*(?: of (?:the )?(?P<after>{_LAW_EN}))?"
)
_WORD_EN: Final = "|".join((*TABLES.numbers_en, *TABLES.scales_en))
_NO_NOUN: Final = r"\s*(?:$|[.,;:!?)])|\s(?:is|was|were|are|in|to|for|by|as|or|and|on|from|at|that|plus|per|due|owed)\b"
"""What follows a sum that has no currency; a noun would say that people or things are counted."""
_AMOUNTS: Final = (
    re.compile(rf"(?P<currency>港币|新台币)\s?(?P<zh>{_NUMBER}\s?{_ZH_UNIT}?)\s?元?"),
    re.compile(
        rf"(?<![\d.,])(?P<zh>(?:{_NUMBER}\s?{_ZH_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)(?P<currency>{_ZH_MONEY})"
    ),
    re.compile(rf"人民币\s?(?P<zh>{_NUMBER}\s?{_ZH_UNIT}?)(?!\s?[元\d])"),
    re.compile(rf"(?P<spelt_zh>{SPELT_ZH}{{2,12}})(?P<currency>{_ZH_MONEY})"),
    re.compile(
        rf"(?<![\d.,])(?P<ko>(?:{_NUMBER}\s?{_KO_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)원(?![고심칙색])"
    ),
    re.compile(
        rf"(?<![\d.,])(?P<ko>(?:{_NUMBER}\s?{_KO_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)"
        r"(?:미국\s?|미\s?|스위스\s?|인도\s?)?(?P<currency>달러|유로|엔(?![지진터])|파운드|위안|프랑|루피|루블)"
    ),
    re.compile(
        rf"(?<![\d.,제])(?P<ko>(?:{_NUMBER}\s?조\s?)?(?:{_NUMBER}\s?(?:억|천만|백만)\s?){{1,3}})"
        rf"(?!\s?(?:{TABLES.counters_ko}))(?=$|[^\d가-힣]|[이을은의에가까정])"
    ),
    re.compile(rf"(?<![\d.,제])(?P<ko>{_NUMBER}\s?만)(?=[을은이가][^.?!]{{0,12}}(?:{TABLES.paying_ko}))"),
    re.compile(
        rf"(?P<currency>US\$|[₩￦$€£¥₹]|\b(?:KRW|USD|EUR|GBP|JPY|CNY|RMB|CHF|INR)|\b[Ww]on(?=\s?\d[\d,]{{4}}))"
        rf"\s?(?P<number>{_NUMBER})(?P<unit>{_EN_UNIT})?"
    ),
    re.compile(
        rf"(?<![\d.,])(?<!weigh )(?<!weighs )(?<!weighed )(?P<number>{_NUMBER})(?P<unit>{_EN_UNIT})?"
        r"\s(?:Swiss |Indian )?(?P<currency>won|dollars?|euros?|pounds?|francs?|rupees|yen|yuan"
        r"|KRW|USD|EUR|GBP|JPY|CNY|RMB|CHF|INR)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<words>(?:(?:{_WORD_EN})[\s-](?:and )?){{0,8}}(?:{'|'.join(TABLES.scales_en)}))\s"
        rf"(?:Swiss |Indian )?(?P<currency>won|dollars?|euros?|pounds?|francs?|rupees|yen)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\d.,])(?P<number>{_NUMBER})(?P<unit>\s(?:million|billion|trillion))(?={_NO_NOUN})", re.IGNORECASE
    ),
    re.compile(
        rf"(?:(?<![가-힣])|(?<=금))(?<!몇 )(?<!수 )(?!구조원|[조억만])(?P<spelt>(?:{SPELT_KO}{{1,7}}[조억만]\s?){{1,4}}"
        rf"(?:{SPELT_KO}{{1,7}})?|[{DIGITS_KO}][천백]{SPELT_KO}{{0,6}})\s?원(?![고심칙색])"
    ),
)
_BEFORE_CHARS: Final = 40
"""The longest word for a contract with what may follow it."""
_REMEMBERED_CHARS: Final = 1000
_KO_PART: Final = re.compile(rf"({_NUMBER})\s?({_KO_UNIT}|{_ZH_UNIT})?")


def particulars(text: str) -> tuple[Particular, ...]:
    """What a text names, in the order cases, statutes, dates, amounts."""
    return _remembered(text) if len(text) <= _REMEMBERED_CHARS else _found(text)


def _found(text: str) -> tuple[Particular, ...]:
    found: list[Particular] = []
    for patterns, read in _READERS:
        for pattern in patterns:
            text, some = _take(pattern, text, read)
            found += some
    return tuple(found)


_remembered: Final = lru_cache(maxsize=1024)(_found)
"""Several checks of one answer look at the same sentences."""


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


_SIDES: Final = re.compile(r"([\w&'’-]+)\.? vs?\.? ([\w&'’-]+)")


def _case(match: re.Match[str]) -> Particular:
    """A case with parties is known by the words beside the "v": "In Smith v Jones Ltd" is Smith v. Jones."""
    if sides := _SIDES.search(match[0]):
        return Particular("case", (f"{sides[1]} v {sides[2]}".casefold(),), match[0].strip())
    return Particular("case", (re.sub(r"[\s()（）〔〕\[\]-]", "", match[0]).casefold(),), match[0].strip())


def _statute_ko(match: re.Match[str]) -> Particular | None:
    law = re.sub(r"\s", "", match["law"] or "")
    if any(law.endswith(word) for word in TABLES.not_laws):
        law = ""
    if not law and (not match["mark"] or _of_contract(match)):
        return None
    return Particular("statute", (law, _article(match)), match[0].strip())


def _of_contract(match: re.Match[str]) -> bool:
    """Whether an article belongs to a contract rather than a law."""
    # Not from the beginning of the text: an upload has thousands of articles.
    return _CONTRACT.search(match.string, max(0, match.start() - _BEFORE_CHARS), match.start()) is not None


def _statute_zh(match: re.Match[str]) -> Particular | None:
    law = (match["law"] or match["bare"] or "").removeprefix("中华人民共和国")
    if not law and _of_contract(match):
        return None
    law = re.sub(r"^(?:根据|依据|依照|按照|适用|违反|参照|以及|和|与|及|即|是)", "", law)
    article = chinese(match["article"])
    branch = f"-{chinese(match['branch'])}" if match["branch"] else ""
    return Particular("statute", (law, f"{article}{branch}"), match[0].strip())


def _statute_en(match: re.Match[str]) -> Particular:
    law = (match["before"] or match["after"] or "").strip().removeprefix("The ").casefold()
    return Particular("statute", (law, _article(match)), match[0].strip())


def _article(match: re.Match[str]) -> str:
    return f"{int(match['article'])}-{match['branch']}" if match["branch"] else str(int(match["article"]))


def _date(match: re.Match[str]) -> Particular | None:
    keys = dates.readings(match)
    return Particular("date", keys[0], match[0].strip(), *keys[1:]) if keys else None


def _amount(match: re.Match[str]) -> Particular:
    parts = match.groupdict()
    if parts.get("spelt"):
        return Particular("amount", (str(korean(parts["spelt"])), "KRW"), match[0].strip())
    if parts.get("spelt_zh"):
        return Particular("amount", (str(chinese(parts["spelt_zh"])), _money_zh(parts)), match[0].strip())
    if parts.get("zh"):
        return Particular("amount", (_plain(_summed(parts["zh"])), _money_zh(parts)), match[0].strip())
    if parts.get("ko"):
        currency = TABLES.currencies[parts["currency"]] if parts.get("currency") else "KRW"
        return Particular("amount", (_plain(_summed(parts["ko"])), currency), match[0].strip())
    currency = TABLES.currencies[parts["currency"].casefold()] if parts.get("currency") else ""
    if parts.get("words"):
        return Particular("amount", (str(english(parts["words"])), currency), match[0].strip())
    unit = (parts["unit"] or "").strip().casefold()
    value = _decimal(parts["number"]) * _UNITS.get(unit, 1)
    return Particular("amount", (_plain(value), currency), match[0].strip())


def _summed(words: str) -> Decimal:
    """Parses a number with units in its parts: 3억 5000만, 1亿2000万."""
    return sum((_decimal(number) * _UNITS.get(unit, 1) for number, unit in _KO_PART.findall(words)), Decimal(0))


def _money_zh(parts: dict[str, str]) -> str:
    return TABLES.currencies[parts.get("currency") or "元"]


def _decimal(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")


_READERS: Final[tuple[tuple[tuple[re.Pattern[str], ...], Read], ...]] = (
    (_CASES, _case),
    ((_STATUTE_ZH,), _statute_zh),
    ((_STATUTE_KO,), _statute_ko),
    ((_STATUTE_EN,), _statute_en),
    (dates.PATTERNS, _date),
    (_AMOUNTS, _amount),
)
