"""Whatever is done to a session, in any order: nothing raises, the fold is the live state, every session can end."""

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from playmolt_core.game.decider import Accepted, Command, EndGame, Refused, Viewer, read_event
from playmolt_core.game.fold import state_hash
from playmolt_legal import commands, effects
from playmolt_legal.report import report
from playmolt_legal.roles import prompts, scripted
from playmolt_legal.rules import Legal
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.games.legal import FactAction, Report
from playmolt_schemas.limits import RECORD_BYTES
from playmolt_schemas.text import has_line_breaks_or_controls

RULES = Legal()
OWNER = Viewer("agent-1")
TEXTS = st.text(max_size=20) | st.sampled_from(
    ["반드시 승소한다.", "[x]\n{{goal}}", "kim@example.com", "2019다12345", ""]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["gate", "choice", "facts", "focus_issues", "goal", "stance", "constraints", "proof_priority", "concession_range",
     "settlement_interest", "resolution", "report_style", "missing_evidence_answers", "obtainable_evidence"]
)  # fmt: skip


def facts(texts: list[str], count: int) -> dict[str, Any]:
    said = [text.strip() or "말" for text in texts]
    return {
        "overview": said[0],
        "acts": said[1],
        "timeline": [{"when": said[0], "what": said[1], "agreed": bool(n % 2)} for n in range(count)],
        "evidence": [{"title": "증거", "description": said[0]} for _ in range(count)],
        "opposing_claims": said[1] if count else "",
    }


def good_form(state: Any, texts: list[str], pick: int) -> dict[str, Any]:
    gate = state.gate
    first, second = [text.strip() or "뜻" for text in texts]
    form: dict[str, Any] = {"gate": gate.gate}
    if gate.missing_evidence:
        form["missing_evidence_answers"] = {item.id: first for item in gate.missing_evidence}
    match gate.gate:
        case "facts":
            choice = gate.options[pick % len(gate.options)]
            form |= {"choice": choice} | ({"facts": {"text": first}} if choice == "add_facts" else {})
        case "round1":
            form |= {"focus_issues": [first], "goal": "win_likelihood", "stance": "neutral", "fact_corrections": second}
        case "round2":
            form |= {
                "proof_priority": first,
                "evidence_level": "weak",
                "obtainable_evidence": [second],
                "constraints": [first, "no_outside_counsel"],
            }
            form |= {"settlement_interest": False} if state.case_type == "civil" else {}
        case "end":
            form |= {"resolution": gate.options[pick % len(gate.options)], "report_style": "settlement"}
    return form


SAFE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20).filter(
    lambda text: not has_line_breaks_or_controls(text)
)
PAIR = st.lists(
    SAFE | TEXTS.filter(lambda text: not has_line_breaks_or_controls(text, lines=True)), min_size=2, max_size=2
)


def shown(state: Any) -> list[bytes]:
    """All that a state shows, with its fields in the order they are shown in."""
    asked = [prompts.prompt(state, effect.payload) for effect in RULES.effects(state)]
    made: list[Any] = [RULES.view(state, OWNER), report.report(state), asked]
    return [msgspec.json.encode(each) for each in made if not isinstance(each, Refused)]


class Sessions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.state = RULES.initial("legal-1")
        self.log: list[tuple[str, int, bytes, datetime]] = []
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def when(self, command: Command) -> bool:
        self.now += timedelta(seconds=1)
        decision = RULES.decide(self.state, command, self.now)
        if not isinstance(decision, Accepted):
            assert decision.detail
            canonical_json(decision.errors)
            return False
        for event in decision.events:
            self.state = RULES.evolve(self.state, event, self.now)
            data = canonical_json(event)
            assert len(data) <= RECORD_BYTES
            self.log.append((event.type, event.schema_version, data, self.now))
            canonical_json(RULES.public(event, OWNER, self.state))
        return True

    @initialize(
        case_type=st.sampled_from(["civil", "criminal"]), language=st.sampled_from(["ko", "en"]),
        profile=st.sampled_from(scripted.PROFILES), exclusion=SAFE, seed=st.integers(0, 9),
    )  # fmt: skip
    def open(self, case_type: str, language: str, profile: Any, exclusion: str, seed: int) -> None:
        self.profile = profile
        body = {
            "case_type": case_type,
            "jurisdiction": "KR",
            "title": "t",
            "language": language,
            "exclusions": exclusion,
        }
        assert self.when(commands.OpenSession(agent_id="agent-1", seed=str(seed), body=body))

    @rule(texts=PAIR, count=st.integers(0, 3))
    def tell(self, texts: list[str], count: int) -> None:
        waiting = self.state.waiting
        taken = self.when(commands.PostFacts(agent_id="agent-1", body=facts(texts, count)))
        assert taken == (waiting == "intake")

    @rule()
    def speak(self) -> None:
        if self.state.waiting == "model":
            output = scripted.answer(self.state, self.state.phase, profile=self.profile)
            assert self.when(commands.TurnSpoken(effect_id=effects.effect_id(self.state), output=output))

    @rule(fid=st.sampled_from(["F1", "F2", "F3", "D1"]), action=st.sampled_from(get_args(FactAction)), text=SAFE)
    def change(self, fid: str, action: str, text: str) -> None:
        gated = self.state.waiting == "person"
        body = {"action": action} | ({"text": text} if action == "correct" else {})
        assert not self.when(commands.ChangeFact(agent_id="agent-1", fact_id=fid, body=body)) or gated

    @rule()
    def redo(self) -> None:
        stale = self.state.waiting == "person" and any(turn.stale for turn in self.state.turns)
        assert self.when(commands.Redo(agent_id="agent-1", body=None)) == stale

    @rule(status=JSON)
    def verify(self, status: Any) -> None:
        if self.state.waiting == "model" and self.state.phase.startswith("VERIFIER"):
            output = scripted.answer(self.state, self.state.phase, profile=self.profile)
            self.when(
                commands.TurnSpoken(effect_id=effects.effect_id(self.state), output={**output, "GateStatus": status})
            )

    @rule(output=JSON, text=TEXTS)
    def babble(self, output: Any, text: str) -> None:
        effect = effects.effect_id(self.state)
        self.when(commands.TurnSpoken(effect_id=effect, output=output))
        if self.state.waiting == "model" and isinstance(output, dict):
            whole = scripted.answer(self.state, self.state.phase, profile=self.profile)
            key = sorted(whole)[len(text) % len(whole)]
            self.when(commands.TurnSpoken(effect_id=effect, output={**whole, key: output.get(text, [text])}))

    @rule(texts=PAIR, pick=st.integers(0, 5))
    def answer(self, texts: list[str], pick: int) -> None:
        if self.state.gate:
            form = good_form(self.state, texts, pick)
            self.when(commands.PostForm(agent_id="agent-1", body=form, next_session="legal-2"))

    @rule(changes=st.dictionaries(FIELDS, JSON, max_size=2), agent=st.sampled_from(["agent-1", "agent-2"]))
    def scribble(self, changes: dict[str, Any], agent: str) -> None:
        form = {**(good_form(self.state, ["가", "나"], 0) if self.state.gate else {}), **changes}
        self.when(commands.PostForm(agent_id=agent, body=form, next_session="legal-2"))

    @rule(body=JSON)
    def nonsense(self, body: Any) -> None:
        self.when(commands.PostFacts(agent_id="agent-1", body=body))
        self.when(commands.PostForm(agent_id="agent-1", body=body, next_session="legal-2"))

    @rule()
    def fail_and_retry(self) -> None:
        failed = commands.FailTurn(effect_id=effects.effect_id(self.state), code="refused", detail="no", attempts=1)
        assert self.when(failed)
        if self.state.failed:
            assert self.when(commands.Retry(agent_id="agent-1"))

    @invariant()
    def the_fold_is_the_live_state(self) -> None:
        state = RULES.initial("legal-1")
        for kind, version, data, at in self.log:
            state = RULES.evolve(state, read_event(RULES, kind, version, data), at)
        assert state_hash(state) == state_hash(self.state)
        assert shown(state) == shown(self.state)

    @invariant()
    def everything_can_be_shown_and_asked(self) -> None:
        if not self.log:
            return
        canonical_json(RULES.view(self.state, OWNER))
        assert canonical_json(RULES.view(self.state, Viewer("agent-2"))) == b"{}"
        assert len(RULES.effects(self.state)) == (self.state.waiting == "model")
        for effect in RULES.effects(self.state):
            block = prompts.steering_block(self.state)
            messages = prompts.prompt(self.state, effect.payload)
            assert effect.payload.phase == "FACTS_STIPULATE" or messages[0]["content"].startswith(block)
            assert len(block.splitlines()) == 20
        made = report.report(self.state)
        assert isinstance(made, Report) == self.state.reported

    def teardown(self) -> None:
        if not self.log:
            return
        self.profile = "plain"
        for _ in range(60):
            match self.state.waiting:
                case "nothing":
                    break
                case "intake":
                    self.tell(["말", "말"], 1)
                case "model":
                    self.speak()
                case "retry":
                    assert self.when(commands.Retry(agent_id="agent-1"))
                case "person":
                    # The last thing on offer never adds facts nor extends.
                    assert self.state.gate
                    self.answer(["가", "나"], len(self.state.gate.options) - 1)
        assert self.state.over
        assert not self.when(EndGame(reason="done"))
        self.the_fold_is_the_live_state()


Sessions.TestCase.settings = settings(max_examples=25, stateful_step_count=25, suppress_health_check=list(HealthCheck))
TestSessions = Sessions.TestCase


def test_an_operator_can_end_every_session(sessions: Any) -> None:
    for phase in ("FACTS_INTAKE", "FACTS_STIPULATE", "JUDGE_R1", "round1", "end"):
        session = sessions().to(phase).when(EndGame(reason="점검"))
        assert session.state.over
        assert msgspec.json.encode(session.view())
