"""The relay service: copies the log to NATS, keeps the projections, answers how far behind both are."""

import asyncio
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack

import msgspec
import uvloop
from playmolt_schemas import subjects

from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.game_counts import PgGameCounts
from playmolt_core.db.limits import PgLimits
from playmolt_core.db.migrate import newest_needed
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.engine.reads.sources import Page, fitting
from playmolt_core.log.port import EventLog
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.ops import garbage, health, tracing
from playmolt_core.ops.metrics import Sample, label, render
from playmolt_core.ops.stopping import done_before
from playmolt_core.ops.telemetry import configure, log
from playmolt_core.relay.day_figures import DayFigures
from playmolt_core.relay.projector import Projector
from playmolt_core.relay.relay import Relay
from playmolt_core.settings import InvalidSettings, Settings, from_environment

SERVICE = "relay"
SYNC_SECONDS = 2.0
SWEEP_SECONDS = 60.0
LOOK_SECONDS = 5.0
TELL_SECONDS = 0.5
_read_page = msgspec.json.Decoder(Page).decode
_log = log(SERVICE)


class Service:
    def __init__(self, settings: Settings, pool: Pool, bus: JetStream) -> None:
        self._pool = pool
        self._bus = bus
        self._log: EventLog = PostgresLog(pool)
        self._relay = Relay(self._log, bus, settings.stream_events)
        self._projector = Projector(self._log, pool)
        self._limits = PgLimits(pool)
        self._day_figures = DayFigures(self._limits, settings)
        self._game_counts = PgGameCounts(pool)
        self._looked: list[Sample] = []

    async def listen(self) -> None:
        self._bus.on_change(self._relay.doubt)
        await self._bus.listen(subjects.COMMITTED, self._relay.wake)
        await self._bus.answer(subjects.PROJECTED, self._synced, SERVICE)
        await self._bus.answer(subjects.LAG, self._lag, SERVICE)
        await self._bus.answer(subjects.LOG, self._page, SERVICE)
        await self._bus.tell_history(SERVICE)
        await self._bus.serve_consumers(SERVICE)
        await self._bus.announce(SERVICE)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._relay.run())
            tasks.create_task(self._projector.run())
            tasks.create_task(self._sweep())
            tasks.create_task(self._look())
            tasks.create_task(self._tell_feeds())

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self._limits.sweep()
            except LogUnavailable as error:
                _log.warning("sweep_waits", detail=str(error)[:300])

    async def _look(self) -> None:
        """Look every few seconds at what a scrape shows: a scrape itself must not wait for the database."""
        while True:
            try:
                self._looked = [
                    *_seen(await self.positions(), await self._game_counts.phases(), await self._game_counts.pending()),
                    *await self._day_figures.samples(),
                ]
            except LogUnavailable as error:
                self._looked = []  # what is not known any more is not shown
                _log.warning("look_waits", detail=str(error)[:300])
            await asyncio.sleep(LOOK_SECONDS)

    async def _tell_feeds(self) -> None:
        while True:
            self._bus.tell_feeds(self._relay.moving)
            await asyncio.sleep(TELL_SECONDS)

    async def _synced(self, _: bytes) -> bytes | None:
        if not await self._projector.sync(SYNC_SECONDS):
            return None
        return msgspec.json.encode({"position": self._projector.position})

    async def _page(self, body: bytes) -> bytes | None:
        """A page of the whole log, which no engine can read."""
        try:
            page = _read_page(body)
            rows = await self._log.forward(page.after, page.most)
        except (msgspec.MsgspecError, LogUnavailable) as error:
            _log.warning("page_waits", detail=str(error)[:300])
            return None
        taken = fitting(msgspec.json.encode(row.record) for row in rows)
        return b'{"records":[%b],"next_after":%d}' % (b",".join(taken), page.after + len(taken))

    async def _lag(self, _: bytes) -> bytes:
        return msgspec.json.encode(await self.positions())

    async def positions(self) -> dict[str, int]:
        """The position of the log and how far its copies are; a stream that is not known yet is at 0."""
        tails = self._relay.tails()
        return {
            "log": await self._log.position(),
            "events": tails.get(subjects.EVENTS_STREAM, 0),
            "spectate": tails.get(subjects.SPECTATE_STREAM, 0),
            "projections": self._projector.position,
        }

    async def ready(self) -> Mapping[str, bool | str]:
        return {
            **await self._pool.parts(),
            "nats": await self._bus.responds(),
            "relay": self._relay.moving,
            "projections": self._projector.ready,
        }

    def metrics(self) -> str:
        tails, relay = self._relay.tails(), self._relay
        return render(
            [
                Sample("playmolt_relay_ready", int(relay.moving)),
                *(
                    Sample("playmolt_feed_mends_total", count, label("stream", stream))
                    for stream, count in relay.mends.items()
                ),
                Sample("playmolt_database_read_only", int(self._pool.read_only)),
                *(
                    Sample("playmolt_log_chain_faults_total", count, label("game", game))
                    for game, count in relay.chain_faults.items()
                ),
                Sample("playmolt_relay_events_sequence", tails.get(subjects.EVENTS_STREAM, 0)),
                Sample("playmolt_relay_spectate_sequence", tails.get(subjects.SPECTATE_STREAM, 0)),
                Sample("playmolt_relay_projections_position", self._projector.position),
                Sample("playmolt_relay_lag_seconds", relay.lag_seconds),
                Sample("playmolt_relay_batch_events", relay.batch_sizes),
                *self._bus.samples(),
                *self._looked,
            ]
        )


def _seen(
    positions: Mapping[str, int], phases: Mapping[tuple[str, str], int], pending: Mapping[str, int]
) -> list[Sample]:
    log = positions["log"]
    return [
        Sample("playmolt_relay_log_position", log),
        *(
            Sample("playmolt_relay_lag_events", max(0, log - position), label("copy", copy))
            for copy, position in positions.items()
            if copy != "log"
        ),
        *(
            Sample("playmolt_games", count, f"{label('game', game)},{label('phase', phase)}")
            for (game, phase), count in phases.items()
        ),
        *(Sample("playmolt_effects_pending", count, label("game", game)) for game, count in pending.items()),
    ]


async def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT; a batch under way is finished or fenced by the next relay."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        url, role = settings.database_url, settings.database_role
        pool = await open_pool(url, role=role, writes=True, needs=newest_needed())
        stack.push_async_callback(pool.close)
        services: list[Service] = []

        async def ready() -> Mapping[str, bool | str]:
            return await services[0].ready() if services else {"relay": False, **await pool.parts()}

        server = await health.serve(
            settings.health_port, ready, lambda: services[0].metrics() if services else "", settings.host
        )
        stack.push_async_callback(server.close)
        if not await done_before(stop, pool.migrated()):
            return
        bus = await open_jetstream(settings, SERVICE)
        stack.push_async_callback(bus.close)
        service = Service(settings, pool, bus)
        await service.listen()
        services.append(service)
        garbage.settle()
        _log.info("relay_up", health_port=server.port)
        work = asyncio.create_task(service.run())
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
        work.cancel()
        await asyncio.wait((work,), timeout=5)


def main() -> None:
    """Run from the command line; exit code 2 for bad settings, 1 when NATS cannot be reached."""
    try:
        settings = from_environment()
    except InvalidSettings as error:
        sys.exit(f"settings: {error}")
    configure(SERVICE, settings.log_level)
    tracing.configure(SERVICE)
    try:
        uvloop.run(run(settings))
    except (ConnectionError, TimeoutError) as error:
        _log.error("cannot_start", error=str(error)[:500])
        sys.exit(1)
    finally:
        tracing.close()


if __name__ == "__main__":
    main()
