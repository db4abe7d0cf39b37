"""The jury as the trial engine hosts it."""

from playmolt_core.db.blobs import PgBlobs
from playmolt_core.effects.leased_effect import Worker
from playmolt_core.llm.catalogue import SCRIPTED
from playmolt_core.llm.scripted.model import Cast
from playmolt_core.service.process import HostedGame, ServiceContext

from playmolt_jury.api import JuryApi
from playmolt_jury.chain import Chain, ChainAway, connect, deployer_key, preload
from playmolt_jury.content import game
from playmolt_jury.effects import CHAIN_EFFECT, TURN_EFFECT
from playmolt_jury.jurors import scripted
from playmolt_jury.workers.chain_worker import ChainWorker
from playmolt_jury.workers.library import Library
from playmolt_jury.workers.model_worker import ModelWorker


def build(context: ServiceContext) -> HostedGame:
    """Raises ValueError, in one line for the operator, for a chain without a key that pays."""
    settings = context.settings
    jury = game.jury(show_stances=settings.jury_show_stances)
    key = deployer_key(settings.evm_rpc_url, settings.evm_deployer_key)

    async def chain() -> Chain:
        if not settings.evm_rpc_url:
            raise ChainAway("EVM_RPC_URL is not set: there is no chain to vote on")
        return await connect(settings.evm_rpc_url, key, settings.jury_secret)

    aliases = (SCRIPTED, *context.catalogue.models)
    models = context.models(scripted.add_to(Cast()))
    workers: dict[str, Worker] = {
        TURN_EFFECT: ModelWorker(jury, models, PgBlobs(context.pool).put, preload),
        CHAIN_EFFECT: ChainWorker(chain, context.log),
    }
    return HostedGame(jury, JuryApi(jury, aliases), workers, Library(jury, context.log).fetches())
