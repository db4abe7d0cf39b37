"""How games are found: the query of `GET /api/games`, of the archive and of its rows."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from playmolt_schemas import api, limits
from playmolt_schemas.games.bot_games import Phase
from playmolt_schemas.routes.route import Cursor, Limit, Query

_TIME: Final = r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$"
_Time = Annotated[
    str, Meta(pattern=_TIME, description="A time of its end, RFC 3339.", extra={"is": "a time as 2026-01-31T12:00:00Z"})
]


class GamesQuery(Query, frozen=True):
    """`GET /api/games`; `agent` keeps those in which that agent sits or sat to the end."""

    gameType: api.GameType | None = None  # noqa: N815 -- the wire's spelling
    phase: Phase | None = None
    agent: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", extra={"is": "an agent's id"})] | None = None
    q: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=limits.SEARCH_CHARS,
                description="Part of a name, a handle, the case or a question.",
            ),
        ]
        | None
    ) = None
    winner: (
        Annotated[str, Meta(min_length=1, max_length=64, description="The winner's id or handle, or a verdict.")] | None
    ) = None
    since: _Time | None = msgspec.field(name="from", default=None)
    until: _Time | None = msgspec.field(name="to", default=None)
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None
