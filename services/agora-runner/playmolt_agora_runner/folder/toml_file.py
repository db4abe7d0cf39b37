"""A TOML file of a plan's folder: its values, decimals as text, and the line of each key."""

import tomllib
from decimal import Decimal
from typing import Any, Final, TypeVar

import msgspec
from playmolt_core.game.packs.toml_lines import lines_of, syntax_fault
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.text import EXACT_MOST, decimal_text

from playmolt_agora_runner.folder.source import KeyLines, Source
from playmolt_agora_runner.struct_reader import StructReader

S = TypeVar("S", bound=msgspec.Struct)
_KEYS: Final = StructReader("a table", "key", "unknown_key")


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
        values = tomllib.loads(text, parse_float=_number)
    except (ValueError, RecursionError) as error:
        line, reason = syntax_fault(text, error)
        source.faults.append(PlanFault("", f"is not valid TOML: {reason}", code="unreadable", file=path, line=line))
        return None
    return TomlFile(values, KeyLines(path, lines(text)))


def _number(text: str) -> int | str:
    """A number with a point or an exponent: an integer where it is one, as 3.0 is, else decimal text."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) <= EXACT_MOST else decimal_text(Decimal(repr(value)))


def lines(text: str) -> dict[str, int]:
    """The line that each table and each key of valid TOML begins in; the third `[[event]]` is `event[2]`."""
    return {
        "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix("."): line
        for path, line in lines_of(text).items()
    }


def partly(source: Source, kind: type[S], values: object, at: KeyLines, field: str) -> tuple[S | None, set[str]]:
    """Read what there is of a struct (see `StructReader`), and which of its fields have faults.

    The source gets the faults with their file and line."""
    found, faults = _KEYS.partly(kind, values, field)
    source.faults += [at.fault(fault.field, fault.message, fault.code) for fault in faults]
    return found, {fault.field for fault in faults}


def listed(
    source: Source, path: str, key: str, kind: type[S], most: int | None = None
) -> tuple[KeyLines, dict[int, S]]:
    """The tables `[[key]]` of a file that has nothing else, by their place; those at fault are left out.

    The source gets the faults.
    """
    found = read(source, path)
    if found is None:
        return KeyLines(path, {}), {}
    at, values = found.at, found.values.get(key, [])
    unknown = [name for name in found.values if name != key]
    source.faults += [at.fault(name, f"unknown key; the only key is [[{key}]]", "unknown_key") for name in unknown]
    if not isinstance(values, list):
        source.report(at, key, f"must be a list of tables: write [[{key}]]", "wrong_type")
        return at, {}
    if most is not None and len(values) > most:
        source.report(at, key, f"has {len(values)} {key}s; the limit is {most}")
        return at, {}
    kept: dict[int, S] = {}
    for number, each in enumerate(values):
        one, wrong = partly(source, kind, each, at, f"{key}[{number}]")
        if one is not None and not wrong:
            kept[number] = one
    return at, kept
