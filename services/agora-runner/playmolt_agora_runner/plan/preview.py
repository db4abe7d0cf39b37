"""Preview of a plan: matrix, costs, squares, attainable p, warnings, and reasons for refusal."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from msgspec import UNSET
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.plan import MatrixCell, PlanFault, PlannedTest, Preview
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.copying import copied
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.definitions import ARMS
from playmolt_schemas.instrument.laboratory import Power
from playmolt_schemas.stored.agora.plan import LockedRoom, Plan, Square, Stage1Import
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner import budget
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import FaultyParts, placed
from playmolt_agora_runner.plan import costs, interview_faults, latin_squares, matrix
from playmolt_agora_runner.plan import plan as plans
from playmolt_agora_runner.plan.design import PowerOf, design, is_pcs
from playmolt_agora_runner.plan.faults import by_value
from playmolt_agora_runner.plan.reading import ParsedPlan
from playmolt_agora_runner.run import opening
from playmolt_agora_runner.world import worlds

_NO_FOLDER: Final = PlanFolder()


def examined(
    found: ParsedPlan,
    catalogue: Catalogue,
    folder: PlanFolder = _NO_FOLDER,
    *,
    power: PowerOf | None,
) -> Preview:
    """Work a plan out. `faults` names every reason why it would be refused; the rest is filled in regardless.

    What follows from a field at fault is left out, no more. `catalogue` prices the models, `folder` is what was
    made of the plan's folder, `power` computes the power of its tests; without it nothing is said of them.
    """
    plan = found.plan
    if plan is None:
        return _unknown(found.faults)
    # An unknown field or test does not affect the others.
    spoilt = FaultyParts(each.field for each in found.faults if each.code not in ("unknown_field", "unknown_test"))
    sized = not spoilt.any("models", "languages", "phases")
    sound = _sound_rooms(found, folder, spoilt)
    whole = sized and not spoilt.any("rooms")
    # The runs of a room with a faulty file cannot be counted.
    counted = whole and len(folder.rooms) == len(plan.rooms or ())
    priced = counted and not spoilt.any("sampling", "reask", "interviews")
    projection = costs.project(plan, catalogue, folder.rooms) if priced else costs.Projection()
    squared = () if spoilt.any(*_PHASE2) else latin_squares.squares(plan)
    found_power = _power(plan, spoilt, power)
    tests = found_power.tests if found_power else ()
    rows = tuple(_row(cell) for cell in matrix.cells(plan, sound)) if sized else ()
    refusals = [
        *(() if spoilt.any("models") else _model_faults(plan, catalogue)),
        *(interview_faults.of_seats(plan, folder.rooms, found.places) if whole else ()),
        *(() if plan.allow_unbalanced else _square_faults(squared)),
        *_effect_faults(plan, found_power),
        *_test_faults(plan, tests, found_power),
        *(_opening_faults(plan, folder) if whole else ()),
    ]
    # A fault of the folder may follow from a list of the plan with a member at fault.
    unaffected = (fault for fault in folder.faults if fault.file or not spoilt.inside(fault.field))
    return copied(
        Preview,
        projection,
        name=None if spoilt.any("name") else plan.name,
        plan_hash=digest(plan),
        **{name: sum(getattr(row, name) for row in rows) if counted else None for name in ("runs", "agents", "turns")},
        scripted=any(is_scripted(model) for model in plans.all_models(plan)),
        exploratory=plan.exploratory,
        matrix=rows,
        squares=squared,
        tests=tests,
        warnings=(*(_warnings(plan, catalogue, projection, squared, found_power) if sized else ()), *folder.warnings),
        folder=folder.folder,
        faults=(*found.faults, *found.placed((*refusals, *unaffected))),
    )


_PHASE2: Final = ("models", "languages", "phases.phase2", "pairs", "shuffle_labels", "home_policy", "allow_unbalanced")
_PCS: Final = ("models", "languages", "phases.stage1", "phases.phase1", "stage1_import")


def _sound_rooms(found: ParsedPlan, folder: PlanFolder, spoilt: FaultyParts) -> tuple[LockedRoom, ...]:
    rooms = found.plan.rooms or () if found.plan else ()
    sound = {room.name for at, room in placed("rooms", rooms, found.places) if not spoilt.any(at)}
    return tuple(room for room in folder.rooms if room.name in sound)


def _unknown(faults: tuple[PlanFault, ...]) -> Preview:
    return copied(
        Preview, costs.Projection(), name=None, plan_hash=None, runs=None, agents=None, turns=None, scripted=False,
        exploratory=False, matrix=(), squares=(), tests=(), warnings=(), faults=faults,
    )  # fmt: skip


def _power(plan: Plan, spoilt: FaultyParts, power: PowerOf | None) -> Power | None:
    """The tests with faultless arms, with their power; None where no test is left to compute anything for."""
    tests = [test for test in plans.known_tests(plan) if not spoilt.any(*(_PCS if is_pcs(test) else _PHASE2))]
    return power(design(plan, tests)) if power and (tests or plans.hypotheses(plan)) else None


def _row(cell: matrix.Cell) -> MatrixCell:
    agents = cell.runs * cell.agents
    return copied(MatrixCell, cell, cell=cell.name, phase=cell.phase, agents=agents, turns=agents * cell.turns)


def _square_faults(squared: tuple[Square, ...]) -> Iterator[PlanFault]:
    for square in squared:
        for reason in square.reasons:
            message = f"sets {', '.join(square.sets)} are unbalanced: {reason}. `allow_unbalanced: true` runs it so"
            yield PlanFault("phases.phase2", message, code="unbalanced")


def _opening_faults(plan: Plan, folder: PlanFolder) -> Iterator[PlanFault]:
    """What would prevent a run from opening, once per phase: it could not be fixed after preregistration."""
    seen: set[tuple[str, FieldFault]] = set()
    names = [room.name for room in plan.rooms or ()]
    for spec in matrix.specs(plan, "", folder.rooms):
        place = f"rooms[{names.index(spec.phase)}]" if spec.phase in names else f"phases.{spec.phase}"
        for fault in opening.faults(spec):
            if (place, fault) not in seen:
                seen.add((place, fault))
                yield PlanFault(place, f"{fault.field} {fault.message}")


def _model_faults(plan: Plan, catalogue: Catalogue) -> Iterator[PlanFault]:
    money = plan.budget.money is not None or plan.budget.per_run.money is not None
    known = plans.known_models(catalogue)
    for model in plans.all_models(plan):
        entry = catalogue.models.get(model)
        if model not in known:
            message = f"{model} is not in the catalogue; it has {', '.join(known)}"
            yield PlanFault("models", message, code="unknown_model")
        elif money and not budget.with_prices(model, entry).priced:
            message = f"{model} has no price: give it input_price and output_price, or limit tokens or calls"
            yield PlanFault("budget.money", message, code="no_price")
        longest = entry.reply_tokens if entry else None
        if longest is not None and plan.sampling.max_tokens > longest:
            asked = plan.sampling.max_tokens
            message = f"is {asked}, but {model} replies with at most {longest} tokens: write max_tokens: {longest}"
            yield PlanFault("sampling.max_tokens", message)


def _effect_faults(plan: Plan, power: Power | None) -> Iterator[PlanFault]:
    stated = [each for each in plans.hypotheses(plan) if each.effect is not UNSET]
    for kind in (True, False):
        most = _most_effect(power, pcs=kind)
        alike = by_value((each for each in stated if is_pcs(each.test) == kind), "effect")
        for (effect,), tests in alike.items():
            if float(str(effect)) > most:
                yield PlanFault("hypotheses", f"{tests}: effect {effect} must be 0 to {most:.2f}")


def _most_effect(power: Power | None, *, pcs: bool) -> float:
    return power.most_divergence if power and pcs else 1.0


def _test_faults(plan: Plan, tests: tuple[PlannedTest, ...], power: Power | None) -> Iterator[PlanFault]:
    for test in tests:
        most = _most_effect(power, pcs=is_pcs(test.test))
        sound = float(test.effect or 0) <= most and float(test.dispersion or 0) < 1
        if not (sound and 0 < float(test.alpha) < 1):
            # What a value at fault gives says nothing of the design.
            continue
        if test.confirmatory and not test.reachable:
            yield PlanFault("hypotheses", _unreachable(test), code="unreachable")
        elif test.confirmatory and test.underpowered and not test.declared:
            yield PlanFault("hypotheses", _underpowered(test), code="underpowered")
        elif test.confirmatory and test.family == "pcs":
            yield from _few_stage1_runs(plan, test.test.partition(":")[2])


def _unreachable(test: PlannedTest) -> str:
    if test.p_exact is None:
        return f"{test.test} gives no p in this design: {test.note}"
    corrected = f", {test.p_holm:.4g} after Holm" if test.p_holm not in (None, test.p_min) else ""
    return (
        f"{test.test} cannot reach alpha {test.alpha}: with {test.n} the smallest p is {test.p_exact} = "
        f"{test.p_min:.4g}{corrected}. Plan more runs, or leave it out: it is then reported as descriptive"
    )


def _underpowered(test: PlannedTest) -> str:
    return (
        f"{test.test} has a power of {test.power:.2f} at an effect of {test.effect} and a dispersion of "
        f"{test.dispersion} with {test.n}. Plan more runs, state another effect, or say `underpowered: true` for it"
    )


def _few_stage1_runs(plan: Plan, model: str) -> Iterator[PlanFault]:
    for language in plans.languages(plan, "phase1"):
        count = plans.stage1_runs(plan, model, language)
        if 0 < count < plans.STAGE1_RUNS:
            message = f"a test of PCS needs {plans.STAGE1_RUNS} Stage 1 runs a cell; {model} in {language} has {count}"
            yield PlanFault("phases.stage1.runs", message, code="unreachable")


def _warnings(
    plan: Plan, catalogue: Catalogue, projection: costs.Projection, squared: tuple[Square, ...], power: Power | None
) -> Iterator[str]:
    yield from _status_warnings(plan)
    yield from _batch_warnings(plan, catalogue)
    yield from _cost_warnings(plan, projection)
    yield from _world_warnings(plan)
    yield from _design_warnings(plan, squared)
    yield from _test_warnings(plan, squared, power)


def _status_warnings(plan: Plan) -> Iterator[str]:
    played = [model for model in plans.all_models(plan) if is_scripted(model)]
    if played:
        yield f"Scripted models ({', '.join(played)}) play here: no language model answers, and reports say so."
    # A temperature at fault is text of any kind.
    if plan.sampling.temperature and not plan.sampling.temperature.strip("0."):
        yield (
            "Temperature 0: a model may answer the same prompt with the same text, so that runs are identical. "
            "Identical runs count once; without a difference neither interval nor p is given. Raise the temperature."
        )
    yield from (plans.probe_sentence(probe) for probe in plan.probes or ())
    if plan.exploratory:
        yield "Exploratory: none of these runs enters PCS or a test."
    elif not plans.hypotheses(plan):
        yield "No hypotheses name a test: nothing is tested in confirmation, every figure is descriptive."
    if plans.claims(plan):
        yield f"{len(plans.claims(plan))} hypotheses name no test: they are recorded, not tested."
    if isinstance(plan.stage1_import, Stage1Import):
        yield f"Stage 1 is not played here: its counts come from {plan.stage1_import.file}, and reports name the file."


def _batch_warnings(plan: Plan, catalogue: Catalogue) -> Iterator[str]:
    if not plans.plays_in_batches(plan):
        return
    entries = {model: catalogue.models.get(model) for model in plans.all_models(plan)}
    single = [model for model, entry in entries.items() if entry is not None and not entry.batch]
    if single:
        yield (
            f"batch.play: {', '.join(single)} cannot be asked in batches, only one call at a time at the normal prices "
            "(`batch = true` in the catalogue says that a server takes batches)."
        )


def _cost_warnings(plan: Plan, projection: costs.Projection) -> Iterator[str]:
    unpriced = [each.model for each in projection.models if each.cost is None]
    if unpriced:
        yield f"No price is known for {', '.join(unpriced)}: the cost is unknown, not 0."
    limits = (
        ("money", plan.budget.money, projection.cost),
        ("tokens", plan.budget.tokens, projection.tokens),
        ("calls", plan.budget.calls, projection.calls),
    )
    for name, most, expected in limits:
        if most is not None and expected is not None and Decimal(most) < Decimal(expected):
            yield f"The budget of {most} {name} is below the expected {expected}: the experiment will stop on the way."


def _world_warnings(plan: Plan) -> Iterator[str]:
    for arm in ARMS:
        phase = plans.phase_of(plan, arm)
        if phase is None or arm == "phase2":
            continue
        rules = worlds.rules(plans.world(arm), plans.overrides(arm, phase.rules))
        if isinstance(rules, Rules) and rules.skills and rules.tax_rounding == "at_least_one":
            yield (
                f"{arm}: the tax on a trade is 1 at every rate from 1 to 30 %, so that adjust_tax only switches tax on "
                "or off (`tax_rounding: exact` takes the rate as it is)."
            )


def _design_warnings(plan: Plan, squared: tuple[Square, ...]) -> Iterator[str]:
    conditions = {square.condition for square in squared}
    if "A" in conditions and plan.home_policy == "persona":
        yield (
            "With personas (Sets A, B) persona and home go together: archivists start in the plaza, merchants in the "
            "market, jesters in the alley (`home_policy: rotated` unties them)."
        )
    if squared:
        yield "Ids that name a persona reveal it: Phase 2 has neutral ones (agent_01 …) with and without personas."
    if "B" in conditions:
        yield "Without personas (Sets C, D) the interaction of model and place is aliased with the run."
    if conditions == {"A", "B"}:
        yield "Homes differ between runs with and without personas: persona washout compares both."
    if plan.pairs == "all" and "A" in conditions and len(latin_squares.labels(plan)) % 2 == 0:
        yield "pairs: all with an even number of models: the last offset is not slot-balanced."
    for square in squared:
        if plan.allow_unbalanced and not square.balanced:
            yield f"Sets {', '.join(square.sets)} are unbalanced, as allowed: {'; '.join(square.reasons)}."


def _test_warnings(plan: Plan, squared: tuple[Square, ...], power: Power | None) -> Iterator[str]:
    named = {hypothesis.test for hypothesis in plans.hypotheses(plan)}
    level = power.level if power else None
    if level is not None:
        runs = sum(len(square.runs) * len(square.sets) for square in squared if square.condition == "A")
        yield (
            f"H2b with {runs} runs: the observed SD of the slopes must be below {level.sd:.4f} at a mean "
            f"of 0; 80 % power needs a true SD of about {level.needed:.3f} (at {level.sd:.4f} it is "
            f"{100 * level.power:.0f} %)."
        )
    if any(map(is_pcs, named)):
        yield "PCS is tested per model over its languages; single cells print p unadjusted, as description."
    adaptive = plan.adaptive
    if adaptive is not None:
        yield (
            f"Adaptive: after the planned runs, Phase 1 cells grow until the interval of {adaptive.measure} is "
            f"{adaptive.width} wide or they hold {adaptive.max_runs} runs; every look is logged."
        )
    if adaptive is not None and named:
        yield "Adaptive sampling looks at the data before the tests: their p are not corrected for the looks."
