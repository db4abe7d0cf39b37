"""Sums of money as they are written: in figures and in words, with and without a currency, Korean, English, Chinese."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from playmolt_legal.guardrails.numbers import (
    DIGITS_KO,
    SPELT_KO,
    SPELT_ZH,
    chinese,
    decimal,
    english,
    korean,
    with_units,
)
from playmolt_legal.guardrails.tables import TABLES

_SCALES_EN: Final = {
    **TABLES.scales_en, "k": 10**3, "lakh": 10**5, "m": 10**6, "mil": 10**6, "crore": 10**7, "bn": 10**9,
}  # fmt: skip

_NUMBER: Final = r"(?:\d{1,3}(?:\.\d{3})+,\d\d(?!\d)|\d[\d,]*(?:\.\d+)?)"
"""A number as it is written in English and Asia, or 3.500,00 as in Europe."""
_ALONE: Final = rf"(?<![\d.,])(?P<number>{_NUMBER})"
_SPACED: Final = r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)"
_THOUSANDS: Final = r"\d{1,3}(?:,\d{3})+(?![\d,]|\.\d)"
_SHORT_UNIT: Final = r"(?:k|m|mil|bn|grand)\b"
_EN_UNIT: Final = r"(?:\s?(?:thousand|million|billion|trillion|lakh|crore|bn|k|m)\b)"
_WORD_EN: Final = "|".join((*TABLES.numbers_en, *TABLES.scales_en))
_NO_NOUN: Final = (
    r"\s*(?:$|[.,;:!?)])"
    r"|\s(?:is|was|were|are|in|to|for|by|as|or|and|on|from|at|that|plus|per|due|owed)\b"
)
"""What follows a sum that has no currency; a noun would say that people or things are counted."""
_NO_THING: Final = (
    rf"{_NO_NOUN}|\s(?:an?|each|every|this|last|next|monthly|yearly|annually|weekly|back|into|with|out|off|within"
    r"|before|after|until|since|when|which|if|but|because|so|towards?|more|less|extra"
    r"|of (?:his|her|their|our|your|the))\b"
)
"""The same beside a word for money."""
_PAYING_EN: Final = rf"\b(?:{TABLES.paying_en})\b[^.;?!\d]{{0,30}}(?<![\w.,-])"
_ISO: Final = (
    "KRW|USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|AUD|CAD|HKD|NZD|SGD|TWD|THB|MYR|IDR|VND|BRL|MXN|ZAR|SAR|AED|SEK|NOK|DKK|PLN"
    "|ILS"
)
_OF_COUNTRY: Final = (
    "US|U\\.S\\.|American|Australian|Canadian|Hong Kong|New Zealand|Singapore|Taiwan|Swiss|Indian|Korean|Japanese"
    "|Chinese|British"
)
_NAMED_EN: Final = (
    "won|dollars?|bucks|euros?|pounds?|quid|francs?|rupees|yen|yuan|baht|pesos|riyals|dirhams|ringgit|roubles|rubles"
    "|shekels|zlotys?|krone[rn]?|krona|kronor"
)
_ZH_UNIT: Final = "(?:亿|千万|百万|十万|万|千|百)"
_ZH_ABOUT: Final = "[余多来]?"
_ZH_SUM: Final = (
    rf"(?:{_NUMBER}\s?{_ZH_ABOUT}{_ZH_UNIT}{_ZH_ABOUT}\s?){{1,6}}(?:{_NUMBER}\s?)?|{_NUMBER}\s?{_ZH_ABOUT}\s?"
)
_ZH_MONEY: Final = (
    "港元|港币|加元|澳元|瑞士法郎|卢布|卢比|泰铢|新台币|美元|美金|欧元|日元|韩元|英镑"
    "|元(?!旦|素|件|首|月|气|宵)|块(?=钱|$|[，。；、])"
)
_ZH_PAYING: Final = rf"(?:{TABLES.paying_zh})[^\d。；]{{0,6}}"
_ZH_END: Final = "(?=$|[，。；、！）]|左右|上下|以[上下内]|现金|给|用于|作为|并|后|已|未|整|至今)"
"""What follows a sum that has no currency."""
_KO_UNIT: Final = "(?:조|억|[천백십]여\\s?만|천만|백만|십만|만|천|백|십)"
_KO_SUM: Final = rf"(?:{_NUMBER}\s?여?\s?{_KO_UNIT}\s?여?\s?){{1,6}}(?:{_NUMBER}\s?여?\s?)?|{_NUMBER}\s?여?\s?"
_KO_RANGE: Final = r"(?:\s?(?P<about>대)(?=$|[^가-힣]|[의를에로이]))?"
"""A sum in the range that a figure begins: 20만원대, 15억대."""
_COUNTED_KO: Final = rf"(?!\s?(?:{TABLES.counters_ko}))"
_BEHIND_KO: Final = "(?:[이을은의에가까정도대과와씩쯤]|으로|짜리|어치|남짓)"
"""What clings to a sum in Korean."""
_KO_ALONE: Final = rf"{_COUNTED_KO}(?=$|[^\d가-힣]|{_BEHIND_KO})"
_ABROAD_KO: Final = (
    "달러|불(?=$|[^가-힣]|[을은이의에로씩](?!행))|유로|엔(?![지진터])|파운드|위안|프랑|루피|루블|바트|페소|링깃"
)
_SPELT: Final = rf"(?:(?<![가-힣])|(?<=금))(?<!몇 )(?<!수 )(?!구조원|[조억]|만(?!\s?[{DIGITS_KO}]))"

PATTERNS: Final = (
    re.compile(rf"(?P<currency>港币|新台币)\s?(?P<zh>{_NUMBER}\s?{_ZH_UNIT}?)\s?元?"),
    re.compile(rf"(?<![\d.,])(?P<zh>{_ZH_SUM})(?P<currency>{_ZH_MONEY})"),
    re.compile(rf"人民币\s?(?P<zh>{_NUMBER}\s?{_ZH_UNIT}?)(?!\s?[元\d])"),
    re.compile(
        rf"{_ZH_PAYING}(?P<sum>{_NUMBER}\s?(?:{_ZH_ABOUT}(?:亿|千万|百万|十万|万){_ZH_ABOUT}(?:\d千?)?|[wWkK千]))(?P<level>级)?{_ZH_END}"
    ),
    re.compile(
        rf"(?P<spelt_zh>{SPELT_ZH}{{1,11}}{_ZH_ABOUT}[十百千万亿]{_ZH_ABOUT}|{SPELT_ZH}{{2,12}})(?P<currency>{_ZH_MONEY})"
    ),
    re.compile(rf"{_ZH_PAYING}?(?P<sum>{SPELT_ZH}{{1,6}}{_ZH_ABOUT}[万亿]{_ZH_ABOUT}|{SPELT_ZH}{{1,6}}[万千百][一二三四五六七八九]){_ZH_END}"),
    re.compile(rf"(?<![\d.,])(?P<ko>{_KO_SUM})원(?![고심칙색]){_KO_RANGE}"),
    re.compile(rf"(?<![\d.,])(?P<ko>{_KO_SUM})(?:미국\s?|미\s?|스위스\s?|인도\s?)?(?P<currency>{_ABROAD_KO})"),
    re.compile(rf"(?<![\d.,제])(?P<short_ko>(?:{_NUMBER}\s?조\s?)?{_NUMBER}\s?억\s?(?:{_NUMBER}\s?[천백]\s?){{1,2}}){_KO_ALONE}"),
    re.compile(
        rf"(?<![\d.,제])(?P<ko>(?:{_NUMBER}\s?조\s?)?(?:{_NUMBER}\s?여?(?:억|천만|백만)\s?여?){{1,3}}){_KO_RANGE}{_KO_ALONE}"
    ),
    re.compile(rf"(?<![\d.,제])(?P<ko>{_NUMBER}\s?만)(?:(?=[을은이가][^.?!]{{0,12}}(?:{TABLES.paying_ko}))|(?=\s?(?:상당|어치)))"),
    re.compile(rf"(?<![\d.,제])(?P<short_ko>{_NUMBER}\s?천)(?=[을은이][^.?!]{{0,12}}(?:{TABLES.paying_ko}))"),
    re.compile(rf"(?:{TABLES.money_ko})[은는이가을를]?\s?(?:총\s?)?(?P<short_ko>{_NUMBER}\s?천)(?=[에을은의이]|$|[,.])"),
    re.compile(
        rf"(?P<currency>(?<![A-Za-z])(?:US|HK|AU?|NZ?|CA?|S|NT|R)\$|[₩￦$€£¥￥₹]|(?<![A-Za-z])(?:{_ISO})|(?<![A-Za-z])Rs\.?"
        r"|\b[Ww]on(?=\s?\d[\d,]{4}))"
        rf"\s?(?P<number>{_SPACED}|{_NUMBER})(?P<unit>{_EN_UNIT})?"
    ),
    re.compile(rf"{_ALONE}(?P<unit>\sgrand)\b"),
    re.compile(rf"\b(?P<words>(?:(?:{'|'.join(TABLES.numbers_en)})[\s-]){{1,3}}grand)(?={_NO_THING})", re.IGNORECASE),
    re.compile(
        rf"(?<![\d.,])(?<!weigh )(?<!weighs )(?<!weighed )(?P<number>{_NUMBER})(?P<unit>{_EN_UNIT})?"
        rf"\s(?:(?P<of>{_OF_COUNTRY}) )?(?P<currency>{_NAMED_EN}|{_ISO})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:(?P<half>half )|(?P<quarter>quarter of ))?"
        rf"(?P<words>(?:(?:{_WORD_EN})[\s-](?:and )?){{0,8}}(?:{'|'.join(TABLES.scales_en)}))\s"
        rf"(?:(?P<of>{_OF_COUNTRY}) )?(?P<currency>won|dollars?|euros?|pounds?|quid|francs?|rupees|yen)\b",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?:(?P<half>half )|(?P<quarter>quarter of ))(?P<words>a [mb]illion)(?={_NO_THING})", re.IGNORECASE),
    re.compile(rf"{_ALONE}(?P<unit>\s(?:million|billion|trillion))(?={_NO_NOUN})", re.IGNORECASE),
    re.compile(
        rf"{_PAYING_EN}(?P<figure>(?P<number>{_THOUSANDS}|{_NUMBER}(?=\s?{_SHORT_UNIT}))(?P<unit>\s?{_SHORT_UNIT})?)"
        rf"(?={_NO_THING})",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\w.,-])(?P<number>{_NUMBER})(?P<unit>\s?{_SHORT_UNIT})(?= (?:in )?(?:{TABLES.sums_en})\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_SPELT}(?P<spelt>(?:{SPELT_KO}{{1,7}}[조억만]\s?여?\s?){{1,4}}(?:{SPELT_KO}{{1,7}})?|만\s?{SPELT_KO}{{2,7}}"
        rf"|[{DIGITS_KO}][천백]{SPELT_KO}{{0,6}})\s?(?:원(?![고심칙색]){_KO_RANGE}|(?P<currency>달러|유로|엔(?![지진터])|파운드|위안))"
    ),
    re.compile(rf"{_SPELT}(?P<spelt>{SPELT_KO}{{1,7}}[조억])\s?(?P<about>대)(?=$|[^가-힣]|[의를에로이])"),
    re.compile(rf"{_SPELT}(?P<spelt_short>[{DIGITS_KO}]?천[{DIGITS_KO}백십]{{0,4}})(?=[을은이][^.?!]{{0,12}}(?:{TABLES.paying_ko}))"),
)  # fmt: skip
_ABOUT: Final = re.compile("[여余多来]")
_CURRENCIES: Final = TABLES.currencies


class Sum(NamedTuple):
    """A sum of money: its value, its currency ("" where it has none), its text.

    `below` is None, or the end of the range that the value begins: 15억대 and 十余万元 are ranges.
    """

    value: Decimal
    currency: str
    text: str
    below: Decimal | None


def reading(match: re.Match[str]) -> Sum | None:
    """The sum of a match; None where something else than money is counted."""
    parts = match.groupdict()
    about = bool(parts.get("about") or parts.get("level"))
    if about and not parts.get("currency") and _counts(match):
        return None
    value, usual = _valued(parts)
    text = (parts.get("sum") or parts.get("figure") or match[0]).strip()
    ranged = about or _ABOUT.search(text) is not None
    return Sum(value, _currency(parts, usual), text, value + _last_place(value) if ranged else None)


_COUNTING_KO: Final = re.compile(rf"(?:{TABLES.counting_ko})[^.?!]{{0,6}}$")
_BEFORE_CHARS: Final = 12


def _counts(match: re.Match[str]) -> bool:
    """Whether what comes before says that people or clicks are counted: 인구가 15억대."""
    return _COUNTING_KO.search(match.string, max(0, match.start() - _BEFORE_CHARS), match.start()) is not None


def _last_place(value: Decimal) -> Decimal:
    """The place of the last figure that is not 0: a hundred million in fifteen hundred million."""
    return Decimal(1).scaleb(int(value.normalize().as_tuple().exponent))


def _currency(parts: Mapping[str, str | None], usual: str) -> str:
    if (named := parts.get("currency")) is None:
        return usual
    abroad = _CURRENCIES.get(f"{parts.get('of')} {named}".casefold())
    return abroad or _CURRENCIES[named.casefold().rstrip(".")]


def _valued(parts: Mapping[str, str | None]) -> tuple[Decimal, str]:
    """A value, and the currency that is meant where none is named."""
    if spelt := parts.get("spelt"):
        return Decimal(korean(_ABOUT.sub("", spelt))), "KRW"
    if spelt := parts.get("spelt_short"):
        return Decimal(korean(spelt) * 10**4), "KRW"
    if said := parts.get("zh") or parts.get("spelt_zh") or parts.get("sum"):
        return _chinese_sum(_ABOUT.sub("", said)), "CNY"
    if figures := parts.get("ko") or parts.get("short_ko"):
        exact = _ABOUT.sub("", figures)
        return with_units(exact if parts.get("ko") else f"{exact}만"), "KRW"
    if words := parts.get("words"):
        return Decimal(english(words)) / (2 if parts.get("half") else 4 if parts.get("quarter") else 1), ""
    unit = (parts.get("unit") or "").strip().casefold()
    return decimal(parts["number"] or "") * _SCALES_EN.get(unit, 1), ""


def _chinese_sum(said: str) -> Decimal:
    """10w is 十万, 3万5 is 35,000."""
    figures = re.sub("[wW]", "万", re.sub("[kK]", "千", said))
    if not re.search(r"\d", figures):
        return Decimal(chinese(figures))
    colloquial = re.fullmatch(r"(.*万)(\d)千?", figures)
    return with_units(f"{colloquial[1]}{colloquial[2]}千" if colloquial else figures)
