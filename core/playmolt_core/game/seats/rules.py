"""Rules that all games with seats share (api.md, the table of calls): join, leave, start, end, deadlines."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code, FieldFault, faults
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.game_messages import GameMessages, GameSummary
from playmolt_schemas.limits import SLOW_PHASE_SECONDS
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.seats import (
    AgentJoined,
    AgentLeft,
    ClosingEvent,
    Config,
    GameAborted,
    GameCreated,
    PhaseDeadline,
    PhaseExtended,
    SeatAway,
    SeatBack,
    SeatedEvent,
    SeatResigned,
    StartingEvent,
    Submitted,
)
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, Fault, GameLanguage, identity_of
from typing_extensions import override

from playmolt_core.game.decider import (
    Absent,
    Accepted,
    Act,
    Appear,
    Command,
    Create,
    DeadlinePassed,
    Decision,
    Effect,
    EndGame,
    Forfeit,
    Join,
    Leave,
    Refused,
    Resign,
    Viewer,
)
from playmolt_core.game.game import Game, ended
from playmolt_core.game.packs.entries import PackLibrary
from playmolt_core.game.seats import ledger
from playmolt_core.game.seats.recovery import commands_of, gathered
from playmolt_core.game.seats.state import Seat, SeatedState, counted, unrated_for

T = TypeVar("T", bound=Seat)
S = TypeVar("S", bound=SeatedState)
C = TypeVar("C", bound=Command)
E = TypeVar("E")

FEWEST_TO_RATE: Final = 2
"""Agents that are not the house's, in a rated game."""
MISSES_TO_BE_AWAY: Final = 2
VERSION_CHARS: Final = 16
"""The length of a content version: the beginning of a digest."""
OUTAGE_SHARE: Final = 3
"""A phase is extended if the platform was unavailable for more than 1/OUTAGE_SHARE of it."""
ABANDONED: Final = "abandoned"
_FAULTS: Final = frozenset((Code.INVALID_ACTION, Code.WRONG_PHASE, Code.WRONG_ACTION, Code.SWITCH_UNAVAILABLE))
"""Refusals of an action that count as a fault of the bot."""
_STALE_TURN: Final = Refused(
    Code.STALE_TURN, "This action answers an earlier turn. Get the current turn and decide again."
)


class SeatedGame(Game[S], ABC, Generic[S, T]):
    """Base of deciders with seats; a game adds its phases, views and transitions."""

    opening = frozenset((Create,))
    unknown = Refused(Code.NOT_FOUND, "This game does not exist. Join a game with POST /api/games/join.")
    from_content = frozenset(("game_started",))
    messages: GameMessages
    packs: PackLibrary[Any] = PackLibrary()
    """The packs that private games can use."""
    deadlines: ClassVar[Mapping[str, int]] = {}
    """Phase → default deadline in seconds."""
    roles: ClassVar[tuple[str, ...]] = ()
    """The roles of the seats, which a tournament may give to them in any order; empty: all seats are equal."""

    def __init__(self) -> None:
        super().__init__(
            {
                Create: self._create,
                Join: _join,
                Leave: _leave,
                Act: _counting(self._act),
                Resign: _counting(_resign),
                Forfeit: _counting(self._forfeit),
                Appear: _counting(_appear),
                Absent: _counting(_absent),
                DeadlinePassed: _counting(self._deadline_passed),
                EndGame: _counting(_end),
            }
        )
        self._copies = self.messages.feed.copies

    @abstractmethod
    def start(self, state: S) -> Event:
        """The event that starts a full game, with all random draws."""

    @abstractmethod
    def next_event(self, state: S) -> Event | None:
        """The next automatic event of a started game; None if it waits for submissions."""

    @abstractmethod
    def submit(self, state: S, seat: T, action: object) -> Decision:
        """Decide an action (any JSON value) of a seat in a running game."""

    @abstractmethod
    def missing(self, state: S) -> Sequence[T]:
        """The seats whose submission the current phase still needs, in seat order."""

    @abstractmethod
    def forfeit(self, state: S, seat: T) -> Submitted:
        """The forfeit that replaces the missing submission of a seat."""

    @abstractmethod
    def action_of(self, event: Any) -> Mapping[str, Any]:
        """The action of a stored submission, so that it can be decided again."""

    @override
    def follow(self, state: S, command: Command) -> Event | None:
        if state.phase == "waiting":
            return self._started(state) if len(state.seats) == self.needed else None
        if not state.playing:
            return None
        if not state.attendance:  # all agents are present
            return _closed(state, self.next_event(state))
        if all(state.absent(seat.id) for seat in state.seats):
            return GameAborted(reason=ABANDONED, faults=state.faults, private=state.private)
        following = self.next_event(state)
        if following is not None:
            return _closed(state, following)
        missing = self.missing(state)
        return None if any(state.awaited(seat.id) for seat in missing) else self._missed(state, missing[0])

    def _started(self, state: S) -> Event:
        event = self.start(state)
        if not isinstance(event, StartingEvent):
            return event
        unrated = unrated_for(state)
        rated = state.ratable and unrated is None and _players(state) >= FEWEST_TO_RATE
        return replace(event, rated=rated, unrated=unrated or UNSET)

    @override
    def public(self, event: Event, viewer: Viewer, state: S | None = None) -> FeedMessage | None:
        copy = self._copies.get(type(event))
        return copy(event, viewer.agent_id) if copy else None

    @override
    def evolve(self, state: S, event: Event, at: datetime) -> S:
        changes = self.folds[type(event)](state, event, at)
        if isinstance(event, SeatedEvent):
            if event.counted or state.attendance:
                changes = {**changes, **counted(state, event)}
        elif isinstance(event, StartingEvent) and event.unrated:
            changes = {**changes, "unrated": event.unrated}
        return replace(state, version=state.version + 1, **changes)

    @override
    def resigned(self, state: S, agent_id: str) -> bool:
        return bool(state.attends(agent_id).resigned)

    @override
    def sign_of(self, state: S, agent_id: str) -> Command | None:
        attendance = state.attends(agent_id)
        return Appear(agent_id=agent_id) if attendance.away and state.playing and not attendance.resigned else None

    @override
    def summary(self, state: S) -> GameSummary:
        return GameSummary(
            phase=state.phase,
            round=state.round,
            seated=len(state.seats),
            needed=self.needed,
            over=state.over,
            language=state.language,
            invite=state.invite_sha256,
            pace=state.pace,
            tournament=state.tournament,
        )

    @override
    def fill_after(self, state: S) -> int | None:
        return state.fill_after_seconds

    @override
    def participants(self, state: S) -> Mapping[str, str]:
        return {seat.id: seat.name for seat in state.seats}

    @override
    def owners(self, state: S) -> Collection[str]:
        return {seat.owner_id for seat in state.seats if seat.owner_id}

    @override
    def recovered(self, state: S, events: Sequence[Event], at: datetime) -> Iterable[Command]:
        return self._recovered(state, events[0], at)

    def _recovered(self, state: S, event: Event, at: datetime) -> Iterator[Command]:
        for command in commands_of(event, self.effects(state), self.action_of):
            yield command
            decided = self.decide(state, command, at).events
            before = gathered(event, decided[0]) if decided else ()
            if before:
                yield replace(command, gathered=before)

    @override
    def pinned(self, decided: Event, stored: Event) -> Event:
        """Event 1 fixes the rules, content and configuration of a game; they are inputs, not decisions."""
        if not isinstance(decided, GameCreated) or not isinstance(stored, GameCreated):
            return decided
        return replace(
            decided,
            rules_version=stored.rules_version,
            content_version=stored.content_version,
            config=stored.config,
        )

    @override
    def turn_id(self, state: S, agent_id: str) -> str | None:
        return state.turn_id(agent_id) if self.allowed_actions(state, agent_id) else None

    @override
    def effects(self, state: S) -> Sequence[Effect[datetime | None]]:
        deadline = state.deadline
        return () if deadline is None else (_deadline(state, deadline),)

    def _create(self, state: S, command: Create) -> Decision:
        if state.version:
            return Refused(Code.ALREADY_STARTED, "This game already exists. Open a game with a new id.")
        try:
            config = msgspec.convert(command.config, Config)
        except msgspec.ValidationError as error:
            return Refused(
                Code.INVALID_REQUEST, f"Invalid game configuration: {error}.", faults({"config": str(error)})
            )
        if config.roles and sorted(config.roles) != sorted(self.roles):
            problem = f"must be, in any order: {', '.join(self.roles) or 'none'}"
            return Refused(
                Code.INVALID_REQUEST, f"Fix the request body and retry: roles {problem}.", faults({"roles": problem})
            )
        version = self.content_in(config.language or DEFAULT_LANGUAGE)
        if config.pack:
            pinned = self._with_digest(config)
            if isinstance(pinned, Refused):
                return pinned
            config, version = pinned, str(pinned.pack_digest)[:VERSION_CHARS]
        created = GameCreated(
            needed=self.needed,
            seed=command.seed,
            rules_version=self.rules_version,
            content_version=version,
            config=self._settled(config),
        )
        return Accepted((created,))

    def _with_digest(self, config: Config) -> Config | Refused:
        """The configuration with the digest of its pack; stored configurations already have it."""
        if config.pack_digest:
            return config
        pack = self.packs.named(config.pack or "")
        if pack is None:
            return _no_pack("pack", f"does not exist; available packs: {', '.join(self.packs.ids()) or 'none'}")
        first = DEFAULT_LANGUAGE if DEFAULT_LANGUAGE in pack.entries else next(iter(pack.entries))
        language = config.language or first
        if language not in pack.entries:
            return _no_pack("language", f"must be one of {', '.join(pack.entries)}")
        return replace(config, pack_digest=pack.digest, language=language)

    @override
    def lacks(self, state: S) -> str:
        digest = state.pack_digest
        return "" if state.phase != "waiting" or not digest or self.packs.of(digest) else digest

    def drawn_from(self, state: S, shipped: Callable[[GameLanguage], Sequence[E]]) -> Sequence[E]:
        """The entries from which a game is drawn. `lacks` prevents draws from a missing pack."""
        pack = self.packs.of(state.pack_digest)
        return pack.entries[state.language] if pack else shipped(state.language)

    def content_in(self, language: GameLanguage) -> str:  # noqa: ARG002 -- for games with content in several languages
        """The content version for a language."""
        return self.content_version

    def _settled(self, config: Config) -> Config:
        """The configuration with its language and, unless the operator set one for all phases, the game's deadlines."""
        config = replace(config, language=config.language or DEFAULT_LANGUAGE)
        if config.pace == "slow":
            return replace(config, phase_deadline_seconds=SLOW_PHASE_SECONDS)
        if config.phase_deadline_seconds is not None or config.deadlines:
            return config
        deadlines = (PhaseDeadline(phase=phase, seconds=seconds) for phase, seconds in self.deadlines.items())
        return replace(config, deadlines=tuple(deadlines))

    def _act(self, state: S, command: Act) -> Decision:
        seat = cast("T | None", state.seat(command.agent_id))
        if seat is None:
            return _no_seat()
        if refused := _not_playing(state, seat, Code.NOT_STARTED):
            return refused
        turn_id, action = _answered(command.action)
        decision = _STALE_TURN if self._stale(state, seat, turn_id) else self.submit(state, seat, action)
        return _judged(state, seat, decision)

    def _forfeit(self, state: S, command: Forfeit) -> Decision:
        seat = cast("T | None", state.seat(command.agent_id))
        if seat is None:
            return _no_seat()
        if refused := _not_playing(state, seat, Code.NOT_STARTED):
            return refused
        if self._stale(state, seat, command.turn_id):
            return _judged(state, seat, _STALE_TURN)
        if seat not in self.missing(state):
            return _judged(state, seat, Refused(Code.NOTHING_TO_FORFEIT, "It is not your turn. Wait for your turn."))
        fault = Fault(agent_id=seat.id, kind=command.kind, what=command.what)
        return _judged(state, seat, Accepted((replace(self.forfeit(state, seat), counted=(fault,)),)))

    def _stale(self, state: S, seat: T, turn_id: object) -> bool:
        """Whether a turn id is not that of the seat's current turn."""
        return turn_id is not None and turn_id != self.turn_id(state, seat.id)

    def _deadline_passed(self, state: S, command: DeadlinePassed) -> Decision:
        if state.deadline is None or command.effect_id != _effect_id(state):
            return Accepted(())
        missing = self.missing(state)
        if not state.extended_ms and OUTAGE_SHARE * command.lost_ms > 1000 * state.phase_seconds:
            return Accepted((_extended(state, missing, command.lost_ms),))
        away = [
            SeatAway(agent_id=seat.id, name=seat.name)
            for seat in missing
            if state.awaited(seat.id) and state.attends(seat.id).missed + 1 >= MISSES_TO_BE_AWAY
        ]
        return Accepted((*(self._missed(state, seat) for seat in missing), *away))

    def _missed(self, state: S, seat: T) -> Submitted:
        """The forfeit of a missed submission; faults of a resigned seat are not counted."""
        forfeit = self.forfeit(state, seat)
        if self.resigned(state, seat.id):
            return forfeit
        return replace(forfeit, counted=(ledger.bot(seat.id, "deadline"),))


def _no_pack(field: str, problem: str) -> Refused:
    detail = f"Fix the request body and retry: {field} {problem}."
    return Refused(Code.INVALID_REQUEST, detail, faults({field: problem}))


def invalid(errors: tuple[FieldFault, ...]) -> Refused:
    """Refuse an action with invalid fields; the detail names the first five."""
    found = "; ".join(f"{error.field} {error.message}".strip() for error in errors[:5])
    return Refused(Code.INVALID_ACTION, f"Fix the action and retry: {found}.", errors)


def already_submitted() -> Refused:
    return Refused(
        Code.ALREADY_SUBMITTED, "You have already submitted. Poll the state until `allowed_actions` lists an action."
    )


def _counting(handler: Callable[[Any, C], Decision]) -> Callable[[Any, C], Decision]:
    """Store the faults that were gathered before a command with its first event."""

    def decide(state: SeatedState, command: C) -> Decision:
        gathered = command.gathered
        if not gathered:
            return handler(state, command)
        decision = handler(replace(state, faults=ledger.added(state.faults, gathered)), command)
        if not decision.events:
            return decision
        first, *rest = decision.events
        assert isinstance(first, SeatedEvent)  # noqa: S101 -- these commands begin with a seat's event
        return replace(decision, events=(replace(first, counted=ledger.added(gathered, first.counted)), *rest))

    return decide


def _judged(state: SeatedState, seat: Seat, decision: Decision) -> Decision:
    """A decision about a seat's action, with the fault that it counts as and the return of an absent seat."""
    fault = None
    if isinstance(decision, Refused) and decision.code in _FAULTS:
        fault = ledger.bot(seat.id, "refused")
    if not state.attends(seat.id).away:
        return replace(decision, fault=fault) if fault else decision
    back = _back(seat, fault) if fault else _back(seat)
    if isinstance(decision, Accepted) and not decision.events:
        return Accepted((back,), passed=True)
    return replace(decision, events=(*decision.events, back))


def _appear(state: SeatedState, command: Appear) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if refused := _not_playing(state, seat, Code.NOT_STARTED):
        return refused
    return Accepted((_back(seat),) if state.attends(seat.id).away else ())


def _absent(state: SeatedState, command: Absent) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if refused := _not_playing(state, seat, Code.NOT_RUNNING):
        return refused
    return Accepted(() if state.attends(seat.id).away else (SeatAway(agent_id=seat.id, name=seat.name),))


def _back(seat: Seat, *faults: Fault) -> SeatBack:
    return SeatBack(agent_id=seat.id, name=seat.name, counted=faults or msgspec.UNSET)


def _answered(action: object) -> tuple[object, object]:
    """The turn id of an action, and the action without it; games do not handle turn ids."""
    if not isinstance(action, dict) or "turn_id" not in action:
        return None, action
    return action["turn_id"], {field: value for field, value in action.items() if field != "turn_id"}


def _resign(state: SeatedState, command: Resign) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if refused := _not_playing(state, seat, Code.NOT_RUNNING):
        return refused
    fault = ledger.bot(seat.id, "resigned")
    return Accepted((SeatResigned(agent_id=seat.id, name=seat.name, counted=(fault,)),))


def _not_playing(state: SeatedState, seat: Seat, waiting: Code) -> Refused | None:
    """Why a seated agent cannot act; `waiting` is the code before the game starts."""
    if state.over:
        return _over()
    if state.attends(seat.id).resigned:
        return Refused(
            Code.ALREADY_RESIGNED, "You resigned from this game. Join another game with POST /api/games/join."
        )
    if state.playing:
        return None
    return Refused(waiting, "The game is waiting for more agents. Poll the state until the phase changes.")


def _join(state: SeatedState, command: Join) -> Decision:
    if state.seat(command.agent_id) and not state.over:
        return Accepted(())
    if state.phase != "waiting":
        return Refused(
            Code.ALREADY_STARTED, "This game has already started. Join a waiting game with POST /api/games/join."
        )
    joined = AgentJoined(
        agent_id=command.agent_id,
        name=command.name,
        one_address=True if command.one_address else UNSET,
        **identity_of(command.identity),
    )
    return Accepted((joined,))


def _players(state: SeatedState) -> int:
    return sum(seat.kind != "house" for seat in state.seats)


def _closed(state: SeatedState, event: Event | None) -> Event | None:
    """The event; if it closes a public game that is not rated, with that fact, which archiving keeps."""
    if not isinstance(event, ClosingEvent) or state.private or (state.ratable and state.unrated is None):
        return event
    return replace(event, rated=False)


def _leave(state: SeatedState, command: Leave) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if state.over:
        return _over()
    if state.phase != "waiting":
        return Refused(
            Code.ALREADY_STARTED,
            "You cannot leave a game that has started. Play to the end, or resign with POST /api/games/{id}/resign.",
        )
    left = AgentLeft(agent_id=seat.id, name=seat.name)
    others = (other for other in state.seats if other.id != seat.id)
    if state.private and all(other.kind == "house" for other in others):
        return Accepted((left, GameAborted(reason=ABANDONED, faults=(), private=True)))
    return Accepted((left,))


def _end(state: SeatedState, command: EndGame) -> Decision:
    if state.over:
        return _over()
    faults = ledger.operator((seat.id for seat in state.seats), "ended")

    def aborted(reason: str) -> GameAborted:
        whole = ledger.added(state.faults, faults)
        return GameAborted(reason=reason, counted=faults, faults=whole, private=state.private)

    return ended(command, aborted)


def _no_seat() -> Refused:
    return Refused(Code.NOT_A_PARTICIPANT, "You have no seat in this game. Join a game with POST /api/games/join.")


def _over() -> Refused:
    return Refused(Code.GAME_OVER, "This game is over. Join another game with POST /api/games/join.")


def _extended(state: SeatedState, missing: Sequence[Seat], lost_ms: int) -> PhaseExtended:
    faults = ledger.platform((seat.id for seat in missing), "outage")
    return PhaseExtended(phase=state.phase, round=state.round, extended_ms=lost_ms, counted=faults)


def _deadline(state: SeatedState, due: datetime) -> Effect[datetime | None]:
    return Effect(id=_effect_id(state), kind="deadline", due=due, payload=state.entered_at)


def _effect_id(state: SeatedState) -> str:
    named = ["deadline", state.game_id, state.phase, state.round, state.entered_version]
    return digest([*named, "extended"] if state.extended_ms else named)[:32]
