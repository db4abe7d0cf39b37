"""What a plan will take: calls, tokens and money, expected and at most, before anything runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.port import Usage
from playmolt_schemas.agora.plan import ModelCost
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.turn import Language, PhaseName, Seat
from playmolt_schemas.text import decimal_text

from playmolt_agora_runner import budget
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.plan import plan as plans

COMPLETION_TOKENS: Final = 150
"""A reply of one thought and one sentence, as a plan expects it; `max_tokens` is what it may be."""
PROMPT_TOKENS: Final[Mapping[tuple[PhaseName, Language], int]] = {
    ("stage1", "ko"): 2900,
    ("stage1", "en"): 1900,
    ("phase1", "ko"): 2500,
    ("phase1", "en"): 1700,
    ("phase2", "ko"): 1200,
    ("phase2", "en"): 850,
}
"""Both messages of a turn with events and history full of one-sentence utterances."""
HAPPENINGS: Final[Mapping[PhaseName, int]] = {"stage1": 20, "phase1": 20, "phase2": 10}
"""How many utterances a prompt quotes at most, each as long as a reply may be."""


class Projection(msgspec.Struct, frozen=True, kw_only=True):
    """A plan's sums: expected (one call a turn and a question asked aside) and at most (every re-ask, the longest
    prompts and replies). `interviews` are the calls for such questions. What cannot be worked out is null."""

    interviews: int | UnsetType = UNSET
    calls: int | None = None
    calls_most: int | None = None
    tokens: int | None = None
    cost: str | None = None
    cost_most: str | None = None
    models: tuple[ModelCost, ...] = ()


def project(plan: Plan, catalogue: Catalogue, rooms: matrix.Rooms = ()) -> Projection:
    """Project what a plan takes with the catalogue's prices; a cost is None where one of them is unknown."""
    turns: Counter[tuple[str, PhaseName, Language]] = Counter()
    interviews = 0
    for cell, number in matrix.planned(plan, rooms):
        for seat in matrix.seats_of(plan, cell, number):
            asked = asked_aside(plan, seat, cell.turns)
            interviews += asked
            # A question is asked with the scene of a turn, so that its prompt is about as long.
            turns[seat.model, cell.base, cell.language] += cell.turns + asked
    models, longest = plans.all_models(plan), plan.sampling.max_tokens
    expected = _expected(plan, catalogue)
    usual = [_model(expected, model, turns, calls=1, reply=COMPLETION_TOKENS, longer=0) for model in models]
    most = [_model(catalogue, model, turns, calls=1 + plan.reask, reply=longest, longer=longest) for model in models]
    return Projection(
        interviews=interviews if plan.interviews else UNSET,
        calls=sum(each.calls for each in usual),
        calls_most=sum(each.calls for each in most),
        tokens=sum(each.prompt_tokens + each.completion_tokens for each in usual),
        cost=_total(usual),
        cost_most=_total(most),
        models=tuple(usual),
    )


def asked_aside(plan: Plan, seat: Seat, turns: int) -> int:
    """How many questions an agent is asked in a run of so many turns, if it lives."""
    asked = (interview for interview in plan.interviews or () if interview.asks(seat))
    return sum(at <= turns for interview in asked for at in interview.at)


def _expected(plan: Plan, catalogue: Catalogue) -> Catalogue:
    """At the prices of batches where a plan plays in them; what they do not answer costs the plain ones."""
    if not plans.plays_in_batches(plan):
        return catalogue
    return Catalogue({name: each.in_batches if each.batch else each for name, each in catalogue.models.items()})


def _model(
    catalogue: Catalogue, model: str, turns: Mapping[tuple[str, PhaseName, Language], int], *, calls: int, reply: int,
    longer: int,
) -> ModelCost:  # fmt: skip
    """What a model's turns take, each of so many calls with a reply of so many tokens; `longer` is by how many tokens
    each quoted utterance is longer than usual."""
    mine = {(phase, language): count for (name, phase, language), count in turns.items() if name == model}
    asked = calls * sum(mine.values())
    # A re-ask quotes the reply that did not parse, hence one more.
    prompt = calls * sum(
        count * (PROMPT_TOKENS[phase, language] + longer * (HAPPENINGS[phase] + 1))
        for (phase, language), count in mine.items()
    )
    completion = asked * reply
    return ModelCost(
        model=model,
        scripted=is_scripted(model),
        calls=asked,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=budget.with_prices(model, catalogue.models.get(model)).cost(Usage(prompt, completion)),
    )


def _total(models: Sequence[ModelCost]) -> str | None:
    """Add costs; None as soon as one is unknown."""
    known = [Decimal(each.cost) for each in models if each.cost is not None]
    return decimal_text(sum(known, Decimal(0))) if len(known) == len(models) else None
