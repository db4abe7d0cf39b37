"""What is registered before the first turn (agora.md, Plan, lock, run)."""

import hashlib
from typing import Final

import msgspec
from msgspec import UNSET
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.plan import Preview
from playmolt_schemas.canonical import digest
from playmolt_schemas.copying import copied
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument import definitions
from playmolt_schemas.stored.agora.experiment import PinnedModel, PinnedTest, Pins, PlannedRun, Preregistered
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.turn import RunSpec
from playmolt_schemas.stored.agora.world import Rules
from playmolt_schemas.text import decimal_text

from playmolt_agora_runner import budget
from playmolt_agora_runner.experiment.state import OPERATOR
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.plan import plan as plans
from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.world import worlds

RULES_VERSION: Final = 1
EXCLUSIONS: Final = (
    "A (run, model) with more than 20 % failed parses leaves the confirmatory set; both versions are reported.",
    "Runs marked exploratory (pilots, forks) never enter PCS or a test.",
)


class ExaminedPlan(msgspec.Struct, frozen=True):
    """A plan without a fault, its text and its preview."""

    text: str
    plan: Plan
    preview: Preview
    folder: PlanFolder


def pins(plan: Plan) -> Pins:
    """The versions of all that a plan's runs and figures follow from."""
    return Pins(stimuli=texts.version(), stage1=stage1_version(plan), measures=definitions.version())


def pinned_models(plan: Plan, catalogue: Catalogue) -> tuple[PinnedModel, ...]:
    return tuple(pinned(model, catalogue) for model in plans.all_models(plan))


def stage1_version(plan: Plan) -> str:
    """Name the Stage 1 rule set with its texts and the changes of the plan, if this runner still knows these."""
    phase = plans.phase_of(plan, "stage1")
    found = worlds.rules("stage1", phase.rules if phase else {})
    rules = found if isinstance(found, Rules) else worlds.preset("stage1")
    return worlds.version("stage1", rules, texts.version())


def stopping_rule(plan: Plan) -> str:
    adaptive = plan.adaptive
    fixed = "Complete when every planned run has ended; the numbers of runs and turns are fixed."
    if adaptive is None:
        return fixed
    return (
        f"{fixed} Then each Phase 1 cell gets one more run a look until the interval of {adaptive.measure} is at most "
        f"{adaptive.width} wide or the cell holds {adaptive.max_runs} runs."
    )


def planned_run(spec: RunSpec) -> PlannedRun:
    turns = spec.turns * len(spec.seats)
    return copied(PlannedRun, spec, turns=turns, spec=digest(spec))


def preregistered(experiment: str, found: ExaminedPlan, catalogue: Catalogue) -> Preregistered:
    plan, folder, preview = found.plan, found.folder, found.preview
    claims = {hypothesis.test: hypothesis.claim for hypothesis in plans.hypotheses(plan)}
    return copied(
        Preregistered,
        found,
        plan,
        operator=OPERATOR,
        rules_version=RULES_VERSION,
        content_version=texts.version(),
        plan_hash=digest(plan),
        text_hash=hashlib.sha256(found.text.encode()).hexdigest(),
        models=pinned_models(plan, catalogue),
        tests=tuple(
            copied(PinnedTest, test, p_min=test.p_exact, claim=claims.get(test.test, "")) for test in preview.tests
        ),
        # Margins follow from the seats, and of many runs they would fill the record.
        squares=tuple(msgspec.structs.replace(square, margins={}) for square in preview.squares),
        runs=tuple(planned_run(spec) for spec in matrix.specs(plan, experiment, folder.rooms)),
        exclusions=EXCLUSIONS,
        stopping_rule=stopping_rule(plan),
        warnings=preview.warnings,
        pins=pins(plan),
        folder=folder.folder,
        rooms=folder.rooms,
    )


def pinned(alias: str, catalogue: Catalogue) -> PinnedModel:
    """A model as the catalogue names it now."""
    entry = catalogue.models.get(alias)
    known = budget.with_prices(alias, entry)
    prices = {name: getattr(known, name) if known.priced else None for name in budget.PRICES}
    return PinnedModel(
        alias=alias,
        model=entry.model if entry else alias,
        base_url=entry.base_url if entry else None,
        **{name: None if price is None else decimal_text(price) for name, price in prices.items()},
        scripted=is_scripted(alias),
        cache_prompt=UNSET if entry is None or entry.cache_prompt is None else entry.cache_prompt,
    )
