"""What everybody may see of the events that every game with seats has."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_schemas.games.game_messages import (
    Action,
    AgentJoinedMessage,
    AgentLeftMessage,
    GameAbortedMessage,
    GameCreatedMessage,
    PublicMessage,
)
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.identity import identity_of

from playmolt_core.game.decider import AllowedAction, Event
from playmolt_core.game.seats.events import AgentJoined, AgentLeft, GameAborted, GameCreated


def allowed_actions_of(actions: Mapping[str, type[Action]]) -> Mapping[str, AllowedAction]:
    """Each action type with the JSON Schema of its body."""
    return {
        kind: AllowedAction(kind, msgspec.json.schema_components([action])[1][action.__name__])
        for kind, action in actions.items()
    }


def time_of(at: datetime | None) -> str | UnsetType:
    """A time as views show it; one that there is not, they leave out."""
    return UNSET if at is None else rfc3339(at)


def _created(event: GameCreated) -> GameCreatedMessage:
    return GameCreatedMessage(needed=event.needed)


def _joined(event: AgentJoined) -> AgentJoinedMessage:
    return AgentJoinedMessage(agent_id=event.agent_id, name=event.name, **identity_of(event))


def _left(event: AgentLeft) -> AgentLeftMessage:
    return AgentLeftMessage(agent_id=event.agent_id, name=event.name)


def _aborted(event: GameAborted) -> GameAbortedMessage:
    return GameAbortedMessage(reason=event.reason)


PUBLIC: Final[Mapping[type[Event], Callable[[Any], PublicMessage]]] = {
    GameCreated: _created,
    AgentJoined: _joined,
    AgentLeft: _left,
    GameAborted: _aborted,
}
