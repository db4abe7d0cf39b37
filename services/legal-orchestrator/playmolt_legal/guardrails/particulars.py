"""What a sentence names that can be looked up: dates, amounts, statutes, case numbers. Korean, English and Chinese."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, Literal

import msgspec

from playmolt_legal.guardrails import amounts, dates
from playmolt_legal.guardrails.numbers import SPELT_KO, SPELT_ZH, chinese, korean, roman
from playmolt_legal.guardrails.tables import TABLES

ParticularKind = Literal["case", "statute", "date", "amount"]


class Particular(msgspec.Struct, frozen=True):
    """Something named: its kind, its value independent of spelling, and its original text.

    `other` is what a date such as 3/5/2024 says where the day is written first. `below` is the end of a range of
    amounts that begins with the key, "" for one amount.
    """

    kind: ParticularKind
    key: tuple[str, ...]
    text: str
    other: tuple[str, ...] = ()
    below: str = ""

    @property
    def readings(self) -> tuple[tuple[str, ...], ...]:
        return (self.key, self.other) if self.other else (self.key,)


_CODE: Final = "|".join(sorted(TABLES.case_codes, key=len, reverse=True))
_PARTY: Final = r"[A-Z][\w.&'’-]*"
_LAW_EN: Final = (
    r"(?:[A-Z][a-z]+ (?:of |and |for )?){1,5}"
    r"(?:Act|Code|Constitution|Ordinance|Rules(?: of Court)?|Regulations?|Law|Statute|Decree"
    r"|(?:Convention|Treaty)(?: on (?:the )?[A-Z][a-z]+(?: (?:(?:of|and|for) (?:the )?)?[A-Z][a-z]+){0,5})?)"
)
_SHORT_LAW: Final = f"(?:{TABLES.short_laws_en})"
_ANY_LAW: Final = rf"(?:{_LAW_EN}|{_SHORT_LAW}\b)"

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
    rf"(?:(?P<law>[가-힣·]{{0,20}}[가-힣]법(?:률)?(?:\s?시행(?:령|규칙))?|{_SHORT_LAW})[」』》]?\s*)?(?P<mark>제\s?)?"
    rf"(?P<article>\d{{1,4}}|(?<=제){SPELT_KO}{{2,7}}|(?<=법 ){SPELT_KO}{{3,7}})"
    r"(?P<more>(?:\s?(?:[,、·~-]|및|와|과|내지)\s?(?:제\s?)?\d{1,4}){0,9})"
    r"\s?조(?!\s?원|[건직합정사치약각])"
    r"(?:\s?의\s?(?P<branch>\d+))?(?:\s?제?\s?\d+\s?항)?(?:\s?제?\s?\d+\s?호)?"
)
_STATUTE_ZH: Final = re.compile(
    rf"(?:《(?P<law>[^》\n]{{1,40}})》\s?|(?P<bare>[\u4e00-\u9fff]{{1,12}}(?:法典|法|条例|规定)))?"
    rf"(?:第\s?|(?<=法典|典》|法》|例》|定》)|(?<=[法例])(?=\d))(?P<article>\d{{1,4}}|{SPELT_ZH}{{1,9}})(?P<more>(?:[、和及与]\d{{1,4}}(?=[、和及与条]))*)\s?条(?:之\s?(?P<branch>\d+|{SPELT_ZH}{{1,3}}))?"
    rf"(?:\s?第\s?(?:\d+|{SPELT_ZH}+)\s?[款项])*"
)
_CONTRACT: Final = re.compile(rf"(?:{TABLES.contracts})(?:\s?[의상])?\s?$")
_ARTICLE_EN: Final = r"\d{1,4}[A-Z]{0,2}(?:\(\w{1,3}\))*"
_ROMAN: Final = r"(?:[IVXL]{2,7}|[VX]|I(?= of ))(?![\w-])"
_MORE_EN: Final = rf"(?:(?:, (?:and |or )?| (?:and|or|to|through) | ?[&–—] ?){_ARTICLE_EN}(?!\w))"
_LAW_FOLLOWS: Final = (
    rf"\s?(?:\d{{1,4}}[A-Z]{{0,2}}(?:-\d+)?|{_ROMAN})(?:\(\w{{1,3}}\))*{_MORE_EN}*"
    rf"(?: (?:of|to) (?:the )?(?:{_ANY_LAW}|Act|Code)\b| {_ANY_LAW})"
)
_OF_LAW: Final = (
    r"(?<![\w'’])(?:ss?\.?|paras?\.?|paragraphs?|[Rr]ules?|r{1,2}\.|[Rr]egulations?|regs?\.?|Schedules?|Chapters?"
    rf"|Parts?|Titles?|Orders?|Divisions?|Subchapters?)(?={_LAW_FOLLOWS})"
)
"""What also begins an article where its law follows."""
_NO_CONTRACT: Final = (
    rf"(?! (?:of|to|in) (?:the |this |that |our |their |its |his |her )?(?:[a-z'’]+ )?(?:{TABLES.contracts_en}))"
)
_YEARED: Final = r"(?:,? (?:of )?(?:1[89]|20)\d\d)?"
_STATUTE_EN: Final = re.compile(
    rf"(?:(?P<before>{_ANY_LAW}){_YEARED},? )?"
    rf"(?:(?P<many>\b(?:[Aa]rticles|[Aa]rts\.?|[Ss]ections|[Ss]ecs\.)|§§|{_OF_LAW}"
    r"|(?(before)\b(?:ss?|rr?|regs?)\b\.?|(?!)))"
    r"|\b(?:[Aa]rticle|[Aa]rt\.|Art(?=\s\d)|[Ss]ection|[Ss]ec\.|Sec(?=\s\d)|[Ss]ect\.)|§"
    r"|\bRule(?=\s\d)|\bTitle(?=\s[IVXL]))\s?"
    r"(?:(?P<article>\d{1,4})(?:-(?P<branch>\d+)|(?P<letter>[A-Za-z]{1,2}(?:-\d{1,3})?\b))?(?!\d|-\d)"
    rf"|(?P<roman>{_ROMAN}))(?:\(\w{{1,3}}\))*+"
    rf"(?P<more>(?(many){_MORE_EN}*+))"
    rf"{_NO_CONTRACT}"
    rf"(?: (?:of |to )?(?:the )?(?P<after>{_ANY_LAW}){_YEARED})?"
)
_RULES_EN: Final = re.compile(
    r"\b(?P<law>Federal Rules? of (?:Evidence|(?:Civil|Criminal|Appellate|Bankruptcy) Procedure)"
    r"|Fed\. ?R\. ?(?:Evid|(?:Civ|Crim|App)\. ?P)\.|FRCP|FRE|CPR)(?: [Rr](?:ule|\.)?)? ?"
    r"(?P<article>\d{1,4})(?P<branch>(?:\.\d{1,3})?)"
)
_ACT_EN: Final = re.compile(
    r"(?P<law>(?!(?:The|This|That|An) (?:Act|Code|Order))(?:[A-Z][a-z]+ (?:of |and |for |\([A-Z][a-z ]+\) )?){1,6}"
    r"(?:Act|Ordinance|Code|Convention|Rules|Regulations|Order|Directive))"
    r",? (?:of )?(?P<year>(?:1[5-9]|20)\d\d)\b(?![-/.,]\d)"
)
"""A law that is named with its year."""
_NTH: Final = "|".join(sorted(map(str.title, dates.ORDINALS), key=len, reverse=True))
_AMENDMENT_EN: Final = re.compile(
    rf"\b(?:(?P<name>(?:{_NTH}) Amendment)|Amendment (?P<roman>{_ROMAN}))(?! (?:to|of) (?!the (?:U|Fed|Const)))"
)
_CHAPTER_EN: Final = re.compile(
    r"(?:(?<=under )|(?<=filed )|(?<=filed for )|(?P<cue>\b))Chapter (?P<article>7|9|11|12|13|15)\b(?! of)"
    r"(?(cue) (?:bankruptcy|petition|case|filing|protection|debtor|trustee|proceedings?|reorgani[sz]ation|plan)s?\b)"
)
_NUMBERED_EN: Final = re.compile(
    r"\b(?P<law>Public Law|Pub\. ?L\.|Executive Order|E\.O\.|ILO Convention|Proposition|Practice Direction)"
    r"(?: [Nn]o\.?)? ?(?P<article>(?<=Proposition )(?:8|65)|(?<!Proposition )\d{1,5}[A-Z]?(?:-\d{1,3})?)\b"
)
_CODE_EN: Final = re.compile(
    r"\b(?P<law>\d{1,2} (?:U\.\s?S\.\s?C\.|USC|C\.\s?F\.\s?R\.|CFR)|U\.?C\.?C\.?|RCW|NRS|ORS|MCL|OCGA|ARS)"
    r"(?:,? (?:§§?|[Ss]ections?|[Pp]art))?\s?"
    r"(?P<article>\d{1,5})(?P<branch>(?:\.\d{1,4})+|-\d{1,4}|[a-z]{0,2}\b)"
)
_ACT_EU: Final = re.compile(
    r"\b(?:Regulation|Directive) (?:\((?:EU|EC|EEC)\) )?(?:[Nn]o\.? )?(?P<number>\d{1,4}/\d{1,4})(?:/E[CU]+)?"
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
    law = re.sub(r"\s", "", match["law"] or "").casefold()
    if _NOT_LAW.fullmatch(law):
        law = ""
    if not law and (not match["mark"] or _of_contract(match)):
        return []
    number = match["article"] if match["article"].isdecimal() else str(korean(match["article"]))
    numbers = [number, *re.findall(r"\d+", match["more"])]
    if match["branch"]:
        numbers[-1] = f"{numbers[-1]}-{match['branch']}"
    return [Particular("statute", (law, _plain_number(each)), match[0].strip()) for each in numbers]


_NOT_LAW: Final = re.compile("|".join(TABLES.not_laws))


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
    if match["roman"]:
        return [Particular("statute", (law, str(roman(match["roman"]))), match[0].strip())]
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


def _act_en(match: re.Match[str]) -> list[Particular]:
    law = re.sub(r"^(?:The|Under|In|By) ", "", match["law"])
    return [Particular("statute", (f"{law} {match['year']}".casefold(), ""), match[0].strip())]


def _amendment_en(match: re.Match[str]) -> list[Particular]:
    """One of a constitution, or of a contract: the person supplied it by its name."""
    name = match["name"] or f"{dates.ORDINALS[roman(match['roman']) - 1]} amendment"
    return [Particular("statute", (name.casefold(), ""), match[0].strip())]


def _numbered_en(match: re.Match[str]) -> list[Particular]:
    """Something numbered among its own kind: Public Law 104-191, Chapter 11."""
    kind = match.groupdict().get("law") or "chapter"
    return [Particular("statute", (kind.casefold(), match["article"]), match[0].strip())]


def _article(match: re.Match[str]) -> str:
    parts = match.groupdict()
    number = _plain_number(match["article"])
    return f"{number}-{parts['branch']}" if parts["branch"] else f"{number}{(parts.get('letter') or '').casefold()}"


def _plain_number(written: str) -> str:
    """Without zeros before it."""
    number, dash, branch = written.partition("-")
    return f"{int(number)}{dash}{branch}"


def _date(match: re.Match[str]) -> list[Particular]:
    keys = dates.readings(match)
    return [Particular("date", keys[0], match[0].strip(), keys[1] if keys[1:] else ())] if keys else []


def _amount(match: re.Match[str]) -> list[Particular]:
    found = amounts.reading(match)
    if found is None:
        return []
    key, below = (format(found.value.normalize(), "f"), found.currency), str(found.below or "")
    return [Particular("amount", key, found.text, below=below)]


_READERS: Final[tuple[tuple[tuple[re.Pattern[str], ...], Read], ...]] = (
    (_CASES, _case),
    ((_STATUTE_ZH,), _statute_zh),
    ((_STATUTE_KO,), _statute_ko),
    ((_CODE_EN, _RULES_EN), _code_en),
    ((_ACT_EU,), _act_eu),
    ((_STATUTE_EN,), _statute_en),
    ((_ACT_EN,), _act_en),
    ((_AMENDMENT_EN,), _amendment_en),
    ((_NUMBERED_EN, _CHAPTER_EN), _numbered_en),
    ((*dates.PATTERNS, *dates.FIGURES), _date),
    (amounts.PATTERNS, _amount),
)
