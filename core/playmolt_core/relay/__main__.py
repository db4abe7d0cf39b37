"""The relay service: fills gaps in NATS from the log, maintains the projections, and reports the lag of both."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

import msgspec
from msgspec.structs import asdict
from playmolt_schemas import subjects
from playmolt_schemas.export.wire import Lag, LogPageRequest, ShardLag, lag_of
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.shards import BadPlaces, read_places, write_places

from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.db.accounts import PgAccounts
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.limits import PgLimits
from playmolt_core.db.migrate import newest_needed
from playmolt_core.db.moderation import PgModeration
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.projections import PgGameCounts
from playmolt_core.db.reports import PgReports
from playmolt_core.db.webhooks import PgNotices
from playmolt_core.engine.reads.sources import fitting
from playmolt_core.log.port import ShardReader
from playmolt_core.log.postgres import PostgresLog, shards_of
from playmolt_core.log.reading import page, places_behind
from playmolt_core.log.withholding import WithheldReader
from playmolt_core.ops import health
from playmolt_core.ops.metrics import Sample, label, render
from playmolt_core.ops.process import done_before, next_tick, settle_garbage
from playmolt_core.ops.service import Start, run_service
from playmolt_core.ops.telemetry import log
from playmolt_core.relay.feeds import PublicForms, rules_of
from playmolt_core.relay.notices import NoticeProjector
from playmolt_core.relay.projector import Projector
from playmolt_core.relay.relay import Relay
from playmolt_core.relay.withdrawal import PgPlaces, Withdrawal
from playmolt_core.settings import Settings


class DayFigures:
    """The spent share of each configured day budget; for budgets of keys, that of the key that spent most."""

    def __init__(self, limits: PgLimits, settings: Settings) -> None:
        self._limits = limits
        most = {
            "tokens": Decimal(settings.day_tokens),
            "money": Decimal(settings.day_money),
            "key_tokens": Decimal(settings.key_day_tokens),
            "key_money": Decimal(settings.key_day_money),
            "key_sessions": Decimal(settings.key_day_sessions),
        }
        self._most: Mapping[str, Decimal] = {scope: limit for scope, limit in most.items() if limit}

    async def samples(self) -> list[Sample]:
        """Raises LogUnavailable."""
        if not self._most:
            return []
        spent = asdict(await self._limits.day_spent(datetime.now(UTC).date()))
        return [
            Sample("playmolt_budget_spent_ratio", float(spent[scope] / limit), label("scope", scope))
            for scope, limit in self._most.items()
        ]


SERVICE = "relay"
SYNC_SECONDS = 2.0
SWEEP_SECONDS = 60.0
LOOK_SECONDS = 5.0
TELL_SECONDS = 1.0
_read_page = msgspec.json.Decoder(LogPageRequest).decode
_log = log(SERVICE)


class Service:
    def __init__(self, settings: Settings, pool: Pool, bus: JetStream, shards: int) -> None:
        self._pool = pool
        self._bus = bus
        self._log: ShardReader = PostgresLog(pool, shards)
        limit = max(1, settings.stream_events // shards)
        self._projector = Projector(self._log, pool)
        self._withholding = withholding = WithheldReader(PgModeration(pool))
        form_of = PublicForms(rules_of, withholding.withheld).of
        withdrawal = Withdrawal(self._log, PgPlaces(pool), bus, withholding, form_of)
        self._relays = [
            Relay(
                self._log, bus, limit, shard, form_of, on_poll=self._projector.note_end, prepare=withdrawal.prepare,
                renames=lambda: withholding.withheld.revision > 0,
            )
            for shard in range(shards)
        ]  # fmt: skip
        self._notices = NoticeProjector(self._log, PgNotices(pool))
        self._limits = PgLimits(pool)
        self._reports = PgReports(pool)
        self._accounts = PgAccounts(pool)
        self._day_figures = DayFigures(self._limits, settings)
        self._game_counts = PgGameCounts(pool)
        self._looked: list[Sample] = []

    async def listen(self) -> None:
        with suppress(LogUnavailable):  # else the task that follows decisions knows them soon
            await self._withholding.refresh()
        for shard, relay in enumerate(self._relays):
            self._bus.on_change(relay.recheck)
            await self._bus.listen(subjects.committed(shard, len(self._relays)), relay.wake)
        await self._bus.answer(subjects.PROJECTED, self._synced, SERVICE)
        await self._bus.answer(subjects.LAG, self._lag, SERVICE)
        await self._bus.answer(subjects.LOG, self._page, SERVICE)
        await self._bus.serve_history(SERVICE)
        await self._bus.serve_consumers(SERVICE)
        await self._bus.announce(SERVICE)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for relay in self._relays:
                tasks.create_task(relay.run())
            tasks.create_task(self._projector.run())
            tasks.create_task(self._notices.run())
            tasks.create_task(self._withholding.run())
            tasks.create_task(self._sweep())
            tasks.create_task(self._look())
            tasks.create_task(self._tell_feeds())

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self._limits.sweep()
                await self._reports.sweep()
                await self._accounts.sweep_visitors()
            except LogUnavailable as error:
                _log.warning("sweep_waits", detail=str(error)[:300])

    async def _look(self) -> None:
        """Collect the figures of a scrape every few seconds: a scrape itself must not wait for the database."""
        while True:
            try:
                self._looked = [
                    *_seen(await self._lag_of(), await self._game_counts.phases(), await self._game_counts.pending()),
                    *await self._day_figures.samples(),
                ]
            except LogUnavailable as error:
                self._looked = []  # unknown figures are not shown
                _log.warning("look_waits", detail=str(error)[:300])
            await next_tick(LOOK_SECONDS)

    async def _tell_feeds(self) -> None:
        while True:
            self._bus.set_feeds_moving(self.moving)
            await next_tick(TELL_SECONDS)

    async def _synced(self, _: bytes) -> bytes | None:
        if not await self._projector.sync(SYNC_SECONDS):
            return None
        return msgspec.json.encode({"position": sum(self._projector.places)})

    async def _page(self, body: bytes) -> bytes | None:
        """A page of the whole log, which engines cannot read."""
        try:
            asked = _read_page(body)
            after = read_places(asked.after, len(self._relays)) if asked.after else (0,) * len(self._relays)
            rows = await page(self._log, after, min(asked.limit, PAGE_MAX))
        except BadPlaces as error:
            return msgspec.json.encode({"after": str(error)})
        except (msgspec.MsgspecError, LogUnavailable) as error:
            _log.warning("page_waits", detail=str(error)[:300])
            return None
        taken = fitting(msgspec.json.encode(row) for row in rows)
        behind = write_places(places_behind(after, rows[: len(taken)]))
        cursor = behind if len(self._relays) == 1 else f'"{behind}"'
        return b'{"records":[%b],"next_after":%b}' % (b",".join(taken), cursor.encode())

    async def _lag(self, _: bytes) -> bytes:
        return msgspec.json.encode(await self._lag_of())

    async def _lag_of(self) -> Lag:
        """The end of each shard and of its copies; 0 for a stream that is not known yet."""
        shards = []
        for shard, relay in enumerate(self._relays):
            events, spectate = relay.ends()
            end, projected = await self._log.position(shard), self._projector.places[shard]
            shards.append(ShardLag(shard, end, events, spectate, projected))
        return lag_of(shards)

    @property
    def moving(self) -> bool:
        """Whether every shard is copied."""
        return all(relay.moving for relay in self._relays)

    async def ready(self) -> Mapping[str, bool | str]:
        return {
            **await self._pool.parts(),
            **health.nats_parts(await self._bus.fault()),
            "relay": self.moving,
            "projections": self._projector.ready,
        }

    def metrics(self) -> str:
        faults = Counter[str]()
        for relay in self._relays:
            faults.update(relay.chain_faults)  # also those that are 0
        return render(
            [
                Sample("playmolt_database_read_only", int(self._pool.read_only)),
                *(
                    Sample("playmolt_log_chain_faults_total", count, label("game", game))
                    for game, count in faults.items()
                ),
                *(sample for shard, relay in enumerate(self._relays) for sample in self._samples(shard, relay)),
                Sample("playmolt_relay_notices_lag_events", self._notices.behind),
                *self._bus.samples(),
                *self._looked,
            ]
        )

    def _samples(self, shard: int, relay: Relay) -> Iterator[Sample]:
        events, spectate = relay.ends()
        of = _label(shard, len(self._relays))
        for stream, count in relay.rebuilds.items():
            yield Sample("playmolt_feed_mends_total", count, label("stream", stream))
        yield Sample("playmolt_relay_ready", int(relay.moving), of)
        yield Sample("playmolt_relay_events_sequence", events, of)
        yield Sample("playmolt_relay_spectate_sequence", spectate, of)
        yield Sample("playmolt_relay_projections_position", self._projector.places[shard], of)
        yield Sample("playmolt_relay_lag_seconds", relay.lag_seconds, of)
        yield Sample("playmolt_relay_batch_events", relay.batch_sizes, of)


def _label(shard: int, shards: int) -> str:
    """The shard label of a figure; empty if there is one shard."""
    return label("shard", str(shard)) if shards > 1 else ""


def _lags(lag: Lag) -> Iterator[Sample]:
    for each in lag.shards or [ShardLag(0, lag.log, lag.events, lag.spectate, lag.projections)]:
        of = _label(each.shard, len(lag.shards or ()))
        yield Sample("playmolt_relay_log_position", each.log, of)
        for copy, position in (("events", each.events), ("spectate", each.spectate), ("projections", each.projections)):
            labels = ",".join(filter(None, (label("copy", copy), of)))
            yield Sample("playmolt_relay_lag_events", max(0, each.log - position), labels)


_NONE_PENDING: Final = dict.fromkeys((game for games in ENGINES.values() for game in games), 0)
"""Games without pending effects show 0, so that nothing to do differs from a missing metric."""


def _seen(lag: Lag, phases: Mapping[tuple[str, str], int], pending: Mapping[str, int]) -> list[Sample]:
    return [
        *_lags(lag),
        *(
            Sample("playmolt_games", count, f"{label('game', game)},{label('phase', phase)}")
            for (game, phase), count in phases.items()
        ),
        *(
            Sample("playmolt_effects_pending", count, label("game", game))
            for game, count in {**_NONE_PENDING, **pending}.items()
        ),
    ]


async def build(start: Start) -> None:
    """Run until the service has to stop; an unfinished batch is completed or fenced by the next relay."""
    settings, stop = start.settings, start.stopping
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
        shards = await shards_of(pool, settings.log_shards)
        bus = await open_jetstream(settings, SERVICE, shards)
        stack.push_async_callback(bus.close)
        service = Service(settings, pool, bus, shards)
        await service.listen()
        services.append(service)
        settle_garbage()
        _log.info("relay_up", health_port=server.port)
        work = asyncio.create_task(service.run())
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
        work.cancel()
        await asyncio.wait((work,), timeout=5)


if __name__ == "__main__":
    run_service(SERVICE, build, Settings)
