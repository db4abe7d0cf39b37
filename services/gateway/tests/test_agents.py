"""Agents and their keys."""

import asyncio
import logging
import time
import unicodedata
from datetime import UTC, datetime
from typing import Any

import pytest
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.projections import Board, Points, Ranked, RecentGame
from playmolt_core.db.ratings import RatingRow, RoleCount, RoleRate
from playmolt_core.db.scores import RankedScore, ScorePage
from playmolt_gateway.access import auth
from playmolt_gateway.access.auth import CACHED_SECONDS, KeyCache, hash_of, new_key
from playmolt_schemas import subjects

from core.tests.waiting import loop_turns, wait_until


async def test_registering_gives_a_key_that_works_and_is_stored_as_a_hash(platform: Any) -> None:
    response = await platform.send("POST", "/api/agents", json={"name": " Ada 👩🏽‍🚀 "})
    assert response.status_code == 201
    made = response.json()
    assert made["name"] == " Ada 👩🏽‍🚀 ", "names are not trimmed"
    assert made["id"].startswith("agent-")
    assert made["api_key"].startswith("pm_")
    assert platform.store.keys == {hash_of(made["api_key"]): made["id"]}
    me = await platform.send("GET", "/api/agents/me", headers={"Authorization": f"bearer {made['api_key']}"})
    assert me.json() == {
        "id": made["id"], "name": made["name"], "handle": made["handle"], "kind": "bot", "version": None,
        "model": None, "about": None, "created_at": "2026-01-01T00:00:00.000000Z", "points": 0, "owner": None,
        "points_by_type": {"trial": 0, "ox": 0}, "games": {"trial": 0, "ox": 0}, "notices": [],
        "ratings": {"trial": None, "ox": None, "trial_slow": None, "ox_slow": None},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("a" * 40, 201),
        ("한" * 40, 201),
        ("a" * 41, 400),
        ("", 400),
        ("a\u202eb", 400),
        ("a\tb", 400),
        ("\u2028a", 400),
        (" ", 400),
        ("\u00a0", 400),
        ("\u115f\u1160", 400),
        ("\u200b", 400),
        ("\u2800", 400),
        ("\u3164", 400),
        ("\uffa0", 400),
        ("\ufe0f", 400),
        ("\u200ba", 201),
        ("\u0301", 201),
    ],
)
async def test_names_have_1_to_40_characters_without_controls(platform: Any, name: str, status: int) -> None:
    response = await platform.send("POST", "/api/agents", json={"name": name})
    assert response.status_code == status
    if status == 400:
        assert response.json()["errors"][0]["field"] == "name"


async def test_an_agent_says_its_version_kind_and_something_about_itself(platform: Any) -> None:
    said = {"name": "Ada", "version": "2.1 β", "about": "Plays\nO/X.", "kind": "person"}
    made = (await platform.send("POST", "/api/agents", json=said)).json()
    assert {key: made[key] for key in said} == said
    assert made["handle"] == f"ada-{made['id'][-6:]}"
    assert made["model"] is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", ""), ("version", " "), ("version", "v" * 41), ("version", "v" * 10_000), ("version", "1\n2"),
        ("about", ""), ("about", "\n"), ("about", "a" * 501), ("about", "a\tb"), ("about", "\u202e"),
        ("kind", "robot"), ("kind", None), ("model", "local"), ("secret", 1),
    ],
)  # fmt: skip
async def test_what_an_agent_may_not_say_is_reported_with_its_field(platform: Any, field: str, value: object) -> None:
    response = await platform.send("POST", "/api/agents", json={"name": "Ada", field: value})
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field


async def test_house_agents_are_the_operators(platform: Any, problem: Any) -> None:
    house = {"name": "House", "kind": "house", "model": "local"}
    assert problem(await platform.send("POST", "/api/agents", json=house)) == (403, "operator_only")
    made = await platform.send("POST", "/api/agents", json=house, headers=platform.operator)
    assert made.status_code == 201
    assert made.json()["model"] == "local"


async def test_the_houses_key_registers_house_agents_and_nothing_else(make_platform: Any, problem: Any) -> None:
    platform = make_platform(house_key="house", registration_open=False)
    await platform.gateway.listen()
    key = {"Authorization": "Bearer house"}
    made = await platform.send("POST", "/api/agents", json={"name": "House", "kind": "house"}, headers=key)
    assert made.status_code == 201
    other = await platform.send("POST", "/api/agents", json={"name": "Ada"}, headers=key)
    assert problem(other) == (403, "operator_only")
    assert problem(await platform.send("GET", "/api/agents/me", headers=key)) == (401, "unauthorized")
    assert problem(await platform.send("GET", "/api/admin/games", headers=key)) == (403, "operator_only")


class TestFindingAgents:
    async def test_anybody_may_see_who_an_agent_is(self, platform: Any, problem: Any) -> None:
        agent_id, key = platform.agent("Ada")
        platform.store.points[agent_id] = Points(30, {"ox": 30}, {"ox": 1})
        seen = (await platform.send("GET", f"/api/agents/{agent_id}")).json()
        me = (await platform.send("GET", "/api/agents/me", headers=key)).json()
        assert me | {"recent": []} == seen | {"points_by_type": {"trial": 0, "ox": 30}, "notices": []}
        assert (seen["points"], seen["games"]) == (30, {"trial": 0, "ox": 1})
        for nobody in ("agent-9", "%00", "%ED%A0%80"):
            assert problem(await platform.send("GET", f"/api/agents/{nobody}")) == (404, "not_found")

    async def test_agents_are_listed_without_anything_of_their_keys(self, platform: Any) -> None:
        agent_id, _ = platform.agent("Ada")
        platform.agent("Bea")
        listed = (await platform.send("GET", "/api/agents", params={"q": "Ad"})).json()
        assert listed == {
            "agents": [
                {
                    "id": agent_id, "handle": "ada-00000", "name": "Ada", "kind": "bot", "model": None,
                    "version": None, "created_at": "2026-01-01T00:00:00.000000Z", "games": 0, "points": 0,
                }
            ],
            "next_cursor": None,
        }  # fmt: skip
        assert len((await platform.send("GET", "/api/agents")).json()["agents"]) == 2
        assert (await platform.send("GET", "/api/agents?q=%00")).json()["agents"] == []

    @pytest.mark.parametrize("query", ["q=", f"q={'a' * 41}", "limit=0", "cursor=x", "kind=bot"])
    async def test_a_query_that_means_nothing_is_refused(self, platform: Any, query: str) -> None:
        assert (await platform.send("GET", f"/api/agents?{query}")).status_code == 400


class TestUpdatingMe:
    async def test_what_is_sent_is_changed_and_null_takes_away(self, platform: Any) -> None:
        await platform.gateway.listen()
        _, key = platform.agent()
        changed = await platform.send("PATCH", "/api/agents/me", json={"version": "2", "about": "x"}, headers=key)
        assert changed.status_code == 200
        assert (changed.json()["version"], changed.json()["about"]) == ("2", "x")
        changed = await platform.send("PATCH", "/api/agents/me", json={"about": None}, headers=key)
        assert (changed.json()["version"], changed.json()["about"]) == ("2", None)
        same = await platform.send("PATCH", "/api/agents/me", json={}, headers=key)
        assert same.status_code == 200
        assert same.json() == changed.json()

    async def test_the_version_changes_at_most_ten_times_a_day(self, platform: Any) -> None:
        _, key = platform.agent()

        async def patch(**body: Any) -> Any:
            return await platform.send("PATCH", "/api/agents/me", json=body, headers=key)

        assert [(await patch(version=str(number))).status_code for number in range(10)] == [200] * 10
        refused = await patch(version="11", about="x")
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.headers["retry-after"] == "3601"
        assert refused.json()["ratelimit"]["limit"] == 10
        assert (await patch(version="9", about="y")).json()["about"] == "y", "nothing to change in the version"

    async def test_every_gateway_forgets_the_version_before(self, make_platform: Any, game: str) -> None:
        here, there = make_platform(), make_platform()
        there.store.rows, there.store.keys = here.store.rows, here.store.keys
        here.bus.listeners = there.bus.listeners
        for platform in (here, there):
            await platform.gateway.listen()
        _, key = here.agent()
        for platform in (here, there):
            await platform.send("GET", f"/api/games/{game}/state", headers=key)
        await here.send("PATCH", "/api/agents/me", json={"version": "2"}, headers=key)
        for platform in (here, there):
            assert len(platform.gateway.services.keys) == 0

    @pytest.mark.parametrize("field", ["name", "kind", "model", "id"])
    async def test_nothing_else_can_be_changed(self, platform: Any, field: str) -> None:
        _, key = platform.agent()
        response = await platform.send("PATCH", "/api/agents/me", json={field: "bot"}, headers=key)
        assert response.status_code == 400
        assert response.json()["errors"][0]["field"] == field


async def test_handing_out_keys_is_not_idempotent(platform: Any) -> None:
    same = {"Idempotency-Key": "once"}
    first = await platform.send("POST", "/api/agents", json={"name": "Ada"}, headers=same)
    second = await platform.send("POST", "/api/agents", json={"name": "Ada"}, headers=same)
    assert first.json()["id"] != second.json()["id"]


async def test_a_replaced_key_is_refused_at_once_by_every_gateway(make_platform: Any, game: str) -> None:
    path = f"/api/games/{game}/state"
    here, there = make_platform(), make_platform()
    there.store.rows, there.store.keys = here.store.rows, here.store.keys
    here.bus.listeners = there.bus.listeners
    for platform in (here, there):
        await platform.gateway.listen()
    _, key = here.agent()
    for platform in (here, there):
        assert (await platform.send("GET", path, headers=key)).status_code == 200
    rotated = await here.send("POST", "/api/agents/me/keys", headers=key)
    assert rotated.status_code == 201
    fresh = {"Authorization": f"Bearer {rotated.json()['api_key']}"}
    for platform in (here, there):
        assert (await platform.send("GET", path, headers=key)).status_code == 401
        assert (await platform.send("GET", path, headers=fresh)).status_code == 200
    assert here.bus.published[0][0] == subjects.KEYS_REVOKED
    assert key["Authorization"].encode() not in here.bus.published[0][1]


async def test_of_many_rotations_with_one_key_one_succeeds(platform: Any, problem: Any) -> None:
    _, key = platform.agent()
    answers = await asyncio.gather(*(platform.send("POST", "/api/agents/me/keys", headers=key) for _ in range(6)))
    made = [answer.json()["api_key"] for answer in answers if answer.status_code == 201]
    assert len(made) == 1
    assert {problem(answer) for answer in answers if answer.status_code != 201} == {(401, "unauthorized")}
    fresh = {"Authorization": f"Bearer {made[0]}"}
    assert (await platform.send("GET", "/api/agents/me", headers=fresh)).status_code == 200


async def test_no_key_is_replaced_while_gateways_cannot_be_told(platform: Any, problem: Any) -> None:
    _, key = platform.agent()
    platform.bus.is_connected = False
    assert problem(await platform.send("POST", "/api/agents/me/keys", headers=key)) == (503, "unavailable")
    assert (await platform.send("GET", "/api/agents/me", headers=key)).status_code == 200


async def test_a_notice_that_fails_is_waited_out(platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is replaced already: the caller has to get the new one, and no gateway may still know the old one."""

    async def publish(subject: str, data: bytes = b"") -> None:
        raise BusUnavailable("lost meanwhile")

    _, key = platform.agent()
    monkeypatch.setattr(platform.bus, "publish", publish)
    platform.gateway.services.timeouts.key_cache = 0.1
    asked = time.monotonic()
    assert (await platform.send("POST", "/api/agents/me/keys", headers=key)).status_code == 201
    assert time.monotonic() - asked >= 0.1


async def remembered(platform: Any) -> tuple[list[float], KeyCache, str]:
    """The time, keys that go by it, and the hash of one that they remember."""
    now = [100.0]
    keys = KeyCache(platform.store, platform.bus, platform.moderation, clock=lambda: now[0])
    _, key = platform.agent()
    key_hash = hash_of(key["Authorization"][7:])
    await keys.holder(key_hash)
    return now, keys, key_hash


class TestKeyCache:
    async def test_a_key_is_looked_up_once_in_the_time_it_is_remembered(self, platform: Any) -> None:
        now = [100.0]
        keys = KeyCache(platform.store, platform.bus, platform.moderation, clock=lambda: now[0])
        agent_id, key = platform.agent()
        key_hash = hash_of(key["Authorization"][7:])
        for _ in range(3):
            found = await keys.holder(key_hash)
            assert found
            assert found.account.id == agent_id
        assert platform.store.lookups == 1
        now[0] += CACHED_SECONDS
        await keys.holder(key_hash)
        assert platform.store.lookups == 2

    async def test_keys_in_use_stay_known_while_none_of_them_became_void(self, platform: Any) -> None:
        now = [100.0]
        keys = KeyCache(platform.store, platform.bus, platform.moderation, clock=lambda: now[0])
        _, first = platform.agent()
        _, second = platform.agent()
        hashes = [hash_of(key["Authorization"][7:]) for key in (first, second)]
        for key_hash in hashes:
            await keys.holder(key_hash)
        for _ in range(10):
            now[0] += CACHED_SECONDS / 2
            assert keys.known(hashes[0])
            await asyncio.sleep(0)  # asks for void keys
        assert keys.known(hashes[1]), "not used for a minute, and still true"
        assert platform.store.lookups == 2

    async def test_a_key_in_use_is_looked_up_again_after_a_while(self, platform: Any) -> None:
        """Its agent may be none that a restored database knows."""
        now, keys, key_hash = await remembered(platform)
        del platform.store.keys[key_hash]
        for _ in range(int(auth.REMEMBERED_SECONDS / auth.REVISED_SECONDS) - 1):
            now[0] += auth.REVISED_SECONDS
            assert await keys.holder(key_hash)
            await asyncio.sleep(0)
        now[0] += auth.REVISED_SECONDS
        assert await keys.holder(key_hash) is None
        assert len(keys) == 0

    async def test_a_key_that_became_void_without_a_notice_is_forgotten(self, platform: Any) -> None:
        now, keys, key_hash = await remembered(platform)
        del platform.store.keys[key_hash]
        platform.store.void = [key_hash]
        now[0] += auth.REVISED_SECONDS
        keys.known(key_hash)
        await asyncio.sleep(0)
        assert await keys.holder(key_hash) is None

    async def test_keys_lapse_while_nobody_says_which_became_void(self, platform: Any) -> None:
        now, keys, key_hash = await remembered(platform)
        platform.store.away = True
        for _ in range(2):
            now[0] += CACHED_SECONDS / 2
            keys.known(key_hash)
            await asyncio.sleep(0)
        assert keys.known(key_hash) is None
        platform.store.away, platform.store.void = False, []
        now[0] += auth.REVISED_SECONDS
        keys.known(key_hash)
        await asyncio.sleep(0)
        assert keys.known(key_hash), "all are known again once somebody says so"

    async def test_keys_are_forgotten_after_longer_than_void_ones_are_kept(self, platform: Any) -> None:
        now, keys, key_hash = await remembered(platform)
        now[0] += auth.VOID_SECONDS
        keys.known(key_hash)
        await asyncio.sleep(0)
        assert len(keys) == 0

    async def test_many_callers_share_one_lookup(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation)
        _, key = platform.agent()
        platform.store.slow = asyncio.Event()
        callers = [asyncio.create_task(keys.holder(hash_of(key["Authorization"][7:]))) for _ in range(50)]
        await loop_turns()
        callers[0].cancel()
        platform.store.slow.set()
        found = await asyncio.gather(*callers[1:])
        assert all(found)
        assert platform.store.lookups == 1

    async def test_keys_asked_for_while_a_query_is_under_way_share_the_next(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation)
        agents_of_keys = [platform.agent() for _ in range(50)]
        platform.store.slow = asyncio.Event()
        hashes = [hash_of(key["Authorization"][7:]) for _, key in agents_of_keys]
        callers = [asyncio.create_task(keys.holder(hashes[0]))]
        await loop_turns()
        callers += [asyncio.create_task(keys.holder(key_hash)) for key_hash in [*hashes[1:], hash_of("unknown")]]
        await loop_turns()
        platform.store.slow.set()
        found = await asyncio.gather(*callers)
        assert [one and one.account.id for one in found] == [*(agent for agent, _ in agents_of_keys), None]
        assert platform.store.lookups == 2, "the first alone, then all the others"
        assert len(keys) == 50

    async def test_a_query_that_fails_is_told_to_those_who_waited_and_to_no_one_else(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation)
        _, key = platform.agent()
        key_hash = hash_of(key["Authorization"][7:])
        platform.store.away = True
        for failed in await asyncio.gather(*(keys.holder(key_hash) for _ in range(3)), return_exceptions=True):
            assert isinstance(failed, ConnectionError)
        platform.store.away = False
        assert await keys.holder(key_hash)

    async def test_no_more_keys_wait_than_one_query_may_ask_for(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation, waiting_keys=2)
        platform.store.slow = asyncio.Event()
        callers = [asyncio.create_task(keys.holder(hash_of("first")))]
        await loop_turns()
        callers += [asyncio.create_task(keys.holder(hash_of(str(number)))) for number in range(3)]
        await loop_turns()
        platform.store.slow.set()
        found = await asyncio.gather(*callers, return_exceptions=True)
        assert found[:3] == [None, None, None]
        assert isinstance(found[3], ConnectionError)

    async def test_a_lookup_has_a_time_limit(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation, lookup_seconds=0.02)
        _, key = platform.agent()
        key_hash = hash_of(key["Authorization"][7:])
        platform.store.slow = asyncio.Event()
        with pytest.raises(TimeoutError):
            await keys.holder(key_hash)
        await wait_until(lambda: platform.store.cancelled)
        platform.store.slow, keys._lookup_seconds = None, 30.0
        assert await keys.holder(key_hash), "the query has a time limit too, and the next caller starts another"

    async def test_a_lookup_that_a_revocation_overtakes_is_not_remembered(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation)
        _, key = platform.agent()
        key_hash = hash_of(key["Authorization"][7:])
        platform.store.slow = asyncio.Event()
        caller = asyncio.create_task(keys.holder(key_hash))
        await loop_turns()
        del platform.store.keys[key_hash]
        keys.drop(key_hash)
        platform.store.slow.set()
        await caller
        assert await keys.holder(key_hash) is None

    async def test_nothing_is_remembered_while_nats_is_away(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation)
        _, key = platform.agent()
        key_hash = hash_of(key["Authorization"][7:])
        await keys.holder(key_hash)
        platform.bus.is_connected = False
        await keys.holder(key_hash)
        await keys.holder(key_hash)
        assert platform.store.lookups == 3
        assert len(keys) == 0

    async def test_a_lost_connection_empties_the_cache(self, platform: Any) -> None:
        _, key = platform.agent()
        await platform.send("GET", "/api/games", headers=key)
        assert len(platform.gateway.services.keys) == 1
        for changed in platform.bus.changes:
            changed()
        assert len(platform.gateway.services.keys) == 0

    async def test_the_cache_is_bounded(self, platform: Any) -> None:
        keys = KeyCache(platform.store, platform.bus, platform.moderation, size=10)
        for _ in range(20):
            _, key = platform.agent()
            await keys.holder(hash_of(key["Authorization"][7:]))
        assert len(keys) == 10

    async def test_what_is_not_a_key_costs_no_lookup(self, platform: Any) -> None:
        for text in ("x", "pm_short", new_key() + "x"):
            await platform.send("GET", "/api/games", headers={"Authorization": f"Bearer {text}"})
        assert platform.store.lookups == 0


async def test_leaderboard_waits_for_the_projections_and_serves_what_there_is(platform: Any) -> None:
    platform.store.standings = [
        Ranked(1, "agent-1", "Ada", "ada-1", "bot", None, None, 200, 1),
        Ranked(1, "agent-2", "Bob", "bob-2", "bot", None, None, 200, 1),
    ]
    page = (await platform.send("GET", "/api/leaderboard?limit=1")).json()
    assert page["leaderboard"] == [{
            "rank": 1, "id": "agent-1", "handle": "ada-1", "name": "Ada", "kind": "bot", "model": None, "version": None,
            "points": 200, "games": 1, "rating": None, "uncertainty": None, "provisional": None,
            "owner": None,
        }
    ]  # fmt: skip
    assert platform.store.board == Board(kind="bot")
    rest = (await platform.send("GET", f"/api/leaderboard?limit=1&cursor={page['next_cursor']}")).json()
    assert [line["name"] for line in rest["leaderboard"]] == ["Bob"]
    assert rest["next_cursor"] is None


async def test_a_leaderboard_by_rating_is_that_of_a_game_type(platform: Any) -> None:
    refused = await platform.send("GET", "/api/leaderboard?by=rating")
    assert refused.status_code == 400
    assert [fault["field"] for fault in refused.json()["errors"]] == ["gameType"]
    line = RatingRow(26.0, 4.0, 19)
    platform.store.standings = [Ranked(1, "agent-1", "Ada", "ada-1", "house", "m", "2", 200, 19, line)]
    path = "/api/leaderboard?by=rating&gameType=ox&kind=all&version=all"
    (shown,) = (await platform.send("GET", path)).json()["leaderboard"]
    assert (shown["rating"], shown["uncertainty"], shown["provisional"]) == (1560.0, 240.0, True)
    assert platform.store.board == Board("ox", "rating", "all", "all")
    assert (await platform.send("GET", f"{path}&pace=slow&active=false")).status_code == 200
    assert platform.store.board == Board("ox_slow", "rating", "all", "all", active=False)
    await platform.send("GET", "/api/leaderboard?by=rating&gameType=ox")
    assert platform.store.board == Board("ox", "rating", "bot", "best", active=True)


async def test_a_game_type_says_how_often_the_prosecution_wins(platform: Any) -> None:
    path = "/api/games/types/trial"
    unplayed = {"gameType": "trial", "games": 0, "conviction_rate": 0.5, "contents": []}
    assert (await platform.send("GET", path)).json() == unplayed
    platform.store.rates["trial"] = [RoleRate("b", RoleCount(10, 8)), RoleRate("a", RoleCount(4, 0))]
    assert (await platform.send("GET", path)).json() == {
        "gameType": "trial",
        "games": 10,
        "conviction_rate": 18 / 30,
        "contents": [
            {"content_version": "b", "games": 10, "conviction_rate": 18 / 30},
            {"content_version": "a", "games": 4, "conviction_rate": 10 / 24},
        ],
    }
    without = {"gameType": "ox", "games": None, "conviction_rate": None, "contents": []}
    assert (await platform.send("GET", "/api/games/types/ox")).json() == without
    unknown = await platform.send("GET", "/api/games/types/legal")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


async def test_points_count_games_of_every_pace(platform: Any) -> None:
    refused = await platform.send("GET", "/api/leaderboard?gameType=ox&pace=slow")
    assert refused.status_code == 400
    assert [fault["field"] for fault in refused.json()["errors"]] == ["pace"]


async def test_a_leaderboard_over_all_game_types_says_when_it_was_computed(platform: Any) -> None:
    empty = (await platform.send("GET", "/api/leaderboard?by=overall")).json()
    assert empty == {"leaderboard": [], "next_cursor": None, "as_of": None, "unconnected": 0}
    assert platform.store.score_board == ("overall", "bot", 100, None)
    row = RankedScore(1, "agent-1", "Ada", "ada-1", "bot", None, 1.25, 0.5, 2.0, 40, ["ox", "trial"])
    platform.store.score_page = ScorePage([row], "next", datetime(2026, 11, 25, tzinfo=UTC), 3)
    shown = (await platform.send("GET", "/api/leaderboard?by=overall&kind=house&limit=1")).json()
    assert shown == {
        "leaderboard": [
            {
                "rank": 1, "id": "agent-1", "handle": "ada-1", "name": "Ada", "kind": "bot", "model": None,
                "score": 1.25, "low": 0.5, "high": 2.0, "games": 40, "types": ["ox", "trial"], "owner": None,
            }
        ],
        "next_cursor": "next", "as_of": "2026-11-25T00:00:00.000000Z", "unconnected": 3,
    }  # fmt: skip
    assert platform.store.score_board == ("overall", "house", 1, None)


@pytest.mark.parametrize(("query", "kind"), [("", "all"), ("&kind=bot", "bot"), ("&kind=house", "house")])
async def test_a_leaderboard_by_model_shows_every_kind_unless_it_is_asked_for_one(
    platform: Any, query: str, kind: str
) -> None:
    assert (await platform.send("GET", f"/api/leaderboard?by=model{query}")).status_code == 200
    assert platform.store.score_board == ("model", kind, 100, None)


@pytest.mark.parametrize("by", ["overall", "model"])
@pytest.mark.parametrize(("query", "field"), [("gameType=ox", "gameType"), ("pace=slow", "pace")])
async def test_scores_are_of_all_game_types_and_paces(platform: Any, by: str, query: str, field: str) -> None:
    refused = await platform.send("GET", f"/api/leaderboard?by={by}&{query}")
    assert refused.status_code == 400
    assert [fault["field"] for fault in refused.json()["errors"]] == [field]


async def test_a_profile_has_the_line_of_the_present_version_and_the_recent_games(platform: Any) -> None:
    agent, key = platform.agent()
    platform.store.lines[agent] = RatingRow(24.0, 8.0, 20)
    at = datetime(2026, 11, 25, tzinfo=UTC)
    platform.store.finished[agent] = [RecentGame("ox-1", "ox", at, 2, 100, rated=True)]
    shown = (await platform.send("GET", f"/api/agents/{agent}")).json()
    assert shown["ratings"] == {
        "trial": None,
        "trial_slow": None,
        "ox_slow": None,
        "ox": {"rating": 1440.0, "uncertainty": 480.0, "games": 20, "version": None, "provisional": False},
    }
    assert shown["recent"] == [
        {
            "game_id": "ox-1", "gameType": "ox", "ended_at": "2026-11-25T00:00:00.000000Z",
            "rank": 2, "points": 100, "rated": True,
        }
    ]  # fmt: skip
    me = (await platform.send("GET", "/api/agents/me", headers=key)).json()
    assert me.keys() == (shown.keys() - {"recent"}) | {"points_by_type", "notices"}
    assert me["ratings"] == shown["ratings"]


async def test_me_counts_points_by_type(platform: Any) -> None:
    agent, key = platform.agent()
    platform.bus.answers[subjects.PROJECTED] = b""
    platform.store.points[agent] = Points(260, {"trial": 200, "ox": 60}, {"trial": 1, "ox": 2})
    me = (await platform.send("GET", "/api/agents/me", headers=key)).json()
    assert (me["points"], me["points_by_type"]) == (260, {"trial": 200, "ox": 60})
    assert me["games"] == {"trial": 1, "ox": 2}


async def test_no_key_is_ever_written_to_the_log(
    platform: Any, game: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    made = (await platform.send("POST", "/api/agents", json={"name": "Ada"})).json()
    key = {"Authorization": f"Bearer {made['api_key']}"}
    secret = "the hidden choice"

    def broken(_game: str, _call: Any) -> Any:
        raise LookupError(f"a bug beside {secret}")

    platform.bus.engine = broken
    await platform.send("POST", f"/api/games/{game}/actions", json={"comment": secret}, headers=key)
    await platform.send("GET", f"/api/games/{game}/state", headers=key)
    platform.bus.engine = lambda _game, _call: BusUnavailable("away")
    await platform.send("POST", f"/api/games/{game}/actions", json={"comment": secret}, headers=key)
    written = caplog.text + "".join(capfd.readouterr())
    assert "unavailable" in written
    assert "LookupError" in written
    assert "routes/action.py" in written, "a bug is told with its place"
    for hidden in (made["api_key"], hash_of(made["api_key"]), secret):
        assert hidden not in written


async def test_names_are_composed(platform: Any) -> None:
    """A name typed on a Mac may have Hangul in parts, which count as one character each."""
    parts = unicodedata.normalize("NFD", "김" * 40)
    response = await platform.send("POST", "/api/agents", json={"name": parts, "about": parts})
    assert (response.status_code, response.json()["name"], response.json()["about"]) == (201, "김" * 40, "김" * 40)
