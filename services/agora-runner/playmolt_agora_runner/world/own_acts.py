"""The acts of a world of a plan's folder: place, target, amount, cost, resources, and then all effects at once."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import msgspec
from msgspec import UNSET
from playmolt_schemas.instrument import lexicon as coding
from playmolt_schemas.stored.agora.own_world import Amounts, OwnAction, OwnWorld
from playmolt_schemas.stored.agora.turn import ACTIONS, FnClass

OwnReason = Literal[
    "wrong_place", "no_target", "bad_amount", "not_enough_energy", "not_enough_influence", "not_enough_resource",
    "place_full",
]  # fmt: skip
REASONS: Final[tuple[OwnReason, ...]] = get_args(OwnReason)
_WHOLE: Final = re.compile(r"\+?(\d{1,6})", re.ASCII)


class OwnAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempted act: the agent, its place, who is there and what it holds; energy in whole units."""

    place: str
    beside: tuple[str, ...]
    energy: int | None
    """None unless energy is real."""
    influence: int
    resources: Mapping[str, int]
    full: frozenset[str] = frozenset()
    target: str | None = None
    content: str | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result; a failed act changes nothing. `gained` is the actor's energy after the cost."""

    reason: OwnReason | None = None
    amount: int | None = None
    gained: int = 0
    influence: int = 0
    given: Amounts = Amounts()
    resources: dict[str, int] = {}
    goal: str | None = None


def judged(world: OwnWorld, action: OwnAction, attempt: OwnAttempt) -> Outcome:
    """Judge an act; the first of the conditions that fails is its reason."""
    amount = amount_of(action, attempt.content)
    reason = _refused(world, action, attempt, amount)
    if reason is not None:
        return Outcome(reason=reason, amount=amount)
    cost, gain = _valued(action.cost, amount), _valued(action.gain, amount)
    taken = {name: _value(value, amount) for name, value in action.take.items()}
    return Outcome(
        amount=amount,
        gained=gain["energy"] - cost["energy"],
        influence=gain["influence"] - cost["influence"],
        given=Amounts(**_valued(action.give, amount)),
        resources={name: -value for name, value in taken.items() if value},
        goal=attempt.target if action.does == "move" else None,
    )


def _refused(world: OwnWorld, action: OwnAction, attempt: OwnAttempt, amount: int | None) -> OwnReason | None:
    if not _may_here(world, action, attempt.place):
        return "wrong_place"
    if (missing := _unmet(world, action, attempt)) is not None:
        return missing
    if action.amount is not None and amount is None:
        return "bad_amount"
    return _unpaid(action, attempt, amount)


def _unpaid(action: OwnAction, attempt: OwnAttempt, amount: int | None) -> OwnReason | None:
    cost = _valued(action.cost, amount)
    if attempt.energy is not None and attempt.energy < cost["energy"]:
        return "not_enough_energy"
    if attempt.influence < cost["influence"]:
        return "not_enough_influence"
    short = any(attempt.resources[name] < _value(value, amount) for name, value in action.take.items())
    return "not_enough_resource" if short else None


def possible(world: OwnWorld, action: OwnAction, attempt: OwnAttempt) -> bool:
    """Whether it could succeed with the right target and the right amount."""
    target: str | None = None
    if action.target == "agent":
        target = next(iter(attempt.beside), None)
    elif action.target == "place":
        target = next((goal for goal in world.goals(attempt.place) if goal not in attempt.full), None)
    least = None if action.amount is None else str(action.amount.min)
    tried = msgspec.structs.replace(attempt, target=target, content=least)
    return judged(world, action, tried).reason is None


def amount_of(action: OwnAction, content: str | None) -> int | None:
    """The amount that a content names; None if it is out of range."""
    found = _WHOLE.fullmatch(content.strip()) if content and action.amount is not None else None
    if found is None or action.amount is None:
        return None
    amount = int(found[1])
    return amount if action.amount.min <= amount <= action.amount.max else None


def base_of(world: OwnWorld, name: str) -> str | None:
    """The action under which measures count an action; None if they do not count it."""
    action = world.actions.get(name)
    if action is not None and action.counts_as is not None:
        return action.counts_as
    return name if name in ACTIONS else None


def class_of(world: OwnWorld, name: str) -> FnClass | None:
    action = world.actions.get(name)
    if action is not None and action.fn_class is not None:
        return action.fn_class
    return coding.fn_class(base_of(world, name))


def least(value: object) -> object:
    """The least value of an amount: 0 if the act names it."""
    return 0 if value == "amount" else value


def _may_here(world: OwnWorld, action: OwnAction, place: str) -> bool:
    bound = (world.resources[name].place for name in action.take)
    return place in (action.where or world.places) and all(where in (None, place) for where in bound)


def _unmet(world: OwnWorld, action: OwnAction, attempt: OwnAttempt) -> OwnReason | None:
    if action.target == "agent":
        return None if attempt.target in attempt.beside else "no_target"
    if action.target == "place":
        known = world.places if action.does != "move" else world.goals(attempt.place)
        if attempt.target not in known:
            return "no_target"
        return "place_full" if action.does == "move" and attempt.target in attempt.full else None
    return None


def _valued(amounts: Amounts, amount: int | None) -> dict[str, int]:
    return {"energy": _value(amounts.energy, amount), "influence": _value(amounts.influence, amount)}


def _value(value: Any, amount: int | None) -> int:
    return (amount or 0) if value == "amount" else int(value)


def hearing_is_own(world: OwnWorld) -> bool:
    """Whether the world defines its listeners; otherwise acts of a packaged world have that world's listeners."""
    return world.hearing is not UNSET or not world.packaged
