"""What a decider gets from `Game`: handlers and folds by class, what follows by itself, and answers of none."""

from typing import Any

import pytest
from playmolt_core.game.decider import PUBLIC, Accepted, Act, Create, DeadlinePassed, Effect, EndGame, Join, Leave
from playmolt_schemas.codes import Code

from core.tests.asking import Answered, Asked, Asking, Close, Open, Opened
from core.tests.counting import Added, Count, Counting, Created, Ended, Joined
from core.tests.scenario import Scenario

CREATE = Create(seed="7", config={"phase_deadline_seconds": 0})


@pytest.fixture
def count() -> Scenario[Count]:
    return Scenario(Counting()).when(CREATE).when(Join(agent_id="a", name="A")).when(Join(agent_id="b", name="B"))


@pytest.fixture
def talk() -> Scenario[Any]:
    return Scenario(Asking()).given(Opened(owner="ann", topic="rain"))


def added(count: Scenario[Count], number: int) -> Scenario[Count]:
    return count.when(Act(agent_id="a", action={"add": number}))


def test_what_a_state_brings_about_follows_in_the_same_step(count: Scenario[Count]) -> None:
    results = [{"agent_id": "a", "points": 5}, {"agent_id": "b", "points": 5}]
    added(count, 9).then(Added(agent_id="a", secret=9))
    added(count, 1).then(Added(agent_id="a", secret=1), Ended(results=results))
    assert isinstance(count.decision, Accepted)
    assert [(state.version, state.phase) for state in count.decision.states] == [(5, "playing"), (6, "end")]


def test_a_pass_brings_nothing_about_and_folds_nothing(count: Scenario[Count]) -> None:
    count.when(Act(agent_id="a", action="pass")).then()
    assert count.decision == Accepted()


def test_a_stream_begins_with_an_opening_command_alone() -> None:
    new = Scenario(Counting())
    new.when(Join(agent_id="a", name="A")).refused(Code.NOT_FOUND)
    new.when(EndGame(reason="x")).refused(Code.NOT_FOUND)
    new.when(CREATE).then(Created(seed="7", seconds=0))
    new.when(Join(agent_id="a", name="A")).then(Joined(agent_id="a", name="A"))


@pytest.mark.parametrize("command", [Leave(agent_id="ann"), Act(agent_id="ann", action={}), CREATE])
def test_a_command_without_a_handler_is_refused(talk: Scenario[Any], command: Any) -> None:
    talk.when(command).refused(Code.INVALID_REQUEST)


def test_a_handler_is_not_for_its_commands_children(talk: Scenario[Any]) -> None:
    class CloseSoftly(Close, frozen=True, kw_only=True):
        pass

    talk.when(CloseSoftly(successor="")).refused(Code.INVALID_REQUEST)


def test_a_deadline_that_a_game_does_not_handle_changes_nothing(talk: Scenario[Any]) -> None:
    talk.when(DeadlinePassed(effect_id="any")).then()


def test_each_event_counts_whatever_it_changes(talk: Scenario[Any]) -> None:
    talk.given(Asked(command_id="c1", text="When?"), Answered(text="Now."))
    assert (talk.state.version, talk.state.answers) == (3, (("c1", "Now."),))


def test_what_a_game_does_not_say_is_said_for_it(talk: Scenario[Any]) -> None:
    decider, state = talk.decider, talk.state
    assert (decider.operator_view(state), decider.allowed_actions(state, "ann"), decider.effects(state)) == ({}, (), ())
    assert decider.public(Opened(owner="ann", topic="rain"), PUBLIC, state) is None


def test_an_effect_of_nothing_pending_is_none(talk: Scenario[Any]) -> None:
    talk.given(Asked(command_id="c1", text="When?"))
    (effect,) = talk.decider.effects(talk.state)
    assert isinstance(effect, Effect)
    talk.given(Answered(text="Now."))
    assert talk.decider.effects(talk.state) == ()
    talk.when(Open(owner="ann", topic=7)).refused(Code.INVALID_REQUEST)
