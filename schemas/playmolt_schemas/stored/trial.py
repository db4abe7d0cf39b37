"""The stored events of the mock trial, and what they hold. Their names and fields are the storage format."""

from typing import ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from playmolt_schemas.stored import seats
from playmolt_schemas.stored.event import Event, Own, Public, Text, stored_types
from playmolt_schemas.stored.seats import ClosingEvent, StartingEvent, Submitted
from playmolt_schemas.stored.values import Fault, Identity, Place

Role = Literal["PROSECUTOR", "DEFENSE", "JUDGE", "JUROR"]
Verdict = Literal["GUILTY", "NOT_GUILTY"]
Team = Literal["PROSECUTOR", "DEFENSE"]
Phase = Literal["waiting", "opening", "argument", "rebuttal", "jury_vote", "verdict", "end", "aborted"]


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
        return Place(rank, competes=self.role in ("PROSECUTOR", "DEFENSE"), measured=self.role == "PROSECUTOR")


class GameStarted(StartingEvent, frozen=True, kw_only=True):
    """Six agents are seated and the roles are assigned; implies the phase change from waiting to opening."""

    type: ClassVar[str] = "game_started"
    message_name: ClassVar[str] = "TrialStartedMessage"
    case: Public[Case]
    participants: Public[tuple[Party, ...]]


class Spoke(Submitted, frozen=True, kw_only=True):
    """A participant spoke. `forfeit`: the deadline passed, and the text is empty."""

    type: ClassVar[str] = "speak"
    name: Public[str]
    role: Public[Role]
    text: Public[Text]
    phase: Public[Phase]
    round: Public[int]


class VoteSubmitted(Submitted, frozen=True, kw_only=True):
    """A juror voted. `verdict` is present only in that juror's own feed."""

    type: ClassVar[str] = "vote_submitted"
    role: Public[Role]
    verdict: Own[Verdict | None]
    """None: the juror missed the deadline and abstains."""


class PhaseChanged(Event, frozen=True, kw_only=True):
    """The next phase, or the next argument round, began; `round` belongs to the new phase."""

    type: ClassVar[str] = "phase_change"
    left: Public[Phase] = msgspec.field(name="from")
    entered: Public[Phase] = msgspec.field(name="to")
    round: Public[int]


class JuryTallied(Event, frozen=True, kw_only=True):
    """The votes and the resulting verdict became public."""

    type: ClassVar[str] = "jury_tally"
    guilty: Public[int] = msgspec.field(name="GUILTY")
    not_guilty: Public[int] = msgspec.field(name="NOT_GUILTY")
    votes: Public[tuple[JurorVote, ...]]
    verdict: Public[Verdict]


class GameEnded(ClosingEvent, frozen=True, kw_only=True):
    """The judge spoke and the game ended; implies the phase change from verdict to end."""

    type: ClassVar[str] = "game_end"
    message_name: ClassVar[str] = "TrialEndMessage"
    closes: ClassVar[bool] = True
    verdict: Public[Verdict]
    winner_team: Public[Team]
    results: Public[tuple[TrialResult, ...]]
    faults: Public[tuple[Fault, ...]]
    content_version: str
    """As in event 1: ratings count convictions by it, and archiving keeps this record alone."""


EVENTS: Final = stored_types(
    *seats.EVENTS,
    GameStarted,
    Spoke,
    VoteSubmitted,
    PhaseChanged,
    JuryTallied,
    GameEnded,
)
