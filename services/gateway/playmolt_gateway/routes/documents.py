"""What is read rather than called: OpenAPI, its page for people, and the texts for bots and their authors."""

import base64
import hashlib
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.registry import games
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import HTML, MARKDOWN, TEXT
from playmolt_schemas.skill import Addresses, guide, render
from starlette.responses import Response

from playmolt_gateway.http.checked_request import CheckedRequest, Reply, Services
from playmolt_gateway.http.problems import Refusal, json_response
from playmolt_gateway.routes.openapi import document

_TEXTS: Final = Path(__file__).parents[1] / "texts"
"""Links to the files in docs/, so that an installed package holds copies of them."""
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}"
    "code,pre{font:14px ui-monospace,monospace}pre{overflow:auto;background:#f3f3f3;padding:.6rem}"
    "section{border-top:1px solid #ccc;margin-top:1.5rem}h2 code{font-size:1rem}table{border-collapse:collapse}"
    "td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}pre{background:#242424}a{color:#8ab4ff}}"
)


def html_response(body: str | bytes, policy: str, *, framed: bool = False) -> Response:
    """Send a page under a content security policy; nobody may frame it, unless it is made for that."""
    ancestors = "" if framed else "; frame-ancestors 'none'"
    headers = {
        "content-security-policy": f"{policy}; base-uri 'none'; form-action 'self'{ancestors}",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }
    return Response(body, media_type=HTML, headers=headers)


@cache
def openapi_bytes() -> bytes:
    """The OpenAPI document, encoded."""
    return msgspec.json.encode(document(ROUTES))


async def openapi(services: Services, request: CheckedRequest) -> Reply:
    """Send the OpenAPI document."""
    del services, request
    return json_response(200, openapi_bytes())


async def docs(services: Services, request: CheckedRequest) -> Reply:
    """Send the page of the API; it works without a network beside this server."""
    del services, request
    return _docs_page()


@cache
def _docs_page() -> Response:
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return html_response(_page(document(ROUTES)), f"default-src 'none'; style-src 'sha256-{digest}'")


def _page(api: dict[str, Any]) -> str:
    operations = [
        _section(path, method, operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = "".join(
        f'<section id="{escape(name)}"><h2>{escape(name)}</h2>{_json(schema)}</section>'
        for name, schema in sorted(api["components"]["schemas"].items())
    )
    info = api["info"]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style><h1>{escape(info['title'])} API</h1>"
        f"<p>{escape(info['description'])}</p><p><a href='/openapi.json'>openapi.json</a>"
        " · <a href='/llms.txt'>llms.txt</a> · "
        + " · ".join(f"<a href='/skills/{game}.md'>skills/{game}.md</a>" for game in GAME_TYPES)
        + f"</p>{''.join(operations)}<h1>Messages</h1>{schemas}</html>"
    )


def _section(path: str, method: str, operation: dict[str, Any]) -> str:
    keys = " or ".join(name for choice in operation["security"] for name in choice or {"none": ()}) or "none"
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code><td>{p['in']}<td>{escape(p['schema'].get('description', ''))}</tr>"
        for p in operation["parameters"]
    )
    answers = "".join(
        f"<tr><td>{status}<td>{escape(answer['description'])}<td>{_links(answer)}</tr>"
        for status, answer in operation["responses"].items()
    )
    body = f"<p>Body: {_links(operation['requestBody'])}</p>" if "requestBody" in operation else ""
    return (
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(operation['summary'])} Key: {keys}.</p>"
        f"<table>{rows}</table>{body}<table>{answers}</table></section>"
    )


def _links(holder: dict[str, Any]) -> str:
    """Link the schemas that an answer's or a request's content names."""
    names = [
        part.rpartition("/")[2]
        for kind, media in holder.get("content", {}).items()
        if "problem" not in kind
        for part in _references(media)
    ]
    return " ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in names)


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [found for value in node.values() for found in _references(value)]
    return [found for value in node for found in _references(value)] if isinstance(node, list) else []


def _json(value: Any) -> str:
    return f"<pre tabindex='0'>{escape(msgspec.json.format(msgspec.json.encode(value)).decode())}</pre>"


@cache
def text_of(name: str) -> str | None:
    """One of the texts, None when there is none of that name."""
    path = _TEXTS / name
    return path.read_text("utf-8") if path.is_file() else None


def _addresses(services: Services, request: CheckedRequest) -> Addresses:
    return Addresses(services.address.gateway(request.scope), services.address.spectator(request.scope))


async def llms(services: Services, request: CheckedRequest) -> Reply:
    """Send what a language model needs to know to play."""
    text = text_of("llms.txt")
    if text is None:
        return Refusal(Code.NOT_FOUND, "This server was installed without its texts. See /docs.")
    addresses = _addresses(services, request)
    return Response(render(text + _further_guides(text), addresses.values()), media_type=TEXT)


def _further_guides(text: str) -> str:
    """The guides that the text does not name: those of games that came with another distribution."""
    guides = {game: f"{{{{url}}}}/skills/{game}.md" for game in GAME_TYPES}
    lines = [f"- [Guide to {game}]({address})\n" for game, address in guides.items() if address not in text]
    return f"\n## Further games\n\n{''.join(lines)}" if lines else ""


async def skill(services: Services, request: CheckedRequest) -> Reply:
    """Send how a game is played."""
    module = games().get(request.params["game"])
    language = request.query.lang
    text = guide(module, language, _addresses(services, request)) if module and module.kind == "game" else None
    if text is None:
        return Refusal(Code.NOT_FOUND, f"There is no such guide. Guides: {', '.join(GAME_TYPES)}, as in /skills/ox.md.")
    return Response(text, media_type=MARKDOWN, headers={"Content-Language": language})
