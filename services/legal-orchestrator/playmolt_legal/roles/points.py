"""The points that each side makes, by id, and which of them the other side has answered."""

from collections.abc import Iterable, Sequence
from typing import Final

from playmolt_schemas.games.legal import Report, Role
from playmolt_schemas.stored.legal import NumberedText

from playmolt_legal import outputs, phases
from playmolt_legal.state import TurnRecord

_FIELDS: Final[dict[Role, str]] = {"claimant": "Claims", "opposing": "CounterArguments"}
LETTERS: Final = {"Claims": "C", "CounterArguments": "O"}
"""The fields that hold points, with the letter that their ids begin with."""
_AGAINST: Final[dict[Role, Role]] = {"claimant": "opposing", "opposing": "claimant"}


def of(turn: TurnRecord) -> tuple[NumberedText, ...]:
    """`C2.1` is the first claim of round 2, `O2.1` its first counter-argument."""
    if turn.role not in _FIELDS:
        return ()
    field = _FIELDS[turn.role]
    said = turn.output.get(field, ())
    return tuple(
        NumberedText(id=identifier(field, turn.round, place), text=one["text"]) for place, one in enumerate(said, 1)
    )


def identifier(field: str, round_: int, place: int) -> str:
    return f"{LETTERS[field]}{round_}.{place}"


def to_answer(before: Sequence[TurnRecord], role: Role) -> tuple[NumberedText, ...]:
    """The newest points of the other side; none for who takes no side."""
    other = next((turn for turn in reversed(before) if turn.role == _AGAINST.get(role)), None)
    return of(other) if other else ()


def unanswered(turns: Sequence[TurnRecord], round_: int) -> tuple[NumberedText, ...]:
    """The points that a round's turns were given and left without an answer."""
    left: list[NumberedText] = []
    for place, turn in enumerate(turns):
        if turn.round == round_:
            answered = set(_answered(turn))
            left += (point for point in to_answer(turns[:place], turn.role) if point.id not in answered)
    return tuple(left)


def _answered(turn: TurnRecord) -> Iterable[str]:
    return (each for _, statement in outputs.statements(turn.output) for each in statement.get("answers", ()))


class PointIds:
    """Finds a point's id by its place in a turn, or by its text in the newest turn that says it."""

    def __init__(self, report: Report) -> None:
        made = [
            (field, said["text"], self.of(turn.phase, field, place))
            for turn in report.appendix
            for field in LETTERS.keys() & turn.output.keys()
            for place, said in enumerate(turn.output[field], 1)
        ]
        self._newest = {(field, text): point for field, text, point in made}
        self.known = frozenset(point for _, _, point in made)

    def newest(self, field: str, text: str) -> str:
        return self._newest.get((field, text), "")

    def of(self, phase: str, field: str, place: int) -> str:
        """Nothing where a field of that phase holds no points."""
        here = phases.turn(phase)
        return identifier(field, here.round, place) if here and field in LETTERS else ""
