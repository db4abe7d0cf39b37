"""The main program of a service: settings, log, traces, event loop, stop signals and exit code.

A service's `__main__` calls `run_service(name, build)`. `build` connects, serves until `Start.stopping` is set, and
cleans up.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Final, Generic, NoReturn, TypeAlias

import msgspec
import uvloop
from typing_extensions import TypeVar

from playmolt_core.ops import telemetry, tracing
from playmolt_core.settings import InvalidSettings, Settings, from_environment, sound

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_ERROR_CHARS: Final = 500
_log = telemetry.log("service")


S = TypeVar("S", bound=Settings)
S_co = TypeVar("S_co", bound=Settings, covariant=True, default=Settings)


class Start(msgspec.Struct, Generic[S_co], frozen=True):
    """What a service starts with. `fd` is a listening socket of the parent process, if it gave one."""

    name: str
    settings: S_co
    stopping: asyncio.Event
    """Set by SIGTERM and SIGINT: finish what was accepted and return."""
    fd: int | None = None


Build: TypeAlias = Callable[[Start[S_co]], Coroutine[None, None, None]]


@contextmanager
def stop_signals() -> Iterator[asyncio.Event]:
    """An event that SIGTERM and SIGINT set instead of ending the process."""
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    try:
        yield stopping
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)


def run_service(
    name: str, build: Build[S], settings: type[S], *, listens: bool = False, all_tracers: bool = True
) -> NoReturn:
    """Run a service until SIGTERM or SIGINT, then exit: with 2 for invalid settings or those of another log, with 1 if
    a dependency is unreachable at the start.

    `settings` are those that the service reads. `listens`: the command line may name an inherited socket (`--fd`), so
    that several processes share one port.
    `all_tracers` as in `tracing.configure`.
    """
    fd = _inherited(name) if listens else None
    try:
        read = sound(from_environment(kind=settings))
    except InvalidSettings as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    telemetry.configure(name, read.log_level)
    tracing.configure(name, all_tracers=all_tracers)
    try:
        uvloop.run(_serve(name, build, read, fd))
    except InvalidSettings as error:
        _log.error("invalid_settings", detail=str(error))
        sys.exit(2)
    except (ConnectionError, TimeoutError) as error:
        _log.error("cannot_start", detail=str(error)[:_ERROR_CHARS])
        sys.exit(1)
    finally:
        tracing.close()
    sys.exit(0)


async def _serve(name: str, build: Build[S], settings: S, fd: int | None) -> None:
    with stop_signals() as stopping:
        await build(Start(name, settings, stopping, fd))


def _inherited(name: str) -> int | None:
    parser = argparse.ArgumentParser(prog=f"playmolt-{name}", description=sys.modules["__main__"].__doc__)
    parser.add_argument("--fd", type=int, default=None, help="inherited listening socket")
    fd: int | None = parser.parse_args().fd
    return fd
