"""Answers without a model: a pure function of the session, the turn, a seed and a character."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

import msgspec
from playmolt_core.game import draws
from playmolt_schemas.games.legal import NO_CITATION, OPEN_QUESTIONS, UNKNOWN, Role
from playmolt_schemas.stored.legal import Language

from playmolt_legal import phases, texts
from playmolt_legal.guardrails import guardrails
from playmolt_legal.roles import points
from playmolt_legal.state import State

Profile = Literal["plain", "conditional", "no_go", "rash", "stubborn", "unsure"]
"""plain: all Go. conditional: the verifier says so each round. no_go: the verifier says so in round 2. rash: the
claimant promises an outcome and invents a fact, and corrects it when asked. stubborn: it does not correct it.
unsure: the facts leave many questions open until they are answered."""

PROFILES: Final[tuple[Profile, ...]] = ("plain", "conditional", "no_go", "rash", "stubborn", "unsure")
ALIASES: Final[Mapping[str, Profile]] = {
    "scripted" if profile == "plain" else f"scripted-{profile.replace('_', '-')}": profile for profile in PROFILES
}
"""The model aliases of the characters: `scripted`, `scripted-no-go` …"""
_FACT_CHARS: Final = 300
_QUOTE_CHARS: Final = 500


class Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the scripted roles say in one language; `{fact}` and the like are filled in."""

    issues: tuple[str, ...]
    issues_criminal: tuple[str, ...]
    evidence_fact: str
    agreed_fact: str
    disputed_claim: str
    ask_evidence: str
    ask_timeline: str
    ask_claims: str
    ask_more: tuple[str, ...]
    finding: tuple[str, ...]
    no_finding: tuple[str, ...]
    burden: tuple[str, ...]
    range: tuple[str, ...]
    steps: tuple[str, ...]
    estimate: str
    claim: tuple[str, ...]
    element: tuple[str, ...]
    purpose: tuple[str, ...]
    weak: tuple[str, ...]
    counter: tuple[str, ...]
    disproof: tuple[str, ...]
    procedural: tuple[str, ...]
    settlement: tuple[str, ...]
    unsupported: tuple[str, ...]
    missing: tuple[str, ...]
    focus: tuple[str, ...]
    rash: tuple[str, ...]


@cache
def _phrases() -> Mapping[Language, Phrases]:
    return msgspec.json.decode(texts.data("scripted.json"), type=dict[Language, Phrases])


def answer(state: State, phase: str, *, seed: str = "", profile: Profile = "plain") -> dict[str, Any]:
    """Answers the pending turn in its schema; rewrites an existing draft."""
    script = _Script(state, phase, seed or state.seed, profile)
    if phase == phases.STIPULATE:
        return script.stipulation()
    if phase == phases.FINAL:
        return {**script.final(), "SteeringComplianceCheck": "OK"}
    here = phases.turn(phase)
    if here is None:
        raise LookupError(f"no model is asked in {phase}")
    return {**script.role(here.role, here.round), "SteeringComplianceCheck": "OK"}


class _Script:
    def __init__(self, state: State, phase: str, seed: str, profile: Profile) -> None:
        self._state, self._phase, self._seed, self._profile = state, phase, seed, profile
        self._words = _phrases()[state.language]
        self._focus = state.steering.focus_issues

    def _one(self, phrases: tuple[str, ...], name: str) -> str:
        return draws.choice(self._seed, f"{self._phase} {name}", phrases)

    def stipulation(self) -> dict[str, object]:
        state, words = self._state, self._words
        confirmed = [
            {
                "text": words.evidence_fact.format(id=item.id, title=item.title, text=item.description),
                "quote": f"{item.title} {item.description}".strip()[:_QUOTE_CHARS],
                "evidence": [item.id],
                "timeline": [],
            }
            for item in state.facts.evidence
            if not item.uploaded
        ]
        for entry in state.facts.timeline:
            text = words.agreed_fact.format(when=entry.when, what=entry.what)
            confirmed.append({"text": text, "quote": entry.what[:_QUOTE_CHARS], "evidence": [], "timeline": [entry.id]})
        claims = state.narrative.opposing_claims
        disputed = (
            [{"text": words.disputed_claim.format(text=claims[:2000]), "quote": claims[:_QUOTE_CHARS]}]
            if claims
            else []
        )
        return {
            "ConfirmedFacts": confirmed,
            "DisputedFacts": disputed,
            "MissingFactsQuestions": [{"text": text} for text in self._questions()],
        }

    def _questions(self) -> list[str]:
        state, words = self._state, self._words
        asked = []
        if not state.facts.evidence:
            asked.append(words.ask_evidence)
        if not any(entry.agreed for entry in state.facts.timeline):
            asked.append(words.ask_timeline)
        if not state.narrative.opposing_claims:
            asked.append(words.ask_claims)
        if self._profile == "unsure":
            asked += words.ask_more[:OPEN_QUESTIONS]
        answered = {answer.question for addition in state.narrative.additions for answer in addition.answers}
        return [text for text in asked if text not in answered]

    def role(self, role: Role, round_: int) -> dict[str, Any]:
        match role:
            case "judge":
                return self._judge(round_)
            case "claimant":
                return self._claimant()
            case "opposing":
                return self._opposing()
            case "verifier":
                return self._verifier(round_)

    def final(self) -> dict[str, object]:
        return {
            "Answer": [self._said(self._words.finding, f"answer {place}", place) for place in range(2)],
            "NotFollowed": [],
        }

    def _issue(self, place: int) -> str | None:
        return self._focus[place % len(self._focus)] if self._focus else None

    def _said(self, phrases: tuple[str, ...], name: str, place: int = 0) -> dict[str, Any]:
        """Say something about a confirmed fact, or ask when there is none that may be repeated."""
        state = self._state
        if state.facts.confirmed:
            fact = state.facts.confirmed[place % len(state.facts.confirmed)]
            said = {
                "text": self._one(phrases, name).replace("{fact}", fact.text[:_FACT_CHARS].rstrip(" .。")),
                "basis": [fact.id],
                "issue": self._issue(place),
            }
            if not guardrails.inspect(state, {"Findings": [said]}).hits:
                return said
        return self._asked(self._words.no_finding, name, place)

    def _asked(self, phrases: tuple[str, ...], name: str, place: int = 0) -> dict[str, object]:
        return {"text": self._one(phrases, name), "basis": UNKNOWN, "issue": self._issue(place)}

    def _answering(self, said: dict[str, object], role: Role) -> dict[str, object]:
        """Let a statement answer every point that the role was given."""
        asked = [point.id for point in points.to_answer(self._state.before, role)]
        return {**said, "answers": asked} if asked else said

    def _issues(self) -> list[str]:
        if self._focus:
            return list(self._focus)
        return list(self._words.issues if self._state.case_type == "civil" else self._words.issues_criminal)

    def _judge(self, round_: int) -> dict[str, object]:
        words = self._words
        cited = [item.id for item in self._state.facts.evidence]
        return {
            "Issues": self._issues(),
            "Findings": [self._said(words.finding, f"finding {place}", place) for place in range(2)],
            "BurdenOfProof": [self._asked(words.burden, "burden")],
            "DecisionRange": "reserved" if round_ == 1 else self._one(words.range, "range"),
            "RecommendedNextSteps": [] if round_ == 1 else list(words.steps),
            "Citations": cited or NO_CITATION,
            **(self._estimate() if round_ > 1 else {}),
        }

    def _estimate(self) -> dict[str, object]:
        """An even chance of what is confirmed; none where nothing is."""
        confirmed = self._state.facts.confirmed
        if not confirmed:
            return {}
        return {"Likelihood": {"low": 40, "high": 60, "text": self._words.estimate, "basis": [confirmed[0].id]}}

    def _claimant(self) -> dict[str, object]:
        words, state = self._words, self._state
        claims = [self._answering(self._said(words.claim, "claim"), "claimant")]
        if self._profile == "stubborn" or (self._profile == "rash" and state.draft is None):
            claims += [{"text": text, "basis": [], "issue": self._issue(0)} for text in words.rash]
        return {
            "Claims": claims,
            "LegalElements": [self._asked(words.element, "element")],
            "EvidencePlan": [
                {"evidence": identifier, "purpose": self._one(words.purpose, identifier)}
                for identifier in [item.id for item in state.facts.evidence if item.kind != "statute"] or [UNKNOWN]
            ],
            "WeakPoints": [self._asked(words.weak, "weak")],
        }

    def _opposing(self) -> dict[str, Any]:
        words = self._words
        said = {
            "CounterArguments": [self._answering(self._said(words.counter, "counter"), "opposing")],
            "DisproofPlan": [self._asked(words.disproof, "disproof")],
            "ProceduralRisks": [self._asked(words.procedural, "procedural")],
        }
        if self._state.case_type == "civil":
            options = draws.shuffle(self._seed, f"{self._phase} settlement", words.settlement)
            said["SettlementOptions"] = [self._asked((option,), "option") for option in options[:2]]
        return said

    def _verifier(self, round_: int) -> dict[str, object]:
        words = self._words
        status = "Go"
        if self._profile == "conditional":
            status = "Conditional"
        if self._profile == "no_go" and round_ == 2:
            status = "No-Go"
        doubts = status != "Go"
        return {
            "GateStatus": status,
            "SteeringCompliance": "OK",
            "UnsupportedClaims": list(words.unsupported) if doubts else [],
            "MissingEvidence": list(words.missing) if doubts else [],
            "NextRoundFocus": list(words.focus),
        }
