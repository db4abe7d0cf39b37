"""The pages for people (api.md, Web pages): HTML, and the files that it loads from this server alone."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import HTML, Auth, GamesQuery, Media, Query, Route

ANY_FILE: Final = "*/*"

_PAGE: Final = {200: Media(HTML)}
_Id = Annotated[str, Meta(max_length=64)]


class PageWords(Query, frozen=True):
    """What an address may say to a page. The page reads it; the server does not, and lets anything else be said."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None
    session: _Id | None = None
    experiment: _Id | None = None
    v: _Id | None = None
    seat: _Id | None = None
    invite: _Id | None = None


class WatchWords(Query, frozen=True):
    """What an address may say to a page, a picture or a file of a game."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None
    v: (
        Annotated[str, Meta(max_length=20, description="A moment; the last one where there is none of that number.")]
        | None
    ) = None
    seat: _Id | None = None
    url: Annotated[str, Meta(description="`/oembed`: the address of a game's page.")] | None = None
    invite: _Id | None = None
    theme: Literal["light", "dark"] | None = None
    tall: Literal["1"] | None = None


class CheckWords(Query, frozen=True):
    """What an address may say to the page that checks a verdict."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None
    node: (
        Annotated[str, Meta(max_length=500, description="The origin of the node, the one host it may call.")] | None
    ) = None


class RowsQuery(GamesQuery, frozen=True):
    """The filters of `GET /api/games`; `over` leaves out what waits or runs, `runs` lists experiments' runs."""

    over: bool = False
    runs: bool = False


class RowPlayer(msgspec.Struct, frozen=True):
    """Who sat in a game, as a list names them."""

    id: str
    name: str
    handle: str = ""
    kind: str = "bot"


class GameListRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the lobby or the archive. `about` is the case, the question or the run's own name."""

    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    phase: str
    round: int
    seated: int
    needed: int
    created_at: str
    ended_at: str | None = None
    over: bool = False
    about: str = ""
    names: tuple[RowPlayer, ...] = ()
    winner: RowPlayer | None = None
    verdict: str | None = None
    reason: str | None = None
    seconds_left: float | None = None
    language: str | None = None


class RowsPage(msgspec.Struct, frozen=True):
    """Games as the pages list them."""

    rows: Sequence[GameListRow]
    next_cursor: str | None


class OEmbedResponse(msgspec.Struct, frozen=True):
    """How a game is put into a page elsewhere (oembed.com)."""

    version: Literal["1.0"]
    type: Literal["rich"]
    provider_name: str
    provider_url: str
    title: str
    html: str
    width: int
    height: int
    thumbnail_url: str
    thumbnail_width: int
    thumbnail_height: int


PAGES_WEB: Final = (
    Route(
        method="GET", path="/", name="page_lobby", tag="pages", auth=Auth.NONE, alone=True,
        summary="The lobby and the leaderboard.", answers=_PAGE, query=PageWords,
    ),
    Route(
        method="GET", path="/games", name="page_games", tag="pages", auth=Auth.NONE, alone=True,
        summary="The games that are over, to be searched; the address is the search.", answers=_PAGE, query=PageWords,
    ),
    Route(
        method="GET", path="/games/rows", name="page_rows", tag="pages", auth=Auth.NONE,
        summary="Games as the pages list them.", answers={200: RowsPage}, query=RowsQuery,
    ),
    Route(
        method="GET", path="/agents/{id}", name="page_agent", tag="pages", auth=Auth.NONE, alone=True,
        summary="An agent: its rating, games and rivals.", answers={**_PAGE, 404: Media(HTML)}, query=PageWords,
    ),
    Route(
        method="GET", path="/watch/{id}", name="page_watch", tag="pages", auth=Auth.NONE, alone=True,
        summary="A game or run, live and back through its whole time; ?v=17 is a moment of it.",
        answers={**_PAGE, 404: Media(HTML)}, query=WatchWords,
    ),
    Route(
        method="GET", path="/embed/{id}", name="page_embed", tag="pages", auth=Auth.NONE, alone=True,
        summary="A game or run to be put into a page elsewhere.", answers={**_PAGE, 404: Media(HTML)}, query=WatchWords,
    ),
    Route(
        method="GET", path="/watch/{id}/{picture}", name="page_picture", tag="pages", auth=Auth.NONE,
        summary="A game drawn at a moment: `picture.svg` or `picture.png`.",
        answers={200: Media("image/svg+xml")}, other_media=("image/png",), errors=(Code.NOT_FOUND,), query=WatchWords,
    ),
    Route(
        method="GET", path="/oembed", name="oembed", tag="pages", auth=Auth.NONE,
        summary="How a game is put into a page elsewhere (oembed.com).", answers={200: OEmbedResponse},
        errors=(Code.NOT_FOUND,), query=WatchWords,
    ),
    Route(
        method="GET", path="/api/games/{id}/replay.html", name="read_replay", tag="pages", auth=Auth.NONE,
        summary="A finished game as one file that plays without a network.", answers={200: Media(HTML)},
        errors=(Code.LOG_NOT_FINISHED,), query=WatchWords,
    ),
    Route(
        method="GET", path="/shared/{token}", name="page_shared", tag="pages", auth=Auth.NONE,
        summary="What its owner shows of a session or an experiment; gone when it is taken back.",
        answers={**_PAGE, 404: Media(HTML)}, query=PageWords,
    ),
    Route(
        method="GET", path="/shared/{token}/check", name="page_check", tag="pages", auth=Auth.NONE,
        summary="Compares a shared verdict with its chain, in the browser, through a node that its reader names.",
        answers={**_PAGE, 404: Media(HTML)}, query=CheckWords,
    ),
    Route(
        method="GET", path="/shared/{token}/{file}", name="shared_file", tag="pages", auth=Auth.NONE,
        summary="Its picture (`picture.svg`, `picture.png`) or, of a jury, its log (`log.jsonl`).",
        answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,), query=WatchWords,
    ),
    Route(
        method="GET", path="/favicon.ico", name="page_icon", tag="pages", auth=Auth.NONE, alone=True,
        summary="The mark.", answers={200: Media("image/svg+xml")},
    ),
    Route(
        method="GET", path="/game", name="page_game", tag="pages", auth=Auth.NONE, alone=True,
        summary="The AI jury, to be played by a person.", answers=_PAGE, query=PageWords,
    ),
    Route(
        method="GET", path="/legal", name="page_legal", tag="pages", auth=Auth.NONE, alone=True,
        summary="Sessions of the legal simulation.", answers=_PAGE, query=PageWords,
    ),
    Route(
        method="GET", path="/agora", name="page_agora", tag="pages", auth=Auth.NONE, alone=True,
        summary="Agora experiments and their runs.", answers=_PAGE, query=PageWords,
    ),
    Route(
        method="GET", path="/privacy", name="page_privacy", tag="pages", auth=Auth.NONE, alone=True,
        summary="What is stored of whom, for how long, and how it is erased.", answers=_PAGE, query=PageWords,
    ),
    Route(
        method="GET", path="/assets/{version}/{file}", name="page_asset", tag="pages", auth=Auth.NONE, alone=True,
        summary="A file that the pages load.", answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,),
    ),
    Route(
        method="GET", path="/assets/{version}/{folder}/{file}", name="page_folder_asset", tag="pages", auth=Auth.NONE,
        alone=True, summary="A file of a page's own folder.", answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,),
    ),
    Route(
        method="GET", path="/assets/{version}/games/{game}/{file}", name="page_game_asset", tag="pages", auth=Auth.NONE,
        alone=True, summary="A file with which a game is watched.", answers={200: Media(ANY_FILE)},
        errors=(Code.NOT_FOUND,),
    ),
)  # fmt: skip
"""Their texts are data: a person reads them in Korean, English or Chinese."""
