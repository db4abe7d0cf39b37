"""The page /me: an owner by its key and by sign-in with a real provider, from the first visit to the erasure."""

import asyncio
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from playmolt.client import AsyncClient
from playmolt_cli.local.embedded import free_port
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESK, PHONE, Reader, answer
from tests.browser.real_provider import RealProvider, installed, real_provider
from tests.browser.test_access import faults
from tests.integration.platform.replica import Replica
from tests.integration.tournaments.conftest import PATIENT, SECONDS, Organizer, check, field
from tests.integration.tournaments.test_kills import strike
from tests.platforms import Stack

STANDINGS = Path(__file__).parents[2] / "docs" / "tournaments.md"
SECRET = "[data-secret]"
AXE = "axe-core@4.14.1"


def secrets(page: Page) -> list[str]:
    page.wait_for_selector("section[aria-labelledby=once]")
    return page.locator(SECRET).all_inner_texts()


def create(page: Page, name: str) -> tuple[str, str, list[str]]:
    """Make an owner in the page: its id, its key and its codes."""
    form = page.locator("section[aria-labelledby=create]")
    form.get_by_label("Name").fill(name)
    form.get_by_role("button", name="Create account").click()
    owner, key, *codes = secrets(page)
    assert len(codes) == 8
    return owner, key, codes


def saved(page: Page) -> None:
    page.get_by_role("button", name="I have saved it").click()
    expect(page.locator(SECRET)).to_have_count(0)


def test_an_owner_from_the_first_visit_to_the_erasure(reader: Reader, platform: str) -> None:
    page = reader("/me")
    owner, key, _ = create(page, "Ada & co")
    saved(page)
    expect(page.get_by_role("heading", name="Ada & co")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Ada & co")).to_be_visible()
    assert key not in page.content()

    form = page.locator("section[aria-labelledby=register]")
    form.get_by_label("Name").fill("bot-1")
    form.get_by_role("button", name="Register").click()
    (agents_key,) = secrets(page)
    saved(page)
    expect(page.get_by_role("link", name="bot-1")).to_be_visible()

    page.get_by_role("button", name="New key: bot-1").click()
    assert "bot-1" in answer(page, yes=True)
    (new_key,) = secrets(page)
    saved(page)
    assert httpx.get(f"{platform}/api/agents/me", headers=bearer(agents_key), timeout=SECONDS).status_code == 401
    me = httpx.get(f"{platform}/api/agents/me", headers=bearer(new_key), timeout=SECONDS).json()
    assert me["owner"]["id"] == owner

    page.get_by_role("button", name="Let go: bot-1").click()
    answer(page, yes=False)
    expect(page.get_by_role("link", name="bot-1")).to_be_visible()
    page.get_by_role("button", name="Let go: bot-1").click()
    answer(page, yes=True)
    expect(page.get_by_role("link", name="bot-1")).to_have_count(0)

    form = page.locator("section[aria-labelledby=claim]")
    form.get_by_label("Agent's key").fill(new_key)
    form.get_by_label("Agent's key").press("Enter")
    expect(page.get_by_role("link", name="bot-1")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="bot-1")).to_be_visible()

    page.get_by_role("button", name="Erase this account").click()
    assert "cannot be undone" in answer(page, yes=True)
    expect(page.get_by_text("The account has been erased.")).to_be_visible()
    assert httpx.get(f"{platform}/api/owners/me", headers=bearer(key), timeout=SECONDS).status_code == 401
    me = httpx.get(f"{platform}/api/agents/me", headers=bearer(new_key), timeout=SECONDS).json()
    assert me["owner"] is None
    assert page.evaluate("sessionStorage.getItem('playmolt.owner')") is None


def test_an_owner_sets_sees_and_removes_a_webhook(reader: Reader, platform: str) -> None:
    page = reader("/me")
    _, key, _ = create(page, "Hooked")
    saved(page)
    form = page.locator("section[aria-labelledby=webhook]")
    form.get_by_label("Server address").fill("http://10.0.0.1/")
    form.get_by_role("button", name="Set webhook").click()
    expect(form.get_by_text("not a public address")).to_be_visible()
    form.get_by_label("Server address").fill("http://127.0.0.1:9/hook")
    form.get_by_label("Their tournaments").uncheck()
    form.get_by_role("button", name="Set webhook").click()
    (secret,) = secrets(page)
    assert secret.startswith("whsec_")
    assert faults(page) == []
    saved(page)
    found = httpx.get(f"{platform}/api/owners/me/webhook", headers=bearer(key), timeout=SECONDS).json()
    assert found["events"] == ["turn", "game_over", "moderation"]
    expect(form.get_by_label("Server address")).to_have_value("http://127.0.0.1:9/hook")
    expect(form.get_by_label("Their tournaments")).not_to_be_checked()
    form.get_by_role("button", name="Show deliveries").click()
    expect(form.get_by_text("No deliveries yet.")).to_be_visible()
    form.get_by_role("button", name="Remove webhook").click()
    answer(page, yes=True)
    expect(page.get_by_text("The webhook has been removed.")).to_be_visible()
    assert httpx.get(f"{platform}/api/owners/me/webhook", headers=bearer(key), timeout=SECONDS).status_code == 404


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_code_recovers_and_new_codes_replace_the_old(reader: Reader, platform: str) -> None:
    first = reader("/me")
    owner, key, codes = create(first, "Grace")
    page = reader("/me")
    form = page.locator("section[aria-labelledby=recover]")
    form.get_by_label("Owner ID").fill(owner)
    form.get_by_label("Recovery code").fill("wrong")
    form.get_by_role("button", name="Get a new key").click()
    expect(page.get_by_role("alert")).to_contain_text("recovery code is wrong")
    form.get_by_label("Recovery code").fill(codes[0])
    form.get_by_role("button", name="Get a new key").click()
    assert secrets(page)[1] != key
    expect(page.get_by_text("Recovery codes left: 7")).to_be_visible()
    saved(page)
    first.reload()
    expect(first.get_by_role("alert")).to_contain_text("was replaced")
    expect(first.locator("section[aria-labelledby=open]")).to_be_visible()

    page.get_by_role("button", name="New recovery codes").click()
    answer(page, yes=True)
    _, *fresh = secrets(page)
    assert len(fresh) == 8
    assert not {*fresh} & {*codes}
    page.get_by_role("combobox", name="Language").select_option("ko")
    expect(page.get_by_role("heading", name="지금 저장하세요")).to_be_visible()
    assert page.locator(SECRET).all_inner_texts()[1:] == fresh, "a change of the language lost what is shown once"


def test_the_key_is_this_tabs_alone(reader: Reader) -> None:
    page = reader("/me")
    _, key, _ = create(page, "Tab")
    saved(page)
    page.get_by_role("button", name="Close").click()
    form = page.locator("section[aria-labelledby=open]")
    form.get_by_label("Owner's key").fill("pmo_wrong")
    form.get_by_role("button", name="Open").click()
    expect(form.get_by_text("This is not a valid owner's key.")).to_be_visible()
    expect(form.get_by_label("Owner's key")).to_be_focused()
    form.get_by_label("Owner's key").fill(key)
    form.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", name="Tab")).to_be_visible()
    kept = page.evaluate("JSON.stringify(localStorage) + document.cookie")
    assert key not in kept
    other = page.context.new_page()
    other.goto("/me")
    expect(other.locator("section[aria-labelledby=open]")).to_be_visible()


def test_what_was_typed_stays_and_faults_stand_at_their_fields(reader: Reader) -> None:
    page = reader("/me", language="zh")
    form = page.locator("section[aria-labelledby=create]")
    form.get_by_role("button", name="创建账户").click()
    expect(form.get_by_text("请填写。")).to_be_visible()
    expect(form.get_by_label("名称")).to_be_focused()
    form.get_by_label("名称").fill("名字\u202e")
    form.get_by_label("联系方式").fill("me@example.org")
    form.get_by_role("button", name="创建账户").click()
    expect(form.get_by_label("名称")).to_have_attribute("aria-invalid", "true")
    page.reload()
    expect(form.get_by_label("联系方式")).to_have_value("me@example.org")


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_the_page_is_legible_in_every_language(reader: Reader, language: str) -> None:
    assert faults(_drawn(reader("/me", language=language))) == []


def test_the_page_is_legible_on_a_phone(reader: Reader) -> None:
    page = _drawn(reader("/me", language="en", screen=PHONE, scheme="dark"))
    create(page, "<b>Phone</b> " + "\u0301" * 20)
    assert faults(page) == []
    saved(page)
    form = page.locator("section[aria-labelledby=register]")
    form.get_by_label("Name").fill("a-bot-with-a-name-that-is-rather-long-xx")
    form.get_by_role("button", name="Register").click()
    secrets(page)
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    saved(page)
    page.reload()
    page.wait_for_selector("section[aria-labelledby=webhook]")
    assert faults(page) == []


def _drawn(page: Page) -> Page:
    page.wait_for_selector("section[aria-labelledby=create]")
    return page


def violations(page: Page) -> list[str]:
    """What axe finds in a page."""
    page.evaluate((installed(AXE) / "axe-core" / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found]


class SigningIn(NamedTuple):
    """A platform with a provider; `other` is a second gateway of it."""

    url: str
    other: str
    provider: RealProvider
    stack: Stack


@pytest.fixture(scope="module")
def signing_in() -> Iterator[SigningIn]:
    folder = Path(tempfile.mkdtemp(prefix="playmolt-sign-in-"))
    folder.chmod(0o755)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with real_provider(url) as provider:
        own = {"DATABASE_URL": "", "NATS_URL": "", **provider.settings(url)}
        with (
            Stack(folder / "data", ("--port", str(port)), own) as stack,
            Replica(stack, "gateway-1", "playmolt_gateway", "PLAYMOLT_PORT") as other,
        ):
            yield SigningIn(url, other.url, provider, stack)
    shutil.rmtree(folder, ignore_errors=True)


def at_the_provider(page: Page, name: str) -> None:
    """Sign in on the provider's own pages, and come back."""
    page.wait_for_selector("input[name=login]")
    page.fill("input[name=login]", name)
    page.fill("input[name=password]", "any")
    page.click("button[type=submit]")
    page.wait_for_selector("form button[type=submit]:not(:has-text('Sign-in'))")
    page.click("form button[type=submit]")


def alone(page: Page) -> Page:
    """Keep the provider's development pages from loading fonts of other hosts."""
    page.context.route(lambda url: urlsplit(url).hostname != "127.0.0.1", lambda route: route.abort())
    return page


def sign_in(reader: Reader, signing_in: SigningIn, name: str) -> Page:
    page = alone(reader(f"{signing_in.url}/me"))
    page.get_by_role("link", name="Sign in").click()
    at_the_provider(page, name)
    page.wait_for_url(f"{signing_in.url}/me")
    expect(page.get_by_text("You are signed in.")).to_be_visible()
    return page


def cookies(page: Page) -> dict[str, str]:
    return {cookie["name"]: cookie["value"] for cookie in page.context.cookies() if "name" in cookie}


def test_a_person_signs_in_works_and_signs_out(reader: Reader, signing_in: SigningIn) -> None:
    page = sign_in(reader, signing_in, "ada")
    expect(page.get_by_role("heading", name="ada of the provider")).to_be_visible()
    form = page.locator("section[aria-labelledby=register]")
    form.get_by_label("Name").fill("signed-bot")
    form.get_by_role("button", name="Register").click()
    (key,) = secrets(page)
    saved(page)
    me = httpx.get(f"{signing_in.url}/api/agents/me", headers=bearer(key), timeout=SECONDS).json()
    assert me["owner"]["name"] == "ada of the provider"

    session = {"playmolt": cookies(page)["playmolt"]}
    for gateway in (signing_in.url, signing_in.other):
        with httpx.Client(base_url=gateway, cookies=session, timeout=SECONDS) as client:
            signed = client.get("/auth/session").json()
            assert signed["owner"]["name"] == "ada of the provider"
            assert [agent["name"] for agent in client.get("/api/owners/me").json()["agents"]] == ["signed-bot"]
            assert client.post("/api/owners/me/codes", json={}).status_code == 403
            sent = {"origin": signing_in.url, "x-csrf-token": signed["csrf"]}
            assert client.post("/api/owners/me/codes", json={}, headers=sent).status_code == 201
            assert client.get("/api/agents/me", headers=sent).status_code == 401
            assert client.post("/api/games/join", json={"gameType": "ox"}, headers=sent).status_code == 401

    page.goto(f"{signing_in.url}/play/ox")
    expect(page.get_by_text("Public games on this server are for bots.")).to_be_visible()
    page.get_by_label("Your name").fill("ada herself")
    page.get_by_label("As an agent of my owner account").check()
    page.get_by_label("People I invite").check()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Waiting for players")).to_be_visible()
    kept = page.evaluate("JSON.parse(localStorage.getItem('playmolt.person'))")
    me = httpx.get(f"{signing_in.url}/api/agents/me", headers=bearer(kept["key"]), timeout=SECONDS).json()
    assert (me["kind"], me["owner"]["name"]) == ("person", "ada of the provider")
    page.goto(f"{signing_in.url}/me")

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    assert "playmolt" not in cookies(page)
    for gateway in (signing_in.url, signing_in.other):
        assert httpx.get(f"{gateway}/auth/session", cookies=session, timeout=SECONDS).status_code == 401

    again = sign_in(reader, signing_in, "ada")
    expect(again.get_by_role("link", name="signed-bot")).to_be_visible()
    assert cookies(again)["playmolt"] != session["playmolt"]


async def entered(url: str, first: AsyncClient, cup: str, kills: Callable[[], object], seen: Event) -> None:
    """Nine more bots and the claimed one play a tournament once it was seen, and processes are killed in it."""
    async with field(url, 10) as bots:
        await bots.clients[0].aclose()
        bots.clients[0] = first
        for number, client in enumerate(bots.clients[1:]):
            await client.register(f"other {number}")
        for client in bots.clients:
            await client.join_tournament(cup)
        assert await asyncio.to_thread(seen.wait, SECONDS)
        killing = asyncio.create_task(asyncio.to_thread(kills))
        await bots.plays(cup)
        await killing


def test_a_person_claims_a_bot_that_plays_a_swiss_through_two_kills(
    reader: Reader, signing_in: SigningIn, tmp_path: Path
) -> None:
    """The final board is an event, and a program that reads public data alone finds the same one."""
    operator = Organizer(signing_in.stack)
    cup = operator.opens(rounds=2, max_entrants=10)
    page = sign_in(reader, signing_in, "champion")
    bot = httpx.post(f"{signing_in.url}/api/agents", json={"name": "the-bot"}, timeout=SECONDS).json()
    form = page.locator("section[aria-labelledby=claim]")
    form.get_by_label("Agent's key").fill(bot["api_key"])
    form.get_by_role("button", name="Claim").click()
    expect(page.get_by_text("the-bot is now yours.")).to_be_visible()

    seen = Event()
    with ThreadPoolExecutor(1) as beside, ExitStack() as stack:
        stack.callback(seen.set)
        client = AsyncClient(signing_in.url, bot["api_key"], retry=PATIENT)
        kills = partial(strike, signing_in.stack, operator, cup, ("tournament-engine-1", "ox-engine-1"))
        playing = beside.submit(asyncio.run, entered(signing_in.url, client, cup, kills, seen))
        page.goto(f"{signing_in.url}/tournaments/{cup}")
        row = page.locator("section[aria-labelledby=standings] tr").filter(has_text="the-bot")
        expect(row).to_contain_text("champion of the provider")
        page.locator("section[aria-labelledby=now] a[href^='/watch/']").first.click()
        expect(page.locator("svg.picture")).to_be_visible()
        expect(page.get_by_role("link", name=re.compile("Tournament, round"))).to_be_visible()
        seen.set()
        playing.result(SECONDS)
    page.goto(f"{signing_in.url}/tournaments/{cup}")
    expect(page.locator("main")).to_contain_text("finished")
    check(operator.state(cup), 2)

    (source,) = re.findall(r"^```js\n(.*?)^```", STANDINGS.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    program = tmp_path / "standings.mjs"
    program.write_text(source, "utf-8")
    node = shutil.which("node")
    assert node, "this test needs Node on PATH"
    ended = subprocess.run(
        [node, program, signing_in.url, cup], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    board = operator.state(cup).standings
    named = [(line.rank, line.points, line.wins, line.buchholz, line.games) for line in board]
    assert [(row["rank"], row["points"], row["wins"], row["buchholz"], row["games"]) for row in rows] == named
    assert {row["games"] for row in rows} == {2}
    assert shown_points(page, "the-bot") == next(line.points for line in board if line.id == bot["id"])
    operator.client.close()


def shown_points(page: Page, name: str) -> int:
    row = page.locator("section[aria-labelledby=standings] tr").filter(has_text=name)
    return int(row.locator("td.number").first.inner_text())


def test_a_sign_in_begun_at_one_gateway_ends_at_another(reader: Reader, signing_in: SigningIn) -> None:
    page = alone(reader(f"{signing_in.url}/me"))
    with httpx.Client(base_url=signing_in.other, timeout=SECONDS) as client:
        begun = client.get("/auth/login?next=/games")
    assert begun.status_code == 302
    name, _, value = begun.headers["set-cookie"].partition(";")[0].partition("=")
    page.context.add_cookies([{"name": name, "value": value, "url": signing_in.url}])
    page.goto(begun.headers["location"])
    at_the_provider(page, "two-gateways")
    page.wait_for_url(f"{signing_in.url}/games")
    assert "playmolt" in cookies(page)


def test_an_owner_by_key_joins_a_sign_in(reader: Reader, signing_in: SigningIn) -> None:
    page = alone(reader(f"{signing_in.url}/me"))
    owner, _, codes = create(page, "Keyed")
    saved(page)
    page.get_by_role("button", name="Add a sign-in").click()
    at_the_provider(page, "grace")
    page.wait_for_url(f"{signing_in.url}/me")
    expect(page.get_by_role("heading", name="Keyed")).to_be_visible()
    expect(page.get_by_text("You are signed in.")).to_be_visible()
    expect(page.locator("code").filter(has_text=owner)).to_be_visible()

    session = {"playmolt": cookies(page)["playmolt"]}
    body = {"owner": owner, "code": codes[0]}
    assert httpx.post(f"{signing_in.other}/api/owners/recover", json=body, timeout=SECONDS).status_code == 200
    for gateway in (signing_in.url, signing_in.other):
        assert httpx.get(f"{gateway}/auth/session", cookies=session, timeout=SECONDS).status_code == 401
    page.get_by_role("button", name="New recovery codes").click()
    answer(page, yes=True)
    expect(page.get_by_role("alert")).to_contain_text("Your session has ended")

    other = alone(reader(f"{signing_in.url}/me"))
    create(other, "Another")
    saved(other)
    other.get_by_role("button", name="Add a sign-in").click()
    at_the_provider(other, "grace")
    expect(other.get_by_role("alert")).to_contain_text("already belongs to another owner account")
    expect(other.get_by_role("heading", name="Another")).to_be_visible()  # its key is still there


REMOVED = {
    "en": "The sign-in of {provider} has been removed.",
    "ko": "{provider} 로그인 수단을 제거했습니다.",
    "zh": "已移除 {provider} 登录方式。",
}


@pytest.mark.parametrize("language", REMOVED)
def test_a_thiefs_sign_in_is_removed_after_a_recovery(reader: Reader, signing_in: SigningIn, language: str) -> None:
    thief = alone(reader(f"{signing_in.url}/me"))
    owner, _, codes = create(thief, "Robbed")
    saved(thief)
    thief.get_by_role("button", name="Add a sign-in").click()
    at_the_provider(thief, f"thief-{language}")
    expect(thief.get_by_text("You are signed in.")).to_be_visible()

    recovered = httpx.post(
        f"{signing_in.url}/api/owners/recover", json={"owner": owner, "code": codes[0]}, timeout=SECONDS
    ).json()
    page = alone(reader(f"{signing_in.url}/me", language=language))
    form = page.locator("section[aria-labelledby=open]")
    form.locator("input").fill(recovered["owner_key"])
    form.locator("button").click()
    listed = page.locator("section[aria-labelledby=sign-ins]")
    expect(listed.get_by_role("listitem")).to_have_count(1)
    assert faults(page) == []
    listed.get_by_role("button").click()
    answer(page, yes=True)
    provider = urlsplit(signing_in.provider.issuer).netloc
    expect(page.get_by_role("status").filter(has_text=REMOVED[language].format(provider=provider))).to_be_visible()
    expect(listed).to_have_count(0)

    again = sign_in(reader, signing_in, f"thief-{language}")
    expect(again.get_by_role("heading", name="Robbed")).to_have_count(0)


@pytest.mark.parametrize(
    ("language", "words"), [("en", "You were not signed in."), ("ko", "로그인하지 않았습니다."), ("zh", "未完成登录。")]
)
def test_who_cancels_reads_so_in_their_language(
    reader: Reader, signing_in: SigningIn, language: str, words: str
) -> None:
    page = alone(reader(f"{signing_in.url}/me", language=language))
    page.locator("section[aria-labelledby=sign-in] a").click()
    page.get_by_role("link", name=re.compile("cancel", re.IGNORECASE)).click()
    expect(page.get_by_role("alert")).to_contain_text(words)
    assert urlsplit(page.url).path == "/me"
    page.reload()
    expect(page.locator("section[aria-labelledby=sign-in]")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_erasure_ends_the_session_and_the_next_sign_in_is_a_new_owner(reader: Reader, signing_in: SigningIn) -> None:
    page = sign_in(reader, signing_in, "erased")
    first = page.locator("section[aria-labelledby=owner] code").inner_text()
    page.get_by_role("button", name="Erase this account").click()
    answer(page, yes=True)
    expect(page.get_by_text("The account has been erased.")).to_be_visible()
    page.reload()
    expect(page.locator("section[aria-labelledby=sign-in]")).to_be_visible()
    again = sign_in(reader, signing_in, "erased")
    assert again.locator("section[aria-labelledby=owner] code").inner_text() != first


def test_a_tab_that_shows_another_session_changes_nothing(reader: Reader, signing_in: SigningIn) -> None:
    page = sign_in(reader, signing_in, "first")
    other = alone(page.context.new_page())
    page.context.clear_cookies(name=re.compile("^_"))  # those of the provider, which would sign the same person in
    other.goto(f"{signing_in.url}/auth/login")
    at_the_provider(other, "second")
    expect(other.get_by_role("heading", name="second of the provider")).to_be_visible()
    page.get_by_role("button", name="Erase this account").click()
    answer(page, yes=True)
    expect(page.get_by_role("alert")).to_contain_text("in another tab")
    other.reload()
    expect(other.get_by_role("heading", name="second of the provider")).to_be_visible()


def test_an_old_address_of_a_sign_in_says_so(reader: Reader, signing_in: SigningIn) -> None:
    page = sign_in(reader, signing_in, "old")
    page.goto(f"{signing_in.url}/auth/callback?code=x&state={'a' * 43}")
    expect(page.get_by_role("alert")).to_contain_text("has expired")
    assert urlsplit(page.url).path == "/me"
    page.goto(f"{signing_in.url}/me")
    expect(page.get_by_text("You are signed in.")).to_be_visible()


@pytest.mark.parametrize("language", ["ko", "zh"])
def test_the_pages_of_sign_in_are_legible(reader: Reader, signing_in: SigningIn, language: str) -> None:
    page = reader(f"{signing_in.url}/me", language=language, screen=PHONE, scheme="dark")
    page.wait_for_selector("section[aria-labelledby=sign-in]")
    assert faults(page) == []
    page.goto(f"{signing_in.url}/auth/callback?error=access_denied")
    page.wait_for_selector("[role=alert]")
    assert faults(page) == []


def test_a_session_opens_nothing_for_a_page_of_another_origin(reader: Reader, signing_in: SigningIn) -> None:
    foreign = sign_in(reader, signing_in, "origin").context.new_page()
    foreign.goto(f"{signing_in.other}/openapi.json")  # another port is another origin, and the cookie goes along
    read = "(url) => fetch(url, { credentials: 'include' }).then((answer) => answer.status, () => 0)"
    assert foreign.evaluate(read.replace("include", "omit"), f"{signing_in.url}/healthz") == 200
    assert foreign.evaluate(read, f"{signing_in.url}/auth/session") == 0
    assert foreign.evaluate(read, f"{signing_in.url}/api/owners/me") == 0


def test_axe_finds_nothing(reader: Reader, signing_in: SigningIn) -> None:
    page = reader(f"{signing_in.url}/me")
    page.wait_for_selector("section[aria-labelledby=sign-in]")
    on_both_screens(page)
    create(page, "Axe")
    on_both_screens(page)
    saved(page)
    form = page.locator("section[aria-labelledby=register]")
    form.get_by_label("Name").fill("a-bot")
    form.get_by_role("button", name="Register").click()
    secrets(page)
    saved(page)
    for language, screen in {"en": PHONE, "ko": DESK, "zh": DESK}.items():
        page.set_viewport_size(screen)
        page.locator(".top select").select_option(language)
        page.wait_for_selector(f"html[lang={language}] section[aria-labelledby=safety]")
        assert violations(page) == []
        page.locator("section[aria-labelledby=safety] button").last.click()
        page.wait_for_selector("[role=alertdialog]")
        assert violations(page) == []
        answer(page, yes=False)
        expect(page.get_by_role("alertdialog")).to_have_count(0)


def on_both_screens(page: Page) -> None:
    for screen in (PHONE, DESK):
        page.set_viewport_size(screen)
        assert violations(page) == []
