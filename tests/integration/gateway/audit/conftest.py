"""One `up` for the audit, with limits that are small enough to reach."""

from collections.abc import Iterator

import pytest

from tests.integration.gateway.audit.wire import IDLE_SECONDS, SLOW, Slow
from tests.integration.gateway.rows import Platform, started

PLACES = 6
SESSIONS = 3
CONNECTIONS = 60
RATE = 200
"""Requests per minute and key."""


@pytest.fixture(scope="package")
def audited() -> Iterator[Platform]:
    yield from started(
        PLAYMOLT_WAITS_PER_KEY=str(PLACES),
        PLAYMOLT_WAITS_PER_ADDRESS=str(PLACES),
        PLAYMOLT_STREAMS_PER_ADDRESS=str(PLACES),
        PLAYMOLT_SESSIONS_PER_KEY=str(SESSIONS),
        PLAYMOLT_RATE_LIMIT=f"{RATE}/60",
        PLAYMOLT_CONNECTIONS_PER_ADDRESS=str(CONNECTIONS),
        PLAYMOLT_IDLE_SECONDS=str(IDLE_SECONDS),
        PLAYMOLT_TRUSTED_PROXIES="127.0.0.1/32",
    )


@pytest.fixture(scope="package", autouse=True)
def slow(audited: Platform) -> Iterator[dict[str, Slow]]:
    """Connections that send an incomplete request. They are opened first, so that other tests run while they wait."""
    opened = {name: Slow(audited, name) for name in SLOW}
    yield opened
    for one in opened.values():
        one.wire.close()
