"""What a measure's file declares, read without running it."""

import ast
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from playmolt_schemas.agora.plan import FaultCode, PlanFault
from playmolt_schemas.text import has_line_breaks_or_controls

Kind = Literal["str", "int", "float", "bool"]
_KINDS: Final = ("str", "int", "float", "bool")
_LITERALS: Final = ("KEYS", "COLUMNS", "LABELS", "SECONDS", "MEMORY_MB")
SECONDS: Final = 60
SECONDS_MOST: Final = 600
MEMORY_MB: Final = 512
MEMORY_MB_MOST: Final = 2048
ROWS_MOST: Final = 1_000_000
"""The most rows of the table that a measure gives."""
_COLUMNS_MOST: Final = 100
_NAME_CHARS: Final = 64


class MeasureDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A measure: its columns in their order, those that are keys, and what it may take."""

    name: str
    text: str
    keys: tuple[str, ...]
    columns: dict[str, Kind]
    labels: dict[str, dict[str, str]]
    seconds: int = SECONDS
    memory_mb: int = MEMORY_MB

    @property
    def table(self) -> str:
        return f"measure_{self.name}"


class _DeclarationFault(Exception):
    """Why a file declares no measure."""

    def __init__(self, message: str, line: int | None = None, code: FaultCode = "measure_declaration") -> None:
        super().__init__(message)
        self.message, self.line, self.code = message, line, code


def read(name: str, text: str) -> MeasureDeclaration | PlanFault:
    """Read a measure's file: constants at its top level, and the function `measure`."""
    try:
        tree = _parsed(text)
        _function(tree)
        values, lines = _constants(tree)
        return _declared(name, text, values, lines)
    except _DeclarationFault as wrong:
        return PlanFault("", wrong.message, code=wrong.code, file=f"measures/{name}.py", line=wrong.line)


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise _DeclarationFault(f"is not valid Python: {error.msg}", error.lineno, "measure_syntax") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise _DeclarationFault(f"is not valid Python: {error}", None, "measure_syntax") from None


def _function(tree: ast.Module) -> None:
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "measure"]
    if not found:
        raise _DeclarationFault("defines no function measure(turns)", None, "measure_syntax")
    arguments = found[-1].args
    needed = len(arguments.posonlyargs) + len(arguments.args)
    others = arguments.vararg or arguments.kwarg or arguments.kwonlyargs
    if needed != 1 or others:
        raise _DeclarationFault("measure takes one argument, the turns", found[-1].lineno, "measure_syntax")


def _constants(tree: ast.Module) -> tuple[dict[str, object], dict[str, int]]:
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for node in tree.body:
        for name, value in _assigned(node):
            if name in _LITERALS:
                lines[name] = node.lineno
                try:
                    values[name] = ast.literal_eval(value)
                except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                    raise _DeclarationFault(
                        f"{name} must be a literal: it is read without running the file", node.lineno
                    ) from None
    return values, lines


def _assigned(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """What a statement assigns, `A, B = 1, 2` included."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [(node.target.id, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    found: list[tuple[str, ast.expr]] = []
    for target in node.targets:
        if isinstance(target, ast.Name):
            found.append((target.id, node.value))
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=False)
            found += [(name.id, value) for name, value in pairs if isinstance(name, ast.Name)]
    return found


def _declared(name: str, text: str, values: Mapping[str, object], lines: Mapping[str, int]) -> MeasureDeclaration:
    for needed in ("KEYS", "COLUMNS", "LABELS"):
        if needed not in values:
            raise _DeclarationFault(f"{needed} is missing at the top level")
    columns = _columns(values["COLUMNS"], lines["COLUMNS"])
    keys = _keys(values["KEYS"], columns, lines["KEYS"])
    labels = _labels(values["LABELS"], columns, keys, lines["LABELS"])
    return MeasureDeclaration(
        name=name,
        text=text,
        keys=keys,
        columns=columns,
        labels=labels,
        seconds=_whole("SECONDS", values, lines, SECONDS, SECONDS_MOST),
        memory_mb=_whole("MEMORY_MB", values, lines, MEMORY_MB, MEMORY_MB_MOST),
    )


def _columns(found: object, line: int) -> dict[str, Kind]:
    if not isinstance(found, dict) or not 0 < len(found) <= _COLUMNS_MOST:
        raise _DeclarationFault(f"COLUMNS is a dict of 1 to {_COLUMNS_MOST} columns, name to type", line)
    for name, kind in found.items():
        if not _is_column(name):
            raise _DeclarationFault(f"COLUMNS: {name!r:.80} is not a column name", line)
        if kind not in _KINDS:
            raise _DeclarationFault(
                f"COLUMNS: {kind!r:.80} of {name} is not a type; use one of {', '.join(_KINDS)}", line
            )
    return dict(found)


def _is_column(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and len(name) <= _NAME_CHARS


def _keys(found: object, columns: Mapping[str, Kind], line: int) -> tuple[str, ...]:
    if not isinstance(found, tuple | list) or not found or len(set(map(str, found))) != len(found):
        raise _DeclarationFault("KEYS is a tuple of the columns that make a row unique", line)
    for key in found:
        if key not in columns:
            raise _DeclarationFault(f"KEYS: {key!r:.80} is not a column", line)
    return tuple(found)


def _labels(found: object, columns: Mapping[str, Kind], keys: tuple[str, ...], line: int) -> dict[str, dict[str, str]]:
    if not isinstance(found, dict):
        raise _DeclarationFault('LABELS is a dict, column to {"ko": …, "en": …}', line)
    for name in columns:
        label = found.get(name)
        if name not in keys and not _is_label(label):
            raise _DeclarationFault(f"LABELS: {name} needs a text in ko and en", line)
    for name in found:
        if name not in columns:
            raise _DeclarationFault(f"LABELS: {name!r:.80} is not a column", line)
    return {name: dict(label) for name, label in found.items() if _is_label(label)}


def _is_label(label: object) -> bool:
    texts = [label.get(language) for language in ("ko", "en")] if isinstance(label, dict) else [None]
    return all(isinstance(text, str) and text.strip() and not has_line_breaks_or_controls(text) for text in texts)


def _whole(name: str, values: Mapping[str, object], lines: Mapping[str, int], usual: int, most: int) -> int:
    value = values.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise _DeclarationFault(f"{name} must be a whole number from 1 to {most}", lines.get(name))
    return value
