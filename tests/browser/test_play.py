"""People play `/play/ox` and `/play/trial`: on a phone, by keyboard, by touch, with friends, and in spite of faults."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import PHONE, Reader, answer
from tests.browser.engines import until
from tests.browser.players import SECONDS, Seat
from tests.browser.test_access import faults
from tests.browser.test_manners import HIDE
from tests.browser.test_me import create, violations
from tests.browser.test_refused import REFUSALS
from tests.browser.test_visitors import WAITS

TURN = "[data-turn]"
OVER = ".button[href^='/watch/']"
SEND = f"{TURN} button.first"
KEY = "playmolt.person"
PATIENT_SECONDS = 3600

Persons = Callable[..., "Person"]


@pytest.fixture
def persons(platform: str) -> Iterator[Persons]:
    """Registers a person: `persons("Grace")`."""
    made = list[Person]()

    def person(name: str = "Kim") -> Person:
        made.append(Person(platform, name))
        return made[-1]

    yield person
    for one in made:
        one.client.close()


class Person:
    """A person's agent that also calls the API, as another device of this person would."""

    def __init__(self, gateway: str, name: str) -> None:
        self.client = httpx.Client(base_url=gateway, timeout=SECONDS)
        made = self.client.post("/api/agents", json={"name": name, "kind": "person"}).json()
        self.id, self.name, self.key = str(made["id"]), name, str(made["api_key"])
        self.client.headers["Authorization"] = f"Bearer {self.key}"

    def opens(self, game: str = "ox", **wanted: Any) -> str:
        """Open a private game with house bots. However long a page takes, its turns wait for the person."""
        own = {"fill": "house", "fill_after_seconds": 0, "language": "en", "deadline_seconds": PATIENT_SECONDS}
        body = {"gameType": game, **own, **wanted}
        return str(self.client.post("/api/games", json=body).raise_for_status().json()["game_id"])

    def invites(self, deadline_seconds: int) -> tuple[str, str]:
        """Open a private game that begins when `four_sit_down`; gives its ID and its invite."""
        body = {"gameType": "ox", "language": "en", "deadline_seconds": deadline_seconds}
        opened = self.client.post("/api/games", json=body).raise_for_status().json()
        return str(opened["game_id"]), str(opened["invite"])

    def events(self, game: str) -> list[dict[str, Any]]:
        """The public events of a game, read with the key of the seat: a private game is open to few."""
        return list(self.client.get(f"/api/games/{game}/events?limit=500").json()["events"])

    def sits(self, reader: Reader, game: str, page: Page | None = None, **how: Any) -> Page:
        """The page of this person's seat."""
        page = page or reader("/play/ox", **how)
        kept = {"id": self.id, "name": self.name, "key": self.key}
        page.evaluate("([name, kept]) => localStorage.setItem(name, JSON.stringify(kept))", [KEY, kept])
        page.goto(f"/play/{game.partition('-')[0]}?game={game}")
        return page


def four_sit_down(platform: str, invite: str) -> None:
    """Bots that never answer take the other seats: the game begins, and its deadlines run."""
    for number in range(4):
        bot = Seat(platform, f"guest {number}")
        bot.join("ox", invite=invite)
        bot.close()


def choose(page: Page, comment: str) -> None:
    turn = page.locator(TURN)
    expect(turn).to_be_visible()
    turn.locator("input[type=radio]").last.check()
    turn.locator("input[type=text]").fill(comment)


def test_what_was_typed_survives_a_reload_and_a_second_tab(reader: Reader, persons: Persons) -> None:
    person = persons()
    page = person.sits(reader, person.opens(), screen=PHONE)
    choose(page, "typed before the reload")
    page.reload()
    expect(page.locator(f"{TURN} input[type=text]")).to_have_value("typed before the reload")
    expect(page.locator(f"{TURN} input[type=radio]").last).to_be_checked()
    expect(page.get_by_role("timer")).to_contain_text("s left")

    second = page.context.new_page()
    second.goto("/play/ox")
    expect(second).to_have_url(page.url)
    expect(second.locator(f"{TURN} input[type=text]")).to_have_value("typed before the reload")
    page.context.set_offline(True)
    page.locator(f"{TURN} input[type=text]").fill("typed while the other tab answers")
    person.client.post(
        f"/api/games/{page.url.partition('game=')[2]}/actions",
        json={"type": "first_choice", "choice": "O", "comment": "x"},
    ).raise_for_status()
    page.context.set_offline(False)
    expect(page.get_by_role("heading", name="Keep or switch?")).to_be_visible()
    unsent = page.locator("section[aria-labelledby=unsent]")
    expect(unsent).to_contain_text("typed while the other tab answers")
    unsent.get_by_role("button", name="Use this text").first.click()
    expect(page.locator(f"{TURN} input[type=text]")).to_have_value("typed while the other tab answers")
    expect(second.get_by_role("heading", name="Keep or switch?")).to_be_visible()


def test_an_answer_that_comes_late_is_kept(reader: Reader, persons: Persons) -> None:
    person = persons()
    page = person.sits(reader, person.opens(), screen=PHONE)
    choose(page, "this comes late")
    late = list[int]()

    def overtaken(route: Route) -> None:
        """The other device answers first."""
        if not late:
            said = {"type": "first_choice", "choice": "O", "comment": "x"}
            late.append(person.client.post(urlsplit(route.request.url).path, json=said).status_code)
        route.continue_()

    page.route("**/actions", overtaken)
    page.locator(SEND).click()
    expect(page.locator("main [role=alert]")).to_contain_text("What you typed is kept below")
    assert late == [200]
    expect(page.locator("section[aria-labelledby=unsent]")).to_contain_text("this comes late")
    expect(page.get_by_role("heading", name="Keep or switch?")).to_be_visible()


@pytest.mark.parametrize("away", ["hidden", "elsewhere"])
def test_a_phone_that_was_closed_says_what_was_missed(
    reader: Reader, platform: str, persons: Persons, away: str
) -> None:
    person = persons()
    game, invite = person.invites(deadline_seconds=4)
    page = person.sits(reader, game, screen=PHONE)
    expect(page.get_by_role("heading", name="Waiting for players")).to_be_visible()
    if away == "hidden":
        page.evaluate(HIDE, True)
    else:
        page.goto("/privacy")

    def missed() -> list[str]:
        return [one["type"] for one in person.events(game) if one.get("agent_id") == person.id and one.get("forfeit")]

    def asked_after_the_deadline(route: Route) -> None:
        """A game that is over is not returned to, and this one is over after two deadlines."""
        until(missed, "a deadline that the closed phone misses")
        route.continue_()

    four_sit_down(platform, invite)
    if away == "hidden":
        until(missed, "a deadline that the closed phone misses")
        page.evaluate(HIDE, False)
    else:
        page.route(f"**/api/games/{game}/state", asked_after_the_deadline)
        page.goto("/play/ox")
    card = page.locator("section[aria-labelledby=missed]")
    expect(card).to_contain_text("You missed a deadline:")
    expect(card).to_contain_text(f"{person.name} (person) has chosen")
    card.get_by_role("button", name="OK").click()
    expect(card).to_have_count(0)


def test_a_page_whose_person_is_gone_keeps_nobody_waiting(reader: Reader, platform: str, persons: Persons) -> None:
    person = persons()
    game, invite = person.invites(deadline_seconds=2)
    page = person.sits(reader, game)
    expect(page.locator(".seat-head .tag.live")).to_be_visible()
    four_sit_down(platform, invite)
    asking = page.get_by_role("heading", name="Are you still there?")
    expect(asking).to_be_visible()
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3000)  # longer than a deadline: nothing is sent in the person's name
    assert [url for url in asked if "/api/" in url] == []
    page.get_by_role("button", name="I am back").click()
    expect(asking).to_have_count(0)
    expect(page.locator(f"{TURN}, {OVER}").first).to_be_visible()


def test_a_lost_connection_loses_nothing(reader: Reader, persons: Persons) -> None:
    person = persons()
    page = person.sits(reader, person.opens(), screen=PHONE)
    choose(page, "typed without a connection")
    page.context.set_offline(True)
    page.locator(SEND).click()
    expect(page.locator(".offline")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("heading", name="Keep or switch?")).to_be_visible()
    expect(page.locator("#main .speech.mine")).to_contain_text("typed without a connection")


def test_friends_play_by_a_link_and_watchers_learn_no_secret(reader: Reader, platform: str) -> None:
    host = reader("/play/ox", screen=PHONE)
    host.get_by_label("Your name").fill("Ada")
    host.get_by_label("People I invite").check()
    host.get_by_label("Empty seats").select_option("")
    host.get_by_label("Language of the game").select_option("en")
    host.get_by_role("button", name="Start", exact=True).click()
    link = host.get_by_label("Link", exact=True).input_value()
    invite = link.partition("invite=")[2]
    game = host.url.partition("game=")[2]

    guest = reader(link.removeprefix(platform), language="zh-CN", screen=PHONE, scheme="dark")
    guest.get_by_label("你的名字").fill("Bo")
    guest.get_by_role("button", name="入座").click()
    expect(host.locator("#main .seat").filter(has_text="Bo").locator(".tag")).to_have_text("person")
    watcher = reader(f"/watch/{game}?invite={invite}")
    bots = [Seat(platform, f"bot {number}") for number in range(3)]
    for bot in bots:
        bot.client.post("/api/games/join", json={"gameType": "ox", "invite": invite}).raise_for_status()
    secret = "only Ada knows this yet"
    choose(host, secret)
    host.locator(SEND).click()
    expect(host.get_by_role("heading", name="Waiting for the others")).to_be_visible()
    expect(watcher.locator("#main")).to_contain_text(re.compile(r"Ada\W*\(person\)\W* has chosen"))
    public = [
        httpx.get(f"{platform}/api/games/{game}/{what}invite={invite}", timeout=SECONDS).text
        for what in ("state?", "events?limit=500&")
    ]
    shown_to_others = [*public, watcher.content(), guest.content(), bots[0].client.get(f"/api/games/{game}/state").text]
    assert [text for text in shown_to_others if secret in text] == []
    choose(guest, "你好")
    guest.locator(SEND).click()
    for bot in bots:
        bot.act(type="first_choice", choice="O", comment="a bot")
    expect(watcher.locator("#main")).to_contain_text(secret)
    expect(host.get_by_role("heading", name="Keep or switch?")).to_be_visible()
    tags = watcher.locator(".speech .row", has_text="Ada").locator(".tag.plain")
    expect(tags).to_have_text("person")
    late = reader(link.removeprefix(platform))
    late.get_by_label("Your name").fill("Cy")
    late.get_by_role("button", name="Take a seat").click()
    late.get_by_role("link", name="Watch", exact=True).click()
    expect(late.locator("#main")).to_contain_text(secret)
    host.get_by_role("button", name="Resign").click()
    answer(host, yes=True)
    expect(host.get_by_role("heading", name="You have resigned")).to_be_visible()
    for bot in bots:
        bot.close()


def test_people_are_marked_wherever_they_are_named(reader: Reader, platform: str, persons: Persons) -> None:
    person = persons("Grace")
    person.client.post("/api/games/join", json={"gameType": "trial", "language": "zh"}).raise_for_status()
    page = reader("/")
    row = page.locator(".games li", has_text="Grace").first
    expect(row.locator(".tag.plain", has_text="person")).to_be_visible()
    page.get_by_role("combobox", name="Show on the leaderboard").select_option("person")
    expect(page.locator(".board")).to_be_visible()
    listed = httpx.get(f"{platform}/api/leaderboard?kind=person", timeout=SECONDS).json()["leaderboard"]
    assert {one["kind"] for one in listed} <= {"person"}
    game = str(row.locator("a").first.get_attribute("href")).rpartition("/")[2]
    for path in (f"/watch/{game}/picture.svg?lang=en", f"/watch/{game}/picture.svg?lang=ko"):
        picture = httpx.get(platform + path, timeout=SECONDS).text
        assert ("Grace (사람)" if "ko" in path else "Grace (person)") in picture
    frame = reader(f"/embed/{game}")
    expect(frame.locator("svg.picture")).to_contain_text("Grace (person)")
    shown_page = reader(f"/agents/{person.id}")
    expect(shown_page.locator("h1 ~ .tag")).to_have_text("person")
    person.client.post(f"/api/games/{game}/leave", json={})


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("ko", "dark"), ("zh", "light")])
def test_the_pages_are_legible_and_axe_finds_nothing(
    reader: Reader, persons: Persons, language: str, scheme: str
) -> None:
    page = reader("/play/trial", language=language, scheme=scheme, screen=PHONE if language != "zh" else None)
    page.wait_for_selector("section[aria-labelledby=new]")
    assert [*violations(page), *faults(page)] == []
    page.locator("input[value=friends]").check()
    page.locator("input[name=name]").fill("<i>" + "a" * 36 + "</i>")
    page.locator("main button.first").click()
    page.wait_for_selector("input[name=link]")
    assert [*violations(page), *faults(page)] == []
    person = persons("a-person-with-a-name-that-is-rather-long")
    seat = person.sits(reader, person.opens("trial"), language=language, scheme=scheme, screen=PHONE)
    expect(seat.locator(TURN)).to_be_visible()
    assert [*violations(seat), *faults(seat)] == []
    assert seat.locator("main button.first").count() == 1
    seat.locator(SEND).click()  # nothing was typed
    expect(seat.locator(f"{TURN} [aria-invalid=true]")).to_be_focused()
    assert [*violations(seat), *faults(seat)] == []


def test_an_owner_plays_as_an_agent_of_its_own(reader: Reader, platform: str) -> None:
    page = reader("/me")
    owner, _, _ = create(page, "Ada & co")
    page.goto("/play/ox")
    page.get_by_label("Your name").fill("Ada herself")
    page.get_by_label("As an agent of my owner account").check()
    page.get_by_label("People I invite").check()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Waiting for players")).to_be_visible()
    agent = page.evaluate(f"JSON.parse(localStorage.getItem('{KEY}')).id")
    shown_one = httpx.get(f"{platform}/api/agents/{agent}", timeout=SECONDS).json()
    assert (shown_one["owner"]["id"], shown_one["kind"]) == (owner, "person")
    page.get_by_role("button", name="Leave the game").click()
    answer(page, yes=True)
    expect(page.locator("section[aria-labelledby=new]")).to_contain_text("Ada herself")


def test_the_one_switch_of_a_game_is_offered_once(reader: Reader, persons: Persons) -> None:
    person = persons()
    page = person.sits(reader, person.opens())
    for used in (False, True):
        choose(page, "a side")
        page.locator(SEND).click()
        switching = page.get_by_label("Switch sides")
        expect(switching).to_be_disabled() if used else expect(switching).to_be_enabled()
        (page.get_by_label("Keep my side") if used else switching).check()
        page.locator(SEND).click()
        expect(page.get_by_label("Your reason")).to_be_visible()


def test_without_storage_a_seat_lasts_as_long_as_the_page(reader: Reader) -> None:
    page = reader("/nowhere")
    page.context.add_init_script(REFUSALS["blocked"])
    page.goto("/play/ox")
    page.get_by_label("Your name").fill("Ada")
    expect(page.get_by_text("This browser stores nothing here")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    choose(page, "kept by the page alone")
    page.locator(SEND).click()
    expect(page.get_by_role("heading", name="Keep or switch?")).to_be_visible()


@pytest.mark.parametrize(("language", "wait"), WAITS.items())
def test_the_page_says_how_long_to_wait_for_a_registration(reader: Reader, language: str, wait: str) -> None:
    def refuse(route: Route) -> None:
        problem = {"status": 429, "code": "rate_limited", "detail": "An address may register 30 agents"}
        route.fulfill(status=429, headers={"retry-after": "1800"}, json=problem)

    page = reader("/play/trial", language=language)
    page.route("**/api/agents", refuse)
    page.locator("input[name=name]").fill("Ada")
    page.locator("main button.first").click()
    expect(page.locator("main [role=alert]")).to_contain_text(wait)
    expect(page.locator("input[name=name]")).to_have_value("Ada")


def test_a_page_says_what_this_browser_cannot_do(reader: Reader, platform: str) -> None:
    page = reader("/play/ox?game=ox-0190c3f8-1111-7222-8333-444455556666")
    expect(page.locator("main .notice").first).to_contain_text("You have no seat in that game")
    page.evaluate(f"localStorage.setItem('{KEY}', JSON.stringify({{ id: 'agent-x', name: 'Ada', key: 'pm_void' }}))")
    page.reload()
    expect(page.locator("main [role=alert]")).to_contain_text("no longer accepts the key")
    expect(page.get_by_label("Your name")).to_be_visible()
    assert httpx.get(f"{platform}/play/legal", timeout=SECONDS).status_code == 404


WAGER = {
    "title": "Wager", "description": "Bet on a side.", "type": "object", "additionalProperties": False,
    "properties": {
        "type": {"enum": ["wager"]},
        "turn_id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "amount": {"type": "integer", "minimum": 1, "maximum": 9, "title": "Amount"},
        "side": {"enum": ["left", "right"]},
        "sure": {"type": "boolean"},
        "note": {"anyOf": [{"type": "string", "maxLength": 400}, {"type": "null"}]},
        "witnesses": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["type", "amount", "side", "sure"],
}  # fmt: skip


def test_an_action_that_no_page_knows_has_its_form(reader: Reader, persons: Persons) -> None:
    """The schemas that a game offers are all that the page needs."""
    person = persons()
    page = reader("/play/ox", screen=PHONE)
    sent = list[Any]()

    def offering(route: Route) -> None:
        answered = route.fetch()
        offer = answered.json()
        offer["actions"].append({"type": "wager", "schema": WAGER})
        route.fulfill(response=answered, json=offer)

    def taken(route: Route) -> None:
        sent.append(route.request.post_data_json)
        route.fulfill(status=400, json={"code": "invalid_action", "detail": "x", "status": 400, "errors": [
            {"field": "note", "message": "must contain 1 to 3 characters"}]})  # fmt: skip

    page.context.route("**/api/agents/me/turn*", offering)
    page.context.route("**/actions", taken)
    game = person.opens(deadline_seconds=0)
    until(lambda: person.client.get(f"/api/games/{game}/state").json()["phase"] != "waiting", "the house bots")
    page = person.sits(reader, game, page=page)
    page.get_by_label("Wager").check()
    turn = page.locator(TURN)
    turn.get_by_label("Amount").fill("12")
    turn.get_by_role("button").last.click()
    expect(turn.locator("[role=alert]").first).to_be_visible()
    turn.get_by_label("Amount").fill("7")
    turn.get_by_label("right").check()
    turn.get_by_label("Yes").check()
    turn.locator("textarea").fill("a longer note")
    turn.get_by_label("witnesses").first.fill("Bo")
    assert [*violations(page), *faults(page)] == []
    turn.locator("button.first").click()
    expect(turn.locator("textarea")).to_have_attribute("aria-invalid", "true")
    assert sent[0].pop("turn_id")
    assert sent == [
        {"type": "wager", "amount": 7, "side": "right", "sure": True, "note": "a longer note", "witnesses": ["Bo"]}
    ]
    page.reload()
    page.get_by_label("Wager").check()
    expect(turn.locator("textarea")).to_have_value("a longer note")
