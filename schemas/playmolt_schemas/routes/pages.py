"""The web pages (api.md, Web pages): HTML and the files that it loads, all from this server."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import HTML, SVG, Auth, GamesQuery, Load, Media, Query, Route

ANY_FILE: Final = "*/*"

_PAGE: Final = {200: Media(HTML)}
_Id = Annotated[str, Meta(max_length=64)]


class PageWords(Query, frozen=True):
    """Query parameters of a page. The page's script reads them; the server ignores all parameters."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None
    session: _Id | None = None
    experiment: _Id | None = None
    v: _Id | None = None
    seat: _Id | None = None
    invite: _Id | None = None
    game: _Id | None = None


class WatchWords(Query, frozen=True):
    """Query parameters of a page, picture or file of a game."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None
    v: (
        Annotated[
            str, Meta(max_length=20, description="The version to show; the latest one if this version does not exist.")
        ]
        | None
    ) = None
    seat: _Id | None = None
    invite: _Id | None = None
    theme: Literal["light", "dark"] | None = None
    tall: Literal["1"] | None = None
    width: Annotated[int, Meta(ge=1, le=1200, description="`picture.png`: its width at most.")] | None = None


class OEmbedWords(Query, frozen=True):
    """Query parameters of `/oembed`. The invite of a private game is part of its URL."""

    unread = True

    url: (
        Annotated[str, Meta(description="The URL of a game's page (`/watch/…` or `/embed/…`), as it was copied.")]
        | None
    ) = None
    lang: Literal["ko", "en", "zh"] | None = None
    maxwidth: Annotated[int, Meta(ge=1)] | None = None
    maxheight: Annotated[int, Meta(ge=1)] | None = None
    format: Literal["json", "xml"] | None = None


class CheckWords(Query, frozen=True):
    """Query parameters of the page that checks a verdict."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None
    node: (
        Annotated[str, Meta(max_length=500, description="The origin of the node; the page may call no other host.")]
        | None
    ) = None


class RowsQuery(GamesQuery, frozen=True):
    """The filters of `GET /api/games`. `over` selects finished games only, `runs` lists the runs of experiments."""

    over: bool = False
    runs: bool = False

    @property
    def searches(self) -> bool:
        return True  # A row shows what only the game's state contains.


class RowPlayer(msgspec.Struct, frozen=True):
    """A player as shown in a list of games."""

    id: str
    name: str
    handle: str = ""
    kind: str = "bot"


class GameListRow(msgspec.Struct, frozen=True, kw_only=True):
    """A game in the lobby or the archive. `about` is the case, the question or the name of the run."""

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
    winners: tuple[RowPlayer, ...] = ()
    """Several if they share the first rank."""
    verdict: str | None = None
    reason: str | None = None
    seconds_left: float | None = None
    quiet_seconds: float = 0.0
    """The seconds since the last event of a running game."""
    language: str | None = None
    pace: str | None = None


class RowsPage(msgspec.Struct, frozen=True):
    """A page of games as the web pages list them."""

    rows: Sequence[GameListRow]
    next_cursor: str | None


class OEmbedResponse(msgspec.Struct, frozen=True):
    """An oEmbed response (oembed.com): how to embed a game in another web page."""

    version: Literal["1.0"]
    type: Literal["rich"]
    provider_name: str
    provider_url: str
    title: str
    html: str
    width: int
    height: int
    thumbnail_url: str | UnsetType = UNSET
    thumbnail_width: int | UnsetType = UNSET
    thumbnail_height: int | UnsetType = UNSET


PAGE_LOBBY: Final[Route[bytes]] = Route(
    method="GET", path="/", name="page_lobby", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="The lobby and the leaderboard.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_GAMES: Final[Route[bytes]] = Route(
    method="GET", path="/games", name="page_games", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Search finished games; the URL contains the search.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_ROWS: Final[Route[RowsPage]] = Route(
    method="GET", path="/games/rows", name="page_rows", tag="pages", load=Load.SEARCH, auth=Auth.NONE,
    summary="List games for the web pages.", answers={200: RowsPage}, query=RowsQuery,
)  # fmt: skip
PAGE_AGENT: Final[Route[bytes]] = Route(
    method="GET", path="/agents/{id}", name="page_agent", tag="pages", load=Load.READ, auth=Auth.NONE, alone=True,
    summary="An agent with its rating, games and rivals.", answers={**_PAGE, 404: Media(HTML)}, query=PageWords,
)  # fmt: skip
PAGE_TOURNAMENTS: Final[Route[bytes]] = Route(
    method="GET", path="/tournaments", name="page_tournaments", tag="pages", load=Load.MEMORY, auth=Auth.NONE,
    alone=True, summary="The tournaments: open, running and over.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_TOURNAMENT: Final[Route[bytes]] = Route(
    method="GET", path="/tournaments/{id}", name="page_tournament", tag="pages", load=Load.READ, auth=Auth.NONE,
    alone=True, summary="A tournament: its standings as they move, its running games and its rounds.",
    answers={**_PAGE, 404: Media(HTML)}, query=PageWords,
)  # fmt: skip
PAGE_AVATAR: Final[Route[bytes]] = Route(
    method="GET", path="/agents/{id}/avatar.svg", name="page_avatar", tag="pages", load=Load.MEMORY, auth=Auth.NONE,
    alone=True, summary="An agent's avatar, drawn from its id.", answers={200: Media(SVG)}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
PAGE_WATCH: Final[Route[bytes]] = Route(
    method="GET", path="/watch/{id}", name="page_watch", tag="pages", load=Load.READ, auth=Auth.NONE, alone=True,
    summary="Watch a game or run, live or at any past version (?v=17).",
    answers={**_PAGE, 404: Media(HTML)}, query=WatchWords,
)  # fmt: skip
PAGE_EMBED: Final[Route[bytes]] = Route(
    method="GET", path="/embed/{id}", name="page_embed", tag="pages", load=Load.READ, auth=Auth.NONE, alone=True,
    summary="A game or run for embedding in another web page.",
    answers={**_PAGE, 404: Media(HTML)}, query=WatchWords,
)  # fmt: skip
PAGE_PICTURE: Final[Route[bytes]] = Route(
    method="GET", path="/watch/{id}/{picture}", name="page_picture", tag="pages", load=Load.DRAWING, auth=Auth.NONE,
    summary="A picture of a game at a version: `picture.svg` or `picture.png`.",
    answers={200: Media("image/svg+xml")}, other_media=("image/png",), errors=(Code.NOT_FOUND,), query=WatchWords,
)  # fmt: skip
OEMBED: Final[Route[OEmbedResponse]] = Route(
    method="GET", path="/oembed", name="oembed", tag="pages", load=Load.READ, auth=Auth.NONE,
    summary="oEmbed: how to embed a game in another web page (oembed.com).", answers={200: OEmbedResponse},
    errors=(Code.NOT_FOUND, Code.UNSUPPORTED_FORMAT), query=OEmbedWords,
)  # fmt: skip
READ_REPLAY: Final[Route[bytes]] = Route(
    method="GET", path="/api/games/{id}/replay.html", name="read_replay", tag="pages", load=Load.REPLAY, auth=Auth.NONE,
    target="game",
    summary="A finished game as one HTML file that replays offline.", answers={200: Media(HTML)},
    errors=(Code.LOG_NOT_FINISHED,), query=WatchWords,
)  # fmt: skip
PAGE_SHARED: Final[Route[bytes]] = Route(
    method="GET", path="/shared/{token}", name="page_shared", tag="pages", load=Load.READ, auth=Auth.NONE,
    summary="A shared session or experiment; 404 after the owner revokes the link.",
    answers={**_PAGE, 404: Media(HTML)}, query=PageWords,
)  # fmt: skip
PAGE_CHECK: Final[Route[bytes]] = Route(
    method="GET", path="/shared/{token}/check", name="page_check", tag="pages", load=Load.READ, auth=Auth.NONE,
    summary="Check a shared verdict against its chain in the browser, through a node that you choose.",
    answers={**_PAGE, 404: Media(HTML)}, query=CheckWords,
)  # fmt: skip
SHARED_FILE: Final[Route[bytes]] = Route(
    method="GET", path="/shared/{token}/{file}", name="shared_file", tag="pages", load=Load.DRAWING, auth=Auth.NONE,
    summary="A picture of the shared page (`picture.svg`, `picture.png`) or, for a jury session, its log "
    "(`log.jsonl`).",
    answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,), query=WatchWords,
)  # fmt: skip
PAGE_ICON: Final[Route[bytes]] = Route(
    method="GET", path="/favicon.ico", name="page_icon", tag="pages", load=Load.FILE, auth=Auth.NONE, alone=True,
    summary="The site icon.", answers={200: Media("image/x-icon")},
)  # fmt: skip
PAGE_GAME: Final[Route[bytes]] = Route(
    method="GET", path="/game", name="page_game", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Play the AI jury as a person.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_LEGAL: Final[Route[bytes]] = Route(
    method="GET", path="/legal", name="page_legal", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Sessions of the legal simulation.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_AGORA: Final[Route[bytes]] = Route(
    method="GET", path="/agora", name="page_agora", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Agora experiments and their runs.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_ME: Final[Route[bytes]] = Route(
    method="GET", path="/me", name="page_me", tag="pages", load=Load.READ, auth=Auth.NONE, alone=True,
    summary="Your owner: its agents, keys and recovery codes.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_OPERATOR: Final[Route[bytes]] = Route(
    method="GET", path="/operator", name="page_operator", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Reports, stuck games, lag and running tournaments, for the operator key.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_PLAY: Final[Route[bytes]] = Route(
    method="GET", path="/play/{game}", name="page_play", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Play a game as a person: alone with house bots, with friends by invite, or in public where allowed.",
    answers={**_PAGE, 404: Media(HTML)}, query=PageWords,
)  # fmt: skip
PAGE_PRIVACY: Final[Route[bytes]] = Route(
    method="GET", path="/privacy", name="page_privacy", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Privacy: which data is stored, for how long, and how to erase it.", answers=_PAGE, query=PageWords,
)  # fmt: skip
PAGE_DATASETS: Final[Route[bytes]] = Route(
    method="GET", path="/datasets/", name="page_datasets", tag="pages", load=Load.READ, auth=Auth.NONE, alone=True,
    summary="Datasets of finished public games; 404 if this platform offers none.",
    answers={**_PAGE, 404: Media(HTML)}, query=PageWords,
)  # fmt: skip
DATASET_FILE: Final[Route[bytes]] = Route(
    method="GET", path="/datasets/{dataset}/{file}", name="dataset_file", tag="pages", load=Load.READ, auth=Auth.NONE,
    alone=True,
    summary="A dataset's `croissant.json`, `manifest.json` or `CITATION.cff`.",
    answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,), query=PageWords,
)  # fmt: skip
DATASET_GAMES: Final[Route[bytes]] = Route(
    method="GET", path="/datasets/{dataset}/{folder}/{file}", name="dataset_games", tag="pages", load=Load.READ,
    auth=Auth.NONE, alone=True,
    summary="A dataset's Parquet file of a game type and month.",
    answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,), query=PageWords,
)  # fmt: skip
PAGE_ASSET: Final[Route[bytes]] = Route(
    method="GET", path="/assets/{version}/{file}", name="page_asset", tag="pages", load=Load.FILE, auth=Auth.NONE,
    alone=True,
    summary="A file that the web pages load.", answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
PAGE_FOLDER_ASSET: Final[Route[bytes]] = Route(
    method="GET", path="/assets/{version}/{folder}/{file}", name="page_folder_asset", tag="pages", load=Load.FILE,
    auth=Auth.NONE,
    alone=True,
    summary="A file from the folder of a web page.",
    answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
PAGE_GAME_ASSET: Final[Route[bytes]] = Route(
    method="GET", path="/assets/{version}/games/{game}/{file}", name="page_game_asset", tag="pages", load=Load.FILE,
    auth=Auth.NONE,
    alone=True, summary="A file of a game's watch page.", answers={200: Media(ANY_FILE)},
    errors=(Code.NOT_FOUND,),
)  # fmt: skip

PAGES_WEB: Final = (
    PAGE_LOBBY,
    PAGE_GAMES,
    PAGE_ROWS,
    PAGE_AGENT,
    PAGE_TOURNAMENTS,
    PAGE_TOURNAMENT,
    PAGE_AVATAR,
    PAGE_WATCH,
    PAGE_EMBED,
    PAGE_PICTURE,
    OEMBED,
    READ_REPLAY,
    PAGE_SHARED,
    PAGE_CHECK,
    SHARED_FILE,
    PAGE_ICON,
    PAGE_GAME,
    PAGE_LEGAL,
    PAGE_AGORA,
    PAGE_ME,
    PAGE_OPERATOR,
    PAGE_PLAY,
    PAGE_PRIVACY,
    PAGE_DATASETS,
    DATASET_FILE,
    DATASET_GAMES,
    PAGE_ASSET,
    PAGE_FOLDER_ASSET,
    PAGE_GAME_ASSET,
)
"""The texts of the pages are data, in Korean, English and Chinese."""
