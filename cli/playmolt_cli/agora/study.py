"""Analyses, bundles and transcripts of experiments, read from the log."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.moderation import PgModeration
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.game.withholding import readable
from playmolt_core.log.postgres import log_of
from playmolt_core.log.withholding import WithheldReader
from playmolt_schemas.instrument.laboratory import REPORT
from playmolt_schemas.records import Record
from playmolt_schemas.stored.agora.turn import TurnRecord
from playmolt_schemas.text import WITHHELD

from playmolt_cli.games import deciders
from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure

if TYPE_CHECKING:
    from playmolt_agora.report.assembly import StudyRecords
    from playmolt_agora.report.study import StudyData
    from playmolt_agora.report.transcript import Format


T = TypeVar("T")
Report = Callable[[str], None]


class AnalysisResult(msgspec.Struct, frozen=True):
    """Path of the report, and the results of the plan's own measures."""

    report: Path
    measures: tuple[dict[str, Any], ...] = ()


def analyse(experiment: str, out: Path, data: Path | None, say: Report) -> AnalysisResult:
    """Write turns, tables and report into a folder. Raises Failure.

    `experiment` may also be the path of a bundle, an analysis folder or a `turns.jsonl`.
    """
    if Path(experiment).exists():
        return _of_files(Path(experiment), out, say)
    return asyncio.run(_with_pool(experiment, out, data, partial(_analysed, out, say)))


def export(experiment: str, out: Path, data: Path | None, say: Report) -> Path:
    """Write the sealed bundle into a folder; returns the path of its manifest. Raises Failure."""
    return asyncio.run(_with_pool(experiment, out, data, partial(_exported, out, say)))


def _of_files(source: Path, out: Path, say: Report) -> AnalysisResult:
    # As below.
    from playmolt_agora.report.files import write  # noqa: PLC0415
    from playmolt_agora.report.study import StudyFault  # noqa: PLC0415
    from playmolt_agora.studies.opening import BundleBroken  # noqa: PLC0415
    from playmolt_agora.studies.sources import study_in  # noqa: PLC0415

    try:
        found = study_in(source)
    except (BundleBroken, StudyFault) as error:
        raise Failure(str(error)) from error
    out.mkdir(parents=True, exist_ok=True)
    files = write(found, out, printed=True)
    say(f"{len(files)} files in {out}")
    return AnalysisResult(out / REPORT, _measures(found))


def _measures(study: "StudyData") -> tuple[dict[str, object], ...]:
    return tuple(each.described for each in study.own.measures) if study.own else ()


async def _with_pool(
    experiment: str, out: Path, data: Path | None, work: Callable[[Pool, "StudyRecords"], Awaitable[T]]
) -> T:
    with database(data) as url:
        pool = await open_pool(url)
        try:
            gathered = await _gathered(pool, experiment)
            await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
            return await work(pool, gathered)
        finally:
            await pool.close()


async def _gathered(pool: Pool, experiment: str) -> "StudyRecords":
    # Numeric libraries that take seconds to import.
    from playmolt_agora.service import experiment_study  # noqa: PLC0415

    try:
        gathered = await experiment_study.gather(pool, experiment)
    except experiment_study.UnknownExperiment as error:
        raise Failure(f"{error}. `playmolt log tail --running` lists the streams.") from error
    if not gathered.runs:
        raise Failure(f"No run of {experiment} has been opened yet, so there is nothing to analyze.")
    return gathered


async def _analysed(out: Path, say: Report, pool: Pool, gathered: "StudyRecords") -> AnalysisResult:
    from playmolt_agora.report import files  # noqa: PLC0415 -- as above
    from playmolt_agora.service import experiment_study  # noqa: PLC0415 -- as above

    say(f"{len(gathered.runs)} runs read; analyzing")
    study = await experiment_study.study_of(gathered, pool)
    written = files.write(study, out, printed=True)
    say(f"{len(written)} files in {out}")
    return AnalysisResult(out / REPORT, _measures(study))


async def _exported(out: Path, say: Report, pool: Pool, gathered: "StudyRecords") -> Path:
    # As above.
    from playmolt_agora.bundle.seal import Unsealable  # noqa: PLC0415
    from playmolt_agora.service import experiment_study  # noqa: PLC0415

    say(f"{len(gathered.runs)} runs read; analyzing")
    try:
        digest = await experiment_study.export(gathered, await experiment_study.study_of(gathered, pool), pool, out)
    except Unsealable as error:
        raise Failure(str(error)) from error
    say(f"sealed {digest}")
    return out / "manifest.json"


def run_transcript(run: str, agent: str | None, kind: "Format", data: Path | None, *, prompts: bool) -> str:
    """The transcript of a run, or of one agent in it. Raises Failure if either does not exist."""
    return asyncio.run(_transcribed(run, agent, kind, data, prompts=prompts))


async def _transcribed(run: str, agent: str | None, kind: "Format", data: Path | None, *, prompts: bool) -> str:
    from playmolt_agora.report import assembly  # noqa: PLC0415 -- imports numeric libraries
    from playmolt_agora.report.transcript import transcript  # noqa: PLC0415 -- as above

    with database(data) as url:
        pool = await open_pool(url)
        try:
            stored = await (await log_of(pool)).load(run)
            if stored is None or stored.records[0].type != "run_opened":
                raise Failure(
                    f"No run {run} in this log. `playmolt agora status EXPERIMENT` lists the runs of an experiment."
                )
            records = await _as_shown(pool, stored.records)
            turns = assembly.turns_of({run: records})
            kept = [turn for turn in turns if agent in (None, turn.agent)]
            asides = [aside for aside in assembly.asides_of(records) if agent in (None, aside.event.agent)]
            if agent is not None and not kept and not asides:
                there = ", ".join(sorted({turn.agent for turn in turns}))
                raise Failure(f"No agent {agent} took a turn in {run}. Choose from {there}.")
            hashes = {turn.prompt_hash for turn in kept} | {aside.event.prompt_hash for aside in asides}
            shown = await PgBlobs(pool).texts(sorted(hashes)) if prompts else {}
            for text in _hidden(assembly.turns_of({run: stored.records}), turns):
                shown = {name: prompt.replace(text, WITHHELD) for name, prompt in shown.items()}
        finally:
            await pool.close()
    return transcript(kept, kind, title=assembly.run_note(stored.records).label, prompts=shown, asides=asides)


async def _as_shown(pool: Pool, records: Sequence[Record]) -> Sequence[Record]:
    """Records with a placeholder for what the operator hid: a transcript is read by others."""
    withholding = WithheldReader(PgModeration(pool))
    await withholding.refresh()
    rules = deciders()["agora"]
    return [readable(withholding.withheld.record(rules, record)) for record in records]


def _hidden(said: Sequence[TurnRecord], shown: Sequence[TurnRecord]) -> Iterator[str]:
    """What was hidden, as prompts quote it: they are JSON."""
    for turn, other in zip(said, shown, strict=True):
        if turn.content and turn.content != other.content:
            yield turn.content
            yield msgspec.json.encode(turn.content).decode()[1:-1]
