"""Reports from the pages, and the page of the operator."""

from typing import Any

import httpx
import pytest
from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.follow import follow
from playwright.sync_api import Page, expect
from rich.console import Console

from tests.browser.conftest import PHONE, Ended, Reader, Run
from tests.browser.players import SECONDS, experiment
from tests.browser.test_access import faults, settled

NOTE = "It insults a player."


@pytest.fixture
def operator(run: Run) -> dict[str, str]:
    return {"Authorization": f"Bearer {run.operator_key}"}


def reports(platform: str, operator: dict[str, str], state: str = "open") -> list[dict[str, Any]]:
    answer = httpx.get(f"{platform}/api/admin/reports", params={"state": state}, headers=operator, timeout=SECONDS)
    found: list[dict[str, Any]] = answer.json()["reports"]
    return found


def registered(platform: str, name: str) -> dict[str, Any]:
    made: dict[str, Any] = httpx.post(f"{platform}/api/agents", json={"name": name}, timeout=SECONDS).json()
    return made


def reported(platform: str, **body: Any) -> str:
    answer = httpx.post(f"{platform}/api/reports", json={"reason": "spam", **body}, timeout=SECONDS)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def entered(page: Page, key: str) -> Page:
    page.get_by_label("Operator key").fill(key)
    page.keyboard.press("Enter")
    page.wait_for_selector("#reports")
    return page


@pytest.mark.parametrize(
    ("language", "button", "reason", "send", "sent"),
    [
        ("en", "Report", "What is wrong with it?", "Send report", "was sent"),
        ("ko", "신고", "어떤 점이 문제인가요?", "신고 보내기", "보냈습니다"),
        ("zh", "举报", "有什么问题？", "发送举报", "已发送"),
    ],
)
def test_what_was_said_is_reported_from_the_game(
    reader: Reader, ended: Ended, platform: str, operator: dict[str, str],
    language: str, button: str, reason: str, send: str, sent: str,
) -> None:  # fmt: skip
    page = reader(f"/watch/{ended.trial}", language=language, screen=PHONE)
    page.get_by_role("button", name=button, exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name=button, exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name=send).click()
    expect(dialog.get_by_label(reason)).to_have_attribute("aria-invalid", "true")
    why = f"an insult, said in {language}"
    dialog.get_by_label(reason).fill(why)
    dialog.get_by_role("button", name=send).click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text(sent)).to_be_visible()
    (row,) = [one for one in reports(platform, operator) if one["reason"] == why]
    assert (row["kind"], row["game_id"]) == ("speech", ended.trial)
    assert row["agent_id"]


def test_a_comment_of_the_reveal_is_reported_with_its_player(
    reader: Reader, ended: Ended, platform: str, operator: dict[str, str]
) -> None:
    page = reader(f"/watch/{ended.ox}")
    page.get_by_role("button", name="Report", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What do you report?").select_option(index=0)
    dialog.get_by_label("What is wrong with it?").fill("a comment")
    dialog.get_by_role("button", name="Send report").click()
    expect(dialog).to_have_count(0)
    (row,) = [one for one in reports(platform, operator) if one["reason"] == "a comment"]
    assert (row["kind"], row["game_id"]) == ("speech", ended.ox)


def test_a_name_is_reported_from_the_profile(reader: Reader, platform: str, operator: dict[str, str]) -> None:
    agent = registered(platform, "a rude name")
    page = reader(f"/agents/{agent['id']}")
    page.get_by_role("button", name="Report", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is wrong with it?").fill("rude")
    dialog.get_by_label("What is wrong with it?").press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    (row,) = [one for one in reports(platform, operator) if one["agent_id"] == agent["id"]]
    assert (row["kind"], row["reason"]) == ("name", "rude")


def test_the_operator_decides_a_report_and_takes_it_back(
    reader: Reader, platform: str, operator: dict[str, str], run: Run
) -> None:
    agent = registered(platform, "another rude name")
    report = reported(platform, kind="name", agent_id=agent["id"], reason="rude")
    page = reader("/operator", screen=PHONE)
    assert faults(settled(page)) == []
    page.get_by_label("Operator key").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    entered(page, run.operator_key)
    row = page.locator(f"[data-report='{report}']")
    expect(row).to_contain_text("another rude name")
    row.locator("summary").click()
    assert faults(page) == []
    row.get_by_label("Decision").select_option("rename")
    expect(row.get_by_label("Ban until")).to_be_hidden()
    row.get_by_role("button", name="Decide").click()
    expect(row.get_by_label("Note")).to_have_attribute("aria-invalid", "true")
    row.get_by_label("Note").fill(NOTE)
    row.get_by_role("button", name="Decide").click()
    expect(row).to_have_count(0)
    assert httpx.get(f"{platform}/api/agents/{agent['id']}", timeout=SECONDS).json()["name"].startswith("agent-")
    page.get_by_label("State").select_option("decided")
    row = page.locator(f"[data-report='{report}']")
    expect(row).to_contain_text(NOTE)
    row.locator("summary").click()
    row.get_by_label("Decision").select_option("restore")
    row.get_by_label("Note").fill("a mistake")
    row.get_by_role("button", name="Decide").click()
    expect(row).to_contain_text("a mistake")
    assert httpx.get(f"{platform}/api/agents/{agent['id']}", timeout=SECONDS).json()["name"] == "another rude name"


def test_a_ban_has_an_end(reader: Reader, platform: str, operator: dict[str, str], run: Run) -> None:
    agent = registered(platform, "a spammer")
    report = reported(platform, kind="agent", agent_id=agent["id"])
    page = entered(reader("/operator"), run.operator_key)
    row = page.locator(f"[data-report='{report}']")
    row.locator("summary").click()
    row.get_by_label("Decision").select_option("ban")
    row.get_by_label("Note").fill("spam")
    row.get_by_label("Ban until").fill("2020-01-01T00:00")
    row.get_by_role("button", name="Decide").click()
    expect(row.get_by_label("Ban until")).to_have_attribute("aria-invalid", "true")
    row.get_by_label("Ban until").fill("2099-01-01T00:00")
    row.get_by_role("button", name="Decide").click()
    expect(row).to_have_count(0)
    (decided,) = [one for one in reports(platform, operator, "decided") if one["id"] == report]
    assert (decided["decision"], decided["until"][:4]) == ("ban", "2099" if decided["until"] > "2099" else "2098")
    key = {"Authorization": f"Bearer {agent['api_key']}"}
    assert httpx.get(f"{platform}/api/games", headers=key, timeout=SECONDS).status_code == 403


@pytest.mark.parametrize("language", ["ko", "zh"])
def test_the_page_of_the_operator_is_legible_and_its_key_stays_in_the_tab(
    reader: Reader, run: Run, language: str
) -> None:
    page = reader("/operator", language=language, screen=PHONE, scheme="dark")
    page.locator("input[type=password]").fill(run.operator_key)
    page.keyboard.press("Enter")
    page.wait_for_selector("#reports")
    page.wait_for_selector("section[aria-labelledby=lag] table")
    assert faults(page) == []
    assert page.evaluate("JSON.stringify(localStorage)").count(run.operator_key) == 0
    other = page.context.new_page()
    other.goto("/operator")
    expect(other.locator("#door")).to_be_visible()
    page.get_by_role("button", name="키 지우기" if language == "ko" else "清除密钥").click()
    expect(page.locator("#door")).to_be_visible()


def test_an_owner_reads_why_it_was_banned(reader: Reader, platform: str, operator: dict[str, str]) -> None:
    owner = httpx.post(f"{platform}/api/owners", json={"name": "Ada"}, timeout=SECONDS).json()
    page = reader("/me")
    page.locator("section[aria-labelledby=open] input[type=password]").fill(owner["owner_key"])
    page.keyboard.press("Enter")
    expect(page.locator("#owner")).to_be_visible()
    body = {"owner_id": owner["id"], "note": NOTE, "until": "2099-01-01T00:00:00Z"}
    httpx.post(f"{platform}/api/admin/bans", json=body, headers=operator, timeout=SECONDS).raise_for_status()
    page.reload()
    expect(page.locator("[aria-labelledby=notices]")).to_contain_text(NOTE)
    assert faults(page) == []


def test_the_name_of_a_tournament_is_reported_and_hidden_on_its_open_page(
    reader: Reader, platform: str, operator: dict[str, str], run: Run
) -> None:
    terms = {
        "name": "A rude cup",
        "game_type": "ox",
        "format": "swiss",
        "rounds": 1,
        "min_entrants": 2,
        "max_entrants": 9,
    }
    made = httpx.post(f"{platform}/api/tournaments", json=terms, headers=operator, timeout=SECONDS)
    cup = made.json()["id"]
    page = reader(f"/tournaments/{cup}", screen=PHONE)
    expect(page.get_by_role("heading", level=1)).to_have_text("A rude cup")
    page.get_by_role("button", name="Report", exact=True).click()
    dialog = page.get_by_role("dialog")
    assert faults(page) == []
    dialog.get_by_label("What is wrong with it?").fill("the cup is rude")
    dialog.get_by_role("button", name="Send report").click()
    expect(dialog).to_have_count(0)
    (row,) = [one for one in reports(platform, operator) if one["reason"] == "the cup is rude"]
    assert (row["kind"], row["game_id"], row["agent_id"]) == ("name", cup, None)
    desk = entered(reader("/operator"), run.operator_key)
    shown = desk.locator(f"[data-report='{row['id']}']")
    expect(shown).to_contain_text("A rude cup")
    shown.locator("summary").click()
    assert shown.get_by_label("Decision").locator("option").all_inner_texts()[:2] == ["Hide", "Rename"]
    shown.get_by_label("Decision").select_option("hide")
    shown.get_by_label("Note").fill(NOTE)
    shown.get_by_role("button", name="Decide").click()
    expect(shown).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("[withheld]")


def test_the_words_of_a_model_are_reported_from_its_run_and_withheld_there(
    reader: Reader, platform: str, operator: dict[str, str], run: Run
) -> None:
    plan = {
        "name": "rude models", "seed": "5", "models": ["scripted-social"], "languages": ["en"],
        "phases": {"phase1": {"runs": 1, "turns": 1}},
    }  # fmt: skip
    lock = experiment(platform, run.operator_key, plan)
    with ExperimentsClient(platform, run.operator_key) as client:
        follow(client, lock, Console(quiet=True))
        told = client.runs(lock).runs[0].run
    page = reader(f"/watch/{told}", screen=PHONE)
    expect(page.locator("main .row.apart .tag").first).to_have_text("Over")
    page.get_by_role("button", name="Report", exact=True).click()
    dialog = page.get_by_role("dialog")
    said = dialog.get_by_label("What do you report?").locator("option").first.inner_text()
    words = said.partition("“")[2].rstrip("”")
    dialog.get_by_label("What is wrong with it?").fill("a rude model")
    dialog.get_by_role("button", name="Send report").click()
    expect(dialog).to_have_count(0)
    (row,) = [one for one in reports(platform, operator) if one["reason"] == "a rude model"]
    assert (row["kind"], row["game_id"], row["agent_id"]) == ("speech", told, None)
    page.goto(f"/watch/{told}?v={row['version']}")
    expect(page.locator("#scene")).to_contain_text(words)
    decision = {"decision": "hide", "note": NOTE}
    path = f"{platform}/api/admin/reports/{row['id']}"
    httpx.post(path, json=decision, headers=operator, timeout=SECONDS).raise_for_status()
    expect(page.locator("#scene")).to_contain_text("[withheld]")
