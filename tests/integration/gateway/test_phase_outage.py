"""Nobody pays for the platform's own absence (arena.md, Time): an engine or NATS is away while a deadline passes."""

import json
import os
import signal
import time
from collections.abc import Iterator

import pytest

from core.tests.waiting import suspend
from tests.integration.gateway.rows import Json, Platform, Table, accepted, eventually, started

PHASE_SECONDS = 20


@pytest.fixture(scope="module")
def brief() -> Iterator[Platform]:
    yield from started(PLAYMOLT_PHASE_DEADLINE_SECONDS=str(PHASE_SECONDS))


def keep_away(platform: Platform, name: str, seconds: float) -> None:
    """SIGKILL a child, and have the one in its place stand still before it is of use to anybody."""
    killed = platform.stack.kill(name)

    def another() -> int | None:
        process = platform.stack.run.processes.get(name, killed)
        return None if process == killed else process

    process = eventually(another, f"no other {name}")
    suspend(process)
    try:
        time.sleep(seconds)
    finally:
        os.kill(process, signal.SIGCONT)


def kinds(platform: Platform, table: Table) -> list[str]:
    return [event["type"] for event in platform.events(table.game_id)]


def choice(comment: str) -> Json:
    return {"type": "first_choice", "choice": "O", "comment": comment}


@pytest.mark.parametrize("name", ["ox-engine-1", "nats"])
def test_a_deadline_that_passed_while_nobody_could_act_moves_before_anything_is_forfeited(
    brief: Platform, name: str
) -> None:
    table = brief.table("ox")
    accepted(table[0].act(table.game_id, choice("in time")))
    asked = {guest.id: guest.state(table.game_id)["turn_id"] for guest in table[1:]}
    keep_away(brief, name, PHASE_SECONDS + 1)
    eventually(lambda: brief.anonymous.get("/readyz").status_code == 200, "not ready again")
    eventually(lambda: "phase_extended" in kinds(brief, table), "the phase was not extended")
    for guest in table[1:]:
        accepted(guest.act(table.game_id, {**choice("after the outage"), "turn_id": asked[guest.id]}))
    events = brief.events(table.game_id)
    chosen = [event for event in events if event["type"] == "first_choice_submitted"]
    assert [event.get("forfeit", False) for event in chosen] == [False] * 5
    assert events[-1]["type"] == "reveal"
    accepted(brief.operator.post(f"/api/admin/games/{table.game_id}/end", {"reason": "seen"}))
    faults = table[0].state(table.game_id)["faults"]
    outages = {fault["agent_id"] for fault in faults if (fault["kind"], fault["what"]) == ("platform", "outage")}
    assert outages == {guest.id for guest in table[1:]}
    assert not [fault for fault in faults if fault["what"] == "deadline"]


def test_a_short_absence_moves_no_deadline(brief: Platform) -> None:
    table = brief.table("ox")
    pid = brief.stack.run.processes["ox-engine-1"]
    suspend(pid)
    time.sleep(1)
    os.kill(pid, signal.SIGCONT)
    eventually(lambda: "reveal" in kinds(brief, table), "the deadline did not pass")
    # A machine that stands still for longer than the signal had it is a longer absence, and says how long.
    extended = [event["extended_ms"] for event in brief.events(table.game_id) if event["type"] == "phase_extended"]
    assert all(lost > PHASE_SECONDS * 1000 / 3 for lost in extended)


def test_what_was_extended_is_replayed_exactly(brief: Platform) -> None:
    brief.table("ox")
    done = json.loads(brief.command("log", "verify", "--json").stdout)
    assert done["diverged"] == 0
    assert done["exact"] > 0
