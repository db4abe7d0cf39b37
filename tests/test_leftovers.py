"""A test that fails with a connection open fails alone."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
PLUGIN = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from tests.leftovers import Leftovers

def pytest_configure(config):
    config.pluginmanager.register(Leftovers())
"""
TESTS = """
import gc, socket

def test_leaves_a_connection_open():
    server = socket.create_server(("127.0.0.1", 0))
    assert not socket.create_connection(server.getsockname())

def test_has_nothing_to_do_with_it():
    gc.collect()
"""


def test_what_a_failed_test_leaves_open_fails_no_other(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function")
    pytester.makeconftest(PLUGIN)
    pytester.makepyfile(TESTS)
    options = ("-p", "no:randomly", "-p", "no:cacheprovider")
    pytester.runpytest_subprocess(*options, timeout=120).assert_outcomes(failed=1, passed=1)
