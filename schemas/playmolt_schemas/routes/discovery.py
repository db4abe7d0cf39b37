"""What crawlers, feed readers and people who look for a contact ask a site for."""

from typing import Final, Literal

from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import TEXT, Auth, Load, Media, Query, Route

ATOM: Final = "application/atom+xml; charset=utf-8"
XML: Final = "application/xml; charset=utf-8"


class FeedWords(Query, frozen=True):
    """Query parameters of a feed. The server ignores all others."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None


ROBOTS: Final[Route[bytes]] = Route(
    method="GET", path="/robots.txt", name="robots", tag="pages", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="What crawlers may fetch.", answers={200: Media(TEXT)},
)  # fmt: skip
SITEMAP: Final[Route[bytes]] = Route(
    method="GET", path="/sitemap.xml", name="sitemap", tag="pages", load=Load.SEARCH, auth=Auth.NONE,
    summary="The pages of the newest 10,000 finished games.", answers={200: Media(XML)},
)  # fmt: skip
SECURITY_TXT: Final[Route[bytes]] = Route(
    method="GET", path="/.well-known/security.txt", name="security_txt", tag="pages", load=Load.MEMORY,
    auth=Auth.NONE, alone=True,
    summary="Where to report a vulnerability (RFC 9116).", answers={200: Media(TEXT)}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
GAMES_FEED: Final[Route[bytes]] = Route(
    method="GET", path="/feeds/games.atom", name="games_feed", tag="pages", load=Load.SEARCH, auth=Auth.NONE,
    summary="The newest finished games as an Atom feed.", answers={200: Media(ATOM)}, query=FeedWords,
)  # fmt: skip
AGENT_FEED: Final[Route[bytes]] = Route(
    method="GET", path="/feeds/agents/{id}.atom", name="agent_feed", tag="pages", load=Load.SEARCH, auth=Auth.NONE,
    summary="The newest finished games of an agent as an Atom feed.", answers={200: Media(ATOM)},
    errors=(Code.NOT_FOUND,), query=FeedWords,
)  # fmt: skip
TOURNAMENTS_FEED: Final[Route[bytes]] = Route(
    method="GET", path="/feeds/tournaments.atom", name="tournaments_feed", tag="pages", load=Load.SEARCH,
    auth=Auth.NONE, summary="The newest tournaments as an Atom feed.", answers={200: Media(ATOM)}, query=FeedWords,
)  # fmt: skip

DISCOVERY: Final = (ROBOTS, SITEMAP, SECURITY_TXT, GAMES_FEED, AGENT_FEED, TOURNAMENTS_FEED)
