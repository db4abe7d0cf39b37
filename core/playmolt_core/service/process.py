"""An engine process: wires its games, the event log and the bus. Its main calls `run_service(name, hosting(…))`."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import msgspec
from playmolt_schemas.identifiers import ENGINES, GAME_TYPES, SEALED_TYPES
from typing_extensions import TypeVar

from playmolt_core.bus.engine_bus import EngineBus
from playmolt_core.bus.port import EngineCalls
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.ledger import PgLedger
from playmolt_core.db.logins import seals
from playmolt_core.db.migrate import newest_needed
from playmolt_core.db.moderation import PgModeration
from playmolt_core.db.owners import PgAddresses
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.effects.leased_effect import Worker
from playmolt_core.effects.outages import Outages, beating
from playmolt_core.effects.postgres import PgLeases, PgOutages
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.feed import Feed
from playmolt_core.engine.reads.api_queries import Fetch
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.engine.stream_cache import Prepare
from playmolt_core.engine.writes.command_handler import Complete
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Decider
from playmolt_core.game.engine_module import engines as manifests
from playmolt_core.llm.catalogue import Catalogue, load
from playmolt_core.llm.figures import MODEL_METRICS
from playmolt_core.llm.postgres_limits import PgModelLimits
from playmolt_core.log.erasing import SessionEraser
from playmolt_core.log.postgres import PostgresLog, shards_of
from playmolt_core.log.sealing import UNOPENED, SessionCodec
from playmolt_core.log.withholding import WithheldReader
from playmolt_core.ops import health, telemetry
from playmolt_core.ops.metrics import Sample, render
from playmolt_core.ops.process import done_before, settle_garbage
from playmolt_core.ops.service import Build, Start
from playmolt_core.settings import Settings
from playmolt_core.vault.key_file import InvalidKeyFile, KeyFile
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.vault import SessionTexts, Vault

if TYPE_CHECKING:
    from playmolt_core.llm.models import Models
    from playmolt_core.llm.scripted.model import Cast

_log = telemetry.log("process")
S = TypeVar("S", bound=EngineSettings)
S_co = TypeVar("S_co", bound=EngineSettings, covariant=True, default=EngineSettings)


class ServiceContext(Generic[S_co]):
    """What a game's workers and API are built from. `engines` contains all games of the process once they are built."""

    def __init__(self, settings: S_co, pool: Pool, vault: Vault | None = None, shards: int = 1) -> None:
        self.settings = settings
        self.pool = pool
        self.vault = vault
        self.log = PostgresLog(pool, shards, UNOPENED if vault is None else SessionCodec(vault))
        self.catalogue: Catalogue = load(settings.models, os.environ)
        self.engines: dict[str, Engine] = {}
        self.withholding = WithheldReader(PgModeration(pool))
        self.tables: EngineCalls | None = None
        """Calls to other services' games, for a service whose manifest says that it `seats_tables`."""
        self.speak: Callable[[str, str, bytes], None] = lambda _game, _session, _message: None
        """Sends a message that is not an event to the readers of a session."""
        self._limits = PgModelLimits(pool)

    @property
    def texts(self) -> SessionTexts:
        """The long texts of sessions. Raises RuntimeError in a service without sessions."""
        if self.vault is None:
            raise RuntimeError("this service hosts no sessions and has no seal keys")
        return SessionTexts(PgBlobs(self.pool), self.vault)

    def outages(self, game: str) -> Outages | None:
        """The outages of a game type; None for sessions and runs, which have no deadlines."""
        return PgOutages(self.pool) if game in GAME_TYPES else None

    def models(self, cast: "Cast", *, seed: str = "0") -> "Models":
        """The models of the catalogue, and scripted models with this cast."""
        # Imported lazily: it takes an eighth of a service's start, which games without models do not need.
        from playmolt_core.llm.day_budget import DayBudget  # noqa: PLC0415
        from playmolt_core.llm.models import Models  # noqa: PLC0415

        if self.catalogue.models:
            import playmolt_core.llm.openai.model  # noqa: F401, PLC0415 -- as above
            from playmolt_core.llm.openai.connection import load_client  # noqa: PLC0415 -- as above

            load_client(entry.base_url for entry in self.catalogue.models.values())
        ledger, day = PgLedger(self.pool), DayBudget(self.settings)
        return Models(self.catalogue, self._limits, cast, ledger=ledger, day=day, seed=seed)


T = TypeVar("T")
"""The state of a hosted game."""


class HostedGame(msgspec.Struct, Generic[T], frozen=True):
    """A game of a service: rules, API, workers by kind of effect."""

    decider: Decider[T]
    api: GameApi[T] | None = None
    workers: Mapping[str, Worker] = {}
    fetches: Mapping[str, Fetch] = {}
    """Routes whose answer is fetched from elsewhere, after the API has authorized the caller."""
    completes: Mapping[str, Complete] = {}
    """Routes whose body refers to external data, which is loaded before the rules decide."""
    prepare: Prepare[T] | None = None
    """Loads what the rules need in memory for a stream that was read from the log."""
    upkeep: Callable[[], Coroutine[None, None, None]] | None = None
    """A background task that runs as long as the process serves."""


BuildGame: TypeAlias = Callable[[ServiceContext[S_co]], HostedGame[Any]]


def _engine(hosted: HostedGame[T], context: ServiceContext, bus: EngineBus) -> Engine[T]:
    decider = hosted.decider
    feed = Feed(bus.publish, bus.send, context.log.shards, context.withholding.withheld)
    return Engine(
        decider, context.log, context.settings, feed.committed,
        api=hosted.api, workers=hosted.workers, leases=PgLeases(context.pool), outages=context.outages(decider.game),
        fetches=hosted.fetches, completes=hosted.completes, prepare=hosted.prepare,
        eraser=SessionEraser(context.pool) if decider.game in SEALED_TYPES else None,
        one_address=PgAddresses(context.pool).one_address, withholding=context.withholding,
    )  # fmt: skip


def hosting(*builds: BuildGame[S]) -> Build[S]:
    """Build a service that serves games until it has to stop, and then finishes accepted calls."""

    async def build(start: Start[S]) -> None:
        await _serve(builds, start, _seal_keys(start.name, start.settings))

    return build


async def _serve(builds: tuple[BuildGame[S], ...], start: Start[S], keys: KeyFile | None) -> None:
    service, settings, stopping = start.name, start.settings, start.stopping
    url, role = settings.database_url, settings.database_role
    pool = await open_pool(url, role=role, writes=True, needs=newest_needed())
    vault = Vault(PgKeyRows(pool), keys) if keys else None
    bus = EngineBus(settings, service)
    engines: dict[str, Engine] = {}

    async def ready() -> Mapping[str, bool | str]:
        return {**health.nats_parts(await bus.fault() if engines else "not connected"), **await pool.parts()}

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
        if service in ENGINES and manifests()[service].seats_tables:
            context.tables = await bus.tables()
        MODEL_METRICS.on_prompt_cut = bus.announce_cut_prompts
        await _play(service, builds, context, bus, stopping, server.port)
        await bus.close()
    await server.close()
    await pool.close()


async def _play(
    service: str,
    builds: tuple[BuildGame[S], ...],
    context: ServiceContext[S],
    bus: EngineBus,
    stopping: asyncio.Event,
    health_port: int,
) -> None:
    """Serve all games until the stop signal, then finish accepted calls."""
    hosts: list[HostedGame[Any]] = []
    for build in builds:
        hosted = build(context)
        hosts.append(hosted)
        context.engines[hosted.decider.game] = _engine(hosted, context, bus)
    engines = tuple(context.engines.values())
    for engine in engines:
        engine.start()
    for engine in engines:
        schemas = sorted(kind for kind, _ in engine.decider.events)
        table = engine.receive_table if engine.decider.game in GAME_TYPES else None
        await bus.serve(
            engine.decider.game,
            schemas,
            receive=engine.receive,
            receive_public=engine.receive_public,
            receive_table=table,
        )

    async def responds() -> bool:
        return not await bus.fault()

    settle_garbage()
    _log.info("serving", service=service, games=list(context.engines), health_port=health_port)
    beats = [
        asyncio.create_task(beating(outages, game, responds))
        for game in context.engines
        if (outages := context.outages(game))
    ]
    upkeeps = [asyncio.create_task(hosted.upkeep()) for hosted in hosts if hosted.upkeep]
    upkeeps.append(asyncio.create_task(context.withholding.run()))
    await until_stopped(stopping, [*beats, *upkeeps, *(task for engine in engines for task in engine.tasks)])
    for task in (*beats, *upkeeps):
        task.cancel()
    _log.info("draining", under_way=sum(engine.writes.under_way for engine in engines))
    await bus.withdraw()
    await asyncio.gather(*(engine.stop() for engine in engines))


async def until_stopped(stopping: asyncio.Event, running: Sequence[asyncio.Task[None]]) -> None:
    """Wait for the stop signal. If a task ends by itself, the process exits to be restarted: without its commits an
    engine would look healthy but answer no calls. Callers retry and find what was stored."""
    stopped = asyncio.create_task(stopping.wait())
    done, _ = await asyncio.wait([stopped, *running], return_when=asyncio.FIRST_COMPLETED)
    for task in done - {stopped}:
        error = task.exception()
        _log.error("part_ended", error=type(error).__name__, traceback=telemetry.where(error) if error else "")
        raise SystemExit(1)


def _seal_keys(service: str, settings: Settings) -> KeyFile | None:
    """The keys that seal a service's sessions. If they are missing, the process logs the reason and exits."""
    if not seals(ENGINES.get(service, ())):
        return None
    try:
        return KeyFile(Path(settings.seal_keys)) if settings.seal_keys else _no_file()
    except InvalidKeyFile as error:
        _log.error("no_seal_keys", detail=str(error))
        raise SystemExit(1) from error


def _no_file() -> KeyFile:
    raise InvalidKeyFile("PLAYMOLT_SEAL_KEYS is not set. Set it to the file with the keys that seal sessions")
