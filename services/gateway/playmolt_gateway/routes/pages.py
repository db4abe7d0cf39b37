"""The web pages (api.md, Web pages): the HTML of each page and the files it loads.

The pages need no build step and load nothing from other hosts. Their content security policy allows scripts and styles
from this server only, and connections to this server and its spectator only.
"""

import asyncio
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import TOURNAMENT_TYPES, type_of
from playmolt_schemas.registry import bot_games
from playmolt_schemas.routes.discovery import GAMES_FEED, TOURNAMENTS_FEED
from playmolt_schemas.routes.pages import (
    PAGE_AGENT,
    PAGE_AGORA,
    PAGE_ASSET,
    PAGE_AVATAR,
    PAGE_FOLDER_ASSET,
    PAGE_GAME,
    PAGE_GAME_ASSET,
    PAGE_GAMES,
    PAGE_ICON,
    PAGE_LEGAL,
    PAGE_LOBBY,
    PAGE_ME,
    PAGE_OPERATOR,
    PAGE_PLAY,
    PAGE_PRIVACY,
    PAGE_TOURNAMENT,
    PAGE_TOURNAMENTS,
)
from playmolt_schemas.routes.platform import DOCS
from playmolt_schemas.routes.route import SVG
from playmolt_schemas.skill import PageLanguage, language_named, page_texts
from playmolt_schemas.text import unstorable
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from playmolt_gateway.http.compression import compress
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.http.responses import FILE_POLICY
from playmolt_gateway.pages.assets import file_response
from playmolt_gateway.pages.moments import language_of
from playmolt_gateway.pages.privacy import privacy_response
from playmolt_gateway.pages.reference import reference_response
from playmolt_gateway.pages.shell import PageHead, head_of, page_response
from playmolt_gateway.pictures.png import style
from playmolt_gateway.pictures.scene import avatar
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services

_MODULES: Final[Mapping[str, str]] = {
    "lobby": "lobby.js",
    "games": "archive.js",
    "agent": "agent.js",
    "tournaments": "tournaments.js",
    "tournament": "tournament.js",
    "game": "jury/page.js",
    "legal": "legal/page.js",
    "agora": "agora.js",
    "me": "me.js",
    "operator": "operator.js",
    "play": "play/page.js",
    "nowhere": "nowhere.js",
    "erased": "erased.js",
    "away": "away.js",
}


_AGENT: Final = re.compile(r"agent-[0-9a-f-]{36}", re.ASCII)
_YEAR: Final = 365 * 24 * 3600
_PAGES_WITH_FEED: Final = ("lobby", "games", "agent", "tournaments")
_LISTED_PAGES: Final = ("lobby", "games", "agent", "tournaments", "tournament", "game", "legal", "agora", "play")
"""Pages that have an address of their own."""


class _Named(msgspec.Struct):
    name: str


_named_of: Final = msgspec.json.Decoder(_Named).decode


class PageRequest:
    """The query, language and encodings of a request for a page."""

    def __init__(self, scope: Scope) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        asked = parse_qs(scope["query_string"].decode("latin-1"))  # bounded by the size of a request's head
        self.values: Mapping[str, str] = {name: found[0] for name, found in asked.items()}
        self.scope = scope
        self.encodings = headers.get("accept-encoding", "")
        accepted = headers.get("accept-language", "")
        self.language: PageLanguage = language_of(self.values.get("lang"), accepted)
        self.undecided = not accepted and language_named(self.values.get("lang")) is None
        """Whether the request wants no language, as those of preview services."""


def page_request_of(request: CheckedRequest) -> PageRequest:
    return PageRequest(request.scope)


def _send(services: Services, asked: PageRequest, page: str, head: PageHead | None = None) -> Response:
    head = head or head_of(page, asked.language)
    if page in _LISTED_PAGES:
        origin, path = services.address.gateway(asked.scope), asked.scope["path"]
        feeds = {"agent": f"/feeds{path}.atom", "tournaments": TOURNAMENTS_FEED.path}
        feed = f"{origin}{feeds.get(page, GAMES_FEED.path)}"
        head = msgspec.structs.replace(head, url=f"{origin}{path}", feed=feed if page in _PAGES_WITH_FEED else "")
    return page_response(_MODULES[page], head, asked.language, services.address.page_feed(asked.scope), asked.encodings)


@serves(PAGE_LOBBY)
async def page_lobby(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, page_request_of(request), "lobby")


@serves(PAGE_GAMES)
async def page_games(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, page_request_of(request), "games")


@serves(PAGE_TOURNAMENTS)
async def page_tournaments(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, page_request_of(request), "tournaments")


@serves(PAGE_TOURNAMENT)
async def page_tournament(services: Services, request: CheckedRequest) -> Reply:
    """Send a tournament's page with its name as the title; 404 for an unknown id."""
    asked, wanted = page_request_of(request), request.params["id"]
    if type_of(wanted) not in TOURNAMENT_TYPES:
        return missing_page(services, asked)
    try:
        answer = await services.bus.submit("tournament", "state", wanted)
    except UNAVAILABLE_ERRORS:
        return _send(services, asked, "tournament")
    if answer.status == Code.NOT_FOUND.status:
        return missing_page(services, asked)
    head = head_of("tournament", asked.language)
    name = _named_of(answer.body).name if answer.status == HTTPStatus.OK else head.title
    return _send(services, asked, "tournament", PageHead(title=name, description=head.description))


@serves(PAGE_GAME)
async def page_game(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, page_request_of(request), "game")


@serves(PAGE_LEGAL)
async def page_legal(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, page_request_of(request), "legal")


@serves(PAGE_AGORA)
async def page_agora(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, page_request_of(request), "agora")


@serves(PAGE_ME)
async def page_me(services: Services, request: CheckedRequest) -> Reply:
    """Send the page of an owner. It says whether this browser is signed in: asking is an error where it is not."""
    asked = page_request_of(request)
    if services.sign_in is None:
        return me_page(services, asked)
    try:
        session = await services.within_deadline(services.sign_in.session(request.scope))
    except UNAVAILABLE_ERRORS:
        return missing_page(services, asked, Code.UNAVAILABLE.status, "away")
    return me_page(services, asked, signed_in=session is not None)


def me_page(services: Services, asked: PageRequest, *, signed_in: bool = False, fault: str = "") -> Response:
    """The page of an owner, perhaps with what went wrong in a sign-in."""
    said = {
        "sign-in": services.sign_in.address if services.sign_in else "",
        "signed-in": "yes" if signed_in else "",
        "sign-in-fault": fault,
    }
    head = msgspec.structs.replace(head_of("me", asked.language), script=tuple(said.items()))
    return _send(services, asked, "me", head)


@serves(PAGE_OPERATOR)
async def page_operator(services: Services, request: CheckedRequest) -> Reply:
    """Send the operator's page. It holds nothing: its calls need the operator key."""
    return _send(services, page_request_of(request), "operator")


@serves(PAGE_PLAY)
async def page_play(services: Services, request: CheckedRequest) -> Reply:
    """Send the page on which a person plays a game; 404 for a type that is not played."""
    asked, game = page_request_of(request), request.params["game"]
    if game not in bot_games():
        return missing_page(services, asked)
    texts = page_texts(asked.language)
    head = PageHead(
        title=texts["head.play"].replace("{game}", texts.get(f"game.{game}", game)),
        description=texts["head.play.about"],
        script=(("people", "yes" if services.settings.people else ""),),
    )
    return _send(services, asked, "play", head)


@serves(DOCS)
async def docs(services: Services, request: CheckedRequest) -> Reply:
    """Send the API reference. It needs no other host."""
    asked = page_request_of(request)
    return await reference_response(
        asked.language, asked.encodings, f"{services.address.gateway(request.scope)}{DOCS.path}"
    )


@serves(PAGE_PRIVACY)
async def page_privacy(services: Services, request: CheckedRequest) -> Reply:
    """Send the privacy page. It needs no other service."""
    asked, address = page_request_of(request), f"{services.address.gateway(request.scope)}{PAGE_PRIVACY.path}"
    return privacy_response(asked.language, asked.encodings, address)


@serves(PAGE_AGENT)
async def page_agent(services: Services, request: CheckedRequest) -> Reply:
    """Send an agent's page with its name as the title; 404 for an unknown id."""
    asked, wanted = page_request_of(request), request.params["id"]
    try:
        profile = None if unstorable(wanted) else await services.within_deadline(services.accounts.profile(wanted))
    except UNAVAILABLE_ERRORS:
        return _send(services, asked, "agent")
    if profile is None:
        return missing_page(services, asked)
    about = profile.about or head_of("agent", asked.language).description
    return _send(services, asked, "agent", PageHead(title=profile.name, description=about[:200]))


@serves(PAGE_AVATAR)
async def page_avatar(services: Services, request: CheckedRequest) -> Reply:
    """Draw the face that an agent's id always has; whether the agent exists makes no difference."""
    del services
    agent = request.params["id"]
    if not _AGENT.fullmatch(agent):
        return HttpProblem(Code.NOT_FOUND, "This is not the id of an agent. List agents with GET /api/agents.")
    headers = {
        "cache-control": f"public, max-age={_YEAR}, immutable",
        "content-security-policy": FILE_POLICY,
        "x-content-type-options": "nosniff",
    }
    response = Response(avatar(agent, style("light")), media_type=SVG, headers=headers)
    return compress(response, page_request_of(request).encodings)


def not_found_page(services: Services, request: Request) -> Response | None:
    """The "not found" page for browsers; None for API calls and programs, which get a problem document."""
    wanted = request.headers.get("accept", "")
    if request.method != "GET" or "text/html" not in wanted or request.url.path.startswith("/api/"):
        return None
    return missing_page(services, PageRequest({**request.scope, "query_string": b""}))


def missing_page(
    services: Services, asked: PageRequest, status: int = Code.NOT_FOUND.status, page: str = "nowhere"
) -> Response:
    """A page for what does not exist, was erased or is unavailable."""
    response = _send(services, asked, page)
    response.status_code = status
    return response


@serves(PAGE_ASSET)
async def page_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file that the pages load."""
    del services
    return await _file(request, request.params["file"])


@serves(PAGE_FOLDER_ASSET)
async def page_folder_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file from the folder of one page."""
    del services
    return await _file(request, f"{request.params['folder']}/{request.params['file']}")


@serves(PAGE_GAME_ASSET)
async def page_game_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file of a game's view."""
    del services
    return await _file(request, f"games/{request.params['game']}/{request.params['file']}")


@serves(PAGE_ICON)
async def page_icon(services: Services, request: CheckedRequest) -> Reply:
    """Send the icon to browsers that request /favicon.ico."""
    del services
    return await _file(request, "favicon.ico")


async def _file(request: CheckedRequest, name: str) -> Reply:
    # In a thread: the first request of a file compresses it.
    version, encodings = request.params.get("version", ""), page_request_of(request).encodings
    sent = await asyncio.to_thread(file_response, name, version, encodings)
    return sent or HttpProblem(Code.NOT_FOUND, "No such file. Reload the page.")
