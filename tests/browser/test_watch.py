"""Watching: live to the end, and back through the whole time on one line."""

import json
import re
import time
from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import OPERATOR_KEY, PHONE, Ended, Reader, Run, archive_of
from tests.browser.players import SECONDS, Bots, Seat

SECRET = "I keep this to myself until the reveal"
COUNT_MOVES = """() => {
  window.moves = 0;
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (...given) {
    window.moves += 1;
    return animate.apply(this, given);
  };
}"""


@pytest.fixture
def ada(platform: str) -> Iterator[Seat]:
    seat = Seat(platform)
    yield seat
    seat.close()


def moment(page: Page) -> int:
    return int(page.locator(".timeline input").input_value())


def head(page: Page) -> int:
    return int(page.locator(".timeline input").get_attribute("max") or 0)


def stands_at(page: Page, version: int) -> None:
    """Wait until the scene shows a moment: the line of that event is marked when it is drawn."""
    page.wait_for_selector(f".log [data-v='{version}'][aria-current]")


def stands_at_the_end(page: Page) -> None:
    """Wait until a game that is over is read whole and shown at its end; before that its timeline is short."""
    expect(page.locator("main .row.apart .tag").first).to_have_text("Over")
    # The head moves while the last events come in: only both together say that all is drawn.
    page.wait_for_function(
        "() => { const at = document.querySelector('.timeline input');"
        " return at.value === at.max && document.querySelector(`.log [data-v='${at.max}'][aria-current]`); }"
    )


def test_a_game_is_found_in_the_lobby_and_watched_live_to_its_end(reader: Reader, bots: Bots, ada: Seat) -> None:
    page = reader("/")
    expect(page.locator("section[aria-labelledby=now] .live")).to_be_visible()
    game = ada.join("ox")
    page.locator(f"section[aria-labelledby=now] a[href='/watch/{game}']").click()
    page.wait_for_url(f"**/watch/{game}")
    expect(page.locator("main .tag.live").first).to_be_visible()

    playing = bots.seat("ox", 4)
    ada.act(type="first_choice", choice="O", comment=SECRET)
    page.wait_for_selector(".side-o, .side-x")
    expect(page.locator("#scene")).to_contain_text(SECRET)
    ada.act(type="switch", use_switch=True, comment="on second thoughts")
    for _ in range(4):
        ada.play_round("X", "as before")
    expect(page.locator("#scene")).to_contain_text("Results")  # its last event has come
    stands_at_the_end(page)
    assert moment(page) == head(page)
    assert playing.result(SECONDS) == game

    page.select_option("#seat", ada.id)
    chose = page.locator("section[aria-labelledby=known] li button").first
    page.locator("section[aria-labelledby=known] summary").click()
    chose.click()
    expect(page.locator("section[aria-labelledby=known] .only")).to_contain_text(SECRET)
    known_from = moment(page)
    page.goto(f"/watch/{game}?v={known_from}")
    page.wait_for_selector("#scene .card")
    expect(page.locator("#scene")).not_to_contain_text(SECRET)


def test_the_timeline_is_dragged_stepped_and_linked(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.trial}")
    stands_at_the_end(page)
    slider = page.locator(".timeline input")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=12)
    page.mouse.up()
    middle = moment(page)
    assert abs(middle - head(page) / 2) < 3
    stands_at(page, middle)
    assert page.url.endswith(f"?v={middle}")

    slider.press("ArrowLeft")
    stands_at(page, middle - 1)
    page.get_by_role("button", name="Next event").click()
    stands_at(page, middle)

    linked = reader(f"/watch/{ended.trial}?v={middle}")
    stands_at(linked, middle)
    assert linked.locator("#scene").inner_text() == page.locator("#scene").inner_text()
    linked.get_by_role("button", name="Go to the end").click()
    stands_at(linked, head(linked))


def test_the_scene_of_a_moment_knows_nothing_of_what_came_later(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.trial}")
    tally = page.locator(".log button", has_text="Jury:")
    voted = int(tally.get_attribute("data-v") or 0) - 1
    linked = reader(f"/watch/{ended.trial}?v={voted}")
    stands_at(linked, voted)
    assert "The vote:" not in linked.locator("#scene").inner_text()
    jurors = linked.locator("#seat option", has_text="Juror")
    expect(jurors).to_have_count(3)
    linked.select_option("#seat", jurors.first.get_attribute("value"))
    expect(linked.locator("section[aria-labelledby=known] .only")).to_contain_text("voted")


@pytest.mark.parametrize("game", ["ox-00000000-0000-7000-8000-000000000000", "ox-1", "chess", "%E0%A4%A"])
def test_what_is_no_game_says_so(reader: Reader, game: str) -> None:
    page = reader(f"/watch/{game}")
    expect(page.get_by_role("alert")).to_have_text("This does not exist, or it belongs to someone else.")
    expect(page.get_by_role("link", name="Go to the lobby")).to_have_attribute("href", "/")


@pytest.mark.parametrize(
    ("language", "title"), [("ko", "페이지가 없습니다"), ("en", "Page not found"), ("zh", "没有这个页面")]
)
def test_who_strays_is_led_to_the_lobby(reader: Reader, language: str, title: str) -> None:
    page = reader("/watch", language=language)
    expect(page.locator("h1")).to_have_text(title)
    page.locator("main a").click()
    expect(page.locator("section[aria-labelledby=board]")).to_be_visible()


def test_a_game_without_a_drawing_of_its_own_is_shown_field_by_field(reader: Reader, ended: Ended) -> None:
    page = reader("/")

    def renamed(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"gameType":"ox"', '"gameType":"chess"'))

    page.route("**/state?**", renamed)
    page.route("**/state", renamed)
    page.goto(f"/watch/{ended.ox}")
    stands_at_the_end(page)
    expect(page.locator("h1")).to_have_text("chess")
    expect(page.locator("#scene caption", has_text="results")).to_be_visible()
    expect(page.locator(".log [data-v='9']")).to_contain_text("first choice submitted · house")
    assert page.locator(".log").inner_text().count("agent-") == 0, "agents are called by their names"
    page.select_option("#seat", index=1)
    expect(page.locator("#scene h3", has_text="self")).to_be_visible()
    expect(page.locator("section[aria-labelledby=known]")).to_be_hidden()


def test_going_back_from_a_linked_moment_leads_to_the_end(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.trial}")
    stands_at_the_end(page)
    page.evaluate("location.hash = '#v=5'")
    stands_at(page, 5)
    page.go_back()
    stands_at_the_end(page)


@pytest.mark.parametrize(
    ("language", "withheld", "kind", "before_the_feed"),
    [
        ("en", "[withheld]", "watch", False),
        ("ko", "[비공개]", "watch", True),
        ("zh", "[已隐藏]", "watch", False),
        ("en", "[withheld]", "embed", True),
    ],
)
def test_what_the_operator_hides_leaves_an_open_page_and_comes_back(
    reader: Reader, platform: str, run: Run, language: str, withheld: str, kind: str, before_the_feed: bool
) -> None:
    seats = [Seat(platform, f"seat {number}") for number in range(6)]
    (game,) = {seat.join("trial") for seat in seats}
    seats[0].act(type="speak", text="a zugzwangmarker")
    events = httpx.get(f"{platform}/api/games/{game}/events", timeout=SECONDS).json()["events"]
    version = next(event["version"] for event in events if "zugzwangmarker" in str(event))
    body = {"kind": "speech", "game_id": game, "version": version, "reason": "rude"}
    report = httpx.post(f"{platform}/api/reports", json=body, timeout=SECONDS).json()["id"]

    def decide(decision: str) -> None:
        decided = httpx.post(
            f"{platform}/api/admin/reports/{report}", json={"decision": decision, "note": "rule 3"},
            headers={"Authorization": f"Bearer {run.operator_key}"}, timeout=SECONDS,
        )  # fmt: skip
        assert decided.status_code == 200, decided.text

    def hide_first(route: Route) -> None:
        with httpx.stream("GET", f"{run.spectator}/sse/lobby?only=moderated", timeout=SECONDS) as notices:
            decide("hide")
            assert "event: moderated" in notices.iter_lines()  # waits until the spectator has it
        route.continue_()

    page = reader("/", language=language)
    if before_the_feed:
        page.route("**/sse/games/**", hide_first, times=1)
    page.goto(f"/{kind}/{game}")
    scene = page.locator("#scene" if kind == "watch" else "svg.picture")
    if not before_the_feed:
        expect(scene).to_contain_text("zugzwangmarker")
        decide("hide")
    expect(scene).to_contain_text(withheld)
    expect(page.locator("main")).not_to_contain_text("zugzwangmarker")
    decide("restore")
    expect(scene).to_contain_text("zugzwangmarker")
    expect(page.locator("main")).not_to_contain_text(withheld)
    for seat in seats:
        seat.close()


def test_what_the_operator_hides_leaves_pages_that_were_opened_after_the_end(
    reader: Reader, platform: str, run: Run, record_property: Callable[[str, object], None]
) -> None:
    operator = httpx.Client(
        base_url=platform, headers={"Authorization": f"Bearer {run.operator_key}"}, timeout=SECONDS, trust_env=False
    )
    seats = [Seat(platform, f"seat {number}") for number in range(6)]
    (game,) = {seat.join("trial") for seat in seats}
    seats[0].act(type="speak", text="a zugzwangmarker")
    operator.post(f"/api/admin/games/{game}/end", json={"reason": "a test"}).raise_for_status()
    events = httpx.get(f"{platform}/api/games/{game}/events", timeout=SECONDS).json()["events"]
    version = next(event["version"] for event in events if "zugzwangmarker" in str(event))
    page, beside = reader(f"/watch/{game}"), reader(f"/embed/{game}?v={version}")
    expect(page.locator("main .row.apart .tag").first).to_have_text("Over")
    expect(page.locator("#scene")).to_contain_text("zugzwangmarker")
    expect(beside.locator("svg.picture")).to_contain_text("zugzwangmarker")
    body = {"kind": "speech", "game_id": game, "version": version, "reason": "rude"}
    report = operator.post("/api/reports", json=body).json()["id"]
    decided = operator.post(f"/api/admin/reports/{report}", json={"decision": "hide", "note": "rule 3"})
    began = time.monotonic()
    assert decided.status_code == 200, decided.text
    expect(page.locator("#scene")).to_contain_text("[withheld]")
    record_property("seconds", round(time.monotonic() - began, 2))
    print("followed after", round(time.monotonic() - began, 2), "s")
    expect(page.locator("#main")).not_to_contain_text("zugzwangmarker")
    expect(beside.locator("svg.picture")).not_to_contain_text("zugzwangmarker")
    operator.close()
    for seat in seats:
        seat.close()


def test_a_game_that_is_over_is_not_listened_to(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.trial}")
    stands_at_the_end(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    stands_at_the_end(page)
    page.get_by_role("button", name="Previous event").click()
    stands_at(page, head(page) - 1)
    feeds = {url.partition("/sse/")[2] for url in asked if "/sse/" in url or url.endswith("/stream")}
    assert feeds <= {"lobby?only=moderated"}, "one quiet connection alone, for what the operator decides"


def test_a_game_that_ended_while_the_lobbys_feed_was_away_is_gone(reader: Reader) -> None:
    page = reader("/")
    waiting = {
        "type": "game_waiting", "game_id": "trial-00000000-0000-7000-8000-000000000000", "gameType": "trial",
        "phase": "waiting", "seated": 1, "needed": 6, "at": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    present = [f"data: {json.dumps(waiting)}\n\n"]

    def feed(route: Route) -> None:
        anyone = {"Access-Control-Allow-Origin": "*"}
        body = "".join(present) or ": nothing is open\n\n"
        route.fulfill(content_type="text/event-stream", headers=anyone, body=body)

    page.route("**/sse/lobby", feed)
    page.reload()
    now = page.locator("section[aria-labelledby=now]")
    expect(now).to_contain_text("Mock trial")
    present.clear()
    expect(now).to_contain_text("No games are waiting or running.")


@pytest.mark.usefixtures("ended")
def test_the_featured_game_is_playing_or_the_latest_that_ended(reader: Reader) -> None:
    page, shown = reader("/"), dict[str, object]()

    def listed(route: Route) -> None:
        found = route.fetch().json()
        game = next(row for row in found["rows"] if row["over"])
        route.fulfill(json=found | {"rows": [game | shown]})

    page.route(re.compile(r"/games/rows\?limit="), listed)
    for over, phase, heading in ((True, "end", "Latest game"), (False, "switch", "Now playing")):
        shown |= {"over": over, "phase": phase}
        page.reload()
        expect(page.locator("#featured")).to_have_text(heading)
        expect(page.locator("section[aria-labelledby=featured] svg")).to_be_visible()


def being_made(route: Route) -> None:
    """Answer as for a study that takes longer than a request waits."""
    route.fulfill(status=202, headers={"Retry-After": "1"}, json={"status": "making"})


def test_an_experiment_is_checked_locked_run_watched_and_reported(reader: Reader) -> None:
    page = reader("/agora")
    page.get_by_label("Operator key").fill("not the key")
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Operator key").fill(OPERATOR_KEY)
    page.get_by_role("button", name="Enter").click()
    plan = json.loads(page.locator("textarea.code").input_value())
    words = {"ko": "믿습니까?", "en": "Do you trust?"}
    asked = {"id": "trust", "at": [0, 2], "ask": words, "scale": {"from": 1, "to": 7}}
    page.locator("textarea.code").fill(json.dumps(plan | {"interviews": [asked]}))
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("table", name="Matrix")).to_contain_text("scripted-social")
    expect(page.locator("dl.facts").first).to_contain_text("Questions asked aside")
    page.get_by_role("button", name="Lock and run").click()
    page.wait_for_url("**/agora?experiment=*")
    expect(page.locator("dl.facts").first).to_contain_text("Finished")
    page.route("**/report", being_made, times=1)
    with page.expect_download() as report:
        page.get_by_role("button", name="Report (HTML)").click()
    assert "<html" in report.value.path().read_text()[:500].lower()

    page.get_by_role("link", name="Watch").first.click()
    page.wait_for_url("**/watch/agora-*")
    stands_at_the_end(page)
    expect(page.locator("#scene")).to_contain_text("Plaza")
    expect(page.locator(".log button", has_text="Asked aside").first).to_contain_text("trust")
    page.locator(".log button", has_text="Turn 2").click()
    expect(page.locator("#scene")).to_contain_text("2 / 3")
    expect(page.locator(".marks [role=button][aria-label='Turn 2']")).to_have_count(1)
    page.locator("h1").click()
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(page.locator("#scene")).to_contain_text("3 / 3")


def test_a_plan_that_is_examined_for_longer_than_a_request_takes(reader: Reader, platform: str) -> None:
    page = reader("/agora")
    page.get_by_label("Operator key").fill(OPERATOR_KEY)
    page.get_by_role("button", name="Enter").click()
    sent: list[str] = []

    def examining(route: Route) -> None:
        if route.request.method != "POST":
            return route.fallback()
        sent.append(route.fetch().text())
        return route.fulfill(status=202, json={"plan": "the-plan", "status": "examining"})

    def looked_for(route: Route) -> None:
        waiting = page.get_by_role("status").filter(has_text="being examined").count() == 0
        found = json.loads(sent[-1])
        if not waiting and found.get("status") == "examining":  # a busy platform takes as long as the test pretends
            answer = route.fetch(url=f"{platform}/api/agora/plans/{found['plan']}")
            waiting, found = answer.status == 202, answer.json()
        body = {"plan": "the-plan", "status": "examining"} if waiting else found
        route.fulfill(status=202 if waiting else 200, json=body)

    page.route(re.compile("/api/agora/experiments([?]|$)"), examining)
    page.route("**/api/agora/plans/the-plan", looked_for)
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("table", name="Matrix")).to_be_visible()
    page.get_by_role("button", name="Lock and run").click()
    page.wait_for_url("**/agora?experiment=experiment-*")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()


def test_pcs_is_looked_at_while_an_experiment_runs(reader: Reader) -> None:
    page = reader("/agora")
    page.get_by_label("Operator key").fill(OPERATOR_KEY)
    page.get_by_role("button", name="Enter").click()
    arms = {arm: {"runs": 10, "turns": 100} for arm in ("stage1", "phase1")}  # still running when it is looked at
    plan = {"name": "compared", "models": ["scripted-trader"], "languages": ["en"], "phases": arms}
    page.locator("textarea.code").fill(json.dumps(plan))
    page.get_by_role("button", name="Lock and run").click()
    page.wait_for_url("**/agora?experiment=*")
    seen = page.get_by_role("table", name="PCS after")
    while not seen.is_visible():
        page.get_by_role("button", name="Look at PCS").click()
        page.wait_for_timeout(200)
    expect(seen).to_contain_text("phase1/scripted-trader/en")
    expect(page.locator("details summary", has_text="looks")).to_be_visible()
    page.get_by_role("button", name="Stop").click()  # its runs would take the processor from all later tests
    expect(page.locator("dl.facts").first).to_contain_text("Stopped")


def test_the_log_of_a_game_is_checked_by_the_browser_itself(reader: Reader, ended: Ended, platform: str) -> None:
    text = httpx.get(f"{platform}/api/games/{ended.trial}/log", timeout=SECONDS).text
    records = [json.loads(line) for line in text.splitlines()]
    page = reader(f"/watch/{ended.trial}")
    stands_at_the_end(page)
    check = page.locator("section[aria-labelledby=check]")
    check.locator("input").fill(records[6]["hash"])
    check.get_by_role("button", name="Check").click()
    expect(check).to_contain_text(f"{len(records)} records; all hashes match.")
    expect(check).to_contain_text(records[-1]["hash"])
    check.get_by_role("button", name="event 7").click()
    stands_at(page, 7)

    changed = text.replace(json.dumps(records[6]["salt"]), json.dumps("0" * 32))
    page.route("**/log", lambda route: route.fulfill(body=changed, content_type="application/x-ndjson"))
    check.locator("input").fill("0" * 64)
    check.get_by_role("button", name="Check").click()
    expect(check).to_contain_text("Record 7 does not match")
    expect(check).to_contain_text("No record of this game has this hash.")


@pytest.mark.parametrize("moment", ["0", "-3", "99999", "abc"])
def test_a_moment_that_is_not_there_becomes_the_last_in_the_address_too(
    reader: Reader, ended: Ended, moment: str
) -> None:
    page = reader(f"/watch/{ended.ox}?v={moment}")
    stands_at_the_end(page)
    expect(page).to_have_url(re.compile(rf"/watch/{ended.ox}\?v={head(page)}$"))


def test_the_timeline_is_driven_by_keys_from_anywhere(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.ox}?v=8&lang=en")
    stands_at(page, 8)
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    stands_at(page, 9)
    page.keyboard.press("n")
    reveal = page.locator(".marks [role=button][aria-label='Round 1: reveal']")
    revealed = int(page.locator(".log button", has_text="Reveal:").first.get_attribute("data-v") or 0)
    stands_at(page, revealed)
    assert moment(page) == revealed
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(page.locator(".timeline .text")).to_contain_text("Round 3:")
    reveal.click(force=True)
    stands_at(page, revealed)
    page.keyboard.press(">")
    expect(page.get_by_role("button", name="Speed 2×")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Speed 2×")).to_be_visible()


def test_a_picture_names_who_stands_where_and_moves_them(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.ox}?v=8", moving=True)
    people = page.locator("svg.picture [role=img][aria-label]")
    expect(people).to_have_count(5)
    before = [box["y"] for one in people.all() if (box := one.bounding_box())]
    assert max(before) - min(before) < 20, "nothing parts the seats before the reveal"
    page.evaluate(COUNT_MOVES)
    page.keyboard.press("n")
    expect(page.locator("svg.picture desc")).to_contain_text("O: ")
    page.wait_for_function("window.moves > 0")


def test_a_game_stands_in_a_frame_of_anybody(reader: Reader, ended: Ended) -> None:
    page = reader(f"/embed/{ended.ox}?v=12&title=1")
    expect(page.locator("svg.picture")).to_be_visible()
    expect(page.get_by_role("slider")).to_have_value("12")
    bare = reader(f"/embed/{ended.ox}?controls=0")
    expect(bare.locator("svg.picture")).to_be_visible()
    expect(bare.get_by_role("slider")).to_have_count(0)


def test_a_game_is_found_in_the_archive_and_leads_to_its_agents(reader: Reader, platform: str, ended: Ended) -> None:
    page = reader(archive_of(platform, ended.ox, gameType="ox", q="HOUSE"))
    row = page.locator("li", has=page.locator(f"a[href='/watch/{ended.ox}']"))
    expect(row).to_be_visible()
    row.locator("a[href^='/agents/']").first.click()
    page.wait_for_url("**/agents/*")
    expect(page.locator(f"a[href='/watch/{ended.ox}']")).to_be_visible()
    expect(reader("/games?q=nobody-is-called-so").locator("li.quiet").first).to_be_visible()


def test_a_phone_shows_where_one_stands_without_moving_the_controls(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.ox}?lang=en", screen=PHONE)
    stands_at_the_end(page)
    where, row = page.locator(".timeline output").bounding_box(), page.locator(".timeline .row").bounding_box()
    assert where
    assert row
    assert where["x"] + where["width"] <= row["x"] + row["width"]


def test_house_bots_stand_in_the_leaderboard_while_nobody_else_has_points(reader: Reader) -> None:
    page = reader("/games?lang=en")
    line = {"id": "agent-1", "name": "house 1", "handle": "house-1", "rank": 1, "points": 200, "games": 1}
    board = page.locator("section[aria-labelledby=board]")

    def answer(route: Route) -> None:
        rows = [line] if "kind=house" in route.request.url else []
        route.fulfill(json={"leaderboard": rows, "next_cursor": None})

    page.route("**/api/leaderboard*", answer)
    page.goto("/?lang=en")
    expect(board).to_contain_text("Only house bots have points so far.")
    expect(board.locator("tbody tr")).to_have_count(1)
    board.get_by_label("Show on the leaderboard").select_option("House bots")
    expect(board).not_to_contain_text("So far only")
    expect(board.locator("tbody tr")).to_have_count(1)
    board.get_by_label("Show on the leaderboard").select_option("Agents and house bots")
    expect(board).to_contain_text("No one has points yet.")


def test_the_leaderboard_shows_scores_over_all_games_with_their_time_and_who_is_left_out(reader: Reader) -> None:
    page = reader("/games?lang=en")
    agent = {
        "rank": 1, "id": "agent-1", "name": "Ada", "handle": "ada-1", "kind": "bot", "model": None,
        "score": 1.25, "low": -0.5, "high": 2.125, "games": 41, "types": ["ox"],
    }  # fmt: skip
    model = {**agent, "id": "small", "name": "small", "handle": "small", "kind": "house", "model": "small"}
    board = page.locator("section[aria-labelledby=board]")
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        if "by=model" in route.request.url:
            body = {"leaderboard": [model], "as_of": "2026-11-25T12:00:00Z", "unconnected": 2}
        elif "by=overall" in route.request.url:
            found = [agent] if "kind=bot" in route.request.url else []
            body = {"leaderboard": found, "as_of": "2026-11-25T12:00:00Z" if found else None, "unconnected": 0}
        else:
            body = {"leaderboard": []}
        route.fulfill(json={"next_cursor": None, **body})

    page.route("**/api/leaderboard*", answer)
    page.goto("/?lang=en")
    of, who = board.get_by_label("Leaderboard for"), board.get_by_label("Show on the leaderboard")
    of.select_option("All games, by strength")
    expect(board.locator("tbody tr")).to_have_text(["1Ada1.25−0.50 … 2.1341"])
    expect(board.get_by_role("link", name="Ada")).to_have_attribute("href", "/agents/agent-1")
    expect(board).to_contain_text("Computed Nov 25, 2026")
    expect(board).not_to_contain_text("Not listed")
    who.select_option("House bots")
    expect(board).to_contain_text("The scores are not computed yet.")
    of.select_option("All games, by model")
    expect(who).to_have_value("all")
    expect(board.locator("tbody tr")).to_contain_text("small")
    expect(board.locator("tbody a")).to_have_count(0)
    expect(board).to_contain_text("Not listed, because no games connect them to the others: 2.")
    assert "by=model&kind=all" in asked[-1]


def test_the_leaderboard_shows_ratings_with_their_versions(reader: Reader) -> None:
    page = reader("/games?lang=en")
    row = {
        "rank": 1, "id": "agent-1", "name": "Ada", "handle": "ada-1", "kind": "bot", "model": None, "version": "v2",
        "points": 400, "games": 3, "rating": 1560.5, "uncertainty": 240.0, "provisional": True,
    }  # fmt: skip
    board = page.locator("section[aria-labelledby=board]")

    def answer(route: Route) -> None:
        rows = [row] if "by=rating" in route.request.url and "kind=bot" in route.request.url else []
        route.fulfill(json={"leaderboard": rows, "next_cursor": None})

    page.route("**/api/leaderboard*", answer)
    page.goto("/?lang=en")
    board.get_by_label("Leaderboard for").select_option("rating:ox")
    expect(board.locator("tbody tr")).to_have_text(["1Ada v21560.5 ± 240 (provisional)3"])
    expect(board).to_contain_text("Agents with a rated game in the last 90 days")
    expect(board).not_to_contain_text("The prosecution")
    board.get_by_label("Leaderboard for").select_option("rating:trial")
    expect(board).to_contain_text(re.compile(r"The prosecution is expected to win \d+% of trials\."))
    board.get_by_label("Show on the leaderboard").select_option("House bots")
    expect(board).to_contain_text("No one here has a rated game in the last 90 days.")


def test_a_profile_shows_the_ratings_of_slow_games_beside_those_of_quick_ones(
    reader: Reader, ended: Ended, platform: str
) -> None:
    page = reader("/games?lang=en")
    seat = httpx.get(f"{platform}/api/games/{ended.ox}/state", timeout=SECONDS).json()["participants"][0]
    profile = f"/agents/{seat['id']}"
    rating = {"rating": 1560.5, "uncertainty": 240.0, "games": 3, "version": "v2", "provisional": True}
    agent = {
        "id": "agent-1", "handle": "ada-1", "name": "Ada", "kind": "bot", "model": None, "version": "v2", "about": None,
        "owner": None, "created_at": "2026-01-01T00:00:00.000000Z", "games": {"trial": 0, "ox": 5}, "points": 400,
        "ratings": {
            "ox": rating, "ox_slow": {**rating, "games": 2, "rating": 1490.0}, "trial": None, "trial_slow": None,
        },
        "recent": [],
    }  # fmt: skip
    page.route("**/api/agents/*", lambda route: route.fulfill(json=agent))
    page.goto(f"{profile}?lang=en")
    expect(page.locator("table tbody tr")).to_have_text(
        [
            re.compile("^Mock trial0–"),
            re.compile(r"^O/X.*51560\.5 ± 240 \(provisional\)v2$"),
            re.compile(r"^O/X.* · Slow21490 ± 240 \(provisional\)v2$"),
        ]
    )


@pytest.mark.usefixtures("ended")
def test_agents_of_one_name_are_told_apart_in_the_leaderboard(reader: Reader) -> None:
    rows = reader("/").locator("table tbody tr")
    expect(rows.first).to_be_visible()
    # Read in one piece: the lobby draws its leaderboard again when a game ends.
    lines = rows.evaluate_all(
        "rows => rows.map((row) => [row.querySelectorAll('th, td')[1], row.querySelector('a .name')]"
        ".map((one) => one.innerText))"
    )
    shown = [line for line, _ in lines]
    assert len(shown) > len({name for _, name in lines}), "some share a name"
    assert len({*shown}) == len(shown)
