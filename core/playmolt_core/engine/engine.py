"""The engine of one game: decides and commits commands, answers queries, runs effects."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Generic

from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import WRITES, Call
from playmolt_schemas.identifiers import GAME_TYPES, SESSION_TYPES

from playmolt_core.effects.leased_effect import Worker
from playmolt_core.effects.leases import Leases
from playmolt_core.effects.outages import Outages
from playmolt_core.effects.runner import EffectRunner
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.pending_call import PendingCall, Respond, Submission
from playmolt_core.engine.reads.api_queries import Fetch
from playmolt_core.engine.reads.reads import Reads
from playmolt_core.engine.session_erasure import Eraser, SessionErasure
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.engine.stream_cache import Prepare, StreamCache
from playmolt_core.engine.writes.command_handler import CommandHandler, Complete, OneAddress
from playmolt_core.engine.writes.group_committer import GroupCommitter, OnCommit
from playmolt_core.engine.writes.outcomes import Outcomes
from playmolt_core.engine.writes.planner import Planner
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Accepted, Command, Decider, Refused, S
from playmolt_core.game.lobby import LobbyRules
from playmolt_core.log.port import EngineLog
from playmolt_core.log.withholding import WithheldReader
from playmolt_core.ops.metrics import Histogram, Sample, label

_DRAIN_SECONDS = 8
_now = partial(datetime.now, UTC)
_PUBLIC_OPS = frozenset({"feed", "games"})


async def _known_addresses(_: Sequence[str]) -> bool:
    """Without accounts, no two agents share an address."""
    return False


class Engine(Generic[S]):
    """Runs one decider on the log, with its API and its workers."""

    def __init__(
        self,
        decider: Decider[S],
        event_log: EngineLog,
        settings: EngineSettings,
        on_commit: OnCommit,
        *,
        api: GameApi[S] | None = None,
        workers: Mapping[str, Worker] | None = None,
        leases: Leases | None = None,
        outages: Outages | None = None,
        fetches: Mapping[str, Fetch] | None = None,
        eraser: Eraser | None = None,
        completes: Mapping[str, Complete] | None = None,
        prepare: Prepare[S] | None = None,
        one_address: OneAddress = _known_addresses,
        withholding: WithheldReader | None = None,
        lobby_rules: LobbyRules | None = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self.decider = decider
        self.streams = StreamCache(decider, event_log, settings.hot_games, prepare, lobby_rules)
        self._committer = GroupCommitter(event_log, self.streams, settings.batch_commands, on_commit)
        config: dict[str, object] = {"phase_deadline_seconds": settings.phase_deadline_seconds}
        if settings.rated_owners:
            config["rated_owners"] = True
        planner = Planner(decider, self.streams, now, config, api=api)
        self.writes = CommandHandler(
            decider,
            event_log,
            planner,
            self.streams,
            self._committer,
            Outcomes(decider, event_log, api, self.streams),
            most=settings.queue_commands,
            erased=self._erased_refusal,
            completes=completes or {},
            completes_at_once=settings.effects_at_once,
            one_address=one_address,
        )
        self.committed = CommittedReads(event_log, self.streams, withholding)
        self._erasure = SessionErasure(eraser, self.committed, api) if eraser else None
        self.reads = Reads(decider, event_log, self.committed, api, fetches, self._erasure, self.submit)
        self.effects = EffectRunner(
            decider,
            event_log,
            self.committed,
            self.submit,
            workers=workers,
            leases=leases,
            outages=outages,
            at_once=settings.effects_at_once,
        )
        self._committer.on_due = self.effects.check_committed
        self.tasks: list[asyncio.Task[None]] = []
        """Tasks that run until `stop`. If one ends earlier, because of a bug, the engine no longer works."""

    async def _erased_refusal(self, call: Call) -> Refused | None:
        return await self._erasure.refusal_for(call) if self._erasure else None

    def start(self) -> None:
        runs = (self._committer.run(), self.committed.run(), self.effects.run())
        self.tasks = [asyncio.create_task(run) for run in runs]

    async def stop(self) -> None:
        """Finish accepted calls, then stop."""
        await self.effects.stop()
        await self.writes.drain(_DRAIN_SECONDS)
        for task in self.tasks:
            task.cancel()

    async def submit(self, stream: str, command: Command, command_id: str, agent: str = "") -> Accepted | Refused:
        """See `effects.leased_effect.Submit`. `agent`: whose a session is that a worker opens."""
        submission = Submission.of(stream, command, command_id, agent)
        self.writes.take(submission)
        return await submission.outcome

    def receive(self, call: Call, respond: Respond) -> None:
        """Accept a call of a trusted service."""
        pending = PendingCall(call, respond)
        if call.op in WRITES:
            self.writes.take(pending)
        else:
            self.reads.take(pending)

    def receive_public(self, call: Call, respond: Respond) -> None:
        """Accept a call of a service that may read public data only; its claims about the caller are ignored."""
        if self.decider.game in SESSION_TYPES:
            PendingCall(call, respond).refuse(Refused(Code.NOT_FOUND, "This game does not exist."))
        elif call.op in _PUBLIC_OPS:
            public = Call(
                call.id, call.op, call.target, call.body, invite=call.invite, patience_ms=call.patience_ms
            )  # fmt: skip
            self.reads.take(PendingCall(public, respond))

    def receive_table(self, call: Call, respond: Respond) -> None:
        """Accept a call of the service that seats the games of tournaments; it may do nothing else."""
        if call.op == "seat_table" and self.decider.game in GAME_TYPES:
            self.writes.take(PendingCall(call, respond))

    def samples(self) -> list[Sample]:
        """The engine's current metrics."""
        labels, committer = label("game", self.decider.game), self._committer
        figures: dict[str, int | Histogram] = {
            "playmolt_commits_total": committer.commits,
            "playmolt_commands_total": committer.committed_commands,
            "playmolt_commit_commands": committer.batch_sizes,
            "playmolt_commit_seconds": committer.batch_seconds,
            "playmolt_commands_under_way": self.writes.under_way,
            "playmolt_hot_streams": len(self.streams),
            "playmolt_effects_under_way": self.effects.under_way,
        }
        return [Sample(name, value, labels) for name, value in figures.items()]
