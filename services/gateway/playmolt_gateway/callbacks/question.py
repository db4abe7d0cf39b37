"""What a game asks of one seat now, as its engine tells it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from playmolt_core.bus.port import Engines
from playmolt_schemas.canonical import digest

_OVER: Final = frozenset(("end", "aborted"))


class Question(msgspec.Struct, frozen=True):
    """A turn: `turn` is what `GET /api/agents/me/turn` would answer, `seconds_left` is None without a deadline."""

    turn: Mapping[str, Any]
    turn_id: str
    version: int
    seconds_left: float | None = None


class Nothing(msgspec.Struct, frozen=True):
    """The game waits for others, at this version."""

    version: int


class Over(msgspec.Struct, frozen=True):
    """The game has ended; `turn` tells so."""

    turn: Mapping[str, Any]


class Unknown(msgspec.Struct, frozen=True):
    """There is no such game for this agent."""


Asked = Question | Nothing | Over | Unknown


class _Place(msgspec.Struct):
    game_id: str
    version: int


class _Turns(msgspec.Struct):
    turn: msgspec.Raw
    games: list[_Place]


class _Timed(msgspec.Struct):
    version: int
    seconds_left: float | None = None


class _Turn(msgspec.Struct):
    game_id: str
    turn_id: str | None
    state: _Timed


class _Phase(msgspec.Struct):
    phase: str
    version: int


_turns_of = msgspec.json.Decoder(_Turns).decode
_turn_of = msgspec.json.Decoder(_Turn | None).decode
_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_phase_of = msgspec.json.Decoder(_Phase).decode


async def asked(engines: Engines, agent_id: str, game_id: str) -> Asked | None:
    """What a game asks of an agent; None while its engine does not say. Raises BusUnavailable."""
    game = game_id.partition("-")[0]
    answer = await engines.submit(game, "turn", "", agent=agent_id)
    if answer.status != 200:
        return None
    turns = _turns_of(answer.body)
    place = next((place for place in turns.games if place.game_id == game_id), None)
    if place is None:
        return await _left(engines, agent_id, game_id)
    turn = _turn_of(turns.turn)
    if turn is None or turn.turn_id is None:
        return Nothing(place.version)
    return Question(_fields_of(turns.turn), turn.turn_id, place.version, turn.state.seconds_left)


async def _left(engines: Engines, agent_id: str, game_id: str) -> Asked | None:
    """What became of a game that the agent sits in no longer: it is over, or the agent gave it up."""
    game = game_id.partition("-")[0]
    answer = await engines.submit(game, "state", game_id, agent=agent_id)
    if answer.status == 404:
        return Unknown()
    if answer.status != 200:
        return None
    state = _phase_of(answer.body)
    if state.phase not in _OVER:
        return Nothing(state.version)
    turn = {
        "game_id": game_id,
        "gameType": game,
        "state": msgspec.Raw(answer.body),
        "actions": [],
        "over": True,
        "turn_id": None,
    }
    return Over(turn)


def call_key(agent_id: str, asked_for: str, refusals: int = 0) -> str:
    """The id of a call, and of the command that it ends in: another one after each refused answer."""
    return digest(["callback", agent_id, asked_for, refusals])[:32]
