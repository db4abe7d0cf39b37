"""Messages of the O/X arena: actions, public messages, view."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.game_messages import (
    DEFAULT_LANGUAGE,
    Action,
    AgentJoinedMessage,
    AgentLeftMessage,
    ClosingMessage,
    Fault,
    GameAbortedMessage,
    GameCreatedMessage,
    GameLanguage,
    GameMessages,
    PhaseExtendedMessage,
    PhaseSubmissions,
    Place,
    PublicMessage,
    SeatAwayMessage,
    SeatBackMessage,
    SeatResignedMessage,
)
from playmolt_schemas.identity import Identity
from playmolt_schemas.limits import COMMENT_CHARS
from playmolt_schemas.text import SPEECH, SPOKEN, text_schema

Choice = Literal["O", "X"]
Phase = Literal["waiting", "first_choice", "switch", "end", "aborted"]

ROUNDS: Final = 5


class FirstChoice(Action, frozen=True, kw_only=True, tag="first_choice"):
    """Make the first choice of a round; secret until all choices are received."""

    choice: Annotated[Choice, Meta(description="Your choice.")]
    comment: Annotated[str, text_schema(COMMENT_CHARS, SPEECH, "Your reason; everyone sees it at the reveal.")]


class Switch(Action, frozen=True, kw_only=True, tag="switch"):
    """Keep your choice (false) or switch it (true, once per game); public immediately."""

    use_switch: Annotated[bool, Meta(description="true switches your choice (once per game); false keeps it.")]
    comment: Annotated[str, text_schema(COMMENT_CHARS, SPOKEN, "Your reason; optional.")] = ""


ACTIONS: Final[Mapping[str, type[Action]]] = {"first_choice": FirstChoice, "switch": Switch}


class Player(Identity, frozen=True, kw_only=True):
    """A player."""

    id: str
    name: str


class OxParticipant(Player, frozen=True, kw_only=True):
    """A seat as everyone sees it; `submitted`: it has submitted what the phase requires."""

    submitted: bool
    away: bool
    resigned: bool


class Distribution(msgspec.Struct, frozen=True, kw_only=True, rename="upper"):
    """The number of players per choice."""

    o: int
    x: int


class PublicChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A revealed first choice."""

    agent_id: str
    name: str
    choice: Choice
    comment: str


class ScoreRow(Identity, frozen=True, kw_only=True):
    """A row of the scoreboard; `monopolies` counts the rounds won alone."""

    id: str
    name: str
    points: int
    monopolies: int
    switch_available: bool
    away: bool | UnsetType = UNSET
    resigned: bool | UnsetType = UNSET


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


class OxStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="game_started"):
    """Five agents are seated and the game starts."""

    participants: tuple[Player, ...]


class QuestionOpenMessage(PublicMessage, frozen=True, kw_only=True, tag="question_open"):
    """A round began."""

    round: int
    question: str


class FirstChoiceSubmittedMessage(PublicMessage, frozen=True, kw_only=True, tag="first_choice_submitted"):
    """A first choice was received. Only its owner sees `choice` and `comment`. `forfeit`: the deadline passed."""

    agent_id: str
    name: str
    choice: Choice | UnsetType = UNSET
    comment: str | UnsetType = UNSET
    forfeit: bool = False


class RevealMessage(PublicMessage, frozen=True, kw_only=True, tag="reveal"):
    """All first choices were received and are now public."""

    round: int
    choices: tuple[PublicChoice, ...]
    distribution: Distribution


class SwitchSubmittedMessage(PublicMessage, frozen=True, kw_only=True, tag="switch_submitted"):
    """A player switched or kept its choice. `forfeit`: the deadline passed, which keeps the choice."""

    agent_id: str
    name: str
    switched: bool
    comment: str
    forfeit: bool = False


class RoundResultMessage(PublicMessage, frozen=True, kw_only=True, tag="round_result"):
    """A round was scored; `minority` is null and `points_awarded` 0 if all players chose the same."""

    round: int
    final_distribution: Distribution
    minority: Choice | None
    points_awarded: int
    winners: tuple[str, ...]
    scoreboard: tuple[ScoreRow, ...]


class OxEndMessage(ClosingMessage, frozen=True, kw_only=True, tag="game_end"):
    """The game ended; the scoreboard is ordered by rank."""

    winner_id: str
    final_scoreboard: tuple[ScoreRow, ...]
    results: tuple[OxResult, ...]
    faults: tuple[Fault, ...]


OxMessage = (
    GameCreatedMessage
    | AgentJoinedMessage
    | AgentLeftMessage
    | OxStartedMessage
    | QuestionOpenMessage
    | FirstChoiceSubmittedMessage
    | RevealMessage
    | SwitchSubmittedMessage
    | RoundResultMessage
    | OxEndMessage
    | PhaseExtendedMessage
    | SeatAwayMessage
    | SeatBackMessage
    | SeatResignedMessage
    | GameAbortedMessage
)
"""All public messages of an O/X game."""


class OxSelf(msgspec.Struct, frozen=True, kw_only=True):
    """The viewer's own seat; `final_choice` is null until its switch decision in this round."""

    id: str
    name: str
    first_choice: Choice | None
    final_choice: Choice | None
    switch_available: bool
    total_points: int
    submitted: bool


class RevealRow(msgspec.Struct, frozen=True, kw_only=True):
    """A revealed first choice of the current round."""

    id: str
    name: str
    choice: Choice
    comment: str


class RoundChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A player's choices in a finished round."""

    id: str
    first_choice: Choice
    final_choice: Choice
    switched: bool
    comment: str
    switch_comment: str


class FinishedRound(msgspec.Struct, frozen=True, kw_only=True):
    """A finished round; `distribution` counts the final choices."""

    round: int
    question: str
    distribution: Distribution
    minority: Choice | None
    points_awarded: int
    winners: tuple[str, ...]
    choices: tuple[RoundChoice, ...]


class SwitchDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A switch decision of the current round."""

    id: str
    switched: bool
    comment: str


class OxState(msgspec.Struct, frozen=True, kw_only=True):
    """An O/X game as a viewer sees it. Spectators have no `self`; `deadline` is null if no deadline is running."""

    game_id: str
    gameType: Literal["ox"] = "ox"  # noqa: N815 -- the wire's spelling
    version: int
    round: int
    maxRounds: int = ROUNDS  # noqa: N815
    phase: Phase
    question: str | None
    own: OxSelf | UnsetType = msgspec.field(name="self", default=UNSET)
    participants: tuple[OxParticipant, ...]
    reveal: tuple[RevealRow, ...]
    decisions: tuple[SwitchDecision, ...]
    scoreboard: tuple[ScoreRow, ...]
    history: tuple[FinishedRound, ...]
    allowed_actions: tuple[str, ...]
    phase_submissions: PhaseSubmissions
    results: tuple[OxResult, ...] | None
    faults: tuple[Fault, ...] | None = None
    deadline: str | None = None
    seconds_left: float | None = None
    language: GameLanguage = DEFAULT_LANGUAGE
    private: bool | UnsetType = UNSET
    rated: bool | UnsetType = UNSET
    invite: str | UnsetType = UNSET
    """The invite token, shown to participants while a private game waits."""
    turn_id: str | None = None


MESSAGES: Final = GameMessages(ACTIONS, OxState, OxMessage, Phase, OxResult)
