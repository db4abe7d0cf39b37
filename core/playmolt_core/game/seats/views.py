"""Parts of views that all games with seats share."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from playmolt_schemas.game_messages import (
    Action,
)
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.stored.values import SeatOwner, identity_of

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
        **({} if state.ratable and state.unrated is None else {"rated": False}),
        **({"unrated": state.unrated} if state.unrated else {}),
        **({"tournament": state.tournament} if state.tournament else {}),
    }


def owner_of(of: object) -> SeatOwner | None:
    """The owner of an identity, without its name."""
    owner_id = getattr(of, "owner_id", UNSET)
    return SeatOwner(owner_id, "") if owner_id else None


def shown_identity(of: object) -> dict[str, Any]:
    """The identity fields of a seat in a view."""
    return identity_of(of) | _owned(of)


R = TypeVar("R", bound=msgspec.Struct)


def shown_rows(rows: Iterable[msgspec.Struct] | None, kind: type[R]) -> tuple[R, ...] | None:
    """Stored results as the rows of a view; None before there are any."""
    return None if rows is None else tuple(kind(**msgspec.structs.asdict(row) | _owned(row)) for row in rows)


def _owned(of: object) -> dict[str, Any]:
    return {"owner_id": UNSET, "owner": owner_of(of)}


def faults_of(state: SeatedState) -> Faults | None:
    """The ledger, after the game has ended."""
    return state.faults if state.over else None
