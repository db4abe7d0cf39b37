"""Who plays whom where in Phase 2: Latin squares with their margins (measures.md, section 9)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from playmolt_core.game import draws
from playmolt_schemas.stored.agora.plan import HomePolicy, Pairs, Plan, Square, SquareAgent, SquareRun
from playmolt_schemas.stored.agora.turn import Persona

from playmolt_agora_runner.plan import plan as plans

PERSONAS: Final[tuple[Persona, ...]] = ("archivist", "merchant", "jester")
PLACES: Final = ("plaza", "market", "alley")

Margins = dict[str, dict[str, dict[str, int]]]


def offsets(models: int, pairs: Pairs = "neighbours") -> tuple[tuple[int, int], ...]:
    """(run, d) of each run of one whole square of condition A."""
    if pairs == "neighbours" or models < 2:
        return tuple((run, 1) for run in range(models))
    return tuple(
        (run, d) for d in range(1, models // 2 + 1) for run in range(models // 2 if 2 * d == models else models)
    )


def pair(run: int, persona: int, d: int, models: int) -> tuple[int, int]:
    """The two models of a persona in a run, slot by slot (general rule, A)."""
    return (run + persona) % models, (run + persona + d) % models


def place(run: int, unit: int, models: int) -> int:
    """The number of the place where unit 0 … 2k − 1 starts (general rule, B)."""
    block = unit // 2 if models % len(PLACES) == 0 else unit
    return (block - run) % len(PLACES)


def squares(plan: Plan) -> tuple[Square, ...]:
    """The squares of a plan's sets: one for the sets with personas, one for those without."""
    phase, models = plans.phase_of(plan, "phase2"), labels(plan)
    numbers = range(1, phase.runs + 1) if phase else range(0)
    made = []
    for personas in (True, False):
        names = tuple(name for name in plans.sets(plan) if (name in plans.WITH_PERSONA) == personas)
        if not names:
            continue
        runs = tuple(SquareRun(number, seats(plan, number, personas=personas)) for number in numbers)
        reasons = reasons_a(len(models), len(runs), plan.pairs) if personas else reasons_b(len(runs))
        made.append(Square(
            sets=names, condition="A" if personas else "B", models=models, runs=runs,
            margins=margins_a(runs) if personas else margins_b(runs), balanced=not reasons, reasons=reasons,
        ))  # fmt: skip
    return tuple(made)


def seats(plan: Plan, number: int, *, personas: bool) -> tuple[SquareAgent, ...]:
    """The seats of a run with or without personas, by its number from 1."""
    if personas:
        return seats_a(labels(plan), number, pairs=plan.pairs, home_policy=plan.home_policy)
    return seats_b(labels(plan), number)


def labels(plan: Plan) -> tuple[str, ...]:
    """The models of Phase 2 in the order that the squares use: the plan's, or a drawn one."""
    models = plans.models(plan, "phase2")
    return draws.shuffle(plan.seed, "squares/labels", models) if plan.shuffle_labels else models


def seats_a(
    models: Sequence[str], number: int, *, pairs: Pairs = "neighbours", home_policy: HomePolicy = "persona"
) -> tuple[SquareAgent, ...]:
    """The seats of condition A's run of that number, from 1: two models for each persona.

    After its last run the square begins again.
    """
    base = offsets(len(models), pairs)
    run, d = base[(number - 1) % len(base)]
    agents: list[SquareAgent] = []
    for persona, name in enumerate(PERSONAS):
        home = PLACES[(persona - (number - 1)) % len(PLACES) if home_policy == "rotated" else persona]
        for slot, model in enumerate(pair(run, persona, d, len(models)), 1):
            agents.append(
                SquareAgent(agent=agent_id(len(agents)), model=models[model], home=home, persona=name, slot=slot)
            )
    return tuple(agents)


def seats_b(models: Sequence[str], number: int) -> tuple[SquareAgent, ...]:
    """The seats of condition B's run of that number, from 1: two agents of each model."""
    return tuple(
        SquareAgent(agent=agent_id(unit), model=models[unit // 2], home=PLACES[place(number - 1, unit, len(models))])
        for unit in range(2 * len(models))
    )


def agent_id(seat: int) -> str:
    """A seat's neutral id: an id that named the persona would reveal it."""
    return f"agent_{seat + 1:02d}"


def reasons_a(models: int, runs: int, pairs: Pairs = "neighbours") -> tuple[str, ...]:
    """Why a request of condition A cannot be balanced; nothing when it is."""
    reasons = []
    if models != len(PERSONAS):
        reasons.append(
            f"{models} models over {len(PERSONAS)} personas: each model occurs twice in every run only if there are as "
            "many models as personas"
        )
    whole = len(offsets(models, pairs))
    if runs % whole:
        reasons.append(
            f"{runs} runs are not a multiple of {whole}: only whole squares give each persona each model equally often"
        )
    return tuple(reasons)


def reasons_b(runs: int) -> tuple[str, ...]:
    """Why a request of condition B cannot be balanced; nothing when it is."""
    if runs % len(PLACES) == 0:
        return ()
    return (f"{runs} runs are not a multiple of {len(PLACES)}: models do not start equally often in each place",)


def margins_a(runs: Sequence[SquareRun]) -> Margins:
    """Count what a square of condition A has to balance."""
    agents = [(run.run, agent) for run in runs for agent in run.agents]
    models = dict.fromkeys(agent.model for _, agent in agents)
    played = [
        (run.run, persona, sorted({agent.model for agent in run.agents if agent.persona == persona}))
        for run in runs
        for persona in PERSONAS
    ]
    return {
        "persona × model": _table((str(agent.persona), agent.model) for _, agent in agents),
        "run × model": _table((str(run), agent.model) for run, agent in agents),
        "slot × model": _table((f"{agent.persona} {agent.slot}", agent.model) for _, agent in agents),
        "persona × pair": _table(
            (persona, " + ".join(two)) for _, persona, by in played for two in combinations(by, 2)
        ),
        "run × persona without": _table(
            (f"{run} {persona}", model) for run, persona, by in played for model in models if model not in by
        ),
        "model × home": _table((agent.model, agent.home) for _, agent in agents),
        "persona × home": _table((str(agent.persona), agent.home) for _, agent in agents),
    }


def margins_b(runs: Sequence[SquareRun]) -> Margins:
    """Count what a square of condition B has to balance."""
    agents = [(run.run, agent) for run in runs for agent in run.agents]
    return {
        "model × home": _table((agent.model, agent.home) for _, agent in agents),
        "run × home": _table((str(run), agent.home) for run, agent in agents),
        "run × model": _table((str(run), agent.model) for run, agent in agents),
    }


def _table(cells: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    for (row, column), count in Counter(cells).items():
        counted.setdefault(row, {})[column] = count
    return {row: dict(sorted(columns.items())) for row, columns in counted.items()}
