"""A plan's text as plain values: YAML or JSON, decimals as written, nothing taken that a reader could misread."""

import json
from collections.abc import Hashable
from decimal import Decimal
from math import isfinite
from typing import Any, Final

import yaml
from playmolt_schemas.text import EXACT_MOST, decimal_text, unstorable

_AMOUNTS: Final = frozenset(("seed", "alpha", "money", "width", "temperature", "top_p", "effect", "dispersion"))
"""Fields that hold a number as its text."""


class Unreadable(ValueError):
    """The text is neither YAML nor JSON of the plain kind; the message says why, `line` where if it is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def load(text: str) -> Any:
    """Read a text into dicts, lists, texts, integers, booleans, None and Decimal. Raises Unreadable.

    Duplicate keys, anchors and tags are refused: one reader would take the first value, the next the last.
    """
    try:
        return plain(_parsed(text))
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        hint = "; put a text with a question mark into quotes" if "'?'" in str(error.problem) else ""
        message = f"{place}{error.problem or error.context}{hint}"
        raise Unreadable(message, mark.line + 1 if mark else None) from None
    except (yaml.YAMLError, ValueError) as error:  # among them an integer of thousands of digits
        raise Unreadable(str(error)) from None


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 -- a SafeLoader that takes less


def lines(text: str) -> dict[str, int]:
    """The line that each field of a text begins in, by its path as in `phases.phase2.runs`."""
    try:
        root = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError):
        return {}
    found: dict[str, int] = {}
    waiting = [("", root)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name = f"{path}.{key.value}" if path else str(key.value)
                found[name] = key.start_mark.line + 1
                waiting.append((name, value))
        elif isinstance(node, yaml.SequenceNode):
            for at, value in enumerate(node.value):
                found[f"{path}[{at}]"] = value.start_mark.line + 1
                waiting.append((f"{path}[{at}]", value))
    return found


def plain(value: object) -> Any:
    """Values as a plan may hold them: a float as the decimal it is written as, an integer where it is one, as 3.0 is.

    Raises Unreadable for NaN, infinity, and texts with NUL or lone surrogates, which no log can store.
    """
    if isinstance(value, dict):
        return {plain(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, str) and unstorable(value):
        raise Unreadable("a string contains NUL or a lone surrogate")
    if not isinstance(value, float):
        return value
    if not isfinite(value):
        raise Unreadable(f"{value} is not a number that a plan may hold")
    # An integer of many digits is none that a plan means, and writing it out would take the memory.
    return int(value) if value.is_integer() and abs(value) <= EXACT_MOST else Decimal(repr(value))


def amounts(value: Any) -> Any:
    """Plain values with each amount, and each other number that is not whole, as its text."""
    if isinstance(value, list):
        return [amounts(inner) for inner in value]
    if isinstance(value, dict):
        return {name: _amount(name, amounts(inner)) for name, inner in value.items()}
    return decimal_text(value) if isinstance(value, Decimal) else value


def _amount(name: str, value: Any) -> Any:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_whole and name in _AMOUNTS else value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    if len(read) < len(pairs):
        names = [name for name, _ in pairs]
        raise Unreadable(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice in one object")
    return read


class _Loader(yaml.SafeLoader):
    """YAML without anchors, merge keys, dates and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_event().start_mark  # type: ignore[no-untyped-call]  # the stubs leave it out
            raise yaml.composer.ComposerError(None, None, "anchors are not taken; write it out", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, "a name must be a plain text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} occurs twice", key.start_mark)
            seen.add(key.value)
            key.tag = "tag:yaml.org,2002:str"  # `on`, `null` and `2024` are names as they are written
        return super().construct_mapping(node, deep=deep)

    def text(self, node: yaml.ScalarNode) -> str:
        return str(self.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.text)
