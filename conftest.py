"""Hooks and fixtures for all tests of the repository."""

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

from tests.leftovers import Leftovers
from tests.order import Shared, in_order, is_fast, piece
from tests.room import RUN, at_end, remove_shared

# Our matrices are small: threads would cost more time than they save, above all when workers share the cores. NumPy
# reads this variable when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# CI has a dumb terminal, in which Rich ignores the width that it is given.
os.environ["TERM"] = "xterm"
for setting in ("COLUMNS", "LINES"):
    os.environ.pop(setting, None)

# A machine that pauses for a second must not fail a test.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Distribute tests to workers by piece, in the order of the collection. pytest-xdist calls it with `-n`."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415

    config.option.loadscopereorder = False
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = piece  # noqa: SLF001
    return scheduler


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only fast unit tests, which start no processes")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --fast, ignore slow files (True), so that they are not even imported."""
    if not config.getoption("--fast") or not collection_path.is_file():
        return None
    return None if is_fast(collection_path.relative_to(config.rootpath).as_posix()) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests, after pytest-randomly has shuffled them."""
    items[:] = in_order(items)


class _Broken:
    """Prints internal errors at the end of a run, because pytest's summary then names neither them nor failed tests."""

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
    """Register our plugins. The process that distributes tests also receives the internal errors of its workers."""
    config.pluginmanager.register(Shared())
    config.pluginmanager.register(Leftovers())
    if config.getoption("numprocesses", None):
        from tests.workers import Workers  # noqa: PLC0415 -- only a run with workers needs it

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
    """Pause the garbage collector: objects of the collection stay, and scanning them takes a third of its time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the collected objects from garbage collection, so that a full one takes milliseconds."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _left_open() -> Iterator[None]:
    """Collect garbage after each module, so that a warning about an unclosed resource appears in the right module."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _keys_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the keys of the tests' bots apart from the user's own keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYMOLT_CREDENTIALS", str(tmp_path_factory.mktemp("keys") / "credentials.json"))
        yield


@pytest.fixture(autouse=True, scope="session")
def _one_tls_context() -> Iterator[None]:
    """Share one TLS context: each httpx client would read all certificate authorities (20 ms), and few use TLS."""
    context = httpx.create_ssl_context()

    def shared(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        given = context if verify is True and cert is None else verify
        return httpx.create_ssl_context(given, cert, trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", shared)
        yield


RECURSION_LIMIT: Final = 1_000
"""Python's default. `sys.getrecursionlimit()` may differ: a worker's parent has imported libraries that raise it."""


@pytest.fixture(autouse=True)
def _recursion_as_it_was() -> None:
    """Reset the recursion limit, which the libraries of the embedded chain raise beyond what the stack can hold.

    In production, the chain has its own process. In the tests, a reply nested too deeply would crash the process.
    """
    sys.setrecursionlimit(RECURSION_LIMIT)


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Restore logging after each test: a command under test configures it for its process, which is the tests' own."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = handlers
    root.setLevel(level)
