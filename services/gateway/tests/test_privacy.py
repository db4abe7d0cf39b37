"""The page about what is stored of whom."""

import re
from typing import Any

import pytest
from playmolt_gateway.pages.moments import language_of
from playmolt_gateway.pages.privacy import html_of

HEADINGS = {"en": "Privacy", "ko": "개인정보", "zh": "隐私"}
MUST_SAY = ("365", "90", "30", "42", "DELETE /api/sessions/ID", "DELETE /api/jury/sessions/ID", "linked")


@pytest.mark.parametrize("language", HEADINGS)
async def test_the_page_is_there_in_each_language_and_says_what_is_kept(platform: Any, language: str) -> None:
    answer = await platform.send("GET", f"/privacy?lang={language}")
    assert answer.status_code == 200
    assert f'<html lang="{language}">' in answer.text
    assert f"<h1>{HEADINGS[language]}</h1>" in answer.text
    assert [said for said in MUST_SAY if said not in answer.text] == []
    assert len(re.findall("<h2>", answer.text)) == 5


async def test_without_a_choice_the_browsers_language_counts(platform: Any) -> None:
    answer = await platform.send("GET", "/privacy", headers={"accept-language": "zh-CN,zh;q=0.9"})
    assert '<html lang="zh">' in answer.text
    assert "Accept-Language" in answer.headers["vary"]


async def test_the_page_loads_nothing_from_elsewhere(platform: Any) -> None:
    answer = await platform.send("GET", "/privacy")
    loaded = re.sub(r'<link rel="canonical"[^>]+>', "", answer.text)  # a name of this page; nothing loads it
    assert re.findall(r'(?:href|src)="(?!/)', loaded) == []
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_markdown_becomes_html_and_no_text_becomes_markup() -> None:
    made = html_of("# A <b>\n\nOne `x < y`\nand **two**.\n\n- first\n  line\n- second\n")
    assert made == (
        "<h1>A &lt;b&gt;</h1>\n<p>One <code>x &lt; y</code> and <strong>two</strong>.</p>\n"
        "<ul><li>first line</li><li>second</li></ul>"
    )


@pytest.mark.parametrize(
    ("language", "browser"), [("en", "In your browser"), ("ko", "브라우저 안"), ("zh", "浏览器里")]
)
async def test_the_page_names_the_days_that_a_draft_is_kept(platform: Any, language: str, browser: str) -> None:
    script = (await platform.send("GET", "/assets/x/sessions/drafts.js")).text
    days = re.search(r"const DAYS = (\d+);", script)
    assert days
    text = (await platform.send("GET", f"/privacy?lang={language}")).text
    [item] = [item for item in re.findall(r"<li>(.*?)</li>", text) if browser in item]
    assert days[1] in item


@pytest.mark.parametrize(
    ("asked", "accepted", "language"),
    [
        (None, "zh-Hant-TW,en;q=0.5", "zh"),
        (None, "en;q=0.3, KO-kr ; q=0.8, fr", "ko"),
        (None, "ko;q=0, zh;q=0.1, *;q=0.05", "zh"),
        (None, "kok-IN, enm, de", "en"),
        (None, "de, kok, zh", "zh"),
        (None, "ko;q=high, ,;;, zh", "zh"),
        ("ko", "zh", "ko"),
        ("xx", "zh", "zh"),
        (None, "", "en"),
    ],
)
def test_the_language_is_the_one_that_the_browser_prefers(asked: str | None, accepted: str, language: str) -> None:
    assert language_of(asked, accepted) == language
