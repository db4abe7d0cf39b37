"""A world file of a plan's folder: from TOML to the rules of a world, with every fault of it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.copying import copied
from playmolt_schemas.instrument.definitions import place_of
from playmolt_schemas.stored.agora.own_world import (
    CONTEST,
    Both,
    End,
    HearingRule,
    OwnAction,
    OwnRank,
    OwnWorld,
    RuleName,
    Strict,
    Turn,
    WorldPlace,
    WorldResource,
)
from playmolt_schemas.stored.agora.plan import Name
from playmolt_schemas.stored.agora.turn import SKILLS, Language, PhaseName
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.folder import toml_file, world_checks
from playmolt_agora_runner.folder.source import KeyLines, Source
from playmolt_agora_runner.folder.toml_file import TomlFile
from playmolt_agora_runner.world import worlds
from playmolt_agora_runner.world.named_rules import RULES

PACKAGED: Final[Mapping[str, PhaseName]] = {name: name for name in get_args(PhaseName)}
WORLD_BYTES: Final = 100 * 1024
"""Of a world with all that it begins with: its lock is one record with those of the other rooms."""
_TABLES: Final = ("places", "actions", "resources")
_ENERGY: Final = {
    **{f"energy.{name}": f"energy.{name}" for name in ("start", "max", "ledger")},
    "energy.decay": "decay.base",
    "energy.death": "death",
}
"""Key in `[energy]` → its rule in stage1.md, which has decay and death apart."""
_FORMS: Final = {
    **{name: f"[{name}.NAME]" for name in _TABLES},
    **dict.fromkeys(("shell", "template"), '{ ko = "well_ko.md", en = "well_en.md" }'),
    "ranks": "[[ranks]]",
}
"""How to write what may be written otherwise by mistake."""
_DOES: Final = {"speak": "say", "whisper": "whisper", "move": "move"}
"""What an action does by its name."""
_TARGETS: Final = {"whisper": "agent", "move": "place"}
"""The target of what an action does."""


class WorldFile(msgspec.Struct, frozen=True):
    """A world as far as it reads: the packaged one it begins with, and all its rules."""

    base: PhaseName
    rules: Rules
    at: KeyLines


class _Influence(Strict, frozen=True, kw_only=True):
    """What everybody begins with."""

    start: Annotated[int, Meta(ge=0, le=10_000)] = 0


class WorldKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a world file beside the rules of stage1.md."""

    title: Both = Both()
    turns: Turn | UnsetType = UNSET
    shell: dict[Language, str] = {}
    template: dict[Language, str] = {}
    places: Annotated[dict[Name, WorldPlace], Meta(max_length=20)] = {}
    hearing: HearingRule | UnsetType = UNSET
    actions: Annotated[dict[Name, OwnAction], Meta(max_length=20)] = {}
    resources: Annotated[dict[Name, WorldResource], Meta(max_length=8)] = {}
    influence: _Influence = _Influence()
    ranks: Annotated[tuple[OwnRank, ...], Meta(max_length=6)] = ()
    rules: tuple[RuleName, ...] = ()
    end: End = End()


def read(source: Source, name: str, languages: Sequence[Language], homes: frozenset[str]) -> WorldFile | None:
    """Read a world; None where there is nothing to look at. The source gets every fault of it.

    `homes` are the places where somebody starts.
    """
    layers = _layers(source, name)
    if layers is None:
        return None
    base, files = layers
    before, at = len(source.faults), files[-1].at
    rules = _rules(source, base, files)
    source.faults += world_checks.faults(rules, at, languages, homes, source.faults[before:])
    if len(canonical_json(rules)) > WORLD_BYTES:
        message = f"exceeds {WORLD_BYTES} bytes together with the world it extends"
        source.report(at, "", message, "file_too_large")
    return WorldFile(base or "phase2", rules, at)


def _layers(source: Source, name: str) -> tuple[PhaseName | None, list[TomlFile]] | None:
    """The packaged world that a world begins with, and the files from that on, each with the lines of those before."""
    files: dict[str, TomlFile] = {}
    base: str | None = name
    while base is not None and base not in PACKAGED:
        if base in files:
            cycle = " → ".join([*files, base])
            source.report(files[name].at, "like", f"begins with itself: {cycle}")
            return None
        found = toml_file.read(source, f"worlds/{base}.toml")
        if found is None:
            return None
        files[base] = found
        base = found.values.pop("like", None)
        if base is not None and not isinstance(base, str):
            source.report(found.at, "like", "is not a world's name", "wrong_type")
            return None
    laid: list[TomlFile] = []
    for each in reversed(files.values()):
        laid.append(replace(each, at=replace(each.at, base=laid[-1].at if laid else None)))
    return PACKAGED[base] if base else None, laid


def _rules(source: Source, base: PhaseName | None, files: Sequence[TomlFile]) -> Rules:
    at, before = files[-1].at, len(source.faults)
    cited = _cited(files)
    table = worlds.table(base) if base else _empty(cited)
    table["market"] = table["market"] or "pool" in cited
    known = None if base else {name for rule in cited for name in RULES[rule].sets}
    own: dict[str, Any] = {"places": {name: {} for name in table["places"]}} if base else {}
    for file in files:
        keys = {name for name in WorldKeys.__struct_fields__ if name in file.values}
        if isinstance(file.values.get("ranks"), Mapping):
            keys.remove("ranks")  # the ranks of stage1.md
        for name in keys:
            own[name] = worlds.laid_over(own.get(name), file.values[name], depth=2 if name in _TABLES else 1)
        _set_rules(
            source, table, {name: each for name, each in file.values.items() if name not in keys}, file.at, known
        )
    found = _own_keys(source, own, at)
    places = {
        name: _packaged(name, place, table) if base and "capacity" not in own["places"][name] else place
        for name, place in found.places.items()
    }
    world = copied(OwnWorld, found, packaged=base is not None, places=places, influence=found.influence.start)
    rules = replace(msgspec.convert(table, Rules), places=tuple(places), own=world)
    for fault in worlds.comparisons(rules, [fault.field for fault in source.faults[before:]]):
        name = fault.field.removeprefix("rules.")
        source.report(at, "energy.death" if name == "death" else name, fault.message)
    return rules if found.turns is UNSET else replace(rules, epochs=found.turns)


def _cited(files: Sequence[TomlFile]) -> set[RuleName]:
    """The named rules that a world or one of its actions cites, without unknown ones."""
    tables: list[object] = []
    for file in files:
        actions = file.values.get("actions")
        tables += [file.values, *(actions.values() if isinstance(actions, dict) else ())]
    named = [table["rules"] for table in tables if isinstance(table, dict) and isinstance(table.get("rules"), list)]
    return {name for name in RULES if any(name in each for each in named)}


def _empty(cited: set[RuleName]) -> dict[str, Any]:
    """A world without anything that stage1.md has but the named rules that it cites."""
    table = worlds.table("phase2")
    table |= {"influence": True, "epochs": 50, "places": [], "list_architect_skills": False}
    table["costs"] = dict.fromkeys(table["costs"], 0)
    table["rewards"] = dict.fromkeys(table["rewards"], 0)
    stage1 = worlds.table("stage1")
    return table | {name: stage1[name] for rule in cited for name in RULES[rule].sets}


def _set_rules(
    source: Source, table: dict[str, Any], changes: Mapping[str, Any], at: KeyLines, known: set[str] | None
) -> None:
    """Set the rules of stage1.md that a file changes; `known` are those that it may beside energy, None for all."""
    for name, value in worlds.flattened(changes):
        head = name.partition(".")[0]
        if head == "energy":
            rule = _ENERGY.get(name)
            hint = f"allowed keys are {', '.join(key.removeprefix('energy.') for key in _ENERGY)}"
        else:
            rule = name if name != "epochs" and (known is None or head in known) else None
            hint = _hint(head)
        fault = None if rule is None else worlds.override(table, rule, value)
        if name == "energy":
            source.report(at, name, "must be a table: write [energy]", "wrong_type")
        elif rule is None:
            source.report(at, name, f"unknown key; {hint}", "unknown_key")
        elif fault is not None:
            code = "unknown_key" if fault.code == "unknown_field" else fault.code
            source.report(at, name, fault.message, code)
        elif name == "energy.decay":
            table["decay"]["step"] = "0"


def _hint(head: str) -> str:
    if head == "epochs":
        return "the length of a run is `turns`"
    rule = next((rule for rule, each in RULES.items() if head in each.sets), None)
    citing = f"cite {rule} in `rules` of the world or an action, or " if rule else ""
    return f"{citing}begin with a packaged world by `like`"


def _own_keys(source: Source, own: Mapping[str, Any], at: KeyLines) -> WorldKeys:
    """The keys of a world as far as they are sound."""
    before = len(source.faults)
    if isinstance(actions := own.get("actions"), Mapping):
        for name in {*SKILLS, CONTEST} & actions.keys():
            source.report(at, f"actions.{name}", "is the name of an action that comes with the software")
        kept = {name: _filled(name, action) for name, action in actions.items() if name not in (*SKILLS, CONTEST)}
        own = {**own, "actions": kept}
    if isinstance(resources := own.get("resources"), Mapping):
        own = {**own, "resources": {name: _in_decimals(each) for name, each in resources.items()}}
    found, _ = toml_file.partly(source, WorldKeys, own, at, "")
    source.faults[before:] = [
        replace(fault, message=f"{fault.message}; write {_FORMS[fault.field]}")
        if fault.field in _FORMS and fault.code == "wrong_type"
        else fault
        for fault in source.faults[before:]
    ]
    return found or WorldKeys()


def _in_decimals(resource: Any) -> Any:
    """A resource whose rate is decimal text, as it is stored, also where the file has a whole number."""
    match resource:
        case {"regrowth": {"rate": int(rate)} as regrowth} if not isinstance(rate, bool):
            return {**resource, "regrowth": {**regrowth, "rate": str(rate)}}
    return resource


def _filled(name: str, action: Any) -> Any:
    """An action with what its name, and what it does, leave no choice in."""
    if not isinstance(action, Mapping):
        return action
    filled = {"does": _DOES.get(name, "none"), **action}
    if filled.get("target", "none") == "none" and (target := _TARGETS.get(str(filled["does"]))):
        filled["target"] = target
    return filled


def _packaged(name: str, place: WorldPlace, table: Mapping[str, Any]) -> WorldPlace:
    """A place without a capacity of its own has that of the packaged world."""
    return replace(place, capacity=table["capacity"].get(place_of(name), False))
