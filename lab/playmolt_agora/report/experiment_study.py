"""An experiment's study from the log: its records gathered, its turns measured, tables and report written, sealed."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec
from playmolt_schemas.records import Record
from playmolt_schemas.stored.agora import experiment as experiment_events

from playmolt_agora.bundle.seal import Contents, seal
from playmolt_agora.report import assembly, files
from playmolt_agora.report.assembly import StudyRecords
from playmolt_agora.report.study import StudyData

_PROMPTS_AT_ONCE: Final = 500


class LoadedStream(Protocol):
    """A stream of the log."""

    @property
    def records(self) -> Sequence[Record]: ...


class StreamReader(Protocol):
    """The log, as a study reads it."""

    async def load(self, stream: str) -> LoadedStream | None:
        """All records of a stream; None for an unknown one."""
        ...


class Texts(Protocol):
    """The texts that events name by hash."""

    async def texts(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Hash → text of those that are there."""
        ...


class UnknownExperiment(LookupError):
    """The log does not contain this experiment."""


async def gather(log: StreamReader, experiment: str) -> StudyRecords:
    """Read an experiment and its runs. Raises UnknownExperiment and LogUnavailable."""
    stored = await log.load(experiment)
    if stored is None or stored.records[0].type != experiment_events.Preregistered.type:
        raise UnknownExperiment(f"experiment {experiment} does not exist in this log")
    opened = dict.fromkeys(
        msgspec.json.decode(record.data)["run"] for record in stored.records if record.type == "run_opened"
    )
    return StudyRecords(stored.records, await loaded(log, opened))


async def loaded(log: StreamReader, runs: Iterable[str]) -> dict[str, Sequence[Record]]:
    """The records of these runs, as far as they are in the log. Raises LogUnavailable."""
    return {run: stored.records for run in runs if (stored := await log.load(run)) is not None}


async def folder_texts(gathered: StudyRecords, blobs: Texts) -> dict[str, str]:
    """The locked files of the plan's folder, path → text. Raises LogUnavailable."""
    folder = gathered.lock.folder
    if not folder:
        return {}
    found = await blobs.texts({file.sha256 for file in folder.files})
    return {file.path: found[file.sha256] for file in folder.files if file.sha256 in found}


async def study_of(gathered: StudyRecords, blobs: Texts) -> StudyData:
    """Measure the turns with the texts of the locked folder, in a thread. Raises LogUnavailable."""
    texts = await folder_texts(gathered, blobs)
    return await asyncio.to_thread(assembly.analysed, gathered, texts)


async def export(gathered: StudyRecords, study: StudyData, blobs: Texts, out: Path) -> str:
    """Write the study as a sealed bundle into a folder; gives the hash of its manifest.

    Raises Unsealable and LogUnavailable.
    """
    study = msgspec.structs.replace(study, events_at="bundle")
    asked = {turn.prompt_hash for turn in study.turns} | assembly.prompts_aside(gathered.experiment, gathered.runs)
    contents = Contents(
        experiment=gathered.experiment,
        runs=gathered.runs,
        prompts=await _prompts(blobs, asked),
        folder=study.own.texts if study.own else {},
        models=study.models,
        facts={"made_at": study.made_at, "definitions": study.definitions, "stage1": study.stage1,
               "stimuli": gathered.lock.pins.stimuli},
    )  # fmt: skip
    return seal(out, contents, files.write(study, out))


async def _prompts(blobs: Texts, hashes: set[str]) -> dict[str, str]:
    wanted = sorted(hashes)
    found: dict[str, str] = {}
    for first in range(0, len(wanted), _PROMPTS_AT_ONCE):
        found |= await blobs.texts(wanted[first : first + _PROMPTS_AT_ONCE])
    return found
