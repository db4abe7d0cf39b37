"""The page about what is stored of whom, and how it is erased: docs/privacy.md, in the reader's language."""

from functools import cache
from html import escape
from string import Template
from typing import Final, get_args

from playmolt_schemas.routes.page_texts import PageLanguage, page_texts
from starlette.responses import Response

from playmolt_gateway.pages.assets import FILES, compressed, encodings, version_of_all
from playmolt_gateway.pages.markup import html_of
from playmolt_gateway.pages.shell import head_markup, head_of, titled
from playmolt_gateway.routes.documents import html_response, text_of

_PAGE: Final = "privacy.html"
_POLICY: Final = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; object-src 'none'"
_NAMES: Final[dict[PageLanguage, str]] = {"en": "English", "ko": "한국어", "zh": "中文"}


def privacy_response(language: PageLanguage, accepts: str) -> Response:
    body, encoding = _sent(language, encodings(accepts) & {"br", "gzip"})
    response = html_response(body, _POLICY)
    response.headers["cache-control"] = "no-cache"
    response.headers["vary"] = "Accept-Encoding, Accept-Language"
    if encoding:
        response.headers["content-encoding"] = encoding
    return response


@cache
def _sent(language: PageLanguage, taken: frozenset[str]) -> tuple[bytes, str]:
    return compressed(_page(language).encode(), ", ".join(taken))


def _page(language: PageLanguage) -> str:
    head = head_of("privacy", language)
    text = text_of("privacy.md" if language == "en" else f"privacy.{language}.md")
    return Template((FILES / _PAGE).read_text(encoding="utf-8")).substitute(
        language=language,
        title=escape(titled(head)),
        head=head_markup(head),
        version=version_of_all(),
        body=html_of(text or f"# {head.title}\n\n{head.description}"),
        about=escape(page_texts(language)["foot"]),
        languages="".join(
            f'<a href="/privacy?lang={code}" hreflang="{code}" lang="{code}">{_NAMES[code]}</a>'
            for code in get_args(PageLanguage)
        ),
    )
