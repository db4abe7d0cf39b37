"""What is seen at a glance: nothing is cut, nothing lies over another, no control stands beside the screen."""

import unicodedata

import httpx
import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import PHONE, Ended, Reader
from tests.browser.players import SECONDS, Seat
from tests.browser.test_watch import stands_at_the_end

TOWER = unicodedata.normalize("NFC", "Zoe" + "\u0301\u0323\u0337" * 12)
"""As the platform composes names."""
SMALL = {"width": 360, "height": 640}
NARROW = {"width": 320, "height": 568}
HOSTILE = ("<img src=x onerror=alert(1)>", TOWER, "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627", "W" * 40)
OUTSIDE = """() => [...document.querySelectorAll(".timeline :is(button, output, input)")].filter((one) => {
  const { left, right, bottom } = one.getBoundingClientRect();
  return left < 0 || right > innerWidth || bottom > innerHeight;
}).map((one) => one.textContent || one.tagName)"""
SPILT = """() => {
  const box = (one) => one.getBoundingClientRect();
  const sheet = box(document.querySelector("svg.picture"));
  const names = [...document.querySelectorAll("svg.picture [role=img] .p-own")].map(box);
  const over = names.filter((one, place) => names.slice(place + 1).some((other) =>
    one.left < other.right && other.left < one.right && one.top + 3 < other.bottom && other.top + 3 < one.bottom));
  const cut = [...document.querySelectorAll("svg.picture text")].filter((one) => box(one).right > sheet.right);
  return { over: over.length, cut: cut.map((one) => one.textContent) };
}"""
HIDDEN_COLUMNS = """() => [...document.querySelectorAll("main .wide")]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"""


UNCLIPPED = """(text) => [...document.querySelectorAll("main *")].filter((one) => {
  const own = [...one.childNodes].some((child) => child.nodeType === 3 && child.data.includes(text));
  if (!own || !one.checkVisibility() || one.closest("svg, option, .unseen, .told")) return false;
  for (let at = one; at.id !== "scene" && at.tagName !== "MAIN"; at = at.parentElement) {
    if (getComputedStyle(at).overflowY !== "visible" && at.clientHeight < 200) return false;
  }
  return true;
}).map((one) => one.outerHTML.slice(0, 80))"""
"""What shows a text and would paint it over its neighbours."""


@pytest.mark.parametrize("language", ["en", "ko", "zh-CN"])
def test_a_phone_shows_every_control_in_a_sixth_of_its_height(reader: Reader, ended: Ended, language: str) -> None:
    page = reader(f"/watch/{ended.ox}", language=language, screen=PHONE)
    page.wait_for_selector("svg.picture")
    page.wait_for_selector(".log [aria-current]")
    for screen in (PHONE, SMALL, NARROW):
        page.set_viewport_size({"width": screen["width"], "height": screen["height"]})
        assert page.evaluate(OUTSIDE) == []
        box = page.locator(".timeline").bounding_box()
        assert box
        assert box["height"] <= screen["height"] / 6


@pytest.mark.parametrize("screen", [None, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("game", ["trial", "ox"])
def test_a_picture_spills_no_text_and_tables_show_every_column(
    reader: Reader, ended: Ended, game: str, screen: dict[str, int] | None
) -> None:
    page = reader(f"/watch/{getattr(ended, game)}", screen=screen)
    stands_at_the_end(page)
    page.wait_for_selector("svg.picture .p-own")
    assert page.evaluate(SPILT) == {"over": 0, "cut": []}
    assert page.evaluate(HIDDEN_COLUMNS) == []
    page.goto(f"/watch/{getattr(ended, game)}?v=12")
    page.wait_for_selector(".log [data-v='12'][aria-current]")
    page.wait_for_selector("svg.picture .p-own")
    assert page.evaluate(SPILT) == {"over": 0, "cut": []}


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize("screen", [None, PHONE], ids=["desk", "phone"])
def test_the_leaderboard_shows_the_points(reader: Reader, screen: dict[str, int] | None) -> None:
    def renamed(route: Route) -> None:
        ranks = route.fetch().json()
        ranks["leaderboard"][0]["name"] = HOSTILE[-1]
        ranks["leaderboard"][1]["name"] = "claude the advocate"
        route.fulfill(json=ranks)

    page = reader("/nowhere", screen=screen)
    page.route("**/api/leaderboard**", renamed)
    page.goto("/")
    board = page.locator("section[aria-labelledby=board]")
    first = board.locator("tbody tr").first
    expect(first).to_contain_text(HOSTILE[-1])
    assert board.locator(".wide").evaluate("one => one.scrollWidth <= one.clientWidth")
    name, points = first.locator(".name").bounding_box(), first.locator("td").nth(1).bounding_box()
    assert name
    assert points
    assert name["x"] + name["width"] <= points["x"]
    second = board.locator("tbody tr .name").nth(1)
    expect(second).to_have_text("claude the advocate")
    assert second.evaluate("one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight")


def test_names_of_any_kind_stay_in_their_places(reader: Reader, platform: str) -> None:
    seats = [Seat(platform, name) for name in HOSTILE]
    # A lobby of its own: a game that another test left waiting is too old for the lobby's newest rows.
    game = seats[0].join("trial", pace="slow")
    assert {seat.join("trial", pace="slow") for seat in seats} == {game}
    try:
        case = {"case_type": "civil", "jurisdiction": "KR", "title": f"{TOWER} {HOSTILE[-1]}", "language": "en"}
        opened = seats[0].client.post("/api/sessions", json=case).json()["id"]
        page = reader("/legal", screen=PHONE)
        page.evaluate("key => localStorage.setItem('playmolt.key', key)", seats[0].client.headers["Authorization"][7:])
        page.goto(f"/legal?session={opened}")
        expect(page.locator("h1")).to_contain_text(HOSTILE[-1])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(UNCLIPPED, TOWER) == []
        for path in (f"/watch/{game}", "/", *(f"/agents/{seat.id}" for seat in seats)):
            page = reader(path, screen=PHONE)
            expect(page.locator("main")).to_contain_text("W" * 40 if not path.startswith("/agents") else "Points")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            assert page.evaluate(UNCLIPPED, TOWER) == [], path
            assert page.locator("main img:not([src*='/avatar.svg'])").count() == 0
            if path.startswith("/watch"):
                expect(page.locator(f"#scene a[href='/agents/{seats[1].id}']")).to_have_text(TOWER)
    finally:
        for seat in seats:
            httpx.post(f"{platform}/api/games/{game}/leave", json={}, headers=seat.client.headers, timeout=SECONDS)
            seat.close()
