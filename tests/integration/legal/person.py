"""A person with a legal session, over HTTP, and a model that answers in every role."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Self

import httpx

from core.tests.llm.fake_server import Canned, ReceivedRequest, reply
from tests.integration.contract import judged

BASIS = {"basis": ["F1"], "issue": None}
LEASE: dict[str, Any] = {
    "overview": "A dispute about the return of a deposit.",
    "acts": "The tenant moved out; the deposit was not returned.",
    "timeline": [{"when": "spring", "what": "the lease was signed", "agreed": True}],
    "evidence": [{"title": "lease", "description": "the signed lease"}],
    "opposing_claims": "the flat was left damaged",
}


def said(text: str, issue: str | None = None) -> dict[str, Any]:
    return {"text": text, "basis": ["F1"], "issue": issue}


def in_role(phase: str, case_type: str, issue: str | None, gate: str = "Go") -> dict[str, Any]:
    """An answer that matches the schema of a phase."""
    role = phase.partition("_")[0]
    output: dict[str, Any]
    if phase == "FACTS_STIPULATE":
        return {
            "ConfirmedFacts": [{"text": "the lease was signed", "evidence": ["E1"], "timeline": ["T1"]}],
            "DisputedFacts": [{"text": "the flat was left damaged"}],
            "MissingFactsQuestions": [],
        }
    if role == "JUDGE":
        opening = phase == "JUDGE_R1"
        output = {
            "Issues": ["deposit"] if issue is None else [issue],
            "Findings": [said("the lease was signed", issue)],
            "BurdenOfProof": [said("the claimant bears it", issue)],
            "DecisionRange": "reserved" if opening else "partly for either side, depending on the damage",
            "RecommendedNextSteps": [] if opening else ["collect the handover record"],
            "Citations": ["E1"],
        }
    elif role == "CLAIMANT":
        output = {
            "Claims": [said("the deposit is due", issue)],
            "LegalElements": [said("a lease was signed", issue)],
            "EvidencePlan": [{"evidence": "E1", "purpose": "shows the lease"}],
            "WeakPoints": [said("the state of the flat is open", issue)],
        }
    elif role == "OPPOSING":
        output = {
            "CounterArguments": [said("the flat was left damaged", issue)],
            "DisproofPlan": [said("ask for the handover record", issue)],
            "ProceduralRisks": [said("the claim may be late", issue)],
        }
        if case_type == "civil":
            output["SettlementOptions"] = [said("return half", issue), said("return by instalments", issue)]
    else:
        doubts = gate != "Go"
        output = {
            "GateStatus": gate,
            "SteeringCompliance": "OK",
            "UnsupportedClaims": ["the damage"] if doubts else [],
            "MissingEvidence": ["handover record"] if doubts else [],
            "NextRoundFocus": ["the damage"],
        }
    return {**output, "SteeringComplianceCheck": "OK"}


class Roles:
    """Plays every role. `changes` maps a turn's name to a text that replaces its first answer."""

    def __init__(self, case_type: str = "civil", focus: str = "deposit", gates: dict[str, str] | None = None) -> None:
        self.case_type = case_type
        self.focus = focus
        self.gates = gates or {}
        self.first: dict[str, list[Canned]] = {}

    def __call__(self, asked: ReceivedRequest) -> Canned:
        _, turn, _ = asked.turn.split(" ")
        if self.first.get(turn):
            return self.first[turn].pop(0)
        issue = None if turn.endswith(("_R1", "STIPULATE")) else self.focus
        return reply(json.dumps(in_role(turn, self.case_type, issue, self.gates.get(turn, "Go"))))


class Person:
    """A person with a key and a session."""

    def __init__(self, gateway: str) -> None:
        self.client = httpx.AsyncClient(base_url=gateway, timeout=40, event_hooks=judged())
        self.headers: dict[str, str] = {}
        self.session = ""

    async def __aenter__(self) -> Self:
        registered = await self.post("/api/agents", {"name": "counsel"})
        self.headers = {"Authorization": f"Bearer {registered.json()['api_key']}"}
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Post, and repeat the call while a part of the platform restarts."""
        for _ in range(120):
            try:
                answer = await self.client.post(path, json={} if body is None else body, headers=self.headers | headers)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code != 503:
                return answer
            await asyncio.sleep(0.5)
        raise AssertionError(f"{path} never answered")

    async def get(self, path: str) -> httpx.Response:
        for _ in range(120):
            try:
                answer = await self.client.get(path, headers=self.headers)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code != 503:
                return answer
            await asyncio.sleep(0.5)
        raise AssertionError(f"{path} never answered")

    async def open(self, case_type: str = "civil", model: str = "scripted", **fields: Any) -> dict[str, Any]:
        body = {"case_type": case_type, "jurisdiction": "KR", "title": "Deposit", "language": "en", "model": model}
        opened = await self.post("/api/sessions", body | fields)
        assert opened.status_code == 201, opened.text
        self.session = opened.json()["id"]
        return dict(opened.json())

    async def tell(self, facts: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self.post(f"/api/sessions/{self.session}/facts", facts or LEASE)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def steer(self, **form: Any) -> httpx.Response:
        return await self.post(f"/api/sessions/{self.session}/steering", form)

    async def now(self) -> dict[str, Any]:
        answer = await self.get(f"/api/sessions/{self.session}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def until(self, ready: Callable[[dict[str, Any]], Any], seconds: float = 120) -> dict[str, Any]:
        async with asyncio.timeout(seconds):
            while not ready(session := await self.now()):
                await asyncio.sleep(0.1)
        return session

    async def gate(self, name: str) -> dict[str, Any]:
        """Wait for a gate; fail if a turn fails before it."""

        def there(session: dict[str, Any]) -> Any:
            assert session["failed"] is None, session["failed"]
            return session["gate"] and session["gate"]["name"] == name

        return await self.until(there)

    async def argue(self, case_type: str = "civil", focus: str = "deposit") -> dict[str, Any]:
        """Answer the gates of rounds 1 and 2, up to the end gate."""
        await self.gate("round1")
        first = await self.steer(**round1(focus))
        assert first.status_code == 200, first.text
        await self.gate("round2")
        second = await self.steer(**round2(case_type))
        assert second.status_code == 200, second.text
        return await self.gate("end")

    async def finish(self) -> dict[str, Any]:
        answer = await self.steer(gate="end", resolution="final_report", report_style="risk")
        assert answer.status_code == 200, answer.text
        return dict((await self.get(f"/api/sessions/{self.session}/report")).json())


def round1(focus: str = "deposit") -> dict[str, Any]:
    return {"gate": "round1", "focus_issues": [focus], "goal": "risk_minimization", "stance": "neutral"}


def round2(case_type: str = "civil") -> dict[str, Any]:
    form: dict[str, Any] = {
        "gate": "round2", "proof_priority": "the handover", "evidence_level": "moderate",
        "obtainable_evidence": ["the handover record"], "constraints": ["budget_cap"],
    }  # fmt: skip
    return form | ({"settlement_interest": False} if case_type == "civil" else {})
