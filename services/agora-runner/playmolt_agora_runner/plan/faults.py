"""Everything that a plan can be refused for, each fault under its field's name."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import UNSET
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.instrument.definitions import ARMS
from playmolt_schemas.stored.agora.plan import RUNS, Hypothesis, PhasePlan, Plan, RoomPlan, Stage1Import
from playmolt_schemas.text import trimmed

from playmolt_agora_runner.folder.source import ALL_READ, Places, placed, twice
from playmolt_agora_runner.plan import interview_faults, matrix, stage1_import
from playmolt_agora_runner.plan import plan as plans
from playmolt_agora_runner.plan.attribution import text_faults
from playmolt_agora_runner.world import worlds

_DECIMAL: Final = re.compile(r"\d{1,3}(\.\d{1,6})?", re.ASCII)
_MOST_TOKENS: Final = 100_000


def faults_of(plan: Plan, places: Places = ALL_READ, *, rooms_read: bool = True) -> Iterator[PlanFault]:
    """The faults that the plan alone shows. Without `rooms_read` it may have runs in rooms that could not be read."""
    yield from text_faults("name", plan.name)
    yield from twice("models", plan.models)
    yield from twice("languages", plan.languages)
    yield from _phase_faults(plan, rooms_read=rooms_read)
    yield from _hypothesis_faults(plan)
    yield from _sampling_faults(plan)
    yield from _import_faults(plan)
    yield from _adaptive_faults(plan)
    yield from _seed_event_faults(plan, places)
    yield from _probe_faults(plan)
    yield from interview_faults.faults_of(plan, places)


def _probe_faults(plan: Plan) -> Iterator[PlanFault]:
    for at, probe in enumerate(plan.probes or ()):
        if probe.model not in plans.all_models(plan):
            yield PlanFault(f"probes[{at}].model", f"{probe.model} is not a model of this plan", code="unknown_model")


def _phase_faults(plan: Plan, *, rooms_read: bool) -> Iterator[PlanFault]:
    in_phases = any(plans.phase_of(plan, phase) for phase in ARMS)
    if rooms_read and not in_phases and not any(room.runs for room in plan.rooms or ()):
        yield PlanFault("phases", f"at least one of {', '.join(ARMS)}, or one of `rooms`, must have runs")
    for phase in ARMS:
        found: PhasePlan | None = getattr(plan.phases, phase)
        if found is None:
            continue
        for name in ("models", "languages", "sets"):
            values: Sequence[str] | None = getattr(found, name, None)
            if values == ():
                yield PlanFault(f"phases.{phase}.{name}", "is empty")
            yield from twice(f"phases.{phase}.{name}", values or ())
        rules = worlds.rules(plans.world(phase), plans.overrides(phase, found.rules))
        if isinstance(rules, tuple):
            yield from (PlanFault(f"phases.{phase}.{fault.field}", fault.message, code=fault.code) for fault in rules)
        if "epochs" in found.rules:
            yield PlanFault(f"phases.{phase}.rules.epochs", f"is `phases.{phase}.turns` in a plan")
    yield from _set_faults(plan)
    total = sum(cell.runs for cell in matrix.cells(plan)) + sum(_of_room(plan, room) for room in plan.rooms or ())
    if total > RUNS:
        yield PlanFault("phases", f"add up to {total} runs; an experiment has at most {RUNS}")


def _of_room(plan: Plan, room: RoomPlan) -> int:
    models = len(room.models or plan.models) if room.mix == "one" else 1
    return room.runs * models * len(room.languages or plan.languages)


def _set_faults(plan: Plan) -> Iterator[PlanFault]:
    spoken = plans.languages(plan, "phase2")
    for name in plans.sets(plan):
        if (language := plans.SET_LANGUAGES[name]) not in spoken:
            yield PlanFault("phases.phase2.sets", f"{name} is in {language}, which is not in `languages`")


def _hypothesis_faults(plan: Plan) -> Iterator[PlanFault]:
    known = plans.known_tests(plan)
    chosen = plans.hypotheses(plan)
    if any(not trimmed(claim) for claim in plans.claims(plan)):
        yield PlanFault("hypotheses", "a hypothesis names neither a test nor a claim")
    for hypothesis in chosen:
        if hypothesis.test not in known:
            message = f"{hypothesis.test} is not a test; use pcs, ri_star, {', '.join(known)}"
            yield PlanFault("hypotheses", message, code="unknown_test")
    # `pcs` is that of every model: its value is at fault once.
    for (alpha, dispersion), tests in by_value(chosen, "alpha", "dispersion").items():
        if not 0 < float(str(alpha)) < 1:
            yield PlanFault("hypotheses", f"{tests}: alpha {alpha} must be between 0 and 1")
        if dispersion is not UNSET and not float(str(dispersion)) < 1:
            yield PlanFault("hypotheses", f"{tests}: dispersion {dispersion} must be below 1")
    yield from twice("hypotheses", (hypothesis.test for hypothesis in chosen))


def by_value(chosen: Iterable[Hypothesis], *names: str) -> dict[tuple[object, ...], str]:
    """The names of the tests that share these values."""
    found: dict[tuple[object, ...], list[str]] = {}
    for each in chosen:
        found.setdefault(tuple(getattr(each, name) for name in names), []).append(each.test)
    return {values: ", ".join(tests) for values, tests in found.items()}


def _sampling_faults(plan: Plan) -> Iterator[PlanFault]:
    for name, most in (("temperature", 2), ("top_p", 1)):
        value: str | None = getattr(plan.sampling, name)
        if value is not None and not (_DECIMAL.fullmatch(value) and float(value) <= most):
            yield PlanFault(f"sampling.{name}", f"{value} is not a decimal number from 0 to {most}")
    if not 1 <= plan.sampling.max_tokens <= _MOST_TOKENS:
        yield PlanFault("sampling.max_tokens", f"must be 1 to {_MOST_TOKENS}")


def _import_faults(plan: Plan) -> Iterator[PlanFault]:
    found = plan.stage1_import
    if not isinstance(found, Stage1Import):
        return
    if plans.phase_of(plan, "stage1"):
        yield PlanFault("stage1_import", "replaces phases.stage1; leave one of them out")
    for run in found.runs:
        if run.model not in plans.models(plan, "phase1"):
            yield PlanFault("stage1_import", f"{run.run}: {run.model} plays in no Phase 1 run of this plan")
        if not any(run.counts.values()):
            yield PlanFault("stage1_import", stage1_import.empty(run.run, run.model, run.language))
    for (name, model, language), count in Counter((run.run, run.model, run.language) for run in found.runs).items():
        if count > 1:
            yield PlanFault("stage1_import", f"{name}: occurs {count} times for {model} in {language}")


def _adaptive_faults(plan: Plan) -> Iterator[PlanFault]:
    adaptive = plan.adaptive
    if adaptive is None:
        return
    phase = plans.phase_of(plan, "phase1")
    if phase is None:
        yield PlanFault("adaptive", "adds runs to Phase 1 cells; this plan has none")
    elif adaptive.max_runs < phase.runs:
        yield PlanFault("adaptive.max_runs", f"is below the {phase.runs} runs that phases.phase1 already has")
    if not 0 < float(adaptive.width) < 1:
        yield PlanFault("adaptive.width", "must be between 0 and 1")
    if adaptive.measure == "pcs" and not (plans.phase_of(plan, "stage1") or plan.stage1_import):
        yield PlanFault("adaptive.measure", "pcs needs Stage 1 runs, played or imported")


def _seed_event_faults(plan: Plan, places: Places) -> Iterator[PlanFault]:
    phase = plans.phase_of(plan, "phase2")
    if plan.seed_events and phase is None:
        yield PlanFault("seed_events", "happen in Phase 2; this plan has none")
    for place, event in placed("seed_events", plan.seed_events, places):
        if phase and event.turn > phase.turns:
            yield PlanFault(f"{place}.turn", f"turn {event.turn} exceeds the {phase.turns} turns of phases.phase2")
    for text in plans.seed_texts(plan, places):
        yield from (PlanFault(text.place, fault) for fault in text.faults())
