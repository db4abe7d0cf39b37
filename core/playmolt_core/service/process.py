"""A service process: its games, the event log and the bus, wired once. A service's main says `run(service, …)`."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import uvloop
from playmolt_schemas.identifiers import ENGINES, GAME_TYPES, SEALED_TYPES

from playmolt_core.bus.engine_bus import EngineBus
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.budgets import PgBudgets
from playmolt_core.db.logins import seals
from playmolt_core.db.migrate import newest_needed
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.effects.leased_effect import Worker
from playmolt_core.effects.outages import Outages, beating
from playmolt_core.effects.postgres import PgLeases, PgOutages
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.reads.api_queries import Fetch
from playmolt_core.engine.stream_cache import Prepare
from playmolt_core.engine.writes.body_completer import Complete
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Decider
from playmolt_core.llm.catalogue import Catalogue, load
from playmolt_core.llm.figures import MODEL_METRICS
from playmolt_core.llm.postgres_limits import PgModelLimits
from playmolt_core.log.erasing import SessionEraser
from playmolt_core.log.postgres import PostgresLog, shards_of
from playmolt_core.log.sealed_log import SealedLog
from playmolt_core.ops import health, telemetry, tracing
from playmolt_core.ops.metrics import Sample, render
from playmolt_core.ops.process import done_before, settle_garbage
from playmolt_core.settings import OtherShards, Settings, from_environment
from playmolt_core.vault.key_file import InvalidKeyFile, KeyFile
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.vault import SessionTexts, Vault

if TYPE_CHECKING:
    from playmolt_core.llm.models import Models
    from playmolt_core.llm.scripted.model import Cast

_log = telemetry.log("process")


class ServiceContext:
    """What a game's workers and api may be built of. `engines` holds every game of the process once all are built."""

    def __init__(self, settings: Settings, pool: Pool, vault: Vault | None = None, shards: int = 1) -> None:
        self.settings = settings
        self.pool = pool
        self.vault = vault
        self.log = PostgresLog(pool, shards) if vault is None else SealedLog(pool, vault, shards)
        self.catalogue: Catalogue = load(settings.models, os.environ)
        self.engines: dict[str, Engine] = {}
        self.speak: Callable[[str, str, bytes], None] = lambda _game, _session, _message: None
        """Tells the readers of a session what is no event."""
        self._limits = PgModelLimits(pool)

    @property
    def texts(self) -> SessionTexts:
        """The long texts of sessions. Raises RuntimeError in a service that hosts none."""
        if self.vault is None:
            raise RuntimeError("this service hosts no sessions, and has no keys to seal with")
        return SessionTexts(PgBlobs(self.pool), self.vault)

    def outages(self, game: str) -> Outages | None:
        """When no actions of a type could be taken; None where none are: a session's owner has no deadline."""
        return PgOutages(self.pool) if game in GAME_TYPES else None

    def models(self, cast: "Cast", *, seed: str = "0") -> "Models":
        """The models there are, the scripted ones played by a cast."""
        # An eighth of a service's start, which games without models need not pay.
        from playmolt_core.llm.day_budget import DayBudget  # noqa: PLC0415
        from playmolt_core.llm.models import Models  # noqa: PLC0415

        day = DayBudget(PgBudgets(self.pool), self.settings)
        return Models(self.catalogue, self._limits, cast, day=day, seed=seed)


class HostedGame(msgspec.Struct, frozen=True):
    """A game as a service hosts it: rules, calls of its own, workers by kind of effect."""

    decider: Any
    api: Any = None
    workers: Mapping[str, Worker] = {}
    fetches: Mapping[str, Fetch] = {}
    """Routes whose answer has to be fetched from somewhere, once the api lets the caller have it."""
    completes: Mapping[str, Complete] = {}
    """Routes whose body names what lies elsewhere, and has to be read before rules can decide on it."""
    prepare: Prepare | None = None
    """Fetches what rules need in memory for a stream that was read from the log."""
    upkeep: Callable[[], Coroutine[Any, Any, None]] | None = None
    """Goes on beside the calls for as long as the process serves."""


Build = Callable[[ServiceContext], HostedGame]


def _engine(hosted: HostedGame, context: ServiceContext, bus: EngineBus) -> Engine:
    decider: Decider[Any] = hosted.decider
    api: GameApi[Any] | None = hosted.api
    return Engine(
        decider, context.log, context.settings, bus.notify_committed,
        api=api, workers=hosted.workers, leases=PgLeases(context.pool), outages=context.outages(decider.game),
        fetches=hosted.fetches, completes=hosted.completes, prepare=hosted.prepare,
        eraser=SessionEraser(context.pool) if decider.game in SEALED_TYPES else None,
    )  # fmt: skip


async def _serve(service: str, builds: tuple[Build, ...], settings: Settings, keys: KeyFile | None) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopping.set)
    url, role = settings.database_url, settings.database_role
    pool = await open_pool(url, role=role, writes=True, needs=newest_needed())
    vault = Vault(PgKeyRows(pool), keys) if keys else None
    bus = EngineBus(settings, service)
    engines: dict[str, Engine] = {}

    async def ready() -> Mapping[str, bool | str]:
        nats = bool(engines) and await bus.responds()
        return {"nats": nats, **await pool.parts()}

    def metrics() -> str:
        own = [sample for engine in engines.values() for sample in engine.samples()]
        database = Sample("playmolt_database_read_only", int(pool.read_only))
        age = [Sample("playmolt_seal_key_age_seconds", keys.age_seconds())] if keys else ()
        return render([*own, database, *age, *bus.samples(), *MODEL_METRICS.samples()])

    server = await health.serve(settings.health_port, ready, metrics, settings.host)
    if await done_before(stopping, pool.migrated()):
        shards = await shards_of(pool, settings.log_shards)
        context = ServiceContext(settings, pool, vault, shards)
        context.engines, context.speak = engines, bus.speak
        await bus.open(shards)
        MODEL_METRICS.on_prompt_cut = bus.announce_cut_prompts
        await _play(service, builds, context, bus, stopping, server.port)
        await bus.close()
    await server.close()
    await pool.close()


async def _play(
    service: str,
    builds: tuple[Build, ...],
    context: ServiceContext,
    bus: EngineBus,
    stopping: asyncio.Event,
    health_port: int,
) -> None:
    """Serve every game until the word to stop, then finish what was taken."""
    hosts: list[HostedGame] = []
    for build in builds:
        hosted = build(context)
        hosts.append(hosted)
        context.engines[hosted.decider.game] = _engine(hosted, context, bus)
    engines = tuple(context.engines.values())
    for engine in engines:
        engine.start()
    for engine in engines:
        schemas = sorted(kind for kind, _ in engine.decider.events)
        await bus.serve(engine.decider.game, schemas, receive=engine.receive, receive_public=engine.receive_public)
    settle_garbage()
    _log.info("serving", service=service, games=list(context.engines), health_port=health_port)
    beats = [
        asyncio.create_task(beating(outages, game, bus.responds))
        for game in context.engines
        if (outages := context.outages(game))
    ]
    upkeeps = [asyncio.create_task(hosted.upkeep()) for hosted in hosts if hosted.upkeep]
    await until_stopped(stopping, [*beats, *upkeeps, *(task for engine in engines for task in engine.tasks)])
    for task in (*beats, *upkeeps):
        task.cancel()
    _log.info("draining", under_way=sum(engine.writes.under_way for engine in engines))
    await bus.withdraw()
    await asyncio.gather(*(engine.stop() for engine in engines))


async def until_stopped(stopping: asyncio.Event, running: Sequence[asyncio.Task[None]]) -> None:
    """Wait for the word to stop. A part that ends by itself ends the process, to be started anew: without its commits
    an engine would look well and answer nobody. Its callers ask again and find what was stored."""
    stopped = asyncio.create_task(stopping.wait())
    done, _ = await asyncio.wait([stopped, *running], return_when=asyncio.FIRST_COMPLETED)
    for task in done - {stopped}:
        error = task.exception()
        _log.error("part_ended", error=type(error).__name__, traceback=telemetry.where(error) if error else "")
        raise SystemExit(1)


def _seal_keys(service: str, settings: Settings) -> KeyFile | None:
    """What the sessions of a service are sealed with; without it the process ends, and says why."""
    if not seals(ENGINES.get(service, ())):
        return None
    try:
        return KeyFile(Path(settings.seal_keys)) if settings.seal_keys else _no_file()
    except InvalidKeyFile as error:
        _log.error("no_seal_keys", detail=str(error))
        raise SystemExit(1) from error


def _no_file() -> KeyFile:
    raise InvalidKeyFile("PLAYMOLT_SEAL_KEYS names no file: sessions are sealed with the keys in it")


def run(service: str, *builds: Build) -> None:
    """Serve games until SIGTERM, then finish what was taken. Settings come from the environment."""
    settings = from_environment()
    telemetry.configure(service, settings.log_level)
    tracing.configure(service)
    keys = _seal_keys(service, settings)
    try:
        uvloop.run(_serve(service, builds, settings, keys))
    except OtherShards as error:
        _log.error("other_shards", detail=str(error))
        raise SystemExit(1) from error
    finally:
        tracing.close()
