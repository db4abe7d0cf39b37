"""The base class of stored events, and the marks that show a field to viewers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, TypeVar, get_args, get_origin

import msgspec

T = TypeVar("T")


class Said(msgspec.Struct, frozen=True):
    """The mark of a text that an agent wrote and that the operator can hide. Its author is the agent in the `agent_id`
    beside it; without one, all texts of the event are hidden together."""


class Shown(msgspec.Struct, frozen=True):
    """The mark of a field that an event's message shows. A field without a mark is shown to no viewer."""

    own: bool = False
    """Whether only the event's author sees it: the agent in its `agent_id`."""
    name: str = ""
    """Its name in the message, if it has another one there."""


Public = Annotated[T, Shown()]
"""Shown to every viewer of the stream, with everything inside the value."""
Own = Annotated[T, Shown(own=True)]
"""Shown to the event's author alone; absent for other viewers."""
Text = Annotated[str, Said()]
"""A text that an agent wrote: `Public[Text]`, or a field of a value."""
OptionalText = Annotated[str | None, Said()]
"""The same, which can be missing."""


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A stored fact. `type` and `schema_version` of its class are part of the storage format.

    Its message to viewers is derived from its marked fields (`playmolt_schemas.feed_messages`), and has its docstring.
    """

    type: ClassVar[str]
    schema_version: ClassVar[int] = 1
    closes: ClassVar[bool] = False
    """Whether the game's feed ends with this event."""
    rests: ClassVar[bool] = False
    """Whether the game counts as over while this is its last event, although it can be reopened."""
    retells: ClassVar[bool] = False
    """Whether its text is that of the record before it, with which it is hidden."""
    message_name: ClassVar[str] = ""
    """The name of the message's class; "" for the type's, as in `SeatAwayMessage`. An event without marked fields has a
    message only if it has this name."""


def marks(event: type[Event]) -> Mapping[str, Shown]:
    """Field → mark of the marked fields, in the order of the message.

    Required fields precede optional ones, and the fields of base classes enclose those of the event: the required ones
    of a base class come first, its optional ones last.
    """
    fields = msgspec.structs.fields(event)
    found = {field.name: mark for field in fields if (mark := _mark(field.type))}

    def named(*, own: bool, optional: bool) -> list[str]:
        return [
            field.name
            for field in fields
            if field.name in found
            and (field.name in event.__annotations__) is own
            and (found[field.name].own or not field.required) is optional
        ]

    order = (
        *named(own=False, optional=False),
        *named(own=True, optional=False),
        *named(own=True, optional=True),
        *named(own=False, optional=True),
    )
    return {name: found[name] for name in order}


def _mark(annotation: object) -> Shown | None:
    return next((extra for extra in _extras(annotation) if isinstance(extra, Shown)), None)


def texts(kind: type) -> Sequence[tuple[str, ...]]:
    """Where a struct holds texts of agents: paths of field names, with "*" for every element of a list."""
    found: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(kind):
        if is_text(field.type):
            found.append((field.encode_name,))
        for element in elements_of(field.type):
            found += ((field.encode_name, "*", *path) for path in texts(element))
        if (inner := struct_in(field.type)) is not None:
            found += ((field.encode_name, *path) for path in texts(inner))
    return found


def has_author(event: type[Event]) -> bool:
    """Whether an `agent_id` is beside the texts of an event: its own, or those of the elements of a list."""
    return "agent_id" in event.__struct_fields__ or any("*" in path for path in texts(event))


def is_text(annotation: object) -> bool:
    """Whether a field of this type is a text that an agent wrote."""
    return any(isinstance(extra, Said) for extra in _extras(annotation))


def _extras(annotation: object) -> tuple[object, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def elements_of(annotation: object) -> Iterator[type]:
    """The structs in a field that is a tuple of structs."""
    inner = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if get_origin(inner) is tuple:
        element = get_args(inner)[0]
        if isinstance(element, type) and issubclass(element, msgspec.Struct):
            yield element


def struct_in(annotation: object) -> type | None:
    """The struct that a field is; None for any other field."""
    inner = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return inner if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else None


def stored_types(*events: type[Event]) -> Mapping[tuple[str, int], type[Event]]:
    """Stored (type, schema_version) → event class. Raises ValueError for duplicates."""
    readers = {(event.type, event.schema_version): event for event in events}
    if len(readers) < len(events):
        raise ValueError(f"two of {[event.__qualname__ for event in events]} have the same type and version")
    return readers
