"""Builds the jury and its panels for the trial engine."""

from functools import lru_cache

import msgspec
from playmolt_core.db.content.packs import PgPacks
from playmolt_core.effects.leased_effect import Worker
from playmolt_core.engine.reads.api_queries import Fetch
from playmolt_core.game.fold import Snapshot
from playmolt_core.llm.models import Models
from playmolt_core.llm.scripted.model import Cast
from playmolt_core.service.process import HostedGame, ServiceContext
from playmolt_schemas.identifiers import SCRIPTED

from playmolt_jury import rules
from playmolt_jury.api import LIST, OPEN, JuryApi
from playmolt_jury.chain import Chain, ChainUnavailable, connect, deployer_key, preload
from playmolt_jury.content.pack_folder import packs
from playmolt_jury.effects import CHAIN_EFFECT, PROBE_EFFECT, TURN_EFFECT
from playmolt_jury.jurors import scripted
from playmolt_jury.panels.hosting import panels
from playmolt_jury.panels.reading import PanelJuries
from playmolt_jury.panels.state import PanelState
from playmolt_jury.persuasion import lexicon
from playmolt_jury.rules import Jury
from playmolt_jury.settings import JurySettings
from playmolt_jury.state import State
from playmolt_jury.workers.chain_worker import ChainWorker
from playmolt_jury.workers.model_worker import ModelWorker, ToolProbeWorker
from playmolt_jury.workers.session_documents import SessionDocuments
from playmolt_jury.workers.uploaded_cases import UploadedCases


class _Parts(msgspec.Struct, frozen=True):
    """What juries and panels of a process share."""

    jury: Jury
    uploaded: UploadedCases
    models: Models


@lru_cache(maxsize=1)
def _parts(context: ServiceContext[JurySettings]) -> _Parts:
    settings = context.settings
    lexicon.prepare()
    jury = rules.jury(packs(settings.packs), settings, kept=settings.hot_games)
    return _Parts(jury, UploadedCases(jury.cases, PgPacks(context.pool)), context.models(scripted.add_to(Cast())))


def build(context: ServiceContext[JurySettings]) -> HostedGame[State]:
    """Raises ValueError for a chain without a deployer key, and for an invalid pack."""
    settings, parts = context.settings, _parts(context)
    jury, uploaded = parts.jury, parts.uploaded
    key = deployer_key(settings.evm_rpc_url, settings.evm_deployer_key)

    async def chain() -> Chain:
        if not settings.evm_rpc_url:
            raise ChainUnavailable("EVM_RPC_URL is not set: no chain to vote on")
        return await connect(settings.evm_rpc_url, key, settings.jury_secret, settings.evm_confirmations)

    async def panel(stream: str) -> Snapshot[PanelState] | None:
        return await context.engines["panel"].committed.snapshot(stream)

    aliases = (SCRIPTED, *context.catalogue.models)
    workers: dict[str, Worker] = {
        TURN_EFFECT: ModelWorker(jury, parts.models, context.texts.put, preload, context.log),
        PROBE_EFFECT: ToolProbeWorker(parts.models, context.texts.put),
        CHAIN_EFFECT: ChainWorker(chain, context.log),
    }
    documents = SessionDocuments(jury, context.log)
    fetches: dict[str, Fetch] = {**documents.fetches(), **uploaded.fetches(), LIST: PanelJuries(panel, context.log)}
    return HostedGame(
        jury, JuryApi(jury, aliases), workers, fetches, {OPEN: uploaded.complete}, uploaded.prepare,
        lambda: uploaded.tidy(settings.pack_sweep_seconds),
    )  # fmt: skip


def build_panels(context: ServiceContext[JurySettings]) -> HostedGame[PanelState]:
    """After `build`, whose juries they play."""
    parts = _parts(context)
    return panels(context, parts.jury, parts.uploaded, parts.models)
