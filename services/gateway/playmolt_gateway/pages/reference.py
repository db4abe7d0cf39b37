"""The API reference page: all routes and messages, with a localized frame."""

import asyncio
import base64
import hashlib
import re
from functools import cache, lru_cache
from html import escape
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.skill import PageLanguage, page_texts
from starlette.responses import Response

from playmolt_gateway.http.compression import compressed, encodings
from playmolt_gateway.http.openapi import document
from playmolt_gateway.http.responses import html_response
from playmolt_gateway.pages.assets import version_of_all
from playmolt_gateway.pages.shell import ADDRESS, ADDRESSES_KEPT, addressed, head_markup, head_of, titled

_CODE: Final = re.compile("`([^`]+)`")
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}"
    "code,pre{font:14px ui-monospace,monospace}pre{overflow:auto;background:#f3f3f3;padding:.6rem}"
    "body{overflow-wrap:anywhere}"
    "section{border-top:1px solid #ccc;margin-top:1.5rem}h2 code{font-size:1rem}table{border-collapse:collapse}"
    "td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top}"
    "td{overflow-wrap:anywhere;min-width:3.4rem}td:first-child{overflow-wrap:normal}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}pre{background:#242424}a{color:#8ab4ff}}"
)


async def reference_response(language: PageLanguage, accepts: str, address: str) -> Response:
    """Send the page, which names its own address."""
    # The first time, it is made of the schemas of all routes; each address has a copy that is compressed.
    body, encoding = await asyncio.to_thread(_sent, language, encodings(accepts) & {"br", "gzip"}, address)
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    response = html_response(body, f"default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'")
    response.headers["vary"] = "Accept-Encoding, Accept-Language"
    if encoding:
        response.headers["content-encoding"] = encoding
    return response


@lru_cache(maxsize=ADDRESSES_KEPT)
def _sent(language: PageLanguage, taken: frozenset[str], address: str) -> tuple[bytes, str]:
    return compressed(addressed(_whole(language), address).encode(), ", ".join(taken))


@cache
def _whole(language: PageLanguage) -> str:
    return _page(document(ROUTES), language)


def _page(api: dict[str, Any], language: PageLanguage) -> str:
    operations = [
        _section(path, method, operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = "".join(
        f'<section id="{escape(name)}"><h2>{escape(name)}</h2>{_json(schema)}</section>'
        for name, schema in sorted(api["components"]["schemas"].items())
    )
    head, messages = head_of("docs", language), page_texts(language)["docs.messages"]
    guides = " · ".join(f"<a href='/skills/{game}.md'>skills/{game}.md</a>" for game in GAME_TYPES)
    return (
        f'<!doctype html><html lang="{language}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(titled(head))}</title>{head_markup(replace(head, url=ADDRESS), language)}"
        f'<link rel="icon" href="/assets/{version_of_all()}/mark.svg" type="image/svg+xml"><style>{_STYLE}</style>'
        f'<header><a href="/">PlayMolt</a></header><main><h1>{escape(head.title)}</h1><p>{escape(head.description)}</p>'
        f"<p lang='en'>{_text(api['info']['description'])}</p>"
        f"<p><a href='/openapi.json'>openapi.json</a> · <a href='/llms.txt'>llms.txt</a> · {guides}</p>"
        f"<div lang='en'>{''.join(operations)}</div><h1>{escape(messages)}</h1>"
        f"<div lang='en'>{schemas}</div></main>"
        f'<footer><a href="/privacy?lang={language}">{escape(page_texts(language)["foot.privacy"])}</a></footer></html>'
    )


def _section(path: str, method: str, operation: dict[str, Any]) -> str:
    keys = " or ".join(name for choice in operation["security"] for name in choice or {"none": ()}) or "none"
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code><td>{p['in']}<td>{_text(p['schema'].get('description', ''))}</tr>"
        for p in operation["parameters"]
    )
    answers = "".join(
        f"<tr><td>{status}<td>{_text(answer['description'])}<td>{_links(answer)}</tr>"
        for status, answer in operation["responses"].items()
    )
    body = f"<p>Body: {_links(operation['requestBody'])}</p>" if "requestBody" in operation else ""
    return (
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(operation['summary'])} Key: {keys}.</p>"
        f"<table>{rows}</table>{body}<table>{answers}</table></section>"
    )


def _text(description: str) -> str:
    """A description as HTML, with `code`."""
    return _CODE.sub(r"<code>\1</code>", escape(description))


def _links(holder: dict[str, Any]) -> str:
    """Links to the schemas of a request or answer."""
    names = [
        part.rpartition("/")[2]
        for kind, media in holder.get("content", {}).items()
        if "problem" not in kind
        for part in _references(media)
    ]
    return " ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in names)


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [found for value in node.values() for found in _references(value)]
    return [found for value in node for found in _references(value)] if isinstance(node, list) else []


def _json(value: object) -> str:
    return f"<pre tabindex='0'>{escape(msgspec.json.format(msgspec.json.encode(value)).decode())}</pre>"
