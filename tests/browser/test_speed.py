"""What a visitor on a phone with a slow line waits for, and that nothing jumps under the thumb meanwhile."""

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import DESK, PHONE, Ended, Reader, archive_of
from tests.browser.players import Seat
from tests.browser.test_watch import stands_at_the_end

LOBBY_REQUESTS, WATCH_REQUESTS = 12, 12
LOBBY_BYTES, ARCHIVE_BYTES, WATCH_BYTES = 42_000, 30_000, 75_000
"""No more than at d89bdc5d, where the page of a game had 103,000."""
SHIFT = 0.1
LATENCY_MS, BYTES_A_SECOND = 150, 200 * 1024
ONCE = "window.setInterval = () => 0;"
"""A lobby lists its games again every eight seconds, which is no part of a visit."""
OBSERVED = """new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shift = (window.shift ?? 0) + one.value;
}).observe({ type: "layout-shift", buffered: true })"""


def asked_by(page: Page) -> list[Request]:
    """What a page asks for from now on."""
    asked: list[Request] = []

    def heard(request: Request) -> None:
        asked.append(request)

    page.on("request", heard)
    return asked


def visited(page: Page, path: str, shown: str) -> list[Request]:
    """Visit a page with nothing kept in the browser; gives what it asked for until `shown` was there."""
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Network.clearBrowserCache")
    speed = {"latency": LATENCY_MS, "downloadThroughput": BYTES_A_SECOND, "uploadThroughput": BYTES_A_SECOND}
    network.send("Network.emulateNetworkConditions", {"offline": False, **speed})
    page.context.add_init_script(ONCE + OBSERVED)
    asked = asked_by(page)
    page.goto(path)
    expect(page.locator(shown).first).to_be_visible()
    page.wait_for_timeout(500)
    # When a game of another test ends, the lobby lists them again: the same requests are not counted twice.
    return list({one.url: one for one in reversed(asked)}.values())


def size(asked: list[Request]) -> int:
    """What came over the line."""
    return sum(weights(asked).values())


def weights(asked: list[Request]) -> dict[str, int]:
    """What came over the line by address; feeds have no end, and no size."""
    return {one.url: one.sizes()["responseBodySize"] for one in asked if "/sse/" not in one.url}


def test_the_lobby_is_small_and_asks_little(reader: Reader, ended: Ended) -> None:
    page = reader("/nowhere", screen=PHONE)
    asked = visited(page, "/", ".games a[href^='/watch/']")
    expect(page.locator("svg.picture")).to_be_visible()
    assert len(asked) <= LOBBY_REQUESTS, [one.url for one in asked]
    assert size(asked) < LOBBY_BYTES, weights(asked)


def test_a_game_is_watched_with_few_requests(reader: Reader, ended: Ended) -> None:
    page = reader("/nowhere", screen=PHONE)
    asked = visited(page, f"/watch/{ended.ox}", "svg.picture")
    stands_at_the_end(page)
    assert len(asked) < WATCH_REQUESTS, [one.url for one in asked]
    assert size(asked) < WATCH_BYTES, weights(asked)
    # The state that the page opened with is that of the last moment.
    assert [one.url for one in asked if "/state?at=" in one.url] == []


def test_the_archive_is_small(reader: Reader, ended: Ended, platform: str) -> None:
    page = reader("/nowhere", screen=PHONE)
    asked = visited(page, archive_of(platform, ended.ox), ".games a[href^='/watch/']")
    assert size(asked) < ARCHIVE_BYTES, weights(asked)


@pytest.mark.parametrize("screen", [PHONE, DESK], ids=["phone", "desk"])
def test_nothing_jumps(reader: Reader, ended: Ended, screen: dict[str, int]) -> None:
    shown = {
        "/": ".games a[href^='/watch/']",
        f"/watch/{ended.ox}": "svg.picture",
        "/agora": "#live ~ div > *",
        "/me": "main form",
        "/play/ox": "main section",
    }
    shown["/games"] = shown["/"]
    for path, selector in shown.items():
        page = reader("/nowhere", screen=screen)
        visited(page, path, selector)
        assert page.evaluate("window.shift ?? 0") <= SHIFT, path


def test_the_page_of_a_private_game_sends_its_invite_on_every_call(reader: Reader, platform: str) -> None:
    host = Seat(platform)
    opened = host.client.post("/api/games", json={"gameType": "ox"}).json()
    page = reader("/nowhere")
    asked = asked_by(page)
    page.goto(f"/watch/{opened['game_id']}?invite={opened['invite']}")
    expect(page.locator("svg.picture")).to_be_visible()
    expect(page.locator("main .tag.live").first).to_be_visible()
    named = [one.url for one in asked if opened["game_id"] in one.url]
    assert len(named) > 3
    assert [url for url in named if f"invite={opened['invite']}" not in url] == []
    page.goto(f"/watch/{opened['game_id']}")
    expect(page.locator("svg.picture")).to_have_count(0)
    host.client.post(f"/api/games/{opened['game_id']}/leave", json={})
    host.close()
