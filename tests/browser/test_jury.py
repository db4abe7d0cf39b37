"""The AI jury, played by a person from the prologue to an ending."""

from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Reader

ROUNDS = 4


class Told(NamedTuple):
    """What the person says, in the language of the story."""

    begin: str
    said: str
    note: str
    undecided: str
    verdicts: tuple[str, str]


ENGLISH = Told(
    "Begin in English", "The log of the pump proves nothing about intent.", "Think of the girl.", "Undecided",
    ("Guilty", "Not guilty"),
)  # fmt: skip
CHINESE = Told("用中文开始", "泵的日志不能证明任何故意。", "想想那个女孩。", "未定", ("有罪", "无罪"))


def tab(page: Page, name: str) -> None:
    page.locator(f"#tab-{name}").click()
    expect(page.locator(f"#panel-{name}")).to_be_visible()


def go_on(page: Page) -> None:
    page.locator("main button.first:visible").last.click()


@pytest.mark.parametrize(
    ("language", "told", "screen"), [("en", ENGLISH, None), ("zh-CN", CHINESE, PHONE)], ids=["english", "chinese-phone"]
)
def test_a_person_plays_to_the_ending(reader: Reader, language: str, told: Told, screen: dict[str, int] | None) -> None:
    page = reader("/game", language=language, screen=screen)
    page.get_by_role("button", name=told.begin).click()
    page.wait_for_url("**/game?session=jury-*")
    assert page.evaluate("localStorage['playmolt.key'].length") > 20
    expect(page.locator(".story .speech").first).to_be_visible()

    go_on(page)
    expect(page.locator("#panel-dossier .prose")).to_be_visible()
    tab(page, "evidence")
    page.locator("[data-focus=E1]").click()
    expect(page.locator("#panel-evidence article .prose")).to_be_visible()
    expect(page.locator("[data-focus=E1]")).to_contain_text("✓")
    assert page.locator("#panel-evidence button:disabled").count() > 0

    tab(page, "witnesses")
    page.locator("#panel-witnesses ul button").first.click()
    first = page.locator("blockquote").get_attribute("data-node")
    page.locator("[data-choice]").first.click()
    page.wait_for_selector(f"blockquote:not([data-node='{first}'])")

    go_on(page)
    talk = page.locator("#panel-jurors")
    talk.locator("textarea").fill(told.said)
    talk.locator("button.first").click()
    expect(talk.locator(".said.mine")).to_contain_text(told.said)
    expect(talk.locator(".said:not(.mine)")).to_have_count(1)
    expect(talk.locator(".talk p.quiet")).to_have_count(1)  # why the juror moved, or that it did not
    talk.locator("section .row.bottom button").click()
    expect(talk.locator(".said:not(.mine)")).to_have_count(2)
    expect(talk.locator("li .card.on")).to_contain_text("8")
    expect(talk).to_contain_text(told.undecided)

    go_on(page)
    debate = page.locator("#panel-deliberation")
    debate.locator("textarea").fill(told.note)
    debate.locator(".row.end button").click()
    expect(debate.locator("textarea")).to_have_value("")
    for spoken in range(1, ROUNDS):
        debate.locator("button.first").click()
        expect(debate.locator("section.card .speech")).to_have_count(3 * spoken)
        expect(debate.locator("button.first")).to_contain_text(str(spoken + 1))
        expect(debate.locator("button.first")).not_to_have_attribute("aria-busy", "true")
    debate.locator("button.first").click()

    page.locator("#panel-verdict button.first").click()
    expect(page.locator("article.story .prose")).to_be_visible()
    assert page.locator("article.story .tag").inner_text() in told.verdicts
    votes = page.locator("#panel-verdict tbody tr")
    expect(votes).to_have_count(5)
    assert all(code.startswith("0x") for code in votes.locator("code").all_inner_texts())

    tab(page, "history")
    expect(page.locator("#panel-history .timeline")).to_be_visible()
    spoken_to = page.locator("#panel-history .log button", has_text=told.said)
    spoken_to.click()
    expect(page.locator("#panel-history [aria-live] p")).to_contain_text(told.said)
    expect(page.locator("#panel-history .band")).to_have_count(5)

    page.reload()
    expect(page.locator("article.story .prose")).to_be_visible()


def test_a_session_of_somebody_else_is_unknown(reader: Reader) -> None:
    page = reader("/game?session=jury-00000000-0000-5000-8000-000000000000")
    expect(page.get_by_role("alert")).to_be_visible()
