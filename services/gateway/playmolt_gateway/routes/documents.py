"""Documents: OpenAPI, llms.txt and the guides for bots."""

import asyncio
from functools import cache

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.registry import games
from playmolt_schemas.routes.platform import LLMS, OPENAPI, ROUTES, SKILL, GuideQuery
from playmolt_schemas.routes.route import MARKDOWN, TEXT
from playmolt_schemas.skill import Addresses, guide, render
from starlette.responses import Response

from playmolt_gateway.http.openapi import document
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.pages.privacy import text_of
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services


@cache
def openapi_bytes() -> bytes:
    """The OpenAPI document as JSON."""
    return msgspec.json.encode(document(ROUTES))


@serves(OPENAPI)
async def openapi(services: Services, request: CheckedRequest) -> Reply:
    del services, request
    # The first time, it is made of the schemas of all routes.
    return json_response(200, await asyncio.to_thread(openapi_bytes))


def _addresses(services: Services, request: CheckedRequest) -> Addresses:
    return Addresses(services.address.gateway(request.scope), services.address.spectator(request.scope))


@serves(LLMS)
async def llms(services: Services, request: CheckedRequest) -> Reply:
    """Send llms.txt, with the addresses of this server."""
    text = text_of("llms.txt")
    if text is None:
        return HttpProblem(Code.NOT_FOUND, "This installation has no llms.txt. See /docs.")
    addresses = _addresses(services, request)
    return Response(render(text + _further_guides(text), addresses.values()), media_type=TEXT)


def _further_guides(text: str) -> str:
    """Links to the guides that the text does not name: those of games from other distributions."""
    guides = {game: f"{{{{url}}}}/skills/{game}.md" for game in GAME_TYPES}
    lines = [f"- [Guide to {game}]({address})\n" for game, address in guides.items() if address not in text]
    return f"\n## Further games\n\n{''.join(lines)}" if lines else ""


@serves(SKILL)
async def skill(services: Services, request: CheckedRequest[GuideQuery, None]) -> Reply:
    """Send the guide to a game."""
    module = games().get(request.params["game"])
    language = request.query.lang
    text = guide(module, language, _addresses(services, request)) if module and module.kind == "game" else None
    if text is None:
        return HttpProblem(
            Code.NOT_FOUND, f"Guide does not exist. Guides: {', '.join(GAME_TYPES)}, for example /skills/ox.md."
        )
    return Response(text, media_type=MARKDOWN, headers={"Content-Language": language})
