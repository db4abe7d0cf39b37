"""Validates request bodies in the order of api.md and reports every invalid field.

A body is declared once, as a struct: `read_body` derives from its annotations how each field is read, and its bounds.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.codes import FieldFault
from playmolt_schemas.game_messages import Action
from playmolt_schemas.text import (
    LINE,
    SPEECH,
    SPOKEN,
    STORABLE,
    WORDS,
    composed_text,
    has_control_characters,
    has_line_breaks_or_controls,
    has_visible_character,
    trimmed,
    unstorable,
)

Faults = tuple[FieldFault, ...]

T = TypeVar("T")
W = TypeVar("W", bound=str)
S = TypeVar("S", bound=msgspec.Struct)

_NAME_CHARS = 40


class BodyFields:
    """Reads the fields of one JSON object one by one; `faults` collects every problem with its path.

    An invalid field still yields a value of its type, so that later faults are found too. A body that is not an object
    is one fault (`what` names it) and has no fields. `path` is the object's place in the body; readers of nested
    objects share the list of faults.
    """

    __slots__ = ("_before", "_prefix", "body", "faults")

    def __init__(
        self, body: object, path: str = "", *, what: str = "the body", faults: list[FieldFault] | None = None
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

    def fault(self, name: str, message: str, reason: str | UnsetType = UNSET) -> None:
        self.faults.append(FieldFault(self._prefix + name, message, reason=reason))

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
        """Read a text, trimmed and composed (NFC), of at most `most` code points; a required text must not be blank."""
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

    def struct(self, kind: type[S], *, options: Mapping[str, Collection[str]] | None = None, **read: object) -> S:
        """Read the fields that `kind` declares, in their order, except those that are given as `read`.

        `options` are the values that a field may have now, of those that its type allows. A field that is absent has
        its default, which must be one of its options, too; null is absent where the type allows null. Unknown fields
        are the caller's to report (`only`).
        """
        body = self.body
        for name, wire, required, nullable, default, reader in _declared(kind):  # unpacked: actions are read here
            if name in read:
                continue
            allowed = options.get(wire) if options else None
            if not required and not (default and allowed is not None):
                value = body.get(wire, UNSET)
                if value is UNSET or (nullable and value is None):
                    continue
            read[name] = reader(self, wire, allowed)
        return kind(**read)

    def field(self, kind: type[msgspec.Struct], name: str) -> Any:
        """Read a field as `kind` declares it, present or not."""
        return _readers(kind)[name](self, name, None)

    def _text(self, name: str, value: object, most: int, *, required: bool = True) -> str:
        fault, text = "", composed_text(trimmed(value)) if isinstance(value, str) else None
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


def read_body(
    kind: type[S], body: object, *, options: Mapping[str, Collection[str]] | None = None, what: str = "the body"
) -> S | Faults:
    """Read a body as `kind` declares it, or give all its faults; `options` as in `BodyFields.struct`."""
    fields = BodyFields(body, what=what)
    if not fields.sound:
        return tuple(fields.faults)
    fields.only(kind.__struct_encode_fields__)
    return fields.result(fields.struct(kind, options=options))


def bounds(kind: type[msgspec.Struct], name: str) -> Mapping[str, Any]:
    """The bounds of a field as JSON Schema: of its text, or of its list with those of each text under `items`.

    A field that is a text or a list of lines has those of the text, an object those of its values.
    """
    annotation = get_type_hints(kind, include_extras=True)[name]
    if get_origin(annotation) is dict:
        annotation = get_args(annotation)[1]
    members = [member for member in _members(annotation) if _schema(member)]
    found = next((member for member in members if _bare(member) is str), members[0])
    inner = get_args(_bare(found))[:1]
    return {**_schema(found), **({"items": dict(_schema(inner[0]))} if inner else {})}


_Read = Callable[[BodyFields, str, Collection[str] | None], object]
"""Reads the field of a name, which may have one of some values."""


class _Field(NamedTuple):
    name: str
    wire: str
    required: bool
    nullable: bool
    default: Any
    read: _Read


@cache
def _declared(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        _Field(field.name, field.encode_name, field.required, NoneType in _members(hints[field.name]),
               field.default, _reader(hints[field.name], field.default))
        for field in msgspec.structs.fields(kind)
    )  # fmt: skip


@cache
def _readers(kind: type[msgspec.Struct]) -> Mapping[str, _Read]:
    return {field.wire: field.read for field in _declared(kind)}


def _members(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _reader(annotation: object, default: object) -> _Read:
    """How a field of this type is read."""
    members = [member for member in _members(annotation) if member not in (NoneType, UnsetType)]
    if len(members) == 1:
        return _reader_of(members[0], default)
    text = next((member for member in members if _bare(member) is str), None)
    several = next((member for member in members if get_origin(_bare(member)) is tuple), None)
    if text is None:
        return _by_hand
    if several is None:
        most, required = _text_bounds(text)
        return lambda fields, name, _: fields.lines(name, most, required=required)
    one, many = _reader_of(text), _reader_of(several)

    def read(fields: BodyFields, name: str, options: Collection[str] | None) -> Any:
        if not isinstance(fields.body.get(name), str):
            return many(fields, name, options)
        read = one(fields, name, options)
        return (read,) if read else ()

    return read


def _reader_of(kind: Any, default: Any = None) -> _Read:
    bare, schema = _bare(kind), _schema(kind)
    if get_origin(bare) is Literal:
        words = get_args(bare)
        return lambda fields, name, options: fields.one_of(name, words if options is None else tuple(options))
    if bare is bool:
        return lambda fields, name, _: fields.flag(name)
    if bare is str:
        return _text_reader(kind, default)
    if get_origin(bare) in (tuple, list):
        inner = get_args(bare)[0]
        most, fewest = schema.get("maxItems", 0), schema.get("minItems", 0)
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            return lambda fields, name, _: fields.objects(name, lambda entry: _entry(entry, inner), most)
        if _bare(inner) is str and "maxLength" in _schema(inner):
            return _texts_reader(_schema(inner)["maxLength"], most, fewest)
    return _by_hand


def _entry(entry: BodyFields, kind: type[S]) -> S:
    entry.only(kind.__struct_encode_fields__)
    return entry.struct(kind)


def _texts_reader(chars: int, most: int, fewest: int) -> _Read:
    def texts(fields: BodyFields, name: str, _: Collection[str] | None) -> tuple[str, ...]:
        if fewest and not fields.required(name):
            return ()
        return fields.texts(name, chars, entries=most, fewest=fewest)

    return texts


def _text_reader(kind: Any, default: Any) -> _Read:
    schema = _schema(kind)
    if schema.get("pattern") not in _TEXTS:  # one of the values that there are now, such as the alias of a model
        return lambda fields, name, options: fields.known(name, options or (), default)
    read, _ = _TEXTS[schema["pattern"]]
    most = schema["maxLength"]

    def text(fields: BodyFields, name: str, options: Collection[str] | None) -> str:
        found = read(fields, name, most)
        if options is not None and found and found not in options:
            fields.fault(name, f"must be one of {', '.join(options)}")
        return found

    return text


def _text_bounds(kind: Any) -> tuple[int, bool]:
    schema = _schema(kind)
    return schema["maxLength"], _TEXTS[schema["pattern"]][1]


_TEXTS: Final[Mapping[str, tuple[Callable[[BodyFields, str, int], str], bool]]] = {
    WORDS: (BodyFields.text, True),
    STORABLE: (partial(BodyFields.text, required=False), False),
    SPEECH: (BodyFields.spoken, True),
    SPOKEN: (partial(BodyFields.spoken, required=False), False),
    LINE: (BodyFields.line, True),
}
"""The pattern of `text_schema` → how such a text is read, and whether it must not be blank."""


def _bare(kind: object) -> object:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _schema(kind: object) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for note in get_args(kind)[1:] if get_origin(kind) is Annotated else ():
        if isinstance(note, Meta):
            found |= note.extra_json_schema or {}
    return found


def _by_hand(fields: BodyFields, name: str, options: Collection[str] | None) -> object:
    del fields, options
    raise NotImplementedError(f"{name} must be read by hand: its type does not say how")


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
