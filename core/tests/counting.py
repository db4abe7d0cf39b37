"""The smallest possible game, for tests of the engine: two seats add numbers until the sum is ten."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import msgspec
from playmolt_core.game.decider import (
    Accepted,
    Act,
    AllowedAction,
    Command,
    Create,
    DeadlinePassed,
    Decision,
    Effect,
    EndGame,
    Join,
    Leave,
    Refused,
    Viewer,
)
from playmolt_core.game.game import Changes, Fold, Game
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.stored.event import Event, stored_types
from typing_extensions import override


class Created(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "game_created"
    seed: str
    seconds: int


class Joined(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "agent_joined"
    agent_id: str
    name: str


class Left(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "agent_left"
    agent_id: str


class Added(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "added"
    agent_id: str
    secret: int


class Ended(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "game_end"
    closes: ClassVar[bool] = True
    results: list[dict[str, Any]]


class Aborted(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str


class Count(msgspec.Struct, frozen=True, kw_only=True):
    game_id: str
    version: int = 0
    seconds: int = 0
    since: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    seats: dict[str, str] = {}
    total: int = 0
    phase: str = "waiting"


class CountView(msgspec.Struct):
    game_id: str
    version: int
    phase: str
    total: int
    me: str


def _created(_: Count, event: Created, __: datetime) -> Changes:
    return {"seconds": event.seconds}


def _joined(state: Count, event: Joined, at: datetime) -> Changes:
    seats = state.seats | {event.agent_id: event.name}
    return {"seats": seats, "phase": "playing" if len(seats) == 2 else "waiting", "since": at}


def _left(state: Count, event: Left, _: datetime) -> Changes:
    return {"seats": {seat: name for seat, name in state.seats.items() if seat != event.agent_id}}


def _added(state: Count, event: Added, at: datetime) -> Changes:
    return {"total": state.total + event.secret, "since": at}


def _over(_: Count, event: Event, __: datetime) -> Changes:
    return {"phase": "end" if isinstance(event, Ended) else "aborted"}


def _create(_: Count, command: Create) -> Decision:
    return Accepted((Created(seed=command.seed, seconds=command.config["phase_deadline_seconds"] or 0),))


def _join(_: Count, command: Join) -> Decision:
    return Accepted((Joined(agent_id=command.agent_id, name=command.name),))


def _leave(state: Count, command: Leave) -> Decision:
    if command.agent_id not in state.seats:
        return Refused(Code.NOT_A_PARTICIPANT, "not here")
    return Accepted((Left(agent_id=command.agent_id),))


def _end(_: Count, command: EndGame) -> Decision:
    return Accepted((Aborted(reason=command.reason),))


def _add(state: Count, command: Act) -> Decision:
    action = command.action
    if command.agent_id not in state.seats:
        return Refused(Code.NOT_A_PARTICIPANT, "not here")
    if state.phase != "playing":
        return Refused(Code.GAME_OVER if state.phase != "waiting" else Code.NOT_STARTED, "not now")
    if action == "pass":
        return Accepted(())
    if action == "bug":
        raise RuntimeError(f"a bug beside {state.seats}")
    if not isinstance(action, dict) or not isinstance(action.get("add"), int):
        return Refused(Code.INVALID_ACTION, "add what?")
    return Accepted((Added(agent_id=command.agent_id, secret=action["add"]),))


class Counting(Game[Count]):
    """Two agents add numbers; at ten the game is over."""

    game = "count"
    rules_version = 1
    content_version = "1"
    needed = 2
    events = stored_types(Created, Joined, Left, Added, Ended, Aborted)
    folds: Mapping[type[Event], Fold] = {
        Created: _created, Joined: _joined, Left: _left, Added: _added, Ended: _over, Aborted: _over,
    }  # fmt: skip
    opening = frozenset((Create,))
    unknown = Refused(Code.NOT_FOUND, "no such game")

    def __init__(self) -> None:
        late = self._late
        super().__init__({Create: _create, Join: _join, Leave: _leave, Act: _add, EndGame: _end, DeadlinePassed: late})

    def _late(self, state: Count, command: DeadlinePassed) -> Decision:
        due = [effect.id for effect in self.effects(state)]
        return Accepted((Aborted(reason="late"),) if command.effect_id in due else ())

    @override
    def initial(self, game_id: str) -> Count:
        return Count(game_id=game_id)

    @override
    def follow(self, state: Count, command: Command) -> Event | None:
        if state.phase != "playing" or state.total < 10:
            return None
        return Ended(results=[{"agent_id": seat, "points": 5} for seat in state.seats])

    @override
    def public(self, event: Event, viewer: Viewer, state: Count | None = None) -> Mapping[str, Any] | None:
        match event:
            case Created():
                return None
            case Added(agent_id=agent_id, secret=secret) if viewer.agent_id == agent_id:
                return {"type": event.type, "agent_id": agent_id, "secret": secret}
            case Added(agent_id=agent_id):
                return {"type": event.type, "agent_id": agent_id}
        return {"type": event.type} | msgspec.to_builtins(event)

    @override
    def view(self, state: Count, viewer: Viewer) -> CountView:
        return CountView(state.game_id, state.version, state.phase, state.total, viewer.agent_id or "")

    @override
    def operator_view(self, state: Count) -> Mapping[str, Any]:
        return {"total": state.total}

    @override
    def summary(self, state: Count) -> GameSummary:
        return GameSummary(state.phase, 0, len(state.seats), 2, state.phase in ("end", "aborted"))

    @override
    def participants(self, state: Count) -> Mapping[str, str]:
        return state.seats

    @override
    def allowed_actions(self, state: Count, agent_id: str) -> Sequence[AllowedAction]:
        playing = state.phase == "playing" and agent_id in state.seats
        return (AllowedAction("add", {"type": "object"}),) if playing else ()

    @override
    def effects(self, state: Count) -> Sequence[Effect]:
        if not state.seconds or state.phase != "playing":
            return ()
        due = state.since + timedelta(seconds=state.seconds)
        return (Effect(id=f"{state.game_id}/{state.version}", kind="deadline", due=due, payload=None),)
