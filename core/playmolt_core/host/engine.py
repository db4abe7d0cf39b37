"""An engine process: a decider, the event log and the bus, wired once. A game's main says `run(decider)`."""

import asyncio
import signal
from collections.abc import Mapping
from typing import Any

import uvloop
from playmolt_schemas.envelopes import WRITES, Call

from playmolt_core import health, telemetry
from playmolt_core.bus.engine_bus import EngineBus, Respond
from playmolt_core.db.pool import open_pool
from playmolt_core.decider import Decider
from playmolt_core.host.deadlines import Deadlines
from playmolt_core.host.freshness import Freshness
from playmolt_core.host.hot import Hot
from playmolt_core.host.reads import Reads
from playmolt_core.host.work import Work
from playmolt_core.host.writes import Writes
from playmolt_core.log.port import EventLog
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.settings import Settings, from_environment

_log = telemetry.log("engine")
_DRAIN_SECONDS = 8
_PUBLIC_OPS = frozenset({"feed", "games"})


class Engine:
    """The host of one decider."""

    def __init__(self, decider: Decider[Any], event_log: EventLog, settings: Settings, on_commit: Any) -> None:
        self.decider = decider
        self.hot = Hot(decider, event_log, settings.hot_games)
        self.writes = Writes(decider, event_log, self.hot, settings, on_commit)
        self.fresh = Freshness(event_log, self.hot, self.writes)
        self.reads = Reads(decider, event_log, self.fresh)
        self.deadlines = Deadlines(decider, event_log, self.fresh, self.writes)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start committing, reading and looking for what is due."""
        runs = (self.writes.run(), self.fresh.run(), self.deadlines.run())
        self._tasks = [asyncio.create_task(run) for run in runs]

    async def stop(self) -> None:
        """Finish what has been taken, then stop."""
        await self.writes.drain(_DRAIN_SECONDS)
        for task in self._tasks:
            task.cancel()

    def receive(self, call: Call, respond: Respond) -> None:
        """Take a call of a trusted service."""
        if call.op == "deadline":
            return
        (self.writes if call.op in WRITES else self.reads).take(Work(call, respond))

    def receive_public(self, call: Call, respond: Respond) -> None:
        """Take a call of a service that may see public messages only: whatever it says of itself is dropped."""
        if call.op in _PUBLIC_OPS:
            public = Call(call.id, call.op, call.target, call.body, deadline_ms=call.deadline_ms)
            self.reads.take(Work(public, respond))

    def metrics(self) -> str:
        """Render the engine's figures for Prometheus."""
        game = self.decider.game
        figures = {
            "playmolt_commits_total": self.writes.commits,
            "playmolt_commands_total": self.writes.committed_commands,
            "playmolt_commands_under_way": self.writes.under_way,
            "playmolt_hot_streams": len(self.hot),
        }
        return "".join(f'{name}{{game="{game}"}} {value}\n' for name, value in figures.items())


async def _serve(decider: Decider[Any], settings: Settings) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopping.set)
    pool = await open_pool(settings.database_url, role=settings.database_role)
    event_log = PostgresLog(pool)
    bus = EngineBus(settings, decider.game)
    await bus.open()
    engine = Engine(decider, event_log, settings, bus.poke)
    engine.start()

    async def ready() -> Mapping[str, bool]:
        return {"nats": bus.connected(), "postgres": await pool.answers()}

    server = await health.serve(settings.health_port, ready, engine.metrics, settings.host)
    schemas = sorted(kind for kind, _ in decider.events)
    await bus.serve(schemas, receive=engine.receive, receive_public=engine.receive_public)
    _log.info("serving", game=decider.game, health_port=server.port)
    await stopping.wait()
    _log.info("draining", under_way=engine.writes.under_way)
    await bus.withdraw()
    await engine.stop()
    await bus.close()
    await server.close()
    await pool.close()


def run(decider: Decider[Any]) -> None:
    """Serve a game until SIGTERM, then finish what was taken. Settings come from the environment."""
    settings = from_environment()
    telemetry.configure(f"{decider.game}-engine", settings.log_level)
    uvloop.run(_serve(decider, settings))
