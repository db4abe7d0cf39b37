"""Messages of the mock trial: actions, public messages, the view."""

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
from playmolt_schemas.text import SPEECH, told

Role = Literal["PROSECUTOR", "DEFENSE", "JUDGE", "JUROR"]
Verdict = Literal["GUILTY", "NOT_GUILTY"]
Team = Literal["PROSECUTOR", "DEFENSE"]
Phase = Literal["waiting", "opening", "argument", "rebuttal", "jury_vote", "verdict", "end", "aborted"]

ARGUMENT_ROUNDS: Final = 3


class Speak(Action, frozen=True, kw_only=True, tag="speak"):
    """One sentence, public as soon as it is accepted."""

    text: Annotated[str, told(SPEAK_CHARS, SPEECH, "What you say; all hear it at once.")]


class Vote(Action, frozen=True, kw_only=True, tag="vote"):
    """A juror's vote, secret until the tally."""

    verdict: Annotated[Verdict, Meta(description="How you vote.")]


ACTIONS: Final[Mapping[str, type[Action]]] = {"speak": Speak, "vote": Vote}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A case that is tried: an entry of `cases.json`."""

    case_id: str
    title: str
    description: str
    evidence_for: tuple[str, ...]
    evidence_against: tuple[str, ...]


class Party(Identity, frozen=True, kw_only=True):
    """Who sits in the trial, and as what."""

    id: str
    name: str
    role: Role


class JurorVote(msgspec.Struct, frozen=True, kw_only=True):
    """How a juror voted; `verdict` is null for one who abstained by missing the deadline."""

    agent_id: str
    verdict: Verdict | None


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The jury's votes, counted."""

    guilty: int = msgspec.field(name="GUILTY")
    not_guilty: int = msgspec.field(name="NOT_GUILTY")
    votes: tuple[JurorVote, ...]


class TrialResult(Identity, frozen=True, kw_only=True):
    """What a seat got out of the trial. The judge, and a juror who abstained, have no team and neither won nor lost."""

    agent_id: str
    name: str
    role: Role
    team: Team | None
    won: bool | None
    points: int
    resigned: bool | UnsetType = UNSET

    @property
    def place(self) -> Place:
        """The prosecutor and the defender compete; a juror stands where the team it voted for does."""
        rank = None if self.won is None else 1 if self.won else 2
        return Place(rank, competes=self.role in ("PROSECUTOR", "DEFENSE"))


class TrialStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="game_started"):
    """Six agents sit, the roles are dealt; stands for waiting → opening."""

    case: Case
    participants: tuple[Party, ...]


class SpeakMessage(PublicMessage, frozen=True, kw_only=True, tag="speak"):
    """Somebody spoke. `forfeit`: the deadline passed instead, and the text is empty."""

    agent_id: str
    name: str
    role: Role
    text: str
    phase: Phase
    round: int
    forfeit: bool = False


class VoteSubmittedMessage(PublicMessage, frozen=True, kw_only=True, tag="vote_submitted"):
    """A juror voted. `verdict` is there for that juror only."""

    agent_id: str
    role: Role
    verdict: Verdict | UnsetType | None = UNSET
    forfeit: bool = False


class PhaseChangeMessage(PublicMessage, frozen=True, kw_only=True, tag="phase_change"):
    """The next phase, or the next round of the argument; `round` is that of the phase entered."""

    left: Phase = msgspec.field(name="from")
    entered: Phase = msgspec.field(name="to")
    round: int


class JuryTallyMessage(PublicMessage, frozen=True, kw_only=True, tag="jury_tally"):
    """The votes become public, and the verdict that follows from them."""

    guilty: int = msgspec.field(name="GUILTY")
    not_guilty: int = msgspec.field(name="NOT_GUILTY")
    votes: tuple[JurorVote, ...]
    verdict: Verdict


class TrialEndMessage(ClosingMessage, frozen=True, kw_only=True, tag="game_end"):
    """The judge has spoken; stands for verdict → end."""

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
"""Every public message of a trial."""


class TrialSelf(msgspec.Struct, frozen=True, kw_only=True):
    """The viewer's own seat; `role` is null while the game waits."""

    id: str
    role: Role | None
    name: str
    submitted: bool


class TrialParticipant(Identity, frozen=True, kw_only=True):
    """A seat as all see it; `submitted` is false where the phase requires nothing of it."""

    id: str
    name: str
    role: Role | None
    submitted: bool
    away: bool
    resigned: bool


class Utterance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the trial's history."""

    phase: Phase
    round: int
    agent_id: str
    name: str
    role: Role
    text: str
    forfeit: bool = False


class TrialState(msgspec.Struct, frozen=True, kw_only=True):
    """A trial as a viewer may see it. A spectator's has no `self`; `deadline` is null while none runs."""

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
    """What a private game is shared by, to who sits there while it waits."""
    turn_id: str | None = None


MESSAGES: Final = GameMessages(ACTIONS, TrialState, TrialMessage, Phase, TrialResult)
