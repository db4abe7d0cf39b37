"""Options shared by several commands, and reading the settings."""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import click
import msgspec
from msgspec.structs import replace
from playmolt_core.settings import all_settings, from_environment
from playmolt_schemas.skill import PAGE_LANGUAGES

from playmolt_cli.settings import CliSettings

F = TypeVar("F", bound=Callable[..., Any])

PORT = click.IntRange(0, 65_535)


class FiniteRange(click.FloatRange):
    """A range of numbers. NaN is in no range, though click compares it and finds it in each; nor is infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number in {self._describe_range()}.", param, ctx)
        return number


def data_option(command: F) -> F:
    return click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        default=None,
        metavar="DIR",
        help="Data folder of `up`. Default: PLAYMOLT_DATA, else playmolt-data.",
    )(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")(command)


def echo_json(value: object) -> None:
    """Print the one document of `--json`."""
    click.echo(json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """A result as JSON in UTF-8, whatever it is made of: a command's work is never lost by how it is printed.

    Numbers and arrays of numeric libraries become plain ones, NaN and infinity null, half a surrogate pair its escape,
    mappings objects, other iterables arrays, and everything else its text.
    """
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except (TypeError, UnicodeEncodeError, RecursionError):  # keys, halves of characters
        return json.dumps(_built_in(value)).encode()


def _plain(value: object) -> Any:
    """What JSON has for an object of another library."""
    # Frames and series of polars, arrays and scalars of numpy. A class has these functions, but no value.
    for convert in () if isinstance(value, type) else ("to_dicts", "to_list", "tolist", "item"):
        if callable(getattr(value, convert, None)):
            return getattr(value, convert)()
    if isinstance(value, Mapping):
        return {str(key): each for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, os.PathLike):
        return list(value)
    return str(value)


def _built_in(value: object) -> object:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _built_in(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_built_in(each) for each in value]
    try:
        return _built_in(msgspec.to_builtins(value, enc_hook=_plain))
    except (TypeError, RecursionError):
        return str(value)


def language_option(command: F) -> F:
    return click.option(
        "--language",
        type=click.Choice(PAGE_LANGUAGES),
        default="en",
        show_default=True,
        help="Language of the narration.",
    )(command)


def read_settings(**changes: object) -> CliSettings:
    """The settings of every service, from the environment with these changes; None leaves a setting as it is."""
    # It has the fields of `CliSettings`, and those of services that no command reads but `up` passes on.
    read = cast("CliSettings", from_environment(kind=all_settings()))
    return replace(read, **{name: value for name, value in changes.items() if value is not None})
