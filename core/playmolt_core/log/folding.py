"""Folds a stream: all its events are decoded in one pass."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar, Union

import msgspec
from playmolt_schemas.stored.event import Event

from playmolt_core.game.decider import Decider, read_event
from playmolt_core.log.port import StoredFacts

S = TypeVar("S")

_data = attrgetter("data")
_read_tagged = msgspec.json.Decoder(list[tuple[str, msgspec.Raw]]).decode
_read_times = msgspec.json.Decoder(list[datetime], strict=False).decode
"""Not strict: the times are in seconds."""


def fold(
    decider: Decider[S], stream: str, stored: StoredFacts, *, until: int | None = None, start: S | None = None
) -> S:
    """Fold a stream to its end or to a version, from its first event or from a state `start`."""
    state, evolve = decider.initial(stream) if start is None else start, decider.evolve
    for event, at in islice(facts_of(decider, stored), until):
        state = evolve(state, event, at)
    return state


def facts_of(decider: Decider, stored: StoredFacts) -> Iterator[tuple[Event, datetime]]:
    """Events with their decision times. Raises LookupError as `read_event` does."""
    try:
        tagged = _reader(tuple(decider.events.items()))(stored.events)
    except msgspec.ValidationError:
        for tag, data in _read_tagged(stored.events):
            kind, _, schema_version = tag.rpartition(":")
            read_event(decider, kind, int(schema_version), data)
        raise
    return zip(map(_data, tagged), _read_times(stored.times), strict=True)


@cache
def _reader(events: tuple[tuple[tuple[str, int], type[Event]], ...]) -> Callable[[str], list[Any]]:
    """A decoder for all events of a stream in one pass; one at a time would take twice as long."""
    tagged = [
        msgspec.defstruct(
            f"Tagged{event.__name__}",
            [("data", event)],
            tag=f"{kind}:{version}", array_like=True, frozen=True, gc=False,
        )
        for (kind, version), event in events
    ]  # fmt: skip
    kinds: Any = Union[tuple(tagged)]  # noqa: UP007 -- made of a list
    decode: Callable[[str], list[Any]] = msgspec.json.Decoder(list[kinds]).decode
    return decode
