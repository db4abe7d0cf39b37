"""The pages of tournaments: open, while they run, and over; legible in each language and on a phone."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from playmolt import Turn
from playmolt.client import Client
from playmolt_cli.local.folder import Run
from playmolt_schemas.routes import tournaments as routes
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import PHONE, Ended, Reader
from tests.browser.test_access import faults

WORDS = {
    "en": ("Standings", "Running games", "Starts once 100 entrants have joined"),
    "ko": ("순위", "진행 중인 게임", "참가자 100명이 모이거나"),
    "zh": ("排名", "进行中的比赛", "满 100 名参赛者"),
}


@pytest.fixture
def operator(run: Run) -> Iterator[Client]:
    with Client(run.gateway, run.operator_key) as client:
        yield client


def opened(operator: Client, **terms: object) -> str:
    body = {"name": "Cup <b>of</b> bots", "game_type": "ox", "format": "swiss", "min_entrants": 2, "max_entrants": 100}
    return operator.call(routes.OPEN_TOURNAMENT, body=body | terms).id


def drawn(page: Page) -> Page:
    page.wait_for_selector("main section")
    return page


@pytest.mark.parametrize("language", WORDS)
def test_a_tournament_is_shown_in_each_language(reader: Reader, operator: Client, language: str) -> None:
    cup = opened(operator)
    page = drawn(reader(f"/tournaments/{cup}", language=language))
    for words in WORDS[language]:
        expect(page.locator("main")).to_contain_text(words)
    expect(page.get_by_role("heading", level=1)).to_have_text("Cup <b>of</b> bots")
    assert faults(page) == []
    phone = drawn(reader(f"/tournaments/{cup}", language=language, screen=PHONE, scheme="dark"))
    assert faults(phone) == []
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    operator.call(routes.CANCEL_TOURNAMENT, cup)


def chooses_o(turn: Turn) -> dict[str, object]:
    kind = turn.actions[0].type
    return {"type": kind, "comment": "O", **({"choice": "O"} if kind == "first_choice" else {"use_switch": False})}


@contextmanager
def held(operator: Client, platform: str, cup: str) -> Iterator[Client]:
    """Fill a cup of five with an entrant that has not answered yet: its game is not over before a page shows it."""
    with Client(platform) as client:
        key = client.register("one who waits").api_key
    with Client(platform, key) as entrant:
        entrant.call(routes.JOIN_TOURNAMENT, cup)
        operator.call(routes.ADD_HOUSE, cup, body={"number": 4})
        yield entrant


def test_the_standings_move_while_the_games_run(reader: Reader, operator: Client, platform: str) -> None:
    cup = opened(operator, rounds=1, max_entrants=5)
    page = drawn(reader(f"/tournaments/{cup}"))
    expect(page.locator("section[aria-labelledby=now]")).to_contain_text("No game is running.")
    with held(operator, platform, cup) as entrant:
        expect(page.locator("section[aria-labelledby=now] a")).to_have_count(1)
        entrant.play_tournament(chooses_o, cup)
    expect(page.locator("section[aria-labelledby=standings] tbody tr")).to_have_count(5)
    expect(page.locator("main")).to_contain_text("finished")
    expect(page.locator("section[aria-labelledby=rounds]")).to_contain_text("1 of 1 games over")
    assert faults(page) == []
    page.get_by_role("link", name="Finished games").click()
    expect(page.locator("ul.games.rows > li")).to_have_count(1)
    page.get_by_role("button", name="Search").click()
    expect(page.locator("ul.games.rows > li")).to_have_count(1)
    assert faults(page) == []
    expect(page.get_by_role("link", name="Back to the tournament")).to_have_attribute("href", f"/tournaments/{cup}")
    phone = drawn(reader(f"/tournaments/{cup}", screen=PHONE))
    names = phone.locator("section[aria-labelledby=standings] tbody a")
    expect(names).to_have_count(5)
    assert names.evaluate_all("(names) => names.every((name) => name.getBoundingClientRect().width > 30)")
    listed = drawn(reader("/tournaments"))
    row = listed.locator(f"section[aria-labelledby=over] li:has(a[href='/tournaments/{cup}'])")
    expect(row).to_contain_text("5 entrants")
    assert faults(listed) == []
    assert faults(drawn(reader("/tournaments", language="zh", screen=PHONE))) == []


def test_a_game_names_its_tournament(reader: Reader, operator: Client, platform: str) -> None:
    cup = opened(operator, rounds=1, max_entrants=5)
    with held(operator, platform, cup):
        page = drawn(reader(f"/tournaments/{cup}"))
        page.locator("main a[href^='/watch/']").first.click()
    link = page.get_by_role("link", name="Tournament, round 1")
    expect(link).to_have_attribute("href", f"/tournaments/{cup}")
    expect(page.locator("#scene")).not_to_be_empty()
    assert faults(page) == []


UNRATED = {
    "tournament": {"en": "this tournament do not", "ko": "이 토너먼트의 게임은", "zh": "本锦标赛的对局不影响"},
    "private": {"en": "this is a private game", "ko": "비공개 게임입니다", "zh": "这是非公开对局"},
    "one_owner": {"en": "have the same owner", "ko": "같은 소유자의", "zh": "属于同一所有者"},
    "one_address": {"en": "from the same address", "ko": "같은 주소에서", "zh": "从同一地址注册"},
    "no_owner": {"en": "needs an owner", "ko": "소유자가 있어야", "zh": "都有所有者"},
}


@pytest.mark.parametrize("reason", UNRATED)
def test_a_game_says_why_it_is_not_rated(
    reader: Reader, operator: Client, platform: str, ended: Ended, reason: str
) -> None:
    game, state = ended.ox, dict[str, object]()
    if reason == "tournament":
        cup = opened(operator, rounds=1, max_entrants=5, rated=False)
        with held(operator, platform, cup):
            page = drawn(reader(f"/tournaments/{cup}"))
            game = str(page.locator("main a[href^='/watch/']").first.get_attribute("href")).removeprefix("/watch/")
    elif reason == "one_owner":
        game = of_one_owner(platform)
    else:  # these need another server, or another address
        state = {"rated": False, **({"private": True} if reason == "private" else {"unrated": reason})}

    def change(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | state)

    page = reader("/nowhere")
    page.route(f"**/api/games/{game}/state*", change)
    for language, words in UNRATED[reason].items():
        page.goto(f"/watch/{game}?lang={language}")
        expect(page.locator("#rating")).to_contain_text(words)
        expect(page.locator("#scene")).not_to_be_empty()
        assert faults(page) == []


def test_a_rated_game_says_nothing_of_its_rating(reader: Reader, ended: Ended) -> None:
    rated = reader(f"/watch/{ended.trial}")
    expect(rated.locator("#scene")).not_to_be_empty()
    expect(rated.locator("#rating")).to_be_hidden()


def of_one_owner(platform: str) -> str:
    """A public game in which two agents of one owner play."""
    with Client(platform) as client:
        made = client.open_owner("Ada")
    with Client(platform, made.owner_key) as owner:
        keys = [owner.register_owned(f"of Ada {number}").api_key for number in range(2)]
    for number in range(3):
        with Client(platform) as client:
            keys.append(client.register(f"other {number}").api_key)
    joined = []
    for key in keys:
        with Client(platform, key) as client:
            joined.append(client.join("ox").game_id)
    assert len(set(joined)) == 1
    return joined[0]


def test_the_time_to_a_start_is_counted_down(reader: Reader, operator: Client) -> None:
    cup = opened(operator, starts_at=soon())
    timer = drawn(reader(f"/tournaments/{cup}")).get_by_role("timer")
    before = timer.inner_text()
    assert before.startswith(("Starts in 00:5", "Starts in 01:00:00"))
    expect(timer).not_to_have_text(before)
    operator.call(routes.CANCEL_TOURNAMENT, cup)


def soon() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")


def test_a_tournament_that_does_not_exist_is_not_found(reader: Reader) -> None:
    page = reader("/tournaments/tournament-00000000-0000-4000-8000-000000000000")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
