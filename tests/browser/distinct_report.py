"""A report whose texts are all different, so that a test finds each text that a page leaves out."""

import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from playmolt_schemas.games import legal
from playmolt_schemas.stored.legal import Round2Form

OUTPUT = {"Claims": [{"text": "«output»", "basis": ["F1"]}]}
FIXED: dict[str, Any] = {
    "at": "2026-01-02T03:04:05.000000Z", "ended_at": "2026-01-02T03:04:05.000000Z", "phase": "CLAIMANT_R1", "round": 1,
    "order": ("strategy", "risks", "settlement"), "low": 20, "high": 45, "agreed": True,
    "missing_evidence_answers": {"«report.gate_history.missing_evidence.id»": "«answer»"},
}  # fmt: skip
"""Values that are not free texts."""


def report() -> dict[str, Any]:
    """A report with one of each part."""
    made: dict[str, Any] = msgspec.to_builtins(_made(legal.Report, "report"))
    return made


def texts(value: Any, path: str = "report") -> Iterator[tuple[str, str]]:
    """Every different text, with the path of its key."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from texts(one, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts(one, path)
    elif isinstance(value, str) and value.startswith("«"):
        yield path, value


def _made(kind: Any, path: str) -> Any:
    name = path.rpartition(".")[2]
    if name in FIXED:
        return FIXED[name]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind(**{key: _made(hint, f"{path}.{key}") for key, hint in get_type_hints(kind).items()})
    if kind is Any:
        return OUTPUT
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        structs = [one for one in args if isinstance(one, type) and issubclass(one, Round2Form)]
        return _made(structs[0] if structs else args[0], path)
    if origin is Literal:
        return args[0]
    if origin in (tuple, list):
        return origin([_made(one, path) for one in args if one is not ...])
    if not isinstance(kind, type):
        return _made(origin or kind.__value__, path)
    return f"«{path}»" if kind is str else kind(1)
