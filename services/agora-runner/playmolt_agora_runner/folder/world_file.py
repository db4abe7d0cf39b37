"""A world file of a plan's folder: from TOML to the rules of a world, with every fault of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar, get_args

import msgspec
from msgspec import Meta
from playmolt_schemas.canonical import canonical_json
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
    WorldPlace,
    WorldResource,
)
from playmolt_schemas.stored.agora.plan import Name
from playmolt_schemas.stored.agora.turn import SKILLS, Language, PhaseName
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.folder import toml_file, world_checks
from playmolt_agora_runner.folder.source import KeyLines, Source
from playmolt_agora_runner.world import worlds
from playmolt_agora_runner.world.named_rules import RULES

S = TypeVar("S", bound=msgspec.Struct)
PACKAGED: Final[tuple[str, ...]] = get_args(PhaseName)
WORLD_BYTES: Final = 100 * 1024
"""Of a world with all that it begins with: its lock is one record with those of the other rooms."""
OWN: Final = ("title", "turns", "shell", "template", "places", "hearing", "actions", "resources", "end", "rules")
_NAMED: Final[Mapping[str, type[Strict]]] = {"places": WorldPlace, "actions": OwnAction, "resources": WorldResource}
_IN_ENERGY: Final = {"death": "energy.death"}
"""Rules of stage1.md that a world's file has in `[energy]`."""
_MOST: Final = {"places": 20, "actions": 20, "resources": 8}
_DOES: Final = {
    "speak": {"does": "say"},
    "whisper": {"does": "whisper", "target": "agent"},
    "move": {"does": "move", "target": "place"},
}


class WorldFile(msgspec.Struct, frozen=True):
    """A world that was read: the packaged one it begins with, and all its rules.

    One that is not `sound` has faults: its rules hold what has none, and nothing can be played there.
    """

    base: PhaseName
    rules: Rules
    turns: int
    at: KeyLines
    sound: bool = True


class _Influence(Strict, frozen=True, kw_only=True):
    """What everybody begins with."""

    start: Annotated[int, Meta(ge=0, le=10_000)] = 0


class _Cited(Strict, frozen=True, kw_only=True):
    """The named rules that the world cites itself."""

    rules: tuple[RuleName, ...] = ()


class _Layers(msgspec.Struct):
    """A world file and those it is like, from the packaged one on."""

    base: PhaseName | None
    files: list[toml_file.TomlFile]


def read(source: Source, name: str, languages: Sequence[Language], homes: frozenset[str]) -> WorldFile | None:
    """Read a world; None where there is nothing to look at. The source gets every fault of it.

    `homes` are the places where somebody starts.
    """
    layers = _layers(source, name)
    if layers is None:
        return None
    before = len(source.faults)
    at = layers.files[-1].at
    rules, turns = _rules(source, layers)
    if rules is None:
        return None
    source.faults += world_checks.faults(rules, at, languages, homes, source.faults[before:])
    if len(canonical_json(rules)) > WORLD_BYTES:
        message = f"exceeds {WORLD_BYTES} bytes together with the world it extends"
        source.report(at, "", message, "file_too_large")
    return WorldFile(layers.base or "phase2", rules, turns, at, sound=len(source.faults) == before)


def _layers(source: Source, name: str) -> _Layers | None:
    files: list[toml_file.TomlFile] = []
    seen: list[str] = []
    while name not in PACKAGED:
        if name in seen:
            source.report(files[0].at, "like", f"begins with itself: {' → '.join([*seen, name])}")
            return None
        seen.append(name)
        found = toml_file.read(source, f"worlds/{name}.toml")
        if found is None:
            return None
        files.append(found)
        like = found.values.pop("like", None)
        if like is None:
            return _Layers(None, _based(files))
        if not isinstance(like, str):
            source.report(found.at, "like", "is not a world's name", "wrong_type")
            return None
        name = like
    return _Layers(name, _based(files))  # type: ignore[arg-type]  # one of PACKAGED


def _based(files: Sequence[toml_file.TomlFile]) -> list[toml_file.TomlFile]:
    """Files from the first one on, given the other way round, each with the lines of those before it."""
    found: list[toml_file.TomlFile] = []
    for each in reversed(files):
        at = msgspec.structs.replace(each.at, base=found[-1].at if found else None)
        found.append(msgspec.structs.replace(each, at=at))
    return found


def _rules(source: Source, layers: _Layers) -> tuple[Rules | None, int]:
    cited = _cited(source, layers)
    table = worlds.table(layers.base) if layers.base else _empty(cited)
    table["market"] = table["market"] or "pool" in cited
    known = None if layers.base else frozenset(name for rule in cited for name in RULES[rule].sets)
    own: dict[str, Any] = {"places": {}, "packaged": layers.base is not None}
    if layers.base:
        own["places"] = {name: {"capacity": False} for name in table["places"]}
    turns = table["epochs"]
    sound = len(source.faults)
    for layer in layers.files:
        _apply(source, table, own, layer, known)
        turns = layer.values.get("turns", turns)
    spoilt = [fault.field for fault in source.faults[sound:]]
    at = layers.files[-1].at
    if not isinstance(turns, int) or isinstance(turns, bool) or not 1 <= turns <= 1000:
        source.report(at, "turns", "must be 1 to 1000")
        turns = 1
    world = _own_world(source, own, table, at)
    if world is None:
        return None, turns
    table |= {"epochs": turns, "places": list(world.places), "own": msgspec.to_builtins(world)}
    rules = _converted(source, table, Rules, at)
    for fault in worlds.comparisons(rules, spoilt) if rules else ():
        name = fault.field.removeprefix("rules.")
        source.report(at, _IN_ENERGY.get(name, name), fault.message)
    return rules, turns


def _converted(source: Source, values: object, kind: type[S], at: KeyLines) -> S | None:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        source.report(at, "", str(error))
        return None


def _cited(source: Source, layers: _Layers) -> frozenset[RuleName]:
    """The named rules that a world or one of its actions cites; an unknown one is a fault, of an action later."""
    found: set[RuleName] = set()
    for layer in layers.files:
        own, _ = toml_file.partly(source, _Cited, {"rules": layer.values.pop("rules", [])}, layer.at, "")
        found |= {*own.rules} if own else set()
        actions = layer.values.get("actions")
        for action in actions.values() if isinstance(actions, dict) else ():
            names = action.get("rules") if isinstance(action, dict) else None
            found |= {name for name in RULES if isinstance(names, list) and name in names}
    return frozenset(found)


def _empty(cited: Iterable[RuleName]) -> dict[str, Any]:
    """A world without anything that stage1.md has but the named rules that it cites."""
    table = worlds.table("phase2")
    table |= {"influence": True, "epochs": 50, "places": [], "list_architect_skills": False}
    table["costs"] = dict.fromkeys(table["costs"], 0)
    table["rewards"] = dict.fromkeys(table["rewards"], 0)
    stage1 = worlds.table("stage1")
    return table | {name: stage1[name] for rule in cited for name in RULES[rule].sets}


def _apply(
    source: Source, table: dict[str, Any], own: dict[str, Any], layer: toml_file.TomlFile, known: frozenset[str] | None
) -> None:
    """Lay one file over what there is; `known` are the rules of stage1.md that it may set, None for all."""
    left = dict(layer.values)
    for name in OWN:
        if name in left:
            value = left.pop(name)
            if name in _NAMED and isinstance(value, dict):
                own[name] = _merged(own.get(name, {}), value)
            elif name != "turns":
                # A table that is set in part keeps the rest of what it begins with.
                held = own.get(name)
                own[name] = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else value
    _apply_energy(source, table, left.pop("energy", {}), layer.at)
    if isinstance(left.get("influence"), dict):
        own["influence"] = left.pop("influence")
    if isinstance(left.get("ranks"), list):
        own["ranks"] = left.pop("ranks")
    for name, value in worlds.flattened(left):
        if name == "epochs" or (known is not None and name.split(".")[0] not in known):
            source.report(layer.at, name, f"unknown key; {_hint(name)}", "unknown_key")
            continue
        fault = worlds.override(table, name, value)
        if fault is not None:
            code = "unknown_key" if fault.code == "unknown_field" else fault.code
            source.report(layer.at, name, fault.message, code)


def _hint(name: str) -> str:
    if name == "epochs":
        return "the length of a run is `turns`"
    rule = next((rule for rule, each in RULES.items() if name.split(".", maxsplit=1)[0] in each.sets), None)
    citing = f"cite {rule} in `rules` of the world or an action, or " if rule else ""
    return f"{citing}begin with a packaged world by `like`"


def _merged(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    whole = dict(base)
    for name, value in over.items():
        held = whole.get(name)
        whole[name] = {**held, **value} if isinstance(held, Mapping) and isinstance(value, Mapping) else value
    return whole


def _apply_energy(source: Source, table: dict[str, Any], energy: object, at: KeyLines) -> None:
    """`decay` and `death` belong to energy here; in stage1.md they are separate rules."""
    if not isinstance(energy, dict):
        source.report(at, "energy", "must be a table", "wrong_type")
        return
    for name, value in energy.items():
        field = f"energy.{name}"
        if name == "decay":
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 10_000:
                source.report(at, field, "must be a whole number from 0 to 10000")
            else:
                table["decay"] = {**table["decay"], "base": value, "step": "0"}
        elif name == "death":
            if isinstance(value, bool):
                table["death"] = value
            else:
                source.report(at, field, "is true or false", "wrong_type")
        elif name not in table["energy"]:
            source.report(at, field, "unknown key; allowed keys are start, max, ledger, decay, death", "unknown_key")
        elif (fault := worlds.override(table, field, value)) is not None:
            source.report(at, field, fault.message, fault.code)


def _own_world(source: Source, own: dict[str, Any], table: Mapping[str, Any], at: KeyLines) -> OwnWorld | None:
    """The own part as far as it is sound, reading each table by itself to report every fault."""
    read: dict[str, Any] = {"packaged": own["packaged"]}
    for name, kind in _NAMED.items():
        read[name] = _tables(source, own.get(name, {}), kind, at, name)
    for name, kind in (("title", Both), ("hearing", HearingRule), ("end", End)):
        if name in own:
            read |= _kept(name, toml_file.partly(source, kind, own[name], at, name)[0])
    for name in ("shell", "template"):
        read[name] = _files(source, own.get(name, {}), at, name)
    read["ranks"] = _ranks(source, own.get("ranks", []), at)
    influence, _ = toml_file.partly(source, _Influence, own.get("influence", {}), at, "influence")
    read["influence"] = influence.start if influence else 0
    if own["packaged"]:
        read["places"] = {name: _packaged(name, place, table) for name, place in read["places"].items()}
    return _converted(source, msgspec.to_builtins(read), OwnWorld, at)


def _packaged(name: str, place: WorldPlace, table: Mapping[str, Any]) -> WorldPlace:
    """A place of a packaged world has its capacity there, unless the file says another."""
    kind = "alley" if name.startswith("alley") else name
    if place.capacity or kind not in table["capacity"]:
        return place
    return msgspec.structs.replace(place, capacity=table["capacity"][kind])


def _tables(source: Source, values: object, kind: type[Strict], at: KeyLines, field: str) -> dict[str, object]:
    if not isinstance(values, dict):
        source.report(at, field, f"must be a table of tables: write [{field}.NAME]", "wrong_type")
        return {}
    if len(values) > _MOST[field]:
        source.report(at, field, f"has {len(values)} entries; the limit is {_MOST[field]}")
        return {}
    read: dict[str, object] = {}
    for name, value in values.items():
        where = f"{field}.{name}"
        if not _is_name(name) or (field == "actions" and name in (*SKILLS, CONTEST)):
            source.report(at, where, "is not a valid name: a-z, then a-z, 0-9 and _, at most 32")
            continue
        filled = {**_DOES.get(name, {}), **value} if field == "actions" and isinstance(value, dict) else value
        read |= _kept(name, toml_file.partly(source, kind, filled, at, where)[0])
    return read


def _is_name(name: str) -> bool:
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError:
        return False
    return True


def _kept(name: str, found: Strict | None) -> dict[str, object]:
    if found is None:
        return {}
    if isinstance(found, OwnAction) and found.does in ("move", "whisper") and found.target == "none":
        found = msgspec.structs.replace(found, target="place" if found.does == "move" else "agent")
    return {name: found}


def _ranks(source: Source, values: Any, at: KeyLines) -> list[Any]:
    if not isinstance(values, list) or len(values) > 6:
        source.report(at, "ranks", "is a list of at most 6: write [[ranks]]")
        return []
    found = [toml_file.partly(source, OwnRank, value, at, f"ranks[{number}]") for number, value in enumerate(values)]
    ranks = [rank for rank, wrong in found if rank and not wrong]
    starts = [rank.from_ for rank in ranks]
    if starts != sorted(set(starts)):
        source.report(at, "ranks", "must ascend in `from`")
    return ranks


def _files(source: Source, values: object, at: KeyLines, field: str) -> dict[str, str]:
    if not isinstance(values, dict) or any(name not in ("ko", "en") for name in values):
        message = 'is a file for each language: { ko = "well_ko.md", en = "well_en.md" }'
        source.report(at, field, message, "wrong_type")
        return {}
    for name, value in values.items():
        if not isinstance(value, str):
            source.report(at, f"{field}.{name}", "is not the name of a file in texts/", "wrong_type")
    return {name: value for name, value in values.items() if isinstance(value, str)}
