"""The public messages of the events that all games with seats share."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from playmolt_schemas.game_messages import (
    Action,
    AgentJoinedMessage,
    AgentLeftMessage,
    GameAbortedMessage,
    GameCreatedMessage,
    PhaseExtendedMessage,
    PublicMessage,
    SeatAwayMessage,
    SeatBackMessage,
    SeatResignedMessage,
)
from playmolt_schemas.identifiers import rfc3339

from playmolt_core.game.decider import AllowedAction, Event
from playmolt_core.game.seats.events import (
    AgentJoined,
    AgentLeft,
    ClosingEvent,
    GameAborted,
    GameCreated,
    PhaseExtended,
    SeatAway,
    SeatBack,
    SeatResigned,
)
from playmolt_core.game.seats.ledger import Faults
from playmolt_core.game.seats.state import SeatedState


def allowed_actions_of(actions: Mapping[str, type[Action]]) -> Mapping[str, AllowedAction]:
    """Action type → JSON Schema of its body."""
    return {
        kind: AllowedAction(kind, msgspec.json.schema_components([action])[1][action.__name__])
        for kind, action in actions.items()
    }


def time_of(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)


def visibility_of(state: SeatedState[Any]) -> dict[str, Any]:
    """The fields of a view about its language and, for private games, its privacy."""
    return {"language": state.language, **({"private": True, "rated": False} if state.private else {})}


def faults_of(state: SeatedState[Any]) -> Faults | None:
    """The ledger, after the game has ended."""
    return state.faults if state.over else None


def _created(event: GameCreated) -> GameCreatedMessage:
    return GameCreatedMessage(needed=event.needed)


def _joined(event: AgentJoined) -> AgentJoinedMessage:
    return AgentJoinedMessage(
        agent_id=event.agent_id,
        name=event.name,
        handle=event.handle,
        kind=event.kind,
        agent_version=event.version,
        model=event.model,
    )


def _left(event: AgentLeft) -> AgentLeftMessage:
    return AgentLeftMessage(agent_id=event.agent_id, name=event.name)


def closing_of(event: ClosingEvent) -> dict[str, bool]:
    """The fields about privacy in the last message of a private game."""
    return {"private": True, "rated": False} if event.private else {}


def _aborted(event: GameAborted) -> GameAbortedMessage:
    return GameAbortedMessage(reason=event.reason, faults=event.faults, **closing_of(event))


def _extended(event: PhaseExtended) -> PhaseExtendedMessage:
    return PhaseExtendedMessage(phase=event.phase, round=event.round, extended_ms=event.extended_ms)


def _away(event: SeatAway) -> SeatAwayMessage:
    return SeatAwayMessage(agent_id=event.agent_id, name=event.name)


def _back(event: SeatBack) -> SeatBackMessage:
    return SeatBackMessage(agent_id=event.agent_id, name=event.name)


def _resigned(event: SeatResigned) -> SeatResignedMessage:
    return SeatResignedMessage(agent_id=event.agent_id, name=event.name)


PUBLIC: Final[Mapping[type[Event], Callable[[Any], PublicMessage]]] = {
    GameCreated: _created,
    AgentJoined: _joined,
    AgentLeft: _left,
    PhaseExtended: _extended,
    SeatAway: _away,
    SeatBack: _back,
    SeatResigned: _resigned,
    GameAborted: _aborted,
}
