"""One answer for one question (interop.md): an answer names its question and is never taken for another's."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_core.game.decider import PUBLIC, Act, DeadlinePassed, Forfeit, Refused, Resign, Viewer
from playmolt_schemas.codes import Code
from playmolt_schemas.limits import TURN_ID_CHARS

from schemas.tests.conftest import DECIDERS, VALID_ACTIONS, played

Plays = Callable[..., Any]
JSON = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=70), lambda inner: st.lists(inner, max_size=3), max_leaves=4
)


def turn_id(play: Any, agent: str) -> str | None:
    found: str | None = play.decider.turn_id(play.state, agent)
    return found


def wanted(play: Any, agent: str) -> Any:
    """A good action, whatever the phase asks of the agent."""
    offered = play.decider.allowed_actions(play.state, agent)
    return VALID_ACTIONS[offered[0].type][0] if offered else {"type": "?"}


def refusal(play: Any, command: Any) -> Code | None:
    decision = play.decider.decide(play.state, command, play.now)
    if not isinstance(decision, Refused):
        return None
    assert decision.fault is None or decision.code is not Code.STALE_TURN
    return decision.code


def late(play: Any) -> None:
    (effect,) = play.decider.effects(play.state)
    assert play.when(DeadlinePassed(effect_id=effect.id))


def test_each_question_has_a_name_of_its_own_and_keeps_it(game: str, plays: Plays) -> None:
    play = plays(game)
    names: dict[str, tuple[str, int]] = {}
    while not play.state.over:
        for agent in play.decider.participants(play.state):
            name = turn_id(play, agent)
            assert (name is not None) == bool(play.decider.allowed_actions(play.state, agent))
            if name is None:
                continue
            assert len(name) <= TURN_ID_CHARS
            assert names.setdefault(name, (agent, play.state.entered_version)) == (agent, play.state.entered_version)
        play.answer(*play.waiting_for())
    asked = {(agent, version) for agent, version in names.values()}
    assert len(asked) == len(names)


def test_a_state_says_it_to_whom_it_asks_and_to_nobody_else(game: str, plays: Plays) -> None:
    play = plays(game)
    while not play.state.over:
        for agent in play.decider.participants(play.state):
            assert play.decider.view(play.state, Viewer(agent)).turn_id == turn_id(play, agent)
        assert play.decider.view(play.state, PUBLIC).turn_id is None
        play.answer(*play.waiting_for())
    for agent in play.decider.participants(play.state):
        assert play.decider.view(play.state, Viewer(agent)).turn_id is turn_id(play, agent) is None


def test_a_refused_action_and_anothers_answer_leave_the_question_as_it_is(game: str, plays: Plays) -> None:
    play = plays(game, deadline=30)
    first, second, *_ = play.decider.participants(play.state)
    before = turn_id(play, first)
    assert refusal(play, Act(agent_id=first, action={"type": "?"})) is Code.INVALID_ACTION
    play.answer(second, play.decider.allowed_actions(play.state, second)[0].type)
    assert turn_id(play, first) == before


def test_an_answer_to_the_present_question_is_taken_and_stored_without_its_name(game: str, plays: Plays) -> None:
    named, plain = plays(game), plays(game)
    agent = next(iter(named.decider.participants(named.state)))
    action = wanted(plain, agent)
    assert named.when(Act(agent_id=agent, action={**action, "turn_id": turn_id(named, agent)}))
    assert plain.when(Act(agent_id=agent, action=action))
    assert [event for event, _, _ in named.log] == [event for event, _, _ in plain.log]


def test_an_answer_that_comes_after_its_deadline_is_not_taken_for_the_next_question(game: str, plays: Plays) -> None:
    play = plays(game, deadline=6)
    agent = next(iter(play.decider.participants(play.state)))
    asked = turn_id(play, agent)
    late(play)
    assert play.decider.allowed_actions(play.state, agent)
    for action in (wanted(play, agent), {"type": "?"}):
        assert refusal(play, Act(agent_id=agent, action={**action, "turn_id": asked})) is Code.STALE_TURN
    assert refusal(play, Act(agent_id=agent, action=wanted(play, agent))) is None
    assert refusal(play, Forfeit(agent_id=agent, kind="bot", what="slow", turn_id=asked)) is Code.STALE_TURN
    assert refusal(play, Forfeit(agent_id=agent, kind="bot", what="slow", turn_id=turn_id(play, agent))) is None


def test_what_is_answered_already_is_not_answered_again(game: str, plays: Plays) -> None:
    play = plays(game)
    agent = next(iter(play.decider.participants(play.state)))
    action = {**wanted(play, agent), "turn_id": turn_id(play, agent)}
    assert play.when(Act(agent_id=agent, action=action))
    assert refusal(play, Act(agent_id=agent, action=action)) in (Code.ALREADY_SUBMITTED, Code.STALE_TURN)


def test_a_stale_answer_brings_a_seat_back(game: str, plays: Plays) -> None:
    play = plays(game, deadline=6)
    agent, *others = play.decider.participants(play.state)
    asked = turn_id(play, agent)
    for _ in range(2):
        for other in others:
            play.answer(other, play.decider.allowed_actions(play.state, other)[0].type)
        late(play)
    assert play.state.attends(agent).away
    for command in (
        Act(agent_id=agent, action={**wanted(play, agent), "turn_id": asked}),
        Forfeit(agent_id=agent, kind="bot", what="slow", turn_id=asked),
    ):
        refused = play.decider.decide(play.state, command, play.now)
        assert (refused.code, [event.type for event in refused.events]) == (Code.STALE_TURN, ["seat_back"])


def test_the_end_and_a_resignation_are_told_first(game: str, plays: Plays) -> None:
    play = plays(game)
    agent = next(iter(play.decider.participants(play.state)))
    stale = Act(agent_id=agent, action={"turn_id": "?"})
    assert play.when(Resign(agent_id=agent))
    assert refusal(play, stale) is Code.ALREADY_RESIGNED
    play.to_the_end()
    assert refusal(play, stale) is Code.GAME_OVER
    assert refusal(play, Act(agent_id="stranger", action={"turn_id": "?"})) is Code.NOT_A_PARTICIPANT


def test_who_is_asked_nothing_passes_only_without_a_name(plays: Plays) -> None:
    play = plays("trial")
    while play.state.phase != "rebuttal":
        play.answer(*play.waiting_for())
    idle = next(agent for agent in play.decider.participants(play.state) if turn_id(play, agent) is None)
    assert refusal(play, Act(agent_id=idle, action={"type": "speak", "text": "x"})) is None
    assert refusal(play, Act(agent_id=idle, action={"type": "speak", "text": "x", "turn_id": "x"})) is Code.STALE_TURN


@pytest.mark.parametrize("game", sorted(DECIDERS))
@given(said=JSON)
def test_whatever_is_not_the_present_name_is_stale(game: str, said: Any) -> None:
    play = played(game)
    agent = next(iter(play.decider.participants(play.state)))
    assert refusal(play, Act(agent_id=agent, action={**wanted(play, agent), "turn_id": said})) is Code.STALE_TURN
    assert refusal(play, Act(agent_id=agent, action={**wanted(play, agent), "turn_id": None})) is None
