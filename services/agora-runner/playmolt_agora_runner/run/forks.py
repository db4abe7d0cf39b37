"""Forks (agora.md, Fork): the parent's specification with one thing changed, and its events up to a version."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, get_args

from msgspec.structs import replace
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.identifiers import is_scripted
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
from playmolt_schemas.stored.agora.turn import Parent, Persona, RunSpec, Seat
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.world import world

CHANGES: Final = "model=ALIAS, model=AGENT:ALIAS, persona=AGENT:PERSONA (or none), content=TEXT"
CONTENT_CHARS: Final = 2000
PERSONAS: Final[tuple[str, ...]] = get_args(Persona)


class InvalidChange(ValueError):
    """A change that no fork can make; the message lists the possible ones."""


def forked(parent: RunSpec, run: str, version: int, change: str) -> RunSpec:
    """The specification of an exploratory run that branches off `parent` after its event `version`.

    Raises InvalidChange. Whether there is such a model is the caller's to ask.
    """
    kind, equals, value = change.partition("=")
    make = _CHANGES.get(kind)
    if not equals or not value or make is None:
        raise InvalidChange(f"{change[:80]!r} is not a change; use one of {CHANGES}")
    seats = make(parent, value)
    return replace(
        parent,
        run=run,
        seats=seats,
        exploratory=True,
        scripted=any(is_scripted(seat.model) for seat in seats),
        parent=Parent(run=parent.run, version=version, change=change),
    )


def _content_of(parent: Parent | None) -> str | None:
    """The new content of the last replayed act; None for another kind of change."""
    kind, _, value = parent.change.partition("=") if parent else ("", "", "")
    return value if kind == "content" else None


def _model(parent: RunSpec, value: str) -> tuple[Seat, ...]:
    agent, colon, alias = value.partition(":")
    if not colon:
        return tuple(replace(seat, model=value) for seat in parent.seats)
    return _changed(parent, agent, lambda seat: replace(seat, model=alias))


def _persona(parent: RunSpec, value: str) -> tuple[Seat, ...]:
    agent, _, name = value.partition(":")
    own = (path.removeprefix("personas/") for path in parent.files or () if path.startswith("personas/"))
    known = (*PERSONAS, *(file.removesuffix(".toml") for file in own))
    persona = name if name in known else None
    if persona is None and name != "none":
        raise InvalidChange(f"{name[:40]!r} is not a persona; there are {', '.join(known)}, none, as in AGENT:PERSONA")
    return _changed(parent, agent, lambda seat: replace(seat, persona=persona))


def _content(parent: RunSpec, value: str) -> tuple[Seat, ...]:
    if len(value) > CONTENT_CHARS:
        raise InvalidChange(f"content has {len(value)} characters, at most {CONTENT_CHARS} are taken")
    if not value.strip():
        raise InvalidChange("content must hold more than white space")
    return parent.seats


def _changed(parent: RunSpec, agent: str, change: Callable[[Seat], Seat]) -> tuple[Seat, ...]:
    if agent not in [seat.agent for seat in parent.seats]:
        known = ", ".join(seat.agent for seat in parent.seats)
        raise InvalidChange(f"{agent[:40]!r} does not play there; there are {known}")
    return tuple(change(seat) if seat.agent == agent else seat for seat in parent.seats)


_CHANGES: Final = {"model": _model, "persona": _persona, "content": _content}


_NOT_TAKEN = (CallMade, Interviewed, RunPaused, RunResumed, RunEnded)
"""Events that a fork does not inherit: its parent's calls, interviews, pauses and end."""


def faults(parent: Parent, events: Sequence[Event]) -> Iterator[FieldFault]:
    """Why a fork cannot continue from its parent's events."""
    opened = events[0] if events else None
    if not isinstance(opened, RunOpened) or parent.version > len(events):
        yield FieldFault("parent.version", f"is {parent.version}, but there are {len(events)} events")
    elif _content_of(parent) is not None:
        rows, acts = world.made(opened.rules, opened.spec.packaged).rows, _acts(events)
        read = [name for name, row in rows.items() if row.does in ("say", "whisper") or "billboard" in row.rules]
        if not acts or acts[-1].record.action not in read:
            yield FieldFault("content", f"needs a version whose last act is one of {', '.join(read)}")


def taken_over(spec: RunSpec, events: Sequence[Event]) -> tuple[Event, ...]:
    """The parent's events after the first, as events of the fork.

    New content replaces what the last act said; what followed that act is played again.
    """
    kept = tuple(_own(spec, event) for event in events[1:] if not isinstance(event, _NOT_TAKEN))
    content = _content_of(spec.parent)
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
