"""Which pages of a file are asked for, such as `3-9`; and the pages of a file that has none."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from playmolt_gateway.uploads.outcome import refuse

PAGE_CHARS: Final = 2000
"""A page of a file without pages: whole lines of about as many characters."""
_RANGE: Final = re.compile(r"\s*([1-9][0-9]{0,5})\s*(?:[-–~]\s*([1-9][0-9]{0,5})\s*)?")


def page_numbers(asked: str, count: int) -> list[int]:
    """The page numbers in order; all of `count` if none are asked for. Raises UnreadableFile."""
    if not asked:
        return list(range(1, count + 1))
    numbers: set[int] = set()
    for part in asked.split(","):
        found = _RANGE.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 0 < first <= last or first > count:
            raise refuse("pages", count=count)
        numbers.update(range(first, min(last, count) + 1))
    return sorted(numbers)


def written(numbers: Sequence[int]) -> str:
    """Page numbers as a reader writes them: `2, 5–7`."""
    return ", ".join(f"{first}–{last}" if last > first else str(first) for first, last in _runs(numbers))


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = 0
    for number in numbers:
        if first and number == last + 1:
            last = number
            continue
        if first:
            yield first, last
        first = last = number
    if first:
        yield first, last


def made_pages(text: str) -> list[str]:
    """A text in pages of whole lines; a longer line is cut."""
    pages: list[str] = []
    page = ""
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), PAGE_CHARS):
            part = line[start : start + PAGE_CHARS]
            if page and len(page) + len(part) > PAGE_CHARS:
                pages.append(page)
                page = ""
            page += part
    return [*pages, page] if page else pages
