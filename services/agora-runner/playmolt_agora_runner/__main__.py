"""The Agora runner's process."""

from playmolt_core.db.blobs import PgBlobs, PromptStore
from playmolt_core.db.jobs import PgJobs
from playmolt_core.db.ledger import PgLedger
from playmolt_core.effects.leased_effect import LeasedEffect, Worker
from playmolt_core.engine.reads.api_queries import Fetch
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.llm.batch_calls import BatchCalls
from playmolt_core.llm.durable_call import DurableCalls
from playmolt_core.ops.service import run_service
from playmolt_core.service.process import HostedGame, ServiceContext, hosting
from playmolt_schemas.instrument import lexicon
from playmolt_schemas.routes import agora as routes
from playmolt_schemas.routes import sharing

from playmolt_agora_runner.calls.batch_worker import BatchWorker
from playmolt_agora_runner.coding.judge_model import JudgeModel
from playmolt_agora_runner.coding.judge_worker import JudgeWorker
from playmolt_agora_runner.experiment import effects as experiment_effects
from playmolt_agora_runner.experiment.api import ExperimentApi
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.run import effects as run_effects
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.workers.files import PlanFiles
from playmolt_agora_runner.workers.laboratory import Laboratory
from playmolt_agora_runner.workers.library import Library
from playmolt_agora_runner.workers.model_worker import LoadBalancer, ModelWorker
from playmolt_agora_runner.workers.plan_examiner import PlanExaminer
from playmolt_agora_runner.workers.recent_experiments import RecentExperiments
from playmolt_agora_runner.workers.run_workers import ForkCheck, LookWorker, PauseWorker, PcsLook, RunOpener, RunWatcher
from playmolt_agora_runner.workers.turn_model import TurnModel
from playmolt_agora_runner.world.state import RunState


def runs(context: ServiceContext) -> HostedGame[RunState]:
    """The experiments' engine is there by the time a worker is first asked."""
    blobs, recent = PgBlobs(context.pool), RecentExperiments(context.engines)
    models = context.models(residents.cast())
    calls = DurableCalls(models, PgLedger(context.pool), blobs, BatchCalls(context.pool))
    asking, files = TurnModel(calls, context.catalogue, blobs, recent), PlanFiles(blobs)
    balancer = LoadBalancer()

    async def take_turns(leased: LeasedEffect[run_effects.Payload, RunState]) -> None:
        # After a loss the lease counts what may have been paid for: giving it back would forget that.
        if leased.attempt == 1 and balancer.leaves_to_others(leased.stream):
            return
        with balancer.hold(leased.stream):
            submit = context.engines["experiment"].submit
            await ModelWorker(leased, context.log, asking, recent, submit, context.catalogue, files).work()

    workers: dict[str, Worker] = {
        run_effects.TURN: take_turns,
        run_effects.INTERVIEW: take_turns,
        run_effects.REPORT: take_turns,
        run_effects.RESUME: PauseWorker(recent),
    }
    return HostedGame(Agora(), None, workers)


def experiment(context: ServiceContext) -> HostedGame[State]:
    blobs = PgBlobs(context.pool)
    laboratory = Laboratory(context.settings.laboratory_url, context.settings.laboratory_key)
    models = context.models(residents.cast())
    batch_calls = BatchCalls(context.pool)
    calls = DurableCalls(models, PgLedger(context.pool), blobs, batch_calls)
    judge = JudgeModel(calls, models, context.catalogue, PromptStore(blobs))
    workers: dict[str, Worker] = {
        experiment_effects.BATCHES: BatchWorker(batch_calls, models),
        experiment_effects.JUDGE: JudgeWorker(context.log, judge, laboratory.thoughts),
        experiment_effects.OPEN: RunOpener(context.log, context.engines),
        experiment_effects.LOOK: LookWorker(laboratory),
        experiment_effects.WATCH: RunWatcher(context.log, context.engines),
    }
    library, files = Library(laboratory), PlanFiles(blobs)
    examiner = PlanExaminer(PgJobs(context.pool), files, context.settings.models, context.engines)
    fetches: dict[str, Fetch] = {
        routes.REPORT.name: library,
        routes.BUNDLE.name: library,
        routes.PUT_FILE.name: files.put,
        routes.PLAN.name: examiner.look,
        sharing.PAGE: library.shared,
    }
    return HostedGame(
        Experiment(),
        ExperimentApi(context.catalogue),
        workers,
        fetches,
        {
            routes.OPEN.name: examiner.complete,
            routes.LOOK.name: PcsLook(laboratory, context.engines),
            routes.FORK.name: ForkCheck(context.log),
        },
        upkeep=examiner.run,
    )


def preload() -> None:
    """Read the texts, worlds and lexicons."""
    Agora()
    lexicon.compile_all()


if __name__ == "__main__":
    run_service("agora-runner", hosting(runs, experiment), EngineSettings)
