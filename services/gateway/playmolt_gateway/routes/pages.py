"""The web pages (api.md, Web pages): one shell of HTML a page, and the modules, styles and texts that it loads.

Nothing is built and nothing is loaded from elsewhere. The policy that goes with a page allows no script and no style
but this server's own files, and connections to this server and to its spectator alone.
"""

from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Final

import msgspec
from playmolt_core.settings import Settings
from playmolt_schemas.codes import Code
from playmolt_schemas.page_texts import PAGE_LANGUAGES, page_texts
from playmolt_schemas.registry import games
from starlette.requests import Request
from starlette.responses import Response

from playmolt_gateway.http.checked_request import CheckedRequest, Reply, Services, game_of
from playmolt_gateway.http.problems import Refusal
from playmolt_gateway.routes.documents import html_response

_FILES: Final = Path(__file__).parents[1] / "web"
_SHELL: Final = "shell.html"
_DRAWING: Final = "watch.js"
_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_KEPT_SECONDS: Final = 60
"""After a rollout a browser runs the old modules for this long at most."""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1", "[::1]")
_ANY_ADDRESS: Final = ("0.0.0.0", "::", "[::]")  # noqa: S104 -- compared, not bound


class _Page(msgspec.Struct, frozen=True):
    module: str
    title: str


_LOBBY: Final = _Page("lobby.js", "PlayMolt")
_WATCH: Final = _Page("watch/page.js", "Watch · PlayMolt")
_GAME: Final = _Page("jury/page.js", "AI jury · PlayMolt")
_LEGAL: Final = _Page("legal/page.js", "Legal simulation · PlayMolt")
_AGORA: Final = _Page("agora.js", "Agora · PlayMolt")
_NOWHERE: Final = _Page("nowhere.js", "PlayMolt")


async def page_lobby(services: Services, request: CheckedRequest) -> Reply:
    del request
    return _send(_LOBBY, services.settings)


async def page_watch(services: Services, request: CheckedRequest) -> Reply:
    """Send the page of a game or run; the page itself says when there is none of that id."""
    response = _send(_WATCH, services.settings)
    if game_of(request.params["id"]) is None:
        response.status_code = Code.NOT_FOUND.status
    return response


async def page_game(services: Services, request: CheckedRequest) -> Reply:
    del request
    return _send(_GAME, services.settings)


async def page_legal(services: Services, request: CheckedRequest) -> Reply:
    del request
    return _send(_LEGAL, services.settings)


async def page_agora(services: Services, request: CheckedRequest) -> Reply:
    del request
    return _send(_AGORA, services.settings)


def nowhere(services: Services, request: Request) -> Response | None:
    """For a person, the page that says that there is none; programs and calls of the API get a problem document."""
    wanted = request.headers.get("accept", "")
    if request.method != "GET" or "text/html" not in wanted or request.url.path.startswith("/api/"):
        return None
    response = _send(_NOWHERE, services.settings)
    response.status_code = Code.NOT_FOUND.status
    response.headers["vary"] = "Accept"
    return response


async def page_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file of the pages; 404 for anything else."""
    del services
    return _file(request.params["file"])


async def page_folder_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file of a page's own folder; 404 for anything else."""
    del services
    return _file(f"{request.params['folder']}/{request.params['file']}")


async def page_game_asset(services: Services, request: CheckedRequest) -> Reply:
    """Send a file with which a game is watched; 404 for anything else."""
    del services
    return _file(f"games/{request.params['game']}/{request.params['file']}")


def _file(name: str) -> Reply:
    found = _assets().get(name)
    if found is None:
        return Refusal(Code.NOT_FOUND, "The pages load no file of this name. Reload the page.")
    body, kind = found
    headers = {"x-content-type-options": "nosniff", "cache-control": f"max-age={_KEPT_SECONDS}"}
    return Response(body, media_type=kind, headers=headers)


@cache
def _assets() -> Mapping[str, tuple[bytes, str]]:
    """Name → content and type; only what is listed here can ever be sent."""
    views = {game.type: game.watch.files() for game in games().values() if game.watch is not None}
    own = {path.relative_to(_FILES).as_posix(): path.read_bytes() for path in _FILES.rglob("*") if path.is_file()}
    texts = {f"texts.{code}.json": msgspec.json.encode(page_texts(code)) for code in PAGE_LANGUAGES}
    read = own | texts
    read |= {f"games/{game}/{name}": content for game, view in views.items() for name, content in view.items()}
    read["games.js"] = _games_module(views)
    return {name: (content, _TYPES[Path(name).suffix]) for name, content in read.items() if Path(name).suffix in _TYPES}


def _games_module(views: Mapping[str, Mapping[str, bytes]]) -> bytes:
    """A module that names the types that anybody may watch, and whether each has a drawing of its own."""
    watched = [
        {"type": game.type, "kind": game.kind, "watch": _DRAWING in views.get(game.type, ())}
        for game in games().values()
        if game.kind != "session"
    ]
    return b"/** The games of this server. */\n\nexport const GAMES = " + msgspec.json.encode(watched) + b";\n"


@cache
def _shell() -> Template:
    return Template((_FILES / _SHELL).read_text("utf-8"))


def _send(page: _Page, settings: Settings) -> Response:
    html = _shell().substitute(
        title=escape(page.title), module=escape(page.module), spectator_port=settings.spectator_port
    )
    response = html_response(html, _policy(settings))
    response.headers["cache-control"] = "no-cache"
    return response


def _policy(settings: Settings) -> str:
    connect = " ".join(("'self'", *_spectators(settings)))
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
