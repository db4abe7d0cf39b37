"""The tournament engine's process."""

from playmolt_core.db.tables import PgSeasons, PgTables
from playmolt_core.effects.leased_effect import Worker
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.engine.writes.command_handler import Complete
from playmolt_core.ops.service import run_service
from playmolt_core.service.process import HostedGame, ServiceContext, hosting

from playmolt_tournament import effects
from playmolt_tournament.api import CHANGE, END, LIST, OPEN, TournamentApi
from playmolt_tournament.listing import TournamentList
from playmolt_tournament.rules import Tournament
from playmolt_tournament.state import State
from playmolt_tournament.workers.results import GameWatcher
from playmolt_tournament.workers.rounds import RoundWorker
from playmolt_tournament.workers.seasons import SeasonCloser, SeasonWorker
from playmolt_tournament.workers.tables import PackCheck, TableWorker


def build(context: ServiceContext) -> HostedGame[State]:
    if context.tables is None:
        raise RuntimeError("this service does not seat tables")
    rules, seasons = Tournament(), PgSeasons(context.pool)
    workers: dict[str, Worker] = {
        effects.PAIR: RoundWorker(),
        effects.SEAT: TableWorker(context.tables, PgTables(context.pool)),
        effects.WATCH: GameWatcher(context.tables),
        effects.CLOSE_SEASON: SeasonWorker(seasons),
    }
    fetches = {LIST: TournamentList(context.log, context.engines)}

    async def present(tournament: str) -> State | None:
        """The engine is there by the time it is first asked."""
        streams: CommittedReads[State] = context.engines["tournament"].committed
        snapshot = await streams.snapshot(tournament)
        return snapshot.state if snapshot else None

    packs = PackCheck(context.tables, present)
    completes: dict[str, Complete] = {OPEN: packs.opened, CHANGE: packs.changed, END: SeasonCloser(seasons, present)}
    return HostedGame(rules, TournamentApi(rules), workers, fetches, completes)


if __name__ == "__main__":
    run_service("tournament-engine", hosting(build), EngineSettings)
