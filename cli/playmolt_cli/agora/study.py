"""An experiment's study, straight from the log."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from playmolt_agora.report.study_files import REPORT
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.postgres import PostgresLog

from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure

Say = Callable[[str], None]


def analyse(experiment: str, out: Path, data: Path | None, say: Say) -> Path:
    """Write turns, tables and report into a folder; gives the report. Raises Failure.

    `experiment` may be a path instead: of a bundle, the folder of an analysis, a `turns.jsonl`.
    """
    if Path(experiment).exists():
        return _of_files(Path(experiment), out, say)
    return asyncio.run(_with_pool(experiment, out, data, say, sealed=False))


def export(experiment: str, out: Path, data: Path | None, say: Say) -> Path:
    """Write the sealed bundle into a folder of its own; gives its manifest. Raises Failure."""
    return asyncio.run(_with_pool(experiment, out, data, say, sealed=True))


def _of_files(source: Path, out: Path, say: Say) -> Path:
    # As below.
    from playmolt_agora.report import experiment_study  # noqa: PLC0415
    from playmolt_agora.report.printing.sources import study_in  # noqa: PLC0415
    from playmolt_agora.report.study import StudyFault  # noqa: PLC0415
    from playmolt_agora.studies.opening import BundleBroken  # noqa: PLC0415

    try:
        found = study_in(source)
    except (BundleBroken, StudyFault) as error:
        raise Failure(str(error)) from error
    out.mkdir(parents=True, exist_ok=True)
    files = experiment_study.write(found, out, printed=True)
    say(f"{len(files)} files in {out}")
    return out / REPORT


async def _with_pool(experiment: str, out: Path, data: Path | None, say: Say, *, sealed: bool) -> Path:
    with database(data) as url:
        pool = await open_pool(url)
        try:
            return await _written(pool, experiment, out, say, sealed=sealed)
        finally:
            await pool.close()


async def _written(pool: Pool, experiment: str, out: Path, say: Say, *, sealed: bool) -> Path:
    # Numeric libraries that take seconds to load, and no other command needs.
    from playmolt_agora.bundle.seal import Unsealable  # noqa: PLC0415
    from playmolt_agora.report import experiment_study  # noqa: PLC0415

    try:
        gathered = await experiment_study.gather(PostgresLog(pool), experiment)
    except experiment_study.UnknownExperiment as error:
        raise Failure(f"{error}: `playmolt log tail --running` shows the streams there are") from error
    if not gathered.runs:
        raise Failure(f"no run of {experiment} has been opened yet: there is nothing to measure")
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    say(f"{len(gathered.runs)} runs read; measuring")
    if not sealed:
        files = experiment_study.write(experiment_study.analysed(gathered), out, printed=True)
        say(f"{len(files)} files in {out}")
        return out / REPORT
    try:
        digest = await experiment_study.export(gathered, PgBlobs(pool), out)
    except Unsealable as error:
        raise Failure(str(error)) from error
    say(f"sealed {digest}")
    return out / "manifest.json"
