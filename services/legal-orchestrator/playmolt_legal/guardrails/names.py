"""The people that a sentence names, in Korean, English and Chinese."""

import re
from collections.abc import Iterator
from typing import Final

from playmolt_legal.guardrails.tables import TABLES

_KO = TABLES.names_ko
_KO_FULL: Final = rf"(?<![가-힣])(?P<name>(?:{'|'.join(_KO.compound)}|[{_KO.surnames}])"
_KO_TITLE: Final = rf"(?:{'|'.join(_KO.titles)})(?:님)?{_KO.after}"
_KO_HONOURED: Final = re.compile(rf"{_KO_FULL}[가-힣]{{1,2}})\s?(?:{'|'.join(_KO.honorifics)}){_KO.after}")
_KO_TITLED: Final = re.compile(rf"{_KO_FULL}[{_KO.given}]{{1,2}})\s?{_KO_TITLE}")
_KO_ALONE: Final = re.compile(rf"(?<![가-힣\d])(?<!\d )(?P<name>[{_KO.alone}])\s{_KO_TITLE}")
_KO_ROLE: Final = re.compile(
    rf"(?:{'|'.join(_KO.roles)})\s(?P<name>[{_KO.alone}이윤한][{_KO.given}]{{2}})(?=[이가은는께의와과]|에게)"
)
_KO_SURNAME: Final = re.compile(rf"(?<![가-힣])(?P<name>[{_KO.surnames}])\s?(?:씨|모\s?씨){_KO.after}")
_ZH_SURNAMES: Final = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎"
    "余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
    ""
)
_ZH_TITLED: Final = re.compile(
    rf"(?:(?<![\u4e00-\u9fff])|(?<=[，。；：、由与和向对是的被让请即据称问给在为])"
    r"|(?<=证人)|(?<=原告)|(?<=被告)|(?<=买方)|(?<=卖方)|(?<=员工)|(?<=同事)|(?<=当事人)|(?<=代理人))"
    rf"(?P<name>(?!(?<=[对双我买卖甲乙一])方)[{_ZH_SURNAMES}](?:某[某甲乙丙]?|(?!级|层|薪|务|驻|何|一|案|面)[\u4e00-\u9fff]{{0,2}})(?<![由与和被让请对向是的]))"
    r"(?:先生|女士|小姐|经理|总经理|律师|法官|主任|会计|医生|老师|总监)"
)
_ZH_SOME: Final = re.compile(
    rf"(?<!对)(?P<name>[{_ZH_SURNAMES}]某[某甲乙丙]?)(?!年|月|日|地|处|个|些|种|一|次|时|项|类|方|单位|公司|银行|人|部)"
)
"""Somebody whose given name is left out: 李某."""
_EN = TABLES.names_en
_CAPITAL: Final = r"(?:[A-Z]['’])?[A-Z][a-zà-ÿ]+(?:[A-Z][a-zà-ÿ]+)*(?:[-'’][A-Z]?[a-zà-ÿ]+)*"
_EN_TITLED: Final = re.compile(rf"\b{_EN.titles}\.?\s(?P<name>{_CAPITAL}(?:\s{_CAPITAL})?)")
_EN_WORDS: Final = re.compile(rf"(?P<name>\b{_CAPITAL}(?:\s(?:[A-Z]\.\s)?{_CAPITAL})*)")
_POSSESSIVE: Final = re.compile(r"['’]s$")
_EN_SUBJECT: Final = re.compile(rf"(?P<name>{_CAPITAL})\s(?:{_EN.human_verbs})\b")
_EN_KNOWN: Final = frozenset(word.casefold() for word in _EN.known)
_EN_GIVEN: Final = frozenset(word.casefold() for word in _EN.given)
_EN_IMPERSONAL: Final = frozenset(_EN.impersonal)
_EN_ABSTRACT: Final = re.compile(_EN.abstract)


def names(sentence: str) -> Iterator[str]:
    """The people a sentence names: a Korean name with an honorific, a title or a role, a capitalised English name,
    a Chinese one with a title, or with 某 for the given name."""
    yield from _korean_names(sentence)
    for pattern in (_ZH_TITLED, _ZH_SOME):
        yield from (match["name"] for match in pattern.finditer(sentence))
    yield from _english_names(sentence)


def _korean_names(sentence: str) -> Iterator[str]:
    for pattern in (_KO_HONOURED, _KO_SURNAME, _KO_ALONE):
        yield from (match["name"] for match in pattern.finditer(sentence) if match["name"] not in _KO.not_names)
    for pattern in (_KO_TITLED, _KO_ROLE):
        yield from (match["name"] for match in pattern.finditer(sentence) if _titled(match["name"]))


def _titled(name: str) -> bool:
    """Whether a word before a title is a name: most titles also follow ordinary words."""
    if name in _KO.not_names or name[-1] in _KO.organisation_ends:
        return False
    if name[-1] in _KO.suffixes and name[:-1] in _KO.not_names:
        return False
    if len(name) == 2:
        return name[1] in _KO.single
    return name[-2:] in _KO.kept or not (name[-1] in _KO.word_ends or _has_particle(name))


def _has_particle(word: str) -> bool:
    """Whether a word may end in one of the particles that follow a final consonant."""
    return word[-1] in "은을이" and (ord(word[-2]) - ord("가")) % _FINALS != 0


_FINALS: Final = 28
"""So many syllables of Hangul differ in their final consonant only; the first of them has none."""


def _english_names(sentence: str) -> Iterator[str]:
    for match in _EN_TITLED.finditer(sentence):
        yield _POSSESSIVE.sub("", match["name"])
    for match in _EN_WORDS.finditer(sentence):
        words = [_POSSESSIVE.sub("", word) for word in match["name"].split()]
        if _opens(sentence, match.start()) and not (_begins_name(words) or _acts(sentence, match.start())):
            words = words[1:]
        named = [word for word in words if not _is_word(word.casefold())]
        if any(len(word) > _INITIAL for word in named):
            yield " ".join(named)


def _begins_name(words: list[str]) -> bool:
    """Whether the word that opens a sentence is part of a name, and not just an opening word."""
    return words[0].casefold() in _EN_GIVEN or (len(words) > 1 and words[1] in _EN.companies)


def _acts(sentence: str, place: int) -> bool:
    """Whether the first word of a sentence is the subject of a human verb and not a word for a kind of people."""
    match = _EN_SUBJECT.match(sentence, place)
    return match is not None and match["name"].casefold() not in _EN_IMPERSONAL and not match["name"].endswith("s")


_INITIAL: Final = 2
"""An initial and its full stop."""


def _is_word(word: str) -> bool:
    """Whether a word, case folded, is an ordinary one that may be written with a capital."""
    if word in _EN_GIVEN:
        return False
    return (
        bool({word, word.removesuffix("s"), word.removesuffix("es")} & _EN_KNOWN)
        or _EN_ABSTRACT.search(word) is not None
        or ("-" in word and all(_is_word(part) for part in word.split("-")))
    )


def _opens(sentence: str, place: int) -> bool:
    """Whether a word opens a sentence, a list item, a clause after a colon or a quotation."""
    before = sentence[:place].rstrip()
    return not before or before[-1] in ".!?:;\"“‘'([-–•/"
