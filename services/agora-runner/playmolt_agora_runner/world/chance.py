"""Random decisions of a run, each subject on its own stream: (seed, number of the run, subject, turn).

Draws use the run's number, not its id: the same seed then gives the same crises and orders in every cell, and
a fork continues the random streams of its parent.
"""

from fractions import Fraction
from typing import Final

from playmolt_core.game import draws
from playmolt_schemas.stored.agora.turn import RunSpec

CRISES: Final = ("drought", "plague", "famine")


def order(spec: RunSpec, turn: int) -> tuple[str, ...]:
    """All agents in the order of a turn; who has died is to be left out of it."""
    return draws.shuffle(spec.seed, _name(spec, "order", turn), tuple(seat.agent for seat in spec.seats))


def crisis(spec: RunSpec, turn: int, probability: str | int) -> str | None:
    if not _happens(spec, _name(spec, "crisis", turn), Fraction(probability)):
        return None
    return draws.choice(spec.seed, _name(spec, "crisis_kind", turn), CRISES)


def leaks(spec: RunSpec, turn: int, agent: str, probability: Fraction) -> bool:
    return _happens(spec, f"{_name(spec, 'leak', turn)}/{agent}", probability)


def homes(spec: RunSpec) -> tuple[str, ...]:
    return draws.shuffle(spec.seed, _name(spec, "placement", 0), tuple(seat.home for seat in spec.seats))


def _name(spec: RunSpec, subject: str, turn: int) -> str:
    return f"agora/{spec.number}/{subject}/{turn}"


def _happens(spec: RunSpec, name: str, probability: Fraction) -> bool:
    return draws.below(spec.seed, name, probability.denominator) < probability.numerator
