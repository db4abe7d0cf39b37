"""A fork: the parent's events up to a version as the events of a new run, one thing changed."""

from collections.abc import Iterable, Iterator, Sequence

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

from playmolt_agora_runner.world import world

_NOT_TAKEN = (CallMade, Interviewed, RunPaused, RunResumed, RunEnded)
"""Events that a fork does not inherit: its parent's calls, interviews, pauses and end."""


def faults(spec: RunSpec, events: Sequence[Event], content: str | None) -> Iterator[FieldFault]:
    """Why a spec cannot continue from a parent's events."""
    opened = events[0] if events else None
    if not isinstance(opened, RunOpened):
        yield FieldFault("events", "must be the parent's events, starting with the first")
        return
    parent = opened.spec
    if spec.parent is None:
        yield FieldFault("parent", "must name the run, the version and the change")
    elif spec.parent.version > len(events):
        yield FieldFault("parent.version", f"is {spec.parent.version}, but there are {len(events)} events")
    for name in ("phase", "set", "language", "seed", "number", "turns", "rules", "world", "files"):
        if getattr(spec, name) != getattr(parent, name):
            yield FieldFault(name, "must be the parent's")
    if [(seat.agent, seat.home) for seat in spec.seats] != [(seat.agent, seat.home) for seat in parent.seats]:
        yield FieldFault("seats", "must be the parent's agents at the parent's homes")
    saying = _saying(opened)
    if content is not None and (not _acts(events) or _acts(events)[-1].record.action not in saying):
        yield FieldFault("content", f"needs a version whose last act is one of {', '.join(saying)}")
    if content is not None and (unstorable(content) or not content.strip()):
        yield FieldFault("content", "must contain more than white space, and no NUL or lone surrogate")


def _saying(opened: RunOpened) -> tuple[str, ...]:
    """The actions of a run's world whose content is a text that agents read."""
    rows = world.made(opened.rules, opened.spec.packaged).rows
    return tuple(name for name, row in rows.items() if row.does in ("say", "whisper") or "billboard" in row.rules)


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
