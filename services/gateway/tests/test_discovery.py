"""What crawlers, feed readers and security researchers ask for; and query values that others append to addresses."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest
from playmolt_core.db.moderation import Decision
from playmolt_core.db.projections import FinishedPage, RecentGame
from playmolt_gateway.pages.atom import Entry, Feed, Kept, name_of
from playmolt_gateway.routes.discovery import SITEMAP_GAMES
from playmolt_gateway.settings import parse_contact, parse_policy
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import HTML, Auth, Media, Route
from playmolt_schemas.skill import PAGE_LANGUAGES
from protego import Protego

from core.tests.waiting import loop_turns
from services.gateway.tests.test_watching import GAME, NAMES, state

ENDED = datetime(2026, 11, 25, 12, 30, 1, 999, tzinfo=UTC)
HOST = "http://gateway"
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def served(platform: Any) -> Any:
    """A platform with one finished game, and one that is no longer found."""

    def engine(_game: str, call: Any) -> tuple[int, Any]:
        if call.target.startswith("tournament-"):
            return 200, {"name": "Cup"}
        if call.target != GAME:
            return 404, {"code": "not_found", "detail": "", "status": 404, "title": ""}
        if call.op == "log":
            return 200, {"records": [{"version": 1}], "next_after": 1, "more": False}
        return 200, state(phase="end")

    platform.bus.engine = engine
    platform.store.finished_pages = [
        FinishedPage(GAME, ENDED),
        FinishedPage(GAME.replace("0190", "0191"), ENDED - timedelta(days=1)),
    ]
    return platform


async def _robots(platform: Any) -> Protego:
    answer = await platform.send("GET", "/robots.txt")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return Protego.parse(answer.text)


@pytest.mark.parametrize(
    "path",
    [
        "/api/games", f"/api/games/{GAME}/log", "/games?q=ada", "/games?gameType=ox", "/games/rows?limit=24",
        f"/watch/{GAME}?v=3", f"/watch/{GAME}?lang=ko&v=3", f"/embed/{GAME}?v=3", "/mcp",
    ],
)  # fmt: skip
async def test_crawlers_stay_away_from_the_api_searches_and_moments(platform: Any, path: str) -> None:
    assert not (await _robots(platform)).can_fetch(f"{HOST}{path}", "AnyBot")


@pytest.mark.parametrize(
    "path",
    [
        "/", "/games", f"/watch/{GAME}", f"/agents/agent-{GAME[3:]}", "/docs", "/llms.txt", "/skills/ox.md", "/privacy",
        "/feeds/games.atom", "/sitemap.xml", "/favicon.ico", "/assets/0123/style.css",
    ],
)  # fmt: skip
async def test_crawlers_may_read_pages(platform: Any, path: str) -> None:
    assert (await _robots(platform)).can_fetch(f"{HOST}{path}", "AnyBot")


async def test_preview_services_may_fetch_what_the_head_of_a_page_names(served: Any) -> None:
    robots = await _robots(served)
    for path in (f"/watch/{GAME}", f"/watch/{GAME}?v=3", f"/embed/{GAME}?v=3"):
        text = (await served.send("GET", path)).text
        named = re.findall(r'property="og:image" content="([^"]+)"', text)
        named += re.findall(r'type="application/json\+oembed" href="([^"]+)"', text)
        assert len(named) == 2
        for address in named:
            assert robots.can_fetch(address.replace("&amp;", "&"), "Slackbot"), address


async def test_robots_names_the_sitemap(make_platform: Any) -> None:
    built = make_platform(public_url="https://arena.example")
    async with built.client:
        assert list((await _robots(built)).sitemaps) == ["https://arena.example/sitemap.xml"]


async def test_the_sitemap_lists_finished_games_and_is_made_once(served: Any) -> None:
    answer = await served.send("GET", "/sitemap.xml", headers={"accept-encoding": "gzip"})
    assert answer.headers["content-type"].startswith("application/xml")
    (one, other) = ElementTree.fromstring(answer.text)  # noqa: S314 -- our own
    assert [child.text for child in one] == [f"{HOST}/watch/{GAME}", "2026-11-25T12:30:01Z"]
    assert [child.text for child in other][1] == "2026-11-24T12:30:01Z"
    await served.send("GET", "/sitemap.xml", headers={"host": "another"})
    assert served.store.listings == [1, SITEMAP_GAMES, 1], "the whole list once, until another game is the newest"
    served.store.finished_pages.insert(0, FinishedPage(GAME.replace("ox", "trial"), ENDED))
    assert (await served.send("GET", "/sitemap.xml")).text.count("<loc>") == 3


async def test_the_sitemap_has_the_newest_ten_thousand_games(served: Any) -> None:
    games = [FinishedPage(f"ox-{number:08}-1111-7222-8333-444455556666", ENDED) for number in range(SITEMAP_GAMES + 1)]
    served.store.finished_pages = games
    answer = await served.send("GET", "/sitemap.xml")
    assert answer.text.count("<loc>") == SITEMAP_GAMES == 10_000
    assert len(answer.content) < 50 * 1024 * 1024


async def test_without_the_database_the_sitemap_says_so_and_works_later(served: Any) -> None:
    served.store.away = True
    assert (await served.send("GET", "/sitemap.xml")).status_code == 503
    served.store.away = False
    assert (await served.send("GET", "/sitemap.xml")).status_code == 200


async def test_without_a_contact_there_is_no_security_txt(platform: Any, problem: Any) -> None:
    assert problem(await platform.send("GET", "/.well-known/security.txt")) == (404, "not_found")


@pytest.mark.parametrize(
    ("contact", "uri"),
    [
        ("security@arena.example", "mailto:security@arena.example"),
        ("mailto:security@arena.example", "mailto:security@arena.example"),
        ("https://arena.example/report?by=form", "https://arena.example/report?by=form"),
        ("tel:+1-201-555-0123", "tel:+1-201-555-0123"),
    ],
)
async def test_security_txt_names_contact_policy_and_a_time_ahead(make_platform: Any, contact: str, uri: str) -> None:
    settings = {"security_contact": contact, "security_policy": "https://arena.example/policy"}
    built = make_platform(public_url="https://arena.example", **settings)
    async with built.client:
        answer = await built.send("GET", "/.well-known/security.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    fields = dict(line.split(": ", 1) for line in answer.text.splitlines())
    expires = datetime.fromisoformat(fields.pop("Expires"))
    assert timedelta(days=30) < expires - datetime.now(UTC) < timedelta(days=365)
    assert fields == {
        "Contact": uri,
        "Preferred-Languages": ", ".join(PAGE_LANGUAGES),
        "Canonical": "https://arena.example/.well-known/security.txt",
        "Policy": "https://arena.example/policy",
    }


@pytest.mark.parametrize(
    "text", ["arena.example", "http://arena.example", "mailto:nobody", "a@b c", "x: y\nContact: z"]
)
def test_a_contact_that_is_no_uri_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="URI"):
        parse_contact(text)


@pytest.mark.parametrize("text", ["arena.example", "http://arena.example/policy", "https://a b"])
def test_a_policy_that_is_no_https_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="https"):
        parse_policy(text)


async def test_there_is_no_agent_card(platform: Any, problem: Any) -> None:
    for name in ("agent-card.json", "agent.json"):
        assert problem(await platform.send("GET", f"/.well-known/{name}")) == (404, "not_found")


async def test_a_feed_of_games_is_read_by_a_feed_reader(served: Any) -> None:
    answer = await served.send("GET", "/feeds/games.atom?utm_source=reader&lang=ko")
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=60"
    read = feedparser.parse(answer.content)
    assert not read.bozo
    assert read.version == "atom10"
    assert read.feed.title == "PlayMolt · 끝난 게임"
    assert read.feed.author == "PlayMolt"
    assert read.feed.updated == "2026-11-25T12:30:01Z"
    links = {link.rel: link.href for link in read.feed.links}
    assert links == {"self": f"{HOST}/feeds/games.atom?lang=ko", "alternate": f"{HOST}/games"}
    (entry,) = read.entries
    assert entry.id == f"urn:uuid:{GAME[3:]}"
    assert entry.author == "PlayMolt"
    assert entry.link == f"{HOST}/watch/{GAME}"
    assert (entry.published, entry.updated) == ("2026-11-25T12:30:01Z", "2026-11-25T12:30:01Z")
    assert entry.tags[0].term == "ox"
    assert NAMES[2] in entry.title
    assert entry.summary


async def test_ids_of_a_feed_never_change(make_platform: Any, served: Any) -> None:
    first = feedparser.parse((await served.send("GET", "/feeds/games.atom")).content)
    renamed = make_platform(public_url="https://elsewhere.example")
    renamed.bus.engine, renamed.store.finished_pages = served.bus.engine, served.store.finished_pages
    async with renamed.client:
        later = feedparser.parse((await renamed.send("GET", "/feeds/games.atom?lang=zh")).content)
    assert later.feed.id == first.feed.id != ""
    assert [entry.id for entry in later.entries] == [entry.id for entry in first.entries]
    assert later.entries[0].link != first.entries[0].link


async def test_a_feed_of_an_agent_has_its_games(served: Any, problem: Any) -> None:
    agent, _ = served.agent("Ada <3 & Co")
    served.store.finished[agent] = [RecentGame(GAME, "ox", ENDED, 1, 200, rated=True)]
    answer = await served.send("GET", f"/feeds/agents/{agent}.atom")
    read = feedparser.parse(answer.content)
    assert not read.bozo
    assert read.feed.id == f"urn:uuid:{agent.removeprefix('agent-')}"
    assert read.feed.author == "Ada <3 & Co"
    assert {link.rel: link.href for link in read.feed.links} == {
        "self": f"{HOST}/feeds/agents/{agent}.atom",
        "alternate": f"{HOST}/agents/{agent}",
    }
    assert [entry.id for entry in read.entries] == [name_of(GAME)]
    for unknown in ("agent-1", "%00", "x" * 300):
        assert problem(await served.send("GET", f"/feeds/agents/{unknown}.atom")) == (404, "not_found")


async def test_a_rename_is_a_change_of_a_feed_without_games(platform: Any) -> None:
    """A reader sees the title of the feed."""
    agent, _ = platform.agent("Ada")
    at = datetime.now(UTC) + timedelta(hours=1)

    async def updated() -> datetime:
        read = feedparser.parse((await platform.send("GET", f"/feeds/agents/{agent}.atom")).content)
        return datetime.fromisoformat(read.feed.updated)

    assert datetime(2020, 1, 1, tzinfo=UTC) < await updated() < at, "the agent was registered"
    await platform.moderation.decide(Decision(kind="rename", field="name", agent_id=agent, at=at))
    assert await updated() == at.replace(microsecond=0)


CUP = "tournament-0190c3f8-1111-7222-8333-444455556666"


def _cup(**changed: Any) -> dict[str, Any]:
    row = {
        "id": CUP, "name": "Cup <1> & more", "state": "ended", "game_type": "ox", "format": "swiss",
        "starts_at": None, "ends_at": None, "created_at": "2026-11-20T10:00:00.5Z", "entrants": 12,
        "max_entrants": None, "round": 3, "rounds_planned": 3,
    }  # fmt: skip
    return row | changed


async def test_a_feed_of_tournaments_has_them_with_their_newest_change(platform: Any) -> None:
    rows = [
        _cup(),
        _cup(id=CUP.replace("0190", "0191"), state="open", starts_at="2027-01-01T00:00:00Z"),
        _cup(id=CUP.replace("0190", "0192"), format="season", entrants=0),
    ]
    standings = [{"rank": 1, "name": "Ada"}, {"rank": 1, "name": "<Bo>"}]

    def engine(game: str, call: Any) -> tuple[int, Any]:
        assert game == "tournament"
        if call.op == "query":
            return 200, {"tournaments": rows, "more": False}
        row = next(row for row in rows if row["id"] == call.target)
        ended = "2026-11-25T12:30:01Z" if row["state"] == "ended" else None
        started = row["starts_at"] or "2026-11-24T00:00:00Z"
        return 200, {"starts_at": started, "ended_at": ended, "standings": standings if ended else []}

    platform.bus.engine = engine
    answer = await platform.send("GET", "/feeds/tournaments.atom?lang=en&utm_source=x")
    read = feedparser.parse(answer.content)
    assert not read.bozo
    assert {link.rel: link.href for link in read.feed.links} == {
        "self": f"{HOST}/feeds/tournaments.atom?lang=en",
        "alternate": f"{HOST}/tournaments",
    }
    first, _, second = read.entries
    assert ["entrants" in entry.summary for entry in read.entries] == [True, False, True], "a season has none"
    assert (first.id, first.title, first.link) == (name_of(CUP), "Cup <1> & more", f"{HOST}/tournaments/{CUP}")
    assert (first.published, first.updated) == ("2026-11-20T10:00:00Z", "2026-11-25T12:30:01Z")
    assert second.updated == "2026-11-20T10:00:00Z", "an announced start is no change yet"
    for text in ("Swiss", "finished", "12", "1. Ada", "1. <Bo>"):
        assert text in html.unescape(first.summary)
    asked = len(platform.bus.calls)
    await platform.send("GET", "/feeds/tournaments.atom?lang=en")
    assert len(platform.bus.calls) == asked + 1, "the list alone, while nothing in it changed"
    page = (await platform.send("GET", "/tournaments")).text
    assert f'type="application/atom+xml" href="{HOST}/feeds/tournaments.atom"' in page
    platform.bus.engine = lambda _game, _call: (503, {})
    assert (await platform.send("GET", "/feeds/tournaments.atom")).status_code == 503


async def test_a_feed_without_games_is_a_feed(platform: Any) -> None:
    read = feedparser.parse((await platform.send("GET", "/feeds/games.atom")).content)
    assert not read.bozo
    assert read.feed.updated
    assert read.entries == []


async def test_equal_requests_make_a_feed_once_and_read_each_game_once(served: Any) -> None:
    for _ in range(5):
        await served.send("GET", "/feeds/games.atom")
    assert len(served.bus.calls) == len(served.store.finished_pages)


async def test_a_feed_has_a_game_as_soon_as_it_ended(served: Any) -> None:
    agent, _ = served.agent()
    for path in ("/feeds/games.atom", f"/feeds/agents/{agent}.atom"):
        served.store.finished_pages, served.store.finished[agent] = [], []
        assert feedparser.parse((await served.send("GET", path)).content).entries == []
        served.store.finished_pages = [FinishedPage(GAME, ENDED)]
        served.store.finished[agent] = [RecentGame(GAME, "ox", ENDED, 1, 200, rated=True)]
        assert len(feedparser.parse((await served.send("GET", path)).content).entries) == 1


async def test_a_feed_leaves_no_game_out_because_an_engine_is_unavailable(served: Any) -> None:
    working, served.bus.engine = served.bus.engine, lambda _game, _call: (503, {})
    assert (await served.send("GET", "/feeds/games.atom")).status_code == 503
    served.bus.engine = working
    assert (await served.send("GET", "/feeds/games.atom")).status_code == 200


def test_a_feed_holds_texts_that_xml_forbids() -> None:
    evil = "\ufffe\uffff\x00\x0b</title><script>&amp;\"' \U0001f600"
    entry = Entry("urn:uuid:1", evil, evil, "https://a.example/?a=1&b=2", "ox", ENDED, ENDED)
    feed = Feed(
        id="urn:uuid:0", title=evil, author=evil, language="en", address="https://a.example/feed",
        page="https://a.example/", entries=[entry],
    )  # fmt: skip
    root = ElementTree.fromstring(feed.document())  # noqa: S314 -- our own
    expected = "\ufffd\ufffd\ufffd\ufffd</title><script>&amp;\"' \U0001f600"
    assert root.findtext(f"{ATOM}title") == expected
    assert root.findtext(f"{ATOM}entry/{ATOM}summary") == expected


async def test_what_is_kept_is_made_again_after_its_time_and_for_other_keys() -> None:
    made: list[int] = []

    async def make() -> int:
        made.append(1)
        await loop_turns(3)
        return len(made)

    kept = Kept[int](seconds=60, most=2)
    assert [await kept.of("a", make), await kept.of("a", make)] == [1, 1]
    assert [await kept.of("b", make), await kept.of("c", make), await kept.of("a", make)] == [2, 3, 4]
    expired = Kept[int](seconds=-1)
    assert [await expired.of("a", make), await expired.of("a", make)] == [5, 6]


async def test_the_icon_is_an_ico_and_there_are_png_icons(platform: Any) -> None:
    answer = await platform.send("GET", "/favicon.ico")
    assert answer.headers["content-type"] == "image/x-icon"
    assert answer.content[:4] == b"\x00\x00\x01\x00"
    assert int.from_bytes(answer.content[4:6], "little") == 3
    text = (await platform.send("GET", "/", headers={"accept": "text/html"})).text
    icons = re.findall(r'<link rel="(?:icon|apple-touch-icon)" href="([^"]+\.png)"', text)
    assert len(icons) == 2
    for address in icons:
        picture = await platform.send("GET", address)
        assert picture.headers["content-type"] == "image/png"
        width, height = (int.from_bytes(picture.content[at : at + 4]) for at in (16, 20))
        assert f"-{width}.png" in address
        assert width == height


@pytest.mark.parametrize(
    "path", ["/", "/games", "/docs", "/privacy", "/game", "/legal", "/agora", "/play/trial", f"/watch/{GAME}"]
)
async def test_a_page_names_its_canonical_address(served: Any, make_platform: Any, path: str) -> None:
    text = (await served.send("GET", f"{path}?lang=ko&utm_source=x")).text
    assert re.findall(r'<link rel="canonical" href="([^"]+)">', text) == [f"{HOST}{path}"]
    assert re.findall(r'<meta property="og:url" content="([^"]+)">', text) == [f"{HOST}{path}"]
    built = make_platform(public_url="https://arena.example")
    built.bus.engine = served.bus.engine
    async with built.client:
        text = (await built.send("GET", path, headers={"host": "another.example"})).text
    assert re.findall(r'<link rel="canonical" href="([^"]+)">', text) == [f"https://arena.example{path}"]


PAGES = [
    route
    for route in ROUTES
    if route.method == "GET"
    and route.answers.get(200) == Media(HTML)
    and not route.path.startswith(("/api/", "/shared/", "/auth/", "/me", "/operator"))
]


@pytest.mark.parametrize("route", PAGES, ids=[route.name for route in PAGES])
async def test_every_page_that_others_may_link_to_has_an_address_of_its_own(served: Any, route: Route) -> None:
    agent, _ = served.agent()
    served.store.rows[f"agent-{GAME[3:]}"] = served.store.rows[agent]
    path = _path(route).replace("/agents/ox-", "/agents/agent-").replace("/tournaments/ox-", "/tournaments/tournament-")
    answer = await served.send("GET", f"{path}?{FOREIGN}")
    if path == "/datasets/":  # this platform has none
        assert answer.status_code == 404
        return
    assert answer.status_code == 200
    text = answer.text
    address = f"{HOST}{path}".replace("/embed/", "/watch/")
    assert re.findall(r'<link rel="canonical" href="([^"]+)">', text) == [address]
    assert re.findall(r'<meta property="og:url" content="([^"]+)">', text) == [address]


async def test_a_moment_and_a_frame_have_the_canonical_address_of_the_game(served: Any) -> None:
    for path in (f"/watch/{GAME}?v=3", f"/embed/{GAME}?v=3"):
        text = (await served.send("GET", path)).text
        assert f'<link rel="canonical" href="{HOST}/watch/{GAME}">' in text
        assert f'<meta property="og:url" content="{HOST}/watch/{GAME}?v=3">' in text


@pytest.mark.parametrize("host", ["[:::]", "[1.2.3.4]", "[::1", "[fe80::1%25eth0]", "a b", "évil.example", "x/y", ""])
async def test_a_host_that_is_none_is_named_nowhere(served: Any, host: str) -> None:
    for path in ("/", "/llms.txt", "/robots.txt", f"/watch/{GAME}", f"/oembed?url=/watch/{GAME}"):
        answer = await served.send("GET", path, headers={"host": host.encode()})
        assert answer.status_code == 200, path
        assert not host or f"//{host}" not in answer.text


async def test_pages_lead_feed_readers_to_their_feeds(platform: Any) -> None:
    agent, _ = platform.agent()
    for path, feed in (("/", "games"), ("/games", "games"), (f"/agents/{agent}", f"agents/{agent}")):
        text = (await platform.send("GET", path)).text
        assert f'<link rel="alternate" type="application/atom+xml" href="{HOST}/feeds/{feed}.atom">' in text


FOREIGN = "utm_source=x&fbclid=A.1&x=1&x=2&%FF=%00&=&limit!=9&" + "&".join(f"more{number}=1" for number in range(80))
API_FILES = (
    "/log", "/replay.html", "/report", "/bundle", "/transcript", "/picture.svg", "/api/files/{token}",
)  # fmt: skip
NOT_OPENED = {"/healthz", "/readyz", "/metrics", "/games/rows"}


def _is_opened(route: Route) -> bool:
    """Whether community.md wants its address to work with foreign query values."""
    if route.path.startswith("/api/"):
        return route.path.endswith(API_FILES) and not route.path.startswith("/api/admin/")
    return route.path not in NOT_OPENED and not route.path.startswith("/auth")


def test_what_people_open_is_known_by_its_kind() -> None:
    reads = [route for route in ROUTES if route.method == "GET" and not route.path.startswith("/auth")]
    opened = {route.path for route in reads if route.opened_by_people or route.query.unread}
    assert opened == {route.path for route in reads if _is_opened(route)}


def _path(route: Route) -> str:
    kinds = {"legal": "legal", "jury": "jury", "experiment": "experiment", "run": "agora"}
    kind = kinds.get(route.service or route.target, "ox")
    filled = {"id": f"{kind}{GAME[2:]}", "game": "ox", "picture": "picture.svg"}
    return re.sub(r"\{(\w+)\}", lambda found: filled.get(found[1], "x"), route.path)


GETS = [route for route in ROUTES if route.method == "GET" and not route.path.startswith("/auth")]


async def test_foreign_query_values_break_nothing_that_people_open_and_are_refused_elsewhere(served: Any) -> None:
    _, key = served.agent()
    owner = (await served.send("POST", "/api/owners", json={"name": "Olga"})).json()["owner_key"]
    keys = {Auth.OPERATOR: served.operator, Auth.NONE: {}, Auth.OWNER: {"Authorization": f"Bearer {owner}"}}
    for route in GETS:
        headers, path = keys.get(route.auth, key), _path(route)
        if _is_opened(route):
            plain = await served.send("GET", path, headers=headers)
            foreign = await served.send("GET", f"{path}?{FOREIGN}", headers=headers)
            assert foreign.status_code == plain.status_code, route.name
            assert foreign.content == plain.content, route.name
        elif route.load is None or route.load.value != "probe":
            refused = await served.send("GET", f"{path}?{FOREIGN}", headers=headers)
            assert refused.status_code == 400, (route.name, refused.text)
            assert refused.json()["errors"][0]["field"] == "utm_source", route.name


async def test_a_declared_value_works_beside_many_foreign_ones(served: Any) -> None:
    text = (await served.send("GET", f"/watch/{GAME}?{FOREIGN}&v=3")).text
    assert f'content="{HOST}/watch/{GAME}?v=3"' in text
    guide = await served.send("GET", f"/skills/ox.md?{FOREIGN}&lang=ko")
    assert guide.headers["content-language"] == "ko"
