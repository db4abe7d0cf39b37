"""From an experiment's records to a study: the facts of the log and the results of the measures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Final, TypeVar

import msgspec
from playmolt_schemas.copying import copied
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
from playmolt_agora.measures.analysis import provenance_of, study
from playmolt_agora.measures.data.results import Result, Row
from playmolt_agora.measures.data.tables import COLUMNS
from playmolt_agora.measures.interviews import Answered, Interviews
from playmolt_agora.own_measures.running import results
from playmolt_agora.report.study import DeviationNote, OwnContent, RunNote, StudyData, StudyFault
from playmolt_agora.report.transcript import Aside

_BASELINES: Final = "baselines/"
Runs = Mapping[str, Sequence[Record]]
Known = Mapping[tuple[str, int], type[Event]]
Kind = TypeVar("Kind", bound=Event)


class StudyRecords(msgspec.Struct, frozen=True):
    """All records of an experiment and its opened runs, in the order of versions; each stream is read once."""

    experiment: Sequence[Record]
    runs: Runs

    @property
    def lock(self) -> Preregistered:
        """Raises StudyFault."""
        return _first(self.experiment, events.EVENTS, Preregistered)


def analysed(gathered: StudyRecords, texts: Mapping[str, str] = {}) -> StudyData:
    """Measure the turns, also by the plan's own measures; takes seconds of processor time.

    `texts` are those of the locked folder. Raises StudyFault for a stream that does not begin with its first event.
    """
    lock, experiment, runs = gathered.lock, gathered.experiment, gathered.runs
    recorded = list(_read(experiment, events.EVENTS, Event))
    turns, ranges = turns_of(runs), event_ranges(runs)
    analysis = study(turns, ginis=ginis(runs), seed=lock.seed, stage1_import=lock.plan.stage1_rows, events=ranges)
    reported = {event.run: event for event in recorded if isinstance(event, RunFinished | RunProgressed)}
    notes = tuple(run_note(records, reported[run].spent if run in reported else None) for run, records in runs.items())
    noticed = [event.noticed for event in reported.values()]
    forks = [note.run for note in notes if note.parent is not None]
    thinking = codable(turns, forks)
    baselines = _baselines(lock, texts)
    asked = {
        "kappa": kappa(thinking, codings(recorded, thinking), lock.seed, analysis.copies),
        **_interview_results(lock, recorded, runs, analysis.copies, baselines),
    }
    left_out = tuple(f"{run}: fork" for run in forks)
    imported, own = lock.plan.stage1_import, None
    if lock.folder:
        own = OwnContent(folder=lock.folder, rooms=lock.rooms, texts=texts, measures=results(texts, turns))
    return StudyData(
        experiment=experiment[0].stream,
        name=lock.name,
        stage1=lock.pins.stage1,
        stage1_import=imported if isinstance(imported, str) or imported is None else imported.file,
        seed=lock.seed,
        lock=lock,
        locked_at=experiment[0].at,
        runs=notes,
        models=_models(lock, turns),
        turns=turns,
        tables={
            **analysis.tables,
            "costs": costs_of(runs),
            "runs": runs_table(notes, turns),
            **{name: [each.row for each in found] for name, found in asked.items()},
        },
        provenance={
            **analysis.provenance,
            **{name: provenance_of(found, lock.seed, left_out, ranges) for name, found in asked.items()},
        },
        baselines=baselines,
        treasury=treasuries(runs),
        deviations=tuple(_deviations(experiment, recorded, noticed)),
        prompt_cut=sum((Counter(each.prompt_cut) for each in noticed), Counter()),
        looks=sum(isinstance(event, events.Looked | events.PcsSeen) for event in recorded),
        judges=tuple(judges_of(recorded)),
        plan=msgspec.to_builtins(lock.plan),
        own=own,
    )


def _baselines(lock: Preregistered, texts: Mapping[str, str]) -> tuple[Baseline, ...]:
    """The answers of people in the locked folder, which were read without a fault before the lock."""
    terms = baseline_file.terms_of(lock.plan)
    named = {path: text for path, text in texts.items() if path.startswith(_BASELINES)}
    found = (
        baseline_file.read(path.removeprefix(_BASELINES).removesuffix(".csv"), text, terms)[0]
        for path, text in sorted(named.items())
    )
    return tuple(each for each in found if each is not None)


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
    return copied(
        Answered,
        event,
        seat,
        spec,
        phase=arm_of(spec.cell, spec.phase),
        kind="text" if question.text else "choices" if choices else "scale",
        prompt_tokens=event.usage.get("prompt_tokens", 0),
        completion_tokens=event.usage.get("completion_tokens", 0),
        choices=len(choices),
        coded=bool(question.code),
    )


def prompts_aside(experiment: Sequence[Record], runs: Runs) -> set[str]:
    """The hashes of the prompts of judges and of questions asked aside."""
    judged = {event.prompt_hash for event in _read(experiment, events.EVENTS, JudgeCoded)}
    return judged | {event.prompt_hash for _, event in _of_runs(runs, Interviewed)}


def _interview_results(
    lock: Preregistered, recorded: Sequence[Event], runs: Runs, copies: Mapping[str, str],
    baselines: Sequence[Baseline],
) -> dict[str, list[Result]]:  # fmt: skip
    """The tables of questions asked aside, and of the answers of people; none where the plan asks nothing."""
    if not lock.plan.interviews:
        return {}
    judged = [event for event in recorded if isinstance(event, JudgeCoded) and event.interview and event.code]
    interviews = Interviews(interviews_of(runs), judged, copies)
    found = {
        "interviews": interviews.rows(),
        "interview_levels": interviews.levels(),
        "interview_changes": interviews.changes(lock.seed),
    }
    if codes := interviews.codes():
        found["interview_codes"] = codes
    if baselines:
        terms = baseline_file.terms_of(lock.plan)
        found["baselines"] = compared.rows(baselines, interviews.pooled, terms, lock.seed)
    return found


def costs_of(runs: Runs) -> list[Row]:
    """Usage of each model in each cell, from the log."""
    taken: dict[str, tuple[str, dict[str, Spent]]] = {}
    for opened, event in _of_runs(runs, run_events.CallMade):
        _, spent = taken.get(opened.spec.run, ("", {}))
        taken[opened.spec.run] = opened.spec.cell, by_model(spent, event.call)
    return [msgspec.structs.asdict(line) for line in cost_lines(taken.values())]


def judges_of(recorded: Sequence[Event]) -> Iterator[Row]:
    """Every model that judged thoughts, with its usage."""
    started = {event.judge.alias: event.judge.model for event in recorded if isinstance(event, events.JudgingStarted)}
    for alias, model in sorted(started.items()):
        judged = [event for event in recorded if isinstance(event, JudgeCoded) and event.judge == alias]
        coded = sum(event.survival is not None for event in judged)
        failed = sum(event.code is not None and event.survival is None for event in judged)
        spent = reduce(with_call, (event.taken for event in judged), Spent())
        yield {"judge": alias, "model": model, "coded": coded, "failed": failed, "calls": spent.calls,
               "cost": spent.cost_text}  # fmt: skip


def runs_table(notes: Sequence[RunNote], turns: Sequence[TurnRecord]) -> list[Row]:
    """Every run with its label."""
    taken = Counter(turn.run for turn in turns)
    return [
        {name: taken[note.run] if name == "turns" else getattr(note, name) for name in COLUMNS["runs"]}
        for note in notes
    ]


def event_ranges(runs: Runs) -> dict[str, tuple[int, int]]:
    """The first and last version of each run, for `measures.study`."""
    return {run: (records[0].version, records[-1].version) for run, records in runs.items() if records}


def ginis(runs: Runs) -> list[Result]:
    """The coefficients that the runs logged at the start of each epoch, over the agents that lived then."""
    return [
        Result(
            {"run": opened.spec.run, "epoch": event.turn, "kind": kind, "gini": float(value)},
            runs=(opened.spec.run,),
            n=len(event.order),
            unit="agent",
        )
        for opened, event in _of_runs(runs, run_events.EpochStarted)
        for kind, value in event.gini.items()
    ]


def treasuries(runs: Runs) -> list[Row]:
    """The treasury after each epoch, in energy."""
    return [
        {"run": opened.spec.run, "epoch": event.turn, "treasury": event.treasury / opened.rules.unit}
        for opened, event in _of_runs(runs, run_events.MarketSettled)
    ]


def run_note(records: Sequence[Record], spent: Spent | None = None) -> RunNote:
    """A run's note for the report. Raises StudyFault for records that do not begin with `run_opened`."""
    spec, last = _first(records, run_events.EVENTS, RunOpened).spec, next(_read(records[-1:], run_events.EVENTS, Event))
    alone = len({seat.model for seat in spec.seats}) == 1 and spec.set is None
    return copied(
        RunNote,
        spec,
        spent or Spent(),
        first=records[0].version,
        last=records[-1].version,
        outcome=_outcome(last),
        money=spent.cost if spent else None,
        model=spec.seats[0].model if alone else None,
    )


def _outcome(last: Event) -> str:
    if isinstance(last, run_events.RunEnded):
        return last.outcome
    return f"ended by the operator: {last.reason}" if isinstance(last, run_events.GameAborted) else "not finished"


def _models(lock: Preregistered, turns: Sequence[TurnRecord]) -> tuple[ModelNote, ...]:
    answered = {(turn.model, turn.model_answered) for turn in turns if turn.model_answered is not None}
    return tuple(
        copied(
            ModelNote,
            model,
            asked=model.model,
            answered=tuple(sorted(name for alias, name in answered if alias == model.alias)),
            cache_prompt=model.cache_prompt if isinstance(model.cache_prompt, bool) else None,
        )
        for model in lock.models
    )


def _deviations(
    records: Sequence[Record], recorded: Sequence[Event], noticed: Sequence[Noticed]
) -> Iterator[DeviationNote]:
    for record, event in zip(records, recorded, strict=True):
        if isinstance(event, events.Deviation):
            why = f"{event.reason}{_times(event, noticed)}; by {event.by}"
            text = f"{event.field}: {event.before} → {event.after} ({why})"
            yield DeviationNote(at=record.at, version=record.version, text=text)


def _times(event: events.Deviation, noticed: Sequence[Noticed]) -> str:
    """How often another model answered, as runs reported."""
    if not event.field.startswith(ANSWERED):
        return ""
    alias = event.field.removeprefix(ANSWERED)
    count = sum(each.answered.get(alias, {}).get(event.after, 0) for each in noticed)
    return f", {count} {'reply' if count == 1 else 'replies'}"


def _first(records: Sequence[Record], known: Known, kind: type[Kind]) -> Kind:
    """The event that a stream begins with. Raises StudyFault for another one."""
    for found in _read(records[:1], known, kind):
        return found
    raise StudyFault(f"{records[0].stream if records else 'a stream'}: its records do not begin with {kind.type}")


def _of_runs(runs: Runs, *kinds: type[Kind]) -> Iterator[tuple[RunOpened, Kind]]:
    """The events of these kinds of every run, each with the run's first one."""
    for records in runs.values():
        opened = _first(records, run_events.EVENTS, RunOpened)
        yield from ((opened, event) for event in _read(records, run_events.EVENTS, *kinds))


def _read(records: Iterable[Record], known: Known, *kinds: type[Kind]) -> Iterator[Kind]:
    """The events of these kinds. Raises StudyFault for a record of no known event."""
    for record in records:
        reader = known.get((record.type, record.schema_version))
        if reader is None:
            raise StudyFault(f"{record.stream}, version {record.version}: {record.type} is not a known event")
        if issubclass(reader, kinds):
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
