"""Energy as it is counted: in whole units, never below 0, never above the maximum."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from playmolt_agora.world.state import Agent, RunState

_DIGITS: Final = 12


def balances(state: RunState) -> dict[str, int]:
    """The energy of the living by which the world reckons: the real one, or the shadow's."""
    shadow = state.rules.energy.ledger == "shadow"
    return {name: _held(agent, shadow=shadow) for name, agent in state.agents.items() if agent.alive}


def moved(held: Mapping[str, int], steps: Iterable[tuple[str, int]], ceiling: int) -> dict[str, int]:
    """The change of each balance after steps in order; what leads below 0 or above the ceiling is lost.

    Who ends where it began is left out.
    """
    after = dict(held)
    for name, step in steps:
        after[name] = max(0, min(ceiling, after[name] + step))
    return {name: after[name] - before for name, before in held.items() if after[name] != before}


def decimal(value: Fraction, digits: int = _DIGITS) -> str:
    """Write a fraction from 0 up as decimal text, rounded half up."""
    scale = 10**digits
    rounded = (2 * value.numerator * scale + value.denominator) // (2 * value.denominator)
    whole, rest = divmod(rounded, scale)
    return f"{whole}.{rest:0{digits}d}"


def _held(agent: Agent, *, shadow: bool) -> int:
    return agent.shadow if shadow else agent.energy
