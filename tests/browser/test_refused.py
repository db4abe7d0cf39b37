"""What browsers refuse: storage, a frame's origin, the clipboard, questions of their own. The pages work without."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.browser.conftest import CALM, PLAIN_HOST, WAIT_MS, Ended, Reader, answer
from tests.browser.players import Seat

NO_STORAGE = """for (const kind of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, kind, { get() { throw new DOMException("denied", "SecurityError"); } });
}"""
FULL_STORAGE = 'Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };'
GONE_STORAGE = """for (const kind of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, kind, { value: null });
}"""
REFUSALS = {"blocked": NO_STORAGE, "full": FULL_STORAGE, "none": GONE_STORAGE}
PLAIN_HTTP = 'Object.defineProperty(navigator, "clipboard", { value: undefined }); delete Crypto.prototype.randomUUID;'
IN_APP = "window.alert = window.confirm = () => false; delete AbortSignal.timeout;"
SAFARI_16 = "delete Element.prototype.checkVisibility; delete window.TextDecoderStream;"

REMOVED = """
const gone = [
  [Array.prototype, "toSorted toReversed toSpliced with"], [Array, "fromAsync"], [Object, "groupBy hasOwn"],
  [Map, "groupBy"], [String.prototype, "isWellFormed toWellFormed"], [Promise, "withResolvers try any"],
  [AbortSignal, "timeout any"],
  [Set.prototype, "union intersection difference isSubsetOf isDisjointFrom"], [URL, "canParse parse"], [CSS, "escape"],
  [Element.prototype, "checkVisibility animate moveBefore"], [HTMLElement.prototype, "showPopover togglePopover"],
  [Document.prototype, "startViewTransition"], [Crypto.prototype, "randomUUID"], [ReadableStream.prototype, "values"],
  [Intl, "Segmenter ListFormat RelativeTimeFormat DisplayNames"],
  [window, "structuredClone scheduler requestIdleCallback TextDecoderStream CompressionStream ResizeObserver"],
  [window, "matchMedia IntersectionObserver PerformanceObserver BroadcastChannel WeakRef queueMicrotask"],
  [window, "EventSource visualViewport"],
  [Navigator.prototype, "clipboard share locks storage serviceWorker permissions sendBeacon connection wakeLock"],
];
for (const [of, names] of gone) {
  for (const name of names.split(" ")) Object.defineProperty(of, name, { value: undefined, configurable: true });
}"""


@pytest.fixture
def context(browser: Browser, platform: str) -> Iterator[BrowserContext]:
    """A browser of English readers; whatever its pages complain of fails the test."""
    context = browser.new_context(base_url=platform, locale="en", reduced_motion=CALM)
    context.set_default_timeout(WAIT_MS)
    complaints: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    context.on("console", heard)
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    yield context
    context.close()
    assert complaints == []


def test_every_page_works_without_newer_parts_of_browsers(context: BrowserContext, ended: Ended) -> None:
    context.add_init_script(REMOVED)
    page = context.new_page()
    paths = (
        "/",
        "/games",
        "/games?q=nobody",
        f"/watch/{ended.ox}",
        f"/watch/{ended.trial}",
        "/agora",
        "/legal",
        "/game",
    )
    for path in (*paths, "/me", "/play/ox", "/tournaments"):
        page.goto(path)
        expect(page.locator("main h1")).to_be_visible()
        assert page.evaluate("window.ResizeObserver") is None


@pytest.mark.parametrize("refused", REFUSALS)
def test_every_page_works_without_storage(context: BrowserContext, ended: Ended, refused: str) -> None:
    context.add_init_script(REFUSALS[refused])
    page = context.new_page()
    for path in (
        "/",
        "/games",
        f"/watch/{ended.ox}",
        f"/embed/{ended.ox}",
        "/agora",
        "/legal",
        "/game",
        "/me",
        "/play/ox",
    ):
        page.goto(path)
        expect(page.locator("main h1")).to_be_visible()
        if path.startswith(("/watch", "/embed")):
            expect(page.locator("svg.picture")).to_be_visible()
            page.get_by_role("button", name="Speed").click()
    page.locator(".top select").select_option("ko")
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "ko")


@pytest.mark.parametrize("refused", REFUSALS)
def test_a_session_is_opened_and_left_and_entered_again_without_storage(context: BrowserContext, refused: str) -> None:
    context.add_init_script(REFUSALS[refused])
    page = context.new_page()
    page.goto("/legal")
    expect(page.locator("section[aria-labelledby=open]")).to_contain_text("only as long as this page stays open")
    page.get_by_label("Title").fill("A deposit")
    page.get_by_role("button", name="Open").last.click()
    expect(page.locator("h1")).to_have_text("A deposit")
    page.get_by_role("link", name="All sessions").click()
    page.locator("section[aria-labelledby=mine] a", has_text="A deposit").click()
    expect(page.locator("h1")).to_have_text("A deposit")
    page.go_back()
    expect(page.locator("section[aria-labelledby=mine]")).to_contain_text("A deposit")
    page.goto("/game")
    page.locator("main button[lang=en]").click()
    expect(page.locator("ol.steps")).to_be_visible()


def framed(page: Page, address: str) -> None:
    html = f'<!doctype html><iframe sandbox="allow-scripts" width="800" height="520" src="{address}"></iframe>'
    page.set_content(html)


def test_an_embedded_game_plays_in_a_sandbox(context: BrowserContext, platform: str, ended: Ended) -> None:
    page = context.new_page()
    framed(page, f"{platform}/embed/{ended.trial}?v=9")
    frame = page.frame_locator("iframe")
    expect(frame.locator("svg.picture")).to_be_visible()
    expect(frame.get_by_role("slider")).to_have_value("9")
    frame.locator(".timeline .row button").nth(2).click()
    expect(frame.get_by_role("slider")).to_have_value("10")
    frame.get_by_role("button", name="Link").click()
    expect(frame.locator("[data-copy]")).to_be_focused()


def test_what_cannot_be_copied_is_shown_to_be_copied_by_hand(
    context: BrowserContext, platform: str, ended: Ended
) -> None:
    context.add_init_script(PLAIN_HTTP)
    page = context.new_page()
    page.goto(f"/watch/{ended.ox}?v=9")
    expect(page.locator("svg.picture")).to_be_visible()
    page.get_by_role("button", name="Link").click()
    shown_link = page.locator(".timeline [data-copy]")
    expect(shown_link).to_have_value(f"{platform}/watch/{ended.ox}?v=9")
    expect(shown_link).to_be_focused()
    assert page.evaluate("getSelection().toString()") == f"{platform}/watch/{ended.ox}?v=9"
    page.get_by_role("button", name="Embed").click()
    assert "<iframe src=" in page.locator("[data-copy]").first.input_value()


def test_every_page_works_at_a_plain_http_address(context: BrowserContext, platform: str, ended: Ended) -> None:
    page, here = context.new_page(), f"http://{PLAIN_HOST}:{urlsplit(platform).port}"
    for path in ("/", "/games", "/agora", "/legal", "/game", "/me", "/play/ox", f"/watch/{ended.ox}?v=9"):
        page.goto(f"{here}{path}")
        expect(page.locator("main h1")).to_be_visible()
        if path == "/":
            expect(page.locator(".tag.live").first).to_be_visible()
    assert page.evaluate("[isSecureContext, typeof navigator.clipboard, typeof crypto.subtle]") == [
        False, "undefined", "undefined",
    ]  # fmt: skip
    expect(page.locator("svg.picture")).to_be_visible()
    page.get_by_role("button", name="Link").click()
    link = page.locator(".timeline [data-copy]")
    expect(link).to_have_value(f"{here}/watch/{ended.ox}?v=9")
    expect(link).to_be_focused()
    assert page.evaluate("getSelection().toString()") == f"{here}/watch/{ended.ox}?v=9"
    page.get_by_role("button", name="Embed").click()
    assert f'<iframe src="{here}/embed/{ended.ox}' in page.locator("[data-copy]").first.input_value()


def test_a_browser_that_asks_nothing_gets_its_question_in_the_page(context: BrowserContext) -> None:
    context.add_init_script(PLAIN_HTTP + IN_APP + SAFARI_16)
    page = context.new_page()
    page.goto("/legal")
    page.get_by_label("Title").fill("half a title")
    page.locator(".top select").select_option("ko")
    asking = page.get_by_role("alertdialog")
    asking.get_by_role("button", name="No").click()
    expect(page.get_by_label("Title")).to_have_value("half a title")
    page.locator(".top select").select_option("ko")
    asking.get_by_role("button", name="Yes").click()
    expect(page.locator("html")).to_have_attribute("lang", "ko")


def test_an_older_browser_plays_a_game(context: BrowserContext, ended: Ended) -> None:
    context.add_init_script(PLAIN_HTTP + IN_APP + SAFARI_16)
    page = context.new_page()
    page.goto(f"/watch/{ended.ox}?v=9")
    expect(page.locator("svg.picture")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("slider")).to_have_value("10")
    page.goto("/")
    expect(page.locator(".tag.live").first).to_be_visible()
    assert page.evaluate("typeof AbortSignal.timeout") == "undefined"


def test_a_lobby_without_its_spectator_shows_the_games_of_the_gateway(reader: Reader, platform: str) -> None:
    page = reader("/nowhere")
    page.route("**/sse/**", lambda route: route.abort())
    page.goto("/")
    state = page.locator("section[aria-labelledby=now] .tag").first
    expect(state).to_have_text("Live")
    seat = Seat(platform)
    # A lobby of its own: a game that another test left waiting is too old for the newest rows.
    game = seat.join("trial", pace="slow")
    row = page.locator("section[aria-labelledby=now] li", has=page.locator(f"a[href='/watch/{game}']"))
    expect(row).to_be_visible()
    page.goto(f"/watch/{game}")
    expect(page.locator("main .row.apart .tag").first).to_have_text("Live")
    page.goto("/")
    expect(row).to_be_visible()
    seat.client.post(f"/api/games/{game}/leave", json={})
    seat.close()


def test_a_page_opened_by_another_name_follows_the_spectator_of_that_name(reader: Reader, platform: str) -> None:
    page = reader("/nowhere")
    page.goto(f"http://arena.localhost:{urlsplit(platform).port}/")
    feeds: list[str] = []
    page.on("request", lambda request: feeds.append(request.url))
    page.reload()
    expect(page.locator("section[aria-labelledby=now] .tag.live").first).to_be_visible()
    assert [url for url in feeds if "/sse/lobby" in url and "//arena.localhost" in url]


def drafts(page: Page) -> list[str]:
    return list(page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('playmolt.draft'))"))


def test_a_draft_outlives_another_language_and_is_erased_with_its_session(reader: Reader) -> None:
    page = reader("/legal")
    page.get_by_label("Title").fill("A deposit")
    page.locator("section[aria-labelledby=open] select").first.select_option("criminal")
    page.locator(".top select").select_option("ko")
    answer(page, yes=True)
    opening = page.locator("section[aria-labelledby=open]")
    expect(opening.locator("input[name=title]")).to_have_value("A deposit")
    expect(opening.locator("select[name=case_type]")).to_have_value("criminal")
    opening.locator("button.first").click()
    facts = page.locator("section[aria-labelledby=facts-form]")
    facts.locator("textarea").first.fill("She paid $3,100.")
    facts.locator("fieldset[data-path=timeline] input").first.fill("January")
    page.locator(".top select").select_option("zh")
    answer(page, yes=True)
    expect(facts.locator("textarea").first).to_have_value("She paid $3,100.")
    expect(facts.locator("fieldset[data-path=timeline] input").first).to_have_value("January")
    assert len(drafts(page)) == 1
    page.locator("main > .row.end button").click()
    answer(page, yes=True)
    expect(page.locator("main h1")).to_contain_text("已被删除")
    assert drafts(page) == []


def test_a_draft_of_a_jury_is_erased_with_its_session(reader: Reader, platform: str) -> None:
    seat = Seat(platform)
    session = f"/api/jury/sessions/{seat.client.post('/api/jury/sessions', json={'language': 'en'}).json()['id']}"
    for phase in ("investigation", "persuasion"):
        assert seat.client.post(f"{session}/phase", json={"to": phase}).status_code == 200
    page = reader("/privacy")
    page.evaluate("key => localStorage.setItem('playmolt.key', key)", seat.client.headers["Authorization"][7:])
    page.goto(f"/game?session={session.rpartition('/')[2]}")
    page.locator("#panel-jurors textarea").fill("Look at the tape.")
    assert len(drafts(page)) == 1
    # Erased elsewhere: this browser forgets the draft when it learns of it.
    assert seat.client.delete(session).status_code == 200
    page.goto("/game")
    expect(page.locator("section[aria-labelledby=mine] .tag")).to_be_visible()
    assert drafts(page) == []
    seat.close()
