"""What a plan says: its arms, cells, models, languages, sets and tests."""

from collections.abc import Iterator, Mapping
from typing import Final, cast

import msgspec
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.plan import Arm
from playmolt_schemas.canonical import digest
from playmolt_schemas.instrument.definitions import ARMS, COSTS_REAL
from playmolt_schemas.stored.agora.plan import (
    BatchPlan,
    Budget,
    Folder,
    Hypothesis,
    Phase2Plan,
    PhasePlan,
    Plan,
    Probe,
    Stage1Import,
)
from playmolt_schemas.stored.agora.turn import Action, Language, PhaseName, SetName
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.folder.source import ALL_READ, Places, placed
from playmolt_agora_runner.plan.plan_texts import PlanText
from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.world import worlds

SET_LANGUAGES: Final[Mapping[SetName, Language]] = {"A": "ko", "B": "en", "C": "ko", "D": "en"}
WITH_PERSONA: Final[tuple[SetName, ...]] = ("A", "B")
STAGE1_RUNS: Final = 5
"""Stage 1 runs a cell that a test of PCS needs at least (measures.md, section 3)."""


def identity(plan: Plan, folder: Folder | None = None) -> str:
    """64 hex digits that stay the same when only the budget changes, so that a raised budget finds its own.

    An edited file of the folder is another plan.
    """
    found = digest(msgspec.structs.replace(plan, budget=Budget()))
    return digest([found, folder.hash]) if folder else found


def hypotheses(plan: Plan) -> tuple[Hypothesis, ...]:
    """The confirmatory tests that a plan names, the short names written out."""
    return tuple(entry for entry in plan.hypotheses if isinstance(entry, Hypothesis) and entry.test)


def claims(plan: Plan) -> tuple[str, ...]:
    """The claims that name no test."""
    return tuple(entry.claim for entry in plan.hypotheses if isinstance(entry, Hypothesis) and not entry.test)


def phase_of(plan: Plan, phase: Arm) -> PhasePlan | None:
    """A phase that runs; None for one that does not."""
    found: PhasePlan | None = getattr(plan.phases, phase)
    return found if found and found.runs else None


def world(phase: Arm) -> PhaseName:
    """The world that an arm is played in."""
    return "phase1" if phase == COSTS_REAL else phase


def overrides(phase: Arm, rules: Mapping[str, object]) -> dict[str, object]:
    """An arm's changes to its world's preset, the plan's own included."""
    return {"energy.ledger": "real", **rules} if phase == COSTS_REAL else dict(rules)


def seed_texts(plan: Plan, places: Places = ALL_READ) -> Iterator[PlanText]:
    """The seed events of all phases, the plan's own first; agents read them as they read every other text."""
    for at, event in placed("seed_events", plan.seed_events, places):
        yield PlanText(at, event.ko, event.en, "phase2")
    for arm in ARMS:
        phase = phase_of(plan, arm)
        rules = worlds.rules(world(arm), overrides(arm, phase.rules)) if phase else ()
        for number, each in enumerate(rules.seed_events if isinstance(rules, Rules) else ()):
            yield PlanText(f"phases.{arm}.rules.seed_events[{number}]", each.ko, each.en, world(arm))


def models(plan: Plan, phase: Arm) -> tuple[str, ...]:
    """The models of a phase, in plan order."""
    found = phase_of(plan, phase)
    return (found.models or plan.models) if found else ()


def languages(plan: Plan, phase: Arm) -> tuple[Language, ...]:
    """The languages of a phase, in plan order."""
    found = phase_of(plan, phase)
    return (found.languages or plan.languages) if found else ()


def all_languages(plan: Plan) -> tuple[Language, ...]:
    """The plan's languages, then those that a phase or a room has beside them."""
    phases = (language for phase in ARMS for language in languages(plan, phase))
    rooms = (language for room in plan.rooms or () for language in room.languages or ())
    return tuple(dict.fromkeys((*plan.languages, *phases, *rooms)))


def sets(plan: Plan) -> tuple[SetName, ...]:
    """The sets of Phase 2 in their own order."""
    phase = cast("Phase2Plan | None", phase_of(plan, "phase2"))
    if phase is None:
        return ()
    spoken = languages(plan, "phase2")
    chosen = [name for name in SET_LANGUAGES if SET_LANGUAGES[name] in spoken] if phase.sets is None else phase.sets
    return tuple(sorted(chosen))


def all_models(plan: Plan) -> tuple[str, ...]:
    rooms = [room for room in plan.rooms or () if room.runs]
    seated = [seat.model for room in rooms for seat in room.seats if seat.model]
    in_rooms = [*(model for room in rooms for model in room.models or plan.models), *seated]
    return tuple(dict.fromkeys((*(model for phase in ARMS for model in models(plan, phase)), *in_rooms)))


def known_models(catalogue: Catalogue) -> tuple[str, ...]:
    """The models that plans, forks and judges may name."""
    return (*catalogue.models, *sorted(residents.ALIASES))


def stage1_runs(plan: Plan, model: str, language: Language) -> int:
    """Count the Stage 1 runs of a cell, played or imported."""
    return len(imported(plan, model, language)) if plan.stage1_import else runs_of(plan, "stage1", model, language)


def imported(plan: Plan, model: str, language: Language) -> list[Mapping[Action, int]]:
    """The counts of a cell's imported runs; one without a turn is none."""
    runs = plan.stage1_import.runs if isinstance(plan.stage1_import, Stage1Import) else ()
    counts = (run.counts for run in runs if (run.model, run.language) == (model, language))
    return [each for each in counts if any(each.values())]


def runs_of(plan: Plan, phase: Arm, model: str, language: Language) -> int:
    found = phase_of(plan, phase)
    here = found is not None and model in models(plan, phase) and language in languages(plan, phase)
    return found.runs if found and here else 0


def known_tests(plan: Plan) -> tuple[str, ...]:
    """The names of all tests that a plan may name, whether or not its design can hold them."""
    packaged = dict.fromkeys(model for phase in ARMS for model in models(plan, phase))
    pcs = tuple(f"pcs:{model}" for model in packaged)
    return (*pcs, "H1", "H2", "ri_star:model", "ri_star:persona")


def plays_in_batches(plan: Plan) -> bool:
    """Whether models that take batches are asked in them."""
    return isinstance(plan.batch, BatchPlan) and plan.batch.play


def probe_sentence(probe: Probe) -> str:
    """What a probe found, for plan and report."""
    replies = probe.prompts * probe.times
    server = "" if probe.cache_prompt is None else f", cache_prompt {'true' if probe.cache_prompt else 'false'}"
    return (
        f"{probe.model}: asked alone, {probe.alone} of {replies} replies were the usual one of their prompt (the first "
        f"reply of {probe.first} of {probe.prompts} prompts); beside others, {probe.beside} of {replies}. Probe of "
        f"{probe.at}, temperature {probe.temperature or 'of the server'}{server}."
    )
