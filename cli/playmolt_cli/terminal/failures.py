"""Expected failures: one line on standard error and exit status 2, without a traceback."""

import errno
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Final

import click


class ExpectedError(RuntimeError):
    """An error the user can fix; the message says how."""


def _is_expected(error: Exception) -> bool:
    """Outages and what else the user can fix; outages are OSErrors."""
    if isinstance(error, ExpectedError | OSError):
        return True
    # Imported after a failure alone: they would be most of what a short command costs.
    from playmolt_core.db.pool import NotPermitted  # noqa: PLC0415
    from playmolt_core.llm.catalogue import InvalidCatalogue  # noqa: PLC0415
    from playmolt_core.log.port import Archived  # noqa: PLC0415
    from playmolt_core.settings import InvalidSettings  # noqa: PLC0415

    return isinstance(error, Archived | InvalidCatalogue | InvalidSettings | NotPermitted)


_OF_PATHS: Final = frozenset({
    errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS,
})  # fmt: skip
_OF_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Failure(click.ClickException):
    """An error message with the next step; exit status 2."""

    exit_code = 2


class CommandGroup(click.Group):
    """A command group that prints expected failures, including usage errors, as one line with exit status 2.

    Commands in `imported` (name → "module:name") are imported on first use; the group's help imports all of them.
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
            # The reader closed the pipe (`| head`); avoid the interpreter's complaint at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; expected errors become Failure."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if _is_expected(error):
                raise Failure(_said(error)) from error
            raise


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        advice = ". Check the path and its permissions" if error.errno in _OF_PATHS else ""
        if error.errno in _OF_SPACE:
            advice = ". Make room on the disk, then run the command again"
        if isinstance(error.filename, str | bytes):
            return f"cannot use {os.fsdecode(error.filename)}: {error.strerror}{advice}"
        if advice:
            return f"{error.strerror}{advice}"
    return str(error) or type(error).__name__


def _is_no_broken_pipe(record: logging.LogRecord) -> bool:
    """Drop asyncio's reports of further broken pipes: the first one already ends the command."""
    return not (record.exc_info and isinstance(record.exc_info[1], BrokenPipeError))


@contextmanager
def stopping(*, pauses: bool = False) -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that cleanup runs.

    With `pauses`, each of them counts even if its exception is lost: for code that runs no event loop and waits with
    `pause`.
    """

    def interrupt(*_: object) -> None:
        _interrupted.set()
        raise KeyboardInterrupt

    former = {
        number: signal.signal(number, interrupt)
        for number in ((signal.SIGTERM, signal.SIGINT) if pauses else (signal.SIGTERM,))
        if signal.getsignal(number) is not signal.SIG_IGN  # a shell makes processes in the background ignore Ctrl-C
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        _interrupted.clear()


def pause(seconds: float) -> None:
    """Sleep. Raises KeyboardInterrupt also for an earlier signal inside `stopping` whose exception was lost.

    An exception that a signal handler raises can get lost in a library: in msgspec 0.22 while it hashes a new type.
    """
    if not _interrupted.is_set():
        time.sleep(seconds)
    if _interrupted.is_set():
        raise KeyboardInterrupt


_interrupted: Final = threading.Event()
