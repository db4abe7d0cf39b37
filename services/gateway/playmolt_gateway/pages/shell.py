"""The HTML of a page: its head in the reader's language, and the module that draws the rest."""

from functools import cache
from html import escape
from string import Template
from typing import Final

import msgspec
from playmolt_core.settings import Settings
from playmolt_schemas.skill import PageLanguage, page_texts
from starlette.responses import Response

from playmolt_gateway.http.responses import html_response
from playmolt_gateway.pages.assets import FILES, compressed, version_of_all

_SHELL: Final = "shell.html"
_NAME: Final = "PlayMolt"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1", "[::1]")
_ANY_ADDRESS: Final = ("0.0.0.0", "::", "[::]")  # noqa: S104 -- compared, not bound


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a page says of itself to who only looks at its link."""

    title: str
    description: str
    image: str = ""
    """The absolute address of a picture, "" for none."""
    embed: str = ""
    """The absolute address that tells how it is put elsewhere, "" where it cannot be."""


def head_of(page: str, language: PageLanguage) -> Head:
    """The head of a page that is the same for everybody."""
    texts = page_texts(language)
    return Head(title=texts[f"head.{page}"], description=texts[f"head.{page}.about"])


_FIRST: Final = {"lobby.js": "/games/rows?limit=24"}
"""What a page's module asks for as soon as it runs: the browser asks for it beside the module."""


def page_response(
    module: str,
    head: Head,
    language: PageLanguage,
    settings: Settings,
    accepts: str,
    *,
    framed: bool = False,
    node: str = "",
) -> Response:
    """Send a page; `framed`: anybody may put it into a page of theirs; `node`: one more origin that it may call."""
    html = _shell().substitute(
        language=language,
        title=escape(titled(head)),
        head=head_markup(head) + _early(module, language),
        module=escape(module),
        version=version_of_all(),
        spectator_port=settings.spectator_port,
    )
    body, encoding = compressed(html.encode(), accepts)
    response = html_response(body, _policy(settings, node), framed=framed)
    response.headers["cache-control"] = "no-cache"
    response.headers["vary"] = "Accept, Accept-Encoding, Accept-Language"
    if encoding:
        response.headers["content-encoding"] = encoding
    return response


def _early(module: str, language: PageLanguage) -> str:
    """What the browser may fetch while the module is on its way.

    The texts are prefetched, not preloaded: who has chosen another language reads others.
    """
    texts = f'\n<link rel="prefetch" as="fetch" href="/assets/{version_of_all()}/texts.{language}.json" crossorigin>'
    first = _FIRST.get(module)
    return texts + (f'\n<link rel="preload" as="fetch" href="{first}" crossorigin>' if first else "")


def titled(head: Head) -> str:
    return head.title if head.title == _NAME else f"{head.title} · {_NAME}"


def head_markup(head: Head) -> str:
    """What who only looks at a link is told."""
    named = {"description": head.description}
    shared = {"og:title": head.title, "og:description": head.description, "og:site_name": _NAME, "og:type": "website"}
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
    if head.embed:
        lines.append(f'<link rel="alternate" type="application/json+oembed" href="{escape(head.embed)}">')
    return "\n".join(lines)


@cache
def _shell() -> Template:
    return Template((FILES / _SHELL).read_text(encoding="utf-8"))


def _policy(settings: Settings, node: str) -> str:
    connect = " ".join(("'self'", *_spectators(settings), *filter(None, (node,))))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src {connect}; "
        "object-src 'none'"
    )


def _spectators(settings: Settings) -> tuple[str, ...]:
    """Where the page may reach the spectator. Without a port it is behind the page's own origin."""
    host, port = settings.host, settings.spectator_port
    if not port:
        return ()
    if host in _ANY_ADDRESS:
        # Any name may lead here, and which one the person typed is not known.
        return (f"http://*:{port}",)
    named = _LOOPBACK[:2] if host in _LOOPBACK else (host,)
    return tuple(f"http://{name}:{port}" for name in named)
