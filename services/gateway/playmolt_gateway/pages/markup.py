"""The Markdown of our own pages as HTML: headings, paragraphs, lists, `code`, **strong**. Every text is escaped."""

import re
from collections.abc import Iterator
from html import escape
from typing import Final

_BLOCK: Final = re.compile(r"\n{2,}")
_HEADING: Final = re.compile(r"(#{1,3}) (.*)")
_ITEM: Final = re.compile(r"^- ", re.MULTILINE)
_STRONG: Final = re.compile(r"\*\*(.+?)\*\*")
_CODE: Final = re.compile(r"`(.+?)`")


def html_of(markdown: str) -> str:
    return "\n".join(_blocks(markdown))


def _blocks(markdown: str) -> Iterator[str]:
    for block in _BLOCK.split(markdown.strip()):
        if heading := _HEADING.fullmatch(block):
            level = len(heading[1])
            yield f"<h{level}>{_inline(heading[2])}</h{level}>"
        elif _ITEM.match(block):
            items = "".join(f"<li>{_inline(item)}</li>" for item in _ITEM.split(block)[1:])
            yield f"<ul>{items}</ul>"
        else:
            yield f"<p>{_inline(block)}</p>"


def _inline(text: str) -> str:
    flowing = escape(" ".join(line.strip() for line in text.splitlines()))
    return _CODE.sub(r"<code>\1</code>", _STRONG.sub(r"<strong>\1</strong>", flowing))
