"""The engine of one game: what decides, reads and fulfils, around one decider and the log."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import WRITES, Call
from playmolt_schemas.identifiers import SESSION_TYPES

from playmolt_core.decider import Decider
from playmolt_core.desk import Desk
from playmolt_core.host.errand import Worker
from playmolt_core.host.freshness import Freshness
from playmolt_core.host.hot import Hot
from playmolt_core.host.reads import Fetch, Reads
from playmolt_core.host.wishes import Wishes
from playmolt_core.host.work import Respond, Work
from playmolt_core.host.writes import Writes
from playmolt_core.llm.leases import Leases
from playmolt_core.log.port import EventLog
from playmolt_core.metrics import Histogram, Sample, label
from playmolt_core.settings import Settings

_DRAIN_SECONDS = 8
_PUBLIC_OPS = frozenset({"feed", "games"})


class Engine:
    """The host of one decider, with the desk and the workers it has."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        settings: Settings,
        on_commit: Callable[[], None],
        *,
        desk: Desk[Any] | None = None,
        workers: Mapping[str, Worker] | None = None,
        leases: Leases | None = None,
        fetches: Mapping[str, Fetch] | None = None,
    ) -> None:
        self.decider = decider
        self.hot = Hot(decider, event_log, settings.hot_games)
        self.writes = Writes(decider, event_log, self.hot, settings, on_commit, desk)
        self.fresh = Freshness(event_log, self.hot, self.writes)
        self.reads = Reads(decider, event_log, self.fresh, desk, fetches)
        self.wishes = Wishes(
            decider, event_log, self.fresh, self.writes, workers=workers, leases=leases, at_once=settings.errands
        )
        self.tasks: list[asyncio.Task[None]] = []
        """What runs until `stop`. One that ends before has met a bug, and the engine is of no use any more."""

    def start(self) -> None:
        """Start committing, reading and looking for what is due."""
        runs = (self.writes.run(), self.fresh.run(), self.wishes.run())
        self.tasks = [asyncio.create_task(run) for run in runs]

    async def stop(self) -> None:
        """Finish what has been taken, then stop."""
        await self.wishes.stop()
        await self.writes.drain(_DRAIN_SECONDS)
        for task in self.tasks:
            task.cancel()

    def receive(self, call: Call, respond: Respond) -> None:
        """Take a call of a trusted service."""
        if call.op == "wish":
            return
        (self.writes if call.op in WRITES else self.reads).take(Work(call, respond))

    def receive_public(self, call: Call, respond: Respond) -> None:
        """Take a call of a service that may see public messages only: whatever it says of itself is dropped."""
        if self.decider.game in SESSION_TYPES:
            Work(call, respond).refuse(Code.NOT_FOUND, "There is no such game.")
        elif call.op in _PUBLIC_OPS:
            public = Call(call.id, call.op, call.target, call.body, deadline_ms=call.deadline_ms)
            self.reads.take(Work(public, respond))

    def samples(self) -> list[Sample]:
        """Give the engine's figures as they are now."""
        labels = label("game", self.decider.game)
        writes = self.writes
        figures: dict[str, int | Histogram] = {
            "playmolt_commits_total": writes.commits,
            "playmolt_commands_total": writes.committed_commands,
            "playmolt_commit_commands": writes.batch_sizes,
            "playmolt_commit_seconds": writes.batch_seconds,
            "playmolt_commands_under_way": writes.under_way,
            "playmolt_hot_streams": len(self.hot),
            "playmolt_wishes_under_way": self.wishes.under_way,
        }
        return [Sample(name, value, labels) for name, value in figures.items()]
