"""Every page in every engine that is installed here: its words are shown and nothing is refused, thrown or blocked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import OPERATOR_KEY, Ended
from tests.browser.engines import OTHERS, Chromium, Engine, shown, until
from tests.browser.players import SECONDS, Seat, experiment

ENGINES = ("chromium", *OTHERS)
PLAN = {
    "name": "short", "models": ["scripted-trader"], "languages": ["en"], "exploratory": True,
    "phases": {"phase1": {"runs": 1, "turns": 2}},
}  # fmt: skip


@contextmanager
def running(name: str, browser: Browser, **given: Any) -> Iterator[Engine]:
    """An engine; skips the test where it is not installed."""
    if name == "chromium":
        yield Chromium(browser)
        return
    installed, start = OTHERS[name]
    if not installed:
        pytest.skip(f"{name} is not installed")
    with start(**given) as engine:
        yield engine


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


@pytest.mark.parametrize("name", ENGINES)
def test_the_console_of_every_page_is_empty(
    name: str, browser: Browser, platform: str, ended: Ended, owned: Owned
) -> None:
    agent = httpx.get(f"{platform}/api/games/{ended.ox}/state", timeout=SECONDS).json()["participants"][0]["id"]
    with running(name, browser) as engine:
        engine.visit(f"{platform}/privacy")
        engine.ask(f"localStorage.setItem('playmolt.key', '{owned.key}')")
        for path, selector in pages(ended, owned, agent).items():
            engine.visit(platform + path)
            shown(engine, selector)
        assert engine.complaints() == []
