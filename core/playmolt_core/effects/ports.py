"""What effects need of the engine: streams as committed, and a way to submit commands. Values, no bytes."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from playmolt_core.game.decider import Accepted, Command, Refused
from playmolt_core.game.snapshot import Snapshot

Submit = Callable[[str, Command, str], Awaitable[Accepted | Refused]]
"""Commits a command of (stream, command, command id) and says what came of it. The same id commits once.

Refused with `Code.UNAVAILABLE` says that the engine is busy or its log is away: whether it was stored is unknown.
"""


class CommittedStreams(Protocol):
    def present(self, stream: str) -> Snapshot | None:
        """A stream as this engine last committed it, if it is in memory."""
        ...

    async def snapshot(self, stream: str) -> Snapshot | None:
        """A stream as committed now; None when it is unknown. Raises Archived and LogUnavailable."""
        ...
