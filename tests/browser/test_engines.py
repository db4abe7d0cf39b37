"""Every engine that is installed here: it shows the words of every page, complains of nothing, and a person plays."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import OPERATOR_KEY, PHONE, Ended
from tests.browser.engines import OTHERS, Chromium, Engine, Firefox, WebKit, shown, tab_to, tap, until
from tests.browser.players import SECONDS, Seat, experiment
from tests.browser.test_play import OVER, SEND, TURN

PLAN = {
    "name": "short", "models": ["scripted-trader"], "languages": ["en"], "exploratory": True,
    "phases": {"phase1": {"runs": 1, "turns": 2}},
}  # fmt: skip


pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module", params=("chromium", *OTHERS))
def started(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Engine]:
    """An engine; skips its tests where it is not installed."""
    if request.param == "chromium":
        chromium = Chromium(browser)
        yield chromium
        chromium.close()
        return
    installed, start = OTHERS[request.param]
    if not installed:
        pytest.skip(f"{request.param} is not installed")
    with start() as engine:
        yield engine


@pytest.fixture
def engine(started: Engine) -> Iterator[Engine]:
    """One that remembers nothing: starting it takes as long as a test of it."""
    yield started
    started.forget()


class Owned(NamedTuple):
    """Somebody's session, and the shared page of an experiment."""

    key: str
    session: str
    shared: str


@pytest.fixture(scope="session")
def owned(platform: str) -> Owned:
    seat = Seat(platform)
    opened = {"case_type": "civil", "jurisdiction": "KR", "title": "A deposit", "language": "ko"}
    session = seat.client.post("/api/sessions", json=opened).json()["id"]
    key = seat.client.headers["Authorization"].removeprefix("Bearer ")
    seat.close()
    operator = {"Authorization": f"Bearer {OPERATOR_KEY}"}
    with httpx.Client(base_url=platform, headers=operator, timeout=SECONDS) as http:
        made = experiment(platform, OPERATOR_KEY, PLAN)
        until(lambda: http.get(f"/api/agora/experiments/{made}").json()["status"] == "finished", "an experiment")
        shared = http.post(f"/api/agora/experiments/{made}/share", json={}).raise_for_status().json()["url"]
    return Owned(key, session, shared.removeprefix(platform))


def pages(ended: Ended, owned: Owned, agent: str) -> dict[str, str]:
    """Every kind of page, and what it shows when it has drawn itself."""
    game = ".games a[href^='/watch/']"
    return {
        "/": game,
        "/?lang=ko": game,
        "/games": game,
        f"/watch/{ended.ox}": "svg.picture",
        f"/watch/{ended.trial}?v=9": "svg.picture",
        f"/embed/{ended.ox}": "svg.picture",
        f"/agents/{agent}": game,
        "/game": "main button",
        "/legal": "main button",
        f"/legal?session={owned.session}": "svg.picture",
        "/agora": "main section",
        "/tournaments": "main section",
        "/me": "main section",
        "/play/ox": "main section",
        "/nowhere": "main h1",
        owned.shared: "main h1",
        "/docs": "main h1",
        "/privacy": "main h1",
        f"/watch/{ended.ox}/picture.svg": "text",
    }


def test_the_console_of_every_page_is_empty(engine: Engine, platform: str, ended: Ended, owned: Owned) -> None:
    agent = httpx.get(f"{platform}/api/games/{ended.ox}/state", timeout=SECONDS).json()["participants"][0]["id"]
    engine.visit(f"{platform}/privacy")
    engine.ask(f"localStorage.setItem('playmolt.key', '{owned.key}')")
    for path, selector in pages(ended, owned, agent).items():
        engine.visit(platform + path)
        shown(engine, selector)
    assert engine.complaints() == []


def test_an_engine_that_stores_nothing_shows_every_page(engine: Engine, platform: str, ended: Ended) -> None:
    if not isinstance(engine, Firefox):
        pytest.skip("no driver but Firefox's has a preference for it; test_refused.py takes storage from Chromium")
    with engine.storing_nothing():
        engine.visit(f"{platform}/privacy")
        for path, selector in {"/": ".games a", f"/watch/{ended.ox}": "svg.picture", "/legal": "main button"}.items():
            engine.visit(platform + path)
            shown(engine, selector)


Give = Callable[[Engine, str, str], None]
"""Answers the turn that is shown: the selector of its choice or "", and the selector of its text or ""."""


def by_keyboard(engine: Engine, choice: str, text: str) -> None:
    if choice:
        tab_to(engine, choice)
        # The second of two: to keep a side, as the one switch of a game is soon used.
        engine.press("Space", "ArrowDown")
    if text:
        tab_to(engine, text)
        engine.press(*"so")
    tab_to(engine, SEND)
    engine.press("Enter")


def by_touch(engine: Engine, choice: str, text: str) -> None:
    if choice:
        tap(engine, f"{TURN} .choice:last-of-type")
    if text:
        tap(engine, text)
        engine.press(*"so")
    tap(engine, SEND)


def played(engine: Engine, gives: Sequence[Give]) -> int:
    """Answer every turn until the game is over, two turns by each of these means; gives how many there were."""
    turns = list[str]()
    while turn := _next(engine, turns[-1] if turns else ""):
        give = gives[len(turns) // 2 % len(gives)]
        turns.append(turn)
        fields = ("input[type=radio]", "textarea", "input[type=text]")
        fits = engine.ask(f"return {[*fields]}.map((name) => Boolean(document.querySelector(`{TURN} ${{name}}`)))")
        choice, *texts = (f"{TURN} {name}" if there else "" for name, there in zip(fields, fits, strict=True))
        give(engine, choice, next(filter(None, texts), ""))
    return len(turns)


def _next(engine: Engine, last: str) -> str:
    """The turn that is shown after another one; "" when the game is over."""
    another = f"document.querySelector('{TURN}:not([data-turn=\"{last}\"])')"
    over = f'document.querySelector("{OVER}")'
    until(lambda: engine.ask(f"return Boolean({another} ?? {over})"), "the next turn, or the end")
    return str(engine.ask(f"return {another}?.dataset.turn ?? ''"))


def without_deadlines(engine: Engine) -> None:
    """However long the keys of an engine take, a turn waits for them."""
    shown(engine, "select[name=time]")
    engine.ask("document.querySelector('select[name=time]').value = '0';")


def test_a_person_plays_on_a_phone_in_every_engine(engine: Engine, platform: str) -> None:
    engine.visit(f"{platform}/play/ox")
    engine.resize(PHONE["width"], PHONE["height"])
    without_deadlines(engine)
    tab_to(engine, "input[name=name]")
    engine.press(*"Ada")
    tab_to(engine, "main button.first")
    engine.press("Enter")
    shown(engine, SEND)
    tab_to(engine, f"{TURN} input[type=text]")
    engine.press(*"half an ans")
    engine.ask("window.before = true; location.reload();")
    kept = f"!window.before && document.querySelector('{TURN} input[type=text]')?.value"
    until(lambda: engine.ask(f"return {kept}") == "half an ans", "a reload")
    assert played(engine, (by_keyboard, by_touch)) == 10
    shown(engine, f"main a[href='/watch/{_game(engine)}']")
    tap(engine, "section[aria-labelledby=turn] button.first")
    shown(engine, "section[aria-labelledby=new]")

    engine.visit(f"{platform}/play/trial?lang=ko")
    engine.resize(PHONE["width"], PHONE["height"])
    without_deadlines(engine)
    tap(engine, "section[aria-labelledby=new] button.first")
    # An opening, three arguments; then a rebuttal, a vote or the sentence.
    assert played(engine, (by_touch,)) == 5
    words = str(engine.ask("return document.querySelector('main').innerText"))
    assert "게임이 끝났습니다" in words
    game = httpx.get(f"{platform}/api/games/{_game(engine)}/state", timeout=SECONDS).json()
    assert [seat["kind"] for seat in game["participants"]].count("person") == 1
    assert game["language"] == "ko"
    if not isinstance(engine, WebKit):  # whose console is that of a second browser, without this person
        assert engine.complaints() == []


def _game(engine: Engine) -> str:
    return str(engine.ask("return new URLSearchParams(location.search).get('game')"))
