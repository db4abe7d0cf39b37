"""What the log of a trial holds. Names and fields are stored for ever: change one, and add a version."""

from typing import ClassVar, Final

import msgspec
from playmolt_core.game.decider import Event, stored_types
from playmolt_core.game.seats import events as seats
from playmolt_core.game.seats.events import ClosingEvent, Submitted
from playmolt_schemas.game_messages import Fault
from playmolt_schemas.games.trial import Case, JurorVote, Party, Phase, Role, Team, TrialResult, Verdict


class GameStarted(Event, frozen=True, kw_only=True):
    """The case is drawn and the roles are dealt."""

    type: ClassVar[str] = "game_started"
    case: Case
    participants: tuple[Party, ...]


class Spoke(Submitted, frozen=True, kw_only=True):
    """Somebody spoke, or missed the deadline."""

    type: ClassVar[str] = "speak"
    name: str
    role: Role
    text: str
    phase: Phase
    round: int


class VoteSubmitted(Submitted, frozen=True, kw_only=True):
    """A juror voted; `verdict` is null when it missed the deadline and abstains."""

    type: ClassVar[str] = "vote_submitted"
    role: Role
    verdict: Verdict | None


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


class GameEnded(ClosingEvent, frozen=True, kw_only=True):
    """The judge has spoken; the points are final."""

    type: ClassVar[str] = "game_end"
    closes: ClassVar[bool] = True
    verdict: Verdict
    winner_team: Team
    results: tuple[TrialResult, ...]
    faults: tuple[Fault, ...]


EVENTS: Final = stored_types(
    *seats.EVENTS,
    GameStarted,
    Spoke,
    VoteSubmitted,
    PhaseChanged,
    JuryTallied,
    GameEnded,
)
