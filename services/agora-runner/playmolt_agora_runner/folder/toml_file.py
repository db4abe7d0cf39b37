"""A TOML file of a plan's folder: its values, floats as decimal text, and the line of each key."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec
from playmolt_core.game.packs.toml_lines import lines_of, syntax_fault
from playmolt_schemas.agora.plan import FaultCode, PlanFault

from playmolt_agora_runner.folder.source import KeyLines, Source
from playmolt_agora_runner.world import worlds

S = TypeVar("S", bound=msgspec.Struct)
_AT: Final = re.compile(r"(.*?)(?: - at `(?:key in )?\$(.*)`)?", re.DOTALL)


class TomlFile(msgspec.Struct, frozen=True):
    """A file that was read: values and their lines."""

    values: dict[str, Any]
    at: KeyLines


def read(source: Source, path: str) -> TomlFile | None:
    """Read a file; None where it cannot be, and then the source has the fault."""
    text = source.read(path)
    if text is None:
        return None
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        line, reason = syntax_fault(text, error)
        source.faults.append(PlanFault("", f"is not valid TOML: {reason}", code="unreadable", file=path, line=line))
        return None
    return TomlFile(worlds.stored(values), KeyLines(path, lines(text)))


def lines(text: str) -> dict[str, int]:
    """The line that each table and each key of valid TOML begins in; the third `[[event]]` is `event[2]`."""
    return {
        "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix("."): line
        for path, line in lines_of(text).items()
    }


def converted(kind: type[S], values: object, at: KeyLines, field: str) -> S | list[PlanFault]:
    """Values as a struct; else a fault for each key that is unknown, of another type or out of range."""
    found, faults = partly(kind, values, at, field)
    return found if found is not None and not faults else faults


def partly(kind: type[S], values: object, at: KeyLines, field: str) -> tuple[S | None, list[PlanFault]]:
    """As much of a struct as its keys are sound, and every fault; None where one that it needs is not."""
    if not isinstance(values, Mapping):
        return None, [at.fault(field, "must be a table", "wrong_type")]
    fields = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    sound: dict[str, object] = {}
    faults: list[PlanFault] = []
    for name, value in values.items():
        if name not in fields:
            faults.append(
                at.fault(join(field, name), f"unknown key; allowed keys are {', '.join(fields)}", "unknown_key")
            )
            continue
        found, wrong = _value(fields[name].type, value, at, join(field, name))
        sound |= dict.fromkeys([name], *found) if found else {}
        faults += wrong
    try:
        return msgspec.convert(sound, kind), faults
    except msgspec.ValidationError as error:
        # A missing key may be the faulty one, or be there under a wrong name.
        return None, faults or [_fault(error, at, field)]


def listed(source: Source, path: str, key: str, kind: type[S], most: int | None = None) -> dict[int, S]:
    """The tables `[[key]]` of a file that has nothing else, by their place; those at fault are left out.

    The source gets the faults.
    """
    found = read(source, path)
    if found is None:
        return {}
    at, values = found.at, found.values.get(key, [])
    unknown = [name for name in found.values if name != key]
    source.faults += [at.fault(name, f"unknown key; the only key is [[{key}]]", "unknown_key") for name in unknown]
    if not isinstance(values, list):
        source.faults.append(at.fault(key, f"must be a list of tables: write [[{key}]]", "wrong_type"))
        return {}
    if most is not None and len(values) > most:
        source.faults.append(at.fault(key, f"has {len(values)} {key}s; the limit is {most}"))
        return {}
    kept: dict[int, S] = {}
    for number, each in enumerate(values):
        one = converted(kind, each, at, f"{key}[{number}]")
        if isinstance(one, list):
            source.faults += one
        else:
            kept[number] = one
    return kept


def _value(kind: object, value: object, at: KeyLines, field: str) -> tuple[tuple[Any, ...], list[PlanFault]]:
    """The value in a tuple, nothing where there is none, and the faults."""
    parts = [part for part in (kind, *get_args(kind)) if isinstance(part, type) and issubclass(part, msgspec.Struct)]
    if parts and isinstance(value, Mapping):
        found, faults = partly(parts[0], value, at, field)
        return () if found is None else (msgspec.to_builtins(found),), faults
    if get_origin(kind) is dict and isinstance(value, Mapping):
        # Entry by entry: msgspec names the table alone.
        entries = {name: _value(get_args(kind)[1], each, at, join(field, name)) for name, each in value.items()}
        sound = {name: read_values[0] for name, (read_values, _) in entries.items() if read_values}
        return (sound,), [fault for _, wrong in entries.values() for fault in wrong]
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return (), [_fault(error, at, field, _choices(kind))]
    return (value,), []


def _choices(kind: object) -> tuple[str, ...]:
    """The names that a value may be, in a list or not."""
    args = get_args(kind)
    if get_origin(kind) is Literal:
        return tuple(map(str, args))
    return tuple(name for each in args for name in _choices(each))


def _fault(error: msgspec.ValidationError, at: KeyLines, field: str, choices: tuple[str, ...] = ()) -> PlanFault:
    message, place = explained(error)
    known = f"; choose from {', '.join(choices)}" if "enum value" in message else ""
    return at.fault(field + place, message + known, code_of(message, "unknown_key"))


def explained(error: msgspec.ValidationError) -> tuple[str, str]:
    """What is wrong, and the path of the value that it is wrong with."""
    match = _AT.fullmatch(str(error))
    message, place = match.groups() if match else (str(error), "")
    return message[:1].lower() + message[1:], place or ""


def code_of(message: str, unknown: FaultCode) -> FaultCode:
    """msgspec reports types as `Expected int, got str`."""
    if "unknown field" in message:
        return unknown
    return "wrong_type" if ", got" in message or "missing required" in message else "out_of_range"


def join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
