"""What a keyboard, a screen reader, a phone and tired eyes need of every page."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Reader
from tests.browser.players import finished

PATHS = ("/", "/game", "/legal", "/agora")
TEXT_CONTRAST = 4.5

NAMELESS = """() => {
  const name = (node) => (node.getAttribute('aria-label') || (node.labels && [...node.labels].map((one) => one.textContent).join(' '))
    || (node.getAttribute('aria-labelledby') && document.getElementById(node.getAttribute('aria-labelledby'))?.textContent)
    || (['BUTTON', 'A', 'SUMMARY'].includes(node.tagName) && (node.textContent || node.querySelector('img')?.alt)) || '').trim();
  return [...document.querySelectorAll('a, button, input, select, textarea, summary, [role=tab], [role=region]')]
    .filter((node) => !name(node)).map((node) => node.outerHTML.slice(0, 120));
}"""
BROKEN_REFERENCES = """() => ['aria-labelledby', 'aria-controls', 'aria-describedby', 'for'].flatMap((name) =>
  [...document.querySelectorAll(`[${name}]`)].filter((node) => node.getAttribute(name).split(/\\s+/)
    .some((id) => !document.getElementById(id))).map((node) => `${name}: ${node.outerHTML.slice(0, 120)}`))"""
TWICE = """() => { const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
  return ids.filter((id, place) => ids.indexOf(id) !== place); }"""
FAINT = """(least) => {
  const rgb = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
  const light = ({ r, g, b }) => [r, g, b].map((v) => v / 255).map((v) => (v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4))
    .reduce((sum, v, place) => sum + v * [.2126, .7152, .0722][place], 0);
  const behind = (node) => { for (let at = node; at; at = at.parentElement) {
    const color = rgb(getComputedStyle(at).backgroundColor); if (color.a > 0) return color; } return { r: 255, g: 255, b: 255 }; };
  const found = [];
  for (const node of document.querySelectorAll('body *')) {
    const text = [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data).join('').trim();
    if (!text || !node.checkVisibility() || node.disabled || node.closest('noscript, .unseen, .skip')) continue;
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))];
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < least) found.push(`${contrast.toFixed(2)} ${text.slice(0, 60)}`);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def game(platform: str) -> str:
    return finished(platform, "ox", 5)


def settled(page: Page) -> Page:
    page.wait_for_load_state("networkidle") if not page.url.endswith("/") else page.wait_for_selector("section .live")
    return page


def check(page: Page) -> None:
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(BROKEN_REFERENCES) == []
    assert page.evaluate(TWICE) == []
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    assert page.evaluate(FAINT, TEXT_CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_named_legible_and_fits_a_phone(reader: Reader, path: str) -> None:
    check(settled(reader(path)))
    check(settled(reader(path, language="ko", screen=PHONE, scheme="dark")))


def test_the_timeline_says_where_it_stands(reader: Reader, game: str) -> None:
    page = reader(f"/watch/{game}#v=20", language="zh-CN", screen=PHONE, scheme="dark")
    page.wait_for_selector("#scene .card")
    expect(page.locator("#seat")).to_be_visible()
    check(page)
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    told = slider.get_attribute("aria-valuetext") or ""
    assert told.startswith("21 / ")
    assert page.locator("[role=status].unseen").inner_text() == told


@pytest.mark.parametrize(("language", "shown"), [("ko", "로비"), ("zh", "大厅"), ("en", "Lobby")])
def test_a_language_is_chosen_and_kept(reader: Reader, language: str, shown: str) -> None:
    page = reader("/agora", language="fr")
    page.get_by_role("combobox", name="Language").select_option(language)
    expect(page.get_by_role("link", name=shown)).to_be_visible()
    assert page.locator("html").get_attribute("lang") == language
    page.goto("/legal")
    expect(page.get_by_role("link", name=shown)).to_be_visible()


def test_the_keyboard_reaches_the_content_first(reader: Reader) -> None:
    page = reader("/")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_a_text_of_an_agent_is_never_read_as_html(reader: Reader, platform: str) -> None:
    import httpx

    name = "<img src=x onerror=alert(1)>"
    answer: Any = httpx.post(f"{platform}/api/agents", json={"name": name}, timeout=30).json()
    game = httpx.post(
        f"{platform}/api/games/join",
        json={"gameType": "trial"},
        headers={"Authorization": f"Bearer {answer['api_key']}"},
        timeout=30,
    ).json()["game_id"]
    page = reader(f"/watch/{game}")
    expect(page.locator("#scene")).to_contain_text(name)
    assert page.locator("#scene img").count() == 0
    httpx.post(
        f"{platform}/api/games/{game}/leave",
        json={},
        headers={"Authorization": f"Bearer {answer['api_key']}"},
        timeout=30,
    )
