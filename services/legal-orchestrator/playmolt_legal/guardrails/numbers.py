"""Numbers in words: Korean, English and Chinese."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from playmolt_legal.guardrails.tables import TABLES

_ZH_DIGITS: Final = (
    {digit: value for value, digit in enumerate("零一二三四五六七八九")}
    | {"〇": 0, "两": 2}
    | {digit: value for value, digit in enumerate("壹贰叁肆伍陆柒捌玖", 1)}
)
_ZH_SMALL: Final = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000}
_ZH_LARGE: Final = {"万": 10**4, "亿": 10**8, "萬": 10**4}
_DIGITS: Final = {digit: value for value, digit in enumerate("일이삼사오육칠팔구", 1)}
_SMALL: Final = {"십": 10, "백": 100, "천": 1000}
_LARGE: Final = {"만": 10**4, "억": 10**8, "조": 10**12}
SPELT_ZH: Final = f"[{''.join((*_ZH_DIGITS, *_ZH_SMALL, *_ZH_LARGE))}]"
DIGITS_KO: Final = "".join(_DIGITS)
SPELT_KO: Final = f"[{''.join((*_DIGITS, *_SMALL))}]"
"""What numbers are spelt with; below ten thousand in Korean."""


def chinese(words: str) -> int:
    """Read a number in figures or in Chinese words: 五百七十七 is 577, 二〇二五 is 2025, 两万五 is 25,000."""
    if words.isdecimal() and words.isascii():
        return int(words)
    if not set(words) & {*_ZH_SMALL, *_ZH_LARGE}:
        return int("".join(str(_ZH_DIGITS[char]) for char in words))
    return _read(words, _ZH_DIGITS, _ZH_SMALL, _ZH_LARGE) + _unspoken(words)


def _unspoken(words: str) -> int:
    """What a last digit means beyond itself, where its unit is left out: 5,000 in 两万五, whose last digit is five."""
    if len(words) < _SHORTEST or words[-1] not in _ZH_DIGITS:
        return 0
    place = (_ZH_SMALL | _ZH_LARGE).get(words[-2], 10) // 10
    return _ZH_DIGITS[words[-1]] * (place - 1)


_SHORTEST: Final = 2


def korean(words: str) -> int:
    """Read a number in Korean words: 이천오백만 is 25,000,000."""
    return _read(words, _DIGITS, _SMALL, _LARGE)


_UNITS: Final = _ZH_SMALL | _ZH_LARGE | _SMALL | _LARGE
_FIGURES: Final = re.compile(rf"(\d[\d,]*(?:\.\d+)?)\s?([{''.join(_UNITS)}]*)")


def with_units(words: str) -> Decimal:
    """Read figures with units behind them: 3억 5000만, 3백50만, 1亿2000万. A smaller unit before 만 counts in 만."""
    whole = part = Decimal(0)
    for number, units in _FIGURES.findall(words):
        part += Decimal(number.replace(",", ""))
        for unit in units:
            if _UNITS[unit] < 10**4:
                part += (_UNITS[unit] - 1) * Decimal(number.replace(",", ""))
            else:
                whole, part = whole + part * _UNITS[unit], Decimal(0)
    return whole + part


def _read(words: str, digits: Mapping[str, int], small: Mapping[str, int], large: Mapping[str, int]) -> int:
    whole = part = digit = 0
    for char in words:
        if char in digits:
            digit = digits[char]
        elif char in small:
            part += (digit or 1) * small[char]
            digit = 0
        elif char in large:
            whole += (part + digit or 1) * large[char]
            part = digit = 0
    return whole + part + digit


def decimal(number: str) -> Decimal:
    """Read figures: 3,500.5, or 3.500,50 as in Europe."""
    if re.fullmatch(r"[\d.]+,\d\d", number) and "." in number:
        return Decimal(number.replace(".", "").replace(",", "."))
    return Decimal(re.sub(r"[,\s\u00a0\u202f]", "", number))


def english(words: str) -> int:
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


def roman(words: str) -> int:
    """Read a Roman number: XIV is 14."""
    values = [_ROMAN[char] for char in words]
    return sum(
        -value if value < following else value for value, following in zip(values, [*values[1:], 0], strict=True)
    )


_ROMAN: Final = {"I": 1, "V": 5, "X": 10, "L": 50}
