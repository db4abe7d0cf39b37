"""Decisions of the operator over HTTP, and what the key of somebody who is banned still opens."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playmolt_core.db.accounts import Agent
from playmolt_core.db.moderation import Ban
from playmolt_gateway.access.auth import Holder, KeyCache, hash_of, last_ban
from playmolt_schemas import subjects
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.routes.platform import ACT, ROUTES
from playmolt_schemas.routes.route import Auth

from core.tests.waiting import wait_until

GAME = "ox-0190c3f8-1111-7222-8333-444455556666"
AGENT = "agent-0190c3f8-1111-4222-8333-444455556666"
LATER = "2099-01-01T00:00:00.000000Z"
OPEN = {"read_me", "read_owner", "erase_owner"}
"""What a banned key still opens."""
KEYED = [
    route for route in ROUTES if route.auth in (Auth.AGENT, Auth.OPTIONAL, Auth.ANY, Auth.SESSION) and route is not ACT
]
OF_OWNERS = [route for route in ROUTES if route.auth in (Auth.OWNER, Auth.ORGANIZER)]


async def ban(platform: Any, **body: Any) -> Any:
    return await platform.send("POST", "/api/admin/bans", json={"note": "spam", **body}, headers=platform.operator)


async def made_owner(platform: Any) -> tuple[str, dict[str, str]]:
    answer = (await platform.send("POST", "/api/owners", json={"name": "Ada"})).json()
    return answer["id"], {"Authorization": f"Bearer {answer['owner_key']}"}


async def owned(platform: Any, owner: dict[str, str]) -> tuple[str, dict[str, str]]:
    answer = await platform.send("POST", "/api/owners/me/agents", json={"name": "mine"}, headers=owner)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], {"Authorization": f"Bearer {answer.json()['api_key']}"}


@pytest.fixture(autouse=True)
def engine(platform: Any) -> None:
    platform.bus.engine = lambda _game, call: (
        (200, {"turn": None, "games": []})
        if call.op == "turn"
        else (200, {"game_id": GAME, "phase": "end", "version": 1})
    )


async def test_the_key_of_a_banned_agent_opens_its_own_profile_alone(platform: Any, problem: Any) -> None:
    agent_id, key = platform.agent()
    assert (await ban(platform, agent_id=agent_id)).status_code == 201
    for route in KEYED:
        path = route.address(*[GAME if name == "id" else "x" for name in route.parameters])
        answer = await platform.send(route.method, path, headers=key, **({"json": {}} if route.method != "GET" else {}))
        if route.name in OPEN:
            assert answer.status_code == 200, route.name
            continue
        assert problem(answer) == (403, "banned"), route.name
        assert answer.json()["until"] is None, route.name


@pytest.mark.parametrize("route", OF_OWNERS, ids=lambda route: route.name)
async def test_the_key_of_a_banned_owner_reads_and_erases_its_account_alone(
    platform: Any, problem: Any, route: Any
) -> None:
    owner_id, key = await made_owner(platform)
    await ban(platform, owner_id=owner_id, until=LATER)
    path = route.address(*[GAME if name == "id" else "x" for name in route.parameters])
    answer = await platform.send(route.method, path, headers=key, **({"json": {}} if route.request else {}))
    if route.name in OPEN:
        assert answer.status_code in (200, 204)
        return
    assert problem(answer) == (403, "banned")
    assert answer.json()["until"] == LATER


def test_routes_say_whether_they_answer_to_the_banned() -> None:
    assert {route.name for route in ROUTES if route.for_banned} == OPEN


async def test_a_banned_agent_cannot_act_and_learns_why(platform: Any, problem: Any) -> None:
    agent_id, key = platform.agent()
    path = f"/api/games/{GAME}/actions"
    assert (await platform.send("POST", path, json={"type": "x"}, headers=key)).status_code == 200
    answer = await ban(platform, agent_id=agent_id, until=LATER, note=" three reports ")
    assert answer.json() == {
        "id": agent_id, "agent_id": agent_id, "owner_id": None, "until": LATER, "note": "three reports",
    }  # fmt: skip
    acted = await platform.send("POST", path, json={"type": "x"}, headers=key)
    assert problem(acted) == (403, "banned")
    me = (await platform.send("GET", "/api/agents/me", headers=key)).json()
    (notice,) = me["notices"]
    assert notice == {"kind": "banned", "game_id": None, "until": LATER, "note": "three reports", "at": notice["at"]}


async def test_agents_of_a_banned_owner_are_banned_also_new_and_browser_sessions(platform: Any, problem: Any) -> None:
    owner_id, owner = await made_owner(platform)
    agent_id, key = await owned(platform, owner)
    assert (await platform.send("GET", "/api/agents", headers=key)).status_code == 200
    await ban(platform, owner_id=owner_id)
    assert problem(await platform.send("GET", "/api/agents", headers=key)) == (403, "banned")
    claimed, other = platform.agent()
    platform.store.rows[claimed] = msgspec_replace(platform.store.rows[claimed], owner_id=owner_id)
    platform.gateway.services.keys.clear()
    assert problem(await platform.send("GET", "/api/agents/me/turn", headers=other)) == (403, "banned")
    notices = (await platform.send("GET", "/api/agents/me", headers=key)).json()["notices"]
    assert [one["kind"] for one in notices] == ["banned"]
    mine = (await platform.send("GET", "/api/owners/me", headers=owner)).json()
    assert [one["note"] for one in mine["notices"]] == ["spam"]
    assert agent_id in [one["id"] for one in mine["agents"]]


def msgspec_replace(row: Any, **changes: Any) -> Any:
    return type(row)(**{name: getattr(row, name) for name in row.__struct_fields__} | changes)


async def test_a_ban_ends_by_itself_also_in_the_cache(platform: Any, problem: Any) -> None:
    agent_id, key = platform.agent()
    for seconds in (0.3, 3, 30):
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        await ban(platform, agent_id=agent_id, until=rfc3339(until))
        refused = await platform.send("GET", "/api/agents", headers=key)
        if datetime.now(UTC) < until:  # else this machine stood still for that long
            break
    assert problem(refused) == (403, "banned")
    lookups = platform.store.lookups
    await asyncio.sleep((until - datetime.now(UTC)).total_seconds() + 0.01)
    assert (await platform.send("GET", "/api/agents", headers=key)).status_code == 200
    assert platform.store.lookups == lookups


async def test_a_ban_that_is_ended_has_no_effect_at_once(platform: Any, problem: Any) -> None:
    agent_id, key = platform.agent()
    await ban(platform, agent_id=agent_id)
    path = f"/api/admin/bans/{agent_id}"
    assert problem(await platform.send("DELETE", path)) == (401, "unauthorized")
    assert (await platform.send("DELETE", path, headers=platform.operator)).status_code == 204
    assert (await platform.send("GET", "/api/agents", headers=key)).status_code == 200
    assert problem(await platform.send("DELETE", path, headers=platform.operator)) == (404, "not_found")
    for identifier in ("x", "agent-1", GAME, "agent-%00", "%F0"):
        answer = await platform.send("DELETE", f"/api/admin/bans/{identifier}", headers=platform.operator)
        assert problem(answer) == (404, "not_found"), identifier


async def test_other_gateways_learn_of_a_ban_at_once(platform: Any, make_platform: Any, problem: Any) -> None:
    other = make_platform()
    other.store.rows, other.store.keys = platform.store.rows, platform.store.keys
    other.moderation.in_force = platform.moderation.in_force
    await other.gateway.listen()
    agent_id, key = platform.agent()
    assert (await other.send("GET", "/api/agents", headers=key)).status_code == 200
    await ban(platform, agent_id=agent_id)
    (sent,) = [data for subject, data in platform.bus.published if subject == subjects.KEYS_REVOKED]
    await other.bus.publish(subjects.KEYS_REVOKED, sent)
    assert problem(await other.send("GET", "/api/agents", headers=key)) == (403, "banned")


async def test_a_repeated_ban_does_not_ban_again(platform: Any, problem: Any) -> None:
    """Also after it was ended; its answer is the first one."""
    agent_id, key = platform.agent()
    headers = platform.operator | {"idempotency-key": "one"}
    body = {"agent_id": agent_id, "note": "spam"}
    first = await platform.send("POST", "/api/admin/bans", json=body, headers=headers)
    await platform.send("DELETE", f"/api/admin/bans/{agent_id}", headers=platform.operator)
    again = await platform.send("POST", "/api/admin/bans", json=body, headers=headers)
    assert (again.status_code, again.content) == (201, first.content)
    assert (await platform.send("GET", "/api/agents", headers=key)).status_code == 200
    other = await platform.send("POST", "/api/admin/bans", json=body | {"note": "other"}, headers=headers)
    assert problem(other) == (422, "idempotency_mismatch")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["agent_id"]), ({"agent_id": AGENT, "owner_id": AGENT}, ["agent_id"]),
        ({"agent_id": AGENT, "note": ""}, ["note"]),
        ({"agent_id": AGENT, "until": "2020-01-01T00:00:00Z"}, ["until"]),
        ({"agent_id": AGENT, "until": "2026-13-01T00:00:00Z"}, ["until"]),
        ({"agent_id": AGENT, "until": "tomorrow"}, ["until"]), ({"agent_id": AGENT, "note": "x" * 501}, ["note"]),
    ],
)  # fmt: skip
async def test_a_faulty_ban_is_refused(platform: Any, problem: Any, body: Any, fields: list[str]) -> None:
    answer = await ban(platform, **body)
    assert problem(answer) == (400, "invalid_request")
    assert [one["field"] for one in answer.json()["errors"]] == fields


@pytest.mark.parametrize(
    "body", [{"agent_id": AGENT}, {"owner_id": "owner-1"}, {"agent_id": "x\x00"}, {"owner_id": AGENT}]
)
async def test_who_does_not_exist_is_not_banned(platform: Any, problem: Any, body: Any) -> None:
    assert problem(await ban(platform, **body)) == (404, "not_found")
    assert not platform.moderation.decisions


async def test_seats_of_a_banned_agent_are_away_and_a_waiting_game_loses_it(platform: Any) -> None:
    running, waiting = GAME, GAME.replace("1111", "2222")

    def engine(game: str, call: Any) -> Any:
        if call.op == "turn":
            games = [{"game_id": one, "version": 1} for one in (running, waiting)] if game == "ox" else []
            return 200, {"turn": None, "games": games}
        refused = call.op == "away" and call.target == waiting
        return Answer(call.id, 409 if refused else 200, b'{"code":"not_started"}')

    platform.bus.engine = engine
    agent_id, _ = platform.agent()
    await ban(platform, agent_id=agent_id)
    done = [(call.op, call.target) for _, call in platform.bus.calls if call.op != "turn"]
    assert done == [("away", running), ("away", waiting), ("leave", waiting)]
    assert all(call.agent == agent_id and not call.present for _, call in platform.bus.calls)


async def test_a_ban_counts_although_no_engine_answers(platform: Any, problem: Any) -> None:
    platform.bus.engine = lambda _game, _call: ConnectionError("away")
    agent_id, key = platform.agent()
    assert (await ban(platform, agent_id=agent_id)).status_code == 201
    assert problem(await platform.send("GET", "/api/agents", headers=key)) == (403, "banned")


async def test_a_wait_ends_when_its_agent_is_banned(platform: Any, problem: Any) -> None:
    agent_id, key = platform.agent()
    platform.gateway.services.timeouts.turn = 0.05
    waiting = asyncio.create_task(platform.send("GET", "/api/agents/me/turn?wait=20", headers=key))
    await wait_until(lambda: platform.bus.calls)
    await ban(platform, agent_id=agent_id)
    async with asyncio.timeout(15):
        assert problem(await waiting) == (403, "banned")


async def test_a_ban_of_an_erased_owner_stays_with_its_agents(platform: Any, problem: Any) -> None:
    owner_id, owner = await made_owner(platform)
    _, key = await owned(platform, owner)
    forever, key_of_it = await owned(platform, owner)
    await ban(platform, agent_id=forever)
    await ban(platform, owner_id=owner_id, until=LATER, note="three accounts")
    assert (await platform.send("DELETE", "/api/owners/me", headers=owner)).status_code == 204
    answer = await platform.send("GET", "/api/agents", headers=key)
    assert problem(answer) == (403, "banned")
    assert answer.json()["until"] == LATER
    assert (await platform.send("GET", "/api/agents", headers=key_of_it)).json()["until"] is None
    me = (await platform.send("GET", "/api/agents/me", headers=key)).json()
    assert (me["owner"], [one["note"] for one in me["notices"]]) == (None, ["three accounts"])


async def test_an_owner_that_is_not_banned_lets_its_agents_go_free(platform: Any) -> None:
    _, owner = await made_owner(platform)
    _, key = await owned(platform, owner)
    await platform.send("DELETE", "/api/owners/me", headers=owner)
    assert (await platform.send("GET", "/api/agents", headers=key)).status_code == 200
    assert not platform.moderation.decisions


async def test_mcp_refuses_a_banned_key(platform: Any) -> None:
    agent_id, key = platform.agent()
    await ban(platform, agent_id=agent_id)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = await platform.send(
        "POST",
        "/mcp",
        json=message,
        headers=key | {"host": "localhost", "accept": "application/json, text/event-stream"},
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "banned")


class TestCache:
    async def test_bans_are_looked_up_with_keys_and_bounded_with_them(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation, size=3)
        made = [platform.agent() for _ in range(5)]
        hashes = [hash_of(key["Authorization"][7:]) for _, key in made]
        platform.moderation.in_force[made[4][0]] = Ban(made[4][0], None)
        for key_hash in hashes:
            await keys.holder(key_hash)
        assert len(keys) == 3
        known = keys.known(hashes[4])
        assert known
        assert known.banned
        keys.forget(made[4][0])
        assert keys.known(hashes[4]) is None
        assert keys.known(hashes[3])

    async def test_a_lookup_under_way_does_not_outlive_a_ban(self, platform: Any) -> None:
        agent_id, key = platform.agent()
        key_hash = hash_of(key["Authorization"][7:])
        platform.store.slow = asyncio.Event()
        keys = KeyCache(platform.store, platform.bus, platform.moderation)
        asked = asyncio.create_task(keys.holder(key_hash))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        keys.forget(agent_id)
        platform.store.slow.set()
        await asked
        assert keys.known(key_hash) is None

    def test_the_ban_that_ends_last_counts(self) -> None:
        soon, late = (Ban("a", datetime.now(UTC) + timedelta(hours=hours)) for hours in (1, 2))
        assert last_ban([soon, late, None]) == late
        assert last_ban([soon, Ban("b", None), late]) == Ban("b", None)
        assert last_ban([None]) is None
        assert not Holder(Agent("a", "b"), Ban("a", datetime.now(UTC) - timedelta(seconds=1))).banned


class TestReports:
    async def reported(self, platform: Any, **body: Any) -> str:
        answer = await platform.send("POST", "/api/reports", json={"reason": "spam", **body})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    async def decide(self, platform: Any, report: str, decision: str, **more: Any) -> Any:
        body = {"decision": decision, "note": "a note", **more}
        return await platform.send("POST", f"/api/admin/reports/{report}", json=body, headers=platform.operator)

    def speech(self, platform: Any, *speakers: str) -> None:
        events = [{"type": "reveal", "choices": [{"agent_id": one, "comment": "no"} for one in speakers]}]
        platform.bus.engine = lambda _game, call: (
            (200, {"events": events, "next_after": 1}) if call.op == "events" else (200, {"turn": None, "games": []})
        )

    @pytest.mark.parametrize("decision", ["dismiss", "hide", "rename", "ban"])
    async def test_a_report_of_a_name_is_decided(self, platform: Any, decision: str) -> None:
        agent_id, key = platform.agent()
        report = await self.reported(platform, kind="name", agent_id=agent_id)
        until = {"until": LATER} if decision == "ban" else {}
        answer = await self.decide(platform, report, decision, **until)
        assert answer.status_code == 200
        row = answer.json()
        assert (row["decision"], row["note"], row["until"]) == (decision, "a note", until.get("until"))
        found = await platform.send("GET", "/api/admin/reports?state=decided", headers=platform.operator)
        assert found.json()["reports"] == [row]
        field = {"ban": "agent"}.get(decision, "name")
        expected = [] if decision == "dismiss" else [(decision, field)]
        assert [(one.kind, one.field) for one in platform.moderation.decisions] == expected
        assert all(one.by == "operator" and one.agent_id == agent_id for one in platform.moderation.decisions)
        notices = (await platform.send("GET", "/api/agents/me", headers=key)).json()["notices"]
        assert [one["note"] for one in notices] == ["a note"] * len(expected)
        assert "spam" not in json.dumps(notices), "what the reporter wrote is not shown"

    @pytest.mark.parametrize(("decision", "back"), [("hide", "name"), ("rename", "name"), ("ban", "agent")])
    async def test_a_decision_is_taken_back_once(self, platform: Any, decision: str, back: str) -> None:
        agent_id, _ = platform.agent()
        report = await self.reported(platform, kind="name", agent_id=agent_id)
        await self.decide(platform, report, decision)
        for _ in range(2):
            answer = await self.decide(platform, report, "restore", note="a mistake")
            assert (answer.status_code, answer.json()["decision"]) == (200, "restore")
        assert [(one.kind, one.field) for one in platform.moderation.decisions[1:]] == [("restore", back)]

    @pytest.mark.parametrize("kind", ["name", "agent", "speech"])
    @pytest.mark.parametrize(
        "decisions", [("hide", "ban"), ("ban", "hide"), ("hide", "dismiss"), ("hide", "ban", "dismiss")], ids="-".join
    )
    async def test_a_restore_finds_what_is_in_force_whatever_was_decided_last(
        self, platform: Any, kind: str, decisions: Sequence[str]
    ) -> None:
        """The ban, too, if it was decided last or the report is about the agent as a whole."""
        agent_id, _ = platform.agent()
        self.speech(platform, agent_id)
        about = {"game_id": GAME, "version": 1} if kind == "speech" else {"agent_id": agent_id}
        report = await self.reported(platform, kind=kind, **about)
        for decision in (*decisions, "restore"):
            assert (await self.decide(platform, report, decision)).status_code == 200
        assert not platform.moderation.withheld
        unbanned = kind == "agent" or decisions[-1] == "ban" or "ban" not in decisions
        assert (agent_id not in platform.moderation.in_force) == unbanned

    async def test_another_report_restores_what_is_hidden(self, platform: Any) -> None:
        agent_id, _ = platform.agent()
        one = await self.reported(platform, kind="name", agent_id=agent_id)
        await self.decide(platform, one, "rename")
        other = await self.reported(platform, kind="name", agent_id=agent_id, reason="it is harmless")
        assert (await self.decide(platform, other, "restore")).status_code == 200
        assert not platform.moderation.withheld

    async def test_a_speech_is_hidden_and_its_speaker_banned(self, platform: Any) -> None:
        agent_id, _ = platform.agent()
        self.speech(platform, agent_id)
        report = await self.reported(platform, kind="speech", game_id=GAME, version=1)
        assert (await self.decide(platform, report, "hide")).status_code == 200
        assert (await self.decide(platform, report, "ban")).status_code == 200
        hide, banned = platform.moderation.decisions
        assert (hide.kind, hide.field, hide.game_id, hide.version, hide.agent_id) == (
            "hide",
            "speech",
            GAME,
            1,
            agent_id,
        )
        assert (banned.kind, banned.field, banned.agent_id) == ("ban", "agent", agent_id)

    async def test_what_does_not_fit_a_report_is_refused(self, platform: Any, problem: Any) -> None:
        one, _ = platform.agent()
        two, _ = platform.agent("Bea")
        self.speech(platform, one, two)
        report = await self.reported(platform, kind="speech", game_id=GAME, version=1)
        for decision, more, field in (
            ("rename", {}, "decision"), ("ban", {}, "decision"), ("restore", {}, "decision"),
            ("hide", {"until": LATER}, "until"), ("hide", {"note": " "}, "note"),
            ("ban", {"until": "2020-01-01T00:00:00Z"}, "until"), ("burn", {}, "decision"),
        ):  # fmt: skip
            answer = await self.decide(platform, report, decision, **more)
            assert problem(answer) == (400, "invalid_request"), decision
            assert field in [one["field"] for one in answer.json()["errors"]]
        assert not platform.moderation.decisions
        assert [row.decision for row in platform.reports.rows.values()] == [None]

    async def test_a_report_that_does_not_exist_is_not_decided(self, platform: Any, problem: Any) -> None:
        for report in ("report-1", "%00"):
            assert problem(await self.decide(platform, report, "dismiss")) == (404, "not_found")
        _, key = platform.agent()
        body = {"decision": "dismiss", "note": "x"}
        answer = await platform.send("POST", "/api/admin/reports/report-1", json=body, headers=key)
        assert problem(answer) == (403, "operator_only")

    async def test_an_owner_is_banned_by_a_report_of_it_or_its_name(self, platform: Any) -> None:
        owner_id, _ = await made_owner(platform)
        for kind in ("owner", "name"):
            report = await self.reported(platform, kind=kind, owner_id=owner_id)
            assert (await self.decide(platform, report, "ban")).status_code == 200
        assert {(one.kind, one.field, one.owner_id) for one in platform.moderation.decisions} == {
            ("ban", "owner", owner_id)
        }

    async def test_nothing_is_stored_about_a_decision_that_fails(self, platform: Any, problem: Any) -> None:
        agent_id, _ = platform.agent()
        report = await self.reported(platform, kind="agent", agent_id=agent_id)
        del platform.store.rows[agent_id]
        assert problem(await self.decide(platform, report, "ban")) == (404, "not_found")
        assert platform.reports.rows[report].decision is None
        assert (await self.decide(platform, report, "dismiss")).status_code == 200
