"""Nobody can freeze a game (arena.md, Time): away, back, resigning, forfeits and the ledger, in every bot game."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_core.game.decider import (
    PUBLIC,
    Absent,
    Accepted,
    Act,
    Appear,
    Create,
    DeadlinePassed,
    Forfeit,
    Refused,
    Resign,
    Viewer,
)
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.stored.values import Fault

from schemas.tests.conftest import played

DEADLINE = 30
Plays = Callable[..., Any]


def bot(agent: str, what: str, count: int = 1) -> Fault:
    return Fault(agent_id=agent, kind="bot", what=what, count=count)


def asked(play: Any) -> list[str]:
    return [agent for agent in play.decider.participants(play.state) if required_action(play, agent)]


def required_action(play: Any, agent: str) -> str | None:
    allowed = play.decider.allowed_actions(play.state, agent)
    return allowed[0].type if allowed else None


def late(play: Any) -> None:
    (effect,) = play.decider.effects(play.state)
    assert play.when(DeadlinePassed(effect_id=effect.id))


def without(play: Any, *silent: str) -> None:
    """Everybody who is asked answers in time but those named; then the deadline passes."""
    before = play.state.entered_version
    for agent in asked(play):
        if agent not in silent and play.state.entered_version == before:
            play.answer(agent, required_action(play, agent))
    if play.state.entered_version == before:
        late(play)


def types(play: Any, after: int) -> list[str]:
    return [event.type for event, _, _ in play.log[after:]]


def refused(play: Any, command: Any) -> Refused:
    decision = play.decider.decide(play.state, command, play.now)
    assert isinstance(decision, Refused)
    return decision


@pytest.fixture
def play(game: str, plays: Plays) -> Any:
    return plays(game, deadline=DEADLINE)


def test_one_missed_deadline_is_not_an_absence_and_two_in_a_row_are(play: Any) -> None:
    without(play, "agent-0")
    assert not play.state.absent("agent-0")
    without(play, "agent-0")
    assert play.state.attends("agent-0").away
    assert types(play, 0).count("seat_away") == 1


def test_a_banned_seat_is_away_at_once_and_the_others_play_to_the_end(play: Any) -> None:
    before, state = len(play.log), play.state
    assert play.when(Absent(agent_id="agent-0"))
    (command, *_) = play.decider.recovered(state, [event for event, _, _ in play.log[before:]], play.now)
    assert command == Absent(agent_id="agent-0")
    assert types(play, before)[0] == "seat_away"
    assert play.state.absent("agent-0")
    assert play.decider.decide(play.state, Absent(agent_id="agent-0"), play.now).events == ()
    while not play.state.over:
        for agent in [agent for agent in asked(play) if agent != "agent-0"]:
            play.answer(agent, required_action(play, agent))
    assert play.state.phase == "end"
    assert types(play, 0).count("seat_away") == 1
    assert refused(play, Absent(agent_id="agent-0")).code is Code.GAME_OVER
    assert refused(play, Absent(agent_id="stranger")).code is Code.NOT_A_PARTICIPANT


def test_a_submission_in_time_breaks_the_row(play: Any) -> None:
    without(play, "agent-0")
    without(play)
    without(play, "agent-0")
    assert not play.state.absent("agent-0")


def test_nobody_waits_for_a_seat_that_is_away(play: Any) -> None:
    without(play, "agent-0")
    without(play, "agent-0")
    while not play.state.over:
        phase = play.state.entered_version
        present = [agent for agent in asked(play) if agent != "agent-0"]
        assert present
        for agent in present:
            assert play.state.entered_version == phase
            play.answer(agent, required_action(play, agent))
        assert play.state.entered_version != phase
    assert play.state.phase == "end"


def test_until_its_forfeit_is_recorded_a_seat_that_is_away_may_act(play: Any) -> None:
    without(play, "agent-0")
    without(play, "agent-0")
    kind, before = required_action(play, "agent-0"), len(play.log)
    assert kind
    play.answer("agent-0", kind)
    assert types(play, before)[1] == "seat_back"
    assert play.log[before][0].forfeit is False
    assert not play.state.absent("agent-0")
    without(play, "agent-0")
    assert not play.state.absent("agent-0")


def test_a_refused_action_brings_a_seat_back_and_counts(play: Any) -> None:
    without(play, "agent-0")
    without(play, "agent-0")
    decision = refused(play, Act(agent_id="agent-0", action={"type": "?"}))
    (back,) = decision.events
    assert (back.type, back.counted, decision.fault) == ("seat_back", (bot("agent-0", "refused"),), None)


def test_a_sign_of_presence_brings_a_seat_back_for_the_next_question(play: Any) -> None:
    without(play, "agent-0")
    assert play.decider.sign_of(play.state, "agent-0") is None
    without(play, "agent-0")
    sign = play.decider.sign_of(play.state, "agent-0")
    assert sign == Appear(agent_id="agent-0")
    before = len(play.log)
    assert play.when(sign)
    assert types(play, before) == ["seat_back"]
    assert play.decider.sign_of(play.state, "agent-0") is None
    assert play.decider.decide(play.state, sign, play.now) == Accepted(())
    present_question = play.state.entered_version
    for agent in asked(play):
        if agent != "agent-0" and play.state.entered_version == present_question:
            play.answer(agent, required_action(play, agent))
    assert play.state.entered_version != present_question
    missed = 0
    while not play.state.absent("agent-0") and not play.state.over:
        question, is_asked = play.state.entered_version, "agent-0" in asked(play)
        for agent in asked(play):
            if agent != "agent-0" and play.state.entered_version == question:
                play.answer(agent, required_action(play, agent))
        assert (play.state.entered_version == question) is is_asked
        if is_asked:
            late(play)
            missed += 1
    assert missed == 2 or play.state.over


def test_a_seat_that_is_away_at_the_end_stands_behind_all_who_are_present(play: Any) -> None:
    leader = next(iter(play.decider.participants(play.state)))
    while not play.state.over:
        without(play, leader)
    assert play.state.phase == "end"
    assert play.state.results[-1].agent_id == leader
    assert not play.state.results[-1].resigned


def test_a_seat_that_resigned_stands_behind_one_that_is_away(play: Any) -> None:
    assert play.when(Resign(agent_id="agent-1"))
    while not play.state.over:
        without(play, "agent-0")
    assert [row.agent_id for row in play.state.results[-2:]] == ["agent-0", "agent-1"]


BEHAVIOURS = ("answers", "answers", "answers", "is silent", "looks", "is refused", "is late")


@pytest.mark.parametrize("game", ["ox", "trial"])
@settings(max_examples=60)
@given(drawn=st.data())
def test_away_and_back_with_any_mix_of_delays(game: str, drawn: st.DataObject) -> None:
    play = played(game, deadline=DEADLINE)
    silent = drawn.draw(st.sampled_from(["", *play.decider.participants(play.state)]))
    missed_by_silent = 0
    while not play.state.over:
        question, before = play.state.entered_version, len(play.log)
        awaited = {agent: play.state.awaited(agent) for agent in asked(play)}
        turns = {agent: play.decider.turn_id(play.state, agent) for agent in awaited}
        behaviour = {
            agent: "is silent" if agent == silent else drawn.draw(st.sampled_from(BEHAVIOURS)) for agent in awaited
        }
        in_time = [agent for agent in awaited if behaviour[agent] == "answers"]
        for agent in drawn.draw(st.permutations(list(awaited))):
            if behaviour[agent] == "looks" and (sign := play.decider.sign_of(play.state, agent)):
                assert play.when(sign)
            if behaviour[agent] == "is refused":
                store(play, Act(agent_id=agent, action={"type": "?"}))
            if behaviour[agent] == "answers" and play.state.entered_version == question and agent in asked(play):
                play.answer(agent, required_action(play, agent))
        if play.state.entered_version == question and not play.state.over:
            missed_by_silent += silent in asked(play) and awaited.get(silent, False)
            late(play)
        for agent in awaited:
            if behaviour[agent] == "is late" and not play.state.over:
                action = {"type": "?", "turn_id": turns[agent]}
                store(play, Act(agent_id=agent, action=action))
        forfeited = {event.agent_id for event, _, _ in play.log[before:] if getattr(event, "forfeit", False)}
        assert not forfeited & {agent for agent in in_time if awaited[agent]}
    assert missed_by_silent <= 2


def store(play: Any, command: Any) -> None:
    """Store the events of a refusal, as an engine does."""
    for event in play.decider.decide(play.state, command, play.now).events:
        play.state = play.decider.evolve(play.state, event, play.now)
        play.log.append((event, play.now, play.state))


def test_a_refusal_of_one_who_is_present_stores_nothing_and_says_what_it_counts_as(play: Any) -> None:
    decision = refused(play, Act(agent_id="agent-0", action={"type": "?"}))
    assert (decision.events, decision.fault) == ((), bot("agent-0", "refused"))
    play.answer("agent-0", required_action(play, "agent-0"))
    again = refused(play, Act(agent_id="agent-0", action=first_action(play)))
    assert (again.code, again.fault) == (Code.ALREADY_SUBMITTED, None)


def first_action(play: Any) -> Any:
    kind = required_action(play, "agent-1")
    return {"speak": {"type": "speak", "text": "x"}, "first_choice": {"type": kind, "choice": "O", "comment": "x"}}[
        kind or ""
    ]


def test_what_was_refused_is_stored_with_the_next_event(play: Any) -> None:
    gathered = (bot("agent-1", "refused", 3),)
    assert play.when(Act(agent_id="agent-0", action=first_action(play), gathered=gathered))
    assert play.log[-1][0].counted == gathered
    assert play.state.faults == gathered


def test_all_seats_away_is_an_abandoned_game_without_results(play: Any) -> None:
    everybody = tuple(play.decider.participants(play.state))
    without(play, *everybody)
    without(play, *everybody)
    aborted = play.log[-1][0]
    assert (aborted.type, aborted.reason, play.state.phase) == ("game_aborted", "abandoned", "aborted")
    assert aborted.faults == tuple(bot(agent, "deadline", 2) for agent in everybody)


def test_who_resigns_is_out_for_good_stands_last_and_gets_nothing(play: Any) -> None:
    assert play.when(Resign(agent_id="agent-2"))
    assert play.when(Resign(agent_id="agent-1"))
    assert play.decider.resigned(play.state, "agent-1")
    assert required_action(play, "agent-1") is None
    for command in (Resign(agent_id="agent-1"), Act(agent_id="agent-1", action={}), forfeit("agent-1")):
        assert refused(play, command).code is Code.ALREADY_RESIGNED
    results = play.to_the_end().state.results
    assert [row.agent_id for row in results[-2:]] == ["agent-1", "agent-2"]
    assert [(row.points, row.resigned) for row in results[-2:]] == [(0, True), (0, True)]
    assert not any(row.resigned for row in results[:-2])
    assert play.state.faults == (bot("agent-1", "resigned"), bot("agent-2", "resigned"))


def test_a_game_that_all_give_up_is_abandoned_also_without_deadlines(game: str, plays: Plays) -> None:
    play = plays(game)
    for agent in play.decider.participants(play.state):
        assert play.when(Resign(agent_id=agent))
    assert (play.log[-1][0].type, play.log[-1][0].reason) == ("game_aborted", "abandoned")
    assert refused(play, Resign(agent_id="agent-0")).code is Code.GAME_OVER


def test_resigning_needs_a_seat_in_a_game_that_runs(game: str, plays: Plays) -> None:
    play = plays(game)
    assert refused(play, Resign(agent_id="stranger")).code is Code.NOT_A_PARTICIPANT
    joined = next(state for event, _, state in play.log if event.type == "agent_joined")
    decision = play.decider.decide(joined, Resign(agent_id="early"), play.now)
    assert (decision.code.wire, decision.code.status) == ("not_started", 409)


def forfeit(agent: str, what: str = "timeout", kind: Any = "provider") -> Forfeit:
    return Forfeit(agent_id=agent, kind=kind, what=what)


def test_a_forfeit_is_not_a_missed_deadline_and_keeps_nobody_waiting(play: Any) -> None:
    for _ in range(3):
        assert play.when(forfeit("agent-0"))
        for agent in asked(play):
            play.answer(agent, required_action(play, agent))
    assert not play.state.absent("agent-0")
    assert play.state.faults == (Fault(agent_id="agent-0", kind="provider", what="timeout", count=3),)
    assert play.when(forfeit("agent-0"))
    assert play.log[-1][0].forfeit is True
    assert refused(play, forfeit("agent-0")).code is Code.NOTHING_TO_FORFEIT


def test_who_comes_and_goes_is_told_to_everybody_alike(play: Any) -> None:
    without(play, "agent-0")
    without(play, "agent-0")
    play.answer("agent-0", required_action(play, "agent-0"))
    assert play.when(Resign(agent_id="agent-0"))
    told = [(event, state) for event, _, state in play.log if event.type.startswith("seat_")]
    assert [event.type for event, _ in told] == ["seat_away", "seat_back", "seat_resigned"]
    for event, state in told:
        messages = [
            play.decider.public(event, viewer, state) for viewer in (PUBLIC, Viewer("agent-0"), Viewer("agent-1"))
        ]
        assert messages[0] == messages[1] == messages[2]


def test_the_ledger_says_every_forfeit_once(play: Any) -> None:
    while not play.state.over:
        without(play, "agent-0", "agent-1")
    forfeits = [event.agent_id for event, _, _ in play.log if getattr(event, "forfeit", False)]
    assert play.state.faults == tuple(bot(agent, "deadline", forfeits.count(agent)) for agent in ("agent-0", "agent-1"))
    assert play.log[-1][0].faults == play.state.faults


def test_deadlines_are_the_games_own_unless_the_operator_says_otherwise(decider: Any) -> None:
    def created(config: dict[str, Any]) -> Any:
        decision = decider.decide(
            decider.initial("g"), Create(seed="1", config=config), datetime(2026, 3, 1, tzinfo=UTC)
        )
        assert isinstance(decision, Accepted)
        return msgspec.to_builtins(decision.events[0])["config"]

    own = {"ox": {"first_choice": 60, "switch": 45}}
    own["trial"] = dict.fromkeys(("opening", "argument", "rebuttal", "verdict"), 120) | {"jury_vote": 90}
    assert created({}) == created({"phase_deadline_seconds": None})
    unset = created({})
    assert unset["phase_deadline_seconds"] is None
    assert {each["phase"]: each["seconds"] for each in unset["deadlines"]} == own[decider.game]
    for seconds in (0, 7):
        config = created({"phase_deadline_seconds": seconds})
        assert config == {"phase_deadline_seconds": seconds, "deadlines": (), "language": "ko"}


def outage(play: Any, seconds: float) -> list[str]:
    """The deadline passes and the platform was away for so long; gives what comes of it."""
    before = len(play.log)
    (effect,) = play.decider.effects(play.state)
    assert play.when(DeadlinePassed(effect_id=effect.id, lost_ms=round(1000 * seconds)))
    return types(play, before)


def test_a_deadline_that_passed_during_an_outage_moves_by_the_time_lost(play: Any) -> None:
    silent, *others = play.decider.participants(play.state)
    play.answer(silent, required_action(play, silent))
    deadline, asked_before = play.state.deadline, play.decider.turn_id(play.state, others[0])
    assert outage(play, DEADLINE / 3 + 1) == ["phase_extended"]
    assert play.state.deadline == deadline + timedelta(seconds=DEADLINE / 3 + 1)
    assert play.decider.view(play.state, PUBLIC).deadline == rfc3339(play.state.deadline)
    assert play.decider.turn_id(play.state, others[0]) == asked_before
    assert play.state.faults == tuple(
        Fault(agent_id=agent, kind="platform", what="outage") for agent in sorted(others) if agent in asked(play)
    )
    assert not any(play.state.attends(agent).missed for agent in others)


def test_a_third_of_the_phase_or_less_is_not_an_outage(play: Any) -> None:
    assert "phase_extended" not in outage(play, DEADLINE / 3)


def test_a_phase_is_extended_once(play: Any) -> None:
    (first,) = play.decider.effects(play.state)
    assert outage(play, DEADLINE) == ["phase_extended"]
    (second,) = play.decider.effects(play.state)
    assert second.id != first.id
    assert not play.decider.decide(play.state, DeadlinePassed(effect_id=first.id, lost_ms=99_000), play.now).events
    assert "phase_extended" not in outage(play, 2 * DEADLINE)
    assert outage(play, DEADLINE) == ["phase_extended"], "the next phase has an outage of its own"
