"""The four checks, by tables: what fires, and the near misses that must not."""

import time
import unicodedata
from typing import Any

import pytest
from playmolt_legal.guardrails import corpus, guardrails
from playmolt_legal.guardrails.names import names
from playmolt_legal.guardrails.particulars import particulars
from playmolt_legal.guardrails.personal import personal
from playmolt_legal.guardrails.sentences import sentences
from playmolt_schemas.stored.legal import Citation, DraftSetAside, GuardrailHit

from core.tests.scenario import like


@pytest.fixture
def confirmed(sessions: Any) -> Any:
    """Korean facts, confirmed, before any focus is set."""
    return sessions().to("JUDGE_R1").state


@pytest.fixture
def confirmed_en(sessions: Any) -> Any:
    return sessions(language="en").to("JUDGE_R1").state


@pytest.fixture
def focused(sessions: Any) -> Any:
    return sessions().to("OPPOSING_R2").state


def said(text: str, basis: Any = "Unknown", issue: str | None = None) -> dict[str, Any]:
    return {"Claims": [{"text": text, "basis": basis, "issue": issue}]}


def checks(state: Any, output: dict[str, Any]) -> set[str]:
    return {hit.check for hit in guardrails.inspect(state, output).hits}


# 1. Facts outside the confirmed ones


@pytest.mark.parametrize(
    ("basis", "hit"),
    [
        (["F1"], False), (["E2"], False), (["T1"], False), (["F1", "E1", "T1"], False), ("Unknown", False),
        ([], True), (["F9"], True), (["E9"], True), (["T2"], True), (["D1"], True), (["Q1"], True),
        (["F1", "E9"], True), (["f1"], True), (["Unknown"], True),
    ],
)  # fmt: skip
def test_a_statement_rests_on_ids_there_are(confirmed: Any, basis: Any, hit: bool) -> None:
    assert checks(confirmed, said("물품이 인도되었다.", basis)) == ({"unsupported_fact"} if hit else set())


MADE_UP_KO = [
    "2023년 1월 2일에 약속했다.", "2024.3.6. 약속했다.", "2024-03-06에 약속했다.", "3월 6일에 약속했다.",
    "2019년에 약속했다.", "대금은 600만원이다.", "대금은 6,000,000원이다.", "대금은 3억 5천만 원이다.",
    "대금은 7억이다.", "대금은 ₩100이다.",
    "대금은 육백만 원이다.", "대금은 금삼억오천만원이다.", "대금은 천만원이다.",
    "민법 제750조에 따른다.", "제750조에 따른다.", "형법 355조에 따른다.",
    "민법 제563조의2에 따른다.", "대법원 2019다12345 판결이 있다.", "서울중앙지방법원 2020가합1234 사건이 있다.",
    "2016헌나1 결정이 있다.", "박영희 씨가 말했다.", "박영희씨가 말했다.", "이민준 과장이 말했다.",
    "최수진 대표님이 말했다.", "박 씨가 말했다.", "남궁민수 부장은 알았다.",
    "최 대표가 보았다.", "박 과장이 말했다.", "정 검사가 물었다.", "설현 과장이 보았다.", "허준 대표가 보았다.",
    "김정은 대표가 말했다.", "박하은 변호사가 말했다.", "이민서 검사가 말했다.", "김용만 소장이 왔다.",
    "박지민 대리가 왔다.", "이서준 이사가 왔다.", "김민준대표가 왔다.", "황보라 기자가 왔다.",
    "700만을 지급했다.", "600만은 이체했다.",
]  # fmt: skip
SUPPLIED_KO = [
    "2024년 3월 5일에 인도했다.", "2024. 3. 5.에 인도했다.", "2024-03-05에 인도했다.", "3월 5일에 인도했다.",
    "2024년에 인도했다.", "2024년 3월에 인도했다.", "대금은 500만 원이다.", "대금은 5,000,000원이다.",
    "대금은 ₩5,000,000이다.", "대금은 오백만 원이다.", "민법 제563조에 따른다.",
    "제563조를 본다.", "김철수 대표가 말했다.", "김철수 씨가 말했다.", "김 씨가 말했다.",
]  # fmt: skip
NEAR_KO = [
    "구조원이 왔다.", "만원 버스를 탔다.", "수천만 원이 들 수 있다.", "이 원고의 말이다.",
    "2주 안에 끝난다.", "14일 이내에 낸다.", "제3자가 보관했다.", "3자 대면이 있었다.", "원본이 있다.",
    "100명이 모였다.", "지분 30%를 가졌다.", "제1조건을 본다.", "1심 판단을 기다린다.", "그 방법 3가지가 있다.",
    "날씨가 좋았다.", "솜씨가 좋다.", "글씨가 같다.", "고객님이 받았다.", "재판장님께 아뢴다.", "선생님이 말했다.",
    "회사 대표가 말했다.", "담당 과장이 말했다.", "구매부 과장이 말했다.", "기획팀 팀장이 말했다.",
    "공동 대표가 있다.", "피고 대리인이 말했다.", "소송 대리인이 있다.", "주주 대표 소송이다.",
    "임시 이사회가 열렸다.", "노동자 대표가 말했다.", "변호사님이 말했다.", "소비자 대표가 왔다.",
    "정기 이사회 회의록이다.", "부모님이 왔다.", "원고 대표이사가 서명했다.", "사내 이사가 서명했다.",
    "2024년 3월 5일과 3월 5일 사이이다.", "500만원을 넘는가, 600만원인가?", "2023년 1월 2일에 약속했는가?",
    "박영희 씨가 말했는가?",
    "원고는 소장을 제출했다.", "원고가 이사를 갔다.", "원고의 변호사가 말했다.", "원고는 변호사를 선임했다.",
    "하지만 검사는 이를 다툰다.", "이러한 검사의 주장은 이유 없다.", "오히려 검사는 다툰다.", "여기서 검사는 다툰다.",
    "명백한 과장이다.", "지나친 과장이다.", "유효한 대리가 있었다.", "공정한 판사가 필요하다.", "하자의 검사를 마쳤다.",
    "원고의 대표는 알았다.", "노조의 대표가 서명했다.", "사실상 대표가 서명했다.", "송금한 경위를 본다.",
    "고소인 대리로 왔다.", "배심원 대표가 왔다.", "표현 대리가 성립한다.", "주민 대표가 왔다.", "정밀 검사가 필요하다.",
    "조정은 대표가 신청했다.", "고의를 인정할 수 있다.", "이 대표가 서명했다.", "전 대표가 왔다.", "한 이사가 있었다.",
    "제563 조 이사의 책임을 본다.", "500만을 지급했다.", "10만을 넘는 회원이 있다.", "3억 명이 본다.",
]  # fmt: skip


@pytest.mark.parametrize("sentence", MADE_UP_KO)
def test_what_nobody_supplied_is_made_up(confirmed: Any, sentence: str) -> None:
    assert checks(confirmed, said(sentence)) == {"unsupported_fact"}


@pytest.mark.parametrize("sentence", SUPPLIED_KO + NEAR_KO)
def test_what_was_supplied_and_what_only_looks_alike_is_not(confirmed: Any, sentence: str) -> None:
    assert checks(confirmed, said(sentence)) == set()


MADE_UP_EN = [
    "They agreed on March 6, 2024.", "They agreed on 6 March 2024.", "They agreed on 2024-03-06.",
    "They agreed on 12/31/2019.", "They agreed on 31.12.2019.",
    "They agreed in 2019.", "They agreed in April 2023.", "The price is $6,000.", "The price is USD 5 million.",
    "The price is 6,000 dollars.", "The price is KRW 100.", "It follows from Civil Act Article 750.",
    "It follows from Article 750.", "See Section 12 of the Penal Code.", "See § 823.", "See 410 U.S. 113.",
    "See Marbury v. Madison.", "See Case No. 2019-1234.", "The Supreme Court said so in 2019Da12345.",
    "Mr. Johnson said so.", "It was Peter Novak who signed.", "It was signed by Kowalski.", "Thompson signed it.",
    "The offer came from Dr. Emily Stone.",
    "Then the Witness Samuel Baker saw it.", "Then Manager Baker signed it.", "Then Judge Robinson decided.",
    "Globex Corp witnessed it.", "Then the Tenant Novak left.", "They met O'Brien.", "Then Clement paid.",
    "They agreed on Jan. 5, 2024.", "They agreed on 6 Sept. 2023.", "They agreed on Feb. 7.",
    "The price is won 7,000,000.", "A sum of 7 million is due.", "Twenty thousand dollars was paid.",
    "The price is one hundred and fifty thousand won.",
]  # fmt: skip
NOT_MADE_UP_EN = [
    "They agreed on 3/5/2024.", "They agreed on 05.03.2024.", "They met 24/7.", "Part 1/2 is missing.",
    "They agreed on March 5, 2024.", "They agreed on 5 March 2024.", "They agreed on 2024-03-05.",
    "They agreed in 2024.", "They agreed in March 2024.", "The price is $5,000.", "The price is 5,000 dollars.",
    "The price is USD 5 thousand.", "It follows from Civil Act Article 563.", "Article 563 applies.",
    "Ms. Rivera said so.", "It was Rivera who signed.", "Delivery was late.", "The Supreme Court of Korea decides.",
    "The Plaintiff and the Defendant met on Monday.", "The Presiding Judge asked.", "In May it may rain.",
    "It took 3 weeks.", "He may march on.", "A list: Documents first.", "The Civil Act applies.", "This is No-Go.",
    "The buyer owns 30% of it.", "We rely on E1.", "It was March.", "An HTTP log and a PDF exist.",
    "Was it signed by Kowalski?", "Did they agree on March 6, 2024?",
    "The Landlord kept the Deposit.", "By then the Tenant had left.", "So the Buyer must prove delivery.",
    "Here the Police came.", "It is for the Jury to say.", "The Tribunal and the Accused differ.",
    "Thus the Insurer and the Guarantors paid.", "Under the Lease nothing was due.", "It concerns Real Estate.",
    "This is due to Force Majeure.", "The so-called Good Faith duty applies.", "In Japanese law it is so.",
    "Under the Labor Standards Act it may be void.", "The Agreement's Termination Clause is unclear.",
    "They signed a Non-Disclosure Agreement.", "By KakaoTalk the parties agreed.", "It was in Jan. and later.",
    "They agreed on Mar. 5, 2024.", "They agreed on 5 Mar 2024.", "They met Ms. Rivera.", "They met Mr. Rivera.",
    "A sum of 5,000 is due.", "7 million users saw it.", "The two won.", "Five thousand dollars is due.",
    "He won 3 cases.",
]  # fmt: skip


@pytest.mark.parametrize("sentence", MADE_UP_EN)
def test_what_nobody_supplied_is_made_up_in_english(confirmed_en: Any, sentence: str) -> None:
    assert checks(confirmed_en, said(sentence)) == {"unsupported_fact"}


@pytest.mark.parametrize("sentence", NOT_MADE_UP_EN)
def test_what_was_supplied_and_what_only_looks_alike_is_not_in_english(confirmed_en: Any, sentence: str) -> None:
    assert checks(confirmed_en, said(sentence)) == set()


def test_a_made_up_fact_is_reported_with_its_sentence(confirmed: Any) -> None:
    (hit,) = guardrails.inspect(confirmed, said("물품이 왔다. 대금은 600만원이다. 끝.", ["F1"])).hits
    assert (hit.check, hit.field, hit.text) == ("unsupported_fact", "Claims", "대금은 600만원이다.")


def test_a_plan_of_proof_names_evidence_there_is(confirmed: Any) -> None:
    def plan(evidence: str) -> dict[str, Any]:
        return {"EvidencePlan": [{"evidence": evidence, "purpose": "인도를 보인다"}]}

    assert checks(confirmed, plan("E1")) == set()
    assert checks(confirmed, plan("E9")) == checks(confirmed, plan("F1")) == {"unsupported_fact"}


def test_a_plan_of_proof_tells_no_fact_of_its_own(confirmed: Any) -> None:
    def hits(purpose: str) -> list[str]:
        output = {"EvidencePlan": [{"evidence": "E1", "purpose": purpose}]}
        return [hit.text for hit in guardrails.inspect(confirmed, output).hits]

    assert hits("인도를 보인다. 박영희 씨가 600만원을 받았다.") == ["박영희 씨가 600만원을 받았다."]
    assert hits("박영희 씨가 받았는지를 보일 수 있는가?") == hits("500만원이라는 대금을 보인다.") == []


def test_a_range_and_next_steps_lean_on_no_made_up_law(confirmed: Any) -> None:
    assert checks(confirmed, {"DecisionRange": "민법 제750조에 따라 달라진다."}) == {"unsupported_fact"}
    assert checks(confirmed, {"DecisionRange": "300만원에서 400만원 사이일 수 있다."}) == set()
    assert checks(confirmed, {"RecommendedNextSteps": ["2019다12345 판결을 찾아본다."]}) == {"unsupported_fact"}
    assert checks(confirmed, {"RecommendedNextSteps": ["2030년 1월 1일까지 자료를 모은다."]}) == set()


def test_what_a_verifier_lists_as_unsupported_is_not_a_claim_of_its_own(confirmed: Any) -> None:
    listed = {
        "UnsupportedClaims": ["2019다12345 판결로 반드시 승소한다는 주장"],
        "MissingEvidence": ["2023년 1월 2일의 기록"],
    }
    assert checks(confirmed, listed) == set()


def test_lists_that_the_person_typed_count_as_supplied(session: Any) -> None:
    session.to("round1").form("round1", focus_issues=["민법 제750조의 책임"])
    session.to("round2").form("round2", obtainable_evidence=["박영희 씨의 진술"], constraints=["600만원까지"])
    claim = said("민법 제750조에 따라 박영희 씨가 600만원을 냈다.", ["E1"], "민법 제750조의 책임")
    found = guardrails.inspect(session.state, claim)
    assert (found.hits, found.unverified) == ((), ())


def test_an_issue_of_the_judge_that_the_person_picks_supplies_no_law(session: Any) -> None:
    session.to("JUDGE_R1").spoken(Issues=["민법 제750조의 책임"]).to("round1")
    session.form("round1", focus_issues=["민법 제750조의 책임"])
    found = guardrails.inspect(session.state, said("민법 제750조에 따른다.", ["E1"], "민법 제750조의 책임"))
    assert (found.hits, found.unverified) == ((), ("민법 제750조",))


def test_answers_and_corrections_count_as_supplied(session: Any) -> None:
    session.to("round1").form("round1", fact_corrections="박영희 씨가 2023년 1월 2일 600만원을 냈다.")
    state = session.state
    assert "unsupported_fact" not in checks(state, said("박영희 씨가 2023년 1월 2일 600만원을 냈다.", ["E1"]))


def test_hangul_in_parts_is_the_same_hangul(session: Any) -> None:
    def parts(text: str) -> str:
        return unicodedata.normalize("NFD", text)

    session.facts(overview=parts("박영희 씨가 2023년 1월 2일 육백만 원을 냈다.")).to("round1")
    session.form("round1", focus_issues=[parts("대금 지급 의무")])
    claim = {"text": "박영희 씨가 2023년 1월 2일 600만원을 냈다.", "basis": ["E1"], "issue": "대금 지급 의무"}
    promised = {"text": parts("반드시 승소한다."), "basis": ["E1"], "issue": parts("대금 지급 의무")}
    session.spoken(CounterArguments=[claim, promised]).then(like(GuardrailHit), like(DraftSetAside))
    (hit,) = session.state.draft_hits
    assert (hit.check, hit.text) == ("certain_advice", "반드시 승소한다.")


# 2. Certain advice


PROMISES = [
    "이 사건은 반드시 승소한다.", "확실히 유죄이다.", "틀림없이 기각될 것이다.", "무조건 승소합니다.",
    "승소 가능성은 100%이다.", "100% 무죄입니다.", "책임은 100퍼센트 인정됩니다.", "피고의 책임이 확실히 인정된다.",
    "상대방은 반드시 패소할 것이다.", "We will certainly win.", "The defendant is definitely liable.",
    "A win is guaranteed.", "He is undoubtedly guilty.", "You will win 100%.",
    "Without doubt the claim will be dismissed.", "Without a doubt she will be acquitted.",
    "Liability is 100% certain.", "The motion will DEFINITELY be granted.", "They will definitely lose.",
    "He will certainly be convicted.", "We definitely won the case.",
    "The note is not signed and it will certainly lose.", "He is not rich and will certainly lose.",
    "He did not pay so he is definitely liable.", "He who did not appear will definitely lose.",
    "No rent paid means he is definitely liable.", "There is no doubt that we will certainly win.",
    "We will not only argue but definitely win.",
]  # fmt: skip
WORDS = [
    "반드시 확인 필요.", "원본을 확실히 보관한다.", "무조건 보존해야 한다.", "반드시 무죄추정의 원칙을 지켜야 한다.",
    "입증책임을 반드시 따져야 한다.", "책임자를 반드시 확인한다.", "Certainly check the originals.",
    "Definitely keep the window open.", "The records are guaranteed to be kept.",
    "The 5,000,000 won was definitely paid.", "The sum is certainly 5 million won.", "Certainly it was paid in won.",
]  # fmt: skip
NO_PROMISES = [
    "반드시 승소하는 것은 아니다.", "무조건 승소한다고 할 수 없다.", "확실히 유죄라고 단정할 수 없다.",
    "100% 승소를 보장하지 않는다.", "틀림없이 인정된다고 보기 어렵다.", '상대방은 "반드시 승소한다"고 말했다.',
    "‘무조건 승소’라는 표현은 피한다.", "지분 100%를 가진 회사에 책임이 있다.", "승소할 수 있다.",
    "유죄가 인정될 수도 있다.", "결과는 불확실히 남아 유죄일 수 있다.", "There is no guaranteed win.",
    "He is not certainly guilty.", "A win cannot be guaranteed.", "Nothing is guaranteed to be granted.",
    'The other side says "we will definitely win".', "It owns 100% of the shares and may be liable.",
    "The claim may be dismissed.", "They might win.", "It isn't guaranteed that they win.",
    "I would not go so far as to say that the claim will definitely win.", "We cannot promise a guaranteed win.",
    "It does not follow that he is definitely liable.", "No one can say that he will certainly win.",
    "The claim is not legally guaranteed to win.", "Nobody can definitely say that we win.",
]  # fmt: skip


@pytest.mark.parametrize("sentence", PROMISES)
def test_an_outcome_promised_is_a_hit(confirmed: Any, sentence: str) -> None:
    assert checks(confirmed, said(sentence)) == {"certain_advice"}


@pytest.mark.parametrize("sentence", WORDS)
def test_certainty_alone_is_a_warning(confirmed: Any, sentence: str) -> None:
    found = guardrails.inspect(confirmed, said(sentence))
    assert found.hits == ()
    assert [(hit.check, hit.text) for hit in found.warnings] == [("certain_advice", sentence)]


@pytest.mark.parametrize("sentence", NO_PROMISES)
def test_quoted_negated_or_merely_possible_is_neither(confirmed: Any, sentence: str) -> None:
    found = guardrails.inspect(confirmed, said(sentence))
    assert (found.hits, found.warnings) == ((), ())


def test_certainty_and_outcome_meet_in_one_sentence_only(confirmed: Any) -> None:
    found = guardrails.inspect(confirmed, said("원본을 반드시 확인한다. 승소할 수도 있다."))
    assert found.hits == ()
    assert len(found.warnings) == 1


# 3. Focus


def test_before_the_first_gate_nothing_is_out_of_focus(confirmed: Any) -> None:
    assert checks(confirmed, {**said("다르다.", issue="아무 쟁점"), "Issues": ["아무 쟁점"]}) == set()


@pytest.mark.parametrize(
    ("issue", "hit"),
    [("대금 지급 의무", False), (" 대금  지급 의무 ", False), ("하자", True), (None, True), ("", True)],
)
def test_once_set_every_statement_keeps_to_the_focus(focused: Any, issue: str | None, hit: bool) -> None:
    assert checks(focused, said("다르다.", issue=issue)) == ({"out_of_focus"} if hit else set())


def test_the_judges_issues_keep_to_the_focus(focused: Any) -> None:
    (hit,) = guardrails.inspect(focused, {"Issues": ["대금 지급 의무", "하자"]}).hits
    assert (hit.check, hit.field, hit.text) == ("out_of_focus", "Issues", "하자")


# 4. Exclusions


PERSONAL = [
    "주민번호는 900101-1234567이다.", "주민번호는 9001011234567 입니다.", "번호는 900101-1****** 이다.",
    "전화는 010-1234-5678이다.", "전화는 01012345678 입니다.", "전화는 02-123-4567이다.",
    "전화는 +82-10-1234-5678이다.", "메일은 kim@example.com이다.", "계좌 110-123-456789로 보냈다.",
    "국민은행 123456-04-123456로 보냈다.", "계좌번호 12345678901 로 보냈다.", "Call 010 1234 5678.",
    "Write to a.b+c@mail.example.co.kr.", "Pay to account no. 1234567890.", "Call (555) 123-4567.",
    "전화는 0212345678이다.", "IBAN DE89370400440532013000.", "IBAN GB29 NWBK 6016 1331 9268 19.",
    "GameSummary 4111-1111-1111-1111.", "GameSummary 4111 1111 1111 1111.", "카드는 4111111111111111이다.",
]  # fmt: skip
NOT_PERSONAL = [
    "2019다12345 사건인가?", "2024-03-05에 인도했다.", "금액은 5,000,000원인가?",
    "법인등록번호는 110111-1234567이다.", "사업자등록번호 123-45-67890이다.", "문서번호 2024-001이다.",
    "운송장 1234-5678이다.", "20240305 기준이다.", "팀 @구매 에 물었다.", "비율은 3-2-1이다.",
    "Version 1.2.3 was used.", "Ratio 10-20-30.", "운송장번호 4111111111111111이다.", "DE 2024 report",
    "Tracking number 4111111111111111.", "Serial 2024030512345678.", "0.21234567 of it", "비율은 021이다.",
]  # fmt: skip
OFFENSIVE = [
    "그 개새끼가 그랬다.",
    "병신 같은 주장이다.",
    "이 시발 같은 계약.",
    "멍청한 주장이다.",
    "What an idiot.",
    "This is BULLSHIT.",
    "a stupid claim",
    "fucking nonsense",
]
NOT_OFFENSIVE = [
    "이 일이 분쟁의 시발점이다.", "시발역에서 만났다.", "등신대 인형이다.", "새끼손가락을 다쳤다.",
    "병신년의 일이다.", "The scumble is dry.", "Scunthorpe is a town.",
    "He retarded the process? No, the fire retardant did.", "Shiitake were sold.", "The bastardised text.",
]  # fmt: skip


@pytest.mark.parametrize("sentence", PERSONAL + OFFENSIVE)
def test_personal_data_and_offensive_words_are_excluded(confirmed: Any, sentence: str) -> None:
    assert "exclusion" in checks(confirmed, {"MissingEvidence": [sentence]})


@pytest.mark.parametrize("sentence", [*NOT_PERSONAL, *(text for text in NOT_OFFENSIVE if "retarded" not in text)])
def test_what_only_looks_like_it_is_not(confirmed: Any, sentence: str) -> None:
    assert checks(confirmed, {"MissingEvidence": [sentence]}) == set()


COUNSEL = [
    "외부 변호사를 선임하세요.", "외부 자문을 받는 것이 좋다.", "법무법인에 의뢰한다.", "변호사를 선임한다.",
    "로펌과 상담한다.", "Retain outside counsel.", "Hire a law firm.", "Consult an attorney.",
    "Seek external legal advice.", "Engage a lawyer.",
]  # fmt: skip
NO_COUNSEL = [
    "외부 자문 없이 진행한다.", "외부 변호사를 선임하지 않는다.", "상대방 변호사가 말했다.", "변호인이 주장했다.",
    "외부 회계 자료를 본다.", "사내 변호사가 검토한다.", "Proceed without outside counsel.", "Do not hire a lawyer.",
    "Opposing counsel said so.", "In-house counsel reviews it.", "The lawyer of the other side wrote.",
]  # fmt: skip


@pytest.fixture
def alone(session: Any) -> Any:
    """A session whose person allows no counsel from outside."""
    return session.to("round2").form("round2", constraints=["no_outside_counsel"]).state


@pytest.mark.parametrize("sentence", COUNSEL)
def test_under_no_outside_counsel_none_is_recommended(alone: Any, confirmed: Any, sentence: str) -> None:
    assert checks(alone, {"RecommendedNextSteps": [sentence]}) == {"exclusion"}
    assert checks(confirmed, {"RecommendedNextSteps": [sentence]}) == set()


@pytest.mark.parametrize("sentence", NO_COUNSEL)
def test_to_go_without_is_not_a_recommendation(alone: Any, sentence: str) -> None:
    assert checks(alone, {"RecommendedNextSteps": [sentence]}) == set()


@pytest.mark.parametrize(
    ("exclusion", "sentence", "hit"),
    [
        ("이혼 경력", "원고의 이혼  경력이 문제된다.", True),
        ("이혼 경력", "원고의 경력이 문제된다.", False),
        ("tax", "The TAX return is missing.", True),
        ("tax", "The syntax is wrong.", False),
        ("c++", "Written in C++.", True),
        ("개인정보", "개인정보 보호 절차를 확인한다.", False),
        ("공격적 표현", "공격적 표현은 없었다.", False),
        ("외부자문", "외부 변호사를 선임하세요.", True),
    ],
)
def test_what_the_person_excluded_is_left_out(sessions: Any, exclusion: str, sentence: str, hit: bool) -> None:
    state = sessions(exclusions=[exclusion]).to("JUDGE_R1").state
    assert checks(state, {"MissingEvidence": [sentence]}) == ({"exclusion"} if hit else set())


# Citations


@pytest.mark.parametrize(
    ("text", "unverified"),
    [
        ("E1", False), ("E1 인수증", False), ("F2", False), ("E9", True), ("민법 제563조", False), ("계약서", False),
        ("민법 제750조", True), ("대법원 2019다12345", True), ("E1, 민법 제750조", True), ("사내 보안 규정", True),
    ],
)  # fmt: skip
def test_a_citation_nobody_supplied_is_unverified(confirmed: Any, text: str, unverified: bool) -> None:
    found = guardrails.inspect(confirmed, {"Citations": [text]})
    assert found.citations == (Citation(text=text, unverified=unverified),)
    assert found.hits == ()


def test_no_citation_is_none(confirmed: Any) -> None:
    assert guardrails.inspect(confirmed, {"Citations": "No citation"}).citations == ()
    assert guardrails.inspect(confirmed, said("그렇다.")).citations is None


def test_unverified_law_is_named_wherever_it_stands(confirmed: Any) -> None:
    output = {
        **said("민법 제750조와 제563조가 문제된다."),
        "Issues": ["2019다12345 판결의 적용"],
        "Citations": ["민법 제750조"],
    }
    assert guardrails.inspect(confirmed, output).unverified == ("민법 제750조", "2019다12345")


def test_law_that_only_the_model_words_into_a_fact_is_nobodys(session: Any) -> None:
    fact = {"text": "인수증은 민법 제750조를 인용한다.", "quote": "물품을 받았다는 서명", "evidence": ["E1"]}
    session.facts().spoken({"ConfirmedFacts": [fact], "DisputedFacts": [], "MissingFactsQuestions": []})
    found = guardrails.inspect(session.state, {**said("민법 제750조에 따른다.", ["F1"]), "Citations": ["민법 제750조"]})
    assert {hit.check for hit in found.hits} == {"unsupported_fact"}
    assert found.unverified == ("민법 제750조",)
    assert found.citations == (Citation(text="민법 제750조", unverified=True),)


# Parts


def test_the_order_of_the_checks_is_the_pages(focused: Any) -> None:
    output = said("이 멍청한 사건은 반드시 승소한다.", ["F9"], "하자")
    assert [hit.check for hit in guardrails.inspect(focused, output).hits] == [
        "unsupported_fact", "certain_advice", "out_of_focus", "exclusion",
    ]  # fmt: skip


def test_one_fault_a_thousand_times_is_bounded(confirmed: Any) -> None:
    output = {"Claims": [{"text": f"대금은 {n},000,000원이다.", "basis": [], "issue": None} for n in range(10, 1000)]}
    found = guardrails.inspect(confirmed, output)
    assert len(found.hits) == guardrails.MOST_HITS


@pytest.mark.parametrize(
    "unit",
    ["1", "1,", "1/", "이천", "이만 ", "가", "제1조 ", "1억", "A ", "A", "1-", "1. ", "a@", "1년", "“", "반드시 "],
)
def test_no_text_makes_a_check_slow(confirmed: Any, unit: str) -> None:
    started = time.process_time()
    guardrails.inspect(confirmed, said(unit * (16_000 // len(unit)), ["F1"]))
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("하나. 둘! 셋?", ["하나.", "둘!", "셋?"]),
        ("2024. 3. 5.에 인도했다. 끝.", ["2024. 3. 5.에 인도했다.", "끝."]),
        ("Mr. Kim came. He left.", ["Mr. Kim came.", "He left."]),
        ("첫 줄\n둘째 줄", ["첫 줄", "둘째 줄"]),
        ("  ", []),
        ("가격은 3.5배이다.", ["가격은 3.5배이다."]),
        ("Paid on Jan. 5, 2024. He left.", ["Paid on Jan. 5, 2024.", "He left."]),
        ("It was in Jan. He left.", ["It was in Jan.", "He left."]),
    ],
)
def test_sentences(text: str, split: list[str]) -> None:
    assert sentences(text) == split


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("보증금 1억5천을 돌려받지 못했다.", [("150000000", "KRW")]),
        ("3백50만 원과 5천 3백만 원을 냈다.", [("3500000", "KRW"), ("53000000", "KRW")]),
        ("2만 원과 12억 3,400만 5천원을 냈다.", [("20000", "KRW"), ("1234005000", "KRW")]),
        ("3千5百万元已付，另付人民币叁万伍仟元整。", [("35000000", "CNY"), ("35000", "CNY")]),
        ("总价为RMB 45,000，违约金20万。", [("45000", "CNY"), ("200000", "CNY")]),
        ("HK$8,000 is not $8,000.", [("8000", "HKD"), ("8000", "USD")]),
        ("€3.500,00 was paid.", [("3500", "EUR")]),
        ("Half a million Canadian dollars were lost.", [("500000", "CAD")]),
        (
            "Sections 12, 13(2) and 15 of the Sale of Goods Act apply.",
            [("sale of goods act", str(n)) for n in (12, 13, 15)],
        ),
        ("Sections 12 and 13 of the agreement apply.", []),
        ("Section 12 and 13 witnesses say so.", [("", "12")]),
        ("依据《刑法》第264、266条定罪。", [("刑法", "264"), ("刑法", "266")]),
        ("42 U.S.C. § 1983 and UCC § 2-314 apply.", [("42usc", "1983"), ("ucc", "2-314")]),
        ("만 오천 원과 오천 달러를 냈다.", [("15000", "KRW"), ("5000", "USD")]),
        ("만원 버스에서 만난 두 사람이다.", []),
        ("他借了十五万，付了EUR 3 200。", [("150000", "CNY"), ("3200", "EUR")]),
        ("They settled for a quarter of a million dollars.", [("250000", "USD")]),
        ("The deed of the 14th day of March, 2019 was lost in late May.", [("2019", "3", "14"), ("0", "5", "0")]),
        ("4월 초에 이사했고 3개월 말미를 두었다.", [("0", "4", "0")]),
        ("Caparo Industries plc v Dickman sets the test.", [("plc v dickman",)]),
        ("2023. 5. 초에 만나 23년 6월 1일에 서명했다.", [("2023", "6", "1"), ("2023", "5", "0")]),
        ("징역 10년 6월을 구형했다.", []),
        ("It was signed on 12-May-2023 and ended in late 2024.", [("2023", "5", "12"), ("2024", "0", "0")]),
    ],
)
def test_every_particular_of_a_sentence_is_read_with_its_value(sentence: str, values: list[tuple[str, ...]]) -> None:
    assert sorted(found.key for found in particulars(sentence)) == sorted(values)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2024년 3월 5일", "March 5, 2024"), ("2024-3-5", "5th of March 2024"), ("12/31/2019", "31.12.2019"),
        ("3억 5천만 원", "350,000,000원"), ("삼억 오천이십만원", "350,200,000원"),
        ("₩1,000", "1,000 won"), ("$5 million", "5,000,000 dollars"), ("제750조", "Article 750"),
        ("Sept. 3, 2023", "September 3, 2023"), ("3 Sep 2023", "2023-09-03"), ("won 7,000,000", "7 million won"),
        ("twenty-five thousand dollars", "$25,000"), ("a million and two hundred thousand won", "1,200,000 won"),
        ("2019다12345", "2019 다 12345"), ("22. 3. 4.에 받았다.", "2022년 3월 4일"), ("23.04.11.", "2023-04-11"),
        ("In Hadley v Baxendale the loss was remote.", "Hadley v. Baxendale"),
        ("Carlill v Carbolic Ball", "Carlill v. Carbolic"),
        ("港币3万元", "3万港元"), ("3만 스위스 프랑", "CHF 30,000"), ("₹50,000", "50,000 rupees"),
        ("s. 12 of the Sale of Goods Act", "Section 12 of the Sale of Goods Act"),
    ],
)  # fmt: skip
def test_spelling_does_not_matter(one: str, other: str) -> None:
    assert [found.key for found in particulars(one)] == [found.key for found in particulars(other)] != []


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("The court will undoubtedly rule in our favour.", "promise"), ("Success is assured.", "promise"),
        ("The claim is bound to fail.", "promise"), ("The tenant is bound to pay and liable for rent.", None),
        ("There is no way the claim can fail.", "promise"), ("Whether the claim will certainly succeed is open.", None),
        ("절대 패소하지 않습니다.", "promise"), ("패소할 리가 없다.", "promise"),
        ("청구는 당연히 기각된다.", "promise"),
        ("책임이 당연히 인정되는 것은 아니다.", None), ("승소하려면 반드시 증거가 필요하다.", "word"),
        ("승소할 수밖에 없는 사건이다.", "promise"), ("The court is certain to grant the claim.", "promise"),
        ("百分之百胜诉。", "promise"), ("毫无疑问原告会赢。", "promise"), ("被告必定败诉。", "promise"),
        ("未必胜诉。", None),
    ],
)  # fmt: skip
def test_certainty_has_many_words(sentence: str, verdict: str | None) -> None:
    assert guardrails.certainty(sentence) == verdict


@pytest.mark.parametrize(
    "sentence",
    [
        "법무법인에 사건을 의뢰할 것을 권고한다.", "Retain litigation counsel before the hearing.",
        "Speak to a solicitor before signing.", "Get a second opinion from an external firm.", "最好请一位律师代理。",
    ],
)  # fmt: skip
def test_counsel_is_recommended_in_many_words(sentence: str) -> None:
    assert guardrails.recommends_counsel(sentence)


@pytest.mark.parametrize(
    "sentence", ["电话：021-6234 5678。", "账号为6217000010012345678。", "주소는 홍길동@예시.한국이다."]
)
def test_personal_data_in_other_forms(sentence: str) -> None:
    assert personal(sentence)


def test_shares_and_penalties_in_chinese_are_no_estimate_of_an_outcome() -> None:
    assert guardrails.estimates("被告胜诉的概率为百分之八十。")
    assert not guardrails.estimates("被告持有60%的股份，应承担责任。")


@pytest.mark.parametrize("when", ["12.05.21", "12. 5. 21"])
def test_a_date_of_two_figures_by_itself_is_read_both_ways(when: str) -> None:
    assert particulars(when)[0].readings == (("2012", "5", "21"), ("2021", "5", "12"))


def test_the_parties_have_names() -> None:
    assert list(names("원고 박지훈이 피고 최민재에게 통지하였다.")) == ["박지훈", "최민재"]
    assert list(names("원고 손해금은 얼마인가. 피고 이사회는 결의하지 않았다.")) == []


def test_a_surname_with_something_for_the_given_name_is_a_name_in_chinese() -> None:
    assert list(names("被告李某称没有收到，陈某甲也没有。")) == ["李某", "陈某甲"]
    assert list(names("双方于某日在某公司见面，对方某员工签收。高级经理签字，方案由经理批准。")) == []


def test_a_surname_is_known_by_the_name_it_belongs_to(confirmed: Any) -> None:
    known = corpus.of(confirmed)
    assert known.names("김")
    assert not known.names("박")
    assert list(names("홍길동 씨와 이민준 과장이 왔다.")) == ["홍길동", "이민준"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
    ("그는 천오백을 송금했다.", "대금 1,500만 원이 송금되었다."),
    ("피해액 15억 3천만 원", "피해액은 15억대이다."),
    ("1억 2,000만 원을 편취", "1억여 원을 편취했다."),
    ("피해액 2억 3,000여만 원이다.", "피해액은 2억 3천만 원이다."),
    ("He borrowed 10k from her.", "He owes $10,000."),
    ("He paid $10,000.", "She lent him 10k."),
    ("损失三十五万元", "损失三十余万元。"),
    ("他收了两万五。", "他收到25000元。"),
    ("赔偿金30w。", "赔偿金三十万元。"),
    ("3万5千元", "货款35,000元"),
    ("Consumer Rights Act 2015, section 9", "The Consumer Rights Act 2015 applies."),
    ("the Civil Rights Act of 1964", "It breaches the Civil Rights Act of 1964."),
    ("Title VII of the Civil Rights Act", "He relies on Title VII."),
    ("Article 8 ECHR", "Article 8 of the European Convention on Human Rights"),
    ("Article 8 of the European Convention on Human Rights", "It rests on Article 8 of the ECHR."),
    ("민법 제750, 751조", "민법 제751조에 따른다."),
    ("GDPR Article 17", "Art. 17 GDPR applies."),
    ("the First Amendment to the lease", "The First Amendment was signed."),
    ("Rule 12(b)(6)", "Rule 12(b)(6) bars it."),
    ("section 29b", "Section 29B applies."),
    ("section 172 of the Companies Act 2006", "Companies Act 2006, s 172 applies."),
    ("filed for Chapter 11", "under Chapter 11 it stays"),
    ("근로기준법 제23조", "근기법 제23조 위반"),
    ("민법 제750조", "민법 §750에 따른다."),
    ("계약 체결: 2024년 3월 5일, 3억", "3억 원을 지급했다."),
    ("주택임대차보호법 제6조의3", "제6조의3 제1항 단서"),
    ("세금 500여만 원", "500여만 원을 냈다."),
    ("42 U.S.C. § 1983", "a § 1983 claim"),
    ("Fed. R. Civ. P. 12", "FRCP 12 bars it."),
    ("Section 230 of the Communications Decency Act", "Section 230 shields it."),
    ("Articles 6 and 8 ECHR", "Article 8 ECHR is engaged."),
    ("Schedule 2 to the Sale Act", "Schedule 2 of the Sale Act"),
    ("s.21 of the Housing Act 1988", "A section 21 notice was served."),
    ("29 C.F.R. 1604.11", "29 CFR § 1604.11"),
    ],
)  # fmt: skip
def test_another_spelling_of_what_was_supplied_is_supplied(given: str, sentence: str) -> None:
    assert list(guardrails.beyond(corpus.of_texts((given,)), sentence)) == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
    ("Article 5 of the Civil Act", "Article 5 ECHR was breached."),
    ("Title VI", "Title VII was breached"),
    ("15억", "피해액은 16억대이다."),
    ("Consumer Rights Act 2015", "The Consumer Rights Act 2016 applies."),
    ("10k", "He borrowed 11k from her."),
    ("section 29A", "Section 29B applies."),
    ("GDPR Article 17", "Article 17 ECHR applies."),
    ("제6조의2", "제6조의3 제1항 단서"),
    ("Rule 12", "Rule 13 bars it."),
    ("损失25万元", "损失三十余万元。"),
    ("Section 230", "Section 231 shields it."),
    ("20w", "赔偿30w。"),
    ],
)  # fmt: skip
def test_what_only_resembles_the_supplied_is_not(given: str, sentence: str) -> None:
    assert list(guardrails.beyond(corpus.of_texts((given,)), sentence)) != []
