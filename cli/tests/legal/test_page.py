"""A session reads well in a narrow terminal, in Korean too, and nothing in it can steer the terminal."""

import io
from typing import Any

import pytest
from playmolt_cli.legal.page import LegalPage, speaking
from playmolt_cli.legal.texts import LegalTexts
from playmolt_schemas.games.legal import Failed, Gate, Session, SessionTurn
from playmolt_schemas.stored.legal import (
    Citation,
    Fact,
    Facts,
    Hit,
    Language,
    NumberedText,
    RefusedItem,
    SteeringSettings,
)
from rich.cells import cell_len
from rich.console import Console


def page(language: Language = "en", *, width: int = 0) -> tuple[LegalPage, io.StringIO]:
    """A page on a terminal that is so wide, or on a pipe."""
    file = io.StringIO()
    out = Console(
        file=file, force_terminal=bool(width), width=width or 30, highlight=False, markup=False, no_color=True
    )
    return LegalPage(out, LegalTexts(language)), file


def session(**fields: Any) -> Session:
    known: dict[str, Any] = {
        "id": "legal-1", "case_type": "civil", "jurisdiction": "KR", "title": "Deposit", "language": "en",
        "exclusions": (), "model": "scripted", "created_at": "", "version": 1, "phase": "FACTS_INTAKE",
        "facts": Facts(), "steering": SteeringSettings(), "steering_history": (), "turns": (), "gate": None,
        "failed": None,
        "previous_session": None, "next_session": None,
    }  # fmt: skip
    return Session(**known | fields)


HIT = Hit(check="certain_advice", field="Claims", text="we will definitely win")
CLAIM = {"text": "the deposit is due", "basis": ["F1"], "issue": "deposit"}
TURN = SessionTurn(
    n=2, phase="CLAIMANT_R1", role="claimant", title="Plaintiff's counsel", round=1,
    output={"Claims": [CLAIM], "EvidencePlan": [{"evidence": "E1", "purpose": "shows it"}], "WeakPoints": []},
    draft={"Claims": []}, hits=(HIT, HIT), unresolved=(HIT,), warnings=(),
)  # fmt: skip
VERIFIED = SessionTurn(
    n=4, phase="VERIFIER_R1", role="verifier", title="Verifier", round=1, output={"GateStatus": "Go"},
    draft=None, hits=(), unresolved=(), warnings=(), gate_status="Conditional",
)  # fmt: skip


def styled(text: str) -> str:
    return "".join(part.partition("m")[2] if place else part for place, part in enumerate(text.split("\x1b[")))


def test_an_answer_reads_in_the_order_of_its_schema_and_an_estimate_as_a_sentence() -> None:
    written, file = page()
    written.output(
        {
            "Likelihood": {"basis": ["F1"], "high": 70, "low": 50, "text": "It hangs on the receipt."},
            "Findings": [{**CLAIM, "answers": ["C1.1"]}],
            "DecisionRange": "reserved",
        }
    )
    lines = [line.strip() for line in file.getvalue().splitlines()]
    assert lines[1:] == [
        "• the deposit is due [F1] ↩ C1.1 ‹deposit›",
        "Decision range: reserved",
        "Likelihood: 50–70%: It hangs on the receipt. [F1]",
    ]


def test_a_gate_lists_what_is_to_be_settled_and_what_was_refused_with_why() -> None:
    doubted = Fact(id="F4", text="the sum was $3,100", state="disputed", source="evidence", reason="C1")
    refused = RefusedItem(text="An expert came.", quote="an expert came", reason="quote_not_found", particular=None)
    gate = Gate(
        name="round2", banner=None, missing_evidence=(), checklist=(), issues=(), focus=(), schema={},
        facts_to_settle=("F4",), refused=(refused,),
    )  # fmt: skip
    written, file = page()
    written.gate(session(facts=Facts(disputed=(doubted,)), gate=gate), gate)
    told = file.getvalue()
    assert "F4 the sum was $3,100" in told
    assert "✗ An expert came. (a quote that is not in the material)" in told


@pytest.mark.parametrize(
    "text", ["one two three four five six seven eight", "하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열"]
)
def test_a_long_line_is_wrapped_below_its_first_word(text: str) -> None:
    written, file = page(width=26)
    written.line(text, 1, mark="F1")
    lines = styled(file.getvalue()).splitlines()
    assert len(lines) > 1
    assert max(map(cell_len, lines)) <= 26, lines
    assert lines[0].startswith("  F1 ")
    assert all(line.startswith("     ") and line[5] != " " for line in lines[1:])


def test_on_a_pipe_a_paragraph_is_one_line() -> None:
    written, file = page()
    written.line("a sentence that is longer than the thirty columns of this console", 1)
    assert file.getvalue() == "  a sentence that is longer than the thirty columns of this console\n"


def test_a_command_to_copy_is_never_wrapped() -> None:
    written, file = page(width=24)
    written.whole("playmolt legal gate legal-01234567-89ab")
    assert file.getvalue().count("\n") == 1


def test_what_a_model_says_cannot_steer_the_terminal() -> None:
    written, file = page(width=60)
    written.output({"Claims": [{"text": "a\x1b[2Jb\u202e\nc", "basis": "Unknown", "issue": None}]})
    told = file.getvalue()
    assert "\x1b[2J" not in told
    assert "a�[2Jb� c [Unknown]" in told


def test_a_turn_shows_its_basis_and_what_the_guardrails_found() -> None:
    written, file = page()
    written.turn(TURN)
    assert [line.strip() for line in file.getvalue().splitlines() if line] == [
        "2. Plaintiff's counsel · round 1 (CLAIMANT_R1)",
        "Claims",
        "• the deposit is due [F1] ‹deposit›",
        "Evidence plan",
        "E1 shows it",
        "! rewritten once because of: a promised outcome",
        "! unresolved: a promised outcome: we will definitely win",
    ]


def test_what_nobody_supplied_is_marked() -> None:
    output = {"Findings": [{"text": "Article 750 may apply", "basis": "Unknown"}], "Citations": ["Article 750", "rule"]}
    citations = (Citation(text="Article 750", unverified=True), Citation(text="rule", unverified=True))
    turn = SessionTurn(
        n=1, phase="JUDGE_R2", role="judge", title="Judge", round=2, output=output, draft=None, hits=(), unresolved=(),
        warnings=(), citations=citations, unverified=("Article 750",),
    )  # fmt: skip
    written, file = page()
    written.turn(turn)
    message = {"type": "turn_done", "phase": "JUDGE_R2", "output": output, "unverified": ["Article 750"]}
    written.narrate(session(), message)
    said = [line.strip() for line in file.getvalue().splitlines() if line.strip().startswith("•")]
    cited = ["• Article 750 (unverified)", "• rule (unverified)", "• Article 750 (unverified)", "• rule"]
    found = "• Article 750 (unverified) may apply [Unknown]"
    assert said == [found, *cited[:2], found, *cited[2:]]


def test_what_nobody_supplied_is_marked_at_the_gate_and_in_the_facts() -> None:
    asked = Gate(
        name="round1", banner=None, missing_evidence=(), checklist=(NumberedText(id="C1", text="Text of Article 75"),),
        issues=("Article 75 or Article 750",), focus=("Article 75?",), schema={},
    )  # fmt: skip
    judge = SessionTurn(
        n=1, phase="JUDGE_R1", role="judge", title="Judge", round=1, output={}, draft=None, hits=(), unresolved=(),
        warnings=(), unverified=("Article 75",),
    )  # fmt: skip
    facts = Facts(disputed=(Fact(id="D1", text="Article 75 was kept", state="disputed"),))
    written, file = page()
    written.session(session(gate=asked, turns=(judge,), facts=facts))
    said = [line.strip() for line in file.getvalue().splitlines() if "Article" in line]
    assert said == [
        "D1 Article 75 (unverified) was kept [disputed, a model's proposal]", "C1 Text of Article 75 (unverified)",
        "• Article 75 (unverified) or Article 750", "• Article 75 (unverified)?",
    ]  # fmt: skip


def test_the_status_that_counts_is_shown() -> None:
    written, file = page()
    written.turn(VERIFIED)
    assert "Status: Conditional" in file.getvalue()


FAILED = Failed(phase="JUDGE_R1", code="model_unavailable", detail="it is away", attempts=4)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "playmolt legal facts legal-1"),
        ({"phase": "JUDGE_R1"}, "playmolt legal gate legal-1 (waits for the next gate)"),
        ({"phase": "JUDGE_R1", "failed": FAILED}, "playmolt legal retry legal-1"),
        ({"phase": "FINALIZE_DONE"}, "playmolt legal report legal-1"),
        ({"phase": "FINALIZE_DONE", "next_session": "legal-2"}, "playmolt legal facts legal-2"),
        ({"phase": "ABORTED"}, "The operator ended the session"),
    ],
)
def test_the_next_step_is_named(fields: dict[str, Any], said: str) -> None:
    written, file = page()
    written.session(session(**fields))
    assert said in file.getvalue().splitlines()[-1]


def test_a_failed_turn_says_why() -> None:
    written, file = page()
    written.session(session(phase="JUDGE_R1", failed=FAILED))
    assert "JUDGE_R1 failed (model_unavailable, 4 requests): it is away" in file.getvalue()


def test_both_languages_have_the_same_words() -> None:
    from playmolt_cli.legal import texts as legal_words

    table = legal_words._WORDS
    assert table["ko"].keys() == table["en"].keys()
    assert all(table["ko"].values())


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"type": "progress"}, ""),
        ({"type": "turn_started", "phase": "JUDGE_R2"}, "재판장 발언 중 (JUDGE_R2)"),
        ({"type": "turn_started", "phase": "FACTS_STIPULATE"}, "사실관계를 정리하는 중 (FACTS_STIPULATE)"),
        ({"type": "guardrail_hit", "phase": "JUDGE_R2", "check": "certain_advice"},
         "가드레일 적용 (재판장 · 2라운드): 단정적 자문. 한 번 고쳐 쓰도록 요청함"),
        ({"type": "gate_opened", "gate": "end"}, "내 차례: 변론 종료: 이후 처리 선택"),
        ({"type": "session_done"}, "세션이 끝났습니다"),
    ],
)  # fmt: skip
def test_each_message_of_the_stream_has_its_line(message: dict[str, Any], told: str) -> None:
    written, file = page("ko")
    written.narrate(session(language="ko"), message)
    assert file.getvalue().partition("\n")[0] == told


def test_the_speaker_is_called_by_the_kind_of_case() -> None:
    words = LegalTexts("en")
    assert speaking(words, session(), "CLAIMANT_R1") == "Plaintiff's counsel is speaking (CLAIMANT_R1)"
    assert speaking(words, session(case_type="criminal"), "CLAIMANT_R1") == "Prosecutor is speaking (CLAIMANT_R1)"
