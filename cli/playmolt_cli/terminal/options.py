"""Options shared by several commands, and reading the settings."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click
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
