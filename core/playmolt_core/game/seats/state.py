"""A game with seats as it stands. Tuples and dicts in it are never changed in place."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from playmolt_schemas.canonical import digest
from playmolt_schemas.game_messages import DEFAULT_LANGUAGE, Fault, GameLanguage
from playmolt_schemas.identity import Identity, identity_of

from playmolt_core.game.decider import Event
from playmolt_core.game.game import Changes, Fold
from playmolt_core.game.seats.events import (
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
from playmolt_core.game.seats.ledger import added


class Seat(Identity, frozen=True, gc=False):
    """A seat; a game adds what it keeps of it, with defaults."""

    id: str
    name: str


class Attendance(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Whether a seat still plays. `missed` deadlines in a row; `resigned` as the how many-th, 0: not."""

    missed: int = 0
    away: bool = False
    resigned: int = 0


T = TypeVar("T", bound=Seat)

_PRESENT = Attendance()


class SeatedState(msgspec.Struct, Generic[T], frozen=True, gc=False, kw_only=True):
    """What every game with seats keeps. `phase` is "waiting", one of the game's own, "end" or "aborted".

    A field that games of before do not have is UNSET in them, so that they still hash to what their log says.
    """

    game_id: str
    version: int = 0
    phase: str = "waiting"
    round: int = 0
    seats: tuple[T, ...] = ()
    seed: str = ""
    phase_deadline_seconds: int | None = 0
    deadlines: tuple[PhaseDeadline, ...] | UnsetType = UNSET
    entered_version: int = 0
    """The version with which the present phase or round began."""
    entered_at: datetime | None = None
    extended_ms: int | UnsetType = UNSET
    """By how much the present phase's deadline has been moved."""
    attendance: dict[str, Attendance] | UnsetType = UNSET
    """Of the seats of which there is something to say."""
    faults: tuple[Fault, ...] | UnsetType = UNSET
    """The ledger so far."""
    spoken: GameLanguage | UnsetType = UNSET
    invite_sha256: str | UnsetType = UNSET
    fill_after_seconds: int | UnsetType = UNSET
    """When house bots are asked into a private game; UNSET: they are not."""
    pack_digest: str | UnsetType = UNSET

    @property
    def language(self) -> GameLanguage:
        """What the content is told in."""
        return self.spoken or DEFAULT_LANGUAGE

    @property
    def private(self) -> bool:
        """Whether its agents were invited."""
        return bool(self.invite_sha256)

    @property
    def told_private(self) -> bool | UnsetType:
        """What the last event says of it: only of a private game that it is one."""
        return True if self.private else UNSET

    @property
    def over(self) -> bool:
        """Whether the game has ended or was ended."""
        return self.phase in ("end", "aborted")

    @property
    def playing(self) -> bool:
        """Whether the present phase waits for submissions."""
        return self.phase not in ("waiting", "end", "aborted")

    @property
    def deadline(self) -> datetime | None:
        """When the present phase's missing submissions become forfeits; None while no deadline runs."""
        seconds = self.phase_seconds
        if not seconds or self.entered_at is None or not self.playing:
            return None
        return self.entered_at + timedelta(seconds=seconds, milliseconds=self.extended_ms or 0)

    @property
    def phase_seconds(self) -> int:
        """How long the present phase waits; 0: for ever."""
        if self.deadlines is UNSET:
            return self.phase_deadline_seconds or 0
        return next((each.seconds for each in self.deadlines if each.phase == self.phase), 0)

    def seat(self, agent_id: str | None) -> T | None:
        for seat in self.seats:
            if seat.id == agent_id:
                return seat
        return None

    def turn_id(self, agent_id: str) -> str:
        """Names what the present phase asks of a seat: once, until the next phase or round begins."""
        return digest(["turn", self.game_id, self.entered_version, agent_id])[:32]

    def attends(self, agent_id: str) -> Attendance:
        return self.attendance.get(agent_id, _PRESENT) if self.attendance else _PRESENT

    def absent(self, agent_id: str) -> bool:
        """Whether nobody waits for this seat: it is away, or resigned."""
        attendance = self.attends(agent_id)
        return attendance.away or bool(attendance.resigned)


def entered(state: SeatedState[Any], phase: str, round_: int, at: datetime) -> Changes:
    """The changes of an event with which a phase or round begins."""
    begun = {"phase": phase, "round": round_, "entered_at": at, "entered_version": state.version + 1}
    return {**begun, "extended_ms": UNSET}


def counted(state: SeatedState[Any], event: SeatedEvent) -> Changes:
    """The changes that any event of a seat brings with it, beside its own: faults, and the row of missed deadlines."""
    if not event.counted and not state.attendance:
        return {}
    changes: Changes = {"faults": added(state.faults, event.counted)} if event.counted else {}
    if isinstance(event, Submitted):
        attendance = state.attends(event.agent_id)
        missed = attendance.missed + 1 if _missed(event) else 0
        if missed != attendance.missed:
            changes |= _attending(state, event.agent_id, replace(attendance, missed=missed))
    return changes


def _missed(event: Submitted) -> bool:
    counted = event.counted or ()
    return any(fault.agent_id == event.agent_id and fault.what == "deadline" for fault in counted)


def _attending(state: SeatedState[Any], agent_id: str, attendance: Attendance) -> Changes:
    return {"attendance": {**(state.attendance or {}), agent_id: attendance}}


def _created(_: SeatedState[Any], event: GameCreated, __: datetime) -> Changes:
    config = event.config
    return {
        "seed": event.seed,
        "phase_deadline_seconds": config.phase_deadline_seconds,
        "deadlines": config.deadlines,
        "spoken": config.language,
        "invite_sha256": config.invite_sha256,
        "fill_after_seconds": config.fill_after_seconds,
        "pack_digest": config.pack_digest,
    }


def _left(state: SeatedState[Any], event: AgentLeft, _: datetime) -> Changes:
    return {"seats": tuple(seat for seat in state.seats if seat.id != event.agent_id)}


def _away(state: SeatedState[Any], event: SeatAway, _: datetime) -> Changes:
    return _attending(state, event.agent_id, replace(state.attends(event.agent_id), away=True))


def _back(state: SeatedState[Any], event: SeatBack, _: datetime) -> Changes:
    return _attending(state, event.agent_id, replace(state.attends(event.agent_id), away=False, missed=0))


def _resigned(state: SeatedState[Any], event: SeatResigned, _: datetime) -> Changes:
    place = 1 + sum(bool(each.resigned) for each in (state.attendance or {}).values())
    return _attending(state, event.agent_id, Attendance(away=True, resigned=place))


def _extended(_: SeatedState[Any], event: PhaseExtended, __: datetime) -> Changes:
    return {"extended_ms": event.extended_ms}


def _aborted(state: SeatedState[Any], _: GameAborted, at: datetime) -> Changes:
    return entered(state, "aborted", state.round, at)


def folds(seat: type[Seat]) -> Mapping[type[Event], Fold]:
    """The folds of the events that every game with seats has, for a game that keeps such seats."""

    def joined(state: SeatedState[Any], event: AgentJoined, _: datetime) -> Changes:
        return {"seats": (*state.seats, seat(event.agent_id, event.name, **identity_of(event)))}

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
