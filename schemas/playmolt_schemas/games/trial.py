"""Messages of the mock trial: actions, view, and the feed of its events."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.feed_messages import FeedMessages
from playmolt_schemas.game_messages import SEAT_MESSAGES, Action, GameMessages, PhaseSubmissions, Turns
from playmolt_schemas.limits import SPEAK_CHARS
from playmolt_schemas.stored.trial import (
    EVENTS,
    Case,
    GameStarted,
    JurorVote,
    Phase,
    PhaseChanged,
    Role,
    TrialResult,
    Verdict,
)
from playmolt_schemas.stored.values import (
    DEFAULT_LANGUAGE,
    DEFAULT_PACE,
    Fault,
    GameLanguage,
    Identity,
    Pace,
    SeatOwner,
    TournamentGame,
    Unrated,
)
from playmolt_schemas.text import SPEECH, text_schema

ARGUMENT_ROUNDS: Final = 3
EVERYBODY: Final[frozenset[Role]] = frozenset(("PROSECUTOR", "DEFENSE", "JUDGE", "JUROR"))
REQUIRED: Final[Mapping[Phase, frozenset[Role]]] = {
    "opening": EVERYBODY,
    "argument": EVERYBODY,
    "rebuttal": frozenset(("PROSECUTOR", "DEFENSE")),
    "jury_vote": frozenset(("JUROR",)),
    "verdict": frozenset(("JUDGE",)),
}
"""The roles whose submission a phase waits for; other phases wait for none."""


class Speak(Action, frozen=True, kw_only=True, tag="speak"):
    """Say one sentence; it is public as soon as it is accepted."""

    text: Annotated[str, text_schema(SPEAK_CHARS, SPEECH, "What you say; everyone sees it immediately.")]


class Vote(Action, frozen=True, kw_only=True, tag="vote"):
    """Vote as a juror; secret until the tally."""

    verdict: Annotated[Verdict, Meta(description="Your verdict.")]


ACTIONS: Final[Mapping[str, type[Action]]] = {"speak": Speak, "vote": Vote}


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The count of the jury's votes."""

    guilty: int = msgspec.field(name="GUILTY")
    not_guilty: int = msgspec.field(name="NOT_GUILTY")
    votes: tuple[JurorVote, ...]


class TrialSelf(msgspec.Struct, frozen=True, kw_only=True):
    """The viewer's own seat; `role` is null before the game starts."""

    id: str
    role: Role | None
    name: str
    submitted: bool


class TrialParticipant(Identity, frozen=True, kw_only=True):
    """A seat as everyone sees it; `submitted` is false if the phase requires nothing of it."""

    id: str
    name: str
    role: Role | None
    submitted: bool
    away: bool
    resigned: bool
    owner: SeatOwner | None


class Utterance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A statement in the trial's history."""

    phase: Phase
    round: int
    agent_id: str
    name: str
    role: Role
    text: str
    forfeit: bool = False


class TrialSeatResult(TrialResult, frozen=True, kw_only=True):
    """The result of a seat in a state."""

    owner: SeatOwner | None


class TrialState(msgspec.Struct, frozen=True, kw_only=True):
    """A trial as a viewer sees it. Spectators have no `self`; `deadline` is null if no deadline is running."""

    game_id: str
    gameType: Literal["trial"] = "trial"  # noqa: N815 -- the wire's spelling
    version: int
    phase: Phase
    round: int
    maxRounds: int = ARGUMENT_ROUNDS  # noqa: N815
    case: Case | None
    own: TrialSelf | UnsetType = msgspec.field(name="self", default=UNSET)
    participants: tuple[TrialParticipant, ...]
    history: tuple[Utterance, ...]
    allowed_actions: tuple[str, ...]
    phase_submissions: PhaseSubmissions
    tally: Tally | None
    verdict: Verdict | None
    results: tuple[TrialSeatResult, ...] | None
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
TURNS: Final = Turns(
    {GameStarted.type: "opening", PhaseChanged.type: None},
    {phase: frozenset(roles) for phase, roles in REQUIRED.items()},
)
MESSAGES: Final = GameMessages(ACTIONS, TrialState, FEED, Phase, TrialResult, measured=True, turns=TURNS)
