"""An experiment's study from the log: its records gathered, its turns measured, tables and report written, sealed."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import msgspec
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.instrument import baseline_file
from playmolt_schemas.instrument.baseline_file import Baseline
from playmolt_schemas.records import Record
from playmolt_schemas.stored.agora import experiment as experiment_events
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.bundle.seal import Contents, seal
from playmolt_agora.measures.analysis import study as measured
from playmolt_agora.own_measures import results
from playmolt_agora.own_measures.results import OwnContent
from playmolt_agora.report import assembly, files
from playmolt_agora.report.study import Links, StudyData

_PROMPTS_AT_ONCE: Final = 500
_BASELINES: Final = "baselines/"


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


async def folder_texts(gathered: StudyRecords, blobs: Texts) -> dict[str, str]:
    """The locked files of the plan's folder, path → text. Raises LogUnavailable."""
    folder = gathered.preregistered.folder
    if not folder:
        return {}
    found = await blobs.texts({file.sha256 for file in folder.files})
    return {file.path: found[file.sha256] for file in folder.files if file.sha256 in found}


def analysed(gathered: StudyRecords, texts: Mapping[str, str] | None = None) -> StudyData:
    """Measure the turns, also by the plan's own measures; takes seconds of processor time.

    `texts` are those of the locked folder.
    """
    turns = assembly.turns_of(gathered.runs)
    analysis = measured(
        turns,
        ginis=assembly.ginis(gathered.runs),
        seed=gathered.preregistered.seed,
        stage1_import=gathered.preregistered.plan.stage1_rows,
        events=assembly.event_ranges(gathered.runs),
    )
    found = assembly.study_of(
        gathered.experiment,
        gathered.runs,
        analysis,
        made_at=rfc3339(datetime.now(UTC)),
        baselines=_baselines(gathered, texts or {}),
    )
    return msgspec.structs.replace(found, own=_own(gathered, texts or {}, turns))


def _baselines(gathered: StudyRecords, texts: Mapping[str, str]) -> tuple[Baseline, ...]:
    """The answers of people in the locked folder, which were read without a fault before the lock."""
    terms = baseline_file.terms_of(gathered.preregistered.plan)
    named = {path: text for path, text in texts.items() if path.startswith(_BASELINES)}
    found = (
        baseline_file.read(path.removeprefix(_BASELINES).removesuffix(".csv"), text, terms)[0]
        for path, text in sorted(named.items())
    )
    return tuple(each for each in found if each is not None)


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


async def study_of(gathered: StudyRecords, blobs: Texts) -> StudyData:
    """Measure the turns with the texts of the locked folder, in a thread. Raises LogUnavailable."""
    texts = await folder_texts(gathered, blobs)
    return await asyncio.to_thread(analysed, gathered, texts=texts)


async def export(gathered: StudyRecords, study: StudyData, blobs: Texts, out: Path) -> str:
    """Write the study as a sealed bundle into a folder; gives the hash of its manifest.

    Raises Unsealable and LogUnavailable.
    """
    study = msgspec.structs.replace(study, links=Links(place="bundle"))
    asked = {turn.prompt_hash for turn in study.turns} | assembly.prompts_aside(gathered.experiment, gathered.runs)
    prompts = await _prompts(blobs, asked)
    written = files.write(study, out)
    contents = Contents(
        experiment=gathered.experiment,
        runs=gathered.runs,
        prompts=prompts,
        folder=study.own.texts if study.own else {},
        models=study.models,
        made_at=study.made_at,
        definitions=study.definitions,
        stage1=study.stage1,
        stimuli=gathered.preregistered.pins.stimuli,
    )
    return seal(out, contents, written)


async def _prompts(blobs: Texts, hashes: set[str]) -> dict[str, str]:
    wanted = sorted(hashes)
    found: dict[str, str] = {}
    for first in range(0, len(wanted), _PROMPTS_AT_ONCE):
        found |= await blobs.texts(wanted[first : first + _PROMPTS_AT_ONCE])
    return found
