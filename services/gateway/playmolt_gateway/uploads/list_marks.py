"""Numbers of lists, as word processors show them."""

from collections.abc import Callable, Mapping
from typing import Final

_ROMAN: Final = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_SYLLABLES: Final = "가나다라마바사아자차카타파하"
_JAMO: Final = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"
_STEMS: Final = "甲乙丙丁戊己庚辛壬癸"
_BRANCHES: Final = "子丑寅卯辰巳午未申酉戌亥"
_IDEOGRAPHS: Final = "〇一二三四五六七八九"
_LEGAL: Final = "零壹贰叁肆伍陆柒捌玖"
_HANGUL: Final = "영일이삼사오육칠팔구"
_HANGUL_ONES: Final = ("", "하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉")
_HANGUL_TENS: Final = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")
_ORDINALS: Final = {1: "st", 2: "nd", 3: "rd"}
_ENGLISH: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_ENGLISH_TENS: Final = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ENGLISH_ORDINALS: Final = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
                            "nine": "ninth", "twelve": "twelfth"}  # fmt: skip


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        text += letters * (number // value)
        number %= value
    return text


def _letters(number: int) -> str:
    """a to z, then aa, bb and so on."""
    repeats, place = divmod(number - 1, 26)
    return chr(ord("a") + place) * (repeats + 1)


def _of(series: str) -> Callable[[int], str]:
    return lambda number: series[(number - 1) % len(series)]


def _enclosed(first: int, last: int, above: str = "({})") -> Callable[[int], str]:
    return lambda number: chr(first + number - 1) if number <= last else above.format(number)


def _digits(digits: str) -> Callable[[int], str]:
    return lambda number: "".join(digits[int(digit)] for digit in str(number))


def _counted(digits: str, tens: tuple[str, str, str], *, one: bool) -> Callable[[int], str]:
    """Numbers below 10,000 in the Chinese way; `one` says whether 10 is written with its one."""

    def written(number: int) -> str:
        text, pending = "", False
        for unit, value in zip((*reversed(tens), ""), (1000, 100, 10, 1), strict=True):
            digit = number // value % 10
            if not digit:
                pending = bool(text)
                continue
            if pending and digits[0] != "영":
                text += digits[0]
            pending = False
            unsaid = digit == 1 and unit and not one and (digits[0] == "영" or (value == 10 and not text))
            text += ("" if unsaid else digits[digit]) + unit
        return text or digits[0]

    return lambda number: written(number) if number < 10_000 else str(number)


def _native(number: int) -> str:
    return _HANGUL_TENS[number // 10] + _HANGUL_ONES[number % 10] if 0 < number < 100 else str(number)


def _words(number: int) -> str:
    if number < 20:
        return _ENGLISH[number]
    if number < 100:
        return _ENGLISH_TENS[number // 10] + (f"-{_ENGLISH[number % 10]}" if number % 10 else "")
    return str(number)


def _ordinal(number: int) -> str:
    return f"{number}{'th' if number % 100 in (11, 12, 13) else _ORDINALS.get(number % 10, 'th')}"


def _ordinal_words(number: int) -> str:
    head, dash, last = _words(number).rpartition("-")
    if last.isdigit():
        return _ordinal(number)
    if last in _ENGLISH_ORDINALS:
        last = _ENGLISH_ORDINALS[last]
    else:
        last = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return head + dash + last


_CHINESE: Final = _counted("零" + _IDEOGRAPHS[1:], ("十", "百", "千"), one=False)
_FORMATS: Final[Mapping[str, Callable[[int], str]]] = {
    "decimalZero": lambda number: f"{number:02}",
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "ordinal": _ordinal,
    "cardinalText": lambda number: _words(number).capitalize(),
    "ordinalText": lambda number: _ordinal_words(number).capitalize(),
    "ganada": _of(_SYLLABLES),
    "chosung": _of(_JAMO),
    "decimalEnclosedCircle": _enclosed(0x2460, 20),
    "decimalEnclosedCircleChinese": _enclosed(0x2460, 20),
    "decimalEnclosedParen": _enclosed(0x2474, 20),
    "decimalEnclosedFullstop": _enclosed(0x2488, 20, "{}."),
    "decimalFullWidth": lambda number: str(number).translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)}),
    "decimalFullWidth2": lambda number: str(number).translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)}),
    "ideographDigital": _digits(_IDEOGRAPHS),
    "japaneseDigitalTenThousand": _digits(_IDEOGRAPHS),
    "taiwaneseDigital": _digits(_IDEOGRAPHS),
    "koreanDigital": _digits(_HANGUL),
    "koreanDigital2": _digits("零" + _IDEOGRAPHS[1:]),
    "koreanCounting": _counted(_HANGUL, ("십", "백", "천"), one=False),
    "koreanLegal": _native,
    "chineseCounting": _CHINESE,
    "chineseCountingThousand": _CHINESE,
    "japaneseCounting": _CHINESE,
    "taiwaneseCounting": _CHINESE,
    "taiwaneseCountingThousand": _CHINESE,
    "chineseLegalSimplified": _counted(_LEGAL, ("拾", "佰", "仟"), one=True),
    "ideographLegalTraditional": _counted("零壹貳參肆伍陸柒捌玖", ("拾", "佰", "仟"), one=True),
    "ideographTraditional": _of(_STEMS),
    "ideographZodiac": _of(_BRANCHES),
    "ideographEnclosedCircle": _enclosed(0x3280, 10),
    "circled_ganada": _enclosed(0x326E, 14),
    "circled_chosung": _enclosed(0x3260, 14),
    "circled_lower": _enclosed(0x24D0, 26),
    "circled_upper": _enclosed(0x24B6, 26),
    "numberInDash": lambda number: f"- {number} -",
    "none": lambda _: "",
}
"""The names are those of WordprocessingML; those with an underscore exist in HWPX alone."""


def numbered(number: int, name: str) -> str:
    """A number in a format; decimal where the format is unknown or cannot write it."""
    return _FORMATS[name](number) if number > 0 and name in _FORMATS else str(number)
