"""What a sentence names that can be looked up: dates, amounts, statutes, case numbers. Korean, English and Chinese."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal

import msgspec

from playmolt_legal.guardrails import dates
from playmolt_legal.guardrails.numbers import DIGITS_KO, SPELT_KO, SPELT_ZH, chinese, english, korean, with_units
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


_SCALES_EN: Final = {
    "thousand": 10**3, "k": 10**3, "grand": 10**3, "lakh": 10**5, "million": 10**6, "m": 10**6, "crore": 10**7,
    "billion": 10**9, "bn": 10**9, "trillion": 10**12,
}  # fmt: skip

_NUMBER: Final = r"(?:\d{1,3}(?:\.\d{3})+,\d\d(?!\d)|\d[\d,]*(?:\.\d+)?)"
"""A number as it is written in English and Asia, or 3.500,00 as in Europe."""
_SPACED: Final = r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)"
_KO_UNIT: Final = "(?:조|억|천만|백만|십만|만|천|백|십)"
_EN_UNIT: Final = r"(?:\s?(?:thousand|million|billion|trillion|lakh|crore|bn|k|m)\b)"
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
    re.compile(rf"\b{_PARTY}(?: (?:of|the|and|&|plc|ltd|{_PARTY})){{0,4}} vs?\.? {_PARTY}(?: [A-Z][\w&'’-]*){{0,3}}"),
    re.compile(r"\b(?:[Cc]ases? )?[CT][-‑]\d{1,4}/\d\d\b(?! ?[A-Z])"),
    re.compile(rf"\bIn re {_PARTY}(?: {_PARTY})*"),
    re.compile(r"指导(?:性)?案例第?\d{1,3}号"),
    re.compile(r"\b(?:[Cc]ase|[Dd]ocket) (?:[Nn]o\.?|[Nn]umber) ?[\w-]*\d[\w/-]*"),
)
_STATUTE_KO: Final = re.compile(
    r"(?:(?P<law>[가-힣·]{0,20}[가-힣]법(?:률)?(?:\s?시행(?:령|규칙))?)\s*)?(?P<mark>제\s?)?(?P<article>\d{1,4})\s?조(?!\s?원|[건직합정사치약각])"
    r"(?:\s?의\s?(?P<branch>\d+))?(?:\s?제?\s?\d+\s?항)?(?:\s?제?\s?\d+\s?호)?"
)
_STATUTE_ZH: Final = re.compile(
    rf"(?:《(?P<law>[^》\n]{{1,40}})》\s?|(?P<bare>[\u4e00-\u9fff]{{1,12}}(?:法典|法|条例|规定)))?"
    rf"(?:第\s?|(?<=法典|典》|法》|例》|定》)|(?<=[法例])(?=\d))(?P<article>\d{{1,4}}|{SPELT_ZH}{{1,9}})(?P<more>(?:[、和及与]\d{{1,4}}(?=[、和及与条]))*)\s?条(?:之\s?(?P<branch>\d+|{SPELT_ZH}{{1,3}}))?"
    rf"(?:\s?第\s?(?:\d+|{SPELT_ZH}+)\s?[款项])*"
)
_CONTRACT: Final = re.compile(rf"(?:{TABLES.contracts})(?:\s?[의상])?\s?$")
_ARTICLE_EN: Final = r"\d{1,4}(?:\(\w{1,3}\))*"
_MORE_EN: Final = rf"(?:(?:, (?:and |or )?| (?:and|or|to|through) | ?[&–—] ?){_ARTICLE_EN}(?!\d))"
_OF_LAW: Final = (
    rf"(?<![\w'’])(?:ss?\.?|[Rr]ules?|[Rr]egulations?)"
    rf"(?=\s?\d{{1,4}}(?:-\d+)?(?:\(\w{{1,3}}\))*{_MORE_EN}* of (?:the )?(?:{_LAW_EN}|Act|Code)\b)"
)
"""What also begins an article where its law follows."""
_STATUTE_EN: Final = re.compile(
    rf"(?:(?P<before>{_LAW_EN}),? )?"
    rf"(?:(?P<many>\b(?:[Aa]rticles|[Aa]rts\.|[Ss]ections|[Ss]ecs\.)|§§|{_OF_LAW})"
    r"|\b(?:[Aa]rticle|[Aa]rt\.|[Ss]ection|[Ss]ec\.)|§)\s?"
    r"(?P<article>\d{1,4})(?:-(?P<branch>\d+))?(?!\d|-\d)(?:\(\w{1,3}\))*+"
    rf"(?P<more>(?(many){_MORE_EN}*+))"
    rf"(?! of (?:the |this |that |our |their )?(?:[a-z]+ )?(?:{TABLES.contracts_en}))"
    rf"(?: of (?:the )?(?P<after>{_LAW_EN}))?"
)
_CODE_EN: Final = re.compile(
    r"\b(?P<law>\d{1,2} (?:U\.\s?S\.\s?C\.|USC)|U\.?C\.?C\.?)(?: §§?)?\s?"
    r"(?P<article>\d{1,5})(?P<branch>-\d{1,4}|[a-z]{0,2}\b)"
)
_ACT_EU: Final = re.compile(
    r"\b(?:Regulation|Directive) (?:\((?:EU|EC|EEC)\) )?(?:[Nn]o\.? )?(?P<number>\d{1,4}/\d{1,4})(?:/E[CU]+)?"
)
_WORD_EN: Final = "|".join((*TABLES.numbers_en, *TABLES.scales_en))
_NO_NOUN: Final = r"\s*(?:$|[.,;:!?)])|\s(?:is|was|were|are|in|to|for|by|as|or|and|on|from|at|that|plus|per|due|owed)\b"
"""What follows a sum that has no currency; a noun would say that people or things are counted."""
_ISO: Final = "KRW|USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|AUD|CAD|HKD|NZD|SGD|TWD"
_OF_COUNTRY: Final = (
    "US|U\\.S\\.|American|Australian|Canadian|Hong Kong|New Zealand|Singapore|Taiwan|Swiss|Indian|Korean|Japanese"
    "|Chinese|British"
)
_BEHIND_KO: Final = "(?:[이을은의에가까정도대과와씩]|으로)"
"""What clings to a sum in Korean."""
_AMOUNTS: Final = (
    re.compile(rf"(?P<currency>港币|新台币)\s?(?P<zh>{_NUMBER}\s?{_ZH_UNIT}?)\s?元?"),
    re.compile(
        rf"(?<![\d.,])(?P<zh>(?:{_NUMBER}\s?{_ZH_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)(?P<currency>{_ZH_MONEY})"
    ),
    re.compile(rf"人民币\s?(?P<zh>{_NUMBER}\s?{_ZH_UNIT}?)(?!\s?[元\d])"),
    re.compile(
        rf"(?:{TABLES.paying_zh})[^\d。；]{{0,6}}(?P<sum>{_NUMBER}\s?(?:亿|千万|百万|十万|万))(?=$|[，。；、！）])"
    ),
    re.compile(rf"(?P<spelt_zh>{SPELT_ZH}{{2,12}})(?P<currency>{_ZH_MONEY})"),
    re.compile(rf"(?:{TABLES.paying_zh})[^\d。；]{{0,6}}?(?P<sum>{SPELT_ZH}{{1,6}}[万亿])(?=$|[，。；、！）])"),
    re.compile(
        rf"(?<![\d.,])(?P<ko>(?:{_NUMBER}\s?{_KO_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)원(?![고심칙색])"
    ),
    re.compile(
        rf"(?<![\d.,])(?P<ko>(?:{_NUMBER}\s?{_KO_UNIT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?)"
        r"(?:미국\s?|미\s?|스위스\s?|인도\s?)?(?P<currency>달러|불(?=$|[^가-힣]|[을은이의에로씩](?!행))|유로|엔(?![지진터])|파운드|위안|프랑|루피|루블)"
    ),
    re.compile(
        rf"(?<![\d.,제])(?P<short_ko>(?:{_NUMBER}\s?조\s?)?{_NUMBER}\s?억\s?(?:{_NUMBER}\s?[천백]\s?){{1,2}})"
        rf"(?!\s?(?:{TABLES.counters_ko}))(?=$|[^\d가-힣]|{_BEHIND_KO})"
    ),
    re.compile(
        rf"(?<![\d.,제])(?P<ko>(?:{_NUMBER}\s?조\s?)?(?:{_NUMBER}\s?(?:억|천만|백만)\s?){{1,3}})"
        rf"(?!\s?(?:{TABLES.counters_ko}))(?=$|[^\d가-힣]|{_BEHIND_KO})"
    ),
    re.compile(rf"(?<![\d.,제])(?P<ko>{_NUMBER}\s?만)(?=[을은이가][^.?!]{{0,12}}(?:{TABLES.paying_ko}))"),
    re.compile(rf"(?<![\d.,제])(?P<short_ko>{_NUMBER}\s?천)(?=[을은이][^.?!]{{0,12}}(?:{TABLES.paying_ko}))"),
    re.compile(
        rf"(?P<currency>(?<![A-Za-z])(?:US|HK|AU?|NZ?|CA?|S|NT)\$|[₩￦$€£¥￥₹]|(?<![A-Za-z])(?:{_ISO})"
        r"|\b[Ww]on(?=\s?\d[\d,]{4}))"
        rf"\s?(?P<number>{_SPACED}|{_NUMBER})(?P<unit>{_EN_UNIT})?"
    ),
    re.compile(rf"(?<![\d.,])(?P<number>{_NUMBER})(?P<unit>\sgrand)\b"),
    re.compile(
        rf"(?<![\d.,])(?<!weigh )(?<!weighs )(?<!weighed )(?P<number>{_NUMBER})(?P<unit>{_EN_UNIT})?"
        rf"\s(?:(?P<of>{_OF_COUNTRY}) )?"
        rf"(?P<currency>won|dollars?|bucks|euros?|pounds?|francs?|rupees|yen|yuan|{_ISO})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:(?P<half>half )|(?P<quarter>quarter of ))?"
        rf"(?P<words>(?:(?:{_WORD_EN})[\s-](?:and )?){{0,8}}(?:{'|'.join(TABLES.scales_en)}))\s"
        rf"(?:(?P<of>{_OF_COUNTRY}) )?(?P<currency>won|dollars?|euros?|pounds?|francs?|rupees|yen)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\d.,])(?P<number>{_NUMBER})(?P<unit>\s(?:million|billion|trillion))(?={_NO_NOUN})", re.IGNORECASE
    ),
    re.compile(
        rf"(?:(?<![가-힣])|(?<=금))(?<!몇 )(?<!수 )(?!구조원|[조억]|만(?!\s?[{DIGITS_KO}]))"
        rf"(?P<spelt>(?:{SPELT_KO}{{1,7}}[조억만]\s?){{1,4}}(?:{SPELT_KO}{{1,7}})?|만\s?{SPELT_KO}{{2,7}}"
        rf"|[{DIGITS_KO}][천백]{SPELT_KO}{{0,6}})\s?(?:원(?![고심칙색])|(?P<currency>달러|유로|엔(?![지진터])|파운드|위안))"
    ),
)
_BEFORE_CHARS: Final = 40
"""The longest word for a contract with what may follow it."""
_REMEMBERED_CHARS: Final = 1000


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


Read = Callable[[re.Match[str]], Sequence[Particular]]


def _take(pattern: re.Pattern[str], text: str, read: Read) -> tuple[str, list[Particular]]:
    """Blank out what is read, so that `2024.3.5` is not read again as another number."""
    found: list[Particular] = []

    def seen(match: re.Match[str]) -> str:
        some = read(match)
        found.extend(some)
        return "\x00" * len(match[0]) if some else match[0]

    return pattern.sub(seen, text), found


_SIDES: Final = re.compile(r"([\w&'’-]+)\.? vs?\.? ([\w&'’-]+)")


def _case(match: re.Match[str]) -> list[Particular]:
    """A case with parties is known by the words beside the "v": "In Smith v Jones Ltd" is Smith v. Jones."""
    if sides := _SIDES.search(match[0]):
        return [Particular("case", (f"{sides[1]} v {sides[2]}".casefold(),), match[0].strip())]
    key = re.sub(r"[\s()（）〔〕\[\]-]|^[Cc]ases?(?= [CT])", "", match[0]).casefold()
    return [Particular("case", (key,), match[0].strip())]


def _statute_ko(match: re.Match[str]) -> list[Particular]:
    law = re.sub(r"\s", "", match["law"] or "")
    if any(law.endswith(word) for word in TABLES.not_laws):
        law = ""
    if not law and (not match["mark"] or _of_contract(match)):
        return []
    return [Particular("statute", (law, _article(match)), match[0].strip())]


def _of_contract(match: re.Match[str]) -> bool:
    """Whether an article belongs to a contract rather than a law."""
    # Not from the beginning of the text: an upload has thousands of articles.
    return _CONTRACT.search(match.string, max(0, match.start() - _BEFORE_CHARS), match.start()) is not None


def _statute_zh(match: re.Match[str]) -> list[Particular]:
    law = (match["law"] or match["bare"] or "").removeprefix("中华人民共和国")
    if not law and _of_contract(match):
        return []
    law = re.sub(r"^(?:根据|依据|依照|按照|适用|违反|参照|以及|和|与|及|即|是)", "", law)
    branch = f"-{chinese(match['branch'])}" if match["branch"] else ""
    return _listed(match, law, f"{chinese(match['article'])}{branch}")


def _statute_en(match: re.Match[str]) -> list[Particular]:
    law = (match["before"] or match["after"] or "").strip().removeprefix("The ").casefold()
    return _listed(match, law, _article(match))


def _listed(match: re.Match[str], law: str, first: str) -> list[Particular]:
    """Each article of a list: Sections 12 and 13."""
    more = re.findall(r"\d+", re.sub(r"\(\w+\)", "", match["more"] or ""))
    return [Particular("statute", (law, article), match[0].strip()) for article in (first, *more)]


def _code_en(match: re.Match[str]) -> list[Particular]:
    """A section of a numbered code: 42 U.S.C. § 1983, UCC 2-207."""
    law = re.sub(r"[\s.]", "", match["law"]).casefold()
    return [Particular("statute", (law, f"{int(match['article'])}{match['branch']}"), match[0].strip())]


def _act_eu(match: re.Match[str]) -> list[Particular]:
    return [Particular("statute", ("", match["number"]), match[0].strip())]


def _article(match: re.Match[str]) -> str:
    return f"{int(match['article'])}-{match['branch']}" if match["branch"] else str(int(match["article"]))


def _date(match: re.Match[str]) -> list[Particular]:
    keys = dates.readings(match)
    return [Particular("date", keys[0], match[0].strip(), *keys[1:])] if keys else []


def _amount(match: re.Match[str]) -> list[Particular]:
    parts = match.groupdict()
    value, currency = _sum(parts)
    return [Particular("amount", (format(value.normalize(), "f"), currency), (parts.get("sum") or match[0]).strip())]


def _sum(parts: dict[str, str | None]) -> tuple[Decimal, str]:
    """The value of a sum, and its currency, "" where it has none."""
    value, usual = _valued(parts)
    if (named := parts.get("currency")) is None:
        return value, usual
    abroad = TABLES.currencies.get(f"{parts.get('of')} {named}".casefold())
    return value, abroad or TABLES.currencies[named.casefold()]


def _valued(parts: dict[str, str | None]) -> tuple[Decimal, str]:
    """A value, and the currency that is meant where none is named."""
    if spelt := parts.get("spelt"):
        return Decimal(korean(spelt)), "KRW"
    if said := parts.get("zh") or parts.get("spelt_zh") or parts.get("sum"):
        return with_units(said) if re.search(r"\d", said) else Decimal(chinese(said)), "CNY"
    if figures := parts.get("ko") or parts.get("short_ko"):
        return with_units(figures if parts.get("ko") else f"{figures}만"), "KRW"
    if words := parts.get("words"):
        return Decimal(english(words)) / (2 if parts.get("half") else 4 if parts.get("quarter") else 1), ""
    unit = (parts.get("unit") or "").strip().casefold()
    return _decimal(parts["number"] or "") * _SCALES_EN.get(unit, 1), ""


def _decimal(number: str) -> Decimal:
    if re.fullmatch(r"[\d.]+,\d\d", number) and "." in number:
        return Decimal(number.replace(".", "").replace(",", "."))
    return Decimal(re.sub(r"[,\s]", "", number))


_READERS: Final[tuple[tuple[tuple[re.Pattern[str], ...], Read], ...]] = (
    (_CASES, _case),
    ((_STATUTE_ZH,), _statute_zh),
    ((_STATUTE_KO,), _statute_ko),
    ((_CODE_EN,), _code_en),
    ((_ACT_EU,), _act_eu),
    ((_STATUTE_EN,), _statute_en),
    ((*dates.PATTERNS, *dates.FIGURES), _date),
    (_AMOUNTS, _amount),
)
