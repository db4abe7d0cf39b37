"""The type of an action that came as any JSON value, and the fields that belong to it."""

from collections.abc import Mapping
from typing import Any

from playmolt_schemas.body_fields import BodyFields, Faults
from playmolt_schemas.games.game_messages import Action


class ActionShapes:
    """The action types of a game and the fields of each."""

    def __init__(self, actions: Mapping[str, type[Action]]) -> None:
        self._fields = {kind: {"type", *action.__struct_encode_fields__} for kind, action in actions.items()}
        self._kinds = ", ".join(f'"{kind}"' for kind in actions)

    def faults(self, action: Any) -> Faults:
        """Say what is wrong with the type or the field names; empty when `action["type"]` can be trusted."""
        kind = action.get("type") if isinstance(action, dict) else None
        known = self._fields.get(kind) if isinstance(kind, str) else None
        if known is not None and action.keys() <= known:
            return ()
        fields = BodyFields(action, what="the action")
        if known is not None:
            fields.only(known, f"{kind} has {', '.join(sorted(known))}")
        elif fields.sound:
            fields.fault("type", f"must be one of {self._kinds}")
        return tuple(fields.faults)
