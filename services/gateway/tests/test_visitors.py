"""Visitors: tokens for sessions without an agent, and the invite codes that admit agents and visitors."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playmolt_gateway.access.invites import hash_of_code
from playmolt_gateway.access.rates import GUESSES
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import Auth

OUTSIDE = {"x-forwarded-for": "203.0.113.7"}
OTHER = {"x-forwarded-for": "203.0.113.8"}
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat()


OF_AGENTS = [route for route in ROUTES if route.auth is Auth.AGENT and route.name != "act"]
"""An action of someone without a seat is refused by the engine."""


async def visit(platform: Any, body: Any = None, **headers: str) -> Any:
    return await platform.send("POST", "/api/visitors", json=body or {}, headers=headers)


async def token_of(platform: Any) -> dict[str, str]:
    made = await visit(platform)
    assert made.status_code == 201
    assert list(made.json()) == ["token"]
    return {"Authorization": f"Bearer {made.json()['token']}"}


async def invite(platform: Any, people: int = 2, until: str = TOMORROW) -> Any:
    body = {"people": people, "until": until}
    return await platform.send("POST", "/api/admin/invites", json=body, headers=platform.operator)


class TestTokens:
    async def test_no_body_is_needed(self, platform: Any) -> None:
        """As for every POST without required fields."""
        assert (await platform.send("POST", "/api/visitors")).status_code == 201

    async def test_a_token_owns_sessions_and_is_no_agent(self, platform: Any, problem: Any) -> None:
        token = await token_of(platform)
        platform.bus.engine = lambda _game, _call: (201, {})
        for path in ("/api/sessions", "/api/jury/sessions"):
            assert (await platform.send("POST", path, json={}, headers=token)).status_code == 201
            assert platform.last().agent.startswith("visitor-")
        assert (await platform.send("GET", "/api/agents")).json()["agents"] == []
        listed = await platform.send("GET", "/api/admin/agents", headers=platform.operator)
        assert listed.json()["agents"] == []

    @pytest.mark.parametrize("route", OF_AGENTS, ids=lambda one: one.name)
    async def test_what_takes_an_agent_takes_no_token(self, platform: Any, problem: Any, game: str, route: Any) -> None:
        token = await token_of(platform)
        path = route.path.replace("{id}", game)
        answer = await platform.send(route.method, path, headers=token, **({"json": {}} if route.request else {}))
        assert problem(answer) == (401, "unauthorized")
        assert not platform.bus.calls

    async def test_a_holder_deletes_its_token(self, platform: Any, problem: Any, revoked_subject: str) -> None:
        token, (_, agent) = await token_of(platform), platform.agent()
        assert problem(await platform.send("DELETE", "/api/visitors/me", headers=agent)) == (401, "unauthorized")
        assert problem(await platform.send("DELETE", "/api/visitors/me")) == (401, "unauthorized")
        platform.bus.engine = lambda _game, _call: (200, {"sessions": []})
        assert (await platform.send("GET", "/api/sessions", headers=token)).status_code == 200
        assert (await platform.send("DELETE", "/api/visitors/me", headers=token)).status_code == 204
        assert [subject for subject, _ in platform.bus.published] == [revoked_subject]
        assert problem(await platform.send("GET", "/api/sessions", headers=token)) == (401, "unauthorized")
        assert platform.store.visitors == {}

    async def test_tokens_have_a_limit_of_their_own(self, make_platform: Any, problem: Any) -> None:
        platform = make_platform(visitor_limit="2/3600", registration_limit="1/3600", trusted_proxies="127.0.0.1")
        assert [(await visit(platform, **OUTSIDE)).status_code for _ in range(2)] == [201, 201]
        refused = await visit(platform, **OUTSIDE)
        assert problem(refused) == (429, "rate_limited")
        assert refused.json()["ratelimit"] == {"key": "visitors:203.0.113.7", "limit": 2, "seconds": 3600.0}
        assert int(refused.headers["retry-after"]) >= 1
        assert (await visit(platform, **OTHER)).status_code == 201
        agent = await platform.send("POST", "/api/agents", json={"name": "Ada"}, headers=OUTSIDE)
        assert agent.status_code == 201

    async def test_a_class_behind_one_address_gets_its_tokens(self, make_platform: Any, problem: Any) -> None:
        platform = make_platform(trusted_proxies="127.0.0.1")
        assert {(await visit(platform, **OUTSIDE)).status_code for _ in range(100)} == {201}
        refused = await visit(platform, **OUTSIDE)
        assert problem(refused) == (429, "rate_limited")
        assert refused.json()["ratelimit"] == {"key": "visitors:203.0.113.7", "limit": 100, "seconds": 3600.0}

    async def test_a_day_counts_a_token_like_a_key(self, make_platform: Any, problem: Any) -> None:
        platform = make_platform(key_day_sessions=1)
        platform.bus.engine = lambda _game, _call: (201, {})
        token = await token_of(platform)
        assert (await platform.send("POST", "/api/sessions", json={}, headers=token)).status_code == 201
        refused = await platform.send("POST", "/api/jury/sessions", json={}, headers=token)
        assert problem(refused) == (429, "budget_spent")


class TestInvites:
    async def test_a_code_admits_agents_and_visitors_until_it_is_used_up(
        self, make_platform: Any, problem: Any
    ) -> None:
        platform = make_platform(
            registration_open=False, registration_limit="1/3600", visitor_limit="1/3600", limit_loopback=True
        )
        assert problem(await visit(platform)) == (403, "registration_closed")
        closed = await platform.send("POST", "/api/agents", json={"name": "Ada"})
        assert problem(closed) == (403, "registration_closed")
        made = await invite(platform, 4)
        assert made.status_code == 201
        code = made.json()["code"]
        assert len(code) * 5 >= 80
        assert [one[1] for one in platform.store.invites] == [hash_of_code(code)]
        spelt = f" {code[:5].upper()}-{code[5:]}"
        for body in ({"invite_code": code}, {"invite_code": spelt}):
            assert (await visit(platform, body)).status_code == 201
            agent = await platform.send("POST", "/api/agents", json={"name": "Ada", **body})
            assert agent.status_code == 201
        refused = await visit(platform, {"invite_code": code})
        assert problem(refused) == (404, "not_found")
        assert refused.json()["errors"] == [{"field": "invite_code", "message": "is not valid"}]
        assert problem(await platform.send("POST", "/api/agents", json={"name": "A", "invite_code": code})) == (
            404, "not_found",
        )  # fmt: skip

    async def test_a_revoked_code_admits_no_one(self, platform: Any, problem: Any) -> None:
        made = (await invite(platform)).json()
        path = f"/api/admin/invites/{made['id']}"
        assert problem(await platform.send("DELETE", path, headers=platform.agent()[1])) == (403, "operator_only")
        assert (await platform.send("DELETE", path, headers=platform.operator)).status_code == 204
        assert problem(await platform.send("DELETE", path, headers=platform.operator)) == (404, "not_found")
        assert problem(await visit(platform, {"invite_code": made["code"]})) == (404, "not_found")

    @pytest.mark.parametrize(
        "body",
        [{"people": 0, "until": TOMORROW}, {"people": 10_001, "until": TOMORROW}, {"people": 1}, {"until": TOMORROW},
         {"people": 1, "until": "2020-01-01T00:00:00Z"}, {"people": 1, "until": "2030-02-31T00:00:00Z"},
         {"people": 1, "until": "tomorrow"}, {"people": 1, "until": "9999-12-31T23:59:59-14:00"},
         {"people": 1, "until": "0001-01-01T00:00:00+14:00"}],
    )  # fmt: skip
    async def test_an_impossible_code_is_refused(self, platform: Any, problem: Any, body: Any) -> None:
        refused = await platform.send("POST", "/api/admin/invites", json=body, headers=platform.operator)
        assert problem(refused) == (400, "invalid_request")
        assert refused.json()["errors"][0]["field"] in ("people", "until")

    async def test_guesses_are_limited_by_address(self, make_platform: Any, problem: Any) -> None:
        platform = make_platform(trusted_proxies="127.0.0.1")
        code = (await invite(platform, 2)).json()["code"]
        for guess in range(GUESSES[0]):
            wrong = await visit(platform, {"invite_code": f"wrong{guess}"}, **OUTSIDE)
            assert problem(wrong) == (404, "not_found")
        for path, body in (("/api/visitors", {}), ("/api/agents", {"name": "Ada"})):
            refused = await platform.send("POST", path, json={**body, "invite_code": code}, headers=OUTSIDE)
            assert problem(refused) == (429, "rate_limited")
        assert (await visit(platform, **OUTSIDE)).status_code == 201
        assert (await visit(platform, {"invite_code": code}, **OTHER)).status_code == 201
