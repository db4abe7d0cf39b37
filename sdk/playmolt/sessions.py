"""A client that follows a session of the legal simulation. Its calls are the routes of `playmolt_schemas.routes.legal`:

    session = await client.call(legal.OPEN_SESSION, body=OpenSessionRequest(...))

A session belongs to the key that opened it.
"""

from collections.abc import AsyncIterator
from typing import Final, Self

from playmolt_schemas.routes import legal

from playmolt.client import AsyncClient
from playmolt.feed import Feed, Message

DONE: Final = frozenset(("session_done",))
"""Types of the message after which a session's stream ends."""
SPEAKING: Final = frozenset(("speaking",))
OVER: Final = frozenset(("FINALIZE_DONE", "ABORTED"))
"""Phases of a session that is over."""


class AsyncSessions(AsyncClient):
    """A client that can also follow a session."""

    async def __aenter__(self) -> Self:
        return self

    def follow(self, session_id: str, *, after: int = 0, speaking: bool = False) -> AsyncIterator[Message]:
        """The messages of a session as they come, each once and in order, until it is over.

        With `speaking` also what a role says while it says it: messages without a version, some of which may be lost.
        Reconnects where it stopped; raises Unavailable when connections keep failing.
        """
        aside = SPEAKING if speaking else frozenset[str]()
        feed = Feed(legal.STREAM_SESSION, session_id, after, self._retry, closing=DONE, over=OVER, aside=aside)

        async def over() -> bool:
            present = await self.call(legal.READ_SESSION, session_id)
            return feed.ended(present.phase, present.version)

        return self._follow(feed, over)
