"""An experiment's study from the log: its records gathered, its turns measured, tables and report written, sealed.

`python -m playmolt_agora.report.experiment_study EXPERIMENT OUT` does all of it, beside a runner whose
loop must not wait for it.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.pool import open_pool
from playmolt_core.log.port import StreamReader
from playmolt_core.log.postgres import log_of
from playmolt_core.settings import from_environment
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import Record
from playmolt_schemas.stored.agora import experiment as experiment_events
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.bundle.seal import Contents, packed, seal
from playmolt_agora.measures.analysis import study as measured
from playmolt_agora.own_measures import results
from playmolt_agora.own_measures.results import OwnContent
from playmolt_agora.plan import stage1_import
from playmolt_agora.report import BUNDLE, REPORT, STUDY, assembly, page
from playmolt_agora.report.page import gallery
from playmolt_agora.report.printing import formats
from playmolt_agora.report.study import Links, StudyData
from playmolt_agora.report.tables_io import write_tables

_PROMPTS_AT_ONCE: Final = 500


class UnknownExperiment(LookupError):
    """The log does not contain this experiment."""


class StudyRecords(msgspec.Struct, frozen=True):
    """All records of an experiment and its opened runs; each stream is read once."""

    experiment: Sequence[Record]
    runs: Mapping[str, Sequence[Record]]

    @property
    def preregistered(self) -> experiment_events.Preregistered:
        return msgspec.json.decode(self.experiment[0].data, type=experiment_events.Preregistered)


async def gather(log: StreamReader, experiment: str) -> StudyRecords:
    """Read an experiment and its runs. Raises UnknownExperiment and LogUnavailable."""
    stored = await log.load(experiment)
    if stored is None or stored.records[0].type != experiment_events.Preregistered.type:
        raise UnknownExperiment(f"experiment {experiment} does not exist in this log")
    opened = dict.fromkeys(
        msgspec.json.decode(record.data)["run"] for record in stored.records if record.type == "run_opened"
    )
    runs = {}
    for run in opened:
        found = await log.load(run)
        if found is not None:
            runs[run] = found.records
    return StudyRecords(stored.records, runs)


async def folder_texts(gathered: StudyRecords, blobs: PgBlobs) -> dict[str, str]:
    """The locked files of the plan's folder, path → text. Raises LogUnavailable."""
    folder = gathered.preregistered.folder
    if not folder:
        return {}
    found = await blobs.texts({file.sha256 for file in folder.files})
    return {file.path: found[file.sha256] for file in folder.files if file.sha256 in found}


def analysed(gathered: StudyRecords, links: Links | None = None, texts: Mapping[str, str] | None = None) -> StudyData:
    """Measure the turns, also by the plan's own measures; takes seconds of processor time.

    `texts` are those of the locked folder.
    """
    turns = assembly.turns_of(gathered.runs)
    analysis = measured(
        turns,
        ginis=assembly.ginis(gathered.runs),
        seed=gathered.preregistered.seed,
        stage1_import=stage1_import.rows(gathered.preregistered.plan),
        events=assembly.event_ranges(gathered.runs),
    )
    found = assembly.study_of(
        gathered.experiment, gathered.runs, analysis, made_at=rfc3339(datetime.now(UTC)), links=links
    )
    return msgspec.structs.replace(found, own=_own(gathered, texts or {}, turns))


def _own(gathered: StudyRecords, texts: Mapping[str, str], turns: Sequence[TurnRecord]) -> OwnContent | None:
    preregistered = gathered.preregistered
    if not preregistered.folder:
        return None
    return OwnContent(
        folder=preregistered.folder,
        rooms=preregistered.rooms,
        texts=texts,
        measures=results.of(texts, turns),
    )


def write(study: StudyData, out: Path, *, printed: bool = False) -> tuple[Path, ...]:
    """Write turns.jsonl, every table as CSV and Parquet, figures, study.json and report.html into a folder.

    With `printed` figures are written as PDF and PNG, too: that takes half a second each.
    """
    tables = {**study.tables, **study.further, **study.unexcluded}
    files = write_tables(tables, study.turns, out, study.provenance)
    own = results.write(study.own.measures, out) if study.own else ()
    report, described = out / REPORT, out / STUDY
    report.write_text(page.render(study), encoding="utf-8")
    described.write_bytes(msgspec.json.format(msgspec.json.encode(study.described), indent=1))
    return (*files, *own, *formats.write(study, gallery(study), out, printed=printed), described, report)


async def export(gathered: StudyRecords, blobs: PgBlobs, out: Path) -> str:
    """Write a sealed bundle into a folder; gives the hash of its manifest. Raises Unsealable and LogUnavailable."""
    texts = await folder_texts(gathered, blobs)
    study = await asyncio.to_thread(analysed, gathered, Links(place="bundle"), texts)
    asked = {turn.prompt_hash for turn in study.turns} | assembly.judges_prompts(gathered.experiment)
    prompts = await _prompts(blobs, asked)
    files = write(study, out)
    contents = Contents(
        experiment=gathered.experiment,
        runs=gathered.runs,
        prompts=prompts,
        folder=texts,
        models=study.models,
        made_at=study.made_at,
        definitions=study.definitions,
        stage1=study.stage1,
        stimuli=gathered.preregistered.pins.stimuli,
    )
    return seal(out, contents, files)


async def _prompts(blobs: PgBlobs, hashes: set[str]) -> dict[str, str]:
    wanted = sorted(hashes)
    found: dict[str, str] = {}
    for first in range(0, len(wanted), _PROMPTS_AT_ONCE):
        found |= await blobs.texts(wanted[first : first + _PROMPTS_AT_ONCE])
    return found


async def _main(experiment: str, out: Path) -> None:
    settings = from_environment()
    pool = await open_pool(settings.database_url, role=settings.database_role)
    try:
        gathered = await gather(await log_of(pool), experiment)
        blobs = PgBlobs(pool)
        write(analysed(gathered, texts=await folder_texts(gathered, blobs)), out)
        bundle = out / "bundle"
        await export(gathered, blobs, bundle)
        packed(bundle, out / BUNDLE)
    finally:
        await pool.close()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2])))
