"""A fork: the parent's events up to a version as the events of a new run, one thing changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.stored.agora.run import (
    AgentActed,
    CallMade,
    Interviewed,
    RunEnded,
    RunOpened,
    RunPaused,
    RunResumed,
    TurnFailed,
)
from playmolt_schemas.stored.agora.turn import RunSpec
from playmolt_schemas.stored.event import Event
from playmolt_schemas.text import unstorable

_NOT_TAKEN = (CallMade, Interviewed, RunPaused, RunResumed, RunEnded)
"""Events that a fork does not inherit: its parent's calls, interviews, pauses and end."""

_SAYING: Final = ("speak", "whisper", "build_billboard")


def faults(spec: RunSpec, events: Sequence[Event], content: str | None) -> Iterator[FieldFault]:
    """Why a spec cannot continue from a parent's events."""
    parent = events[0].spec if events and isinstance(events[0], RunOpened) else None
    if parent is None:
        yield FieldFault("events", "must be the parent's events, starting with the first")
        return
    if spec.parent is None:
        yield FieldFault("parent", "must name the run, the version and the change")
    for name in ("phase", "set", "language", "seed", "number", "turns", "rules", "world", "files"):
        if getattr(spec, name) != getattr(parent, name):
            yield FieldFault(name, "must be the parent's")
    if [(seat.agent, seat.home) for seat in spec.seats] != [(seat.agent, seat.home) for seat in parent.seats]:
        yield FieldFault("seats", "must be the parent's agents at the parent's homes")
    if content is not None and (not _acts(events) or _acts(events)[-1].record.action not in _SAYING):
        yield FieldFault("content", f"needs a version whose last act is one of {', '.join(_SAYING)}")
    if content is not None and (unstorable(content) or not content.strip()):
        yield FieldFault("content", "must contain more than white space, and no NUL or lone surrogate")


def taken_over(spec: RunSpec, events: Sequence[Event], content: str | None) -> tuple[Event, ...]:
    """The parent's events after the first, as events of the fork.

    `content` replaces what the last act said; what followed that act is played again.
    """
    kept = tuple(_own(spec, event) for event in events[1:] if not isinstance(event, _NOT_TAKEN))
    if content is None:
        return kept
    act = _acts(kept)[-1]
    said = replace(act, record=replace(act.record, content=content))
    return (*kept[: kept.index(act)], said)


def turns(events: Iterable[Event]) -> int:
    return sum(isinstance(event, AgentActed | TurnFailed) for event in events)


def _acts(events: Iterable[Event]) -> list[AgentActed]:
    return [event for event in events if isinstance(event, AgentActed)]


def _own(spec: RunSpec, event: Event) -> Event:
    if not isinstance(event, AgentActed | TurnFailed):
        return event
    own = {"experiment": spec.experiment, "run": spec.run, "cell": spec.cell, "exploratory": spec.exploratory}
    return replace(event, record=replace(event.record, **own))
