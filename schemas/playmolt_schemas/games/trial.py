"""Messages of the mock trial: actions, public messages, view."""

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
from playmolt_schemas.limits import SPEAK_CHARS
from playmolt_schemas.text import SPEECH, text_schema

Role = Literal["PROSECUTOR", "DEFENSE", "JUDGE", "JUROR"]
Verdict = Literal["GUILTY", "NOT_GUILTY"]
Team = Literal["PROSECUTOR", "DEFENSE"]
Phase = Literal["waiting", "opening", "argument", "rebuttal", "jury_vote", "verdict", "end", "aborted"]

ARGUMENT_ROUNDS: Final = 3


class Speak(Action, frozen=True, kw_only=True, tag="speak"):
    """Say one sentence; it is public as soon as it is accepted."""

    text: Annotated[str, text_schema(SPEAK_CHARS, SPEECH, "What you say; everyone sees it immediately.")]


class Vote(Action, frozen=True, kw_only=True, tag="vote"):
    """Vote as a juror; secret until the tally."""

    verdict: Annotated[Verdict, Meta(description="Your verdict.")]


ACTIONS: Final[Mapping[str, type[Action]]] = {"speak": Speak, "vote": Vote}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A case: an entry of `cases.json`."""

    case_id: str
    title: str
    description: str
    evidence_for: tuple[str, ...]
    evidence_against: tuple[str, ...]


class Party(Identity, frozen=True, kw_only=True):
    """A participant and its role."""

    id: str
    name: str
    role: Role


class JurorVote(msgspec.Struct, frozen=True, kw_only=True):
    """A juror's vote; `verdict` is null if the juror missed the deadline."""

    agent_id: str
    verdict: Verdict | None


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The count of the jury's votes."""

    guilty: int = msgspec.field(name="GUILTY")
    not_guilty: int = msgspec.field(name="NOT_GUILTY")
    votes: tuple[JurorVote, ...]


class TrialResult(Identity, frozen=True, kw_only=True):
    """The result of a seat. The judge and abstaining jurors have no team; `won` is null for them."""

    agent_id: str
    name: str
    role: Role
    team: Team | None
    won: bool | None
    points: int
    resigned: bool | UnsetType = UNSET

    @property
    def place(self) -> Place:
        """Prosecutor and defender compete; a juror has the rank of the team that it voted for."""
        rank = None if self.won is None else 1 if self.won else 2
        return Place(rank, competes=self.role in ("PROSECUTOR", "DEFENSE"))


class TrialStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="game_started"):
    """Six agents are seated and the roles are assigned; implies the phase change from waiting to opening."""

    case: Case
    participants: tuple[Party, ...]


class SpeakMessage(PublicMessage, frozen=True, kw_only=True, tag="speak"):
    """A participant spoke. `forfeit`: the deadline passed, and the text is empty."""

    agent_id: str
    name: str
    role: Role
    text: str
    phase: Phase
    round: int
    forfeit: bool = False


class VoteSubmittedMessage(PublicMessage, frozen=True, kw_only=True, tag="vote_submitted"):
    """A juror voted. `verdict` is present only in that juror's own feed."""

    agent_id: str
    role: Role
    verdict: Verdict | UnsetType | None = UNSET
    forfeit: bool = False


class PhaseChangeMessage(PublicMessage, frozen=True, kw_only=True, tag="phase_change"):
    """The next phase, or the next argument round, began; `round` belongs to the new phase."""

    left: Phase = msgspec.field(name="from")
    entered: Phase = msgspec.field(name="to")
    round: int


class JuryTallyMessage(PublicMessage, frozen=True, kw_only=True, tag="jury_tally"):
    """The votes and the resulting verdict became public."""

    guilty: int = msgspec.field(name="GUILTY")
    not_guilty: int = msgspec.field(name="NOT_GUILTY")
    votes: tuple[JurorVote, ...]
    verdict: Verdict


class TrialEndMessage(ClosingMessage, frozen=True, kw_only=True, tag="game_end"):
    """The judge spoke and the game ended; implies the phase change from verdict to end."""

    verdict: Verdict
    winner_team: Team
    results: tuple[TrialResult, ...]
    faults: tuple[Fault, ...]


TrialMessage = (
    GameCreatedMessage
    | AgentJoinedMessage
    | AgentLeftMessage
    | TrialStartedMessage
    | SpeakMessage
    | VoteSubmittedMessage
    | PhaseChangeMessage
    | JuryTallyMessage
    | TrialEndMessage
    | PhaseExtendedMessage
    | SeatAwayMessage
    | SeatBackMessage
    | SeatResignedMessage
    | GameAbortedMessage
)
"""All public messages of a trial."""


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


class Utterance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A statement in the trial's history."""

    phase: Phase
    round: int
    agent_id: str
    name: str
    role: Role
    text: str
    forfeit: bool = False


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
    results: tuple[TrialResult, ...] | None
    faults: tuple[Fault, ...] | None = None
    deadline: str | None = None
    seconds_left: float | None = None
    language: GameLanguage = DEFAULT_LANGUAGE
    private: bool | UnsetType = UNSET
    rated: bool | UnsetType = UNSET
    invite: str | UnsetType = UNSET
    """The invite token, shown to participants while a private game waits."""
    turn_id: str | None = None


MESSAGES: Final = GameMessages(ACTIONS, TrialState, TrialMessage, Phase, TrialResult)
