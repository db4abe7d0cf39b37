"""Answers about a state of a game: `state`, `turn`, `operator`."""

from datetime import UTC, datetime
from math import inf
from typing import Generic

import msgspec
from msgspec.structs import replace
from playmolt_schemas.api import ActionOffer, Turn
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import lobby_of, rfc3339

from playmolt_core.engine.pending_call import NO_GAME, PendingCall
from playmolt_core.engine.reads.sources import Reply, Sources, refusal
from playmolt_core.engine.session_erasure import SessionErasure
from playmolt_core.game.decider import PUBLIC, Refused, S, Viewer
from playmolt_core.game.fold import Snapshot
from playmolt_core.vault.vault import Erased

_encode = msgspec.json.encode


class StateAt(msgspec.Struct, frozen=True):
    """Body of `state`."""

    at: int | None = None
    seat: str | None = None


class TurnOf(msgspec.Struct, frozen=True):
    """Body of `turn`. `game_id`: only the turn in this game."""

    game_id: str | None = None


def _urgency(turn: Turn) -> float:
    """The seconds left; infinite without a deadline."""
    left = turn.state.get("seconds_left")
    return inf if left is None else float(left)


def timed(view: msgspec.Struct) -> msgspec.Struct:
    """A view with the seconds left until its deadline."""
    deadline = getattr(view, "deadline", None)
    if deadline is None:
        return view
    left = (datetime.fromisoformat(deadline) - datetime.now(UTC)).total_seconds()
    return replace(view, seconds_left=round(max(left, 0.0), 1))


class StateReads(Generic[S]):
    """Reads states: as a viewer may see them, as an agent's turn, and for the operator."""

    def __init__(self, sources: Sources[S], erasure: SessionErasure[S] | None = None) -> None:
        self._erasure = erasure
        self._sources = sources
        self._decider = sources.decider

    async def state(self, pending: PendingCall) -> Reply:
        request = msgspec.json.decode(pending.call.body, type=StateAt)
        snapshot = await self._sources.shown(pending.call)
        if snapshot is None:
            return refusal(NO_GAME)
        viewer = self._viewer(pending, snapshot, request)
        if isinstance(viewer, Refused):
            return refusal(viewer)
        state = snapshot.state
        if request.at is not None:
            if not 1 <= request.at <= snapshot.version:
                detail = f"`at` must be between 1 and {snapshot.version}, the current version of the game."
                return refusal(Refused(Code.NOT_FOUND, detail))
            state = (await self._sources.histories.of(pending.call.target, request.at))[request.at - 1].state
            return 200, _encode(self._decider.view(state, viewer))
        state = await self._sources.displayed(pending.call.target, snapshot)
        return 200, _encode(timed(self._decider.view(state, viewer)))

    def _viewer(self, pending: PendingCall, snapshot: Snapshot[S], request: StateAt) -> Viewer | Refused:
        """Anyone may read a seat's view of a finished game; other past states are shown as to a spectator."""
        if request.seat is None:
            return PUBLIC if request.at is not None else self._sources.viewer(snapshot, pending.call.agent)
        if not snapshot.summary.over:
            return Refused(Code.NOT_FINISHED, "A seat's view is available after the game has ended.")
        if request.seat not in self._decider.participants(snapshot.state):
            return Refused(Code.NOT_FOUND, "No participant of this game has this id. See `participants` in the state.")
        return Viewer(request.seat)

    async def turn(self, pending: PendingCall) -> Reply:
        """The caller's most urgent turn, and its unfinished games: one of a tournament and another one."""
        agent, wanted = pending.call.agent, msgspec.json.decode(pending.call.body, type=TurnOf).game_id
        seated = await self._seated(pending.call)
        turns = [
            turn
            for stream, snapshot in seated
            if wanted in (None, stream) and (turn := await self._turn(agent, stream, snapshot))
        ]
        turn = min(turns, key=_urgency, default=None)
        games = [{"game_id": stream, "version": snapshot.version} for stream, snapshot in seated]
        return 200, _encode({"turn": turn, "games": games})

    async def _turn(self, agent: str, stream: str, snapshot: Snapshot[S]) -> Turn | None:
        state = snapshot.state
        allowed = self._decider.allowed_actions(state, agent)
        if not allowed:
            return None
        shown = await self._sources.displayed(stream, snapshot)
        view = msgspec.to_builtins(timed(self._decider.view(shown, Viewer(agent))))
        actions = [ActionOffer(action.type, dict(action.schema)) for action in allowed]
        turn_id = self._decider.turn_id(state, agent)
        return Turn(stream, self._decider.game, view, actions, turn_id=turn_id)

    async def _seated(self, call: Call) -> list[tuple[str, Snapshot]]:
        """The unfinished games in which the caller has a seat, with their snapshots."""
        lobby = await self._sources.streams.lobby(lobby_of(self._decider.game))
        seated = []
        for stream in lobby.state.games_of(call.agent) if lobby else ():
            snapshot = await self._sources.unless_archived(stream)
            if snapshot is not None and not snapshot.summary.over:
                seated.append((stream, await self._sources.after_sign(call, stream, snapshot)))
        return seated

    async def operator(self, pending: PendingCall) -> Reply:
        if not pending.call.operator:
            return refusal(Refused(Code.OPERATOR_ONLY, "Only the operator may read this."))
        stream = pending.call.target
        try:
            snapshot = await self._sources.streams.snapshot(stream)
        except Erased:
            return await self._erased(stream)
        if snapshot is None:
            return refusal(NO_GAME)
        first = (await self._sources.histories.of(stream, 1))[0]
        head = {"game_id": stream, "gameType": self._decider.game, "version": snapshot.version}
        times = {"created_at": rfc3339(first.at), "updated_at": rfc3339(snapshot.at)}
        return 200, _encode(head | self._summary(snapshot) | times | self._inside(snapshot))

    async def _erased(self, stream: str) -> Reply:
        """An erased session, for the operator."""
        found = await self._erasure.page(stream) if self._erasure else None
        if found is None or found.erased_at is None:
            return refusal(NO_GAME)
        head = {"game_id": stream, "gameType": self._decider.game, "version": found.version, "phase": "erased"}
        seats = {"round": 0, "seated": 0, "needed": 0, "participants": [], "config": {}}
        times = {"created_at": rfc3339(found.created_at), "updated_at": rfc3339(found.updated_at)}
        return 200, _encode(head | seats | times | {"erased": {"at": rfc3339(found.erased_at), "by": found.erased_by}})

    def _summary(self, snapshot: Snapshot[S]) -> dict[str, object]:
        summary = snapshot.summary
        return {
            "phase": summary.phase,
            "round": summary.round,
            "seated": summary.seated,
            "needed": summary.needed,
        }

    def _inside(self, snapshot: Snapshot[S]) -> dict[str, object]:
        people = self._decider.participants(snapshot.state)
        return {
            "participants": [{"id": agent, "name": name} for agent, name in people.items()],
            "config": self._decider.operator_view(snapshot.state),
        }
