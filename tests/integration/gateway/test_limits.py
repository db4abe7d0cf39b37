"""What an operator sets: deadlines and their forfeits, rate limits, closed registration."""

import os
import signal
import time
from collections.abc import Iterator
from datetime import datetime

import httpx
import pytest
from playmolt_cli.local.embedded import free_port
from playmolt_core.settings import Settings, to_environment
from playmolt_gateway.settings import GatewaySettings

from tests.integration.gateway.rows import (
    OPERATOR_KEY,
    SECONDS,
    Guest,
    Json,
    Platform,
    Table,
    accepted,
    eventually,
    refused,
    started,
)
from tests.platforms import start

DEADLINE_SECONDS = 6
"""Long enough for a busy machine to do in it what has to be done before a deadline."""


@pytest.fixture(scope="module")
def hasty() -> Iterator[Platform]:
    """An `up` whose phases do not wait for long."""
    yield from started(PLAYMOLT_PHASE_DEADLINE_SECONDS=str(DEADLINE_SECONDS))


def reaches(platform: Platform, game_id: str, phase: str, round_: int) -> Json:
    def there() -> Json | None:
        state = platform.anonymous.state(game_id)
        return state if (state["phase"], state["round"]) == (phase, round_) else None

    found: Json = eventually(there, f"{game_id} does not reach {phase} {round_}")
    return found


def test_a_trial_without_its_agents_ends_by_forfeits(hasty: Platform) -> None:
    table = hasty.table("trial")
    state = table[0].state(table.game_id)
    assert {"deadline", "seconds_left"} <= set(state)
    assert 0 < state["seconds_left"] <= DEADLINE_SECONDS
    table.does(table[0], {"type": "speak", "text": "I was here."})
    reaches(hasty, table.game_id, "argument", 1)
    history = table[0].state(table.game_id)["history"]
    assert [(line["text"], line.get("forfeit", False)) for line in history] == [
        ("I was here.", False), *[("", True)] * 5,
    ]  # fmt: skip
    for _ in range(3):
        table.speak_all()
    reaches(hasty, table.game_id, "jury_vote", 3)
    juror = table.role("JUROR")[0]
    if juror.act(table.game_id, {"type": "vote", "verdict": "GUILTY"}).status_code != 200:
        pytest.fail("the jury's phase was over before a vote could be sent")
    state = reaches(hasty, table.game_id, "end", 3)
    assert (state["deadline"], state["seconds_left"]) == (None, None)
    assert (state["tally"]["GUILTY"], state["tally"]["NOT_GUILTY"], state["verdict"]) == (1, 0, "NOT_GUILTY")
    assert sorted(str(line["verdict"]) for line in state["tally"]["votes"]) == ["GUILTY", "None", "None"]
    for line in state["results"]:
        if line["role"] == "JUROR":
            assert (line["team"], line["won"], line["points"]) == (
                ("PROSECUTOR", False, 50) if line["agent_id"] == juror.id else (None, None, 0)
            )
    points = {line["role"]: line["points"] for line in state["results"] if line["role"] != "JUROR"}
    assert points == {"PROSECUTOR": 50, "DEFENSE": 200, "JUDGE": 100}
    events = hasty.events(table.game_id)
    forfeits = [event for event in events if event.get("forfeit")]
    assert {event["type"] for event in forfeits} == {"speak", "vote_submitted"}
    assert all(event["forfeit"] is True for event in forfeits)
    assert all(event["text"] == "" for event in forfeits if event["type"] == "speak")
    assert all("verdict" not in event for event in forfeits)
    assert events[-1]["type"] == "game_end"


def test_an_ox_game_goes_on_without_who_is_missing(hasty: Platform) -> None:
    table = hasty.table("ox")
    table.does(table[0], {"type": "first_choice", "choice": "X", "comment": "alone"})

    def opened() -> list[int]:
        """Where each round begins. The game runs on while it is looked at, so every moment is read as it was."""
        return [event["version"] for event in hasty.events(table.game_id) if event["type"] == "question_open"]

    second = eventually(lambda: opened()[1:], "no second round by the deadlines")[0]
    events = hasty.events(table.game_id)[:second]
    reveal = next(event["version"] for event in events if event["type"] == "reveal")
    state = accepted(hasty.anonymous.get(f"/api/games/{table.game_id}/state", at=reveal))
    shown = {line["id"]: (line["choice"], line["comment"]) for line in state["reveal"]}
    assert shown[table[0].id] == ("X", "alone")
    assert all(choice in "OX" and comment == "" for agent, (choice, comment) in shown.items() if agent != table[0].id)
    state = accepted(hasty.anonymous.get(f"/api/games/{table.game_id}/state", at=second))
    assert (state["phase"], state["round"]) == ("first_choice", 2)
    for line in state["history"][0]["choices"]:
        assert (line["switched"], line["first_choice"]) == (False, line["final_choice"])
        assert line["first_choice"] == shown[line["id"]][0]
    missing = [event for event in events if event["type"] == "first_choice_submitted" and event.get("forfeit")]
    assert [list(event) for event in missing] == [
        ["type", "agent_id", "name", "forfeit", "game_id", "version", "at"]
    ] * 4
    kept = [event for event in events if event["type"] == "switch_submitted"]
    assert [(event["switched"], event["comment"], event["forfeit"]) for event in kept] == [(False, "", True)] * 5
    accepted(hasty.operator.post(f"/api/admin/games/{table.game_id}/end", {"reason": "seen"}))


def test_a_game_with_a_dead_bot_ends_within_its_deadlines(hasty: Platform) -> None:
    """It is waited for twice; after that the others play as if it were not there."""
    table = hasty.table("ox")
    game, living = table.game_id, list(table)[:4]
    before, ended = time.monotonic(), time.monotonic() + 2 * DEADLINE_SECONDS + 60
    while (state := hasty.anonymous.state(game))["phase"] != "end":
        assert time.monotonic() < ended, state
        kind = state["phase"]
        fields = {"use_switch": False} if kind == "switch" else {"choice": "O", "comment": "x"}
        for guest in living:
            if guest.state(game)["allowed_actions"]:
                guest.act(game, {"type": kind, **fields})
        time.sleep(0.05)
    assert time.monotonic() - before > 2 * DEADLINE_SECONDS - 1
    dead = table[4].id
    away = [event["agent_id"] for event in hasty.events(game) if event["type"] == "seat_away"]
    assert away.count(dead) == 1
    own = [(fault["what"], fault["count"]) for fault in state["faults"] if fault["agent_id"] == dead]
    assert own == [("deadline", 10)]  # on a slow machine the living are late now and then, too
    assert next(seat for seat in state["participants"] if seat["id"] == dead)["away"] is True
    over = accepted(table[4].get("/api/agents/me/turn"))
    assert (over["game_id"], over["over"], over["actions"]) == (game, True, [])


def test_a_deadline_is_told_and_kept(hasty: Platform) -> None:
    waiting = hasty.guest()
    game = waiting.join("ox")
    assert waiting.state(game)["deadline"] is None
    accepted(hasty.operator.post(f"/api/admin/games/{game}/end", {"reason": "nobody came"}))
    table = hasty.table("ox")
    table.choose("OXOXO")
    reaches(hasty, table.game_id, "first_choice", 2)
    at = {event["type"]: datetime.fromisoformat(event["at"]) for event in hasty.events(table.game_id)}
    assert DEADLINE_SECONDS <= (at["question_open"] - at["reveal"]).total_seconds() < DEADLINE_SECONDS + 20
    assert hasty.records(table.game_id, hasty.operator)[0]["data"]["config"] == {
        "deadlines": [],
        "language": "ko",
        "phase_deadline_seconds": DEADLINE_SECONDS,
    }
    accepted(hasty.operator.post(f"/api/admin/games/{table.game_id}/end", {"reason": "seen"}))


@pytest.fixture
def strict(platform: Platform) -> Iterator[httpx.Client]:
    """A further gateway of the shared platform: closed to new agents, and with limits."""
    run, port = platform.stack.run, free_port()
    settings = GatewaySettings(
        database_url=run.database_url, database_role="playmolt_gateway", nats_url=run.nats_url,
        nats_user=run.nats_user, nats_password=run.nats_password, operator_key=OPERATOR_KEY, port=port,
        registration_open=False, rate_limit="5/60", action_rate_limit="3/60",
    )  # fmt: skip
    log = platform.stack.folder.path.parent / f"strict-{port}.log"
    process = start("strict", "playmolt_gateway", [], log=log, environment=_environment(settings))
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False) as http:
        eventually(lambda: _ready(http), "the further gateway does not start")
        yield http
    process.send_signal(signal.SIGTERM)
    process.wait(SECONDS)


def _environment(settings: Settings) -> dict[str, str]:
    return {**os.environ, **to_environment(settings)}


def _ready(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def limited(answer: httpx.Response, limit: int) -> None:
    problem = refused(answer, 429, "rate_limited")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert list(problem["ratelimit"]) == ["key", "limit", "seconds"]
    assert (problem["ratelimit"]["limit"], problem["ratelimit"]["seconds"]) == (limit, 60)


def test_limits_hold_and_actions_have_their_own(platform: Platform, strict: httpx.Client) -> None:
    refused(Guest(strict).post("/api/agents", {"name": "late"}), 403, "registration_closed")
    table: Table = platform.table("ox")
    guest = Guest(strict, table[0].key)
    for _ in range(5):
        accepted(guest.get("/api/agents/me"))
    limited(guest.get("/api/agents/me"), 5)
    limited(guest.get(f"/api/games/{table.game_id}/state"), 5)
    accepted(guest.act(table.game_id, {"type": "first_choice", "choice": "O", "comment": "still free"}))
    for _ in range(2):
        refused(guest.act(table.game_id, {"type": "nonsense"}), 400, "invalid_action")
    limited(guest.act(table.game_id, {"type": "nonsense"}), 3)
    refused(Guest(strict, "wrong").get("/api/agents/me"), 401, "unauthorized")
    accepted(Guest(strict, table[1].key).get("/api/agents/me"))
    for _ in range(8):
        accepted(Guest(strict).get("/api/games"))
        accepted(Guest(strict, OPERATOR_KEY).get("/api/admin/games"))
    accepted(table[0].get("/api/agents/me"))
