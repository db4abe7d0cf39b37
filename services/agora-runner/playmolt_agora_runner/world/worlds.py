"""The worlds: presets as files (`worlds/*.toml`), each rule under the name by which a plan changes it (stage1.md)."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.turn import PhaseName
from playmolt_schemas.stored.agora.world import Rules
from playmolt_schemas.text import unstorable

from playmolt_agora_runner.struct_reader import StructReader

_FILES: Final = files("playmolt_agora_runner").joinpath("worlds")

RULES_VERSION: Final = 2
"""Raised whenever the same act in the same world has another result."""


_READER: Final = StructReader("a table", "key", "unknown_field")
_OPTIONAL: Final = frozenset(("ranks_act",))
"""Rules that no packaged world sets; a plan may."""
_OWN: Final = "defines the world and cannot be changed: its prompts mention it"
_ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("places", "influence", "market", "skills"), _OWN),
    "sampling": "is a field of the plan, not of a world's rules: set `sampling` there",
    "stage1_import": "is a field of the plan, not of a world's rules: set `stage1_import` there",
}


@cache
def preset(phase: PhaseName) -> Rules:
    return msgspec.convert(table(phase), Rules)


def rules(phase: PhaseName, overrides: Mapping[str, Any]) -> Rules | tuple[PlanFault, ...]:
    """A world's rules with the changes of a plan: nested tables or dotted names.

    Faults name every override that is unknown, of the wrong type or out of range.
    """
    found_table = table(phase)
    flat = dict(flattened(overrides))
    faults = [fault for name, value in flat.items() if (fault := override(found_table, name, value))]
    found = msgspec.convert(found_table, Rules)
    faults += comparisons(found, [fault.field for fault in faults])
    return tuple(faults) or found


def comparisons(found: Rules, spoilt: Iterable[str]) -> Iterator[PlanFault]:
    """The faults of rules that are compared with one another.

    A rule that is spoilt has its default, which says nothing of the others.
    """
    families = {_family(field) for field in spoilt}
    return (fault for fault in _ranges(found) if _family(fault.field) not in families)


def _family(field: str) -> str:
    """The rules that are compared with one another: `energy` with `death`, `leak` with `leak_observer`."""
    head = field.removeprefix("rules.").partition(".")[0].partition("_")[0]
    return "energy" if head == "death" else head


def version(phase: str, found: Rules, texts_version: str) -> str:
    """Name a rule set with its texts: `stage1@<hash>`, another hash when either changes, or how rules are applied."""
    return f"{phase}@{digest([found, texts_version, RULES_VERSION])[:12]}"


def table(phase: str) -> dict[str, Any]:
    """A packaged world's rules as plain values, to be changed."""
    return deepcopy({name: value for name, value in _file(phase).items() if name != "actions"})


def rows(phase: str) -> dict[str, dict[str, Any]]:
    """A packaged world's actions as its file has them: they are the same whatever a plan changes."""
    found: dict[str, dict[str, Any]] = _file(phase)["actions"]
    return found


@cache
def _file(phase: str) -> dict[str, Any]:
    own = tomllib.loads(_FILES.joinpath(f"{phase}.toml").read_text(encoding="utf-8"))
    base = own.pop("like", None)
    return laid_over(_file(base), own) if base else own


def laid_over(held: Any, value: Any, depth: int = -1) -> Any:
    """A table that is set in part keeps the rest of what it begins with, and so do those in it, or up to a depth."""
    if not depth or not isinstance(held, Mapping) or not isinstance(value, Mapping):
        return value
    return {**held, **{name: laid_over(held.get(name), each, depth - 1) for name, each in value.items()}}


def flattened(overrides: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, object]]:
    for name, value in overrides.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{head}{name}.")
        else:
            yield f"{head}{name}", value


def override(table: dict[str, Any], name: str, value: Any) -> PlanFault | None:
    """Set one rule in the table, or say why it cannot be."""
    *tables, last = name.split(".")
    place: Any = table
    for inner in tables:
        place = place.get(inner) if isinstance(place, dict) else None
    if (head := name.split(".", maxsplit=1)[0]) in _ELSEWHERE:
        return PlanFault(f"rules.{name}", _ELSEWHERE[head], code="unknown_field")
    known = isinstance(place, dict) and (last in place or name in _OPTIONAL)
    if not known or isinstance(place.get(last), dict):
        beside = ", ".join(each for each in (place if isinstance(place, dict) else table) if each not in _ELSEWHERE)
        return PlanFault(f"rules.{name}", f"is not a rule; the rules here are {beside}", code="unknown_field")
    before = dict(place)
    place[last] = value
    _, faults = _READER.partly(Rules, table)
    if not faults:
        return None
    place.clear()
    place.update(before)
    return msgspec.structs.replace(faults[0], field=f"rules.{name}")


def _ranges(found: Rules) -> Iterator[PlanFault]:
    if found.energy.start > found.energy.max:
        yield PlanFault("rules.energy.start", "must not be above energy.max")
    if Fraction(found.crisis.p) > 1:
        yield PlanFault("rules.crisis.p", "is a probability from 0 to 1")
    if Fraction(found.leak) + Fraction(found.leak_observer) > 1:
        yield PlanFault("rules.leak_observer", "must not take the probability of a leak above 1")
    if found.ranks.notable >= found.ranks.elder:
        yield PlanFault("rules.ranks.elder", "must be above ranks.notable")
    if found.death and found.energy.ledger != "real":
        yield PlanFault("rules.death", "needs energy.ledger = real")
    if any(unstorable(text) for each in found.seed_events for text in (each.ko, each.en)):
        yield PlanFault("rules.seed_events", "must not contain NUL or lone surrogates")
