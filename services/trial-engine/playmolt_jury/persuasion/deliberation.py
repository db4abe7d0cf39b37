"""Who leads a round of deliberation and who answers (jury.md, Deliberation round)."""

from collections.abc import Mapping, Sequence
from typing import Final

from playmolt_jury.persuasion.stance import MIDDLE

RESPONDERS: Final = 2
SPEECHES: Final = 1 + RESPONDERS


def leader(order: Sequence[str], stances: Mapping[str, int], led: Mapping[str, int]) -> str:
    """The most extreme of those who have led least; of equals the first in juror order."""
    return min(order, key=lambda juror: (led[juror], -abs(stances[juror] - MIDDLE)))


def responders(order: Sequence[str], stances: Mapping[str, int], leads: str) -> tuple[str, ...]:
    """The two farthest from the leader's stance, the farther first; of equals the first in juror order."""
    others = [juror for juror in order if juror != leads]
    return tuple(sorted(others, key=lambda juror: -abs(stances[juror] - stances[leads]))[:RESPONDERS])
