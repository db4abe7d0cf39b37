"""What is read rather than called: OpenAPI, and the texts for bots and their authors."""

from functools import cache
from pathlib import Path
from typing import Final

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
