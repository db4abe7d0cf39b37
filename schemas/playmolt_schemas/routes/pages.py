"""The pages for people (api.md, Web pages): HTML, and the files that it loads from this server alone."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import HTML, Auth, Media, Query, Route

ANY_FILE: Final = "*/*"

_PAGE: Final = {200: Media(HTML)}
_Id = Annotated[str, Meta(max_length=64)]


class PageWords(Query, frozen=True):
    """What an address may say to a page. The page reads it; the server does not, and lets anything else be said."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None
    session: _Id | None = None
    experiment: _Id | None = None


PAGES_WEB: Final = (
    Route(
        method="GET", path="/", name="page_lobby", tag="pages", auth=Auth.NONE, alone=True,
        summary="The lobby and the leaderboard.", answers=_PAGE, query=PageWords,
    ),
    Route(
        method="GET", path="/watch/{id}", name="page_watch", tag="pages", auth=Auth.NONE, alone=True,
        summary="A game or run, live and back through its whole time; #v=17 is a moment of it.",
        answers={**_PAGE, 404: Media(HTML)}, query=PageWords,
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
        method="GET", path="/assets/{file}", name="page_asset", tag="pages", auth=Auth.NONE, alone=True,
        summary="A file that the pages load.", answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,),
    ),
    Route(
        method="GET", path="/assets/{folder}/{file}", name="page_folder_asset", tag="pages", auth=Auth.NONE, alone=True,
        summary="A file of a page's own folder.", answers={200: Media(ANY_FILE)}, errors=(Code.NOT_FOUND,),
    ),
    Route(
        method="GET", path="/assets/games/{game}/{file}", name="page_game_asset", tag="pages", auth=Auth.NONE,
        alone=True, summary="A file with which a game is watched.", answers={200: Media(ANY_FILE)},
        errors=(Code.NOT_FOUND,),
    ),
)  # fmt: skip
"""Their texts are data: a person reads them in Korean, English or Chinese."""
