"""The state of a game with seats. Tuples and dicts in it are never changed in place."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Generic

import msgspec
from msgspec import UNSET
from msgspec.structs import replace
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.seats import (
    AgentJoined,
    AgentLeft,
    GameAborted,
    GameCreated,
    PhaseDeadline,
    PhaseExtended,
    SeatAway,
    SeatBack,
    SeatedEvent,
    SeatResigned,
    Submitted,
)
from playmolt_schemas.stored.values import (
    DEFAULT_LANGUAGE,
    DEFAULT_PACE,
    Fault,
    GameLanguage,
    Identity,
    Pace,
    TournamentGame,
    Unrated,
    identity_of,
)
from typing_extensions import TypeVar

from playmolt_core.game.game import Changes, Fold
from playmolt_core.game.seats.ledger import added


class Seat(Identity, frozen=True, gc=False):
    """A seat; a game adds its own fields, with defaults."""

    id: str
    name: str


class Attendance(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Whether a seat still plays. `missed`: deadlines missed in a row; `resigned`: its place in the order of
    resignations, 0 if it did not resign; `back_in`: the `entered_version` of the phase in which it last came back."""

    missed: int = 0
    away: bool = False
    resigned: int = 0
    back_in: int = 0


T_co = TypeVar("T_co", bound=Seat, covariant=True, default=Seat)

_PRESENT = Attendance()


def turn_id_of(game_id: str, entered_version: int, agent_id: str) -> str:
    """Identifies the turn of a seat in the phase and round that began with this version."""
    return digest(["turn", game_id, entered_version, agent_id])[:32]


class SeatedState(msgspec.Struct, Generic[T_co], frozen=True, gc=False, kw_only=True):
    """The state that all games with seats share. `phase` is "waiting", one of the game's own, "end" or "aborted"."""

    game_id: str
    version: int = 0
    phase: str = "waiting"
    round: int = 0
    seats: tuple[T_co, ...] = ()
    seed: str = ""
    content_version: str = ""
    phase_deadline_seconds: int | None = 0
    deadlines: tuple[PhaseDeadline, ...] = ()
    entered_version: int = 0
    """The version with which the current phase or round began."""
    entered_at: datetime | None = None
    extended_ms: int = 0
    """By how much the deadline of the current phase was extended."""
    attendance: dict[str, Attendance] = {}
    """Agent → attendance; present agents may be absent here."""
    faults: tuple[Fault, ...] = ()
    """The ledger so far."""
    language: GameLanguage = DEFAULT_LANGUAGE
    pace: Pace = DEFAULT_PACE
    invite_sha256: str = ""
    """The hash of a private game's invite; "" for a public game."""
    fill_after_seconds: int | None = None
    """When house bots may join a private game; None: never."""
    pack_digest: str = ""
    tournament: TournamentGame | None = None
    roles: tuple[str, ...] = ()
    """The roles that a tournament gives to the seats, in their order; empty: the game draws them."""
    ratable: bool = True
    """Whether neither privacy nor its tournament excludes the game from ratings."""
    rated_owners: bool = False
    """Whether the game is rated only if every agent that is not the house's has an owner."""
    one_address: bool = False
    """Whether two agents of the full game were registered from one address."""
    unrated: Unrated | None = None
    """Why the started game is not rated although it is ratable."""

    @property
    def private(self) -> bool:
        """Whether joining requires an invite."""
        return bool(self.invite_sha256)

    @property
    def over(self) -> bool:
        """Whether the game has ended or was aborted."""
        return self.phase in ("end", "aborted")

    @property
    def playing(self) -> bool:
        """Whether the current phase waits for submissions."""
        return self.phase not in ("waiting", "end", "aborted")

    @property
    def deadline(self) -> datetime | None:
        """When missing submissions of the current phase become forfeits; None if no deadline is running."""
        seconds = self.phase_seconds
        if not seconds or self.entered_at is None or not self.playing:
            return None
        return self.entered_at + timedelta(seconds=seconds, milliseconds=self.extended_ms)

    @property
    def phase_seconds(self) -> int:
        """How long the current phase waits; 0: without a deadline."""
        if self.phase_deadline_seconds is not None:
            return self.phase_deadline_seconds
        return next((each.seconds for each in self.deadlines if each.phase == self.phase), 0)

    def seat(self, agent_id: str | None) -> T_co | None:
        for seat in self.seats:
            if seat.id == agent_id:
                return seat
        return None

    def turn_id(self, agent_id: str) -> str:
        """Identifies the turn of a seat in the current phase and round."""
        return turn_id_of(self.game_id, self.entered_version, agent_id)

    def attends(self, agent_id: str) -> Attendance:
        return self.attendance.get(agent_id, _PRESENT)

    def absent(self, agent_id: str) -> bool:
        """Whether the seat is away or resigned."""
        attendance = self.attends(agent_id)
        return attendance.away or bool(attendance.resigned)

    def standing(self, agent_id: str) -> int:
        """The first key of an order of results: present seats, then away ones, then those that resigned, the first to
        resign last."""
        attendance = self.attends(agent_id)
        if attendance.resigned:
            return 2 + len(self.seats) - attendance.resigned
        return int(attendance.away)

    def awaited(self, agent_id: str) -> bool:
        """Whether the current phase waits for this seat; one that came back in this phase is awaited from the next."""
        attendance = self.attends(agent_id)
        return not (self.absent(agent_id) or attendance.back_in == self.entered_version)


def unrated_for(state: SeatedState) -> Unrated | None:
    """Why a full game that is ratable must not be rated."""
    if not state.ratable:
        return None
    owners = [seat.owner_id for seat in state.seats if seat.owner_id]
    if len(set(owners)) < len(owners):
        return "one_owner"
    if state.one_address:
        return "one_address"
    unowned = any(seat.kind != "house" and not seat.owner_id for seat in state.seats)
    return "no_owner" if state.rated_owners and unowned else None


def entered(state: SeatedState, phase: str, round_: int, at: datetime) -> Changes:
    """The changes of an event with which a phase or round begins."""
    version = state.version + 1
    return {"phase": phase, "round": round_, "entered_at": at, "entered_version": version, "extended_ms": 0}


def counted(state: SeatedState, event: SeatedEvent) -> Changes:
    """The changes that every event of a seat causes in addition to its own: faults and missed deadlines."""
    changes: Changes = {"faults": added(state.faults, event.counted)} if event.counted else {}
    if isinstance(event, Submitted) and state.awaited(event.agent_id):
        attendance = state.attends(event.agent_id)
        missed = attendance.missed + 1 if _missed(event) else 0
        if missed != attendance.missed:
            changes |= _attending(state, event.agent_id, replace(attendance, missed=missed))
    return changes


def _missed(event: Submitted) -> bool:
    counted = event.counted or ()
    return any(fault.agent_id == event.agent_id and fault.what == "deadline" for fault in counted)


def _attending(state: SeatedState, agent_id: str, attendance: Attendance) -> Changes:
    return {"attendance": {**state.attendance, agent_id: attendance}}


def _created(_: SeatedState, event: GameCreated, __: datetime) -> Changes:
    config = event.config
    return {
        "seed": event.seed,
        "content_version": event.content_version,
        "phase_deadline_seconds": config.phase_deadline_seconds,
        "deadlines": config.deadlines,
        "language": config.language or DEFAULT_LANGUAGE,
        "pace": config.pace or DEFAULT_PACE,
        "invite_sha256": config.invite_sha256 or "",
        "fill_after_seconds": None if config.fill_after_seconds is UNSET else config.fill_after_seconds,
        "pack_digest": config.pack_digest or "",
        "tournament": config.tournament or None,
        "roles": config.roles or (),
        "rated_owners": config.rated_owners is True,
        "ratable": not config.invite_sha256 and config.rated is UNSET,
    }


def _left(state: SeatedState, event: AgentLeft, _: datetime) -> Changes:
    return {"seats": tuple(seat for seat in state.seats if seat.id != event.agent_id)}


def _away(state: SeatedState, event: SeatAway, _: datetime) -> Changes:
    return _attending(state, event.agent_id, replace(state.attends(event.agent_id), away=True))


def _back(state: SeatedState, event: SeatBack, _: datetime) -> Changes:
    return _attending(state, event.agent_id, Attendance(back_in=state.entered_version))


def _resigned(state: SeatedState, event: SeatResigned, _: datetime) -> Changes:
    place = 1 + sum(bool(each.resigned) for each in state.attendance.values())
    return _attending(state, event.agent_id, Attendance(away=True, resigned=place))


def _extended(_: SeatedState, event: PhaseExtended, __: datetime) -> Changes:
    return {"extended_ms": event.extended_ms}


def _aborted(state: SeatedState, _: GameAborted, at: datetime) -> Changes:
    return entered(state, "aborted", state.round, at)


def folds(seat: type[Seat]) -> Mapping[type[Event], Fold]:
    """The folds of the shared events, for a game with this class of seats."""

    def joined(state: SeatedState, event: AgentJoined, _: datetime) -> Changes:
        seats = (*state.seats, seat(event.agent_id, event.name, **identity_of(event)))
        return {"seats": seats, "one_address": True} if event.one_address is True else {"seats": seats}

    return {
        GameCreated: _created,
        AgentJoined: joined,
        AgentLeft: _left,
        PhaseExtended: _extended,
        SeatAway: _away,
        SeatBack: _back,
        SeatResigned: _resigned,
        GameAborted: _aborted,
    }
