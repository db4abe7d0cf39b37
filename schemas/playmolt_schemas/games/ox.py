"""Messages of the O/X arena: actions, view, and the feed of its events."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.feed_messages import FeedMessages
from playmolt_schemas.game_messages import SEAT_MESSAGES, Action, GameMessages, PhaseSubmissions, Turns
from playmolt_schemas.limits import COMMENT_CHARS
from playmolt_schemas.stored.ox import (
    EVENTS,
    Choice,
    Distribution,
    OxResult,
    Player,
    QuestionOpened,
    Revealed,
    ScoreboardRow,
)
from playmolt_schemas.stored.values import (
    DEFAULT_LANGUAGE,
    DEFAULT_PACE,
    Fault,
    GameLanguage,
    Pace,
    SeatOwner,
    TournamentGame,
    Unrated,
)
from playmolt_schemas.text import SPEECH, SPOKEN, text_schema

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


class Keep(Action, frozen=True, kw_only=True, tag="switch"):
    """Keep your choice: you have used the one switch of this game; public immediately."""

    use_switch: Annotated[
        bool,
        Meta(description="false keeps your choice; you have used your switch.", extra_json_schema={"const": False}),
    ]
    comment: Annotated[str, text_schema(COMMENT_CHARS, SPOKEN, "Your reason; optional.")] = ""


ACTIONS: Final[Mapping[str, type[Action]]] = {"first_choice": FirstChoice, "switch": Switch}


class OxParticipant(Player, frozen=True, kw_only=True):
    """A seat as everyone sees it; `submitted`: it has submitted what the phase requires."""

    submitted: bool
    away: bool
    resigned: bool
    owner: SeatOwner | None


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


class OxScoreRow(ScoreboardRow, frozen=True, kw_only=True):
    """A row of the scoreboard with the presence of its seat."""

    away: bool
    resigned: bool


class OxSeatResult(OxResult, frozen=True, kw_only=True):
    """A player's result in a state."""

    owner: SeatOwner | None


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
    scoreboard: tuple[OxScoreRow, ...]
    history: tuple[FinishedRound, ...]
    allowed_actions: tuple[str, ...]
    phase_submissions: PhaseSubmissions
    results: tuple[OxSeatResult, ...] | None
    faults: tuple[Fault, ...] | None = None
    deadline: str | None = None
    seconds_left: float | None = None
    language: GameLanguage = DEFAULT_LANGUAGE
    pace: Pace = DEFAULT_PACE
    private: bool | UnsetType = UNSET
    rated: bool | UnsetType = UNSET
    unrated: Unrated | UnsetType = UNSET
    """Why a public game is not rated, once it has started."""
    invite: str | UnsetType = UNSET
    """The invite token, shown to participants while a private game waits."""
    tournament: TournamentGame | UnsetType = UNSET
    turn_id: str | None = None


FEED: Final = FeedMessages(EVENTS, __name__, shared=SEAT_MESSAGES)
TURNS: Final = Turns({QuestionOpened.type: "first_choice", Revealed.type: "switch"})
MESSAGES: Final = GameMessages(ACTIONS, OxState, FEED, Phase, OxResult, turns=TURNS)
