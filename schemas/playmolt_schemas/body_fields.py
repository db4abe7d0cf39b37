"""Reading a body that came as any JSON value, in the order of api.md, naming every field at fault."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from playmolt_schemas.codes import FieldFault
from playmolt_schemas.game_messages import Action
from playmolt_schemas.text import shows, trimmed, unfit, unspeakable, unstorable

Faults = tuple[FieldFault, ...]

T = TypeVar("T")
W = TypeVar("W", bound=str)

_SHOWN_CHARS = 40


class BodyFields:
    """The fields of one JSON object, read one by one; `faults` collects what is wrong, each under its path.

    A field at fault is read as a value of its type all the same, so that the faults behind it are found, too. A body
    that is no object is a fault by itself, `what` says of what, and has no fields. `path` is where the object stands in
    the body: readers of nested objects add to the faults of the one they came from.
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
        """Whether nothing was at fault in this object so far."""
        return len(self.faults) == self._before

    def result(self, value: T) -> T | Faults:
        """What was made of the fields, or all faults instead when there is one."""
        return tuple(self.faults) or value

    def fault(self, name: str, message: str) -> None:
        self.faults.append(FieldFault(self._prefix + name, message))

    def only(self, known: Collection[str], told: str = "") -> None:
        """Make every field that is not known a fault; `told` says in it what there is, else the names are listed."""
        for name in self.body:
            if name not in known:
                there = told or f"there are {', '.join(sorted(known)) or 'none'}"
                self.fault(_shown(name), f"no such field; {there}")

    def required(self, name: str) -> bool:
        """Whether the field is there; it is at fault when not."""
        if name in self.body:
            return True
        self.fault(name, "is required")
        return False

    def text(self, name: str, most: int, *, required: bool = True) -> str:
        """Read a trimmed text of at most `most` code points; blank is a fault where it is required."""
        return self._text(name, self.body.get(name, None if required else ""), most, required=required)

    def spoken(self, name: str, most: int, *, required: bool = True) -> str:
        """Read a text as `text` does that others will be shown as it is: it turns no line around."""
        text = self.text(name, most, required=required)
        if unspeakable(text):
            self.fault(name, "holds a control or bidi control character")
        return text

    def line(self, name: str, most: int) -> str:
        """Read a title: one line of which something shows."""
        text = self.text(name, most)
        if unfit(text):
            self.fault(name, "holds a control, line separator or bidi control character")
        elif text and not shows(text):
            self.fault(name, "must hold at least one character that shows")
        return text

    def lines(self, name: str, most: int, *, required: bool = True) -> str:
        """Read a text, or a list of texts that become its lines. The field must be there; blank as in `text`."""
        value = self.body.get(name)
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            value = "\n".join(value)
        return self._text(name, value, most, required=required)

    def texts(self, name: str, most: int, *, entries: int, fewest: int = 0) -> tuple[str, ...]:
        """Read a list of `fewest` to `entries` different texts, each of 1 to `most` code points; absent is empty."""
        values = self.body.get(name, [])
        if not isinstance(values, list):
            self.fault(name, "must be a list of texts")
            return ()
        if not fewest <= len(values) <= entries:
            self.fault(name, f"must hold {fewest} to {entries} texts")
            return ()
        before = len(self.faults)
        read = tuple(self._text(f"{name}[{place}]", value, most) for place, value in enumerate(values))
        if len(self.faults) == before and len(set(read)) < len(read):
            self.fault(name, "names one thing twice")
        return read

    def whole_numbers(self, name: str, default: list[int], what: str) -> list[int]:
        """Read a list of whole numbers, of which 3.0 is one; `default` where it is absent or at fault."""
        values = self.body.get(name, default)
        if isinstance(values, list) and all(_is_whole(value) for value in values):
            return [int(value) for value in values]
        self.fault(name, f"must be a list of {what}")
        return default

    def one_of(self, name: str, options: tuple[W, ...]) -> W:
        """Read one of a few words, spelt exactly; gives the first where that is a fault."""
        value = self.body.get(name)
        for option in options:
            if option == value:
                return option
        self.fault(name, "must be " + " or ".join(f'"{option}"' for option in options))
        return options[0]

    def known(self, name: str, names: Collection[str], default: str) -> str:
        """Read one of the names there are; `default`, where the field is absent, is held to it as well."""
        value = self.body.get(name, default)
        if isinstance(value, str) and value in names:
            return value
        self.fault(name, f"must be one of {', '.join(sorted(names))}")
        return default

    def flag(self, name: str) -> bool:
        """Read true or false; a number or a text is neither."""
        value = self.body.get(name)
        if isinstance(value, bool):
            return value
        self.fault(name, "must be true or false")
        return False

    def inner(self, name: str) -> "BodyFields | None":
        """The reader of a field that is an object; None, and a fault, when it is none."""
        value = self.body.get(name)
        if isinstance(value, dict):
            return BodyFields(value, self._prefix + name, faults=self.faults)
        self.fault(name, "must be a JSON object")
        return None

    def objects(self, name: str, read: "Callable[[BodyFields], T]", most: int) -> tuple[T, ...]:
        """Read a list of at most `most` objects, each by `read`; absent is empty."""
        values = self.body.get(name, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            self.fault(name, "must be a list of JSON objects")
            return ()
        if len(values) > most:
            self.fault(name, f"has {len(values)} entries, at most {most} are taken")
            return ()
        paths = (f"{self._prefix}{name}[{place}]" for place in range(len(values)))
        return tuple(
            read(BodyFields(value, path, faults=self.faults)) for path, value in zip(paths, values, strict=True)
        )

    def _text(self, name: str, value: Any, most: int, *, required: bool = True) -> str:
        fault, text = "", trimmed(value) if isinstance(value, str) else None
        if text is None:
            fault = "must be a text"
        elif required and not text:
            fault = f"must hold 1 to {most} characters besides white space"
        elif len(text) > most:
            fault = f"has {len(text)} characters, at most {most} are taken"
        elif unstorable(text):
            fault = "holds NUL or a lone surrogate"
        if text is None or fault:
            self.fault(name, fault)
            return ""
        return text


def _shown(name: object) -> str:
    """Make a client's field name fit to be answered: UTF-8 cannot carry a surrogate, a page no kilobytes."""
    return str(name)[:_SHOWN_CHARS].encode("utf-8", "replace").decode()


def _is_whole(value: object) -> bool:
    return type(value) is int or (isinstance(value, float) and value.is_integer())


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
