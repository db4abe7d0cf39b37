"""Owners over HTTP: accounts, recovery, claims, and what their keys open."""

import asyncio
import json
from typing import Any

import pytest
from playmolt_gateway.access.auth import hash_of
from playmolt_schemas.limits import RECOVERY_CODES, RECOVERY_LOCK_SECONDS, RECOVERY_TRIES
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import Auth

OUTSIDE = {"x-forwarded-for": "203.0.113.7"}
OF_AGENTS = [route for route in ROUTES if route.auth is Auth.AGENT]
OF_SESSIONS = [route for route in ROUTES if route.auth is Auth.SESSION]
OF_OWNERS = [route for route in ROUTES if route.auth is Auth.OWNER]
NOBODY = "owner-00000000-0000-4000-8000-000000000000"


async def made(platform: Any, name: str = "Ada", **more: Any) -> tuple[dict[str, Any], dict[str, str]]:
    answer = await platform.send("POST", "/api/owners", json={"name": name, **more})
    assert answer.status_code == 201, answer.text
    owner = answer.json()
    return owner, {"Authorization": f"Bearer {owner['owner_key']}"}


async def claim(platform: Any, owner: dict[str, str], agent: dict[str, str], **headers: str) -> Any:
    body = {"api_key": agent["Authorization"].removeprefix("Bearer ")}
    return await platform.send("POST", "/api/owners/me/claims", json=body, headers=owner | headers)


async def recover(platform: Any, owner: str, code: str, **headers: str) -> Any:
    return await platform.send("POST", "/api/owners/recover", json={"owner": owner, "code": code}, headers=headers)


class TestAccounts:
    async def test_an_owner_gets_a_key_and_codes_once(self, platform: Any) -> None:
        owner, key = await made(platform, contact="ada@example.org")
        assert list(owner) == ["id", "name", "owner_key", "recovery_codes"]
        assert len(set(owner["recovery_codes"])) == RECOVERY_CODES
        for code in owner["recovery_codes"]:
            assert len(code.replace("-", "")) * 5 >= 80, "bits: each character has five"
        mine = await platform.send("GET", "/api/owners/me", headers=key)
        assert mine.json() == {
            "id": owner["id"],
            "name": "Ada",
            "contact": "ada@example.org",
            "agents": [],
            "notices": [],
        }

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"name": ""}, "name"), ({"name": "x" * 41}, "name"), ({"name": "a\nb"}, "name"), ({}, "name"),
            ({"name": " "}, "name"), ({"name": "a", "contact": "x" * 201}, "contact"), ({"name": 1}, "name"),
            ({"name": "a", "contact": "a\x00"}, "contact"), ({"name": "a", "kind": "bot"}, "kind"),
        ],
    )  # fmt: skip
    async def test_bad_texts_are_refused(self, platform: Any, problem: Any, body: Any, field: str) -> None:
        answer = await platform.send("POST", "/api/owners", json=body)
        assert problem(answer) == (400, "invalid_request")
        assert [one["field"] for one in answer.json()["errors"]] == [field]

    async def test_owners_are_limited_by_address_as_registration_is(self, make_platform: Any, problem: Any) -> None:
        platform = make_platform(registration_limit="2/60", trusted_proxies="127.0.0.1")
        sent = [await platform.send("POST", "/api/owners", json={"name": "a"}, headers=OUTSIDE) for _ in range(3)]
        assert [one.status_code for one in sent] == [201, 201, 429]
        assert sent[2].json()["ratelimit"]["limit"] == 2
        assert (await platform.send("POST", "/api/owners", json={"name": "a"})).status_code == 201

    async def test_where_registration_is_closed_only_the_operator_makes_owners(
        self, make_platform: Any, problem: Any
    ) -> None:
        platform = make_platform(registration_open=False)
        body = {"name": "a"}
        assert problem(await platform.send("POST", "/api/owners", json=body)) == (403, "registration_closed")
        answer = await platform.send("POST", "/api/owners", json=body, headers=platform.operator)
        assert answer.status_code == 201
        key = {"Authorization": f"Bearer {answer.json()['owner_key']}"}
        refused = await platform.send("POST", "/api/owners/me/agents", json=body, headers=key)
        assert problem(refused) == (403, "registration_closed")

    async def test_codes_are_replaced(self, platform: Any, problem: Any) -> None:
        owner, key = await made(platform)
        answer = await platform.send("POST", "/api/owners/me/codes", json={}, headers=key)
        assert answer.status_code == 201
        assert len(answer.json()["recovery_codes"]) == RECOVERY_CODES
        assert problem(await recover(platform, owner["id"], owner["recovery_codes"][0])) == (401, "unauthorized")
        assert (await recover(platform, owner["id"], answer.json()["recovery_codes"][0])).status_code == 200

    async def test_an_erased_owner_leaves_its_agents(self, platform: Any, problem: Any) -> None:
        _, key = await made(platform)
        agent, agents_key = platform.agent()
        assert (await claim(platform, key, agents_key)).status_code == 200
        assert (await platform.send("DELETE", "/api/owners/me", headers=key)).status_code == 204
        assert problem(await platform.send("GET", "/api/owners/me", headers=key)) == (401, "unauthorized")
        shown = await platform.send("GET", f"/api/agents/{agent}")
        assert shown.json()["owner"] is None
        assert (await platform.send("GET", "/api/agents/me", headers=agents_key)).status_code == 200

    async def test_nothing_is_begun_while_nats_is_away(self, platform: Any, problem: Any) -> None:
        """Keys would go on working in other gateways."""
        owner, key = await made(platform)
        agent, agents_key = platform.agent()
        platform.bus.is_connected = False
        code = owner["recovery_codes"][0]
        for answer in (
            await claim(platform, key, agents_key),
            await recover(platform, owner["id"], code),
            await platform.send("DELETE", "/api/owners/me", headers=key),
            await platform.send("DELETE", f"/api/owners/me/agents/{agent}", headers=key),
            await platform.send("POST", f"/api/owners/me/agents/{agent}/keys", json={}, headers=key),
        ):
            assert problem(answer) == (503, "unavailable")
        platform.bus.is_connected = True
        assert (await recover(platform, owner["id"], code)).status_code == 200


class TestAgents:
    async def test_an_owner_registers_an_agent(self, platform: Any) -> None:
        owner, key = await made(platform)
        body = {"name": "Bot", "version": "1", "about": "plays"}
        answer = await platform.send("POST", "/api/owners/me/agents", json=body, headers=key)
        assert answer.status_code == 201
        agent = answer.json()
        assert agent["owner"] == {"id": owner["id"], "name": "Ada"}
        shown = (await platform.send("GET", f"/api/agents/{agent['id']}")).json()
        assert (shown["owner"], shown["version"], shown["kind"]) == (agent["owner"], "1", "bot")
        own = await platform.send("GET", "/api/agents/me", headers={"Authorization": f"Bearer {agent['api_key']}"})
        assert own.json()["owner"] == agent["owner"]
        (listed,) = (await platform.send("GET", "/api/owners/me", headers=key)).json()["agents"]
        assert listed.keys() == {"id", "handle", "name", "version", "games", "ratings"}
        assert (listed["id"], listed["games"]) == (agent["id"], {"trial": 0, "ox": 0})
        person = await platform.send("POST", "/api/owners/me/agents", json={"name": "I", "kind": "person"}, headers=key)
        assert (person.status_code, person.json()["kind"]) == (201, "person")

    async def test_an_owner_that_was_erased_since_its_key_was_looked_up_gets_no_agent(
        self, platform: Any, problem: Any
    ) -> None:
        owner, key = await made(platform)
        _, agent = platform.agent()
        assert (await platform.send("GET", "/api/owners/me", headers=key)).status_code == 200
        del platform.store.owners.accounts[owner["id"]]
        refused = [
            await claim(platform, key, agent),
            await platform.send("POST", "/api/owners/me/agents", json={"name": "Bot"}, headers=key),
        ]
        assert [problem(answer) for answer in refused] == [(401, "unauthorized")] * 2

    async def test_an_owner_claims_an_agent_that_keeps_its_key(
        self, platform: Any, problem: Any, revoked_subject: str
    ) -> None:
        owner, key = await made(platform)
        agent, agents_key = platform.agent()
        assert (await platform.send("GET", "/api/agents/me", headers=agents_key)).json()["owner"] is None
        answer = await claim(platform, key, agents_key)
        assert answer.status_code == 200
        assert answer.json()["id"] == agent
        hashed = hash_of(agents_key["Authorization"][7:]).encode()
        assert (revoked_subject, hashed) in platform.bus.published, "no gateway goes on with the unclaimed agent"
        assert (await platform.send("GET", "/api/agents/me", headers=agents_key)).json()["owner"]["id"] == owner["id"]
        _, other = await made(platform, "Bob")
        assert problem(await claim(platform, other, agents_key)) == (409, "already_claimed")
        assert problem(await claim(platform, key, agents_key)) == (409, "already_claimed")
        path = f"/api/owners/me/agents/{agent}"
        assert problem(await platform.send("DELETE", path, headers=other)) == (404, "not_found")
        assert (await platform.send("DELETE", path, headers=key)).status_code == 204
        assert problem(await platform.send("DELETE", path, headers=key)) == (404, "not_found")
        assert (await claim(platform, other, agents_key)).status_code == 200

    async def test_of_six_claims_one_wins(self, platform: Any) -> None:
        _, agents_key = platform.agent()
        keys = [(await made(platform, str(number)))[1] for number in range(6)]
        answers = await asyncio.gather(*(claim(platform, key, agents_key) for key in keys))
        assert sorted(one.status_code for one in answers) == [200, 409, 409, 409, 409, 409]

    async def test_a_repeated_claim_is_answered_again(self, platform: Any, problem: Any) -> None:
        _, key = await made(platform)
        (_, one), (_, two) = platform.agent(), platform.agent("Bob")
        first = await claim(platform, key, one, **{"idempotency-key": "a"})
        again = await claim(platform, key, one, **{"idempotency-key": "a"})
        assert (first.status_code, first.content) == (again.status_code, again.content)
        assert first.status_code == 200
        other = await claim(platform, key, two, **{"idempotency-key": "a"})
        assert problem(other) == (422, "idempotency_mismatch")

    async def test_what_cannot_be_claimed(self, platform: Any, problem: Any) -> None:
        _, key = await made(platform)
        body = {"name": "House", "kind": "house"}
        house = (await platform.send("POST", "/api/agents", json=body, headers=platform.operator)).json()
        visitor = (await platform.send("POST", "/api/visitors", json={})).json()
        refused = await claim(platform, key, {"Authorization": f"Bearer {house['api_key']}"})
        assert problem(refused) == (403, "operator_only")
        for unknown in (visitor["token"], "pm_unknown", key["Authorization"][7:], "\x00", "\ud800"):
            answer = await platform.send(
                "POST", "/api/owners/me/claims", headers=key | {"content-type": "application/json"},
                content=b'{"api_key":%s}' % json.dumps(unknown).encode(),
            )  # fmt: skip
            assert problem(answer)[0] in (400, 404)

    async def test_an_owner_gives_its_agent_a_new_key(self, platform: Any, problem: Any, revoked_subject: str) -> None:
        _, key = await made(platform)
        agent, old = platform.agent()
        path = f"/api/owners/me/agents/{agent}/keys"
        assert problem(await platform.send("POST", path, json={}, headers=key)) == (404, "not_found")
        await claim(platform, key, old)
        answer = await platform.send("POST", path, json={}, headers=key)
        assert answer.status_code == 201
        assert problem(await platform.send("GET", "/api/agents/me", headers=old)) == (401, "unauthorized")
        assert (revoked_subject, hash_of(old["Authorization"][7:]).encode()) in platform.bus.published
        new = {"Authorization": f"Bearer {answer.json()['api_key']}"}
        assert (await platform.send("GET", "/api/agents/me", headers=new)).status_code == 200

    @pytest.mark.parametrize("agent", ["agent-1", "a%00b", "%ED%A0%80"])
    async def test_an_agent_that_cannot_be_is_not_found(self, platform: Any, problem: Any, agent: str) -> None:
        _, key = await made(platform)
        path = f"/api/owners/me/agents/{agent}"
        assert problem(await platform.send("DELETE", path, headers=key)) == (404, "not_found")
        assert problem(await platform.send("POST", f"{path}/keys", json={}, headers=key)) == (404, "not_found")

    async def test_the_operator_sees_the_contact_and_others_do_not(self, platform: Any) -> None:
        owner, key = await made(platform, contact="ada@example.org")
        agent, agents_key = platform.agent()
        await claim(platform, key, agents_key)
        (listed,) = (await platform.send("GET", "/api/admin/agents", headers=platform.operator)).json()["agents"]
        assert listed["owner"] == {"id": owner["id"], "name": "Ada", "contact": "ada@example.org"}
        for path in ("/api/agents", f"/api/agents/{agent}", "/api/agents/me", "/api/leaderboard"):
            answer = await platform.send("GET", path, headers=agents_key)
            assert answer.status_code == 200
            assert b"example.org" not in answer.content


class TestRecovery:
    async def test_a_code_works_once_and_voids_the_old_key(
        self, platform: Any, problem: Any, revoked_subject: str
    ) -> None:
        owner, old = await made(platform)
        code = owner["recovery_codes"][3]
        answer = await recover(platform, owner["id"], f" {code.upper()} ")
        assert answer.status_code == 200
        assert answer.json().keys() == {"owner_key", "codes_left"}
        assert answer.json()["codes_left"] == RECOVERY_CODES - 1
        assert problem(await platform.send("GET", "/api/owners/me", headers=old)) == (401, "unauthorized")
        assert (revoked_subject, hash_of(owner["owner_key"]).encode()) in platform.bus.published
        assert problem(await recover(platform, owner["id"], code)) == (401, "unauthorized")
        new = {"Authorization": f"Bearer {answer.json()['owner_key']}"}
        assert (await platform.send("GET", "/api/owners/me", headers=new)).status_code == 200

    async def test_all_wrong_pairs_are_answered_alike(self, platform: Any, problem: Any) -> None:
        owner, _ = await made(platform)
        other, _ = await made(platform, "Bob")
        code = owner["recovery_codes"][0]
        wrong = [
            await recover(platform, *pair)
            for pair in (
                (owner["id"], "wrong"), (NOBODY, "wrong"), (other["id"], code), (NOBODY, code), ("agent-1", code),
                ("\u0000", code), ("x" * 64, code),
            )
        ]  # fmt: skip
        assert {problem(one) for one in wrong} == {(401, "unauthorized")}
        assert len({one.content for one in wrong}) == 1
        assert (await recover(platform, owner["id"], code)).status_code == 200

    @pytest.mark.parametrize("exists", [True, False])
    async def test_tries_are_limited_by_owner(self, platform: Any, problem: Any, exists: bool) -> None:
        owner, _ = await made(platform)
        name = owner["id"] if exists else NOBODY
        tries = [await recover(platform, name, "wrong") for _ in range(RECOVERY_TRIES + 1)]
        assert [one.status_code for one in tries] == [401] * RECOVERY_TRIES + [429]
        assert int(tries[-1].headers["retry-after"]) <= RECOVERY_LOCK_SECONDS <= 3600
        other, _ = await made(platform, "Bob")
        assert (await recover(platform, other["id"], other["recovery_codes"][0])).status_code == 200

    async def test_who_knows_the_codes_is_not_locked_by_using_them(self, platform: Any) -> None:
        owner, _ = await made(platform)
        for code in owner["recovery_codes"]:
            assert (await recover(platform, owner["id"], "wrong")).status_code == 401
            assert (await recover(platform, owner["id"], code)).status_code == 200

    async def test_tries_are_limited_by_address(self, make_platform: Any, problem: Any) -> None:
        platform = make_platform(recovery_limit="3/60", trusted_proxies="127.0.0.1")
        owner, _ = await made(platform)
        tries = [await recover(platform, f"{NOBODY}{n}"[:64], "wrong", **OUTSIDE) for n in range(4)]
        assert [one.status_code for one in tries] == [401, 401, 401, 429]
        assert (await recover(platform, owner["id"], owner["recovery_codes"][0])).status_code == 200


class TestKeys:
    @pytest.mark.parametrize("route", OF_AGENTS, ids=lambda one: one.name)
    async def test_an_owners_key_takes_no_seat(self, platform: Any, problem: Any, game: str, route: Any) -> None:
        _, key = await made(platform)
        path = route.path.replace("{id}", game)
        answer = await platform.send(route.method, path, headers=key, **({"json": {}} if route.request else {}))
        assert problem(answer) == (403, "not_a_participant")
        assert not platform.bus.calls

    @pytest.mark.parametrize("route", OF_SESSIONS, ids=lambda one: one.name)
    async def test_an_owners_key_opens_no_session(self, platform: Any, problem: Any, game: str, route: Any) -> None:
        _, key = await made(platform)
        path = route.path.replace("{id}", game)
        answer = await platform.send(route.method, path, headers=key, **({"json": {}} if route.request else {}))
        assert problem(answer) == (401, "unauthorized")
        assert not platform.bus.calls

    @pytest.mark.parametrize("route", OF_OWNERS, ids=lambda one: one.name)
    async def test_only_an_owners_key_opens_the_routes_of_owners(self, platform: Any, problem: Any, route: Any) -> None:
        _, agent = platform.agent()
        visitor = (await platform.send("POST", "/api/visitors", json={})).json()
        for headers in ({}, agent, platform.operator, {"Authorization": f"Bearer {visitor['token']}"}):
            answer = await platform.send(
                route.method, route.path, headers=headers, **({"json": {}} if route.request else {})
            )
            assert problem(answer) == (401, "unauthorized")

    async def test_an_owner_reads_what_everybody_reads(self, platform: Any) -> None:
        _, key = await made(platform)
        assert (await platform.send("GET", "/api/agents", headers=key)).status_code == 200

    async def test_requests_of_an_owner_are_limited_like_those_of_an_agent(self, make_platform: Any) -> None:
        platform = make_platform(rate_limit="3/60")
        _, key = await made(platform)
        sent = [await platform.send("GET", "/api/owners/me", headers=key) for _ in range(4)]
        assert [one.status_code for one in sent] == [200, 200, 200, 429]
