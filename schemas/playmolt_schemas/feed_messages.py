"""Feed messages: their base types, and how they are derived from stored events.

An event's message is a copy of its marked fields (`Public`, `Own`). Type and copy are made once, at import. A message
with other content is written by hand, and named in the one table of its game.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Final, Union

import msgspec
from msgspec import UNSET, UnsetType

from playmolt_schemas.stored.event import Event, Shown, marks
from playmolt_schemas.stored.seats import ClosingEvent


class FeedMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An event as a viewer may see it: flat, `type` first. The host adds the id, `version` and `at`."""

    id_field: ClassVar[str]
    """Name of the field with the stream's id."""


class PublicMessage(FeedMessage, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a game or run as every spectator sees it."""

    id_field: ClassVar[str] = "game_id"


class SessionMessage(FeedMessage, frozen=True, kw_only=True):
    """An event of a session as its owner sees it."""

    id_field: ClassVar[str] = "session_id"


class ClosingMessage(PublicMessage, frozen=True, kw_only=True):
    """The last message of a game. `private` is present for private games only, `rated` for games that are not rated."""

    private: bool | UnsetType = UNSET
    rated: bool | UnsetType = UNSET


Copy = Callable[[object, str | None], FeedMessage]
"""The message of an event for an agent; None: for a spectator."""


class FeedMessages:
    """The messages of a game's events: derived ones, and the types of those written by hand."""

    def __init__(
        self,
        events: Mapping[tuple[str, int], type[Event]],
        module: str,
        base: type[FeedMessage] = PublicMessage,
        *,
        shared: "FeedMessages | None" = None,
        written: Iterable[type[FeedMessage]] = (),
    ) -> None:
        """`module` is the module of the derived types, which names them in documents. An event of `shared` has its
        message there. The tag of a message in `written` is the type of its event, from which none is derived."""
        self.events: Final = tuple(events.values())
        self.written: Final = {_tag(kind): kind for kind in written}
        self.kinds: Final = dict[type[Event], type[FeedMessage]]()
        """Event → the derived type of its message."""
        self.copies: Final = dict[type[Event], Copy]()
        """Event → what makes its derived message; an event without a message is not in it."""
        for event in events.values():
            if event.type in self.written:
                continue
            if shared and event in shared.kinds:
                self.kinds[event], self.copies[event] = shared.kinds[event], shared.copies[event]
            elif marks(event) or event.message_name:
                own_base = ClosingMessage if issubclass(event, ClosingEvent) else base
                self.kinds[event], self.copies[event] = _derived(event, module, own_base)

    @property
    def union(self) -> object:
        """The type of any of the messages."""
        return reduce(or_, (*self.kinds.values(), *self.written.values()))


def _tag(kind: type[FeedMessage]) -> str:
    return str(kind.__struct_config__.tag)


def _derived(event: type[Event], module: str, base: type[FeedMessage]) -> tuple[type[FeedMessage], Copy]:
    """The type of an event's message, with the event's marked fields, docstring and type; and what makes one."""
    fields = {field.name: field for field in msgspec.structs.fields(event)}
    shown = marks(event)
    kind: Any = msgspec.defstruct(
        event.message_name or "".join(map(str.capitalize, event.type.split("_"))) + "Message",
        [_field(fields[name], mark, base) for name, mark in shown.items()],
        bases=(base,),
        module=module,
        namespace={"__doc__": event.__doc__},
        tag=event.type,
        frozen=True,
        kw_only=True,
    )
    return kind, _copy(kind, shown, closing=issubclass(event, ClosingEvent))


def _field(field: msgspec.structs.FieldInfo, mark: Shown, base: type[FeedMessage]) -> tuple[str, Any, Any]:
    """A message's field. A default stays where the base omits it; otherwise every message has the field."""
    name, encoded = mark.name or field.name, mark.name or field.encode_name
    if mark.own:
        return name, Union[field.type, UnsetType], msgspec.field(name=encoded, default=UNSET)  # noqa: UP007
    if field.required or not (base.__struct_config__.omit_defaults or field.default is UNSET):
        return name, field.type, msgspec.field(name=encoded)
    if field.default is msgspec.NODEFAULT:
        return name, field.type, msgspec.field(name=encoded, default_factory=field.default_factory)
    return name, field.type, msgspec.field(name=encoded, default=field.default)


def _copy(kind: type[FeedMessage], shown: Mapping[str, Shown], *, closing: bool) -> Copy:
    """Compiled, as it is written by hand: it runs in every commit, and loops over fields take three times as long."""
    public = {mark.name or name: f"event.{name}" for name, mark in shown.items() if not mark.own}
    own = {mark.name or name: f"event.{name}" for name, mark in shown.items() if mark.own}
    made = _call(public)
    if closing:
        made = f"{_call(public | {'rated': 'False'})} if event.rated is False else {made}"
        made = f"{_call(public | {'private': 'True', 'rated': 'False'})} if event.private else {made}"
    if own:
        made = f"{_call(public | own)} if event.agent_id == agent_id else {made}"
    copy: Copy = eval(f"lambda event, agent_id: {made}", {"kind": kind})  # noqa: S307 -- names of fields alone
    return copy


def _call(values: Mapping[str, str]) -> str:
    return f"kind({', '.join(f'{name}={value}' for name, value in values.items())})"
