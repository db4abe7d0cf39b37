"""A client that follows sessions of the legal simulation. Call the routes of `playmolt_schemas.routes.legal`:

    session = await client.call(legal.OPEN_SESSION, body=OpenSessionRequest(...))

A session belongs to the key that opened it.
"""

from collections.abc import AsyncIterator
from typing import Final, Self

from playmolt_schemas.routes import legal

from playmolt.client import AsyncClient
from playmolt.feed import Feed, Message

DONE: Final = frozenset(("session_done",))
"""Types of the messages that end a session's stream."""
SPEAKING: Final = frozenset(("speaking",))
OVER: Final = frozenset(("FINALIZE_DONE", "ABORTED"))
"""Phases of a session that is over."""


class AsyncSessions(AsyncClient):
    """A client that can also follow a session."""

    async def __aenter__(self) -> Self:
        return self

    def follow(self, session_id: str, *, after: int = 0, speaking: bool = False) -> AsyncIterator[Message]:
        """The messages of a session as they happen, each once and in order, until it is over.

        With `speaking`, also a role's answer while it is being generated: unversioned messages, some of which may be
        lost. Resumes after a lost connection; raises Unavailable if connections keep failing.
        """
        aside = SPEAKING if speaking else frozenset[str]()
        feed = Feed(legal.STREAM_SESSION, session_id, after, self._retry, closing=DONE, over=OVER, aside=aside)

        async def over() -> bool:
            present = await self.call(legal.READ_SESSION, session_id)
            return feed.ended(present.phase, present.version)

        return self._follow(feed, over)
