"""Status of an experiment's runs, read from the log with or without a running `up`."""

import asyncio
from pathlib import Path

import msgspec
from playmolt_core.db.pool import open_pool
from playmolt_core.log.folding import fold
from playmolt_core.log.port import StreamReader
from playmolt_core.log.postgres import log_of
from playmolt_schemas.agora.plan import RunStatus
from playmolt_schemas.identifiers import rfc3339

from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure


class RunPause(msgspec.Struct, frozen=True):
    """Why a run is paused, and until when at the earliest; null if the pause has no time limit."""

    reason: str
    until: str | None


class RunStatusLine(msgspec.Struct, frozen=True):
    run: str
    status: RunStatus
    paused: RunPause | None


class ExperimentStatus(msgspec.Struct, frozen=True):
    """What `playmolt agora status` prints."""

    runs: tuple[RunStatusLine, ...]


def read_status(experiment: str, data: Path | None) -> ExperimentStatus:
    """Read an experiment and its open runs. Raises Failure."""
    return asyncio.run(_read(experiment, data))


async def _read(experiment: str, data: Path | None) -> ExperimentStatus:
    with database(data) as url:
        pool = await open_pool(url)
        try:
            return await of_log(await log_of(pool), experiment)
        finally:
            await pool.close()


async def of_log(log: StreamReader, experiment: str) -> ExperimentStatus:
    """As `read_status`, from an open log. Also raises LogUnavailable."""
    from playmolt_agora_runner.experiment.rules import Experiment  # noqa: PLC0415 -- slow import

    stored = await log.facts(experiment) if experiment.startswith("experiment-") else None
    if stored is None:
        raise Failure(f"No experiment {experiment} in this log. `playmolt log tail --running` lists the streams.")
    state = fold(Experiment(), experiment, stored)
    return ExperimentStatus(tuple([await _run(log, run.run, run.status) for run in state.runs]))


async def _run(log: StreamReader, run: str, status: RunStatus) -> RunStatusLine:
    from playmolt_agora_runner.run.rules import Agora  # noqa: PLC0415 -- as above

    stored = await log.facts(run) if status == "open" else None
    pause = fold(Agora(), run, stored).pause if stored else None
    if pause is None:
        return RunStatusLine(run, status, None)
    return RunStatusLine(
        run, status, RunPause(pause.detail or pause.code, rfc3339(pause.until) if pause.until else None)
    )
