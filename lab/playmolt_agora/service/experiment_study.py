"""An experiment's study from the log: its records gathered, its turns measured, tables and report written, sealed.

Every function that takes a pool raises LogUnavailable.
"""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.pool import Pool
from playmolt_core.log.postgres import log_of
from playmolt_schemas.records import Record
from playmolt_schemas.stored.agora import experiment as experiment_events

from playmolt_agora.bundle.seal import Contents, seal
from playmolt_agora.report import assembly, files
from playmolt_agora.report.assembly import StudyRecords
from playmolt_agora.report.study import StudyData

_PROMPTS_AT_ONCE: Final = 500


class UnknownExperiment(LookupError):
    """The log does not contain this experiment."""


async def gather(pool: Pool, experiment: str) -> StudyRecords:
    """Read an experiment and its runs. Raises UnknownExperiment."""
    stored = await (await log_of(pool)).load(experiment)
    if stored is None or stored.records[0].type != experiment_events.Preregistered.type:
        raise UnknownExperiment(f"experiment {experiment} does not exist in this log")
    opened = dict.fromkeys(
        msgspec.json.decode(record.data)["run"] for record in stored.records if record.type == "run_opened"
    )
    return StudyRecords(stored.records, await loaded(pool, opened))


async def loaded(pool: Pool, runs: Iterable[str]) -> dict[str, Sequence[Record]]:
    """The records of these runs, as far as they are in the log."""
    log = await log_of(pool)
    return {run: stored.records for run in runs if (stored := await log.load(run)) is not None}


async def study_of(gathered: StudyRecords, pool: Pool) -> StudyData:
    """Measure the turns with the texts of the locked folder, in a thread."""
    locked = gathered.lock.folder.files if gathered.lock.folder else ()
    found = await PgBlobs(pool).texts({file.sha256 for file in locked})
    texts = {file.path: found[file.sha256] for file in locked if file.sha256 in found}
    return await asyncio.to_thread(assembly.analysed, gathered, texts)


async def export(gathered: StudyRecords, study: StudyData, pool: Pool, out: Path) -> str:
    """Write the study as a sealed bundle into a folder; gives the hash of its manifest. Raises Unsealable."""
    study = msgspec.structs.replace(study, events_at="bundle")
    asked = {turn.prompt_hash for turn in study.turns} | assembly.prompts_aside(gathered.experiment, gathered.runs)
    wanted, prompts = sorted(asked), dict[str, str]()
    for first in range(0, len(wanted), _PROMPTS_AT_ONCE):
        prompts |= await PgBlobs(pool).texts(wanted[first : first + _PROMPTS_AT_ONCE])
    contents = Contents(
        experiment=gathered.experiment,
        runs=gathered.runs,
        prompts=prompts,
        folder=study.own.texts if study.own else {},
        models=study.models,
        facts={"made_at": study.made_at, "definitions": study.definitions, "stage1": study.stage1,
               "stimuli": gathered.lock.pins.stimuli},
    )  # fmt: skip
    return seal(out, contents, files.write(study, out))
