"""Whatever is done to a session, in any order: nothing raises, the fold is the live state, every session can end."""

from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from playmolt_core.game.decider import EndGame, Refused, read_event
from playmolt_core.game.fold import state_hash
from playmolt_core.llm.port import Failed
from playmolt_jury import commands, effects, rules
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code
from playmolt_schemas.limits import RECORD_BYTES

from .conftest import Session

JURY = rules.jury()
JURORS = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
TEXTS = st.text(max_size=30) | st.sampled_from(["scapegoat", "系统漏洞", "E1", "", " ", "\x00", "x" * 201, "疑罪从无"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
IDS = st.integers(1, 16).map(lambda number: f"E{number}")
NAMES = st.sampled_from((*JURORS, "nobody"))
REPLIES = st.sampled_from(["Well.", "", "no JSON", '{"text":"I speak.","topics":[]}', '{"topics":[]}'])
ROUTES = st.sampled_from(
    sorted(
        {
            "jury_phase",
            "jury_talk",
            "jury_chat",
            "jury_present",
            "jury_next",
            "jury_notes",
            "jury_vote",
            "jury_retry",
            "jury_evidence",
            "jury_open",
        }
    )
)
AWAY = Failed(code="model_unavailable", detail="away", attempts=4)


class Sessions(RuleBasedStateMachine):
    @initialize(
        language=st.sampled_from(["en", "zh", "ko"]),
        start=st.sampled_from(["prologue", "investigation", "persuasion", "deliberation", "vote"]),
    )
    def open(self, language: str, start: str) -> None:
        self.session = Session(JURY, language=language)
        self.speaking("Well.")
        self.session.to(start)

    def speaking(self, reply: Any) -> None:
        def classified(request: Any) -> str:
            topics = msgspec.json.decode(request.messages[1].content)["word_list"]
            return msgspec.json.encode({"topics": topics}).decode()

        speech = {"text": "I speak.", "topics": [{"topic": "procedural_justice", "impact": "positive"}]}
        self.session.said = {"chat": reply, "present": reply, "speech": speech, "vote": "…", "classify": classified}

    @rule(to=st.sampled_from(["prologue", "investigation", "persuasion", "deliberation", "vote", "ended"]))
    def lead(self, to: str) -> None:
        self.session.call("jury_phase", {"to": to})

    @rule(evidence_id=IDS)
    def read(self, evidence_id: str) -> None:
        answer = self.session.call("jury_evidence", evidence_id=evidence_id)
        locked = isinstance(answer, Refused) and answer.code.wire == "locked"
        assert locked == (evidence_id in self.session.state.still_locked)

    @rule(witness=st.integers(0, 2), pick=st.integers(0, 4), evidence_id=IDS, shows=st.booleans())
    def talk(self, witness: int, pick: int, evidence_id: str, shows: bool) -> None:
        name = JURY.material(self.session.state).witnesses[witness].id
        shown = self.session.call("jury_talk", {}, witness_id=name)
        if isinstance(shown, Refused):
            return
        choices = [choice["id"] for choice in shown["choices"]]
        body = {"evidence_id": evidence_id} if shows or not choices else {"choice": choices[pick % len(choices)]}
        answer = self.session.call("jury_talk", body, witness_id=name)
        assert "choice" in body or not isinstance(answer, Refused) or answer.code.wire in ("locked", "invalid_request")

    @rule(juror=NAMES, text=TEXTS, reply=REPLIES, at_once=st.booleans())
    def chat(self, juror: str, text: str, reply: str, at_once: bool) -> None:
        self.speaking(reply)
        self.session.chat(juror, text, run=at_once)

    @rule(juror=NAMES, evidence_id=IDS)
    def present(self, juror: str, evidence_id: str) -> None:
        self.session.call("jury_present", {}, juror_id=juror, evidence_id=evidence_id)

    @rule(juror=NAMES, text=TEXTS, at_once=st.booleans())
    def note(self, juror: str, text: str, at_once: bool) -> None:
        self.session.call("jury_notes", {"juror_id": juror, "text": text}, run=at_once)

    @rule(at_once=st.booleans(), fails=st.booleans())
    def debate(self, at_once: bool, fails: bool) -> None:
        if fails:
            self.session.said["speech"] = AWAY
        self.session.call("jury_next", run=at_once)
        self.speaking("Well.")

    @rule(fails=st.booleans())
    def vote(self, fails: bool) -> None:
        if fails:
            self.session.said["vote"] = AWAY
        self.session.call("jury_vote")
        self.speaking("Well.")

    @rule()
    def mine(self) -> None:
        self.session.chain()

    @rule()
    def begin_anew(self) -> None:
        if effect := self.session.due(effects.CHAIN_EFFECT):
            self.session.when(commands.ChainLost(effect_id=effect.id, detail="gone", looks=1))

    @rule()
    def retry(self) -> None:
        failed = self.session.state.failed
        assert isinstance(self.session.call("jury_retry"), Refused) == (failed is None)

    @rule(route=ROUTES, body=JSON)
    def scribble(self, route: str, body: Any) -> None:
        witness = JURY.material(self.session.state).witnesses[0].id
        self.session.call(route, body, juror_id="radical", evidence_id="E1", witness_id=witness, run=False)

    @rule(text=TEXTS, effect=st.integers(0, 3))
    def babble(self, text: str, effect: int) -> None:
        wanted = [*(effect.id for effect in JURY.effects(self.session.state)), "0" * 32]
        self.session.when(commands.JurorTurn(effect_id=wanted[effect % len(wanted)], text=text))

    @invariant()
    def the_fold_is_the_live_state(self) -> None:
        if not hasattr(self, "session"):
            return
        state = JURY.initial("jury-1")
        for event, at, _ in self.session.log:
            data = canonical_json(event)
            assert len(data) <= RECORD_BYTES
            state = JURY.evolve(state, read_event(JURY, event.type, event.schema_version, data), at)
        assert state_hash(state) == state_hash(self.session.state)

    @invariant()
    def numbers_stay_within_their_bounds(self) -> None:
        if not hasattr(self, "session"):
            return
        state = self.session.state
        assert all(0 <= juror.stance <= 100 and juror.rounds_left >= 0 for juror in state.juror_states.values())
        assert state.notes_left >= 0
        assert state.round <= 4
        assert len(self.session.messages()) == state.version

    def teardown(self) -> None:
        if not hasattr(self, "session"):
            return
        self.speaking("Well.")
        self.session.call("jury_retry")
        self.session.work().chain()
        self.session.to("ended")
        assert self.session.call("jury_ending")["id"] == self.session.state.ending
        self.session.when(EndGame(reason="x")).refused(Code.GAME_OVER)
        self.the_fold_is_the_live_state()


Sessions.TestCase.settings = settings(max_examples=20, stateful_step_count=20, suppress_health_check=list(HealthCheck))
TestSessions = Sessions.TestCase
