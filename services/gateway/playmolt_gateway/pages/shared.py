"""The page behind a share link: read-only, without scripts, not cached."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from html import escape
from string import Template
from typing import Final

from playmolt_schemas.routes.sharing import SharedPage
from playmolt_schemas.skill import PageLanguage, page_texts
from starlette.responses import Response

from playmolt_gateway.http.compression import compressed
from playmolt_gateway.http.responses import html_response
from playmolt_gateway.pages.assets import FILES, version_of_all
from playmolt_gateway.pages.shell import PageHead, head_markup, titled
from playmolt_gateway.pictures.scene import Picture

_PAGE: Final = "shared.html"
_AGAIN_SECONDS: Final = 5


def shared_response(
    shown: SharedPage,
    head: PageHead,
    address: str,
    language: PageLanguage,
    pictures: tuple[Picture, Picture] | None,
    accepts: str,
) -> Response:
    """`address` is the page's URL; `pictures` are the wide and the tall one."""
    words = page_texts(language)
    html = _template().substitute(
        language=language,
        content_language=shown.language,
        title=escape(titled(head)),
        head=head_markup(head, language)
        + (f'<meta http-equiv="refresh" content="{_AGAIN_SECONDS}">' if not shown.ready else ""),
        version=version_of_all(),
        style=f"<style>{shown.style}</style>" if shown.style else "",
        heading=escape(shown.title),
        notice=escape(words["shared.notice"]),
        kind=escape(words.get(f"about.{shown.state['gameType']}", "")) if shown.state else "",
        about=escape(words["shared.about"]),
        privacy=escape(words["foot.privacy"]),
        picture=_drawn(pictures),
        ways=_ways(address, words) if shown.log else "",
        body=shown.body,
    )
    body, encoding = compressed(html.encode(), accepts)
    response = html_response(body, _policy(shown.style))
    response.headers["cache-control"] = "private, no-store"
    response.headers["x-robots-tag"] = "noindex"
    if encoding:
        response.headers["content-encoding"] = encoding
        response.headers["vary"] = "Accept-Encoding, Accept-Language"
    return response


def _ways(address: str, words: Mapping[str, str]) -> str:
    """Links for verifying the shared content."""
    check = f'<a class="button" href="{escape(address)}/check">{escape(words["shared.check"])}</a>'
    log = f'<a href="{escape(address)}/log.jsonl" download>{escape(words["shared.log"])}</a>'
    return f'<p class="row">{check} {log}</p>'


def _drawn(pictures: tuple[Picture, Picture] | None) -> str:
    if pictures is None:
        return ""
    wide, tall = pictures
    drawn = f'<div class="wide-only">{wide.svg()}</div><div class="tall-only">{tall.svg()}</div>'
    return f'<figure class="shared">{drawn}</figure>'


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    own = f" 'sha256-{digest}'" if style else ""
    return f"default-src 'none'; style-src 'self'{own}; img-src 'self' data:"


@cache
def _template() -> Template:
    return Template((FILES / _PAGE).read_text(encoding="utf-8"))
