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
        fields = BodyFields(action, what="the action")
        if not fields.sound:
            return tuple(fields.faults)
        kind = action.get("type")
        known = self._fields.get(kind) if isinstance(kind, str) else None
        if known is None:
            fields.fault("type", f"must be one of {self._kinds}")
        elif not action.keys() <= known:
            fields.only(known, f"{kind} has {', '.join(sorted(known))}")
        return tuple(fields.faults)
