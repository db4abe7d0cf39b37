"""The report: what it holds, and that every format holds it in one order, escaped, and the same after a replay."""

import html.parser
import io
import re
import zipfile
from typing import Any

import docx
import lxml.etree
import msgspec
import pytest
from msgspec.structs import replace
from playmolt_core.game.decider import Refused
from playmolt_legal.report import formats
from playmolt_legal.report import report as reports
from playmolt_legal.report.document import document
from playmolt_legal.report.docx_format import render_docx
from playmolt_legal.report.html_format import render_html
from playmolt_legal.report.markdown_format import render_md
from playmolt_legal.report.pdf_format import render_pdf
from playmolt_legal.rules import Legal
from playmolt_schemas.games.legal import Report
from playmolt_schemas.stored.legal import Citation, RefusedItem
from pypdf import PdfReader

TEXT = {"md": render_md, "html": render_html}
BOOKS = {"docx": render_docx, "pdf": render_pdf}


def of(session: Any) -> Report:
    made = reports.report(session.to("FINALIZE_DONE").state)
    assert isinstance(made, Report), made
    return made


def plain(made: Report) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    return shown


# When


@pytest.mark.parametrize("phase", ["FACTS_INTAKE", "JUDGE_R1", "round1", "end"])
def test_before_the_end_there_is_none(session: Any, phase: str) -> None:
    refused = reports.report(session.to(phase).state)
    assert isinstance(refused, Refused)
    assert (refused.code.wire, refused.code.status) == ("not_finished", 409)


def test_a_session_that_went_on_has_none(session: Any) -> None:
    refused = reports.report(session.to("end").form("end", resolution="new_session").state)
    assert isinstance(refused, Refused)
    assert "legal-2" in refused.detail


# What


def test_it_has_the_fields_of_its_shape(session: Any) -> None:
    assert set(plain(of(session))) == {
        "language", "case", "facts", "evidence", "timeline", "corrections", "issues", "best_cases", "findings",
        "decision_range", "evidence_matrix", "risks", "strategy", "settlement", "order", "gate_history",
        "guardrail_hits", "no_go", "next_steps", "citations", "unverified", "refused", "stale", "side",
        "likelihood", "disclaimer", "page_one", "arguments", "burden", "verifier", "chronology", "steering",
        "appendix", "ended_at", "final", "final_failed",
    }  # fmt: skip


def test_it_is_made_of_the_newest_turns(session: Any) -> None:
    made, turns = plain(of(session)), {turn.phase: turn.output for turn in session.state.turns}
    assert made["case"]["parties"] == {"claimant": "원고 대리인", "opposing": "피고 대리인"}
    assert made["issues"] == turns["JUDGE_R3"]["Issues"]
    assert made["findings"] == turns["JUDGE_R3"]["Findings"]
    assert made["decision_range"] == turns["JUDGE_R3"]["DecisionRange"]
    assert made["next_steps"] == turns["JUDGE_R3"]["RecommendedNextSteps"]
    assert made["best_cases"] == {
        "claimant": turns["CLAIMANT_R3"]["Claims"],
        "opposing": turns["OPPOSING_R3"]["CounterArguments"],
    }
    assert made["risks"] == [*turns["OPPOSING_R3"]["ProceduralRisks"], *turns["CLAIMANT_R3"]["WeakPoints"]]
    assert made["settlement"] == turns["OPPOSING_R3"]["SettlementOptions"]
    assert made["citations"] == [{"text": "E1", "unverified": False}, {"text": "E2", "unverified": False}]


def test_an_extra_round_is_in_it(session: Any) -> None:
    session.to("end").form("end", resolution="extend")
    session.to("JUDGE_R4").spoken(DecisionRange="넷째 라운드의 범위")
    assert of(session).decision_range == "넷째 라운드의 범위"


def test_a_criminal_case_has_no_settlement(sessions: Any) -> None:
    assert of(sessions(case_type="criminal")).settlement == ()


def test_the_matrix_says_who_relies_on_what(session: Any) -> None:
    rows = [(row.fact, row.evidence) for row in of(session).evidence_matrix]
    assert rows == [("F1", "T1"), ("F2", "E1"), ("F3", "E2")]
    relied = {row.evidence: row.relied_on_by for row in of(session).evidence_matrix}
    assert relied == {"T1": ("judge", "claimant", "opposing"), "E1": ("judge", "claimant"), "E2": ("claimant",)}


def test_evidence_that_backs_no_fact_is_in_the_matrix_too(session: Any) -> None:
    session.facts().spoken({"ConfirmedFacts": [], "DisputedFacts": [], "MissingFactsQuestions": []})
    assert [(row.fact, row.evidence) for row in of(session).evidence_matrix] == [
        ("F1", "T1"), (None, "E1"), (None, "E2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("style", "order"),
    [
        ("risk", ("risks", "strategy", "settlement")),
        ("strategy", ("strategy", "risks", "settlement")),
        ("settlement", ("settlement", "risks", "strategy")),
    ],
)
def test_its_style_says_what_comes_first(session: Any, style: str, order: tuple[str, ...]) -> None:
    made = of(session.to("FINALIZE_DONE", end={"report_style": style}))
    assert made.order == order


def test_unclear_facts_are_unknown(sessions: Any) -> None:
    made = of(sessions(profile="unsure"))
    assert [item.id for item in made.facts.unknown] == ["Q1", "Q2", "Q3"]


def test_hits_say_whether_they_still_stand(sessions: Any) -> None:
    mended, stubborn = of(sessions(profile="rash")), of(sessions(profile="stubborn"))
    assert {hit.unresolved for hit in mended.guardrail_hits} == {False}
    assert {hit.unresolved for hit in stubborn.guardrail_hits} == {True}
    assert {hit.phase for hit in mended.guardrail_hits} == {"CLAIMANT_R1", "CLAIMANT_R2", "CLAIMANT_R3"}


def test_a_civil_no_go_gives_its_reasons_and_exactly_two_alternatives(sessions: Any) -> None:
    session = sessions(profile="no_go")
    made = of(session)
    turns = {turn.phase: turn.output for turn in session.state.turns}
    assert made.no_go is not None
    assert made.no_go.reasons == (
        *turns["VERIFIER_R2"]["MissingEvidence"],
        *turns["VERIFIER_R2"]["UnsupportedClaims"],
    )
    assert made.no_go.alternatives == (
        turns["OPPOSING_R2"]["SettlementOptions"][0]["text"],
        turns["JUDGE_R2"]["RecommendedNextSteps"][0],
    )


@pytest.mark.parametrize(("case_type", "profile"), [("criminal", "no_go"), ("civil", "plain")])
def test_no_other_report_has_no_go(sessions: Any, case_type: str, profile: str) -> None:
    assert of(sessions(case_type=case_type, profile=profile)).no_go is None


def test_the_gates_are_reported_with_what_they_showed(sessions: Any) -> None:
    session = sessions(case_type="criminal", profile="no_go").to("FINALIZE_DONE")
    history = plain(of(session))["gate_history"]
    assert [(entry["gate"], entry["form"]["gate"], entry["by"]) for entry in history] == [
        ("round1", "round1", "agent-1"), ("round2", "round2", "agent-1"), ("end", "end", "agent-1"),
    ]  # fmt: skip
    assert history[1]["form"]["missing_evidence_answers"] == {"M1": "none", "M2": "none"}
    assert [item["id"] for item in history[1]["missing_evidence"]] == ["M1", "M2"]


def test_conditions_and_answers_appear_in_the_text(session: Any) -> None:
    session.to("VERIFIER_R1").status("Conditional", MissingEvidence=["원본"]).to("round2")
    session.to("end").form("end", resolution="extend").status("No-Go", MissingEvidence=["서명"])
    text = render_md(of(session.form("end", missing_evidence_answers={"M1": "다음 주에 받는다"})))
    assert "\n- 조건: 원본\n" in text
    assert "\n- 부족한 증거: 서명 → 다음 주에 받는다\n" in text


def test_it_says_that_it_is_a_simulation_and_no_legal_advice(sessions: Any) -> None:
    assert all(word in of(sessions(language="ko")).disclaimer for word in ("시뮬레이션", "법률 자문"))
    assert all(word in of(sessions(language="en")).disclaimer for word in ("simulation", "legal advice"))


# Formats


def test_the_same_log_gives_the_same_bytes(sessions: Any, language: str) -> None:
    session = sessions(profile="stubborn", language=language)
    made = of(session)
    rules, state = Legal(), Legal().initial("legal-1")
    for event, at, _ in session.log:
        kind = rules.events[event.type, event.schema_version]
        state = rules.evolve(state, msgspec.json.decode(msgspec.json.encode(event), type=kind), at)
    again = reports.report(state)
    assert isinstance(again, Report)
    assert msgspec.json.encode(again) == msgspec.json.encode(made)
    assert [render(again) for render in TEXT.values()] == [render(made) for render in TEXT.values()]


@pytest.mark.parametrize("name", BOOKS)
def test_a_book_is_the_same_bytes_each_time(session: Any, name: str) -> None:
    made = of(session)
    assert BOOKS[name](made) == BOOKS[name](made)


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("style", ["risk", "strategy", "settlement"])
def test_the_section_of_the_style_comes_first(sessions: Any, name: str, style: str, language: str) -> None:
    made = of(sessions(language=language).to("FINALIZE_DONE", end={"report_style": style}))
    headings = re.findall(r"(?:^## |<h2>)([^<\n]+)", TEXT[name](made), re.MULTILINE)
    titles = {
        "ko": ("리스크", "전략", "합의안"),
        "en": ("Risks", "Strategy", "Settlement"),
        "zh": ("风险", "策略", "和解方案"),
    }[language]
    named = dict(zip(("risks", "strategy", "settlement"), titles, strict=True))
    assert headings[5:8] == [f"{number}. {named[part]}" for number, part in enumerate(made.order, 6)]
    assert [heading.partition(".")[0] for heading in headings] == [str(number) for number in range(1, 15)]


@pytest.mark.parametrize(
    ("name", "content_type", "start"),
    [
        ("json", "application/json", b'{"language":"ko"'),
        ("md", "text/markdown; charset=utf-8", b"# "),
        ("html", "text/html; charset=utf-8", b"<!doctype html>"),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"PK"),
        ("pdf", "application/pdf", b"%PDF-"),
    ],
)
def test_a_client_asks_for_a_format(session: Any, name: str, content_type: str, start: bytes) -> None:
    rendered = formats.render(of(session), name)
    assert isinstance(rendered, formats.Rendered)
    assert rendered.content_type == content_type
    assert rendered.body.startswith(start)


@pytest.mark.parametrize("name", ["md", "html", "docx", "pdf"])
def test_each_format_names_the_zone_of_its_times_and_the_language(sessions: Any, name: str, language: str) -> None:
    rendered = formats.render(of(sessions(language=language)), name)
    assert isinstance(rendered, formats.Rendered)
    body = rendered.body
    if name == "docx":
        with zipfile.ZipFile(io.BytesIO(body)) as file:
            body = file.read("word/document.xml")
    text = PdfReader(io.BytesIO(body)).pages[0].extract_text() if name == "pdf" else body.decode()
    assert re.search(r"\d\d:\d\d.{1,3}UTC", text)
    if name == "html":
        assert f'<html lang="{language}">' in text


def test_an_unknown_format_is_refused(session: Any) -> None:
    refused = formats.render(of(session), "rtf")
    assert isinstance(refused, Refused)
    assert (refused.code.status, refused.errors[0].field) == (400, "format")


HOSTILE = "<script>alert(1)</script> & \"q\" 'a' [x](javascript:y) **b** `c` | d #e"


@pytest.fixture
def hostile(sessions: Any) -> Report:
    session = sessions(title=HOSTILE)
    session.facts(evidence=[{"title": "a", "description": HOSTILE}, {"title": "b", "description": "# 1. <img src=x>"}])
    return of(session)


class Page(html.parser.HTMLParser):
    """Notes the tags, attributes and ids of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs


def test_the_page_escapes_everything_and_loads_nothing(hostile: Report) -> None:
    page = Page()
    page.feed(render_html(hostile))
    assert page.tags <= {
        "html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "ul", "li", "b", "a",
        "table", "tr", "th", "td", "p",
    }  # fmt: skip
    assert {name for name, _ in page.attributes} <= {"lang", "charset", "name", "content", "id", "href", "scope"}
    targets = [str(value) for name, value in page.attributes if name == "href"]
    assert targets
    assert all(target.startswith("#") for target in targets)
    assert "url(" not in render_html(hostile)


def test_every_link_of_the_page_has_its_place(sessions: Any) -> None:
    page = Page()
    page.feed(render_html(of(sessions(profile="unsure"))))
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {str(value)[1:] for name, value in page.attributes if name == "href"} <= set(ids)
    assert {"F1", "E1", "T1", "Q1"} <= set(ids)


def test_markdown_takes_no_markup_from_the_texts(hostile: Report) -> None:
    text = render_md(hostile)
    assert "<script" not in text.replace("\\<", "")
    assert "](javascript" not in text.replace("\\]", "")
    assert not re.search(r"(?<!\\)\*\*b", text)
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


def test_what_the_ids_stand_for_is_reported(session: Any) -> None:
    session.to("round1").form("round1", fact_corrections="대금은 700만원이었다.")
    made = of(session)
    assert [item["id"] for item in (*plain(made)["evidence"], *plain(made)["timeline"])] == ["E1", "E2", "T1", "T2"]
    text = render_md(made)
    assert '<a id="e1"></a>**E1** 인수증: 물품을 받았다는 서명이 있다\n' in text
    assert '| <a id="t1"></a>**T1** | 2024-03-05 | 물품을 인도했다 (다툼 없음) |\n' in text
    assert '| <a id="t2"></a>**T2** | 2024-04-01 | 대금을 독촉했다 |\n' in text
    assert "대금은 700만원이었다. · 본인, 2026년" in text
    assert "agent-1" not in text
    assert r"| 물품을 인도했다 \[[F1](#f1)\] | \[[T1](#t1)\] |" in text


def test_every_asserting_line_links_to_its_id(session: Any) -> None:
    made = of(session)
    lines = render_md(made).splitlines()
    for statement in (*made.findings, *made.best_cases.claimant, *made.best_cases.opposing):
        assert isinstance(statement.basis, list)
        line = next(line for line in lines if f"{statement.text} " in line)
        assert all(f"[{ref}](#{ref.lower()})" in line for ref in statement.basis)


def test_what_nobody_supplied_is_marked_wherever_it_shows(session: Any) -> None:
    said = {"text": "민법 제750조가 문제되는가?", "basis": "Unknown", "issue": "대금 지급 의무"}
    session.to("JUDGE_R3").spoken(Findings=[said], Citations=["민법 제750조", "사내 규정", "E1"])
    made = of(session)
    assert made.citations[-1] == Citation(text="사내 규정", unverified=True)
    assert made.unverified == ("민법 제750조",)
    for text in (render_md(made), render_html(made)):
        assert text.count("민법 제750조 (미확인)") == 4
        assert "사내 규정 (미확인)" in text
        assert "E1 (미확인)" not in text


def test_what_the_person_supplies_later_is_verified_from_then_on(session: Any) -> None:
    said = {"text": "민법 제750조가 문제되는가?", "basis": "Unknown", "issue": None}
    session.to("JUDGE_R1").spoken(Findings=[said], Citations=["민법 제750조"])
    assert session.view()["turns"][0]["unverified"] == ["민법 제750조"]
    session.to("round1").form("round1", fact_corrections="민법 제750조도 살핀다.")
    session.to("JUDGE_R2").spoken(Citations=["민법 제750조"])
    assert "unverified" not in session.view()["turns"][-1]
    made = of(session)
    assert made.unverified == ()
    assert [one for one in made.citations if one.text == "민법 제750조"] == [
        Citation(text="민법 제750조", unverified=False)
    ]
    assert "미확인" not in render_md(made)


@pytest.mark.parametrize(
    ("told", "said", "longer"),
    [("민법 제750조", "제75조", "제750조"), ("2023가합12345", "2023가합1234", "2023가합12345")],
)
def test_what_only_begins_like_what_the_person_supplied_is_unverified(
    session: Any, told: str, said: str, longer: str
) -> None:
    session.facts(overview=f"{told}에 따른다.").to("JUDGE_R3")
    finding = {"text": f"{said} 및 {longer} 가운데 무엇인가?", "basis": "Unknown", "issue": "대금 지급 의무"}
    made = of(session.spoken(Findings=[finding]))
    assert made.unverified == (said,)
    assert f"{said} (미확인) 및 {longer} 가운데" in render_md(made)


def test_law_that_the_sorted_facts_and_the_gates_name_is_marked(session: Any) -> None:
    questions = [{"text": "제752조가 문제되는가?"}]
    session.facts().spoken({"ConfirmedFacts": [], "DisputedFacts": [], "MissingFactsQuestions": questions})
    session.to("VERIFIER_R1").status("Conditional", MissingEvidence=["제753조의 본문"])
    text = render_md(of(session))
    for named in ("제752조", "제753조"):
        assert f"{named} (미확인)" in text
        assert text.count(named) == text.count(f"{named} (미확인)")


def test_only_whole_sentences_of_the_last_round_are_in_doubt(session: Any) -> None:
    session.to("round1").form("round1")

    def claim(text: str, basis: list[str]) -> dict[str, Any]:
        return {"text": text, "basis": basis, "issue": "대금 지급 의무"}

    early, late = [claim("먼저 왔다.", ["F9"])], [claim("왔다.", ["F9"]), claim("물건이 왔다. 오래되었다.", ["F1"])]
    session.to("CLAIMANT_R2").spoken(Claims=early).spoken(Claims=early)
    late.append(claim("먼저 왔다.", ["F1"]))
    session.to("CLAIMANT_R3").spoken(Claims=late).spoken(Claims=late)
    session.to("JUDGE_R3").spoken(Findings=[claim("왔다.", ["F1"])])
    text = render_md(of(session))
    assert "| C3.1 왔다. (뒷받침되지 않음: 확정 사실 밖의 사실) \\[F9\\]" in text
    assert "<br>C3.2 물건이 왔다. 오래되었다. \\[[F1]" in text
    assert "<br>C3.3 먼저 왔다. \\[[F1]" in text
    assert "- 왔다. \\[[F1]" in text


def test_what_still_stands_is_marked_where_it_is_said(sessions: Any) -> None:
    text = render_md(of(sessions(profile="stubborn")))
    assert "<br>C3.2 이 사건은 무조건 승소한다. (뒷받침되지 않음: " in text


def test_points_are_named_and_lead_to_the_round_they_were_made_in(session: Any) -> None:
    text = render_md(of(session))
    assert '<a id="c1.1"></a>**C1.1** 주장: ' in text
    assert '<a id="o3.1"></a>**O3.1** 반박: ' in text
    assert "| C3.1 " in text
    assert "(C2.1에 대한 답변)" in text


def test_evidence_is_called_by_its_title_in_matrix_and_citations(session: Any) -> None:
    text = render_md(of(session))
    assert r"| 인수증 \[[E1](#e1)\] | " in text
    assert r"- 인수증 \[[E1](#e1)\]" in text.partition("인용\n")[2]


def test_the_word_document_opens_and_holds_the_text(hostile: Report) -> None:
    package = render_docx(hostile)
    book = docx.Document(io.BytesIO(package))
    text = "\n".join(paragraph.text for paragraph in book.paragraphs)
    assert HOSTILE in text
    assert hostile.disclaimer in text
    headings = [each.text for each in book.paragraphs if each.style and each.style.name == "Heading 1"]
    assert headings[0] == "1. 결론"
    assert [cell.text.strip() for cell in book.tables[0].rows[1].cells][:3] == [
        "F1",
        hostile.facts.confirmed[0].text + f" ({hostile.facts.confirmed[0].wording})",
        "합의됨",
    ]
    body = zipfile.ZipFile(io.BytesIO(package)).read("word/document.xml").decode()
    anchors = set(re.findall(r'w:anchor="(\w+)"', body))
    assert anchors
    assert anchors <= set(re.findall(r'w:name="(\w+)"', body))
    assert "TargetMode" not in body


def test_a_control_character_breaks_no_book(session: Any) -> None:
    """None comes in any more; a session of before may hold one."""
    made = of(session)
    made = replace(made, case=replace(made.case, title="a\x01b\x0bc"))
    assert docx.Document(io.BytesIO(render_docx(made))).paragraphs[0].text.endswith("a b c")
    assert render_pdf(made).startswith(b"%PDF-")


def test_the_pdf_carries_its_korean_font_and_its_links(session: Any) -> None:
    package = render_pdf(of(session))
    assert package.startswith(b"%PDF-")
    assert package.rstrip().endswith(b"%%EOF")
    assert b"NotoSansKR" in package
    assert b"/Subtype /Link" in package
    assert b"/URI" not in package


# Page one and what stands behind it


def test_page_one_answers(session: Any) -> None:
    made, turns = of(session), {turn.phase: turn.output for turn in session.state.turns}
    page = made.page_one
    assert page.question == "대금 지급 의무"
    assert page.outcome == turns["JUDGE_R3"]["DecisionRange"]
    assert page.likelihood == made.likelihood
    assert page.decisive == ("F1", "F2")
    assert page.next_steps == tuple(turns["JUDGE_R3"]["RecommendedNextSteps"])
    assert page.gaps == tuple(fact.text for fact in made.facts.disputed)


def test_gaps_are_open_questions_first_and_three_at_most(sessions: Any) -> None:
    made = of(sessions(profile="unsure"))
    assert made.page_one.gaps == tuple(item.text for item in made.facts.unknown)[:3]


def test_both_sides_appear_beside_each_other_issue_by_issue(session: Any) -> None:
    (argument,) = of(session).arguments
    assert argument.issue == "대금 지급 의무"
    assert (argument.claimant, argument.opposing) == (of(session).best_cases.claimant, of(session).best_cases.opposing)


def test_the_chronology_calls_nothing_agreed_that_stands_no_more(session: Any) -> None:
    session.facts(
        timeline=[
            {"when": "2024-03-05", "what": "물품 3상자를 인도했다", "agreed": True},
            {"when": "2024-04-01", "what": "대금을 독촉했다", "agreed": True},
            {"when": "2024-05-01", "what": "답이 왔다", "agreed": True},
            {"when": "2024-06-01", "what": "반품했다", "agreed": True},
        ]
    ).to("round1")
    session.change("F1", action="correct", text="물품 2상자를 인도했다")
    session.change("F2", action="withdraw").change("F3", action="dispute").to("FINALIZE_DONE")
    made = of(session)
    (table,) = next(each for each in document(made).sections if each.name == "chronology").blocks
    told = [(row[2][0].text, row[2][0].refs) for row in table.rows[1:]]
    corrected = made.facts.past[0].replaced_by
    assert told == [
        ("물품 3상자를 인도했다 (정정됨)", (corrected,)),
        ("대금을 독촉했다 (철회됨)", ("F2",)),
        ("답이 왔다 (다툼 있음)", ("F3",)),
        ("반품했다 (다툼 없음)", ()),
    ]


def test_the_chronology_goes_by_date(session: Any) -> None:
    session.facts(timeline=[
        {"when": "언젠가", "what": "물품을 주문했다"},
        {"when": "2024년 4월 1일", "what": "대금을 독촉했다"},
        {"when": "2024-03-05", "what": "물품을 인도했다", "agreed": True},
    ])  # fmt: skip
    assert [item.id for item in of(session).chronology] == ["T3", "T2", "T1"]


@pytest.mark.parametrize(
    ("case_type", "jurisdiction", "words"),
    [
        ("criminal", "New York", ("beyond reasonable doubt", "prosecution")),
        ("civil", "New York", ("preponderance of the evidence",)),
        ("civil", "Republic of Korea", ("preponderance of the evidence", "high degree of probability")),
        ("civil", "KR", ("high degree of probability",)),
        ("civil", "Atlantis", ("preponderance of the evidence", "Where the law of Atlantis words it otherwise")),
    ],
)
def test_the_standard_goes_by_case_and_jurisdiction(
    sessions: Any, case_type: str, jurisdiction: str, words: tuple[str, ...]
) -> None:
    made = of(sessions(language="en", case_type=case_type, jurisdiction=jurisdiction))
    assert all(word in made.burden.standard for word in words)


def test_a_corrected_fact_shows_both_texts_and_the_turns_that_relied_on_it(session: Any) -> None:
    session.to("round1").change("F2", action="correct", text="물품을 받았다는 서명과 날인이 있다")
    made = of(session)
    old = session.state.facts.past[0].text
    assert [record.new for record in made.facts.history] == ["물품을 받았다는 서명과 날인이 있다"]
    assert f"정정함: {old} → 물품을 받았다는 서명과 날인이 있다" in render_md(made)
    assert {stale.facts for each in made.verifier for stale in each.stale} == {("F2",)}


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("profile", ["stubborn", "no_go", "unsure", "conditional"])
def test_nothing_in_it_is_a_code_a_person_cannot_read(sessions: Any, name: str, profile: str, language: str) -> None:
    text = TEXT[name](of(sessions(profile=profile, language=language)))
    assert "agent-1" not in text
    assert not re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d|[A-Z]+_R\d|NOT_OK|budget_cap|win_likelihood", text)


def test_a_word_document_is_dated_by_the_end_and_well_formed(session: Any) -> None:
    made = of(session)
    with zipfile.ZipFile(io.BytesIO(render_docx(made))) as package:
        assert {entry.date_time[:3] for entry in package.infolist()} == {(2026, 3, 1)}
        parts = {name: package.read(name) for name in package.namelist() if name.endswith((".xml", ".rels"))}
    roots = {name: lxml.etree.fromstring(part) for name, part in parts.items()}
    assert made.ended_at[:19].encode() in parts["docProps/core.xml"]
    marks = roots["word/document.xml"].xpath("//*[local-name()='bookmarkStart']/@*[local-name()='id']")
    assert len(marks) == len(set(marks))
    cells = roots["word/document.xml"].xpath("//*[local-name()='tc']")
    assert cells
    assert all(cell.xpath("./*[local-name()='p']") for cell in cells)
    footer = next(part for name, part in parts.items() if "footer" in name and b"NUMPAGES" in part)
    assert b"PAGE" in footer


NOT_LOOKED = {"ko": "증거 재검토 없음", "en": "evidence not re-examined", "zh": "未重新核对证据"}


@pytest.mark.parametrize("language", NOT_LOOKED)
def test_what_a_person_corrected_in_a_backed_fact_says_that_the_evidence_was_not_looked_at_again(
    sessions: Any, language: str
) -> None:
    assert NOT_LOOKED[language] not in render_md(of(sessions(language=language)))
    session = sessions(language=language).to("round1")
    backed = next(fact.id for fact in session.state.facts.confirmed if fact.evidence)
    session.change(backed, action="correct", text="The person's own words.")
    assert render_md(of(session)).count(NOT_LOOKED[language]) == 1


def test_a_refused_item_is_shown_with_what_it_quoted_and_why(session: Any) -> None:
    item = RefusedItem(text="그는 갔다", quote="떠난 사람", reason="particular_not_supplied", particular="7월 9일")
    shown = render_md(replace(of(session), refused=(item,)))
    assert "그는 갔다 “떠난 사람” (" in shown
    assert "7월 9일)" in shown
    assert "particular_not_supplied" not in shown
