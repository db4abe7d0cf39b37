"""Readers in other languages and time zones than the game's or the server's."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Route, expect

from tests.browser.conftest import CALM, WAIT_MS, Ended, Reader, archive_of
from tests.browser.players import SECONDS, Seat

BROKEN = "(one) => getComputedStyle(one).wordBreak"


@pytest.fixture
def seoul(browser: Browser, platform: str) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=platform, locale="en", timezone_id="Asia/Seoul", reduced_motion=CALM)
    context.set_default_timeout(WAIT_MS)
    yield context
    context.close()


def test_what_a_korean_game_says_is_korean_in_an_english_page(reader: Reader, platform: str, ended: Ended) -> None:
    page = reader(archive_of(platform, ended.trial))
    row = page.locator("li", has=page.locator(f"a[href='/watch/{ended.trial}']"))
    expect(row.locator(".apart .name")).to_have_attribute("lang", "ko")
    expect(row).to_contain_text("Korean")
    for game, selector in ((ended.trial, "#scene h2"), (ended.ox, "#scene .question")):
        page.goto(f"/watch/{game}?v=30")
        title = page.locator(selector).first
        expect(title).to_have_attribute("lang", "ko")
        assert title.evaluate(BROKEN) == "keep-all"
        expect(page.locator("svg.picture")).to_have_attribute("lang", "en")
        expect(page.locator("svg.picture text[lang=ko]").first).to_be_visible()
        assert page.locator(".log button").first.evaluate(BROKEN) == "keep-all"
        assert page.locator("#scene .tag").first.evaluate("(one) => one.closest('[lang]').lang") == "en"
    page.goto(f"/watch/{ended.trial}?v=30&lang=zh")
    assert page.locator("#scene h2").first.evaluate(BROKEN) == "keep-all"
    assert page.locator(".lead").first.evaluate(BROKEN) == "normal"


def test_a_session_says_what_it_says_in_its_own_language(reader: Reader, platform: str) -> None:
    seat = Seat(platform)
    session = seat.client.post("/api/jury/sessions", json={"language": "zh"}).json()["id"]
    page = reader("/privacy")
    page.evaluate("key => localStorage.setItem('playmolt.key', key)", seat.client.headers["Authorization"][7:])
    page.goto(f"/game?session={session}&lang=ko")
    speech = page.locator(".speech .pre").first
    expect(speech).to_have_attribute("lang", "zh")
    assert speech.evaluate(BROKEN) == "normal"
    assert page.locator("h1").evaluate(BROKEN) == "keep-all"
    seat.close()


def test_a_picked_day_is_the_day_of_the_reader(seoul: BrowserContext) -> None:
    page = seoul.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/games/rows" in request.url else None)
    page.goto("/games")
    page.get_by_label("From").fill("2026-03-05")
    page.get_by_label("To").fill("2026-03-05")
    with page.expect_request(lambda request: "/games/rows" in request.url and "from=" in request.url):
        page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/games?*from=*")
    expect(page.get_by_label("From")).to_have_value("2026-03-05")
    expect(page.get_by_label("To")).to_have_value("2026-03-05")
    for address in (page.url, asked[-1]):
        said = parse_qs(urlsplit(address).query)
        assert said["from"] == ["2026-03-04T15:00:00.000Z"]
        assert said["to"] == ["2026-03-05T14:59:59.999999Z"]
    page.goto("/games?from=2026-03-05&to=2026-03-05")
    expect(page.locator("li.quiet")).to_be_visible()
    said = parse_qs(urlsplit(asked[-1]).query)
    assert said["from"] == ["2026-03-04T15:00:00.000Z"]


PAINTED = "(one) => { const s = getComputedStyle(one, one.dataset.before); return s.backgroundColor + s.fill; }"


def test_contrast_themes_tell_apart_what_colors_do(reader: Reader, platform: str, ended: Ended) -> None:
    seat = Seat(platform)
    session = seat.client.post("/api/jury/sessions", json={"language": "en"}).json()["id"]
    for phase in ("investigation", "persuasion"):
        assert seat.client.post(f"/api/jury/sessions/{session}/phase", json={"to": phase}).status_code == 200
    page = reader("/privacy")
    page.emulate_media(forced_colors="active")
    page.evaluate("key => localStorage.setItem('playmolt.key', key)", seat.client.headers["Authorization"][7:])
    page.goto(f"/game?session={session}")
    moods = page.locator(".band").first
    expect(moods.locator("i.on")).to_have_count(1)
    assert moods.locator("i.on").evaluate(PAINTED) != moods.locator("i:not(.on)").first.evaluate(PAINTED)
    page.goto(f"/watch/{ended.ox}")
    expect(page.locator(".marks .high rect").first).to_be_attached()
    marks = {page.locator(f".marks {kind} rect").first.evaluate(PAINTED) for kind in ("g.high", "g:not(.high)")}
    assert len(marks) == 2
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dot = page.evaluate("""() => {
      const tag = document.createElement("span");
      tag.className = "tag live";
      document.body.append(tag);
      return getComputedStyle(tag, "::before").backgroundColor;
    }""")
    assert dot != paper
    card = page.locator("svg.picture .p-paper").evaluate("(one) => getComputedStyle(one).fill")
    text = page.locator("svg.picture .p-ink").first.evaluate("(one) => getComputedStyle(one).fill")
    assert card != text
    seat.close()


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Any request that names the game brings a seat back for the next question."),
        ("ko", "다음 질문"),
        ("zh-CN", "下一道题"),
    ],
)
def test_the_page_of_an_absent_seat_says_how_it_comes_back(
    reader: Reader, platform: str, language: str, said: str
) -> None:
    seats = [Seat(platform, name) for name in ("Ada", "Bo", "Cy", "Di", "Ed")]
    [game] = {seat.join("ox") for seat in seats}

    def absent(route: Route) -> None:
        state = route.fetch().json()
        state["participants"][1]["away"] = True
        route.fulfill(json=state)

    page = reader("/nowhere", language=language)
    page.route("**/state?at=*", absent)
    page.goto(f"/watch/{game}")
    notice = page.locator("main .notice").first
    expect(notice).to_contain_text(said)
    expect(notice).to_contain_text(
        httpx.get(f"{platform}/api/games/{game}/state", timeout=SECONDS).json()["participants"][1]["name"]
    )
    for seat in seats:
        seat.close()


def test_a_game_that_has_been_still_is_not_called_live(reader: Reader, platform: str) -> None:
    seats = [Seat(platform, name) for name in ("Ada", "Bo", "Cy", "Di", "Ed")]
    [game] = {seat.join("ox") for seat in seats}

    def still(route: Route) -> None:
        rows = route.fetch().json()
        for row in rows["rows"]:
            row.update({"quiet_seconds": 3000, "seconds_left": 0} if row["game_id"] == game else {})
        route.fulfill(json=rows)

    page = reader("/nowhere")
    page.route("**/games/rows?limit=*", still)
    page.goto("/")
    row = page.locator("section[aria-labelledby=now] li", has=page.locator(f"a[href='/watch/{game}']"))
    expect(row).to_contain_text("No activity for 50 min")
    for seat in seats:
        seat.close()


def test_a_profile_shows_its_face(reader: Reader, platform: str, ended: Ended) -> None:
    agent = httpx.get(f"{platform}/api/games/{ended.ox}/state", timeout=SECONDS).json()["participants"][0]["id"]
    face = reader(f"/agents/{agent}").locator("main img.avatar")
    expect(face).to_be_visible()
    assert face.evaluate("(one) => one.decode().then(() => one.naturalWidth)") > 0


@pytest.mark.parametrize(("language", "said"), [("ko", "인코딩이 확실하지 않습니다"), ("zh-CN", "无法确定文本的编码")])
def test_a_refused_upload_says_why_in_the_language_of_the_page(
    reader: Reader, platform: str, language: str, said: str
) -> None:
    seat = Seat(platform)
    case = {"case_type": "civil", "jurisdiction": "KR", "title": "A deposit", "language": "en"}
    session = seat.client.post("/api/sessions", json=case).json()["id"]
    page = reader("/privacy", language=language)
    page.evaluate("key => localStorage.setItem('playmolt.key', key)", seat.client.headers["Authorization"][7:])
    page.goto(f"/legal?session={session}")
    page.locator("#tab-facts").click()
    upload = page.locator("section[aria-labelledby=upload]")
    upload.locator("input[type=file]").set_input_files(
        {"name": "a.txt", "mimeType": "text/plain", "buffer": b"caf\xe9 and more"}
    )
    expect(upload.locator(".upload > .fault")).to_contain_text(said)
    seat.close()


_DROPPED = """
async (card, files) => {
  const carried = new DataTransfer();
  for (const [name, text] of files) carried.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"]) {
    card.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
  }
}
"""
_PASTED = """
(text) => {
  const carried = new DataTransfer();
  carried.setData("text/plain", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: carried, bubbles: true, cancelable: true }));
}
"""


def test_files_are_dropped_pasted_and_seen_before_they_are_added(reader: Reader, platform: str) -> None:
    seat = Seat(platform)
    case = {"case_type": "civil", "jurisdiction": "KR", "title": "A deposit", "language": "ko"}
    session = seat.client.post("/api/sessions", json=case).json()["id"]
    page = reader("/privacy", language="ko")
    page.evaluate("key => localStorage.setItem('playmolt.key', key)", seat.client.headers["Authorization"][7:])
    page.goto(f"/legal?session={session}")
    page.locator("#tab-facts").click()
    upload = page.locator("section[aria-labelledby=upload]")
    upload.evaluate(_DROPPED, [["letter.pdf", "The deposit is 3,000."], ["letter.rtf", "{\\rtf1 text}"]])
    rows = upload.locator(".upload")
    expect(rows.nth(0)).to_contain_text("The deposit is 3,000.")
    expect(rows.nth(0)).to_contain_text("확장자와 실제 내용이 다릅니다")
    expect(rows.nth(1)).to_contain_text("RTF 문서입니다")
    rows.nth(1).get_by_role("button", name="빼기").click()
    page.evaluate(_PASTED, "붙여 넣은 합의서")
    expect(rows.nth(1)).to_contain_text("붙여 넣은 합의서")
    assert seat.client.get(f"/api/sessions/{session}").json()["facts"]["evidence"] == []
    upload.get_by_role("button", name="모든 파일 추가").click()
    expect(rows).to_have_count(0)
    expect(upload.get_by_role("status")).to_contain_text("E2")
    added = seat.client.get(f"/api/sessions/{session}").json()["facts"]["evidence"]
    assert [(item["title"], item["media_type"], len(item["notes"])) for item in added] == [
        ("letter.pdf", "text/plain", 1), ("붙여 넣은 글", "text/plain", 0)
    ]  # fmt: skip
    seat.close()
