"""The smallest game there is, for tests of the engine: two seats, numbers are added until ten is reached."""

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
    Event,
    Join,
    Leave,
    Refused,
    Viewer,
)
from playmolt_schemas.codes import Code
from playmolt_schemas.games.game_summary import GameSummary


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


class Counting:
    """Two agents add numbers; at ten the game is over."""

    game = "count"
    rules_version = 1
    content_version = "1"
    needed = 2
    events: Mapping[tuple[str, int], type[Event]] = {
        (event.type, 1): event for event in (Created, Joined, Left, Added, Ended, Aborted)
    }

    def initial(self, game_id: str) -> Count:
        return Count(game_id=game_id)

    def decide(self, state: Count, command: Command, at: datetime) -> Decision:
        match command:
            case Create(seed=seed, config=config):
                return Accepted((Created(seed=seed, seconds=config["phase_deadline_seconds"]),))
            case Join(agent_id=agent_id, name=name):
                return Accepted((Joined(agent_id=agent_id, name=name),))
            case Leave(agent_id=agent_id) if agent_id not in state.seats:
                return Refused(Code.NOT_A_PARTICIPANT, "not here")
            case Leave(agent_id=agent_id):
                return Accepted((Left(agent_id=agent_id),))
            case EndGame(reason=reason):
                return Accepted((Aborted(reason=reason),))
            case DeadlinePassed(effect_id=effect_id):
                due = [effect.id for effect in self.effects(state)]
                return Accepted((Aborted(reason="late"),) if effect_id in due else ())
            case Act(agent_id=agent_id, action=action):
                return self._add(state, agent_id, action)
        raise AssertionError(command)

    def _add(self, state: Count, agent_id: str, action: Any) -> Decision:
        if agent_id not in state.seats:
            return Refused(Code.NOT_A_PARTICIPANT, "not here")
        if state.phase != "playing":
            return Refused(Code.GAME_OVER if state.phase != "waiting" else Code.NOT_STARTED, "not now")
        if action == "pass":
            return Accepted(())
        if action == "bug":
            raise RuntimeError(f"a bug beside {state.seats}")
        if not isinstance(action, dict) or not isinstance(action.get("add"), int):
            return Refused(Code.INVALID_ACTION, "add what?")
        added = Added(agent_id=agent_id, secret=action["add"])
        if state.total + action["add"] < 10:
            return Accepted((added,))
        results = [{"agent_id": seat, "points": 5} for seat in state.seats]
        return Accepted((added, Ended(results=results)))

    def evolve(self, state: Count, event: Event, at: datetime) -> Count:
        change: dict[str, Any] = {}
        match event:
            case Created(seconds=seconds):
                change = {"seconds": seconds}
            case Joined(agent_id=agent_id, name=name):
                seats = state.seats | {agent_id: name}
                change = {"seats": seats, "phase": "playing" if len(seats) == 2 else "waiting", "since": at}
            case Left(agent_id=agent_id):
                change = {"seats": {seat: name for seat, name in state.seats.items() if seat != agent_id}}
            case Added(secret=secret):
                change = {"total": state.total + secret, "since": at}
            case Ended():
                change = {"phase": "end"}
            case Aborted():
                change = {"phase": "aborted"}
        return msgspec.structs.replace(state, version=state.version + 1, **change)

    def public(self, state: Count, event: Event, viewer: Viewer) -> Mapping[str, Any] | None:
        match event:
            case Created():
                return None
            case Added(agent_id=agent_id, secret=secret) if viewer.agent_id == agent_id:
                return {"type": event.type, "agent_id": agent_id, "secret": secret}
            case Added(agent_id=agent_id):
                return {"type": event.type, "agent_id": agent_id}
        return {"type": event.type} | msgspec.to_builtins(event)

    def view(self, state: Count, viewer: Viewer) -> CountView:
        return CountView(state.game_id, state.version, state.phase, state.total, viewer.agent_id or "")

    def operator_view(self, state: Count) -> Mapping[str, Any]:
        return {"total": state.total}

    def summary(self, state: Count) -> GameSummary:
        return GameSummary(state.phase, 0, len(state.seats), 2, state.phase in ("end", "aborted"))

    def participants(self, state: Count) -> Mapping[str, str]:
        return state.seats

    def allowed_actions(self, state: Count, agent_id: str) -> Sequence[AllowedAction]:
        return (
            (AllowedAction("add", {"type": "object"}),) if state.phase == "playing" and agent_id in state.seats else ()
        )

    def effects(self, state: Count) -> Sequence[Effect]:
        if not state.seconds or state.phase != "playing":
            return ()
        due = state.since + timedelta(seconds=state.seconds)
        return (Effect(id=f"{state.game_id}/{state.version}", kind="deadline", due=due),)
