"""What every page owes its reader: nothing typed is lost, nothing moves away under the hands, nothing is silent."""

import json
import re

import httpx
import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.conftest import OPERATOR_KEY, Ended, Reader, answer
from tests.browser.engines import until
from tests.browser.players import SECONDS, Bots, Seat, experiment
from tests.browser.test_watch import head, moment, stands_at, stands_at_the_end

HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture(scope="session")
def long_run(platform: str) -> str:
    """A run of Agora with more moments than a page of events holds."""
    plan = {
        "name": "long", "models": ["scripted-trader"], "languages": ["en"], "exploratory": True,
        "phases": {"phase1": {"runs": 1, "turns": 50}},
    }  # fmt: skip
    with httpx.Client(base_url=platform, headers={"Authorization": f"Bearer {OPERATOR_KEY}"}, timeout=SECONDS) as http:
        made = experiment(platform, OPERATOR_KEY, plan)
        path = f"/api/agora/experiments/{made}"
        until(lambda: http.get(path).raise_for_status().json()["status"] == "finished", "a long run", 2 * SECONDS)
        [run] = http.get(f"{path}/runs").raise_for_status().json()["runs"]
        return str(run["run"])


def switched_at_once(page: Page, *languages: str) -> None:
    """Change the language several times before the page has been drawn in any of them."""
    page.evaluate(
        """(codes) => codes.forEach((code) => {
             const choice = document.querySelector(".top select");
             choice.value = code;
             choice.dispatchEvent(new Event("change"));
           })""",
        list(languages),
    )


class Requests:
    """The requests of a page that are not answered, but for its feed, which stays open."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.open: set[Request] = set()
        page.on("request", lambda one: self.open.add(one) if "/sse/" not in one.url else None)
        page.on("requestfinished", self.ended)
        page.on("requestfailed", self.ended)

    def ended(self, one: Request) -> None:
        self.open.discard(one)

    def settled(self) -> None:
        """Wait until half a second has passed without one."""
        quiet = 0
        for _ in range(10 * SECONDS):
            self.page.wait_for_timeout(100)
            quiet = 0 if self.open else quiet + 1
            if quiet == 5:
                return
        raise AssertionError(f"still asking: {self.open}")


def test_a_page_whose_language_changes_twice_is_drawn_once(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.trial}")
    stands_at_the_end(page)
    asked = Requests(page)
    switched_at_once(page, "ko", "zh", "en", "ko")
    expect(page.locator("main .row.apart .tag").first).to_have_text("종료")
    asked.settled()
    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator(".timeline")).to_have_count(1)
    expect(page.locator("main")).to_have_count(1)


def test_what_is_typed_is_not_lost_to_another_language(reader: Reader) -> None:
    page = reader("/legal")
    title = page.locator("section[aria-labelledby=open] input").first
    title.fill("half a title")
    page.locator(".top select").select_option("ko")
    answer(page, yes=False)
    expect(page.locator(".top select")).to_have_value("en")
    expect(title).to_have_value("half a title")
    page.locator(".top select").select_option("ko")
    answer(page, yes=True)
    expect(page.locator("html")).to_have_attribute("lang", "ko")


def test_a_limit_counts_characters_as_the_server_does(reader: Reader) -> None:
    page = reader("/legal")
    title = page.locator("section[aria-labelledby=open] input").first
    title.fill("👍" * 201)
    assert title.evaluate("(input) => [...input.value].length") == 200


def test_a_link_leads_to_a_moment_far_into_a_run(reader: Reader, platform: str, long_run: str) -> None:
    # Which events show something depends on how often a model had to be asked again.
    told = httpx.get(f"{platform}/api/agora/runs/{long_run}/events?after=619&limit=20", timeout=SECONDS)
    far = next(event["version"] for event in told.raise_for_status().json()["events"] if event["type"] != "progress")
    page = reader(f"/watch/{long_run}#v={far}")
    stands_at_the_end_of_history(page)
    stands_at(page, far)
    assert moment(page) == far
    assert page.locator(".log button").first.get_attribute("data-v") == "2"
    page.goto(f"/watch/{long_run}#v=999999")
    page.reload()
    stands_at_the_end(page)


def stands_at_the_end_of_history(page: Page) -> None:
    expect(page.locator("main .row.apart .tag").first).to_have_text("Over")


def test_a_list_of_moments_is_one_stop_for_the_keys(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.trial}")
    stands_at_the_end(page)
    expect(page.locator(".log button[tabindex='0']")).to_have_count(1)
    page.locator(".log button").last.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    second = page.locator(".log button").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    stands_at(page, int(second.get_attribute("data-v") or 0))
    expect(second).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("details.record summary")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Report")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Save as file")).to_be_focused()


def test_a_scene_that_did_not_come_is_asked_for_again(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.trial}")
    stands_at_the_end(page)
    refusal = {"code": "unavailable", "detail": "The engine is away."}
    page.route("**/state?at=3", lambda route: route.fulfill(status=500, json=refusal))
    page.evaluate("location.hash = '#v=3'")
    expect(page.locator("#scene [role=alert]")).to_be_visible()
    page.unroute("**/state?at=3")
    page.locator("#scene").get_by_role("button", name="Try again").click()
    stands_at(page, 3)
    expect(page.locator("#scene [role=alert]")).to_have_count(0)


def test_a_page_without_a_network_shows_no_moment_that_it_does_not_have(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.trial}?v=9")
    stands_at(page, 9)
    page.context.set_offline(True)
    page.locator("h1").click()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".offline")).to_be_visible()
    expect(page.locator("#scene [role=alert]")).to_be_visible()
    expect(page.locator("svg.picture")).to_have_count(0)
    page.context.set_offline(False)
    stands_at(page, 8)
    expect(page.locator("svg.picture")).to_be_visible()
    expect(page.locator("#scene [role=alert]")).to_have_count(0)


def test_a_log_that_cannot_be_read_is_not_told_as_nothing(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.ox}")
    stands_at_the_end(page)
    page.route("**/log", lambda route: route.fulfill(status=500, json={"code": "internal", "detail": "It broke."}))
    seat = page.locator("#seat option").nth(1).get_attribute("value")
    page.select_option("#seat", seat)
    known = page.locator("section[aria-labelledby=known]")
    expect(known.get_by_role("alert")).to_be_visible()
    page.unroute("**/log")
    known.get_by_role("button", name="Try again").click()
    known.locator("summary").click()
    known.locator("li button").first.click()
    expect(known.locator(".only")).to_contain_text("O")
    expect(known.locator("details")).to_have_attribute("open", "")


def test_a_page_out_of_sight_holds_no_feed_and_catches_up(reader: Reader, bots: Bots, platform: str) -> None:
    page = reader("/")
    now = page.locator("section[aria-labelledby=now]")
    expect(now.locator(".tag.live").first).to_be_visible()
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/sse/lobby")):
        page.evaluate(HIDE, True)
    seat = Seat(platform)
    game = seat.join("ox")
    page.wait_for_timeout(300)
    expect(now.locator(f"a[href='/watch/{game}']")).to_have_count(0)
    page.evaluate(HIDE, False)
    expect(now.locator(f"a[href='/watch/{game}']")).to_be_visible()
    playing = bots.seat("ox", 4)
    seat.act(type="first_choice", choice="O", comment="here")
    seat.act(type="switch", use_switch=False, comment="and there")
    for _ in range(4):
        seat.play_round("X", "as before")
    assert playing.result(SECONDS) == game
    seat.close()


def test_what_happens_is_read_out_as_it_happens(reader: Reader, bots: Bots, platform: str) -> None:
    seat = Seat(platform)
    game = seat.join("ox")
    page = reader(f"/watch/{game}")
    tag = page.locator("main .row.apart .tag").first
    expect(tag).to_have_text("Live")
    expect(tag).to_have_attribute("role", "status")
    playing = bots.seat("ox", 4)
    expect(page.locator(".unseen[role=status]")).to_have_text(re.compile("."))
    seat.act(type="first_choice", choice="O", comment="here")
    seat.act(type="switch", use_switch=False, comment="and there")
    for _ in range(4):
        seat.play_round("X", "as before")
    expect(tag).to_have_text("Over")
    assert playing.result(SECONDS) == game
    assert head(page) > 1
    seat.close()


def test_a_game_that_lets_its_time_pass_is_called_live_nowhere(reader: Reader, platform: str) -> None:
    seats = [Seat(platform, name) for name in ("Ada", "Bo", "Cy", "Di", "Ed")]
    [game] = {seat.join("ox") for seat in seats}
    lobby, page = reader("/"), reader(f"/watch/{game}")
    row = lobby.locator("section[aria-labelledby=now] li", has=lobby.locator(f"a[href='/watch/{game}']"))
    tag, end = page.locator("main .row.apart .tag").first, page.locator(".timeline button").last
    expect(row).to_contain_text("s left")
    expect(tag).to_have_text("Live")
    expect(end).to_have_class(re.compile("live"))
    left = httpx.get(f"{platform}/api/games/{game}/state", timeout=SECONDS).json()["seconds_left"]
    for each in (lobby, page):
        each.route("**/games/rows**", lambda route: route.abort())
        each.evaluate("(late) => { const now = Date.now; Date.now = () => now() + late; }", (left + 30) * 1000)
    expect(row).to_contain_text("No response for a while")
    expect(tag).to_have_text("No response for a while")
    expect(end).not_to_have_class(re.compile("live"))
    for seat in seats:
        seat.close()


def test_who_waits_for_a_game_is_told_so(reader: Reader, ended: Ended) -> None:
    page = reader("/")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**/api/games/{ended.ox}/state", hold)
    page.goto(f"/watch/{ended.ox}")
    expect(page.locator("main [role=status].waiting")).to_have_text("Loading")
    while not held:  # the request may arrive here after the sight of its page; the test's time limit ends this
        page.wait_for_timeout(50)
    held[0].continue_()
    stands_at_the_end(page)
    expect(page.locator("main .waiting")).to_have_count(0)


def test_what_is_refreshed_leaves_the_focus_and_what_is_open(reader: Reader, long_run: str) -> None:
    page = reader("/agora")
    page.get_by_label("Operator key").fill(OPERATOR_KEY)
    page.get_by_role("button", name="Enter").click()
    page.locator("section[aria-labelledby=experiments] a", has_text="long").first.click()
    page.wait_for_url("**/agora?experiment=*")
    turns = iter(range(1000))

    def changing(route: Route) -> None:
        state = route.fetch().json()
        state["spent"]["calls"] = next(turns)
        state["status"] = "running"
        route.fulfill(body=json.dumps(state), content_type="application/json")

    page.route(re.compile(r"/api/agora/experiments/[^/]+$"), changing)
    page.reload()
    plan = page.locator("details[data-open=plan]")
    plan.locator("summary").focus()
    page.keyboard.press("Enter")
    shown = page.locator("dl.facts").first.inner_text()
    expect(page.locator("dl.facts").first).not_to_have_text(shown, use_inner_text=True)
    expect(plan).to_have_attribute("open", "")
    expect(plan.locator("summary")).to_be_focused()
    assert long_run


def test_an_experiment_that_is_not_there_says_so_and_nothing_else(reader: Reader) -> None:
    page = reader("/agora")
    page.get_by_label("Operator key").fill(OPERATOR_KEY)
    page.get_by_role("button", name="Enter").click()
    expect(page.locator("section[aria-labelledby=experiments]")).to_be_visible()
    page.goto("/agora?experiment=agora-00000000-0000-7000-8000-000000000000")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("main button")).to_have_count(0)


def test_an_agent_of_a_run_is_sat_with_and_the_operator_reads_its_thoughts(reader: Reader, long_run: str) -> None:
    page = reader(f"/watch/{long_run}?v=40")
    expect(page.locator(".timeline input")).to_have_value("40")
    page.select_option("#seat", "archivist_01")
    expect(page.locator("#scene")).to_contain_text("What archivist_01 saw")
    known = page.locator("section[aria-labelledby=known]")
    expect(known).to_contain_text("visible to the operator only")
    expect(page.locator("section[aria-labelledby=check]")).to_have_count(0)

    page.evaluate("(key) => sessionStorage.setItem('playmolt.operator', key)", OPERATOR_KEY)
    page.reload()
    expect(page.locator(".timeline input")).to_have_value("40")
    page.select_option("#seat", "archivist_01")
    expect(known.locator(".only")).to_contain_text("Thought:")
    page.locator("section[aria-labelledby=check]").get_by_role("button", name="Check").click()
    expect(page.locator("section[aria-labelledby=check]")).to_contain_text("all hashes match")
