"""Watching a game: page, picture, embedded frame and replay file."""

import re
from collections.abc import Mapping
from html import escape
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec
from msgspec import UNSET
from playmolt_schemas.codes import ARCHIVED, Code
from playmolt_schemas.routes.pages import OEMBED, PAGE_EMBED, PAGE_PICTURE, PAGE_WATCH, READ_REPLAY, OEmbedResponse
from playmolt_schemas.skill import PageLanguage, language_named, page_texts
from starlette.responses import Response

from playmolt_gateway.http.compression import compress
from playmolt_gateway.http.problems import HttpProblem, no_such_game
from playmolt_gateway.http.responses import FILE_POLICY, html_response, json_response
from playmolt_gateway.pages.assets import version_of_all
from playmolt_gateway.pages.game_pictures import OVER, GamePicture, WantedPicture, language_of_game
from playmolt_gateway.pages.moments import (
    State,
    drawn,
    is_archived,
    moderation_of,
    state_if_there,
    state_of,
    version_in,
)
from playmolt_gateway.pages.replay import ReplayFrame, moments, replay_html, replay_policy
from playmolt_gateway.pages.shell import PageHead, page_response
from playmolt_gateway.pictures.picture_store import name_of
from playmolt_gateway.pictures.scene import WIDE
from playmolt_gateway.pictures.svg import isolated
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest, game_of
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.pages import PageRequest, page_request_of

_WATCH: Final = "watch/page.js"
_EMBED: Final = "watch/embed.js"
_OEMBED: Final = (800, 520)
_WIDTHS: Final = (WIDE.width, 800, 600, 400, 320, 200, 120, 80)
"""Offered widths of a picture, with whole heights: few, since each is drawn and kept by itself."""
_SVG: Final = "image/svg+xml"
_SVG_FILE: Final = "picture.svg"
_GAME_PAGE: Final = re.compile(r"/(?:watch|embed)/([^/]+)/?")
_YEAR: Final = 365 * 24 * 3600
_ARCHIVED: Final = HttpProblem(Code.ARCHIVED, ARCHIVED)


@serves(PAGE_WATCH)
async def page_watch(services: Services, request: CheckedRequest) -> Reply:
    """Send the page of a game or run with its topic in the head; 404 for an unknown id."""
    return await _page(services, request, _WATCH)


@serves(PAGE_EMBED)
async def page_embed(services: Services, request: CheckedRequest) -> Reply:
    """Send a game for embedding in another site."""
    return await _page(services, request, _EMBED, framed=True)


async def _page(services: Services, request: CheckedRequest, module: str, *, framed: bool = False) -> Reply:
    asked, game = page_request_of(request), request.params["id"]
    moment = version_in(asked.values.get("v"))
    known = game_of(game) is not None
    state = await state_if_there(services.bus, game, moment, asked.values.get("invite")) if known else None
    origin = services.address.gateway(request.scope)
    language = _language_of(state, asked) if state else asked.language
    head = _head(state, language, origin, moment, asked.values.get("invite")) if state else _plain_head(asked)
    feed = services.address.page_feed(request.scope)
    reads = asked.language  # who wants no language gets the head in the game's own, and the texts in the module's own
    response = page_response(module, head, language, feed, asked.encodings, framed=framed, reader=reads)
    if not known or (state is None and await _is_missing(services, game, asked.values.get("invite"))):
        response.status_code = Code.NOT_FOUND.status
    return response


async def _is_missing(services: Services, game: str, invite: str | None) -> bool:
    """Whether an engine reports that the game does not exist."""
    try:
        return await state_of(services.bus, game, invite=invite) is None
    except UNAVAILABLE_ERRORS:
        return False


async def _without_state(services: Services, game: str) -> HttpProblem:
    """Why a game has no state: it was archived, or it does not exist."""
    archived = await is_archived(services.bus, game)
    return _ARCHIVED if archived else no_such_game(game)


def _plain_head(asked: PageRequest) -> PageHead:
    texts = page_texts(asked.language)
    return PageHead(title=texts["watch.title"], description=texts["head.watch.about"])


def _language_of(state: State, asked: PageRequest) -> PageLanguage:
    """The reader's language; the game's own for who wants none, as preview services."""
    return language_of_game(state) if asked.undecided else asked.language


def _head(state: State, language: PageLanguage, origin: str, moment: int | None, invite: str | None) -> PageHead:
    texts, game = page_texts(language), state.get("game_id") or state["id"]
    kind = texts.get(f"game.{state['gameType']}", state["gameType"])
    picture = drawn(state, language, WIDE)
    about = (state.get("case") or {}).get("title") or state.get("question") or state.get("name") or kind
    result = picture.title if picture else ""
    title = " · ".join(
        part if part == result else isolated(part)
        for part in dict.fromkeys((result, about, kind))
        if part and (part == result or part not in result)
    )
    version = state["version"]
    address = f"{origin}/watch/{game}{_query({'v': version, 'invite': invite})}"
    words = _query({"v": version, "lang": language, "invite": invite, "m": moderation_of(state)})
    return PageHead(
        title=title,
        description=picture.description[:300] if picture else texts["head.watch.about"],
        image=f"{origin}/watch/{game}/picture.png{words}" if picture else "",
        embed=f"{origin}/oembed?url={quote(address, safe='')}",
        url=f"{origin}/watch/{game}{_query({'v': moment, 'invite': invite})}",
    )


def head_of_game(state: State, language: PageLanguage, origin: str) -> PageHead:
    """The head of the page of a game as it is now."""
    return _head(state, language, origin, None, None)


@serves(PAGE_PICTURE)
async def page_picture(services: Services, request: CheckedRequest) -> Reply:
    """Draw a game at a version, or at its last one if that version does not exist."""
    asked, kind = page_request_of(request), request.params["picture"]
    game, svg = request.params["id"], kind == _SVG_FILE
    if game_of(game) is None:
        return no_such_game(game)
    if kind not in (_SVG_FILE, "picture.png"):
        return HttpProblem(
            Code.NOT_FOUND, f"A game's pictures are /watch/{game}/picture.png and /watch/{game}/picture.svg."
        )
    wanted = WantedPicture(
        game, version_in(asked.values.get("v")), None if asked.undecided else asked.language, svg,
        seat=asked.values.get("seat", ""), invite=asked.values.get("invite", ""),
        theme="dark" if not svg and asked.values.get("theme") == "dark" else "light",
        tall=svg and asked.values.get("tall") == "1",
        width=WIDE.width if svg else _width_within(_number(asked, "width"), None) or WIDE.width,
        revision=await services.within_deadline(services.moderation.revision()),
    )  # fmt: skip
    picture = await services.game_pictures.of(wanted)
    if picture is None and await is_archived(services.bus, game):
        return _ARCHIVED
    if picture is None:
        return HttpProblem(Code.NOT_FOUND, "This game has no picture. List games with GET /api/games.")
    headers = {
        "content-security-policy": FILE_POLICY,  # Opened by itself, the picture runs no script.
        "x-content-type-options": "nosniff",
        "cache-control": _kept(picture),
        "content-disposition": f'inline; filename="{game}.{kind.rpartition(".")[2]}"',
    }
    if language_named(asked.values.get("lang")) is None:
        headers["vary"] = "Accept-Language"
    response = Response(picture.body, media_type=_SVG if svg else "image/png", headers=headers)
    return compress(response, asked.encodings) if svg else response


def _kept(picture: GamePicture) -> str:
    if picture.settled:
        return f"public, max-age={_YEAR}, immutable"
    return "public, max-age=60" if picture.over else "private, max-age=60"


@serves(OEMBED)
async def oembed(services: Services, request: CheckedRequest) -> Reply:
    """Describe how to embed a game (oembed.com), within the size that is asked for."""
    asked = page_request_of(request)
    if asked.values.get("format", "json") != "json":
        return HttpProblem(Code.UNSUPPORTED_FORMAT, "oEmbed answers are JSON. Omit format, or send format=json.")
    origin, url = services.address.gateway(request.scope), asked.values.get("url", "")
    named = _game_at(url, services, request)
    if named is None:
        return HttpProblem(
            Code.NOT_FOUND,
            f"url is not a game's page on this server. Send one like {origin}/watch/ox-… as it was copied.",
        )
    game, said = named
    if game_of(game) is None:
        return no_such_game(game)
    moment, invite = version_in(said.get("v", [""])[0]), said.get("invite", [""])[0] or None
    state = await state_of(services.bus, game, moment, invite=invite)
    if state is None:
        return await _without_state(services, game)
    head = _head(state, _language_of(state, asked), origin, moment, invite)
    wide, high = _number(asked, "maxwidth"), _number(asked, "maxheight")
    width, height = (
        min(most, own) for most, own in zip((wide or _OEMBED[0], high or _OEMBED[1]), _OEMBED, strict=True)
    )
    source = escape(f"{origin}/embed/{game}{_query({'v': moment, 'invite': invite})}")
    frame = f'<iframe src="{source}" width="{width}" height="{height}" title="PlayMolt"></iframe>'
    thumbnail = _width_within(wide, high) if head.image else None
    embedding = OEmbedResponse(
        version="1.0", type="rich", provider_name="PlayMolt", provider_url=origin, title=head.title, html=frame,
        width=width, height=height,
        thumbnail_url=f"{head.image}&width={thumbnail}" if thumbnail else UNSET,
        thumbnail_width=thumbnail or UNSET, thumbnail_height=_height_of(thumbnail) if thumbnail else UNSET,
    )  # fmt: skip
    return json_response(200, msgspec.json.encode(embedding))


def _game_at(url: str, services: Services, request: CheckedRequest) -> tuple[str, Mapping[str, list[str]]] | None:
    """The game whose page has this address, and the address's query; None for any other address."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as an IPv6 address without its closing bracket
        return None
    page = _GAME_PAGE.fullmatch(parts.path)
    if page is None or not services.address.leads_here(parts.scheme, parts.netloc, request.scope):
        return None
    return page[1], parse_qs(parts.query)


def _query(values: Mapping[str, object]) -> str:
    """The query of those values that are there, with its question mark."""
    words = urlencode({name: value for name, value in values.items() if value})
    return f"?{words}" if words else ""


def _number(asked: PageRequest, name: str) -> int | None:
    return version_in(asked.values.get(name))


def _height_of(width: int) -> int:
    return WIDE.height * width // WIDE.width


def _width_within(wide: int | None, high: int | None) -> int | None:
    """The largest offered width of a picture within these bounds, or None."""
    return next((one for one in _WIDTHS if one <= (wide or one) and _height_of(one) <= (high or one)), None)


@serves(READ_REPLAY)
async def read_replay(services: Services, request: CheckedRequest) -> Reply:
    """Send a finished game as one HTML file that plays offline."""
    asked, game = page_request_of(request), request.params["id"]
    last = await state_of(services.bus, game, invite=asked.values.get("invite"))
    if last is None:
        return await _without_state(services, game)
    if last["phase"] not in OVER:
        return HttpProblem(
            Code.LOG_NOT_FINISHED, "The replay is available after the game ends. Watch it live at /watch."
        )
    language = _language_of(last, asked)
    if drawn(last, language, WIDE) is None:
        return HttpProblem(Code.NOT_FOUND, "This game has no pictures. Read its log at /log.")
    # The last state has all names, but of a long run not all texts.
    hidden = await services.within_deadline(services.moderation.changed([game]))
    name = name_of(
        "replay",
        msgspec.json.encode(last, order="deterministic"),
        language,
        version_of_all(),
        str(hidden.get(game, "")),
    )
    html = await services.picture_store.get(name, lambda: _replayed(services, game, last, language), "disk")
    response = html_response(html, replay_policy())
    response.headers["content-disposition"] = f'attachment; filename="{game}.html"'
    return response


async def _replayed(services: Services, game: str, last: State, language: PageLanguage) -> bytes:
    """Draw one moment after the other: a pause between them lets other requests go on."""
    frames, title = [], ""
    for version in moments(last["version"]):
        state = await state_of(services.bus, game, version)
        if state is None:
            raise ConnectionError("a version of the game is missing")
        picture = drawn(state, language, WIDE)
        if picture is not None:
            title = picture.title
            frames.append(ReplayFrame(version, picture.description, picture.svg()))
    return replay_html(title, frames, language).encode()
