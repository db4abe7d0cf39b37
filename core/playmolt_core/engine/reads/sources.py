"""What the reads of one game share: where they read, who looks, and what fits into an answer."""

from collections.abc import Iterable
from typing import Any

import msgspec
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import SESSION_TYPES
from playmolt_schemas.limits import BUS_REPLY_BYTES, PAGE_DEFAULT, PAGE_MAX

from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.pending_call import NO_GAME
from playmolt_core.engine.privacy import closed_to
from playmolt_core.engine.reads.history import Histories
from playmolt_core.game.decider import PUBLIC, Decider, Refused, Viewer
from playmolt_core.game.snapshot import Snapshot
from playmolt_core.log.port import Archived, EventLog

Reply = tuple[int, bytes] | tuple[int, bytes, str, int]
"""Status and body; then the type of what is no JSON, and the length of what is sent in parts."""

NO_SESSION = Refused(Code.NOT_FOUND, "You have no such session. Its list is at the path without an id.")


class Page(msgspec.Struct, frozen=True):
    """Body of `events`, `feed` and `log`, and of `relay.log`."""

    after: int = 0
    limit: int = PAGE_DEFAULT

    @property
    def most(self) -> int:
        return min(self.limit, PAGE_MAX)


def refusal(refused: Refused) -> Reply:
    return refused.code.status, problem_bytes(refused.code, refused.detail, refused.errors)


def fitting(items: Iterable[bytes]) -> list[bytes]:
    """Take what fits into one answer on the bus; at least one item."""
    taken: list[bytes] = []
    size = 0
    for item in items:
        size += len(item) + 1
        if taken and size > BUS_REPLY_BYTES:
            break
        taken.append(item)
    return taken


class Sources:
    """The committed streams of one game, and their log and history."""

    def __init__(self, decider: Decider[Any], event_log: EventLog, streams: CommittedReads) -> None:
        self.decider = decider
        self.log = event_log
        self.streams = streams
        self.histories = Histories(decider, event_log, streams.read_last)
        self.private = decider.game in SESSION_TYPES
        """Whether each game is its owner's alone."""
        self.unknown = NO_SESSION if self.private else NO_GAME

    def viewer(self, snapshot: Snapshot, agent: str) -> Viewer:
        return Viewer(agent) if agent and agent in self.decider.participants(snapshot.state) else PUBLIC

    async def shown(self, call: Call) -> Snapshot | None:
        """The game that a call is about; None where its caller may not know of it. Raises LogUnavailable, Archived."""
        snapshot = await self.streams.snapshot(call.target)
        return None if snapshot is None or closed_to(self.decider, snapshot, call) else snapshot

    async def unless_archived(self, stream: str) -> Snapshot | None:
        """Raises Erased and LogUnavailable."""
        try:
            return await self.streams.snapshot(stream)
        except Archived:
            return None
