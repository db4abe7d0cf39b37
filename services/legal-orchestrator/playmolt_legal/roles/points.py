"""The points that each side makes, by id, and which of them the other side has answered."""

from collections.abc import Iterable, Sequence
from typing import Final

from playmolt_schemas.games.legal import NumberedText, Role

from playmolt_legal.roles import outputs
from playmolt_legal.state import Spoken

_FIELDS: Final[dict[Role, str]] = {"claimant": "Claims", "opposing": "CounterArguments"}
LETTERS: Final = {"Claims": "C", "CounterArguments": "O"}
"""The fields that hold points, with the letter that their ids begin with."""
_AGAINST: Final[dict[Role, Role]] = {"claimant": "opposing", "opposing": "claimant"}


def of(turn: Spoken) -> tuple[NumberedText, ...]:
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


def to_answer(before: Sequence[Spoken], role: Role) -> tuple[NumberedText, ...]:
    """The newest points of the other side; none for who takes no side."""
    other = next((turn for turn in reversed(before) if turn.role == _AGAINST.get(role)), None)
    return of(other) if other else ()


def unanswered(turns: Sequence[Spoken], round_: int) -> tuple[NumberedText, ...]:
    """The points that a round's turns were given and left without an answer."""
    left: list[NumberedText] = []
    for place, turn in enumerate(turns):
        if turn.round == round_:
            answered = set(_answered(turn))
            left += (point for point in to_answer(turns[:place], turn.role) if point.id not in answered)
    return tuple(left)


def _answered(turn: Spoken) -> Iterable[str]:
    return (each for _, statement in outputs.statements(turn.output) for each in statement.get("answers", ()))
