"""Acts and their results: success, reason of failure, and the steps in the ledgers.

An attempt is checked in the order place, target, amount, named rules, cost, resources; the first that fails is its
reason, which the prompts word. An attempt that fails costs nothing and changes nothing.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace
from playmolt_schemas.stored.agora.own_world import Amounts
from playmolt_schemas.stored.agora.turn import Effect

from playmolt_agora_runner.world import ledger, world
from playmolt_agora_runner.world.named_rules import RULES, ActAttempt, Deed, Reason, may_contest
from playmolt_agora_runner.world.state import RunState
from playmolt_agora_runner.world.world import Row

_WHOLE: Final = re.compile(r"\+?(\d{1,6})", re.ASCII)
_SHORT: Final[Mapping[str, Reason]] = dict.fromkeys(("not_here", "unknown_place", "same_place"), "no_target")


def judged(attempt: ActAttempt, action: str) -> Deed:
    """Judge an attempt of an action of the world; LookupError for any other."""
    row = attempt.world.rows[action]
    amount = amount_of(row, attempt.content)
    reason = _refused(attempt, row, amount)
    if reason is not None:
        reason = reason if row.packaged else _SHORT.get(reason, reason)
        return Deed(agent=attempt.agent, reason=reason, amount=amount)
    return _deed(attempt, row, amount)


def allowed(state: RunState, agent: str) -> dict[str, Row]:
    """The actions that an agent may attempt now: skills are the architect's, a contest some ranks'."""
    return {name: row for name, row in world.of(state).rows.items() if _open_to(state, agent, row)}


def _open_to(state: RunState, agent: str, row: Row) -> bool:
    if not row.rules:
        return True
    if "architect" in row.rules and state.seat(agent).persona != "architect":
        return False
    return "contest" not in row.rules or may_contest(state, agent)


def effects(state: RunState, deed: Deed) -> tuple[Effect, Effect]:
    """The applied effect of a deed, and its shadow effect."""
    if not deed.success:
        return Effect(), Effect()
    applied, shadow = Effect(), Effect()
    if state.rules.energy.ledger != "none":
        steps = ((deed.agent, -deed.cost), (deed.agent, deed.gained), (deed.target, deed.given))
        energy = ledger.moved(state, (step for step in steps if step[1]))
        applied, shadow = ledger.reckoned(state, Effect(energy=energy, treasury=deed.treasury))
    influence = {deed.agent: deed.earned} if deed.earned else {}
    influence |= {deed.target: deed.influence} if deed.influence else {}
    return replace(applied, influence=influence if state.rules.influence else {}, resources=deed.resources), shadow


def null_effect(state: RunState, deed: Deed | None, applied: Effect) -> bool:
    """Whether an act changed no agent's energy or influence (measures.md, 5).

    Who paid and got as much back, at the maximum, is where it was, and yet paid.
    """
    if any(applied.energy.values()) or any(applied.influence.values()) or applied.resources:
        return False
    real = state.rules.energy.ledger == "real"
    return not (real and deed and deed.success and (deed.cost or deed.gained < 0))


def feasible(state: RunState, agent: str) -> tuple[str, ...]:
    """The actions that could have succeeded with the right target and amount (measures.md, 2)."""
    attempt, rows = ActAttempt(state, agent), allowed(state, agent)
    return tuple(name for name, row in rows.items() if row.listed and _possible(attempt, row))


def _possible(attempt: ActAttempt, row: Row) -> bool:
    target: str | None = attempt.agent if "subsidy" in row.rules else None
    if row.target == "agent":
        target = next(iter(attempt.beside), None)
    elif row.target == "place":
        target = next((goal for goal in goals(attempt, row) if not _full(attempt, goal)), None)
    amount = 1 if row.amount is None else row.amount.min
    return _refused(ActAttempt(attempt.state, attempt.agent, target, str(amount)), row, amount) is None


def goals(attempt: ActAttempt, row: Row) -> tuple[str, ...]:
    """The places that an act can aim at."""
    return attempt.world.goals(attempt.place) if row.does == "move" else tuple(attempt.world.places)


def offered_at(attempt: ActAttempt, row: Row) -> bool:
    """Whether a row can be done at the attempt's place, as far as the place goes."""
    bound = (attempt.world.resources[name].place for name in row.take)
    return (not row.where or attempt.place in row.where) and all(where in (None, attempt.place) for where in bound)


def amount_of(row: Row, content: str | None) -> int | None:
    """The amount that a content names; None if it is out of range."""
    found = _WHOLE.fullmatch(content.strip()) if content and row.amount is not None else None
    if found is None or row.amount is None:
        return None
    amount = int(found[1])
    return amount if row.amount.min <= amount <= row.amount.max else None


def _refused(attempt: ActAttempt, row: Row, amount: int | None) -> Reason | None:
    if not offered_at(attempt, row):
        return "wrong_place"
    if (missing := _unmet(attempt, row)) is not None:
        return missing
    if row.amount is not None and amount is None:
        return "bad_amount"
    for name in row.rules:
        refuses = RULES[name].refuses
        if refuses is not None and (reason := refuses(attempt, row)) is not None:
            return reason
    return _unpaid(attempt, row, amount)


def _unmet(attempt: ActAttempt, row: Row) -> Reason | None:
    """Why there is no such counterpart."""
    target = attempt.target
    if row.target == "none":
        return None
    if target is None or target == attempt.agent:
        return "no_target"
    if row.target == "agent":
        return None if target in attempt.beside else "not_here"
    if target not in attempt.world.places:
        return "unknown_place"
    if target not in goals(attempt, row):
        return "same_place" if target == attempt.place else "no_target"
    return "place_full" if row.does == "move" and _full(attempt, target) else None


def _full(attempt: ActAttempt, place: str) -> bool:
    capacity = attempt.world.places[place].capacity
    return bool(capacity) and len(attempt.state.there(place)) >= capacity


def _unpaid(attempt: ActAttempt, row: Row, amount: int | None) -> Reason | None:
    """An equal amount suffices. A shadow cost is always affordable."""
    state, held = attempt.state, attempt.state.agents[attempt.agent]
    cost, influence = _both(row.cost, amount)
    if state.rules.energy.ledger == "real" and held.energy < cost * state.rules.unit:
        return "not_enough_energy"
    if held.influence < influence:
        return "not_enough_influence"
    short = any(state.resources[name] < valued(value, amount) for name, value in row.take.items())
    return "not_enough_resource" if short else None


def _deed(attempt: ActAttempt, row: Row, amount: int | None) -> Deed:
    unit = attempt.state.rules.unit
    (cost, paid), (gain, earned), (give, given) = (_both(part, amount) for part in (row.cost, row.gain, row.give))
    taken = {name: -valued(value, amount) for name, value in row.take.items()}
    deed = Deed(
        agent=attempt.agent,
        target=str(attempt.target),
        amount=amount,
        cost=cost * unit,
        gained=gain * unit,
        earned=earned - paid,
        given=give * unit,
        influence=given,
        place=attempt.target if row.does == "move" else None,
        resources={name: step for name, step in taken.items() if step},
    )
    for name in row.rules:
        changes = RULES[name].changes
        if changes is not None:
            changes(attempt, deed, row)
    return deed


def _both(amounts: Amounts, amount: int | None) -> tuple[int, int]:
    return valued(amounts.energy, amount), valued(amounts.influence, amount)


def valued(value: int | str, amount: int | None) -> int:
    """A number of a row, which may be the amount of the act."""
    return (amount or 0) if value == "amount" else int(value)
