"""Builds the jury for the trial engine."""

from playmolt_core.db.content.packs import PgPacks
from playmolt_core.effects.leased_effect import Worker
from playmolt_core.llm.catalogue import SCRIPTED
from playmolt_core.llm.scripted.model import Cast
from playmolt_core.service.process import HostedGame, ServiceContext

from playmolt_jury import rules
from playmolt_jury.api import OPEN, JuryApi
from playmolt_jury.chain import Chain, ChainUnavailable, connect, deployer_key, preload
from playmolt_jury.content.pack_folder import packs
from playmolt_jury.effects import CHAIN_EFFECT, TURN_EFFECT
from playmolt_jury.jurors import scripted
from playmolt_jury.persuasion import lexicon
from playmolt_jury.settings import JurySettings
from playmolt_jury.state import State
from playmolt_jury.workers.chain_worker import ChainWorker
from playmolt_jury.workers.model_worker import ModelWorker
from playmolt_jury.workers.session_documents import SessionDocuments
from playmolt_jury.workers.uploaded_cases import UploadedCases


def build(context: ServiceContext[JurySettings]) -> HostedGame[State]:
    """Raises ValueError for a chain without a deployer key, and for an invalid pack."""
    settings = context.settings
    lexicon.prepare()
    jury = rules.jury(packs(settings.packs), settings, kept=settings.hot_games)
    uploaded = UploadedCases(jury.cases, PgPacks(context.pool))
    key = deployer_key(settings.evm_rpc_url, settings.evm_deployer_key)

    async def chain() -> Chain:
        if not settings.evm_rpc_url:
            raise ChainUnavailable("EVM_RPC_URL is not set: no chain to vote on")
        return await connect(settings.evm_rpc_url, key, settings.jury_secret, settings.evm_confirmations)

    aliases = (SCRIPTED, *context.catalogue.models)
    models = context.models(scripted.add_to(Cast()))
    workers: dict[str, Worker] = {
        TURN_EFFECT: ModelWorker(jury, models, context.texts.put, preload),
        CHAIN_EFFECT: ChainWorker(chain, context.log),
    }
    fetches = {**SessionDocuments(jury, context.log).fetches(), **uploaded.fetches()}
    return HostedGame(
        jury, JuryApi(jury, aliases), workers, fetches, {OPEN: uploaded.complete}, uploaded.prepare,
        lambda: uploaded.tidy(settings.pack_sweep_seconds),
    )  # fmt: skip
