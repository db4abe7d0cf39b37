"""Acts and their results: success, reason of failure, and the steps in the ledgers.

An attempt that fails costs nothing and changes nothing. A reason is one of `Reason`; the prompts word it.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, Literal

import msgspec
from playmolt_schemas.stored.agora.own_world import CONTEST, OwnAction, OwnWorld
from playmolt_schemas.stored.agora.turn import ACTIONS, Action, Effect

from playmolt_agora_runner.world import contest, ledger, market, own_acts, places
from playmolt_agora_runner.world.own_acts import OwnAttempt, OwnReason
from playmolt_agora_runner.world.state import RunState

Reason = Literal[
    OwnReason,
    "not_here",
    "unknown_place",
    "same_place",
    "not_enough_treasury",
    "bad_value",
    "nothing_to_contest",
]


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """A judged attempt. `energy` are steps in order, `influence` and `treasury` changes, `place` a move's goal."""

    reason: Reason | None = None
    energy: tuple[tuple[str, int], ...] = ()
    influence: dict[str, int] = {}
    treasury: int = 0
    place: str | None = None
    value: int | None = None
    amount: int | None = None
    resources: dict[str, int] = {}

    @property
    def success(self) -> bool:
        return self.reason is None


class ActAttempt(msgspec.Struct, frozen=True):
    """An agent's attempt in a state of the world."""

    state: RunState
    agent: str
    target: str | None = None
    content: str | None = None

    @property
    def place(self) -> str:
        return self.state.agents[self.agent].place

    @property
    def beside(self) -> tuple[str, ...]:
        return places.beside(self.state.agents, self.agent)


def judged(attempt: ActAttempt, action: str) -> Deed:
    """Judge an attempt of an action, a skill or an act of the world's own; LookupError for any other."""
    own = attempt.state.rules.own
    if own and action in own.actions:
        return _own(attempt, own, own.actions[action])
    return _DEEDS[action](attempt)


def known(state: RunState, action: str) -> bool:
    """Whether an action is one of this world; skills are the architect's, a contest some ranks'."""
    own = state.rules.own
    if own and not own.packaged:
        return action in own.actions or action == "idle"
    return action in ACTIONS or bool(own and action in own.actions)


def effects(state: RunState, deed: Deed) -> tuple[Effect, Effect]:
    """The applied effect of a deed, and its shadow effect."""
    rules = state.rules
    if not deed.success:
        return Effect(), Effect()
    influence = deed.influence if rules.influence else {}
    if rules.energy.ledger == "none":
        return Effect(influence=influence, resources=deed.resources), Effect()
    energy = ledger.moved(ledger.balances(state), deed.energy, rules.energy.max * rules.unit)
    if rules.energy.ledger == "real":
        applied = Effect(energy=energy, influence=influence, treasury=deed.treasury, resources=deed.resources)
        return applied, Effect()
    return Effect(influence=influence, resources=deed.resources), Effect(energy=energy, treasury=deed.treasury)


def null_effect(state: RunState, deed: Deed | None, applied: Effect) -> bool:
    """Whether an act changed no agent's energy or influence (measures.md, 5).

    Who paid and got as much back, at the maximum, is where it was, and yet paid.
    """
    if any(applied.energy.values()) or any(applied.influence.values()) or applied.resources:
        return False
    real = state.rules.energy.ledger == "real"
    return not (real and deed and deed.success and any(step < 0 for _, step in deed.energy))


def feasible(state: RunState, agent: str) -> tuple[str, ...]:
    """The actions that could have succeeded with the right target and amount (measures.md, 2)."""
    attempt, own = ActAttempt(state, agent), state.rules.own
    if not own:
        return tuple(action for action in ACTIONS if _possible(attempt, action))
    mine = _attempted(attempt)
    packaged = (action for action in ACTIONS if known(state, action) and action not in own.actions)
    return (
        *(action for action in packaged if _possible(attempt, action)),
        *(name for name, action in own.actions.items() if own_acts.possible(own, action, mine)),
    )


def _attempted(attempt: ActAttempt) -> OwnAttempt:
    """The attempt in the form of the world's own acts: in whole energy, if energy is real."""
    state, agent = attempt.state, attempt.state.agents[attempt.agent]
    real = state.rules.energy.ledger == "real"
    return OwnAttempt(
        place=agent.place,
        beside=attempt.beside,
        energy=agent.energy // state.rules.unit if real else None,
        influence=agent.influence,
        resources=state.resources,
        full=frozenset(name for name in state.rules.places if places.full(state.rules, state.agents, name)),
        target=attempt.target,
        content=attempt.content,
    )


def _own(attempt: ActAttempt, own: OwnWorld, action: OwnAction) -> Deed:
    found = own_acts.judged(own, action, _attempted(attempt))
    if found.reason is not None:
        return Deed(reason=found.reason, amount=found.amount)
    unit, given = attempt.state.rules.unit, found.given
    energy = [(attempt.agent, found.gained * unit)] if found.gained else []
    influence = {attempt.agent: found.influence} if found.influence else {}
    if action.target == "agent" and attempt.target is not None:
        energy += [(attempt.target, int(given.energy) * unit)] if given.energy else []
        influence |= {attempt.target: int(given.influence)} if given.influence else {}
    return Deed(
        energy=tuple(energy), influence=influence, place=found.goal, amount=found.amount, resources=found.resources
    )


def _contest(attempt: ActAttempt) -> Deed:
    is_open = contest.is_open(attempt.state, attempt.agent)
    return Deed() if is_open else Deed(reason="nothing_to_contest")


def _possible(attempt: ActAttempt, action: Action) -> bool:
    if not _payable(attempt, action):
        return False
    match action:
        case "trade":
            return attempt.place == places.MARKET
        case "support":
            return bool(attempt.beside)
        case "whisper":
            return places.is_alley(attempt.place) and bool(attempt.beside)
        case "speak":
            return _may_speak(attempt)
    return True


def _speak(attempt: ActAttempt) -> Deed:
    if not _may_speak(attempt):
        return Deed(reason="wrong_place")
    reward = attempt.state.rules.rewards.speak_alley if places.is_alley(attempt.place) else 0
    return _paid(attempt, "speak", (attempt.agent, reward))


def _trade(attempt: ActAttempt) -> Deed:
    if attempt.place != places.MARKET:
        return Deed(reason="wrong_place")
    rules, rate = attempt.state.rules, attempt.state.tax_rate
    due = market.tax(rules, rate)
    paid = _paid(attempt, "trade")
    if not paid.success:
        return paid
    # The tax comes off the reward: were it a step of its own, the maximum would cut the reward before it.
    gained = rules.rewards.trade * rules.unit - due
    return msgspec.structs.replace(paid, energy=(*paid.energy, (attempt.agent, gained)), treasury=due)


def _support(attempt: ActAttempt) -> Deed:
    reason = _unmet(attempt)
    if reason:
        return Deed(reason=reason)
    target = str(attempt.target)
    energy, influence = _support_given(attempt)
    paid = _paid(attempt, "support", (target, energy))
    return msgspec.structs.replace(paid, influence={target: influence}) if paid.success else paid


def _support_given(attempt: ActAttempt) -> tuple[int, int]:
    """An elder's factor is on the support itself, a crisis adds to the result."""
    state, rules = attempt.state, attempt.state.rules
    factor = Fraction(rules.elder_factor) if state.agents[attempt.agent].rank == "elder" else 1
    energy, influence = int(rules.rewards.support_energy * factor), rules.rewards.support_influence
    if not state.crisis:
        return energy, influence
    return energy + rules.crisis.support_energy, influence + rules.crisis.support_influence


def _whisper(attempt: ActAttempt) -> Deed:
    if not places.is_alley(attempt.place):
        return Deed(reason="wrong_place")
    reason = _unmet(attempt)
    return Deed(reason=reason) if reason else _paid(attempt, "whisper")


def _move(attempt: ActAttempt) -> Deed:
    state, goal = attempt.state, attempt.target
    if goal is None:
        return Deed(reason="no_target")
    if goal not in state.rules.places:
        return Deed(reason="unknown_place")
    if goal == attempt.place:
        return Deed(reason="same_place")
    if places.full(state.rules, state.agents, goal):
        return Deed(reason="place_full")
    paid = _paid(attempt, "move")
    return msgspec.structs.replace(paid, place=goal) if paid.success else paid


def _idle(attempt: ActAttempt) -> Deed:
    return _paid(attempt, "idle")


def _build_billboard(attempt: ActAttempt) -> Deed:
    if contest.text_of(attempt.target, attempt.content) is None:
        return Deed(reason="bad_value")
    return _paid(attempt, "billboard")


def _adjust_tax(attempt: ActAttempt) -> Deed:
    rate = contest.rate_of(attempt.target, attempt.content)
    if rate is None:
        return Deed(reason="bad_value")
    paid = _paid(attempt, "tax")
    return msgspec.structs.replace(paid, value=rate) if paid.success else paid


def _grant_subsidy(attempt: ActAttempt) -> Deed:
    target = attempt.target
    if target is None:
        return Deed(reason="no_target")
    if target not in attempt.state.living:
        return Deed(reason="not_here")
    amount = contest.amount_of(attempt.content)
    unit = attempt.state.rules.unit
    if amount is None:
        return Deed(reason="bad_value")
    if amount * unit > attempt.state.treasury:
        return Deed(reason="not_enough_treasury")
    paid = _paid(attempt, "subsidy", (target, amount))
    if not paid.success:
        return paid
    return msgspec.structs.replace(paid, treasury=-amount * unit, value=amount)


_DEEDS: Final[Mapping[str, Callable[[ActAttempt], Deed]]] = {
    "speak": _speak,
    "trade": _trade,
    "support": _support,
    "whisper": _whisper,
    "move": _move,
    "idle": _idle,
    "build_billboard": _build_billboard,
    "adjust_tax": _adjust_tax,
    "grant_subsidy": _grant_subsidy,
    CONTEST: _contest,
}


def _may_speak(attempt: ActAttempt) -> bool:
    return attempt.place != places.MARKET or attempt.state.rules.speak_in_market


def _unmet(attempt: ActAttempt) -> Reason | None:
    """Why there is no counterpart: this act needs another agent in the same place."""
    if attempt.target is None or attempt.target == attempt.agent:
        return "no_target"
    return None if attempt.target in attempt.beside else "not_here"


def _cost(attempt: ActAttempt, what: str) -> int:
    cost: int = getattr(attempt.state.rules.costs, what)
    return cost * attempt.state.rules.unit


def _payable(attempt: ActAttempt, what: str) -> bool:
    """An equal amount suffices. A shadow cost is always affordable."""
    real = attempt.state.rules.energy.ledger == "real"
    return not real or attempt.state.agents[attempt.agent].energy >= _cost(attempt, what)


def _paid(attempt: ActAttempt, what: str, *rewards: tuple[str, int]) -> Deed:
    """The deed of an act, provided that it can be paid for; rewards are in whole energy."""
    if not _payable(attempt, what):
        return Deed(reason="not_enough_energy")
    unit = attempt.state.rules.unit
    gained = tuple((agent, reward * unit) for agent, reward in rewards)
    return Deed(energy=((attempt.agent, -_cost(attempt, what)), *gained))
