"""The architect's skills (text, rate or amount in a reply), and contests of its acts in worlds where ranks act."""

import re
from typing import Final, Literal

import msgspec
from playmolt_schemas.stored.agora.turn import Effect

from playmolt_agora_runner.world import ledger, ranks
from playmolt_agora_runner.world.state import Contestable, RunState

RATE_MAX: Final = 30
_NUMBER: Final = re.compile(r"\+?(\d{1,9})\s*%?")


def text_of(target: str | None, content: str | None) -> str | None:
    """The text of a billboard; None when there is none."""
    return content or target or None


def rate_of(target: str | None, content: str | None) -> int | None:
    """A tax rate from 0 to 30; None when neither field is one."""
    rate = _number(content) if _number(content) is not None else _number(target)
    return rate if rate is not None and rate <= RATE_MAX else None


def amount_of(content: str | None) -> int | None:
    """A whole amount from 1; None when the field is none."""
    return _number(content) or None


def _number(field: str | None) -> int | None:
    found = _NUMBER.fullmatch(field.strip()) if field else None
    return int(found.group(1)) if found and found.group(1).isascii() else None


CONTESTS: int = 2
"""So many residents undo an act."""
OPEN_TURNS: int = 2
"""In so many turns after the one of the act."""
Undone = Literal["tax", "subsidy", "billboard"]


def is_open(state: RunState, agent: str) -> bool:
    """Whether an agent may contest now: one whose rank gives the right, once an act."""
    act, held = state.contestable, state.agents[agent]
    if not act or not ranks.may_contest(state.rules, held.influence):
        return False
    return agent not in act.by and act.turn < state.turn <= act.turn + OPEN_TURNS


def undoing(state: RunState) -> Contestable | None:
    """The act that enough residents have contested."""
    act = state.contestable
    return act if act and len(act.by) >= CONTESTS else None


def taken_back(state: RunState, act: Contestable) -> tuple[Effect, Effect]:
    """What undoing it applies and, in a world that only reckons, would apply: a subsidy goes back as far as it can."""
    if act.kind != "subsidy" or not state.agents[act.target].alive:
        return Effect(), Effect()
    rules = state.rules
    steps = [(act.target, -act.amount * rules.unit)]
    energy = ledger.moved(ledger.balances(state), steps, rules.energy.max * rules.unit)
    effect = Effect(energy=energy, treasury=-sum(energy.values()))
    return (effect, Effect()) if rules.energy.ledger == "real" else (Effect(), effect)


def with_contest(act: Contestable, agent: str) -> Contestable:
    return msgspec.structs.replace(act, by=(*act.by, agent))
