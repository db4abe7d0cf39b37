"""Sign-in over HTTP: cookies, states, sessions and what they open; with the provider of the tests' own."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest
from playmolt_core.db.accounts import Owner
from playmolt_core.db.moderation import Ban
from playmolt_core.db.owners import OwnerAccount
from playmolt_core.db.sign_ins import ATTEMPT_SECONDS, IDLE_SECONDS, SignInAccount
from playmolt_core.settings import InvalidSettings, all_settings, from_environment, sound, variables
from playmolt_gateway.access.auth import hash_of, new_owner_key
from playmolt_gateway.access.rates import SIGN_IN_STEPS
from playmolt_gateway.routes.sign_in import DETAILS
from playmolt_gateway.settings import GatewaySettings
from playmolt_gateway.signin.attempts import UNNAMED, SignInFault, own_path, owner_name
from playmolt_gateway.signin.sign_in import registration_of
from playmolt_schemas.skill import PageLanguage, page_texts

from services.gateway.tests.conftest import Platform
from services.gateway.tests.signin.own_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    RSA,
    OwnProvider,
    own_provider,
    public,
)
from services.gateway.tests.signin.sign_ins_contract import CONTRACT, AgeingSignIns, key, session
from services.gateway.tests.signin.twin_sign_ins import TwinSignIns

PUBLIC = "http://127.0.0.1:8123"
HTTPS = "https://arena.example"
HTML = {"accept": "text/html"}
Problem = Callable[[httpx.Response], tuple[int, str]]


@pytest.fixture(scope="module")
def server() -> Iterator[OwnProvider]:
    with own_provider() as provider:
        yield provider


@pytest.fixture
def own(server: OwnProvider) -> OwnProvider:
    server.__init__(server.issuer)  # type: ignore[misc]
    return server


def settings_of(own: OwnProvider, **changes: Any) -> dict[str, Any]:
    return {
        "public_url": PUBLIC,
        "oidc_issuer": own.issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
        **changes,
    }


@pytest.fixture
def platform(own: OwnProvider) -> Platform:
    return Platform(**settings_of(own))


class Browser:
    """A browser at a gateway: it keeps cookies, and follows no redirect by itself."""

    def __init__(self, platform: Platform, base: str = PUBLIC) -> None:
        transport = httpx.ASGITransport(app=platform.gateway, raise_app_exceptions=True)
        self.client = httpx.AsyncClient(transport=transport, base_url=base)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.get(path, **options)

    async def leave(self, path: str = "/auth/login", **options: Any) -> str:
        """Go to the provider; the address of its login page."""
        answer = await self.get(path, **options)
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    async def come_back(self, own: OwnProvider, login: str, **options: Any) -> httpx.Response:
        _, _, headers = own.authorize(dict(parse_qsl(urlsplit(login).query)))
        back = urlsplit(headers["location"])
        return await self.get(f"{back.path}?{back.query}", **options)

    async def sign_in(self, own: OwnProvider, path: str = "/auth/login", **options: Any) -> httpx.Response:
        return await self.come_back(own, await self.leave(path, **options))

    async def signed_in(self) -> dict[str, Any] | None:
        answer = await self.get("/auth/session")
        return None if answer.status_code == 401 else cast("dict[str, Any]", answer.json())

    def session(self) -> str | None:
        return next((c.value for c in self.client.cookies.jar if c.name.endswith("playmolt")), None)


async def test_a_person_signs_in_and_out(platform: Platform, own: OwnProvider) -> None:
    browser = Browser(platform)
    done = await browser.sign_in(own)
    assert (done.status_code, done.headers["location"]) == (302, f"{PUBLIC}/me")
    signed = await browser.signed_in()
    assert signed is not None
    assert signed["owner"]["name"] == "Ada"
    assert len(signed["csrf"]) >= 40
    forged = await browser.client.post("/auth/logout")
    assert forged.status_code == 403
    headers = {"origin": PUBLIC, "x-csrf-token": signed["csrf"]}
    token = browser.session()
    out = await browser.client.post("/auth/logout", headers=headers)
    assert out.status_code == 204
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert await browser.signed_in() is None
    browser.client.cookies.set("playmolt", str(token))
    assert await browser.signed_in() is None, "the session did not end at the server"
    assert (await browser.client.post("/auth/logout")).status_code == 204


async def test_the_browser_of_a_banned_owner_reads_and_erases_its_account_alone(
    platform: Platform, own: OwnProvider, problem: Problem
) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    signed = await browser.signed_in()
    assert signed is not None
    owner_id = signed["owner"]["id"]
    platform.moderation.in_force[owner_id] = Ban(owner_id, None)
    headers = {"origin": PUBLIC, "x-csrf-token": signed["csrf"]}
    for path in ("codes", "agents", "claims"):
        answer = await browser.client.post(f"/api/owners/me/{path}", json={}, headers=headers)
        assert problem(answer) == (403, "banned")
        assert answer.json()["until"] is None
    del platform.moderation.in_force[owner_id]
    assert (await browser.client.post("/api/owners/me/claims", json={}, headers=headers)).status_code == 400


async def test_each_sign_in_has_a_new_session(platform: Platform, own: OwnProvider) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    first, known = browser.session(), await browser.signed_in()
    await browser.sign_in(own)
    second, again = browser.session(), await browser.signed_in()
    assert known is not None
    assert again is not None
    assert first != second
    assert known["csrf"] != again["csrf"]
    assert known["owner"] == again["owner"]
    old = Browser(platform)
    old.client.cookies.set("playmolt", str(first))
    assert await old.signed_in() is None


@pytest.mark.parametrize(("public", "name"), [(PUBLIC, "playmolt"), (HTTPS, "__Host-playmolt")])
async def test_the_cookies(own: OwnProvider, public: str, name: str) -> None:
    browser = Browser(Platform(**settings_of(own, public_url=public)), public)
    login = await browser.get("/auth/login")
    done = await browser.come_back(own, login.headers["location"])
    for answer, cookie, age in ((login, f"{name}-sign-in", ATTEMPT_SECONDS), (done, name, 30 * 86_400)):
        pair, *attributes = answer.headers["set-cookie"].split("; ")
        assert pair.partition("=")[0] == cookie
        wanted = {"Path=/", f"Max-Age={age}", "HttpOnly", "SameSite=Lax"} | ({"Secure"} if public == HTTPS else set())
        assert set(attributes) == wanted
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


async def test_the_address_to_come_back_to_is_the_configured_one(platform: Platform) -> None:
    browser = Browser(platform, "http://evil.example")
    login = await browser.leave(headers={"host": "evil.example", "x-forwarded-host": "evil.example"})
    assert parse_qs(urlsplit(login).query)["redirect_uri"] == [f"{PUBLIC}/auth/callback"]


NOT_OURS = (
    "https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example", "javascript:x",
    "/ /evil.example", "me", "", "http:/me", "/auth/logout", "/auth/login?next=/me", "/é", f"/{'a' * 3_000}",
    "/\r\nx: y", "///evil.example", " /me",
)  # fmt: skip


@pytest.mark.parametrize("wanted", NOT_OURS)
async def test_only_a_path_of_our_own_is_opened(platform: Platform, own: OwnProvider, wanted: str) -> None:
    browser = Browser(platform)
    answer = await browser.get("/auth/login", params={"next": wanted})
    done = await browser.come_back(own, answer.headers["location"])
    assert done.headers["location"] == f"{PUBLIC}/me"


@pytest.mark.parametrize("wanted", ["/", "/me?lang=ko", "/watch/ox-1?v=2#x", "/tournaments/a?b=//c"])
async def test_a_path_of_our_own_is_kept(platform: Platform, own: OwnProvider, wanted: str) -> None:
    browser = Browser(platform)
    answer = await browser.get("/auth/login", params={"next": wanted, "utm_source": "x"})
    done = await browser.come_back(own, answer.headers["location"])
    assert done.headers["location"] == f"{PUBLIC}{wanted}"
    assert own_path(wanted) == wanted


async def test_a_state_is_good_once(platform: Platform, own: OwnProvider, problem: Problem) -> None:
    browser = Browser(platform)
    login = await browser.leave()
    _, _, headers = own.authorize(dict(parse_qsl(urlsplit(login).query)))
    back = headers["location"].removeprefix(PUBLIC)
    first, second = await asyncio.gather(browser.get(back), browser.get(back))
    assert {first.status_code, second.status_code} == {302, 400}
    again = await browser.come_back(own, login)
    assert problem(again) == (400, "invalid_request")
    assert "set-cookie" not in again.headers


async def test_a_state_of_another_browser_is_refused(platform: Platform, own: OwnProvider, problem: Problem) -> None:
    mine, other = Browser(platform), Browser(platform)
    login = await mine.leave()
    assert problem(await other.come_back(own, login)) == (400, "invalid_request")
    await other.leave()
    assert problem(await other.come_back(own, login)) == (400, "invalid_request")
    assert other.session() is None
    assert (await mine.come_back(own, login)).status_code == 302, "the other browser used it up"


async def test_two_tabs_of_a_browser_finish_both(platform: Platform, own: OwnProvider) -> None:
    browser = Browser(platform)
    first, second = await browser.leave("/auth/login?next=/games"), await browser.leave("/auth/login?next=/legal")
    assert (await browser.come_back(own, second)).headers["location"] == f"{PUBLIC}/legal"
    assert (await browser.come_back(own, first)).headers["location"] == f"{PUBLIC}/games"


async def test_a_state_ends_after_ten_minutes(platform: Platform, own: OwnProvider, problem: Problem) -> None:
    browser = Browser(platform)
    login = await browser.leave()
    await platform.sign_ins.age(ATTEMPT_SECONDS + 1)
    assert problem(await browser.come_back(own, login)) == (400, "invalid_request")


@pytest.mark.parametrize("query", ["", "state=x&code=y", f"state={'a' * 43}&code=y", "code=y", "state=&code="])
async def test_an_unknown_state_is_refused(platform: Platform, own: OwnProvider, query: str, problem: Problem) -> None:
    browser = Browser(platform)
    await browser.leave()
    assert problem(await browser.get(f"/auth/callback?{query}")) == (400, "invalid_request")
    assert "/token" not in own.requests


@pytest.mark.parametrize(
    "code", ["", "\x00", "a b&c=d", "é漢\U0001f600", "%", "+", "%ff", "x" * 5_000, "a;b", "\r\nx: y"]
)
async def test_a_code_of_any_form_is_the_providers_to_refuse(
    platform: Platform, own: OwnProvider, code: str, problem: Problem
) -> None:
    browser = Browser(platform)
    login = await browser.leave()
    state = parse_qs(urlsplit(login).query)["state"][0]
    answer = await browser.get("/auth/callback", params={"state": state, "code": code, "iss": own.issuer})
    assert problem(answer) == (401, "unauthorized")


async def test_a_provider_that_refuses(platform: Platform, own: OwnProvider, problem: Problem) -> None:
    browser = Browser(platform)
    own.callback = {"code": "", "error": "access_denied", "error_description": "<b>no</b>"}
    answer = await browser.sign_in(own)
    assert problem(answer) == (401, "unauthorized")
    assert "<b>" not in answer.text
    own.callback = {"error": "access_denied"}
    assert (await browser.sign_in(own)).status_code == 401, "a code beside an error was used"


WRONG: dict[str, tuple[Callable[[OwnProvider], Any], int]] = {
    "another audience": (lambda own: own.claims.update(aud="other"), 401),
    "another nonce": (lambda own: own.claims.update(nonce="other"), 401),
    "expired": (lambda own: own.claims.update(exp=1), 401),
    "two keys and no id": (
        lambda own: (
            own.keys.append(public(RSA, kid="x")),
            setattr(own, "keys", [{**k, "kid": None} for k in own.keys]),
        ),
        401,
    ),
    "a failing provider": (lambda own: own.answers.update({"/token": (500, b"", {})}), 503),
    "a provider that comes back as another": (lambda own: own.callback.update(iss="https://evil.example"), 401),
}


@pytest.mark.parametrize(("wrong", "status"), WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_answer_opens_no_session(
    platform: Platform, own: OwnProvider, wrong: Callable[[OwnProvider], Any], status: int
) -> None:
    wrong(own)
    browser = Browser(platform)
    answer = await browser.sign_in(own)
    assert answer.status_code == status
    assert browser.session() is None
    assert not platform.sign_ins.owners
    page = await Browser(platform).sign_in(own)
    assert page.status_code == status


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_every_fault_has_its_words(language: PageLanguage) -> None:
    texts = page_texts(language)
    assert {fault.text for fault in SignInFault} == {
        name.removeprefix("me.fault.") for name in texts if name.startswith("me.fault.")
    }
    assert set(DETAILS) == set(SignInFault)


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
async def test_a_browser_gets_a_page_in_its_language(platform: Platform, own: OwnProvider, language: str) -> None:
    browser = Browser(platform)
    own.claims = {"aud": "other"}
    headers = {**HTML, "accept-language": language}
    answer = await browser.come_back(own, await browser.leave(headers=headers), headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert f'<html lang="{language}">' in answer.text
    assert '<meta name="sign-in-fault" content="token">' in answer.text
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    own.metadata = {"issuer": "https://other.example"}
    away = await Browser(Platform(**settings_of(own))).get("/auth/login", headers=headers)
    assert away.status_code == 503
    assert '<meta name="sign-in-fault" content="provider">' in away.text


async def test_people_of_one_address_take_so_many_steps(own: OwnProvider, problem: Problem) -> None:
    platform = Platform(**settings_of(own, limit_loopback=True))
    platform.store.buckets["sign-ins:127.0.0.1"] = SIGN_IN_STEPS[0]
    answer = await Browser(platform).get("/auth/login")
    assert problem(answer) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["ratelimit"]["limit"] == SIGN_IN_STEPS[0]
    page = await Browser(platform).get("/auth/callback", headers=HTML)
    assert (page.status_code, page.headers["retry-after"]) == (429, answer.headers["retry-after"])


async def test_a_first_sign_in_counts_as_an_owner_of_its_address(own: OwnProvider, problem: Problem) -> None:
    platform = Platform(**settings_of(own, limit_loopback=True, registration_limit="1/3600"))
    assert (await Browser(platform).sign_in(own)).status_code == 302
    own.subject = "person-2"
    assert problem(await Browser(platform).sign_in(own)) == (429, "rate_limited")
    assert (await Browser(platform).sign_in(own, headers=HTML)).status_code == 429
    own.subject = "person-1"
    assert (await Browser(platform).sign_in(own)).status_code == 302, "who has an owner makes none"


def owner_in(platform: Platform, name: str = "Keyed") -> tuple[str, dict[str, str]]:
    """An owner by key, in both twins."""
    key, owner = new_owner_key(), f"owner-{len(platform.sign_ins.owners):08d}-1111-4000-8000-000000000000"
    platform.sign_ins.owners[owner] = name
    callers = platform.store.callers

    async def with_owner(hashes: Any) -> Any:
        found = await callers(hashes)
        return found | ({hash_of(key): Owner(owner, name)} if hash_of(key) in hashes else {})

    platform.store.callers = with_owner  # type: ignore[method-assign]
    return owner, {"authorization": f"Bearer {key}"}


async def test_an_owner_by_key_joins_an_account(platform: Platform, own: OwnProvider, problem: Problem) -> None:
    owner, key = owner_in(platform)
    browser = Browser(platform)
    answer = await browser.get("/auth/login?next=/me", headers={**key, "accept": "application/json"})
    assert answer.status_code == 200
    await browser.come_back(own, answer.json()["url"])
    signed = await browser.signed_in()
    assert signed is not None
    assert signed["owner"] == {"id": owner, "name": "Keyed"}
    without = Browser(platform)
    await without.sign_in(own)
    assert (await without.signed_in() or {})["owner"]["id"] == owner
    _, other = owner_in(platform)
    assert problem(await Browser(platform).sign_in(own, headers=other)) == (409, "already_claimed")


async def test_a_sign_in_is_listed_and_removed(platform: Platform, own: OwnProvider, problem: Problem) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    signed = await browser.signed_in()
    assert signed is not None
    platform.store.owners.accounts[signed["owner"]["id"]] = OwnerAccount(**signed["owner"], contact=None)
    await platform.sign_ins.join(SignInAccount(own.issuer, "thief"), signed["owner"]["id"], session("thief"))
    me = (await browser.get("/api/owners/me")).json()
    assert [(one["issuer"], sorted(one)) for one in me["sign_ins"]] == [(own.issuer, ["at", "id", "issuer"])] * 2
    mine, foreign = (f"/api/owners/me/sign-ins/{one['id']}" for one in me["sign_ins"])
    headers = {"origin": PUBLIC, "x-csrf-token": signed["csrf"]}
    assert (await browser.client.delete(foreign)).status_code == 403, "without the token of the session"
    assert (await browser.client.delete(foreign, headers=headers)).status_code == 204
    assert problem(await browser.client.delete(foreign, headers=headers)) == (404, "not_found")
    assert await platform.sign_ins.session(key("thief")) is None
    assert problem(await browser.client.delete(mine, headers=headers)) == (409, "only_way")
    for unknown in ("0", "A" * 36, "%00", "00000000-0000-4000-8000-000000000000"):
        answer = await browser.client.delete(f"/api/owners/me/sign-ins/{unknown}", headers=headers)
        assert problem(answer) == (404, "not_found")
    assert len((await browser.get("/api/owners/me")).json()["sign_ins"]) == 1


async def test_other_keys_cannot_join(platform: Platform, problem: Problem) -> None:
    _, agent = platform.agent()
    assert problem(await Browser(platform).get("/auth/login", headers=agent)) == (401, "unauthorized")
    wrong = {"authorization": "Bearer pmo_wrong"}
    assert problem(await Browser(platform).get("/auth/login", headers=wrong)) == (401, "unauthorized")


OPENED = ("/api/agents/me", "/api/agents/me/turn", "/api/sessions", "/api/admin/games", "/api/jury/sessions")


@pytest.mark.parametrize("path", OPENED)
async def test_a_cookie_opens_no_other_call(platform: Platform, own: OwnProvider, path: str, problem: Problem) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    signed = await browser.signed_in()
    assert signed is not None
    headers = {"origin": PUBLIC, "x-csrf-token": signed["csrf"]}
    assert problem(await browser.get(path, headers=headers)) == (401, "unauthorized")
    joined = await browser.client.post("/api/games/join", json={"gameType": "ox"}, headers=headers)
    assert problem(joined) == (401, "unauthorized")


async def test_a_cookie_opens_no_tool(platform: Platform, own: OwnProvider) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    signed = await browser.signed_in()
    assert signed is not None
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "join", "arguments": {"gameType": "ox"}},
    }
    headers = {"origin": PUBLIC, "x-csrf-token": signed["csrf"], "accept": "application/json, text/event-stream"}
    answer = await browser.client.post("/mcp", json=call, headers=headers)
    assert answer.json()["result"]["structuredContent"]["status"] == 401, answer.text


async def test_the_session_is_read_with_no_other_origin(platform: Platform, own: OwnProvider) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    for path in ("/auth/session", "/me"):
        answer = await browser.get(path, headers={"origin": "https://evil.example"})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
        assert "cookie" in answer.headers["vary"].lower()
        assert answer.headers["cache-control"] == "no-store"


FORGED: dict[str, dict[str, str]] = {
    "no token": {"origin": PUBLIC},
    "no origin": {"x-csrf-token": "TOKEN"},
    "another origin": {"origin": "https://evil.example", "x-csrf-token": "TOKEN"},
    "another port": {"origin": "http://127.0.0.1:9", "x-csrf-token": "TOKEN"},
    "another scheme": {"origin": "https://127.0.0.1:8123", "x-csrf-token": "TOKEN"},
    "an origin that is null": {"origin": "null", "x-csrf-token": "TOKEN"},
    "a wrong token": {"origin": PUBLIC, "x-csrf-token": "wrong"},
    "an empty token": {"origin": PUBLIC, "x-csrf-token": ""},
    "a token in other letters": {"origin": PUBLIC, "x-csrf-token": "TOKENé"},
}


@pytest.mark.parametrize("headers", FORGED.values(), ids=FORGED.keys())
async def test_a_forged_call_changes_nothing(
    platform: Platform, own: OwnProvider, headers: dict[str, str], problem: Problem
) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    signed = await browser.signed_in()
    assert signed is not None
    sent = [(name, value.replace("TOKEN", signed["csrf"]).encode()) for name, value in headers.items()]
    assert problem(await browser.client.post("/auth/logout", headers=sent)) == (403, "foreign_origin")
    assert await browser.signed_in() is not None


@pytest.mark.parametrize(
    "cookie", ["playmolt=x", "playmolt=", f"playmolt={'a' * 43}", "playmolt", "=;;=;playmolt=\x7f"]
)
async def test_a_cookie_that_is_none_of_ours_is_no_session(platform: Platform, cookie: str) -> None:
    answer = await Browser(platform).get("/auth/session", headers={"cookie": cookie})
    assert answer.status_code == 401
    assert (await Browser(platform).get("/me", headers={"cookie": cookie})).status_code == 200


async def test_a_cookie_sent_twice_is_no_session(platform: Platform, own: OwnProvider) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    token = browser.session()
    twice = f"playmolt={token}; playmolt={'b' * 43}"
    assert (await Browser(platform).get("/auth/session", headers={"cookie": twice})).status_code == 401


async def test_a_session_ends_without_use(platform: Platform, own: OwnProvider) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    await platform.sign_ins.age(IDLE_SECONDS - 1)
    assert await browser.signed_in() is not None
    await platform.sign_ins.age(IDLE_SECONDS)
    assert await browser.signed_in() is None


async def test_postgres_is_away(platform: Platform, own: OwnProvider, problem: Problem) -> None:
    browser = Browser(platform)
    await browser.sign_in(own)
    login = await browser.leave()
    platform.sign_ins.failing = True
    assert problem(await browser.get("/auth/session")) == (503, "unavailable")
    assert problem(await browser.get("/auth/login")) == (503, "unavailable")
    assert problem(await browser.come_back(own, login)) == (503, "unavailable")
    assert (await browser.get("/me", headers=HTML)).status_code == 503
    platform.sign_ins.failing = False
    assert (await browser.come_back(own, login)).status_code == 302, "the failed try used it up"


NAMES = (
    (("Ada",), "Ada"), (("",), UNNAMED), (("a" * 50,), "a" * 40), (("\x00bad", "ada"), "ada"),
    (("\u202eada",), UNNAMED), (("   ", "ada"), "ada"), (("김" * 41,), "김" * 40), ((), UNNAMED), (("e\u0301",), "é"),
    (("line\nbreak", "ok"), "ok"), (("\ud800", "ok"), "ok"), (("Slur", "ok"), "ok"), (("Slur",), UNNAMED),
)  # fmt: skip


@pytest.mark.parametrize(("names", "name"), NAMES)
def test_the_first_name_of_an_owner(names: tuple[str, ...], name: str) -> None:
    assert owner_name(names, "Slur".__eq__) == name


async def test_without_a_provider_there_is_no_sign_in(make_platform: Callable[..., Platform], problem: Problem) -> None:
    platform = make_platform()
    for method, path in (
        ("GET", "/auth/login"),
        ("GET", "/auth/callback"),
        ("POST", "/auth/logout"),
        ("GET", "/auth/session"),
    ):
        assert problem(await platform.send(method, path)) == (404, "not_found")
    page = await platform.send("GET", "/me", headers=HTML)
    assert page.status_code == 200
    assert '<meta name="sign-in" content="">' in page.text


def test_without_a_provider_nothing_of_it_is_loaded() -> None:
    program = (
        "import sys, playmolt_gateway.__main__ as m; m.preload();"
        "print([name for name in sys.modules if name.partition('.')[0] in ('authlib', 'joserfc')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(ran.stdout) == []


SETTINGS = {
    "oidc_issuer": "https://accounts.example",
    "oidc_client_id": "arena",
    "oidc_client_secret": "secret",
    "public_url": "https://arena.example/",
}
PARTS: dict[str, tuple[dict[str, str], str]] = {
    "no secret": ({"oidc_client_secret": ""}, "PLAYMOLT_OIDC_CLIENT_SECRET"),
    "no id": ({"oidc_client_id": ""}, "PLAYMOLT_OIDC_CLIENT_ID"),
    "no issuer": ({"oidc_issuer": ""}, "PLAYMOLT_OIDC_ISSUER"),
    "no address": ({"public_url": ""}, "PLAYMOLT_PUBLIC_URL"),
    "an address without TLS": ({"public_url": "http://arena.example"}, "PLAYMOLT_PUBLIC_URL"),
    "a provider without TLS": ({"oidc_issuer": "http://accounts.example"}, "PLAYMOLT_OIDC_ISSUER"),
}


@pytest.mark.parametrize(("change", "name"), PARTS.values(), ids=PARTS.keys())
def test_a_part_of_the_settings_is_refused(change: dict[str, str], name: str) -> None:
    given = SETTINGS | change
    with pytest.raises(InvalidSettings, match=name):
        registration_of(GatewaySettings(**given))  # type: ignore[arg-type]
    environment = {variable: given[field] for field, (variable, _, _) in variables().items() if field in given}
    for kind in (GatewaySettings, all_settings()):
        with pytest.raises(InvalidSettings, match=f"^{name}: "):
            sound(from_environment(environment, kind=kind))


def test_the_settings_of_sign_in() -> None:
    made = registration_of(GatewaySettings(**SETTINGS))  # type: ignore[arg-type]
    assert made is not None
    assert made.redirect_uri == "https://arena.example/auth/callback"
    assert made.scopes == "openid profile"
    assert registration_of(GatewaySettings()) is None
    with pytest.raises(InvalidSettings, match="openid"):
        from_environment({"PLAYMOLT_OIDC_SCOPES": "profile email"}, kind=GatewaySettings)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_twin_keeps_the_contract(promise: Callable[[AgeingSignIns], Awaitable[None]]) -> None:
    await promise(TwinSignIns())
