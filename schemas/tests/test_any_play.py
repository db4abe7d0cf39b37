"""What holds of every bot game, however they are played: random play, with nonsense in between."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from playmolt_core.game.decider import (
    PUBLIC,
    Accepted,
    Act,
    Command,
    Create,
    DeadlinePassed,
    Decider,
    Decision,
    EndGame,
    Join,
    Leave,
    Refused,
    Viewer,
    read_event,
)
from playmolt_ox.rules import Ox
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_trial.rules import Trial

SEATS = st.integers(0, 6).map("agent-{}".format)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
TEXTS = st.sampled_from(
    ["말", " 앞뒤 빈칸 ", "", "\u3000", "x" * 100, "x" * 101, "x" * 201, "😀" * 100, "\x00", "\ud800"]
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["speak", "vote", "first_choice", "switch", "?"]),
    "text": TEXTS,
    "verdict": st.sampled_from(["GUILTY", "NOT_GUILTY", "guilty"]),
    "choice": st.sampled_from(["O", "X", "o"]),
    "comment": TEXTS,
    "use_switch": st.booleans(),
    "extra": JSON,
    "\ud800": JSON,
}
NEAR_MISSES = st.fixed_dictionaries({}, optional={name: values | JSON for name, values in FIELDS.items()})
WELL_FORMED = {
    "speak": st.fixed_dictionaries({"type": st.just("speak"), "text": TEXTS}),
    "vote": st.fixed_dictionaries({"type": st.just("vote"), "verdict": FIELDS["verdict"]}),
    "first_choice": st.fixed_dictionaries(
        {"type": st.just("first_choice"), "choice": FIELDS["choice"], "comment": TEXTS}
    ),
    "switch": st.fixed_dictionaries({"type": st.just("switch"), "use_switch": st.booleans()}),
}
PLAIN = {
    "speak": {"type": "speak", "text": "말"},
    "vote": {"type": "vote", "verdict": "GUILTY"},
    "first_choice": {"type": "first_choice", "choice": "O", "comment": "말"},
    "switch": {"type": "switch", "use_switch": False},
}


class AnyPlay(RuleBasedStateMachine):
    """Plays one game at random; the live state is held against the fold of what would be stored."""

    decider: Decider

    @initialize(seed=st.integers(0, 2**256), deadline=st.sampled_from([0, 60]))
    def create(self, seed: int, deadline: int) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.state = self.decider.initial(f"{self.decider.game}-1")
        self.folded = self.state
        self.version = 0
        assert isinstance(self.decide(Join(agent_id="agent-0", name="n")), Refused)
        assert isinstance(self.decide(Create(seed=str(seed), config={"phase_deadline_seconds": deadline})), Accepted)

    @rule(agent=SEATS)
    def join(self, agent: str) -> None:
        self.decide(Join(agent_id=agent, name=f"이름 {agent}"))

    @rule()
    def fill(self) -> None:
        for seat in range(self.decider.needed):
            self.decide(Join(agent_id=f"agent-{seat}", name=f"이름 {seat}"))

    @rule(agent=SEATS)
    def leave(self, agent: str) -> None:
        self.decide(Leave(agent_id=agent))

    @rule(agent=SEATS, action=NEAR_MISSES | JSON)
    def send_nonsense(self, agent: str, action: Any) -> None:
        self.decide(Act(agent_id=agent, action=action))

    @rule(data=st.data())
    def send_something_that_is_wanted(self, data: st.DataObject) -> None:
        for agent in self.decider.participants(self.state):
            for offer in self.decider.allowed_actions(self.state, agent):
                self.decide(Act(agent_id=agent, action=data.draw(WELL_FORMED[offer.type])))

    @rule(phases=st.integers(1, 4))
    def play_on(self, phases: int) -> None:
        for _ in range(phases):
            for agent in self.decider.participants(self.state):
                for offer in self.decider.allowed_actions(self.state, agent):
                    assert isinstance(self.decide(Act(agent_id=agent, action=PLAIN[offer.type])), Accepted)

    @rule(agent=SEATS, action=st.sampled_from(sorted(PLAIN)))
    def send_a_plain_action_at_any_time(self, agent: str, action: str) -> None:
        self.decide(Act(agent_id=agent, action=PLAIN[action]))

    @rule(stale=st.booleans())
    def let_the_deadline_pass(self, stale: bool) -> None:
        for effect in self.decider.effects(self.state):
            before = self.version
            self.decide(DeadlinePassed(effect_id="0" * 32 if stale else effect.id))
            assert (self.version == before) == stale

    @rule(reason=TEXTS)
    @precondition(lambda self: self.version > 30)
    def end(self, reason: str) -> None:
        self.decide(EndGame(reason=reason))

    @rule(agent=SEATS)
    @precondition(lambda self: self.decider.summary(self.state).over)
    def nothing_happens_after_the_end(self, agent: str) -> None:
        before = self.version
        for command in (
            Join(agent_id=agent, name="n"),
            Leave(agent_id=agent),
            Act(agent_id=agent, action=PLAIN["speak"]),
            EndGame(reason="again"),
            DeadlinePassed(effect_id="0" * 32),
            Create(seed="1", config={}),
        ):
            self.decide(command)
        assert self.version == before

    @rule()
    def the_operator_could_end_it(self) -> None:
        decision = self.decider.decide(self.state, EndGame(reason="genug"), self.now)
        if self.decider.summary(self.state).over:
            assert isinstance(decision, Refused)
            assert decision.code is Code.GAME_OVER
            return
        assert isinstance(decision, Accepted)
        state = self.state
        for event in decision.events:
            state = self.decider.evolve(state, event, self.now)
        assert self.decider.summary(state).over
        assert decision.events[-1].closes

    @invariant()
    def the_fold_of_the_stored_events_is_the_live_state(self) -> None:
        assert self.folded == self.state
        assert canonical_json(self.folded) == canonical_json(self.state)

    @invariant()
    def everybody_can_look(self) -> None:
        for viewer in (PUBLIC, Viewer("stranger"), *map(Viewer, self.decider.participants(self.state))):
            view = msgspec.json.decode(msgspec.json.encode(self.decider.view(self.state, viewer)))
            assert view["version"] == self.version
            assert ("self" in view) == (viewer.agent_id in self.decider.participants(self.state))
            offered = [offer.type for offer in self.decider.allowed_actions(self.state, viewer.agent_id or "")]
            assert view["allowed_actions"] == offered
        msgspec.json.encode(self.decider.operator_view(self.state))

    @invariant()
    def a_running_game_waits_for_somebody(self) -> None:
        summary = self.decider.summary(self.state)
        offered = [self.decider.allowed_actions(self.state, agent) for agent in self.decider.participants(self.state)]
        assert any(offered) == (summary.phase != "waiting" and not summary.over)
        assert summary.seated == len(offered) <= summary.needed

    def decide(self, command: Command) -> Decision:
        self.now += timedelta(seconds=7)
        decision = self.decider.decide(self.state, command, self.now)
        if isinstance(decision, Refused):
            assert decision.detail
            msgspec.json.encode(decision.errors)
            return decision
        for event in decision.events:
            stored = canonical_json(event)
            read = read_event(self.decider, event.type, event.schema_version, stored)
            self.state = self.decider.evolve(self.state, event, self.now)
            self.folded = self.decider.evolve(self.folded, read, self.now)
            self.version += 1
            for viewer in (PUBLIC, Viewer("agent-0"), Viewer("stranger")):
                message = msgspec.json.encode(self.decider.public(event, viewer, self.state))
                assert message.startswith(b'{"type":"' + event.type.encode() + b'"')
        return decision


class AnyTrial(AnyPlay):
    decider = Trial()


class AnyOx(AnyPlay):
    decider = Ox()


TestAnyTrial = AnyTrial.TestCase
TestAnyOx = AnyOx.TestCase
TestAnyTrial.settings = settings(max_examples=40, stateful_step_count=25)
TestAnyOx.settings = settings(max_examples=40, stateful_step_count=25)


def test_no_bot_game_is_left_out() -> None:
    assert {played.decider.game for played in AnyPlay.__subclasses__()} == set(GAME_TYPES)
