"""The specification of a fork: its parent's, with one thing changed (agora.md, Fork)."""

from collections.abc import Callable
from typing import Final, get_args

from msgspec.structs import replace
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.stored.agora.turn import Parent, Persona, RunSpec, Seat

CHANGES: Final = "model=ALIAS, model=AGENT:ALIAS, persona=AGENT:PERSONA (or none), content=TEXT"
CONTENT_CHARS: Final = 2000
PERSONAS: Final[tuple[str, ...]] = get_args(Persona)


class InvalidChange(ValueError):
    """A change that no fork can make; the message lists the possible ones."""


def forked(parent: RunSpec, run: str, version: int, change: str) -> RunSpec:
    """The specification of an exploratory run that branches off `parent` after its event `version`.

    Raises InvalidChange. Whether there is such a model is the caller's to ask (`models_of`).
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


def content_of(change: str) -> str | None:
    """The new content of the last replayed act; None for another kind of change."""
    kind, _, value = change.partition("=")
    return value if kind == "content" else None


def models_of(spec: RunSpec) -> tuple[str, ...]:
    """The models of a run, each once."""
    return tuple(dict.fromkeys(seat.model for seat in spec.seats))


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
