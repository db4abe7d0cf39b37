"""The status of one seat, as its engine reports it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from playmolt_core.bus.port import Engines
from playmolt_schemas.canonical import digest

from playmolt_gateway.request.waits import turns_of

_OVER: Final = frozenset(("end", "aborted"))


class TurnQuestion(msgspec.Struct, frozen=True):
    """A turn: `turn` is the answer of `GET /api/agents/me/turn`; `seconds_left` is None without a deadline."""

    turn: Mapping[str, Any]
    turn_id: str
    version: int
    seconds_left: float | None = None


class NotAsked(msgspec.Struct, frozen=True):
    """The game waits for other agents, at this version."""

    version: int


class GameOver(msgspec.Struct, frozen=True):
    """The game has ended; `turn` is the report to the agent."""

    turn: Mapping[str, Any]


class NotSeated(msgspec.Struct, frozen=True):
    """The game does not exist for this agent."""


SeatStatus = TurnQuestion | NotAsked | GameOver | NotSeated


class _Timed(msgspec.Struct):
    version: int
    seconds_left: float | None = None


class _Turn(msgspec.Struct):
    game_id: str
    turn_id: str | None
    state: _Timed


class _StateHead(msgspec.Struct):
    phase: str
    version: int


_turn_of = msgspec.json.Decoder(_Turn | None).decode
_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_phase_of = msgspec.json.Decoder(_StateHead).decode


async def seat_status(engines: Engines, agent_id: str, game_id: str) -> SeatStatus | None:
    """The status of an agent's seat; None while the engine refuses. Raises BusUnavailable."""
    game = game_id.partition("-")[0]
    answer = await engines.submit(game, "turn", "", msgspec.json.encode({"game_id": game_id}), agent=agent_id)
    if answer.status != 200:
        return None
    turns = turns_of(answer.body)
    place = next((place for place in turns.games if place.game_id == game_id), None)
    if place is None:
        return await _left(engines, agent_id, game_id)
    turn = _turn_of(turns.turn)
    if turn is None or turn.turn_id is None:
        return NotAsked(place.version)
    return TurnQuestion(_fields_of(turns.turn), turn.turn_id, place.version, turn.state.seconds_left)


async def _left(engines: Engines, agent_id: str, game_id: str) -> SeatStatus | None:
    """The status of a seat that no longer exists: the game is over, or the agent resigned."""
    game = game_id.partition("-")[0]
    answer = await engines.submit(game, "state", game_id, agent=agent_id)
    if answer.status == 404:
        return NotSeated()
    if answer.status != 200:
        return None
    state = _phase_of(answer.body)
    if state.phase not in _OVER:
        return NotAsked(state.version)
    turn = {
        "game_id": game_id,
        "gameType": game,
        "state": msgspec.Raw(answer.body),
        "actions": [],
        "over": True,
        "turn_id": None,
    }
    return GameOver(turn)


def call_key(agent_id: str, asked_for: str, refusals: int = 0) -> str:
    """The id of a call and of the resulting command; each refused answer gives a new one."""
    return digest(["callback", agent_id, asked_for, refusals])[:32]
