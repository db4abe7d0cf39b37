"""What the log of an O/X game holds. Names and fields are stored for ever: change one, and add a version."""

from typing import ClassVar, Final

from playmolt_core.game.decider import Event, stored_types
from playmolt_core.game.seats import events as seats
from playmolt_core.game.seats.events import ClosingEvent, Submitted
from playmolt_schemas.game_messages import Fault
from playmolt_schemas.games.ox import Choice, Distribution, OxResult, Player, PublicChoice, ScoreRow


class GameStarted(Event, frozen=True, kw_only=True):
    """Everything drawn for the game. `questions` are stored in full, so that new content changes no running game."""

    type: ClassVar[str] = "game_started"
    participants: tuple[Player, ...]
    offset: int
    lots: tuple[str, ...]
    questions: tuple[str, ...]


class QuestionOpened(Event, frozen=True, kw_only=True):
    """A round begins, and with it the phase first_choice."""

    type: ClassVar[str] = "question_open"
    round: int
    question: str


class FirstChoiceSubmitted(Submitted, frozen=True, kw_only=True):
    """A first choice is in, or was drawn because the deadline passed."""

    type: ClassVar[str] = "first_choice_submitted"
    name: str
    round: int
    choice: Choice
    comment: str


class Revealed(Event, frozen=True, kw_only=True):
    """The first choices become public, and the phase switch begins."""

    type: ClassVar[str] = "reveal"
    round: int
    choices: tuple[PublicChoice, ...]
    distribution: Distribution


class SwitchSubmitted(Submitted, frozen=True, kw_only=True):
    """A switch decision is in; one that missed the deadline keeps."""

    type: ClassVar[str] = "switch_submitted"
    name: str
    round: int
    switched: bool
    comment: str


class RoundCounted(Event, frozen=True, kw_only=True):
    """The final choices are counted and the minority has its points."""

    type: ClassVar[str] = "round_result"
    round: int
    final_distribution: Distribution
    minority: Choice | None
    points_awarded: int
    winners: tuple[str, ...]
    scoreboard: tuple[ScoreRow, ...]


class GameEnded(ClosingEvent, frozen=True, kw_only=True):
    """The last round is counted; ranks and points are final."""

    type: ClassVar[str] = "game_end"
    closes: ClassVar[bool] = True
    winner_id: str
    final_scoreboard: tuple[ScoreRow, ...]
    results: tuple[OxResult, ...]
    faults: tuple[Fault, ...]


EVENTS: Final = stored_types(
    *seats.EVENTS,
    GameStarted,
    QuestionOpened,
    FirstChoiceSubmitted,
    Revealed,
    SwitchSubmitted,
    RoundCounted,
    GameEnded,
)
