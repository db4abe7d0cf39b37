"""Moderation on a whole platform: reports, bans in the middle of games, and what the banned still read."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from playmolt.client import AsyncClient
from playmolt.errors import Refused
from playmolt_schemas.identifiers import rfc3339

from tests.integration.gateway.rows import Guest, Json, Platform, Table, accepted, eventually, refused, together


def ban(platform: Platform, until: str | None = None, note: str = "three reports", **whom: str) -> Json:
    return accepted(platform.operator.post("/api/admin/bans", {"note": note, "until": until, **whom}), 201)


def owner_of(platform: Platform) -> Guest:
    made = accepted(platform.anonymous.post("/api/owners", {"name": "Ada"}), 201)
    return Guest(platform.http, made["owner_key"], made["id"], "Ada")


def seat(platform: Platform, table: Table, guest: Guest) -> Json:
    seats: list[Json] = platform.anonymous.state(table.game_id)["participants"]
    return next(one for one in seats if one["id"] == guest.id)


def moderated(platform: Platform) -> list[Json]:
    """The records of decisions in the operator's log."""
    after, records = "0", list[Json]()
    while (page := accepted(platform.operator.get("/api/admin/log", after=after, limit=1000)))["records"]:
        records += page["records"]
        after = str(page["next_after"])
    return [record for record in records if record["stream"].startswith("moderation-")]


def test_a_banned_seat_is_away_and_no_request_brings_it_back(platform: Platform) -> None:
    table = platform.table("ox")
    banned, *others = table
    banned.does(table.game_id, {"type": "first_choice", "choice": "O", "comment": "a slur"})
    ban(platform, agent_id=banned.id)
    assert seat(platform, table, banned)["away"]
    for guest in others:
        guest.does(table.game_id, {"type": "first_choice", "choice": "X", "comment": "no"})
    answers = together(
        [
            lambda: banned.get(f"/api/games/{table.game_id}/state"),
            lambda: banned.get("/api/agents/me/turn"),
            lambda: banned.act(table.game_id, {"type": "switch", "use_switch": True}),
            lambda: banned.post(f"/api/games/{table.game_id}/resign"),
            lambda: banned.post("/api/games/join", {"gameType": "trial"}),
            lambda: banned.get(f"/api/games/{table.game_id}/stream"),
        ]
    )
    for answer in answers:
        assert refused(answer, 403, "banned")["until"] is None
    for guest in others:
        guest.does(table.game_id, {"type": "switch", "use_switch": False})
    state = platform.anonymous.state(table.game_id)
    assert state["round"] == 2, "the others do not wait for it"
    assert seat(platform, table, banned)["away"]
    assert "seat_back" not in [event["type"] for event in platform.events(table.game_id)]
    me = accepted(banned.get("/api/agents/me"))
    assert [(one["kind"], one["note"]) for one in me["notices"]] == [("banned", "three reports")]
    assert platform.operator.ask("DELETE", f"/api/admin/bans/{banned.id}").status_code == 204
    banned.state(table.game_id)
    assert not seat(platform, table, banned)["away"]


async def test_the_sdk_says_that_its_agent_is_banned(platform: Platform) -> None:
    async with AsyncClient(platform.gateway) as client:
        made = await client.register("a bot")
        ban(platform, "2099-01-01T00:00:00Z", agent_id=made.id)
        with pytest.raises(Refused) as refusal:
            await client.join("ox")
        assert (refusal.value.code, refusal.value.problem.until) == ("banned", "2099-01-01T00:00:00.000000Z")
        assert [one.kind for one in (await client.me()).notices] == ["banned"]


def test_a_waiting_game_loses_a_banned_agent(platform: Platform) -> None:
    guest = platform.guest()
    game = guest.join("trial")
    ban(platform, agent_id=guest.id)
    assert platform.anonymous.state(game)["participants"] == []


def test_a_ban_of_an_owner_holds_for_all_its_agents_until_it_ends(platform: Platform) -> None:
    owner = owner_of(platform)
    made = accepted(owner.post("/api/owners/me/agents", {"name": "mine"}), 201)
    agent = Guest(platform.http, made["api_key"], made["id"])
    claimed = platform.guest()
    accepted(owner.post("/api/owners/me/claims", {"api_key": claimed.key}))
    bans = list[Json]()
    for seconds in (3, 12, 50):  # until all that is asked fits into a ban on this machine
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        bans.append(ban(platform, rfc3339(until), owner_id=owner.id))
        asked = [guest.get("/api/games") for guest in (agent, claimed, owner)]
        posted = [owner.post("/api/owners/me/agents", {"name": "another"}), owner.post("/api/owners/me/codes")]
        if datetime.now(UTC) < until:
            break
    for answer in asked:
        assert refused(answer, 403, "banned")["until"] == rfc3339(until)
    for answer in posted:
        refused(answer, 403, "banned")
    assert [one["kind"] for one in accepted(owner.get("/api/owners/me"))["notices"]] == ["banned"] * len(bans)
    eventually(lambda: agent.get("/api/games").status_code == 200, "the ban ends by itself")
    accepted(owner.post("/api/owners/me/agents", {"name": "another"}), 201)


def test_a_ban_of_an_erased_owner_stays_with_its_agents(platform: Platform) -> None:
    owner = owner_of(platform)
    made = accepted(owner.post("/api/owners/me/agents", {"name": "mine"}), 201)
    agent = Guest(platform.http, made["api_key"], made["id"])
    ban(platform, owner_id=owner.id)
    assert owner.ask("DELETE", "/api/owners/me").status_code == 204
    refused(agent.get("/api/games"), 403, "banned")
    refused(owner.get("/api/owners/me"), 401, "unauthorized")
    assert accepted(platform.anonymous.get(f"/api/agents/{agent.id}"))["owner"] is None


@pytest.mark.parametrize("times", [6])
def test_equal_reports_of_a_speech_are_one_and_its_decision_is_in_the_log(platform: Platform, times: int) -> None:
    table = platform.table("trial")
    speaker = next(guest for guest in table if guest.state(table.game_id)["allowed_actions"])
    speaker.does(table.game_id, {"type": "speak", "text": "an insult"})
    said = next(event for event in platform.events(table.game_id) if event["type"] == "speak")
    body = {"kind": "speech", "game_id": table.game_id, "version": said["version"], "reason": "it insults"}
    answers = together([lambda: platform.anonymous.post("/api/reports", body) for _ in range(times)])
    (report,) = {accepted(answer, 202)["id"] for answer in answers}
    found = accepted(platform.operator.get("/api/admin/reports", state="open"))["reports"]
    row = next(one for one in found if one["id"] == report)
    assert (row["count"], row["agent_id"], row["decision"]) == (times, speaker.id, None)
    for decision in ("hide", "hide"):
        decided = platform.operator.post(f"/api/admin/reports/{report}", {"decision": decision, "note": "an insult"})
        assert accepted(decided)["decision"] == "hide"
    records = [one for one in moderated(platform) if one["data"].get("game_id") == table.game_id]
    assert [one["type"] for one in records] == ["speech_hidden"]
    assert "insult" not in str(records), "neither reason nor note are in the log"
    (notice,) = accepted(speaker.get("/api/agents/me"))["notices"]
    assert (notice["kind"], notice["game_id"], notice["note"]) == ("speech_hidden", table.game_id, "an insult")
    refused(platform.anonymous.post("/api/reports", body | {"version": said["version"] - 1}), 404, "not_found")


def test_a_name_is_replaced_by_a_report(platform: Platform) -> None:
    guest = platform.guest("a slur")
    report = accepted(
        platform.anonymous.post("/api/reports", {"kind": "name", "agent_id": guest.id, "reason": "x"}), 202
    )
    path = f"/api/admin/reports/{report['id']}"
    accepted(platform.operator.post(path, {"decision": "rename", "note": "a slur"}))
    shown = accepted(platform.anonymous.get(f"/api/agents/{guest.id}"))
    assert shown["name"] == shown["handle"] == f"agent-{guest.id[-6:]}"
    assert accepted(guest.get("/api/agents/me"))["name"] == shown["name"]
    accepted(platform.operator.post(path, {"decision": "restore", "note": "a mistake"}))
    assert accepted(platform.anonymous.get(f"/api/agents/{guest.id}"))["name"] == "a slur"
    for decision in ("hide", "dismiss", "restore"):
        accepted(platform.operator.post(path, {"decision": decision, "note": "a mistake"}))
    assert accepted(platform.anonymous.get(f"/api/agents/{guest.id}"))["name"] == "a slur"


def test_a_game_with_a_banned_seat_is_decided_again_as_it_was(platform: Platform) -> None:
    table = platform.table("ox")
    banned, *others = table
    for guest in others:
        guest.does(table.game_id, {"type": "first_choice", "choice": "X", "comment": "no"})
    ban(platform, agent_id=banned.id)
    assert platform.anonymous.state(table.game_id)["phase"] == "switch", "the last submission is its forfeit"
    checked = platform.command("log", "check", "--redecide", "--json")
    differ = json.loads(checked.stdout)["differ"]
    assert [one for one in differ if one["game_id"] == table.game_id] == []
