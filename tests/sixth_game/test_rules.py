"""The auction's rules."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_core.game.decider import Accepted, Act, Command, Create, DeadlinePassed, EndGame, Join, Leave
from playmolt_core.game.fold import state_hash
from playmolt_schemas.codes import Code
from sealed_bid.rules import Auction

from core.tests.table import SeatedTable


def table(deadline: int = 0) -> SeatedTable:
    return SeatedTable(Auction(), "7", deadline).seated()


def bids(at: SeatedTable, *amounts: int) -> SeatedTable:
    for agent, amount in zip(at.agents, amounts, strict=False):
        at.act(agent, {"type": "bid", "amount": amount})
    return at


def test_the_highest_bid_wins_and_pays_the_second_highest() -> None:
    results = bids(table(), 10, 70, 40).view()["results"]
    assert [(row["agent_id"], row["paid"], row["points"]) for row in results] == [
        ("agent-1", 40, 100),
        ("agent-2", 0, 40),
        ("agent-0", 0, 20),
    ]


@pytest.mark.parametrize("amount", [-1, 101, 3.5, "7", True, None])
def test_what_is_no_bid_is_refused(amount: object) -> None:
    table().act("agent-0", {"type": "bid", "amount": amount}).refused(Code.INVALID_ACTION, "amount")


def test_an_agent_bids_once() -> None:
    bids(table(), 10).act("agent-0", {"type": "bid", "amount": 11}).refused(Code.ALREADY_SUBMITTED)


def test_who_lets_the_deadline_pass_bids_nothing() -> None:
    results = bids(table(deadline=60), 10).deadline().view()["results"]
    assert sorted(row["amount"] for row in results) == [0, 0, 10]


def test_nobody_else_sees_a_bid_before_the_end() -> None:
    one, other = bids(table(), 10), bids(table(), 90)
    for viewer in (None, "agent-1", "agent-2"):
        assert one.view(viewer) == other.view(viewer)
        assert one.messages(viewer) == other.messages(viewer)
    assert one.view("agent-0") != other.view("agent-0")


AGENTS = st.sampled_from([f"agent-{number}" for number in range(4)])
COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.builds(Join, agent_id=AGENTS, name=AGENTS),
    st.builds(Leave, agent_id=AGENTS),
    st.builds(
        Act, agent_id=AGENTS, action=st.fixed_dictionaries({"type": st.just("bid"), "amount": st.integers(-5, 110)})
    ),
    st.just(DeadlinePassed(effect_id="")),
)


@given(st.lists(COMMANDS, max_size=25))
def test_any_play_folds_to_the_state_that_was_live_and_can_end(commands: list[Command]) -> None:
    rules, at = Auction(), datetime(2026, 1, 1, tzinfo=UTC)
    state, log = rules.initial("auction-1"), []
    for command in (Create(seed="7", config={"phase_deadline_seconds": 60}), *commands, EndGame(reason="over")):
        at += timedelta(seconds=1)
        named = (
            DeadlinePassed(effect_id=effect.id)
            if (isinstance(command, DeadlinePassed) and (effect := next(iter(rules.effects(state)), None)))
            else command
        )
        decision = rules.decide(state, named, at)
        if isinstance(decision, Accepted):
            for event in decision.events:
                state = rules.evolve(state, event, at)
                log.append((event, at))
    assert state.over
    again = rules.initial("auction-1")
    for event, when in log:
        again = rules.evolve(again, event, when)
    assert state_hash(again) == state_hash(state)
