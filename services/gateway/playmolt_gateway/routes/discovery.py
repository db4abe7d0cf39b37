"""What crawlers, feed readers and people who look for a contact ask for: robots.txt, sitemap, security.txt, feeds."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

import msgspec
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.projections import FinishedPage
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import type_of
from playmolt_schemas.routes.discovery import (
    AGENT_FEED,
    ATOM,
    GAMES_FEED,
    ROBOTS,
    SECURITY_TXT,
    SITEMAP,
    TOURNAMENTS_FEED,
    XML,
)
from playmolt_schemas.routes.pages import PAGE_TOURNAMENT
from playmolt_schemas.routes.route import TEXT
from playmolt_schemas.routes.tournaments import TournamentRow
from playmolt_schemas.skill import PAGE_LANGUAGES, PageLanguage, language_named, page_texts
from playmolt_schemas.text import unstorable
from starlette.responses import Response

from playmolt_gateway.http.compression import compress
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.pages.atom import Entry, Feed, name_here, name_of, stamp, text
from playmolt_gateway.pages.moments import State, state_of
from playmolt_gateway.pictures.svg import isolated
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.pages import page_request_of
from playmolt_gateway.routes.tournaments import newest_tournaments
from playmolt_gateway.routes.watching import head_of_game
from playmolt_gateway.settings import parse_contact

SITEMAP_GAMES: Final = 10_000
FEED_GAMES: Final = 50
FEED_TOURNAMENTS: Final = 30
_PLACES: Final = 3
"""Places of its standings in the entry of a tournament."""
_AT_ONCE: Final = 4
"""States that one feed reads at a time."""
_SHORT: Final = "public, max-age=60"
_VALID_DAYS: Final = 180
"""How far ahead security.txt expires."""
_FORBIDDEN: Final = (
    "/api/", "/mcp", "/auth/", "/operator", "/games?", "/games/rows", "/watch/*?v=", "/watch/*&v=", "/embed/*?v=",
    "/embed/*&v=",
)  # fmt: skip
"""Not for crawlers: the API, sign-ins, searches, moments of games."""
_ALLOWED: Final = ("/watch/*/picture.png", "/watch/*/picture.svg", "/oembed")
"""What the head of a page names, which preview services fetch. A longer path wins over a shorter one (RFC 9309)."""


@serves(ROBOTS)
async def robots(services: Services, request: CheckedRequest) -> Reply:
    lines = [
        "User-agent: *",
        *(f"Allow: {path}" for path in _ALLOWED),
        *(f"Disallow: {path}" for path in _FORBIDDEN),
        "",
        f"Sitemap: {services.address.gateway(request.scope)}{SITEMAP.path}",
        "",
    ]
    return Response("\n".join(lines), media_type=TEXT, headers={"cache-control": "public, max-age=3600"})


@serves(SECURITY_TXT)
async def security_txt(services: Services, request: CheckedRequest) -> Reply:
    """Name the contact for reports of vulnerabilities (RFC 9116)."""
    settings = services.settings
    if not settings.security_contact:
        return HttpProblem(Code.NOT_FOUND, "The operator of this server has set no contact for security reports.")
    expires = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=_VALID_DAYS)
    fields = {
        "Contact": parse_contact(settings.security_contact),
        "Expires": stamp(expires),
        "Preferred-Languages": ", ".join(PAGE_LANGUAGES),
        "Canonical": f"{services.address.gateway(request.scope)}{SECURITY_TXT.path}",
        "Policy": settings.security_policy,
    }
    lines = [f"{name}: {value}\n" for name, value in fields.items() if value]
    return Response("".join(lines), media_type=TEXT, headers={"cache-control": "public, max-age=3600"})


@serves(SITEMAP)
async def sitemap(services: Services, request: CheckedRequest) -> Reply:
    """List the pages of the newest finished games."""
    origin = services.address.gateway(request.scope)

    async def make() -> Sequence[FinishedPage]:
        return await _finished(services, SITEMAP_GAMES)

    games = await services.finished.of(tuple(await _finished(services, 1)), make)
    # In a thread: to write and compress a megabyte would hold up all other requests.
    return await asyncio.to_thread(lambda: _sent(request, _sitemap(origin, games), XML))


async def _finished(services: Services, limit: int) -> Sequence[FinishedPage]:
    return await services.within_deadline(services.projections.newest_finished(limit))


def _sitemap(origin: str, games: Sequence[FinishedPage]) -> bytes:
    lines = [
        f"<url><loc>{text(origin)}/watch/{text(game.game_id)}</loc><lastmod>{stamp(game.ended_at)}</lastmod></url>\n"
        for game in games
    ]
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{''.join(lines)}</urlset>\n"
    ).encode()


def _sent(request: CheckedRequest, body: bytes, media: str) -> Response:
    headers = {"cache-control": _SHORT, "x-content-type-options": "nosniff"}
    return compress(Response(body, media_type=media, headers=headers), page_request_of(request).encodings)


@serves(GAMES_FEED)
async def games_feed(services: Services, request: CheckedRequest) -> Reply:
    """Send the newest finished games, the last to end first."""
    origin, language, address = _asked(services, request)
    games = await _finished(services, FEED_GAMES)

    async def make() -> bytes:
        secret = await services.within_deadline(services.accounts.secret("feeds"))
        return Feed(
            id=name_here(secret, GAMES_FEED.name), title=f"PlayMolt · {page_texts(language)['lobby.ended']}",
            author="PlayMolt", language=language, address=address, page=f"{origin}/games",
            entries=await _entries(services, games, origin, language),
        ).document()  # fmt: skip

    return _sent(request, await services.feeds.of((address, await _revision(services), tuple(games)), make), ATOM)


@serves(AGENT_FEED)
async def agent_feed(services: Services, request: CheckedRequest) -> Reply:
    """Send the newest finished games of an agent; 404 for an unknown id."""
    origin, language, address = _asked(services, request)
    agent = request.params["id"]
    profile = None if unstorable(agent) else await services.within_deadline(services.accounts.profile(agent))
    if profile is None:
        return HttpProblem(Code.NOT_FOUND, "Agent does not exist. Search with GET /api/agents.")
    recent = await services.within_deadline(services.projections.recent(agent))
    games = [FinishedPage(game.game_id, game.ended_at) for game in recent]

    async def make() -> bytes:
        renamed = await services.within_deadline(services.moderation.changed([agent]))
        return Feed(
            id=name_of(agent), title=f"{profile.name} · PlayMolt", author=profile.name, language=language,
            address=address, page=f"{origin}/agents/{agent}",
            entries=await _entries(services, games, origin, language),
            changed=max((profile.created_at, *renamed.values())),
        ).document()  # fmt: skip

    key = address, profile.name, await _revision(services), tuple(games)
    return _sent(request, await services.feeds.of(key, make), ATOM)


class _Course(msgspec.Struct):
    """What a feed says of a tournament beside its row."""

    starts_at: str | None
    ended_at: str | None
    standings: list["_StandingsRow"]
    changed_at: str | None = None


class _StandingsRow(msgspec.Struct):
    rank: int
    name: str
    id: str = ""


_course_of = msgspec.json.Decoder(_Course).decode


@serves(TOURNAMENTS_FEED)
async def tournaments_feed(services: Services, request: CheckedRequest) -> Reply:
    """Send the newest tournaments, those that changed last first."""
    origin, language, address = _asked(services, request)
    rows = await newest_tournaments(services, FEED_TOURNAMENTS)

    async def make() -> bytes:
        secret = await services.within_deadline(services.accounts.secret("feeds"))
        slots = asyncio.Semaphore(_AT_ONCE)
        entries = await asyncio.gather(*(_tournament(services, row, origin, language, slots) for row in rows))
        return Feed(
            id=name_here(secret, TOURNAMENTS_FEED.name), title=f"PlayMolt · {page_texts(language)['head.tournaments']}",
            author="PlayMolt", language=language, address=address, page=f"{origin}/tournaments",
            entries=sorted((each for each in entries if each is not None), key=lambda each: each.changed, reverse=True),
        ).document()  # fmt: skip

    key = address, await _revision(services), msgspec.json.encode(rows)
    return _sent(request, await services.feeds.of(key, make), ATOM)


async def _tournament(
    services: Services, row: TournamentRow, origin: str, language: PageLanguage, slots: asyncio.Semaphore
) -> Entry | None:
    async with slots:
        answer = await services.bus.submit("tournament", "state", row.id)
    if answer.status == Code.NOT_FOUND.status:
        return None
    if answer.status != HTTPStatus.OK:
        raise BusUnavailable(f"the state of a tournament ended with {answer.status}")
    course, texts = _course_of(answer.body), page_texts(language)
    named = [row.id, *(one.id for one in course.standings)]
    changed = await services.within_deadline(services.moderation.changed(named))
    times = [row.created_at, None if row.state == "open" else course.starts_at, course.ended_at, course.changed_at]
    said = [
        texts.get(f"game.{row.game_type}", row.game_type), texts[f"tournament.format.{row.format}"],
        texts[f"tournament.state.{row.state}"],
        *([texts["tournament.entrants_n"].replace("{n}", str(row.entrants))] if row.format != "season" else []),
        *(f"{one.rank}. {isolated(one.name)}" for one in course.standings[:_PLACES]),
    ]  # fmt: skip
    changes = (*map(datetime.fromisoformat, filter(None, times)), *changed.values())
    return Entry(
        name_of(row.id), row.name, " · ".join(said), f"{origin}{PAGE_TOURNAMENT.address(row.id)}", row.game_type,
        datetime.fromisoformat(row.created_at), max(changes),
    )  # fmt: skip


def _asked(services: Services, request: CheckedRequest) -> tuple[str, PageLanguage, str]:
    """The server's origin, the language of the feed and the feed's own address.

    The language follows from the address alone, so that a shared cache may keep the answer.
    """
    origin = services.address.gateway(request.scope)
    language = language_named(page_request_of(request).values.get("lang"))
    address = f"{origin}{request.route.address(*request.params.values())}"
    return origin, language or "en", f"{address}?lang={language}" if language else address


async def _revision(services: Services) -> int:
    """A part of the key of what shows names or texts: it is made again after each decision."""
    return await services.within_deadline(services.moderation.revision())


async def _entries(
    services: Services, games: Sequence[FinishedPage], origin: str, language: PageLanguage
) -> Sequence[Entry]:
    """The entries of games that have a page. Raises UNAVAILABLE_ERRORS, rather than to leave some out."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def entry(game: FinishedPage) -> Entry | None:
        async with slots:
            state = await state_of(services.bus, game.game_id)
        if state is None:
            return None
        head, shown = head_of_game(state, language, origin), [game.game_id, *_agents(state)]
        changed = await services.within_deadline(services.moderation.changed(shown))
        return Entry(
            name_of(game.game_id), head.title, head.description, f"{origin}/watch/{game.game_id}",
            type_of(game.game_id) or "", game.ended_at, max((game.ended_at, *changed.values())),
        )  # fmt: skip

    return [each for each in await asyncio.gather(*map(entry, games)) if each is not None]


def _agents(state: State) -> Sequence[str]:
    return [seat["id"] for seat in state.get("participants") or ()]
