"""A deadline that passes while nothing runs: it is taken up, and moved, as soon as the engine is back."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.integration.gateway.rows import OPERATOR_KEY, Platform, Table, eventually
from tests.platforms import Stack

DEADLINE_SECONDS = 15
SOON = timedelta(seconds=5)


@pytest.fixture
def stack(folder: Path) -> Iterator[Stack]:
    variables = {
        "DATABASE_URL": "",
        "NATS_URL": "",
        "PLAYMOLT_OPERATOR_KEY": OPERATOR_KEY,
        "PLAYMOLT_PHASE_DEADLINE_SECONDS": str(DEADLINE_SECONDS),
    }
    with Stack(folder / "data", environment=variables) as stack:
        yield stack


def table_of(stack: Stack) -> Table:
    with httpx.Client(base_url=stack.run.gateway, timeout=40, trust_env=False) as http:
        return Platform(stack, http).table("ox")


def test_a_deadline_that_passed_meanwhile_is_taken_up_within_five_seconds(stack: Stack) -> None:
    game = table_of(stack).game_id
    stack.kill_tree()
    killed = datetime.now(UTC)
    time.sleep(DEADLINE_SECONDS)  # what is waited for is the passing of time itself
    stack.start()
    ready = datetime.now(UTC)
    with httpx.Client(base_url=stack.run.gateway, timeout=40, trust_env=False) as http:
        platform = Platform(stack, http)
        extended = eventually(
            lambda: [event for event in platform.events(game) if event["type"] == "phase_extended"],
            "the deadline is taken up, and moved by the time that was lost",
        )
        assert killed < datetime.fromisoformat(extended[0]["at"]) <= ready + SOON
        forfeits = eventually(
            lambda: [event for event in platform.events(game) if event.get("forfeit")], "the moved deadline fires"
        )
    assert len({event["agent_id"] for event in forfeits}) == 5
