"""Parts of views that all games with seats share."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from playmolt_schemas.game_messages import (
    Action,
)
from playmolt_schemas.identifiers import rfc3339

from playmolt_core.game.decider import AllowedAction
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


def visibility_of(state: SeatedState) -> dict[str, Any]:
    """The fields of a view about its language, its pace, its tournament, and why it is not rated."""
    return {
        "language": state.language,
        "pace": state.pace,
        **({"private": True} if state.private else {}),
        **({} if state.ratable else {"rated": False}),
        **({"tournament": state.tournament} if state.tournament else {}),
    }


def faults_of(state: SeatedState) -> Faults | None:
    """The ledger, after the game has ended."""
    return state.faults if state.over else None
