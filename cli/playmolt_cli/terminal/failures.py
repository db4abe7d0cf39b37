"""Failures that a person can do something about: one line and exit status 2, no traceback."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import click
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import NotPermitted
from playmolt_core.llm.catalogue import InvalidCatalogue
from playmolt_core.log.port import Archived
from playmolt_core.settings import InvalidSettings

from playmolt_cli.local.embedded import ServerError
from playmolt_cli.local.folder import FolderInUseError
from playmolt_cli.local.supervisor import NotReadyError

_EXPECTED = (
    Archived, BusUnavailable, InvalidCatalogue, LogUnavailable, NotPermitted, InvalidSettings, ServerError,
    FolderInUseError, NotReadyError, OSError,
)  # fmt: skip


class Failure(click.ClickException):
    """What went wrong and what to do next."""

    exit_code = 2


class Commands(click.Group):
    """A group whose commands may raise what is expected to go wrong now and then.

    Every failure is one line on standard error and exit status 2, a fault of the command line included.
    """

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
