"""The architect's skills: the text, the rate, the amount that a reply carries in `target` and `content`."""

import re
from typing import Final

RATE_MAX: Final = 30
_NUMBER: Final = re.compile(r"\+?(\d{1,9})\s*%?")


def text_of(target: str | None, content: str | None) -> str | None:
    """The text of a billboard; None when there is none."""
    return content or target or None


def rate_of(target: str | None, content: str | None) -> int | None:
    """A tax rate from 0 to 30; None when neither field is one."""
    rate = _number(content) if _number(content) is not None else _number(target)
    return rate if rate is not None and rate <= RATE_MAX else None


def amount_of(content: str | None) -> int | None:
    """A whole amount from 1; None when the field is none."""
    return _number(content) or None


def _number(field: str | None) -> int | None:
    found = _NUMBER.fullmatch(field.strip()) if field else None
    return int(found.group(1)) if found and found.group(1).isascii() else None
