"""The rules that all games with seats share (api.md, the table of calls): join, leave, start, end, deadlines."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec
from msgspec import UnsetType
from msgspec.structs import replace
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code, FieldFault, faults
from playmolt_schemas.game_messages import DEFAULT_LANGUAGE, Fault, GameLanguage, GameSummary
from playmolt_schemas.identity import identity_of
from typing_extensions import override

from playmolt_core.game.decider import (
    Accepted,
    Act,
    Command,
    Create,
    DeadlinePassed,
    Decision,
    Effect,
    EndGame,
    Event,
    Forfeit,
    Join,
    Leave,
    Refused,
    Resign,
)
from playmolt_core.game.endings import ended
from playmolt_core.game.game import Game
from playmolt_core.game.packs.shelf import Shelf
from playmolt_core.game.seats import ledger
from playmolt_core.game.seats.events import (
    AgentJoined,
    AgentLeft,
    Closing,
    Config,
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
from playmolt_core.game.seats.recovery import commands_of, gathered
from playmolt_core.game.seats.state import Seat, SeatedState, counted

T = TypeVar("T", bound=Seat)
S = TypeVar("S", bound=SeatedState[Any])
C = TypeVar("C", bound=Command)
E = TypeVar("E")

MISSES_TO_BE_AWAY: Final = 2
VERSION_CHARS: Final = 16
"""How much of a digest names content."""
OUTAGE_SHARE: Final = 3
"""A phase is extended when the platform was away for more than one part in so many of it."""
ABANDONED: Final = "abandoned"
_FAULTS: Final = frozenset((Code.INVALID_ACTION, Code.WRONG_PHASE, Code.WRONG_ACTION, Code.SWITCH_UNAVAILABLE))
"""The refusals of an action that count as a fault of the bot."""
_STALE_TURN: Final = Refused(
    Code.STALE_TURN, "This answers a question that you are not asked now. Ask for the turn and decide anew."
)


class SeatedGame(Game[S], ABC, Generic[S, T]):
    """The half of a decider that games with seats share; a game adds its phases, its views and what follows what."""

    opening = frozenset((Create,))
    unknown = Refused(Code.NOT_FOUND, "There is no such game. Join one with POST /api/games/join.")
    from_content = frozenset(("game_started",))
    shelf: Shelf[Any] = Shelf()
    """The packs that private games may be drawn from."""
    deadlines: ClassVar[Mapping[str, int]] = {}
    """Phase → seconds that it waits for missing submissions, where the operator has not said otherwise."""

    def __init__(self) -> None:
        super().__init__(
            {
                Create: self._create,
                Join: _join,
                Leave: _leave,
                Act: _counting(self._act),
                Resign: _counting(_resign),
                Forfeit: _counting(self._forfeit),
                DeadlinePassed: _counting(self._deadline_passed),
                EndGame: _counting(_end),
            }
        )

    @abstractmethod
    def start(self, state: S) -> Event:
        """The event with which a full game starts, everything drawn that it needs."""

    @abstractmethod
    def next_event(self, state: S) -> Event | None:
        """The event that a started game brings about by itself; None when it waits for somebody."""

    @abstractmethod
    def submit(self, state: S, seat: T, action: Any) -> Decision:
        """Decide an action, any JSON value, of one who sits in a game that is being played."""

    @abstractmethod
    def missing(self, state: S) -> Sequence[T]:
        """The seats whose submission the present phase still lacks, in seat order."""

    @abstractmethod
    def forfeit(self, state: S, seat: T) -> Submitted:
        """What stands for the submission of a seat that the present phase lacks."""

    @abstractmethod
    def action_of(self, event: Any) -> Mapping[str, Any]:
        """The action that a stored submission came from, so that it can be decided again."""

    @override
    def follow(self, state: S, command: Command) -> Event | None:
        if state.phase == "waiting":
            return self.start(state) if len(state.seats) == self.needed else None
        if not state.playing:
            return None
        if not state.attendance:  # everybody is there
            return self.next_event(state)
        if all(state.absent(seat.id) for seat in state.seats):
            return GameAborted(reason=ABANDONED, faults=state.faults or (), private=state.told_private)
        following = self.next_event(state)
        if following is not None:
            return following
        missing = self.missing(state)
        return self._missed(state, missing[0]) if all(state.absent(seat.id) for seat in missing) else None

    @override
    def evolve(self, state: S, event: Event, at: datetime) -> S:
        after = super().evolve(state, event, at)
        changes = counted(state, event) if isinstance(event, SeatedEvent) else None
        return replace(after, **changes) if changes else after

    @override
    def resigned(self, state: S, agent_id: str) -> bool:
        return bool(state.attends(agent_id).resigned)

    @override
    def summary(self, state: S) -> GameSummary:
        return GameSummary(
            phase=state.phase,
            round=state.round,
            seated=len(state.seats),
            needed=self.needed,
            over=state.over,
            language=state.language,
            invite=state.invite_sha256 or "",
        )

    @override
    def fill_after(self, state: S) -> int | UnsetType:
        return state.fill_after_seconds

    @override
    def participants(self, state: S) -> Mapping[str, str]:
        return {seat.id: seat.name for seat in state.seats}

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
        """Event 1 says which rules, content and configuration a game is played with; that is no decision. The last
        event of a private game once did not say that it was one."""
        if isinstance(decided, Closing) and isinstance(stored, Closing):
            return replace(decided, private=stored.private)
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
    def effects(self, state: S) -> Sequence[Effect]:
        deadline = state.deadline
        return () if deadline is None else (_deadline(state, deadline),)

    def _create(self, state: S, command: Create) -> Decision:
        if state.version:
            return Refused(Code.ALREADY_STARTED, "This game exists already. Open another one under an id of its own.")
        try:
            config = msgspec.convert(command.config, Config)
        except msgspec.ValidationError as error:
            return Refused(
                Code.INVALID_REQUEST, f"The configuration of a game: {error}.", faults({"config": str(error)})
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
        """A configuration that names its pack by digest; that of a stored game does so already."""
        if config.pack_digest:
            return config
        pack = self.shelf.named(config.pack or "")
        if pack is None:
            return _no_pack("pack", f"is not here; there are {', '.join(self.shelf.ids()) or 'none'}")
        first = DEFAULT_LANGUAGE if DEFAULT_LANGUAGE in pack.entries else next(iter(pack.entries))
        language = config.language or first
        if language not in pack.entries:
            return _no_pack("language", f"must be one of {', '.join(pack.entries)}")
        return replace(config, pack_digest=pack.digest, language=language)

    @override
    def lacks(self, state: S) -> str:
        digest = state.pack_digest or ""
        return "" if state.phase != "waiting" or not digest or self.shelf.of(digest) else digest

    def drawn_from(self, state: S, shipped: Callable[[GameLanguage], Sequence[E]]) -> Sequence[E]:
        """The entries that a game is drawn from. Of a pack that is not here none is drawn in earnest: see `lacks`."""
        pack = self.shelf.of(state.pack_digest or "")
        return pack.entries[state.language] if pack else shipped(state.language)

    def content_in(self, language: GameLanguage) -> str:  # noqa: ARG002 -- for a game that tells its content in several
        """The version of the content that a game of this language takes."""
        return self.content_version

    def _settled(self, config: Config) -> Config:
        """A configuration with the game's own deadlines spelt out, unless the operator says one for all."""
        if config.phase_deadline_seconds is not None or config.deadlines is not msgspec.UNSET:
            return config
        deadlines = (PhaseDeadline(phase=phase, seconds=seconds) for phase, seconds in self.deadlines.items())
        return replace(config, deadlines=tuple(deadlines))

    def _act(self, state: S, command: Act) -> Decision:
        seat = state.seat(command.agent_id)
        if seat is None:
            return _no_seat()
        if refused := _not_playing(state, seat, Code.NOT_STARTED):
            return refused
        turn_id, action = _answered(command.action)
        if self._stale(state, seat, turn_id):
            return _STALE_TURN
        return _judged(state, seat, self.submit(state, seat, action))

    def _forfeit(self, state: S, command: Forfeit) -> Decision:
        seat = state.seat(command.agent_id)
        if seat is None:
            return _no_seat()
        if refused := _not_playing(state, seat, Code.NOT_STARTED):
            return refused
        if self._stale(state, seat, command.turn_id):
            return _STALE_TURN
        if seat not in self.missing(state):
            return _judged(
                state, seat, Refused(Code.NOTHING_TO_FORFEIT, "Nothing is asked of you now. Wait for your turn.")
            )
        fault = Fault(agent_id=seat.id, kind=command.kind, what=command.what)
        return _judged(state, seat, Accepted((replace(self.forfeit(state, seat), counted=(fault,)),)))

    def _stale(self, state: S, seat: T, turn_id: Any) -> bool:
        """Whether an answer is one to another question than the one that its seat is asked now."""
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
            if not state.absent(seat.id) and state.attends(seat.id).missed + 1 >= MISSES_TO_BE_AWAY
        ]
        return Accepted((*(self._missed(state, seat) for seat in missing), *away))

    def _missed(self, state: S, seat: T) -> Submitted:
        """What stands for a submission whose time has passed; nothing more is counted of a seat that resigned."""
        forfeit = self.forfeit(state, seat)
        if self.resigned(state, seat.id):
            return forfeit
        return replace(forfeit, counted=(ledger.bot(seat.id, "deadline"),))


def _no_pack(field: str, told: str) -> Refused:
    return Refused(Code.INVALID_REQUEST, f"Mend the body and send it again: {field} {told}.", faults({field: told}))


def invalid(errors: tuple[FieldFault, ...]) -> Refused:
    """Refuse an action whose shape or fields are at fault, naming the first five."""
    found = "; ".join(f"{error.field} {error.message}".strip() for error in errors[:5])
    return Refused(Code.INVALID_ACTION, f"Mend the action and send it again: {found}.", errors)


def already_submitted() -> Refused:
    return Refused(Code.ALREADY_SUBMITTED, "Yours is in. Ask for the state until allowed_actions names an action.")


def _counting(handler: Callable[[Any, C], Decision]) -> Callable[[Any, C], Decision]:
    """Have the faults that were gathered before a command stored with the first event that it comes to."""

    def decide(state: SeatedState[Any], command: C) -> Decision:
        gathered = command.gathered
        if not gathered:
            return handler(state, command)
        decision = handler(replace(state, faults=ledger.added(state.faults, gathered)), command)
        if not decision.events:
            return decision
        first, *rest = decision.events
        assert isinstance(first, SeatedEvent)  # noqa: S101 -- what these commands come to begins with a seat's event
        return replace(decision, events=(replace(first, counted=ledger.added(gathered, first.counted)), *rest))

    return decide


def _judged(state: SeatedState[Any], seat: Seat, decision: Decision) -> Decision:
    """A decision about a seat's action, with what comes of it that it acted at all."""
    fault = None
    if isinstance(decision, Refused) and decision.code in _FAULTS:
        fault = ledger.bot(seat.id, "refused")
    if not state.attends(seat.id).away:
        return replace(decision, fault=fault) if fault else decision
    back = SeatBack(agent_id=seat.id, name=seat.name, counted=(fault,) if fault else msgspec.UNSET)
    if isinstance(decision, Accepted) and not decision.events:
        return Accepted((back,), passed=True)
    return replace(decision, events=(*decision.events, back))


def _answered(action: Any) -> tuple[Any, Any]:
    """Which question an action says it answers, and the action without that: it is no matter of a game's."""
    if not isinstance(action, dict) or "turn_id" not in action:
        return None, action
    return action["turn_id"], {field: value for field, value in action.items() if field != "turn_id"}


def _resign(state: SeatedState[Any], command: Resign) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if refused := _not_playing(state, seat, Code.NOT_RUNNING):
        return refused
    fault = ledger.bot(seat.id, "resigned")
    return Accepted((SeatResigned(agent_id=seat.id, name=seat.name, counted=(fault,)),))


def _not_playing(state: SeatedState[Any], seat: Seat, waiting: Code) -> Refused | None:
    """Why one who has a seat cannot act; `waiting` is the code while the game has not started."""
    if state.over:
        return _over()
    if state.attends(seat.id).resigned:
        return Refused(Code.ALREADY_RESIGNED, "You resigned from this game. POST /api/games/join finds another one.")
    if state.playing:
        return None
    return Refused(waiting, "The game waits for more agents. Ask for the state until the phase changes.")


def _join(state: SeatedState[Any], command: Join) -> Decision:
    if state.seat(command.agent_id) and not state.over:
        return Accepted(())
    if state.phase != "waiting":
        return Refused(Code.ALREADY_STARTED, "This game has started. POST /api/games/join finds one that waits.")
    return Accepted((AgentJoined(agent_id=command.agent_id, name=command.name, **identity_of(command.identity)),))


def _leave(state: SeatedState[Any], command: Leave) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if state.over:
        return _over()
    if state.phase != "waiting":
        return Refused(Code.ALREADY_STARTED, "A game that has started cannot be left. Play it to its end.")
    left = AgentLeft(agent_id=seat.id, name=seat.name)
    others = (other for other in state.seats if other.id != seat.id)
    if state.private and all(other.kind == "house" for other in others):
        return Accepted((left, GameAborted(reason=ABANDONED, faults=(), private=True)))
    return Accepted((left,))


def _end(state: SeatedState[Any], command: EndGame) -> Decision:
    if state.over:
        return _over()
    faults = ledger.operator((seat.id for seat in state.seats), "ended")

    def aborted(reason: str) -> GameAborted:
        whole = ledger.added(state.faults, faults)
        return GameAborted(reason=reason, counted=faults, faults=whole, private=state.told_private)

    return ended(command, aborted)


def _no_seat() -> Refused:
    return Refused(Code.NOT_A_PARTICIPANT, "You have no seat in this game. POST /api/games/join gives you one.")


def _over() -> Refused:
    return Refused(Code.GAME_OVER, "This game is over. POST /api/games/join finds the next one.")


def _extended(state: SeatedState[Any], missing: Sequence[Seat], lost_ms: int) -> PhaseExtended:
    faults = ledger.platform((seat.id for seat in missing), "outage")
    return PhaseExtended(phase=state.phase, round=state.round, extended_ms=lost_ms, counted=faults)


def _deadline(state: SeatedState[Any], due: datetime) -> Effect:
    return Effect(id=_effect_id(state), kind="deadline", due=due, payload=state.entered_at)


def _effect_id(state: SeatedState[Any]) -> str:
    named = ["deadline", state.game_id, state.phase, state.round, state.entered_version]
    return digest([*named, "extended"] if state.extended_ms else named)[:32]
