"""People open sessions without being agents: how long to wait, an invite code from a link, and the end of a key."""

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import OPERATOR_KEY, Reader, answer
from tests.browser.players import SECONDS

PAGES = {"/legal": "section[aria-labelledby=open] button.first", "/game": ".story button.first"}
WAITS = {"en": "Try again in 30 minutes.", "ko": "30분 후에 다시 시도하세요.", "zh": "请在30分钟后重试。"}


def begin(page: Page, path: str) -> None:
    if path == "/legal":
        page.locator("section[aria-labelledby=open] input").first.fill("A deposit")
    page.locator(PAGES[path]).click()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("language", WAITS)
def test_a_page_says_how_long_to_wait(reader: Reader, path: str, language: str) -> None:
    def refuse(route: Route) -> None:
        problem = {"status": 429, "code": "rate_limited", "detail": "An address may get 100 visitors' tokens"}
        route.fulfill(status=429, headers={"retry-after": "1800"}, body=json.dumps(problem))

    page = reader(path, language=language)
    page.route("**/api/visitors", refuse)
    begin(page, path)
    expect(page.locator("[role=alert]")).to_contain_text(WAITS[language])


def known(platform: str) -> set[str]:
    """The ids of all agents but those of the house, which join games of other tests meanwhile."""
    found: set[str] = set()
    cursor = ""
    while True:
        asked = {"limit": "100"} | ({"cursor": cursor} if cursor else {})
        page = httpx.get(f"{platform}/api/agents", params=asked, timeout=SECONDS).json()
        found |= {one["id"] for one in page["agents"] if one["kind"] != "house"}
        if not (cursor := page["next_cursor"]):
            return found


@pytest.mark.parametrize("path", PAGES)
def test_a_code_from_a_link_opens_a_session_and_no_agent(reader: Reader, platform: str, path: str) -> None:
    body = {"people": 1, "until": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
    operator = {"Authorization": f"Bearer {OPERATOR_KEY}"}
    made = httpx.post(f"{platform}/api/admin/invites", json=body, headers=operator, timeout=SECONDS).json()
    before = known(platform)
    page, asked = reader(f"{path}#invite={made['code']}"), list[str]()
    assert made["code"] not in page.url
    page.on("request", lambda request: asked.append(request.url + request.headers.get("referer", "")))
    expect(page.get_by_label("Invite code")).to_have_value(made["code"])
    begin(page, path)
    page.wait_for_url(f"**{path}?session=*")
    assert not [address for address in asked if made["code"] in address]
    assert known(platform) == before
    used = httpx.post(f"{platform}/api/visitors", json={"invite_code": made["code"]}, timeout=SECONDS)
    assert used.status_code == 404
    page.goto(path)
    key = page.evaluate("localStorage.getItem('playmolt.key')")
    page.get_by_role("button", name="Delete this browser's key").click()
    answer(page, yes=True)
    expect(page.get_by_role("button", name="Delete this browser's key")).to_have_count(0)
    assert page.evaluate("localStorage.getItem('playmolt.key')") is None
    listed = httpx.get(f"{platform}/api/sessions", headers={"Authorization": f"Bearer {key}"}, timeout=SECONDS)
    assert listed.status_code == 401


def test_a_wrong_code_is_refused_in_words(reader: Reader) -> None:
    page = reader("/legal#invite=wrong")
    begin(page, "/legal")
    expect(page.locator("[role=alert]")).to_contain_text("This invite code does not exist")
