"""The HTML of a page: a localized head and the module that renders the rest."""

from functools import cache
from html import escape
from string import Template
from typing import Final

import msgspec
from playmolt_schemas.skill import PageLanguage, page_texts
from starlette.responses import Response

from playmolt_gateway.http.compression import compressed
from playmolt_gateway.http.responses import html_response
from playmolt_gateway.pages.assets import FILES, texts_name, version_of_all

_SHELL: Final = "shell.html"
_NAME: Final = "PlayMolt"


class PageHead(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a page: title and link preview."""

    title: str
    description: str
    image: str = ""
    """The absolute URL of the preview image, or ""."""
    embed: str = ""
    """The absolute oEmbed URL, or ""."""
    url: str = ""
    """The absolute URL of what is shown, or ""; its query selects a moment, for example."""
    feed: str = ""
    """The absolute URL of an Atom feed of what is shown, or ""."""
    script: tuple[tuple[str, str], ...] = ()
    """Names and values of meta elements that the page's module reads."""


ADDRESS: Final = "{{address}}"
"""A page's own address in a page that is made once for all names of the server."""
ADDRESSES_KEPT: Final = 36
"""Variants of such a page, by language, encoding and address, that are kept."""


def addressed(page: str, address: str) -> str:
    """A page with its own address."""
    return page.replace(ADDRESS, escape(address))


def head_of(page: str, language: PageLanguage) -> PageHead:
    """The head of a static page."""
    texts = page_texts(language)
    return PageHead(title=texts[f"head.{page}"], description=texts[f"head.{page}.about"])


_FIRST: Final = {"lobby.js": "/games/rows?limit=24"}
"""The first request of a page's module; the browser sends it in parallel with the module."""


def page_response(
    module: str,
    head: PageHead,
    language: PageLanguage,
    feed: str | None,
    accepts: str,
    *,
    framed: bool = False,
    node: str = "",
    reader: PageLanguage | None = None,
) -> Response:
    """Send a page. `framed`: other sites may embed it. `reader`: the language of the module's texts, if not the head's.

    It may call the origins `feed`, the spectator (`PublicAddress.page_feed`), and `node`.
    """
    html = _shell().substitute(
        language=language,
        title=escape(titled(head)),
        # In a frame without an origin of its own a request in that mode has no answer that a script may read.
        head=head_markup(head, language) + ("" if framed else _early(module, reader or language)),
        module=escape(module),
        version=version_of_all(),
        spectator="none" if feed is None else escape(feed),
    )
    body, encoding = compressed(html.encode(), accepts)
    response = html_response(body, _policy(feed, node), framed=framed)
    # Its policy names the host that was asked for: no shared cache may keep it.
    response.headers["cache-control"] = "private, no-cache"
    response.headers["vary"] = "Accept, Accept-Encoding, Accept-Language"
    if encoding:
        response.headers["content-encoding"] = encoding
    return response


def _early(module: str, language: PageLanguage) -> str:
    """Requests that the browser sends while the module loads.

    `web/parts/language.js` makes each of them again at once, in the mode in which all engines take the answer that came
    early: without `crossorigin`. A prefetch would be blocked: it is subject to `default-src`.
    """
    early = [f"/assets/{version_of_all()}/{texts_name(module, language)}", *filter(None, (_FIRST.get(module),))]
    return "".join(f'\n<link rel="preload" as="fetch" href="{address}">' for address in early)


def titled(head: PageHead) -> str:
    return head.title if head.title == _NAME else f"{head.title} · {_NAME}"


_LOCALES: Final[dict[PageLanguage, str]] = {"en": "en_US", "ko": "ko_KR", "zh": "zh_CN"}


def head_markup(head: PageHead, language: PageLanguage) -> str:
    """Meta elements for link previews."""
    named = {"description": head.description}
    shared = {"og:title": head.title, "og:description": head.description, "og:site_name": _NAME, "og:type": "website"}
    shared["og:locale"] = _LOCALES[language]
    if head.url:
        shared["og:url"] = head.url
    if head.image:
        shared |= {
            "og:image": head.image,
            "og:image:width": "1200",
            "og:image:height": "630",
            "og:image:type": "image/png",
        }
        named["twitter:card"] = "summary_large_image"
    lines = [f'<meta name="{name}" content="{escape(text)}">' for name, text in named.items()]
    lines += [f'<meta property="{name}" content="{escape(text)}">' for name, text in shared.items()]
    lines += [f'<meta name="{name}" content="{escape(text)}">' for name, text in head.script]
    if head.url:  # one address for the moments and languages of a page
        lines.append(f'<link rel="canonical" href="{escape(head.url.partition("?")[0])}">')
    if head.feed:
        lines.append(f'<link rel="alternate" type="application/atom+xml" href="{escape(head.feed)}">')
    if head.embed:
        lines.append(f'<link rel="alternate" type="application/json+oembed" href="{escape(head.embed)}">')
    return "\n".join(lines)


@cache
def _shell() -> Template:
    return Template((FILES / _SHELL).read_text(encoding="utf-8"))


def _policy(feed: str | None, node: str) -> str:
    connect = " ".join(("'self'", *filter(None, (feed, node))))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src {connect}; "
        "object-src 'none'"
    )
