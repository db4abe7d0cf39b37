"""A legal session through its gates, in the forms that the server describes."""

import re
from typing import get_args

import httpx
import pytest
from playmolt_core.llm.openai.completion import empty_detail
from playmolt_schemas.games.legal import ReportSection
from playwright.sync_api import Page, Route, expect

from tests.browser import distinct_report
from tests.browser.conftest import Reader, answer

RENDER_MS = 120_000
"""A cold PDF takes seconds of a processor that other tests may use, too."""


def opened(page: Page, title: str, kind: str = "civil") -> None:
    form = page.locator("section[aria-labelledby=open]")
    form.locator("input").first.fill(title)
    form.locator("select").first.select_option(kind)
    form.locator("button.first").click()
    page.wait_for_url("**/legal?session=legal-*")


def tell_facts(page: Page) -> None:
    form = page.locator("section[aria-labelledby=facts-form]")
    for area, text in enumerate(
        ("보증금 반환 분쟁", "임차인이 퇴거했으나 보증금이 반환되지 않았다", "집이 훼손되었다")
    ):
        form.locator("textarea").nth(area).fill(text)
    for field, text in {
        "timeline.when": "봄", "timeline.what": "계약이 체결되었다", "evidence.title": "임대차계약서",
        "evidence.description": "서명된 계약서",
    }.items():  # fmt: skip
        form.locator(f"[data-field='{field}']").first.fill(text)
    form.locator("[data-field='timeline.agreed']").first.check()
    form.locator("button.first").click()


ONLY_THOUGHT = {
    "en": "the model only thought: its reply has text in `reasoning_content` and nowhere else.",
    "ko": "모델이 생각만 했습니다. 답의 `reasoning_content`에만 글이 있습니다.",
    "zh": "模型只进行了思考：答复中只有 `reasoning_content` 有内容。",
}


@pytest.mark.parametrize("language", ONLY_THOUGHT)
def test_the_field_in_which_a_reply_lay_is_named_in_the_language_of_the_page(reader: Reader, language: str) -> None:
    page = reader("/legal", language=language)
    opened(page, "A deposit")
    detail = empty_detail(("reasoning_content",))

    def failing(route: Route) -> None:
        session = route.fetch().json()
        failed = {"phase": "FACTS_STIPULATE", "code": "invalid_reply", "detail": detail, "attempts": 3}
        route.fulfill(json={**session, "phase": "FACTS_STIPULATE", "failed": failed})

    page.route(re.compile("/api/sessions/legal-[^/?]+$"), failing)
    page.reload()
    said = page.locator("section.card.on p")
    expect(said.first).to_contain_text(ONLY_THOUGHT[language])
    expect(page.locator("section.card.on p[lang=en]")).to_have_text(detail)


def gate(page: Page, name: str) -> None:
    expect(page.locator("section[data-gate]")).to_have_attribute("data-gate", name)


def send(page: Page) -> None:
    for field in page.locator("[name^='missing_evidence_answers.']").all():
        field.fill("none")
    page.locator("section[data-gate] button.first").click()


def test_a_session_goes_through_its_gates_to_a_report_in_korean(reader: Reader) -> None:
    page = reader("/legal", language="ko")
    opened(page, "보증금 반환")
    tell = page.locator("section[aria-labelledby=facts-form]")
    tell.locator("textarea").first.fill("보증금 반환 분쟁")
    tell.locator("fieldset > button.bare").first.click()
    tell.locator("[data-field='timeline.when']").last.fill("가을")
    page.reload()
    expect(tell.locator("textarea").first).to_have_value("보증금 반환 분쟁")
    expect(tell.locator("[data-field='timeline.when']").last).to_have_value("가을")
    expect(tell.locator("[data-field='timeline.when']")).to_have_count(2)
    tell.locator("button.first").click()
    fault = tell.locator(".fault[role=alert], [aria-invalid=true] ~ .fault").first
    expect(fault).to_be_visible()
    assert not re.search("[a-z]{3}", fault.inner_text())
    tell.locator("[data-field='timeline.when']").last.fill("")
    tell_facts(page)

    gate(page, "round1")
    send(page)
    expect(page.locator("section[data-gate] fieldset.faulty")).to_have_count(3)
    expect(page.locator("section[data-gate] [role=alert]").first).to_be_visible()
    page.locator("[data-field=focus_issues][type=checkbox]").first.check()
    page.locator("[data-field=goal][value=early_settlement]").check()
    page.locator("[data-field=stance][value=flexible]").check()
    send(page)

    gate(page, "round2")
    assert page.locator("li[data-turn=JUDGE_R1]").count() == 1
    concession = page.locator("[name=concession_range]")
    expect(concession).to_be_hidden()
    page.locator("[data-field=settlement_interest][value=true]").check()
    expect(concession).to_be_visible()
    page.locator("[name=proof_priority]").fill("인도 당시의 상태")
    page.locator("[data-field=evidence_level][value=moderate]").check()
    page.locator("[data-field=obtainable_evidence]").first.fill("인도 확인서")
    page.locator("[data-field=constraints][value=budget_cap]").check()
    send(page)
    expect(page.locator("section[data-gate] .fault", has_text="입력")).to_have_count(1)
    concession.fill("절반")
    send(page)

    gate(page, "end")
    page.locator("[data-field=resolution][value=final_report]").check()
    page.locator("[data-field=report_style][value=settlement]").check()
    send(page)

    report = page.locator("article[aria-labelledby=report]")
    expect(report).to_contain_text("법률 자문")
    headings = [heading.partition(". ")[2] for heading in report.locator("h3").all_inner_texts()]
    assert headings.index("합의안") < headings.index("리스크")
    target = report.locator("a.tag").first.get_attribute("href")
    expect(report.locator(str(target))).to_have_count(1)
    expect(report.locator("dl.facts").first).to_contain_text(re.compile(r"GMT|UTC|[A-Z]{3,4}"))
    magic = {"PDF": b"%PDF", "DOCX": b"PK", "HTML": b"<", "MD": b"#", "JSON": b"{"}
    for name, start in magic.items():
        with page.expect_download(timeout=RENDER_MS) as saved:
            report.get_by_role("group").get_by_text(name, exact=True).click()
        assert saved.value.path().read_bytes().lstrip().startswith(start), name
        # Where a browser saves nothing, as in apps, the plain address is there for another browser.
        expect(report).to_contain_text("5분 동안")
        address = str(report.locator("[data-file]").get_attribute("href"))
        assert address == saved.value.url
        assert httpx.get(address, timeout=RENDER_MS).content.lstrip().startswith(start), name
    expect(page.locator("main")).not_to_contain_text("저장됨")

    page.locator("#tab-history").click()
    first = page.locator("#panel-history .log button").first
    first.click()
    expect(page.locator("#panel-history .timeline output")).to_contain_text("중")
    expect(page.locator("main > .drawn svg.picture")).to_contain_text("보증금 반환")
    record = page.locator("#panel-history details.record")
    record.locator("summary").click()
    expect(record.locator("pre")).to_contain_text(f'"version": {first.get_attribute("data-v")},')
    page.goto(f"{page.url.partition('#')[0]}#v=3")
    page.reload()
    expect(page.locator("#panel-history .timeline input")).to_have_value("3")
    expect(page.locator("main > .drawn svg.picture")).to_be_visible()
    assert "%" not in (page.locator("main > .drawn svg.picture desc").text_content() or ""), "nothing was found by then"
    page.evaluate("location.hash = '#v=2'")
    expect(page.locator("#panel-history .timeline input")).to_have_value("2")
    page.goto("/legal")
    expect(page.locator("section[aria-labelledby=mine]")).to_contain_text("보증금 반환")


def test_a_fact_is_corrected_at_a_gate_and_what_relied_on_it_is_done_again(reader: Reader) -> None:
    page = reader("/legal")
    opened(page, "Deposit")
    tell_facts(page)
    gate(page, "round1")
    page.get_by_role("tab", name="Facts").click()
    fact = page.locator("#panel-facts li#F1")
    fact.locator("summary").click()
    fact.get_by_label("Corrected text").fill(" ")
    fact.get_by_role("button", name="Correct").click()
    expect(fact.get_by_label("Corrected text")).to_have_attribute("aria-invalid", "true")
    fact.get_by_label("Corrected text").fill("계약이 여름에 체결되었다")
    fact.get_by_role("button", name="Correct").click()
    expect(fact).to_contain_text("superseded")
    stale = page.locator("section[aria-labelledby=settle]")
    expect(stale).to_contain_text("Turns 1, ")
    stale.get_by_role("button", name="Repeat these turns").click()
    expect(stale).to_have_count(0)
    gate(page, "round1")
    expect(page.locator("#panel-turns")).to_contain_text("repeated: 1")


def test_a_bad_field_of_a_new_session_is_told_at_the_field(reader: Reader) -> None:
    page = reader("/legal")
    form = page.locator("section[aria-labelledby=open]")
    form.locator("input").first.fill("A case")
    form.get_by_label("Model").fill("no such model")
    form.locator("button.first").click()
    expect(form.get_by_label("Model")).to_have_attribute("aria-invalid", "true")
    expect(form.locator(".fault", has_text="scripted")).to_be_visible()


ELSEWHERE = {
    "report.language", "report.unverified", "report.issues", "report.next_steps", "report.stale", "report.best_cases",
    "report.facts.confirmed.quote", "report.facts.disputed.quote", "report.facts.past.quote",
    "report.likelihood", "report.timeline", "report.appendix.output", "report.evidence.notes.kind",
}  # fmt: skip
"""What is said at another key, or is how a text is marked."""
UNTOLD = {
    "by", "sha256", "media_type", "encoding", "detail", "new_id", "replaces", "reason", "replaced_by", "issue",
    "answers",
}  # fmt: skip
DRAW = """async () => {
  const at = document.querySelector("script[type=module]").src.replace(/legal\\/page\\.js.*/, "");
  const { readTexts, speak } = await import(`${at}parts/language.js`);
  speak(await readTexts(document.documentElement.lang));
  const { reportView } = await import(`${at}legal/report.js`);
  document.querySelector("main").replaceChildren(await reportView("/api/sessions/a", { id: "a" }));
}"""


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_the_page_shows_every_text_of_a_report_and_no_empty_section(reader: Reader, language: str) -> None:
    page = reader("/legal", language=language)
    whole = distinct_report.report()
    page.route("**/api/sessions/a/report", lambda route: route.fulfill(json=whole))
    page.evaluate(DRAW)
    shown = page.locator("article[aria-labelledby=report]")
    drawn = shown.text_content() or ""
    sections = shown.locator("section[data-section]")
    assert [one.get_attribute("data-section") for one in sections.all()][5:8] == list(whole["order"])
    assert sections.count() == len(get_args(ReportSection))
    missing = [path for path, text in distinct_report.texts(whole) if text not in drawn]
    assert [path for path in missing if not _elsewhere(path)] == []


def _elsewhere(path: str) -> bool:
    return path.rpartition(".")[2] in UNTOLD or any(path == one or path.startswith(f"{one}.") for one in ELSEWHERE)


def test_an_erased_session_says_so_on_its_page_and_leads_nowhere_in_the_list(reader: Reader) -> None:
    page = reader("/legal")
    opened(page, "A deposit")
    page.get_by_role("button", name="Erase this session").click()
    answer(page, yes=True)
    expect(page.locator("h1")).to_have_text("This session has been erased.")
    page.reload()
    expect(page.locator("#main")).to_contain_text("has been erased")
    page.goto("/legal")
    row = page.locator("li").filter(has_text="legal-").first
    expect(row).to_contain_text("erased")
    expect(row.locator("a")).to_have_count(0)
