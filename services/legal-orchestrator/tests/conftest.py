"""A legal session in a test: given forms and answers, when a person or a worker acts, then these events."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from playmolt_core.game.decider import Accepted
from playmolt_legal import commands, effects
from playmolt_legal.roles import scripted
from playmolt_legal.rules import Legal
from playmolt_legal.state import State
from playmolt_schemas.stored.legal import SessionOpened
from typing_extensions import override

from core.tests.effect_scenario import EffectScenario
from core.tests.scenario import like

OWNER = "agent-1"
ISSUES = {"ko": "대금 지급 의무", "en": "duty to pay", "zh": "付款义务"}
FACTS: Mapping[str, dict[str, Any]] = {
    "ko": {
        "overview": "김철수 대표는 2024년 3월 5일 물품 대금 500만원을 받지 못했다고 한다.",
        "acts": "물품을 보냈으나 대금이 오지 않았다.",
        "timeline": [
            {"when": "2024-03-05", "what": "물품을 인도했다", "agreed": True},
            {"when": "2024-04-01", "what": "대금을 독촉했다"},
        ],
        "evidence": [
            {"title": "인수증", "description": "물품을 받았다는 서명이 있다"},
            {"title": "계약서", "description": "대금은 500만원이며 민법 제563조를 인용한다"},
        ],
        "opposing_claims": "물품에 하자가 있었다.",
    },
    "en": {
        "overview": "Ms. Rivera says that goods worth $5,000, delivered on March 5, 2024, were never paid for.",
        "acts": "The goods were sent; the money did not come.",
        "timeline": [
            {"when": "2024-03-05", "what": "the goods were delivered", "agreed": True},
            {"when": "2024-04-01", "what": "a reminder was sent"},
        ],
        "evidence": [
            {"title": "receipt", "description": "signed for the goods"},
            {"title": "contract", "description": "the price is $5,000; it names Civil Act Article 563"},
        ],
        "opposing_claims": "The goods were faulty.",
    },
    "zh": {
        "overview": "张伟先生称，2024年3月5日交付的货物价款5,000元至今没有支付。",
        "acts": "货物已经发出，价款没有到账。",
        "timeline": [
            {"when": "2024-03-05", "what": "货物已经交付", "agreed": True},
            {"when": "2024-04-01", "what": "发出了催款通知"},
        ],
        "evidence": [
            {"title": "收货单", "description": "有收到货物的签字"},
            {"title": "买卖合同", "description": "价款为5,000元，并引用《民法典》第五百七十七条"},
        ],
        "opposing_claims": "货物有瑕疵。",
    },
}


def forms(language: str = "ko", case_type: str = "civil") -> dict[str, dict[str, Any]]:
    """A valid form for every gate."""
    round2: dict[str, Any] = {
        "gate": "round2",
        "proof_priority": "인도 사실",
        "evidence_level": "moderate",
        "obtainable_evidence": ["메일 기록"],
        "constraints": ["budget_cap"],
    }
    if case_type == "civil":
        round2 |= {"settlement_interest": True, "concession_range": "절반까지"}
    return {
        "facts": {"gate": "facts", "choice": "proceed_unclear"},
        "round1": {"gate": "round1", "focus_issues": [ISSUES[language]], "goal": "win_likelihood", "stance": "neutral"},
        "round2": round2,
        "end": {"gate": "end", "resolution": "final_report", "report_style": "risk"},
    }


class LegalSession(EffectScenario[State]):
    """One session. By default, its person submits valid forms and its models play a character."""

    def __init__(
        self,
        *,
        case_type: str = "civil",
        language: str = "ko",
        profile: str = "plain",
        opened: bool = True,
        **body: Any,
    ) -> None:
        super().__init__(Legal())
        self.language, self.case_type, self.profile = language, case_type, profile
        self.body = {
            "case_type": case_type,
            "jurisdiction": {"ko": "대한민국", "en": "Korea", "zh": "中国"}[language],
            "title": {"ko": "물품 대금", "en": "Price of goods", "zh": "货款"}[language],
            "language": language,
            **body,
        }
        if opened:
            self.open(self.body).then(like(SessionOpened, owner=OWNER, case_type=case_type, language=language))

    def open(self, body: Any, aliases: tuple[str, ...] = ("scripted", "fast")) -> "LegalSession":
        return self.when(commands.OpenSession(agent_id=OWNER, name="Counsel", seed="7", body=body, aliases=aliases))

    def facts(self, agent: str = OWNER, **changes: Any) -> "LegalSession":
        return self.when(commands.PostFacts(agent_id=agent, body={**FACTS[self.language], **changes}))

    def form(self, gate: str, agent: str = OWNER, **changes: Any) -> "LegalSession":
        return self.send({**self.good_form(gate), **changes}, agent)

    def good_form(self, gate: str) -> dict[str, Any]:
        return forms(self.language, self.case_type)[gate]

    def send(self, body: Any, agent: str = OWNER) -> "LegalSession":
        return self.when(commands.PostForm(agent_id=agent, body=body, next_session="legal-2"))

    def spoken(self, output: Any = None, **changes: Any) -> "LegalSession":
        """Answer the pending turn as scripted, or with this output."""
        if output is None:
            profile: Any = self.profile
            output = scripted.answer(self.state, self.state.asked, profile=profile)
        return self.when(commands.TurnSpoken(effect_id=effects.effect_id(self.state), output={**output, **changes}))

    def failed(self, code: Any = "model_unavailable") -> "LegalSession":
        return self.when(
            commands.FailTurn(
                effect_id=effects.effect_id(self.state), code=code, detail="The model is away.", attempts=4
            )
        )

    def change(self, fact: str, agent: str = OWNER, **body: Any) -> "LegalSession":
        return self.when(commands.ChangeFact(agent_id=agent, fact_id=fact, body=body))

    def redo(self, body: Any = None, agent: str = OWNER) -> "LegalSession":
        return self.when(commands.Redo(agent_id=agent, body=body))

    def retry(self, agent: str = OWNER) -> "LegalSession":
        return self.when(commands.Retry(agent_id=agent))

    def to(self, phase: str, **changes: dict[str, Any]) -> "LegalSession":
        """Continue with valid answers and forms until a phase begins, or a gate of that name opens."""
        for _ in range(60):
            if phase in (self.state.phase, self.state.gate.gate if self.state.gate else None):
                return self
            self._step(changes)
        raise AssertionError(f"{phase} never came; the session is in {self.state.phase}")

    def _step(self, changes: Mapping[str, dict[str, Any]]) -> None:
        match self.state.waiting:
            case "intake":
                self.facts()
            case "model":
                self.spoken()
            case "person":
                assert self.state.gate
                answers = {item.id: "none" for item in self.state.gate.missing_evidence}
                given = {"missing_evidence_answers": answers} if answers else {}
                self.form(self.state.gate.gate, **{**given, **changes.get(self.state.gate.gate, {})})
            case waiting:
                raise AssertionError(f"nothing leads on from {self.state.phase}: {waiting}")
        assert isinstance(self.decision, Accepted), self.decision

    def status(self, value: Any, **changes: Any) -> "LegalSession":
        """Let the verifier give a status."""
        self.to(f"VERIFIER_R{self.state.round}")
        return self.spoken(GateStatus=value, **changes)

    @override
    def view(self, agent: str | None = OWNER) -> dict[str, Any]:
        return super().view(agent)

    @override
    def messages(self, agent: str | None = OWNER) -> list[dict[str, Any]]:
        return super().messages(agent)

    def phases(self) -> list[str]:
        """The turns and gates in the order in which they began."""
        return [
            message.get("phase") or f"gate:{message['gate']}"
            for message in self.messages()
            if message["type"] in ("turn_started", "gate_opened")
        ]

    def newest(self, kind: str) -> Any:
        return [event for event, _, _ in self.log if event.type == kind][-1]


@pytest.fixture
def sessions() -> Callable[..., LegalSession]:
    return LegalSession


@pytest.fixture
def session() -> LegalSession:
    return LegalSession()


@pytest.fixture(params=["ko", "en", "zh"])
def language(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=["criminal", "civil"])
def case_type(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name
