"""Validates request bodies in the order of api.md and reports every invalid field."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from playmolt_schemas.codes import FieldFault
from playmolt_schemas.game_messages import Action
from playmolt_schemas.text import (
    has_control_characters,
    has_line_breaks_or_controls,
    has_visible_character,
    trimmed,
    unstorable,
)

Faults = tuple[FieldFault, ...]

T = TypeVar("T")
W = TypeVar("W", bound=str)

_NAME_CHARS = 40


class BodyFields:
    """Reads the fields of one JSON object one by one; `faults` collects every problem with its path.

    An invalid field still yields a value of its type, so that later faults are found too. A body that is not an object
    is one fault (`what` names it) and has no fields. `path` is the object's place in the body; readers of nested
    objects share the list of faults.
    """

    __slots__ = ("_before", "_prefix", "body", "faults")

    def __init__(
        self, body: Any, path: str = "", *, what: str = "the body", faults: list[FieldFault] | None = None
    ) -> None:
        self.body: dict[str, Any] = body if isinstance(body, dict) else {}
        self.faults: list[FieldFault] = [] if faults is None else faults
        self._before = len(self.faults)
        self._prefix = f"{path}." if path else ""
        if not isinstance(body, dict):
            self.faults.append(FieldFault(path, f"{what} must be a JSON object"))

    @property
    def sound(self) -> bool:
        """Whether this object has no fault so far."""
        return len(self.faults) == self._before

    def result(self, value: T) -> T | Faults:
        """`value`, or all faults if there are any."""
        return tuple(self.faults) or value

    def fault(self, name: str, message: str) -> None:
        self.faults.append(FieldFault(self._prefix + name, message))

    def only(self, known: Collection[str], hint: str = "") -> None:
        """Report unknown fields; the message contains `hint`, or by default the known names."""
        for name in self.body:
            if name not in known:
                hint = hint or f"allowed fields: {', '.join(sorted(known)) or 'none'}"
                self.fault(_printable(name), f"unknown field; {hint}")

    def required(self, name: str) -> bool:
        """Whether the field is present; if not, report it."""
        if name in self.body:
            return True
        self.fault(name, "is required")
        return False

    def text(self, name: str, most: int, *, required: bool = True) -> str:
        """Read a trimmed text of at most `most` code points; a required text must not be blank."""
        return self._text(name, self.body.get(name, None if required else ""), most, required=required)

    def spoken(self, name: str, most: int, *, required: bool = True) -> str:
        """Read a text that is shown to others: as `text`, without control and bidi control characters."""
        text = self.text(name, most, required=required)
        if has_control_characters(text):
            self.fault(name, "contains a control or bidi control character")
        return text

    def line(self, name: str, most: int) -> str:
        """Read a title: one line with at least one visible character."""
        text = self.text(name, most)
        if has_line_breaks_or_controls(text):
            self.fault(name, "contains a control, line separator or bidi control character")
        elif text and not has_visible_character(text):
            self.fault(name, "must contain at least one visible character")
        return text

    def lines(self, name: str, most: int, *, required: bool = True) -> str:
        """Read a required text or list of texts, which become its lines; blank as in `text`."""
        value = self.body.get(name)
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            value = "\n".join(value)
        return self._text(name, value, most, required=required)

    def texts(self, name: str, most: int, *, entries: int, fewest: int = 0) -> tuple[str, ...]:
        """Read a list of `fewest` to `entries` distinct texts, each of 1 to `most` code points; absent means empty."""
        values = self.body.get(name, [])
        if not isinstance(values, list):
            self.fault(name, "must be a list of strings")
            return ()
        if not fewest <= len(values) <= entries:
            self.fault(name, f"must contain {fewest} to {entries} strings")
            return ()
        before = len(self.faults)
        read = tuple(self._text(f"{name}[{place}]", value, most) for place, value in enumerate(values))
        if len(self.faults) == before and len(set(read)) < len(read):
            self.fault(name, "contains a duplicate")
        return read

    def whole_numbers(self, name: str, default: list[int], what: str) -> list[int]:
        """Read a list of whole numbers (3.0 counts as one); `default` if absent or invalid."""
        values = self.body.get(name, default)
        if isinstance(values, list) and all(_is_whole(value) for value in values):
            return [int(value) for value in values]
        self.fault(name, f"must be a list of {what}")
        return default

    def one_of(self, name: str, options: tuple[W, ...]) -> W:
        """Read one of `options`, spelled exactly; the first one if invalid."""
        value = self.body.get(name)
        for option in options:
            if option == value:
                return option
        self.fault(name, "must be " + " or ".join(f'"{option}"' for option in options))
        return options[0]

    def known(self, name: str, names: Collection[str], default: str) -> str:
        """Read one of `names`; `default` applies if the field is absent and must be one of them, too."""
        value = self.body.get(name, default)
        if isinstance(value, str) and value in names:
            return value
        self.fault(name, f"must be one of {', '.join(sorted(names))}")
        return default

    def flag(self, name: str) -> bool:
        """Read true or false; numbers and texts are invalid."""
        value = self.body.get(name)
        if isinstance(value, bool):
            return value
        self.fault(name, "must be true or false")
        return False

    def inner(self, name: str) -> "BodyFields | None":
        """The reader of a field that is an object; None and a fault if it is not one."""
        value = self.body.get(name)
        if isinstance(value, dict):
            return BodyFields(value, self._prefix + name, faults=self.faults)
        self.fault(name, "must be a JSON object")
        return None

    def objects(self, name: str, read: "Callable[[BodyFields], T]", most: int) -> tuple[T, ...]:
        """Read a list of at most `most` objects, each with `read`; absent means empty."""
        values = self.body.get(name, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            self.fault(name, "must be a list of JSON objects")
            return ()
        if len(values) > most:
            self.fault(name, f"has {len(values)} entries; the maximum is {most}")
            return ()
        paths = (f"{self._prefix}{name}[{place}]" for place in range(len(values)))
        return tuple(
            read(BodyFields(value, path, faults=self.faults)) for path, value in zip(paths, values, strict=True)
        )

    def _text(self, name: str, value: Any, most: int, *, required: bool = True) -> str:
        fault, text = "", trimmed(value) if isinstance(value, str) else None
        if text is None:
            fault = "must be a string"
        elif required and not text:
            fault = f"must contain 1 to {most} characters that are not white space"
        elif len(text) > most:
            fault = f"has {len(text)} characters; the maximum is {most}"
        elif unstorable(text):
            fault = "contains NUL or a lone surrogate"
        if text is None or fault:
            self.fault(name, fault)
            return ""
        return text


def _printable(name: object) -> str:
    """A client's field name, encodable and shortened."""
    return str(name)[:_NAME_CHARS].encode("utf-8", "replace").decode()


def _is_whole(value: object) -> bool:
    return type(value) is int or (isinstance(value, float) and value.is_integer())


class ActionShapes:
    """The action types of a game and the fields of each."""

    def __init__(self, actions: Mapping[str, type[Action]]) -> None:
        self._fields = {kind: {"type", *action.__struct_encode_fields__} for kind, action in actions.items()}
        self._kinds = ", ".join(f'"{kind}"' for kind in actions)

    def faults(self, action: Any) -> Faults:
        """Faults of the type and the field names; empty if `action["type"]` is valid."""
        kind = action.get("type") if isinstance(action, dict) else None
        known = self._fields.get(kind) if isinstance(kind, str) else None
        if known is not None and action.keys() <= known:
            return ()
        fields = BodyFields(action, what="the action")
        if known is not None:
            fields.only(known, f"{kind} allows {', '.join(sorted(known))}")
        elif fields.sound:
            fields.fault("type", f"must be one of {self._kinds}")
        return tuple(fields.faults)
