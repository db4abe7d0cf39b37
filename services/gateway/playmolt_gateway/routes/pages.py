"""The web pages (api.md, Web pages): the HTML of each, and the files that it loads.

Nothing is built and nothing is loaded from elsewhere. The policy that goes with a page allows no script and no style
but this server's own files, and connections to this server and to its spectator alone.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from playmolt_schemas.codes import Code
from playmolt_schemas.skill import PageLanguage
from playmolt_schemas.text import unstorable
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from playmolt_gateway.http.problems import Refusal
from playmolt_gateway.pages.assets import file_response
from playmolt_gateway.pages.moments import language_of
from playmolt_gateway.pages.privacy import privacy_response
from playmolt_gateway.pages.reference import reference_response
from playmolt_gateway.pages.shell import Head, head_of, page_response
from playmolt_gateway.ports import AWAY
from playmolt_gateway.request.checked_request import CheckedRequest, Reply
from playmolt_gateway.request.services import Services

_MODULES: Final[Mapping[str, str]] = {
    "lobby": "lobby.js",
    "games": "archive.js",
    "agent": "agent.js",
    "game": "jury/page.js",
    "legal": "legal/page.js",
    "agora": "agora.js",
    "nowhere": "nowhere.js",
    "erased": "erased.js",
    "away": "away.js",
}


class Asked:
    """What an address and a browser say to a page."""

    def __init__(self, scope: Scope) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        asked = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=50)
        self.values: Mapping[str, str] = {name: found[0] for name, found in asked.items()}
        self.encodings = headers.get("accept-encoding", "")
        self.language: PageLanguage = language_of(self.values.get("lang"), headers.get("accept-language", ""))


def asked_of(request: CheckedRequest) -> Asked:
    try:
        return Asked(request.scope)
    except ValueError:  # more fields than any page has
        return Asked({**request.scope, "query_string": b""})


def _send(services: Services, asked: Asked, page: str, head: Head | None = None) -> Response:
    head = head or head_of(page, asked.language)
    return page_response(_MODULES[page], head, asked.language, services.settings, asked.encodings)


async def page_lobby(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, asked_of(request), "lobby")


async def page_games(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, asked_of(request), "games")


async def page_game(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, asked_of(request), "game")


async def page_legal(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, asked_of(request), "legal")


async def page_agora(services: Services, request: CheckedRequest) -> Reply:
    return _send(services, asked_of(request), "agora")


async def docs(services: Services, request: CheckedRequest) -> Reply:
    """Send the page of the API; it works without a network beside this server."""
    del services
    asked = asked_of(request)
    return reference_response(asked.language, asked.encodings)


async def page_privacy(services: Services, request: CheckedRequest) -> Reply:
    """Send what is stored of whom; it works without everything beside this server."""
    del services
    asked = asked_of(request)
    return privacy_response(asked.language, asked.encodings)


async def page_agent(services: Services, request: CheckedRequest) -> Reply:
    """Send an agent's page, under its name; nobody's is not there."""
    asked, wanted = asked_of(request), request.params["id"]
    try:
        profile = None if unstorable(wanted) else await services.soon(services.accounts.profile(wanted))
    except AWAY:
        return _send(services, asked, "agent")
    if profile is None:
        return missing(services, asked)
    about = profile.about or head_of("agent", asked.language).description
    return _send(services, asked, "agent", Head(title=profile.name, description=about[:200]))


def nowhere(services: Services, request: Request) -> Response | None:
    """For a person, the page that says that there is none; programs and calls of the API get a problem document."""
    wanted = request.headers.get("accept", "")
    if request.method != "GET" or "text/html" not in wanted or request.url.path.startswith("/api/"):
        return None
    return missing(services, Asked({**request.scope, "query_string": b""}))


def missing(services: Services, asked: Asked, status: int = Code.NOT_FOUND.status, page: str = "nowhere") -> Response:
    """The page that says that there is none, or no more."""
    response = _send(services, asked, page)
    response.status_code = status
    return response


async def page_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file of the pages; 404 for anything else."""
    del services
    return _file(request, request.params["file"])


async def page_folder_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file of a page's own folder; 404 for anything else."""
    del services
    return _file(request, f"{request.params['folder']}/{request.params['file']}")


async def page_game_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file with which a game is watched; 404 for anything else."""
    del services
    return _file(request, f"games/{request.params['game']}/{request.params['file']}")


async def page_icon(services: Services, request: CheckedRequest) -> Reply:
    """Send the mark to who asks for an icon without having read a page."""
    del services
    return _file(request, "mark.svg")


def _file(request: CheckedRequest, name: str) -> Reply:
    sent = file_response(name, request.params.get("version", ""), asked_of(request).encodings)
    return sent or Refusal(Code.NOT_FOUND, "The pages load no file of this name. Reload the page.")
