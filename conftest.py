"""What holds for every test of the repository."""

import gc
import logging
import os
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.order import Shared, in_order, is_fast, piece
from tests.room import RUN, at_end, remove_shared

# Threads for products as small as ours cost more than they save, most of all when workers share the cores. NumPy reads
# this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Rich ignores the width it is given in a dumb terminal, and CI is one.
os.environ["TERM"] = "xterm"
for setting in ("COLUMNS", "LINES"):
    os.environ.pop(setting, None)

# A test is judged by what it finds: a machine that stands still for a second must not fail it.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Shares tests out by piece, in the order of the collection. Only with `-n`, which pytest-xdist brings."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415

    config.option.loadscopereorder = False
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = piece  # noqa: SLF001
    return scheduler


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only unit tests that start no process and take no time")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True leaves a file out, also from being imported."""
    if not config.getoption("--fast") or not collection_path.is_file():
        return None
    return None if is_fast(collection_path.relative_to(config.rootpath).as_posix()) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After pytest-randomly has shuffled them."""
    items[:] = in_order(items)


class _Broken:
    """Tells at the very end what broke a run from within: pytest's summary then names neither it nor what failed."""

    def __init__(self) -> None:
        self._failed: list[str] = []
        self._errors: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_internalerror(self, excrepr: object) -> None:
        self._errors.append(str(excrepr))

    def pytest_unconfigure(self) -> None:
        if self._errors:
            failed = "".join(f"\n  {name}" for name in self._failed[:10])
            sys.stdout.write(
                f"\nfailed before it broke:{failed}\nthe first internal error:\n{self._errors[0][-900:]}\n"
            )


def pytest_configure(config: pytest.Config) -> None:
    """Watch runs that are shared out; a worker's own errors reach the one that shares out."""
    config.pluginmanager.register(Shared())
    if config.getoption("numprocesses", None):
        from tests.workers import Workers  # noqa: PLC0415 -- for a run that is shared out

        config.option.testrunuid = RUN
        config.pluginmanager.register(_Broken())
        config.pluginmanager.register(Workers())


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    at_end.close()


def pytest_unconfigure() -> None:
    remove_shared()


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """What is imported and collected stays: to look through it again and again is a third of the work."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Without all that to look through, a full collection takes milliseconds."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _left_open() -> Iterator[None]:
    """What a module leaves open is told at its own end, not in whichever test the collector happens to run later."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _keys_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Bots of the tests keep their keys there, and not among those of who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYMOLT_CREDENTIALS", str(tmp_path_factory.mktemp("keys") / "credentials.json"))
        yield


@pytest.fixture(autouse=True, scope="session")
def _one_tls_context() -> Iterator[None]:
    """Each client of httpx would read all certificate authorities, for 20 ms, and nearly all of them use no TLS."""
    context = httpx.create_ssl_context()

    def shared(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        given = context if verify is True and cert is None else verify
        return httpx.create_ssl_context(given, cert, trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", shared)
        yield


RECURSION_LIMIT: Final = 1_000
"""Python's own. It is not asked for here: a worker is forked from a process that has imported those libraries."""


@pytest.fixture(autouse=True)
def _recursion_as_it_was() -> None:
    """The libraries of the embedded chain raise the limit for their whole process, past what its stack holds.

    In the services they live in a process of their own; here a reply nested too deeply would end the tests.
    """
    sys.setrecursionlimit(RECURSION_LIMIT)


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command under test sets up logging for its process, which is the tests' own."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = handlers
    root.setLevel(level)
