"""Failures that a person can do something about: one line and exit status 2, no traceback."""

import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Final

import click
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import NotPermitted
from playmolt_core.llm.catalogue import InvalidCatalogue
from playmolt_core.log.port import Archived
from playmolt_core.settings import InvalidSettings


class ExpectedError(RuntimeError):
    """Goes wrong on a person's machine now and then; the message says what to do."""


_EXPECTED: Final = (
    Archived, BusUnavailable, ExpectedError, InvalidCatalogue, LogUnavailable, NotPermitted, InvalidSettings, OSError,
)  # fmt: skip


class Failure(click.ClickException):
    """What went wrong and what to do next."""

    exit_code = 2


class CommandGroup(click.Group):
    """A group whose commands may raise what is expected to go wrong now and then.

    Every failure is one line on standard error and exit status 2, a fault of the command line included. A command of
    `imported` (name → "module:name") costs its import when it is asked for, and the help of all when that is.
    """

    def __init__(self, *arguments: Any, imported: Mapping[str, str] = MappingProxyType({}), **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._imported = imported

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._imported})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._imported and cmd_name not in self.commands:
            self.add_command(resolve_name(self._imported[cmd_name]), cmd_name)
        return super().get_command(ctx, cmd_name)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        logging.getLogger("asyncio").addFilter(_is_no_broken_pipe)
        try:
            status: object = run()
        except click.exceptions.NoArgsIsHelpError as help_wanted:
            help_wanted.show()
            sys.exit(help_wanted.exit_code)
        except click.ClickException as error:
            click.echo(f"Error: {error.format_message()}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("stopped", err=True)
            sys.exit(130)
        except BrokenPipeError:
            # Whoever read our output has gone (`| head`); the interpreter shall not complain about it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turns expected failures into Failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except _EXPECTED as error:
            raise Failure(str(error) or type(error).__name__) from error


def _is_no_broken_pipe(record: logging.LogRecord) -> bool:
    """Of several tasks that write, the first ends the command; a loop would tell of the others, which end the same."""
    return not (record.exc_info and isinstance(record.exc_info[1], BrokenPipeError))


@contextmanager
def stopping() -> Iterator[None]:
    """Let SIGTERM unwind as Ctrl-C does, so that nothing is left behind."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
