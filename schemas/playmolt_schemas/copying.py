"""Structs that repeat fields of others."""

from functools import cache
from typing import TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def copied(kind: type[S], /, *sources: msgspec.Struct, **more: object) -> S:
    """A struct of `more` and, for its other fields, of the fields of the same name: the first source that has one."""
    taken = _taken(kind, tuple(map(type, sources)), frozenset(more))
    return kind(**more, **{name: getattr(sources[at], name) for name, at in taken})


@cache
def _taken(
    kind: type[msgspec.Struct], sources: tuple[type[msgspec.Struct], ...], given: frozenset[str]
) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for at, source in enumerate(sources):
        found |= {name: at for name in source.__struct_fields__ if name not in found}
    return tuple((name, found[name]) for name in kind.__struct_fields__ if name in found and name not in given)
