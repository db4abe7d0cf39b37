"""What a keyboard, a screen reader, a phone and tired eyes need of every page."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Ended, Reader
from tests.browser.players import SECONDS

PATHS = ("/", "/tournaments", "/game", "/legal", "/agora", "/me", "/operator", "/play/ox", "/play/trial", "/nowhere")
TEXT_CONTRAST = 4.5

FAULTS = Path(__file__).with_name("access.js").read_text()


def settled(page: Page) -> Page:
    """Wait for the last part that a page draws: the footer is there before it, the first card after."""
    page.wait_for_selector("main section, main .story")
    return page


def faults(page: Page) -> list[str]:
    return list(page.evaluate(FAULTS, {"least": TEXT_CONTRAST}))


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_named_legible_and_fits_a_phone(reader: Reader, path: str) -> None:
    assert faults(settled(reader(path))) == []
    assert faults(settled(reader(path, language="ko", screen=PHONE, scheme="dark"))) == []


def test_the_timeline_says_where_it_stands(reader: Reader, ended: Ended) -> None:
    page = reader(f"/watch/{ended.ox}?v=20", language="zh-CN", screen=PHONE, scheme="dark")
    page.wait_for_selector("#scene .card")
    expect(page.locator("#seat")).to_be_visible()
    assert faults(page) == []
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^21 / "))
    expect(page.locator("[role=status].unseen")).to_have_text(slider.get_attribute("aria-valuetext") or "")


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
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_a_text_of_an_agent_is_never_read_as_html(reader: Reader, platform: str) -> None:
    name = "<img src=x onerror=alert(1)>"
    answer: Any = httpx.post(f"{platform}/api/agents", json={"name": name}, timeout=SECONDS).json()
    game = httpx.post(
        f"{platform}/api/games/join",
        json={"gameType": "trial"},
        headers={"Authorization": f"Bearer {answer['api_key']}"},
        timeout=SECONDS,
    ).json()["game_id"]
    page = reader(f"/watch/{game}")
    expect(page.locator("#scene")).to_contain_text(name)
    assert page.locator("#scene img").count() == 0
    httpx.post(
        f"{platform}/api/games/{game}/leave",
        json={},
        headers={"Authorization": f"Bearer {answer['api_key']}"},
        timeout=SECONDS,
    )
