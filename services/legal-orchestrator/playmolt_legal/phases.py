"""The order of a session: who speaks in which round."""

import re
from typing import Final, Literal, cast

import msgspec
from playmolt_schemas.games.legal import Role

INTAKE: Final = "FACTS_INTAKE"
STIPULATE: Final = "FACTS_STIPULATE"
USER_GATE: Final = "USER_GATE"
END_GATE: Final = "END_GATE"
FINAL: Final = "FINAL"
"""The turn that the end form's instructions ask for; the session is in END_GATE meanwhile."""
DONE: Final = "FINALIZE_DONE"
ABORTED: Final = "ABORTED"

LAST_ROUND: Final = 3

_OPENING: Final[tuple[Role, ...]] = ("judge", "claimant", "opposing", "verifier")
_ANSWERING: Final[tuple[Role, ...]] = ("opposing", "claimant", "judge", "verifier")
_TURN: Final = re.compile(r"(JUDGE|CLAIMANT|OPPOSING|VERIFIER)_R([1-4])")


class TurnPhase(msgspec.Struct, frozen=True):
    """A role's turn in a round."""

    role: Role
    round: int


def speakers(round_: int) -> tuple[Role, ...]:
    """The roles of a round in speaking order; from round 2 on the opposing side begins."""
    return _OPENING if round_ == 1 else _ANSWERING


def first(round_: int) -> str:
    return name(speakers(round_)[0], round_)


def name(role: Role, round_: int) -> str:
    return f"{role.upper()}_R{round_}"


def turn(phase: str) -> TurnPhase | None:
    """Parses the name of a phase; None if it is not a role's turn."""
    match = _TURN.fullmatch(phase)
    return TurnPhase(cast("Role", match[1].lower()), int(match[2])) if match else None


def following(phase: str) -> str | None:
    """Name the turn after a turn in the same round; None after the verifier's."""
    here = turn(phase)
    if here is None:
        return None
    order = speakers(here.round)
    place = order.index(here.role) + 1
    return name(order[place], here.round) if place < len(order) else None


Waiting = Literal["intake", "model", "retry", "person", "nothing"]
"""What a session waits for: its facts, an answer of the model, a retry, the form of a gate; or it is over."""
