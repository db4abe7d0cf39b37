"""Named rules: what an action does that a row of numbers cannot say. A row cites them, of a shipped world or a user's.

A rule may refuse an attempt, or change what it does before all effects apply at once. Some rules do neither: they are
read where an epoch or the fold has to know them (`pool`, `ties`, `leak`, `feedback`).
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, Literal

import msgspec
from playmolt_schemas.instrument.definitions import is_alley
from playmolt_schemas.stored.agora.own_world import RuleName

from playmolt_agora_runner.world import market, world
from playmolt_agora_runner.world.state import RunState
from playmolt_agora_runner.world.world import MARKET, Row, World

Reason = Literal[
    "wrong_place", "no_target", "bad_amount", "not_enough_energy", "not_enough_influence", "not_enough_resource",
    "place_full", "not_here", "unknown_place", "same_place", "not_enough_treasury", "bad_value", "nothing_to_contest",
]  # fmt: skip
RATE_MAX: Final = 30
CONTESTABLE_TURNS: Final = 2
"""In so many turns after its own an act may be contested."""
_NUMBER: Final = re.compile(r"\+?(\d{1,9})\s*%?")


class ActAttempt(msgspec.Struct, frozen=True):
    """An agent's attempt in a state of the world."""

    state: RunState
    agent: str
    target: str | None = None
    content: str | None = None

    @property
    def world(self) -> World:
        return world.of(self.state)

    @property
    def place(self) -> str:
        return self.state.agents[self.agent].place

    @property
    def beside(self) -> tuple[str, ...]:
        return self.state.beside(self.agent)


class Deed(msgspec.Struct, kw_only=True):
    """What an attempt does, or why it does nothing. Energy and treasury are in units of the run.

    `earned` is the actor's change of influence, `given` and `influence` go to `target`; `place` is a move's goal.
    """

    agent: str
    target: str = ""
    reason: Reason | None = None
    amount: int | None = None
    cost: int = 0
    gained: int = 0
    earned: int = 0
    given: int = 0
    influence: int = 0
    treasury: int = 0
    place: str | None = None
    value: int | None = None
    resources: dict[str, int] = {}

    @property
    def success(self) -> bool:
        return self.reason is None


class NamedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule. `sets` are the names of stage1.md that a world which cites it may set."""

    sets: tuple[str, ...] = ()
    refuses: Callable[[ActAttempt, Row], Reason | None] | None = None
    changes: Callable[[ActAttempt, Deed, Row], None] | None = None


def text_of(target: str | None, content: str | None, row: Row) -> str | None:
    """The text of a billboard; None when there is none. A shipped world also takes a target for one."""
    return content or (target if row.packaged else None) or None


def rate_of(target: str | None, content: str | None) -> int | None:
    """A tax rate from 0 to 30; None when neither field is one."""
    rate = _number(content) if _number(content) is not None else _number(target)
    return rate if rate is not None and rate <= RATE_MAX else None


def _number(field: str | None) -> int | None:
    found = _NUMBER.fullmatch(field.strip()) if field else None
    return int(found.group(1)) if found and found.group(1).isascii() else None


def _taxed(attempt: ActAttempt, deed: Deed, row: Row) -> None:
    # The tax comes off the gain: were it a step of its own, the maximum would cut the gain before it.
    due = market.tax(attempt.state.rules, attempt.state.tax_rate, row.gain.energy)
    deed.gained -= due
    deed.treasury += due


def _by_elder(attempt: ActAttempt, deed: Deed, _: Row) -> None:
    state = attempt.state
    if state.agents[attempt.agent].rank == "elder":
        whole = int(deed.given // state.rules.unit * Fraction(state.rules.elder_factor))
        deed.given = whole * state.rules.unit


def _in_crisis(attempt: ActAttempt, deed: Deed, _: Row) -> None:
    """More is given; after the elder's factor, which is on the support itself."""
    state = attempt.state
    if state.crisis:
        deed.given += state.rules.crisis.support_energy * state.rules.unit
        deed.influence += state.rules.crisis.support_influence


def _in_alley(attempt: ActAttempt, deed: Deed, _: Row) -> None:
    if not is_alley(attempt.place):
        deed.gained = 0


def _no_market_speech(attempt: ActAttempt, _: Row) -> Reason | None:
    return "wrong_place" if attempt.place == MARKET and not attempt.state.rules.speak_in_market else None


def _no_text(attempt: ActAttempt, row: Row) -> Reason | None:
    return "bad_value" if text_of(attempt.target, attempt.content, row) is None else None


def _no_rate(attempt: ActAttempt, _: Row) -> Reason | None:
    return "bad_value" if rate_of(attempt.target, attempt.content) is None else None


def _rate(attempt: ActAttempt, deed: Deed, _: Row) -> None:
    deed.value = rate_of(attempt.target, attempt.content)


def _no_subsidy(attempt: ActAttempt, _: Row) -> Reason | None:
    state, amount = attempt.state, _number(attempt.content)
    if attempt.target is None:
        return "no_target"
    if attempt.target not in state.living:
        return "not_here"
    if not amount:
        return "bad_value"
    return "not_enough_treasury" if amount * state.rules.unit > state.treasury else None


def _subsidy(attempt: ActAttempt, deed: Deed, _: Row) -> None:
    deed.value = _number(attempt.content) or 0
    deed.given += deed.value * attempt.state.rules.unit
    deed.treasury -= deed.value * attempt.state.rules.unit


def may_contest(state: RunState, agent: str) -> bool:
    """Whether an agent may contest now: one whose rank gives the right, once an act."""
    act, held = state.contestable, state.agents[agent]
    if not act or not world.of(state).ranked(held.influence).contest:
        return False
    return agent not in act.by and act.turn < state.turn <= act.turn + CONTESTABLE_TURNS


def _nothing_open(attempt: ActAttempt, _: Row) -> Reason | None:
    return None if may_contest(attempt.state, attempt.agent) else "nothing_to_contest"


RULES: Final[Mapping[RuleName, NamedRule]] = {
    "speak_in_market": NamedRule(refuses=_no_market_speech, sets=("speak_in_market",)),
    "alley": NamedRule(changes=_in_alley),
    "tax": NamedRule(changes=_taxed, sets=("tax_rate", "tax_rounding")),
    "pool": NamedRule(sets=("pool", "non_trader_min", "treasury_overflow", "treasury_cap")),
    "elder": NamedRule(changes=_by_elder, sets=("elder_factor",)),
    "crisis": NamedRule(changes=_in_crisis, sets=("crisis",)),
    "leak": NamedRule(sets=("leak", "leak_observer")),
    "ties": NamedRule(),
    "feedback": NamedRule(),
    "architect": NamedRule(),
    "billboard": NamedRule(refuses=_no_text, sets=("billboard_epochs",)),
    "set_tax": NamedRule(refuses=_no_rate, changes=_rate),
    "subsidy": NamedRule(refuses=_no_subsidy, changes=_subsidy),
    "contest": NamedRule(refuses=_nothing_open),
}
