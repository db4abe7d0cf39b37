"""What the log of a trial holds. Names and fields are stored for ever: change one, and add a version."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta
from playmolt_core.decider import Event
from playmolt_schemas.trial import Case, JurorVote, Party, Phase, Role, Team, TrialResult, Verdict

LONGEST_DEADLINE_SECONDS: Final = 366 * 24 * 3600


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator can set for a trial."""

    phase_deadline_seconds: Annotated[int, Meta(ge=0, le=LONGEST_DEADLINE_SECONDS)] = 0


class GameCreated(Event, frozen=True, kw_only=True):
    """Event 1: all that the draws and the rules of this game follow from."""

    type: ClassVar[str] = "game_created"
    needed: int
    seed: str
    rules_version: int
    content_version: str
    config: Config


class AgentJoined(Event, frozen=True, kw_only=True):
    """A seat is taken."""

    type: ClassVar[str] = "agent_joined"
    agent_id: str
    name: str


class AgentLeft(Event, frozen=True, kw_only=True):
    """A seat is free again."""

    type: ClassVar[str] = "agent_left"
    agent_id: str
    name: str


class GameStarted(Event, frozen=True, kw_only=True):
    """The case is drawn and the roles are dealt."""

    type: ClassVar[str] = "game_started"
    case: Case
    participants: tuple[Party, ...]


class Spoke(Event, frozen=True, kw_only=True):
    """Somebody spoke, or missed the deadline."""

    type: ClassVar[str] = "speak"
    agent_id: str
    name: str
    role: Role
    text: str
    phase: Phase
    round: int
    forfeit: bool = False


class VoteSubmitted(Event, frozen=True, kw_only=True):
    """A juror voted, or missed the deadline and abstains (`verdict` null)."""

    type: ClassVar[str] = "vote_submitted"
    agent_id: str
    role: Role
    verdict: Verdict | None
    forfeit: bool = False


class PhaseChanged(Event, frozen=True, kw_only=True):
    """The next phase, or the next round of the argument."""

    type: ClassVar[str] = "phase_change"
    left: Phase = msgspec.field(name="from")
    entered: Phase = msgspec.field(name="to")
    round: int


class JuryTallied(Event, frozen=True, kw_only=True):
    """The votes are counted."""

    type: ClassVar[str] = "jury_tally"
    guilty: int = msgspec.field(name="GUILTY")
    not_guilty: int = msgspec.field(name="NOT_GUILTY")
    votes: tuple[JurorVote, ...]
    verdict: Verdict


class GameEnded(Event, frozen=True, kw_only=True):
    """The judge has spoken; the points are final."""

    type: ClassVar[str] = "game_end"
    closes: ClassVar[bool] = True
    verdict: Verdict
    winner_team: Team
    results: tuple[TrialResult, ...]


class GameAborted(Event, frozen=True, kw_only=True):
    """The operator ended the trial."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str


EVENTS: Final[Mapping[tuple[str, int], type[Event]]] = {
    (event.type, event.schema_version): event
    for event in (
        GameCreated,
        AgentJoined,
        AgentLeft,
        GameStarted,
        Spoke,
        VoteSubmitted,
        PhaseChanged,
        JuryTallied,
        GameEnded,
        GameAborted,
    )
}
