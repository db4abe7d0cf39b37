"""The privacy page: docs/privacy.md in the reader's language, rendered from a subset of Markdown.

The subset: headings, paragraphs, lists, `code` and **strong**. All text is escaped.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from html import escape
from pathlib import Path
from string import Template
from typing import Final, get_args

from msgspec.structs import replace
from playmolt_schemas.skill import PageLanguage, page_texts
from starlette.responses import Response

from playmolt_gateway.http.compression import compressed, encodings
from playmolt_gateway.http.responses import html_response
from playmolt_gateway.pages.assets import FILES, version_of_all
from playmolt_gateway.pages.shell import ADDRESS, ADDRESSES_KEPT, addressed, head_markup, head_of, titled

_TEXTS: Final = Path(__file__).parents[1] / "texts"
"""Links to files in docs/; the installed package contains copies."""
_PAGE: Final = "privacy.html"
_POLICY: Final = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; object-src 'none'"
_NAMES: Final[dict[PageLanguage, str]] = {"en": "English", "ko": "한국어", "zh": "中文"}


@cache
def text_of(name: str) -> str | None:
    """A file of the texts folder; None if it does not exist."""
    path = _TEXTS / name
    return path.read_text("utf-8") if path.is_file() else None


def privacy_response(language: PageLanguage, accepts: str, address: str) -> Response:
    """Send the page, which names its own address."""
    return text_response(*_sent(language, encodings(accepts) & {"br", "gzip"}, address))


def text_response(body: bytes, encoding: str) -> Response:
    """Send the compressed HTML of a page without scripts."""
    response = html_response(body, _POLICY)
    response.headers["cache-control"] = "no-cache"
    response.headers["vary"] = "Accept-Encoding, Accept-Language"
    if encoding:
        response.headers["content-encoding"] = encoding
    return response


@lru_cache(maxsize=ADDRESSES_KEPT)
def _sent(language: PageLanguage, taken: frozenset[str], address: str) -> tuple[bytes, str]:
    return compressed(addressed(_page(language), address).encode(), ", ".join(taken))


@cache
def _page(language: PageLanguage) -> str:
    head = head_of("privacy", language)
    text = text_of("privacy.md" if language == "en" else f"privacy.{language}.md")
    return text_page("privacy", "/privacy", language, html_of(text or f"# {head.title}\n\n{head.description}"))


def text_page(page: str, path: str, language: PageLanguage, body: str) -> str:
    """The HTML of a page without scripts, with ADDRESS in place of its address."""
    head = head_of(page, language)
    return Template((FILES / _PAGE).read_text(encoding="utf-8")).substitute(
        language=language,
        title=escape(titled(head)),
        head=head_markup(replace(head, url=ADDRESS), language),
        version=version_of_all(),
        body=body,
        about=escape(page_texts(language)["foot"]),
        languages="".join(
            f'<a href="{path}?lang={code}" hreflang="{code}" lang="{code}">{_NAMES[code]}</a>'
            for code in get_args(PageLanguage)
        ),
    )


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
