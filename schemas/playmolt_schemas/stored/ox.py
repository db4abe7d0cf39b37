"""The stored events of the O/X arena, and what they hold. Their names and fields are the storage format."""

from typing import ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from playmolt_schemas.stored import seats
from playmolt_schemas.stored.event import Event, Own, Public, Text, stored_types
from playmolt_schemas.stored.seats import ClosingEvent, StartingEvent, Submitted
from playmolt_schemas.stored.values import Fault, Identity, Place

Choice = Literal["O", "X"]


class Player(Identity, frozen=True, kw_only=True):
    """A player."""

    id: str
    name: str


class Distribution(msgspec.Struct, frozen=True, kw_only=True, rename="upper"):
    """The number of players per choice."""

    o: int
    x: int


class PublicChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A revealed first choice."""

    agent_id: str
    name: str
    choice: Choice
    comment: Text


class ScoreboardRow(Identity, frozen=True, kw_only=True):
    """A row of the scoreboard; `monopolies` counts the rounds won alone."""

    id: str
    name: str
    points: int
    monopolies: int
    switch_available: bool


class OxResult(Identity, frozen=True, kw_only=True):
    """A player's result: `points` count on the platform, `game_points` within the game."""

    agent_id: str
    name: str
    rank: int
    points: int
    game_points: int
    monopolies: int
    resigned: bool | UnsetType = UNSET

    @property
    def place(self) -> Place:
        return Place(self.rank, competes=True)


class GameStarted(StartingEvent, frozen=True, kw_only=True):
    """Five agents are seated and the game starts."""

    type: ClassVar[str] = "game_started"
    message_name: ClassVar[str] = "OxStartedMessage"
    participants: Public[tuple[Player, ...]]
    offset: int
    lots: tuple[str, ...]
    questions: tuple[str, ...]
    """In full, so that new content changes no running game."""


class QuestionOpened(Event, frozen=True, kw_only=True):
    """A round began."""

    type: ClassVar[str] = "question_open"
    round: Public[int]
    question: Public[str]


class FirstChoiceSubmitted(Submitted, frozen=True, kw_only=True):
    """A first choice was received. Only its owner sees `choice` and `comment`. `forfeit`: the deadline passed."""

    type: ClassVar[str] = "first_choice_submitted"
    name: Public[str]
    round: int
    choice: Own[Choice]
    comment: Own[Text]


class Revealed(Event, frozen=True, kw_only=True):
    """All first choices were received and are now public."""

    type: ClassVar[str] = "reveal"
    round: Public[int]
    choices: Public[tuple[PublicChoice, ...]]
    distribution: Public[Distribution]


class SwitchSubmitted(Submitted, frozen=True, kw_only=True):
    """A player switched or kept its choice. `forfeit`: the deadline passed, which keeps the choice."""

    type: ClassVar[str] = "switch_submitted"
    name: Public[str]
    round: int
    switched: Public[bool]
    comment: Public[Text]


class RoundCounted(Event, frozen=True, kw_only=True):
    """A round was scored; `minority` is null and `points_awarded` 0 if all players chose the same."""

    type: ClassVar[str] = "round_result"
    round: Public[int]
    final_distribution: Public[Distribution]
    minority: Public[Choice | None]
    points_awarded: Public[int]
    winners: Public[tuple[str, ...]]
    scoreboard: Public[tuple[ScoreboardRow, ...]]


class GameEnded(ClosingEvent, frozen=True, kw_only=True):
    """The game ended; the scoreboard is ordered by rank. `winner_id` is null if several share rank 1."""

    type: ClassVar[str] = "game_end"
    message_name: ClassVar[str] = "OxEndMessage"
    closes: ClassVar[bool] = True
    winner_id: Public[str | None]
    winner_ids: Public[tuple[str, ...]]
    final_scoreboard: Public[tuple[ScoreboardRow, ...]]
    results: Public[tuple[OxResult, ...]]
    faults: Public[tuple[Fault, ...]]


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
