"""From an experiment's records to a study: the facts of the log and the results of the measures."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar, overload

import msgspec
from playmolt_schemas.agora.plan import CostRow
from playmolt_schemas.instrument import baseline_file
from playmolt_schemas.instrument.baseline_file import Baseline
from playmolt_schemas.instrument.definitions import arm_of
from playmolt_schemas.instrument.laboratory import key_of
from playmolt_schemas.instrument.usage import by_model, cost_lines, with_call
from playmolt_schemas.records import Record
from playmolt_schemas.stored.agora import experiment as events
from playmolt_schemas.stored.agora import run as run_events
from playmolt_schemas.stored.agora.experiment import ANSWERED, JudgeCoded, Preregistered, RunFinished, RunProgressed
from playmolt_schemas.stored.agora.plan import Noticed, Spent
from playmolt_schemas.stored.agora.run import AgentActed, Interviewed, RunOpened, TurnFailed
from playmolt_schemas.stored.agora.turn import TurnRecord
from playmolt_schemas.stored.event import Event

from playmolt_agora.bundle.seal import ModelNote
from playmolt_agora.coding.thoughts import codable
from playmolt_agora.measures import baselines as compared
from playmolt_agora.measures.agreement import CodedThought, Place, kappa
from playmolt_agora.measures.analysis import Analysis, provenance_of
from playmolt_agora.measures.data.results import Result, merged, table
from playmolt_agora.measures.data.tables import INTERVIEWS, KAPPA
from playmolt_agora.measures.descriptive import LoggedGini
from playmolt_agora.measures.interviews import Answered, Code, Interviews
from playmolt_agora.report.study import (
    DeviationNote,
    JudgeNote,
    Links,
    PlannedTest,
    Registered,
    RunNote,
    StudyData,
    StudyFault,
    Table,
)
from playmolt_agora.report.transcript import Aside

Runs = Mapping[str, Sequence[Record]]
Known = Mapping[tuple[str, int], type[Event]]
Kind = TypeVar("Kind", bound=Event)
_RUN_COLUMNS: Final = (
    "run", "label", "cell", "phase", "set", "model", "language", "number", "turns", "exploratory", "outcome", "known",
    "unknown_calls",
)  # fmt: skip


def study_of(
    experiment: Sequence[Record],
    runs: Runs,
    analysis: Analysis,
    *,
    made_at: str,
    links: Links | None = None,
    baselines: Sequence[Baseline] = (),
) -> StudyData:
    """The study of an experiment, from all records of its stream and of its runs', in the order of versions.

    `analysis` is what the measures made of `turns_of(runs)` and `ginis(runs)`. Raises StudyFault for an experiment
    without its preregistration and for a stream that does not begin with its first event.
    """
    recorded = list(_read(experiment, events.EVENTS))
    preregistered = recorded[0] if recorded else None
    if not isinstance(preregistered, Preregistered):
        raise StudyFault("the experiment's first event is not its lock: nothing to report")
    spent = {event.run: event.spent for event in recorded if isinstance(event, RunFinished | RunProgressed)}
    notes = tuple(run_note(records, spent.get(run)) for run, records in runs.items())
    turns = turns_of(runs)
    agreement = agreement_of(recorded, notes, turns, preregistered.seed, analysis.copies)
    forks = tuple(f"{note.run}: fork" for note in notes if note.parent is not None)
    asked, ranges = interview_results(recorded, runs, analysis.copies, baselines), event_ranges(runs)
    imported = preregistered.plan.stage1_import
    return StudyData(
        experiment=experiment[0].stream,
        name=preregistered.name,
        made_at=made_at,
        definitions=analysis.definition,
        stage1=preregistered.pins.stage1,
        stage1_import=imported if isinstance(imported, str) or imported is None else imported.file,
        seed=preregistered.seed,
        registered=_registered(preregistered, experiment[0].at),
        runs=notes,
        models=_models(preregistered, turns),
        turns=turns,
        tables={
            **analysis.tables,
            "costs": costs_of(runs),
            "runs": runs_table(notes, turns),
            "kappa": table(KAPPA, (each.row for each in agreement)),
            **{name: table(INTERVIEWS[name], (each.row for each in found)) for name, found in asked.items()},
        },
        unexcluded=analysis.unexcluded,
        further=analysis.beside,
        provenance={
            **analysis.provenance,
            "kappa": provenance_of(agreement, preregistered.seed, forks, ranges),
            **{name: provenance_of(found, preregistered.seed, forks, ranges) for name, found in asked.items()},
        },
        baselines=tuple(baselines),
        treasury=treasuries(runs),
        deviations=_deviations(experiment, recorded),
        prompt_cut=_prompt_cut(recorded),
        looks=sum(isinstance(event, events.Looked | events.PcsSeen) for event in recorded),
        judges=judges_of(recorded),
        links=links or Links(),
        plan=msgspec.to_builtins(preregistered.plan),
    )


def turns_of(runs: Runs) -> tuple[TurnRecord, ...]:
    """All turns of the runs in the order of the log, as `turns.jsonl` holds them."""
    found = _of_runs(runs, AgentActed, TurnFailed)
    return tuple(event.record for _, event in found if isinstance(event, AgentActed | TurnFailed))


def interviews_of(runs: Runs) -> tuple[Answered, ...]:
    """All questions that agents were asked aside, in the order of the log."""
    return tuple(_answered(opened, event) for opened, event in _of_runs(runs, Interviewed))


def asides_of(records: Sequence[Record]) -> tuple[Aside, ...]:
    """The questions asked aside in a run, as its transcript shows them."""
    return tuple(_aside(opened, event) for opened, event in _of_runs({"": records}, Interviewed))


def _aside(opened: RunOpened, event: Interviewed) -> Aside:
    seat = next(seat for seat in opened.spec.seats if seat.agent == event.agent)
    return Aside(seat, next(each for each in opened.spec.interviews or () if each.id == event.id), event)


def _answered(opened: RunOpened, event: Interviewed) -> Answered:
    spec, (seat, question, _) = opened.spec, _aside(opened, event)
    choices = question.choices_in(spec.language)
    return merged(
        Answered,
        spec,
        seat,
        event,
        phase=arm_of(spec.cell, spec.phase),
        kind="text" if question.text else "choices" if choices else "scale",
        prompt_tokens=event.usage.get("prompt_tokens", 0),
        completion_tokens=event.usage.get("completion_tokens", 0),
        choices=len(choices),
        coded=bool(question.code),
    )


def interview_codes(recorded: Sequence[Event]) -> list[Code]:
    """What judges found in answers in words."""
    return [
        merged(Code, event, id=event.interview, parse_code=event.code)
        for event in recorded
        if isinstance(event, JudgeCoded) and event.interview and event.code is not None
    ]


def prompts_aside(experiment: Sequence[Record], runs: Runs) -> set[str]:
    """The hashes of the prompts of judges and of questions asked aside."""
    judged = {event.prompt_hash for event in _read(experiment, events.EVENTS, JudgeCoded)}
    return judged | {event.prompt_hash for _, event in _of_runs(runs, Interviewed)}


def interview_results(
    recorded: Sequence[Event], runs: Runs, copies: Mapping[str, str], baselines: Sequence[Baseline]
) -> dict[str, list[Result]]:
    """The tables of questions asked aside, and of the answers of people; none where the plan asks nothing."""
    preregistered = recorded[0]
    if not isinstance(preregistered, Preregistered) or not preregistered.plan.interviews:
        return {}
    seed = preregistered.seed
    interviews = Interviews(interviews_of(runs), interview_codes(recorded), copies)
    found = {
        "interviews": interviews.rows(),
        "interview_levels": interviews.levels(),
        "interview_changes": interviews.changes(seed),
    }
    codes = interviews.codes()
    found |= {"interview_codes": codes} if codes else {}
    if baselines:
        terms = baseline_file.terms_of(preregistered.plan)
        found["baselines"] = compared.rows(baselines, interviews.pooled, terms, seed)
    return found


def costs_of(runs: Runs) -> Table:
    """Usage of each model in each cell, from the log."""
    taken: dict[str, dict[str, Spent]] = {}
    cells: dict[str, str] = {}
    for opened, event in _of_runs(runs, run_events.CallMade):
        run = opened.spec.run
        cells[run], taken[run] = opened.spec.cell, by_model(taken.get(run, {}), event.call)
    found = [(cells[run], spent) for run, spent in taken.items()]
    lines = [msgspec.structs.asdict(line) for line in cost_lines(found)]
    return {name: [line[name] for line in lines] for name in CostRow.__struct_fields__}


def judges_of(recorded: Sequence[Event]) -> tuple[JudgeNote, ...]:
    """Every model that judged thoughts, with its usage."""
    found: dict[str, JudgeNote] = {}
    for event in recorded:
        if isinstance(event, events.JudgingStarted):
            before = found.get(event.judge.alias, JudgeNote(alias=event.judge.alias, model=event.judge.model))
            found[before.alias] = msgspec.structs.replace(before, model=event.judge.model)
        elif isinstance(event, JudgeCoded):
            judge = found[event.judge]
            found[event.judge] = msgspec.structs.replace(
                judge,
                coded=judge.coded + (event.survival is not None),
                failed=judge.failed + (event.code is not None and event.survival is None),
                spent=with_call(judge.spent, event.taken),
            )
    return tuple(found[alias] for alias in sorted(found))


def agreement_of(
    recorded: Sequence[Event],
    notes: Sequence[RunNote],
    turns: Sequence[TurnRecord],
    seed: str,
    copies: Collection[str],
) -> list[Result]:
    """The agreement of coders."""
    thinking = codable(turns, (note.run for note in notes if note.parent is not None))
    return kappa(thinking, codings(recorded, thinking), seed, copies)


def runs_table(notes: Sequence[RunNote], turns: Sequence[TurnRecord]) -> Table:
    """Every run with its label."""
    taken = Counter(turn.run for turn in turns)
    return {
        name: [taken[note.run] if name == "turns" else getattr(note, name) for note in notes] for name in _RUN_COLUMNS
    }


def event_ranges(runs: Runs) -> dict[str, tuple[int, int]]:
    """The first and last version of each run, for `measures.study`."""
    return {run: (records[0].version, records[-1].version) for run, records in runs.items() if records}


def ginis(runs: Runs) -> tuple[LoggedGini, ...]:
    """The coefficients that the runs logged at the start of each epoch, for `measures.study`."""
    return tuple(
        LoggedGini(run=opened.spec.run, epoch=event.turn, kind=kind, gini=float(value), agents=len(event.order))
        for opened, event in _of_runs(runs, run_events.EpochStarted)
        for kind, value in event.gini.items()
    )


def treasuries(runs: Runs) -> Table:
    """The treasury after each epoch, in energy: run, epoch, treasury."""
    settled = list(_of_runs(runs, run_events.MarketSettled))
    return {
        "run": [opened.spec.run for opened, _ in settled],
        "epoch": [event.turn for _, event in settled],
        "treasury": [event.treasury / opened.rules.unit for opened, event in settled],
    }


def run_note(records: Sequence[Record], spent: Spent | None = None) -> RunNote:
    """A run's note for the report. Raises StudyFault for records that do not begin with `run_opened`."""
    spec, last = _opened(records).spec, next(_read(records[-1:], run_events.EVENTS))
    alone = len({seat.model for seat in spec.seats}) == 1 and spec.set is None
    return merged(
        RunNote,
        spec,
        first=records[0].version,
        last=records[-1].version,
        outcome=_outcome(last),
        money=spent.cost if spent else None,
        known=spent.known if spent else "0",
        unknown_calls=spent.unknown_calls if spent else 0,
        model=spec.seats[0].model if alone else None,
    )


def _outcome(last: Event) -> str:
    if isinstance(last, run_events.RunEnded):
        return last.outcome
    return f"ended by the operator: {last.reason}" if isinstance(last, run_events.GameAborted) else "not finished"


def _registered(preregistered: Preregistered, at: str) -> Registered:
    return merged(
        Registered,
        preregistered,
        preregistered.pins,
        at=at,
        plan_text=preregistered.text,
        hypotheses={test.test: test.claim for test in preregistered.tests if test.claim},
        tests=[merged(PlannedTest, test, name=test.test) for test in preregistered.tests if test.confirmatory],
        definitions=preregistered.pins.measures,
        remarks=preregistered.warnings,
    )


def _models(preregistered: Preregistered, turns: Sequence[TurnRecord]) -> tuple[ModelNote, ...]:
    answered: dict[str, set[str]] = {}
    for turn in turns:
        answered.setdefault(turn.model, set()).update(() if turn.model_answered is None else (turn.model_answered,))
    return tuple(
        merged(
            ModelNote,
            model,
            asked=model.model,
            answered=sorted(answered.get(model.alias, ())),
            cache_prompt=model.cache_prompt if isinstance(model.cache_prompt, bool) else None,
        )
        for model in preregistered.models
    )


def _deviations(records: Sequence[Record], recorded: Sequence[Event]) -> tuple[DeviationNote, ...]:
    noticed = _noticed(recorded)
    return tuple(
        DeviationNote(
            at=record.at,
            version=record.version,
            text=f"{event.field}: {event.before} → {event.after} "
            f"({event.reason}{_times(event, noticed)}; by {event.by})",
        )
        for record, event in zip(records, recorded, strict=True)
        if isinstance(event, events.Deviation)
    )


def _noticed(recorded: Sequence[Event]) -> Sequence[Noticed]:
    """The latest report of every run about its models."""
    return tuple(
        {event.run: event.noticed for event in recorded if isinstance(event, RunProgressed | RunFinished)}.values()
    )


def _times(event: events.Deviation, noticed: Sequence[Noticed]) -> str:
    if not event.field.startswith(ANSWERED):
        return ""
    alias = event.field.removeprefix(ANSWERED)
    count = sum(each.answered.get(alias, {}).get(event.after, 0) for each in noticed)
    return f", {count} {'reply' if count == 1 else 'replies'}"


def _prompt_cut(recorded: Sequence[Event]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for each in _noticed(recorded):
        counted.update(each.prompt_cut)
    return dict(counted)


def _opened(records: Sequence[Record]) -> RunOpened:
    for opened in _read(records[:1], run_events.EVENTS, RunOpened):
        return opened
    raise StudyFault(f"{records[0].stream if records else 'a run'}: its records do not begin with run_opened")


def _of_runs(runs: Runs, *kinds: type[Kind]) -> Iterator[tuple[RunOpened, Kind]]:
    """The events of these kinds of every run, each with the run's first one."""
    for records in runs.values():
        opened = _opened(records)
        yield from ((opened, event) for event in _read(records, run_events.EVENTS, *kinds))


@overload
def _read(records: Sequence[Record], known: Known) -> Iterator[Event]: ...
@overload
def _read(records: Sequence[Record], known: Known, *kinds: type[Kind]) -> Iterator[Kind]: ...
def _read(records: Sequence[Record], known: Known, *kinds: type[Event]) -> Iterator[Event]:
    """The events of records, of these kinds or all. Raises StudyFault."""
    wanted = {kind.type for kind in kinds}
    for record in records:
        if wanted and record.type not in wanted:
            continue
        reader = known.get((record.type, record.schema_version))
        if reader is None:
            raise StudyFault(f"{record.stream}, version {record.version}: {record.type} is not a known event")
        yield msgspec.json.decode(record.data, type=reader)


def codings(recorded: Sequence[Event], turns: Iterable[TurnRecord]) -> list[CodedThought]:
    """The newest sheet of each coder counts, and keys of turns that are there."""
    judged = [
        event for event in recorded if isinstance(event, JudgeCoded) and event.code is not None and not event.interview
    ]
    sheets = {event.coder: event for event in recorded if isinstance(event, events.SheetCoded)}
    places: dict[str, Place] = {
        key_of(turn.run, turn.agent, turn.turn): (turn.run, turn.agent, turn.turn) for turn in turns
    }
    return [
        *(
            CodedThought(f"judge:{event.judge}", (event.run, event.agent, event.turn), event.survival, event.social)
            for event in sorted(judged, key=lambda event: event.judge)
        ),
        *(
            CodedThought(f"coder:{coder}", places[row.key], row.survival, row.social)
            for coder, sheet in sorted(sheets.items())
            for row in sheet.rows
            if row.key in places
        ),
    ]
