"""Reading a plan: what an experiment is to do, checked whole, every fault under its field's name."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

import msgspec
from playmolt_schemas.agora.plan import (
    PLAN_BYTES,
    RUNS,
    Arm,
    Budget,
    Hypothesis,
    Phase2Plan,
    PhasePlan,
    Plan,
    Stage1Import,
)
from playmolt_schemas.agora.turn import Language, PhaseName, SetName
from playmolt_schemas.canonical import canonical_json, digest
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.text import trimmed, unstorable

from playmolt_agora.checks import symmetry
from playmolt_agora.plan import document, reading, stage1_import
from playmolt_agora.world import worlds

Faults = tuple[FieldFault, ...]

ARMS: Final[tuple[Arm, ...]] = ("stage1", "phase1", "phase1_costs_real", "phase2")
SET_LANGUAGES: Final[Mapping[SetName, Language]] = {"A": "ko", "B": "en", "C": "ko", "D": "en"}
WITH_PERSONA: Final[tuple[SetName, ...]] = ("A", "B")
STAGE1_RUNS: Final = 5
"""Stage 1 runs a cell that a test of PCS needs at least (measures.md, section 3)."""

_DECIMAL = re.compile(r"\d{1,3}(\.\d{1,6})?", re.ASCII)
_PLANS: Final = files("playmolt_agora").joinpath("plans")
_MOST_TOKENS: Final = 100_000


def read(text: str, imported: Mapping[str, str] | None = None) -> Plan | Faults:
    """Read a plan from YAML or JSON; else give all its faults, each under the name of its field.

    `imported` is file name → text for the file that `stage1_import` may name. What is given holds no shorthand: short
    names of hypotheses are written out, an imported file's counts stand in it.
    """
    if len(text.encode("utf-8", "surrogatepass")) > PLAN_BYTES:
        return (FieldFault("", f"a plan has at most {PLAN_BYTES} bytes"),)
    if unstorable(text):
        return (FieldFault("", "a plan must not hold NUL or lone surrogates"),)
    try:
        return read_document(document.load(text), imported)
    except document.Unreadable as error:
        return (FieldFault("", str(error)),)


def read_document(values: Any, imported: Mapping[str, str] | None = None) -> Plan | Faults:
    """Read a plan that has been parsed already, as a request's body is; else as `read`."""
    try:
        plan = reading.read(Plan, document.plain(values))
    except document.Unreadable as error:
        return (FieldFault("", str(error)),)
    if not isinstance(plan, Plan):
        return plan
    plan = msgspec.structs.replace(plan, hypotheses=tuple(_whole(plan)))
    if isinstance(plan.stage1_import, str):
        found = _imported(plan.stage1_import, imported or {})
        if not isinstance(found, Stage1Import):
            return found
        plan = msgspec.structs.replace(plan, stage1_import=found)
    return tuple(_faults(plan)) or plan


def text_of(values: Any) -> str:
    """The text of a parsed plan that is preregistered: canonical JSON, numbers as the decimals they were written as."""
    return canonical_json(document.plain(values)).decode()


def preset(name: str) -> str:
    """The text of a plan that comes with the software: `white-room`, `white-room-stage1`, `pilots`, `example`.

    LookupError names those there are.
    """
    if name not in presets():
        raise LookupError(f"no plan {name!r}; there are {', '.join(presets())}")
    return _PLANS.joinpath(f"{name}.yaml").read_text(encoding="utf-8")


@cache
def presets() -> tuple[str, ...]:
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in _PLANS.iterdir() if entry.name.endswith(".yaml")))


def example() -> str:
    """A commented plan that names every field."""
    return preset("example")


def identity(plan: Plan) -> str:
    """64 hex digits that stay the same when only the budget changes, so that a raised budget finds its own."""
    return digest(msgspec.structs.replace(plan, budget=Budget()))


def hypotheses(plan: Plan) -> tuple[Hypothesis, ...]:
    """The confirmatory tests that a plan names, the short names written out."""
    return tuple(entry for entry in plan.hypotheses if isinstance(entry, Hypothesis) and entry.test)


def claims(plan: Plan) -> tuple[str, ...]:
    """The claims that name no test."""
    return tuple(entry.claim for entry in plan.hypotheses if isinstance(entry, Hypothesis) and not entry.test)


def imports(text: str) -> tuple[str, ...]:
    """The names of the files that `read` wants in `imported`; none where the text does not read."""
    try:
        values = document.load(text)
    except document.Unreadable:
        return ()
    name = values.get("stage1_import") if isinstance(values, dict) else None
    return (name,) if isinstance(name, str) else ()


def phase_of(plan: Plan, phase: Arm) -> PhasePlan | None:
    """A phase that runs; None for one that does not."""
    found: PhasePlan | None = getattr(plan.phases, phase)
    return found if found and found.runs else None


def world(phase: Arm) -> PhaseName:
    """The world that an arm is played in."""
    return "phase1" if phase == "phase1_costs_real" else phase


def overrides(phase: Arm, rules: Mapping[str, Any]) -> dict[str, Any]:
    """An arm's changes to its world's preset, the plan's own included."""
    return {"energy.ledger": "real", **rules} if phase == "phase1_costs_real" else dict(rules)


def told(plan: Plan) -> tuple[symmetry.Told, ...]:
    """The seed events of all phases, which agents read as they read every other text."""
    found = [symmetry.Told("phase2", event.turn, event.ko, event.en) for event in plan.seed_events]
    for arm in ARMS:
        phase = phase_of(plan, arm)
        rules = worlds.rules(world(arm), overrides(arm, phase.rules)) if phase else ()
        if isinstance(rules, worlds.Rules):
            found += [symmetry.Told(world(arm), event.turn, event.ko, event.en) for event in rules.seed_events]
    return tuple(found)


def models(plan: Plan, phase: Arm) -> tuple[str, ...]:
    """The models of a phase, in plan order."""
    found = phase_of(plan, phase)
    return (found.models or plan.models) if found else ()


def languages(plan: Plan, phase: Arm) -> tuple[Language, ...]:
    """The languages of a phase, in plan order."""
    found = phase_of(plan, phase)
    return (found.languages or plan.languages) if found else ()


def sets(plan: Plan) -> tuple[SetName, ...]:
    """The sets of Phase 2 in their own order."""
    phase = cast("Phase2Plan | None", phase_of(plan, "phase2"))
    if phase is None:
        return ()
    spoken = languages(plan, "phase2")
    chosen = [name for name in SET_LANGUAGES if SET_LANGUAGES[name] in spoken] if phase.sets is None else phase.sets
    return tuple(sorted(chosen))


def all_models(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(model for phase in ARMS for model in models(plan, phase)))


def stage1_runs(plan: Plan, model: str, language: Language) -> int:
    """Count the Stage 1 runs of a cell, played or imported; an imported one without a turn is none."""
    if isinstance(plan.stage1_import, Stage1Import):
        found = (run for run in plan.stage1_import.runs if any(run.counts.values()))
        return len({run.run for run in found if (run.model, run.language) == (model, language)})
    return _runs(plan, "stage1", model, language)


def phase1_runs(plan: Plan, model: str, language: Language) -> int:
    return _runs(plan, "phase1", model, language)


def _runs(plan: Plan, phase: Arm, model: str, language: Language) -> int:
    found = phase_of(plan, phase)
    here = found is not None and model in models(plan, phase) and language in languages(plan, phase)
    return found.runs if found and here else 0


def known_tests(plan: Plan) -> tuple[str, ...]:
    """The names of all tests that a plan may name, whether or not its design can hold them."""
    pcs = tuple(f"pcs:{model}" for model in all_models(plan))
    return (*pcs, "H1", "H2", "ri_star:model", "ri_star:persona")


def _whole(plan: Plan) -> Iterator[Hypothesis]:
    """Write short names out: `pcs` is that of every model. A name that is unknown stays and becomes a fault."""
    known = {test.lower(): test for test in known_tests(plan)}
    for entry in plan.hypotheses:
        hypothesis = _hypothesis(entry)
        name = trimmed(hypothesis.test).lower()
        family = [test for low, test in known.items() if low.startswith(f"{name}:")]
        for test in family or [known.get(name, hypothesis.test)]:
            yield msgspec.structs.replace(hypothesis, test=test)


def _hypothesis(entry: str | Hypothesis) -> Hypothesis:
    """No test's name has a space in it, every sentence has."""
    if isinstance(entry, Hypothesis):
        return entry
    return Hypothesis(claim=entry) if " " in trimmed(entry) else Hypothesis(test=entry)


def _imported(name: str, imported: Mapping[str, str]) -> Stage1Import | Faults:
    if name not in imported:
        return (FieldFault("stage1_import", f"{name}: no such file was given; a body takes {{file, runs}} instead"),)
    return stage1_import.read(name, imported[name])


def _faults(plan: Plan) -> Iterator[FieldFault]:
    yield from _name_faults(plan)
    yield from _phase_faults(plan)
    yield from _hypothesis_faults(plan)
    yield from _sampling_faults(plan)
    yield from _import_faults(plan)
    yield from _adaptive_faults(plan)
    yield from _seed_event_faults(plan)


def _name_faults(plan: Plan) -> Iterator[FieldFault]:
    if not trimmed(plan.name):
        yield FieldFault("name", "must hold a character besides white space")
    yield from _twice("models", plan.models)
    yield from _twice("languages", plan.languages)


def _twice(field: str, values: Iterable[str]) -> Iterator[FieldFault]:
    for value, count in Counter(values).items():
        if count > 1:
            yield FieldFault(field, f"names {value} {count} times")


def _phase_faults(plan: Plan) -> Iterator[FieldFault]:
    if not any(phase_of(plan, phase) for phase in ARMS):
        yield FieldFault("phases", f"at least one of {', '.join(ARMS)} must have runs")
    for phase in ARMS:
        found: PhasePlan | None = getattr(plan.phases, phase)
        if found is None:
            continue
        yield from _twice(f"phases.{phase}.models", found.models or ())
        yield from _twice(f"phases.{phase}.languages", found.languages or ())
        yield from (FieldFault(f"phases.{phase}.{field}", "is empty") for field in ("models", "languages", "sets")
                    if getattr(found, field, None) == ())  # fmt: skip
        rules = worlds.rules(world(phase), overrides(phase, found.rules))
        if isinstance(rules, tuple):
            yield from (FieldFault(f"phases.{phase}.{fault.field}", fault.message) for fault in rules)
        if "epochs" in found.rules:
            yield FieldFault(f"phases.{phase}.rules.epochs", f"is `phases.{phase}.turns` in a plan")
    yield from _set_faults(plan)
    total = sum(_total(plan, phase) for phase in ARMS)
    if total > RUNS:
        yield FieldFault("phases", f"come to {total} runs; an experiment has at most {RUNS}")


def _total(plan: Plan, phase: Arm) -> int:
    found = phase_of(plan, phase)
    if found is None:
        return 0
    cells = len(sets(plan)) if phase == "phase2" else len(models(plan, phase)) * len(languages(plan, phase))
    return found.runs * cells


def _set_faults(plan: Plan) -> Iterator[FieldFault]:
    phase = plan.phases.phase2
    if phase is None or not phase.sets:
        return
    yield from _twice("phases.phase2.sets", phase.sets)
    spoken = phase.languages or plan.languages
    for name in phase.sets:
        if SET_LANGUAGES[name] not in spoken:
            yield FieldFault("phases.phase2.sets", f"{name} is in {SET_LANGUAGES[name]}, which `languages` leaves out")


def _hypothesis_faults(plan: Plan) -> Iterator[FieldFault]:
    known = known_tests(plan)
    chosen = hypotheses(plan)
    if any(not trimmed(claim) for claim in claims(plan)):
        yield FieldFault("hypotheses", "one names neither a test nor a claim")
    for hypothesis in chosen:
        if hypothesis.test not in known:
            message = f"{hypothesis.test} is no test; there are pcs, ri_star, {', '.join(known)}"
            yield FieldFault("hypotheses", message)
        if not 0 < float(hypothesis.alpha) < 1:
            yield FieldFault("hypotheses", f"{hypothesis.test}: alpha {hypothesis.alpha} must lie between 0 and 1")
    yield from _twice("hypotheses", (hypothesis.test for hypothesis in chosen))


def _sampling_faults(plan: Plan) -> Iterator[FieldFault]:
    for name, most in (("temperature", 2), ("top_p", 1)):
        value: str | None = getattr(plan.sampling, name)
        if value is not None and not (_DECIMAL.fullmatch(value) and float(value) <= most):
            yield FieldFault(f"sampling.{name}", f"{value} is no decimal number from 0 to {most}")
    if not 1 <= plan.sampling.max_tokens <= _MOST_TOKENS:
        yield FieldFault("sampling.max_tokens", f"must be 1 to {_MOST_TOKENS}")


def _import_faults(plan: Plan) -> Iterator[FieldFault]:
    found = plan.stage1_import
    if not isinstance(found, Stage1Import):
        return
    if phase_of(plan, "stage1"):
        yield FieldFault("stage1_import", "stands instead of phases.stage1; leave one of them out")
    for run in found.runs:
        if run.model not in models(plan, "phase1"):
            yield FieldFault("stage1_import", f"{run.run}: {run.model} plays in no Phase 1 run of this plan")
        if not any(run.counts.values()):
            yield FieldFault("stage1_import", stage1_import.empty(run.run, run.model, run.language))
    for (name, model, language), count in Counter((run.run, run.model, run.language) for run in found.runs).items():
        if count > 1:
            yield FieldFault("stage1_import", f"{name}: stands {count} times for {model} in {language}")


def _adaptive_faults(plan: Plan) -> Iterator[FieldFault]:
    adaptive = plan.adaptive
    if adaptive is None:
        return
    phase = phase_of(plan, "phase1")
    if phase is None:
        yield FieldFault("adaptive", "adds runs to Phase 1 cells; this plan has none")
    elif adaptive.max_runs < phase.runs:
        yield FieldFault("adaptive.max_runs", f"is below the {phase.runs} runs that phases.phase1 has anyway")
    if not 0 < float(adaptive.width) < 1:
        yield FieldFault("adaptive.width", "must lie between 0 and 1")
    if adaptive.measure == "pcs" and not (phase_of(plan, "stage1") or plan.stage1_import):
        yield FieldFault("adaptive.measure", "pcs needs Stage 1 runs, played or imported")


def _seed_event_faults(plan: Plan) -> Iterator[FieldFault]:
    phase = phase_of(plan, "phase2")
    if plan.seed_events and phase is None:
        yield FieldFault("seed_events", "happen in Phase 2; this plan has none")
    for event in plan.seed_events:
        if phase and event.turn > phase.turns:
            yield FieldFault("seed_events", f"turn {event.turn} is past the {phase.turns} turns of phases.phase2")
    for text in told(plan):
        yield from (FieldFault("seed_events", fault) for fault in text.faults())
