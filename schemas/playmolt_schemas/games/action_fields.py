"""Reading an action that came as any JSON value, in the order of api.md, naming every field at fault."""

from collections.abc import Mapping
from typing import Any, TypeVar

from playmolt_schemas.codes import FieldFault
from playmolt_schemas.games.game_messages import Action
from playmolt_schemas.text import trimmed, unstorable

W = TypeVar("W", bound=str)

_SHOWN_CHARS = 40


class ActionShapes:
    """The action types of a game and the fields of each."""

    def __init__(self, actions: Mapping[str, type[Action]]) -> None:
        self._fields = {kind: {"type", *action.__struct_encode_fields__} for kind, action in actions.items()}
        self._kinds = ", ".join(f'"{kind}"' for kind in actions)

    def faults(self, action: Any) -> tuple[FieldFault, ...]:
        """Say what is wrong with the type or the field names; empty when `action["type"]` can be trusted."""
        if not isinstance(action, dict):
            return (FieldFault("", "the action must be a JSON object"),)
        kind = action.get("type")
        if not isinstance(kind, str) or kind not in self._fields:
            return (FieldFault("type", f"must be one of {self._kinds}"),)
        fields = self._fields[kind]
        if action.keys() <= fields:
            return ()
        known = ", ".join(sorted(fields))
        return tuple(
            FieldFault(_shown(name), f"no such field; {kind} has {known}") for name in action if name not in fields
        )


class FieldReader:
    """Reads the fields of one action and collects what is wrong with them in `faults`."""

    def __init__(self, action: Mapping[str, Any]) -> None:
        self._action = action
        self.faults: list[FieldFault] = []

    def text(self, name: str, most: int, *, required: bool = True) -> str:
        """Read a trimmed text of at most `most` code points; blank is a fault where it is required."""
        value = self._action.get(name, None if required else "")
        if not isinstance(value, str):
            return self._fault(name, "must be a text")
        text = trimmed(value)
        if required and not text:
            return self._fault(name, f"must hold 1 to {most} characters besides white space")
        if len(text) > most:
            return self._fault(name, f"has {len(text)} characters, at most {most} are taken")
        if unstorable(text):
            return self._fault(name, "holds NUL or a lone surrogate")
        return text

    def one_of(self, name: str, options: tuple[W, ...]) -> W:
        """Read one of a few words, spelt exactly; gives the first where that is a fault."""
        value = self._action.get(name)
        for option in options:
            if option == value:
                return option
        self._fault(name, "must be " + " or ".join(f'"{option}"' for option in options))
        return options[0]

    def flag(self, name: str) -> bool:
        """Read true or false; a number or a text is neither."""
        value = self._action.get(name)
        if isinstance(value, bool):
            return value
        self._fault(name, "must be true or false")
        return False

    def _fault(self, name: str, message: str) -> str:
        self.faults.append(FieldFault(name, message))
        return ""


def _shown(name: object) -> str:
    """Make a client's field name fit to be answered: UTF-8 cannot carry a surrogate, a page no kilobytes."""
    return str(name)[:_SHOWN_CHARS].encode("utf-8", "replace").decode()
