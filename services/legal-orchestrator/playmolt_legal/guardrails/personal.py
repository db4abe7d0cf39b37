"""Personal data in a sentence: resident numbers, phones, e-mail addresses, cards and accounts (legal.md, Guardrails).

A number is judged by what it is called nearest to it in its own clause, so that neither an invoice nor a date that
is near the word "account" counts as one.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from playmolt_legal.guardrails.tables import TABLES

_EMAIL: Final = re.compile(TABLES.personal["email"])
_RESIDENT: Final = re.compile(TABLES.personal["resident"])
_NUMBERS: Final = tuple(
    re.compile(TABLES.personal[kind])
    for kind in ("phone", "identity_zh", "mobile_zh", "landline", "american", "abroad", "card", "iban")
)
_SERVICE: Final = re.compile(TABLES.personal["service"])
_PHONE_WORDS: Final = re.compile(TABLES.phone_words, re.IGNORECASE)
_GROUPED: Final = re.compile(TABLES.personal["account"])
_LONG: Final = re.compile(r"(?<![\d-])(?<!\d[.,])\d(?:[- ]?\d){7,15}(?![\d-]|[.,]\d)")
_ACCOUNT: Final = re.compile(TABLES.account_words, re.IGNORECASE)
_ACCOUNT_NAME: Final = re.compile(
    rf"(?:{TABLES.account_words})(?:\s?(?:번호|号码|numbers?\b|nos?\b)|(?=[^\d]{{0,6}}$))", re.IGNORECASE
)
"""What calls a number an account: such a word and "number", or such a word right before it."""
_COMPANY: Final = re.compile(TABLES.company_number, re.IGNORECASE)
_LABEL: Final = re.compile(TABLES.number_labels, re.IGNORECASE)
_LABEL_BEHIND: Final = re.compile(rf"{TABLES.called}(?:{TABLES.number_labels})", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    r"[,;，；。、]|(?<!\b[Nn][or])[.?!]\s|(?<=[가-힣])(?<![다라자냐])(?:고|며|지만|으나)\s|\b(?:and|but|while|whereas)\b",
    re.IGNORECASE,
)
_NO_ACCOUNT: Final = re.compile("|".join(TABLES.no_account), re.IGNORECASE)
_DIRECTLY: Final = re.compile(r"[^\d\n]{0,12}")
"""What may be between a number and its label."""
_REACH: Final = 16
"""Maximum distance of an account number behind its label."""
_BEFORE: Final = 60
_NEAR: Final = 24
"""Maximum distance between a service number and a word for phone."""


def personal(sentence: str) -> bool:
    """Whether a sentence holds a resident number, a phone, an e-mail address, a card or an account."""
    if _EMAIL.search(sentence) or any(_is_resident(sentence, match) for match in _RESIDENT.finditer(sentence)):
        return True
    plain = _NO_ACCOUNT.sub(lambda match: "\x00" * len(match[0]), sentence)
    called = (match for pattern in _NUMBERS for match in pattern.finditer(plain))
    return (
        any(not _called(plain, match) for match in called)
        or any(_rings(plain, match) for match in _SERVICE.finditer(plain))
        or any(True for _ in _accounts(plain))
    )


def _rings(text: str, match: re.Match[str]) -> bool:
    """Whether a service number (1588-1234) is called a phone: pages, lots and years look the same."""
    near = text[max(0, match.start() - _NEAR) : match.end() + _NEAR]
    return _PHONE_WORDS.search(near) is not None and not _called(text, match)


def _is_resident(sentence: str, match: re.Match[str]) -> bool:
    before = sentence[max(0, match.start() - _BEFORE) : match.start()]
    company = any(_DIRECTLY.fullmatch(before, word.end()) for word in _COMPANY.finditer(before))
    return _birthday(match) and not company and not _called(sentence, match)


def _birthday(match: re.Match[str]) -> bool:
    century = 1900 if match["century"] in "1256" else 2000
    try:
        date(century + int(match["y"]), int(match["m"]), int(match["d"]))
    except ValueError:
        return False
    return True


def _called(text: str, match: re.Match[str]) -> bool:
    """Whether a number directly follows a word that makes it something else."""
    start = max(0, match.start() - _BEFORE)
    return any(_DIRECTLY.fullmatch(text, end, match.start()) for end in _labels(text, start, match))


def _labels(text: str, start: int, match: re.Match[str]) -> Iterator[int]:
    """The ends of the labels between a position and a number; some count only directly before digits."""
    return (label.end() for label in _LABEL.finditer(text, start, match.end()) if label.end() <= match.start())


def _accounts(text: str) -> Iterator[re.Match[str]]:
    words = [word.end() for word in _ACCOUNT.finditer(text)]
    for match in _GROUPED.finditer(text):
        if not _named_otherwise(text, match):
            yield match
    for match in _LONG.finditer(text):
        if any(0 <= match.start() - end <= _REACH for end in words) and not _named_otherwise(text, match):
            yield match


def _named_otherwise(text: str, match: re.Match[str]) -> bool:
    """Whether a number has another name in its clause, with none for an account nearer, or has it right behind it."""
    start = match.start() - len(_CLAUSE.split(text[: match.start()])[-1])
    name = max(_labels(text, start, match), default=-1)
    account = max((word.end() for word in _ACCOUNT_NAME.finditer(text, start, match.start())), default=-1)
    return name > account or _LABEL_BEHIND.match(text, match.end()) is not None
