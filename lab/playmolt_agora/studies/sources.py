"""A study out of files: a bundle, the folder of an analysis, or turns alone."""

from collections import Counter
from pathlib import Path
from typing import Final

import msgspec
from playmolt_schemas.copying import copied
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.records import Record
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures.analysis import study as measured
from playmolt_agora.measures.data.results import grouped
from playmolt_agora.report import assembly
from playmolt_agora.report.assembly import StudyRecords
from playmolt_agora.report.study import RunNote, StudyData, StudyFault
from playmolt_agora.studies.opening import open as opened

_MANIFEST: Final = "manifest.json"
_TURNS: Final = "turns.jsonl"


def study_in(path: Path) -> StudyData:
    """Measure the study at a path. Raises BundleBroken, FileNotFoundError, StudyFault."""
    if path.suffix == ".jsonl":
        return of_turns(path, seed="0")
    found = opened(path)
    if not (found.folder / _MANIFEST).is_file():
        return of_turns(found.folder / _TURNS, seed=found.seed)
    return assembly.analysed(_gathered(found.folder), _folder(found.folder))


def of_turns(path: Path, seed: str) -> StudyData:
    """A study of turns alone: nothing is known of it that they do not say."""
    with path.open("rb") as lines:
        try:
            turns = [msgspec.json.decode(line, type=TurnRecord) for line in lines]
        except msgspec.DecodeError as error:
            raise StudyFault(f"{path}: not turn records: {error}") from error
    if not turns:
        raise StudyFault(f"{path}: contains no turns")
    found = measured(turns, seed=seed)
    notes = _notes(turns)
    return StudyData(
        experiment=turns[0].experiment,
        name=path.name,
        seed=seed,
        runs=notes,
        turns=turns,
        tables={**found.tables, "runs": assembly.runs_table(notes, turns), "kappa": []},
        provenance=found.provenance,
    )


def _notes(turns: list[TurnRecord]) -> tuple[RunNote, ...]:
    numbers: Counter[str] = Counter()
    notes = []
    for found in grouped(turns, lambda turn: turn.run).values():
        turn, models = found[-1], {each.model for each in found}
        numbers[turn.cell] += 1
        alone = len(models) == 1 and turn.set is None
        notes.append(
            copied(
                RunNote,
                turn,
                number=numbers[turn.cell],
                last=0,
                outcome="",
                scripted=any(map(is_scripted, models)),
                model=turn.model if alone else None,
            )
        )
    return tuple(notes)


def _folder(bundle: Path) -> dict[str, str]:
    """The files of the plan's folder in a bundle, path → text."""
    root = bundle / "folder"
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}


def _gathered(bundle: Path) -> StudyRecords:
    streams = msgspec.json.decode((bundle / _MANIFEST).read_bytes())["streams"]
    found: dict[str, list[Record]] = {}
    for stream in streams:
        with (bundle / stream["file"]).open("rb") as lines:
            found[stream["stream"]] = [msgspec.json.decode(line, type=Record) for line in lines]
    experiment = found.pop(streams[0]["stream"])
    return StudyRecords(experiment, found)
