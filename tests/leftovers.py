"""What a failed test leaves open is dropped before the next test."""

import gc
import sys
import warnings
from collections.abc import Generator

import pytest


class Leftovers:
    """A plugin: a failed test fails no other test, which a warning about an unclosed resource would."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Collect the garbage of a failed test without its warnings."""
        before = item.session.testsfailed
        done = yield
        if item.session.testsfailed > before:
            for name in ("last_exc", "last_type", "last_value", "last_traceback"):  # they hold the test's frames
                vars(sys).pop(name, None)
            with warnings.catch_warnings(action="ignore"):
                gc.collect()
        return done
