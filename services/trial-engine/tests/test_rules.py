"""The pages' rules of the mock trial, one test a row."""

from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import Create, DeadlinePassed, Join
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.seats import AgentLeft, GameAborted
from playmolt_schemas.stored.trial import GameEnded, GameStarted, JuryTallied, PhaseChanged, Spoke, VoteSubmitted
from playmolt_trial.rules import ROLES, Trial
from playmolt_trial.state import State

from core.tests.scenario import like
from core.tests.table import joined

SPEAK = {"type": "speak", "text": "I say so."}
VOTE = {"type": "vote", "verdict": "GUILTY"}
OF_NO_TYPE: list[Any] = [
    {"type": "shout", "text": "x"},
    {},
    [],
    None,
    7,
    "speak",
    {"type": None},
    {"type": ["speak"]},
    {"text": "x"},
]


# Setup


def test_the_first_event_pins_what_the_game_follows_from(tables: Any) -> None:
    created, _, _ = tables(seed="123456789012345678901234567890", deadline=30).log[0]
    assert msgspec.to_builtins(created) == {
        "needed": 6,
        "seed": "123456789012345678901234567890",
        "rules_version": Trial.rules_version,
        "content_version": Trial().content_version,
        "config": {"phase_deadline_seconds": 30, "deadlines": (), "language": "ko"},
    }


@pytest.mark.parametrize("config", [{"phase_deadline_seconds": -1}, {"phase_deadline_seconds": 10**12}, {"speed": 1}])
def test_a_configuration_that_makes_no_sense_opens_no_game(config: dict[str, Any], table: Any) -> None:
    table.state = Trial().initial("trial-2")
    table.when(Create(seed="1", config=config)).refused(Code.INVALID_REQUEST, "config")


def test_a_game_is_created_once(table: Any) -> None:
    table.when(Create(seed="1", config={})).refused(Code.ALREADY_STARTED)


def test_a_game_that_was_never_created_takes_nothing(table: Any) -> None:
    table.state = Trial().initial("trial-2")
    table.join("agent-0").refused(Code.NOT_FOUND)


def test_five_agents_wait_and_the_sixth_starts_the_trial(table: Any) -> None:
    table.seated(5)
    assert table.state.phase == "waiting"
    table.join("agent-5").then(joined("agent-5"), like(GameStarted))
    assert (table.state.phase, table.state.round) == ("opening", 0)


def test_joining_twice_changes_nothing(table: Any) -> None:
    table.join("agent-0").then(joined("agent-0"))
    table.join("agent-0").then()
    table.seated().join("agent-0").then()


def test_a_started_trial_takes_nobody_else(table: Any) -> None:
    table.seated().join("late").refused(Code.ALREADY_STARTED)
    table.end().join("agent-0").refused(Code.ALREADY_STARTED)


def test_a_seat_can_be_left_while_the_game_waits(table: Any) -> None:
    table.seated(2).leave("agent-0").then(AgentLeft(agent_id="agent-0", name="Name of agent-0"))
    assert list(table.decider.participants(table.state)) == ["agent-1"]
    table.leave("agent-0").refused(Code.NOT_A_PARTICIPANT)
    table.leave("agent-1").then(AgentLeft(agent_id="agent-1", name="Name of agent-1"))
    table.seated()
    assert table.state.phase == "opening"


def test_a_started_trial_cannot_be_left(table: Any) -> None:
    table.seated().leave("agent-0").refused(Code.ALREADY_STARTED)
    table.leave("stranger").refused(Code.NOT_A_PARTICIPANT)


def test_every_role_is_dealt_as_often_as_it_exists(table: Any) -> None:
    table.seated()
    assert sorted(seat.role for seat in table.state.seats) == sorted(ROLES)


def test_roles_and_case_follow_from_the_seed(tables: Any) -> None:
    def dealt(seed: str) -> tuple[Any, ...]:
        state: State = tables(seed=seed).seated().state
        return state.case, tuple(seat.role for seat in state.seats)

    assert dealt("1") == dealt("1")
    assert len({dealt(str(seed)) for seed in range(40)}) > 30


def test_every_seat_gets_every_role_and_every_case_is_drawn(tables: Any) -> None:
    states = [tables(seed=str(seed)).seated().state for seed in range(200)]
    assert {state.seats[0].role for state in states} == set(ROLES)
    assert {state.seats[5].role for state in states} == set(ROLES)
    assert len({state.case.case_id for state in states}) == len(Trial()._content.cases)


# Phases


def test_phases_follow_each_other_to_the_end(table: Any) -> None:
    table.played_to("verdict").speak("JUDGE")
    table.then(table.spoken("JUDGE", phase="verdict", round_=3), like(GameEnded, verdict="GUILTY"))
    steps = [(m["from"], m["to"], m["round"]) for m in table.messages() if m["type"] == "phase_change"]
    assert steps == [
        ("opening", "argument", 1),
        ("argument", "argument", 2),
        ("argument", "argument", 3),
        ("argument", "rebuttal", 3),
        ("rebuttal", "jury_vote", 3),
        ("jury_vote", "verdict", 3),
    ]
    assert (table.state.phase, table.state.round) == ("end", 3)


@pytest.mark.parametrize(
    ("phase", "required"),
    [
        ("opening", ROLES),
        ("argument", ROLES),
        ("rebuttal", ("PROSECUTOR", "DEFENSE")),
        ("jury_vote", ("JUROR", "JUROR", "JUROR")),
        ("verdict", ("JUDGE",)),
    ],
)
def test_a_phase_waits_for_just_the_roles_of_the_page(table: Any, phase: str, required: tuple[str, ...]) -> None:
    table.played_to(phase)
    assert sorted(seat.role for seat in table.state.required()) == sorted(required)
    assert table.view()["phase_submissions"] == {"submitted": 0, "total": len(required)}


def test_the_tally_comes_before_the_phase_of_the_verdict(table: Any) -> None:
    table.played_to("jury_vote").vote(0, "GUILTY").then(table.voted(0, "GUILTY"))
    table.vote(1, "GUILTY").then(table.voted(1, "GUILTY"))
    table.vote(2, "NOT_GUILTY").then(
        table.voted(2, "NOT_GUILTY"),
        like(JuryTallied, guilty=2, not_guilty=1, verdict="GUILTY"),
        PhaseChanged(left="jury_vote", entered="verdict", round=3),
    )


# Who submits what


@pytest.mark.parametrize("action", [SPEAK, VOTE, {"type": "speak", "text": ""}, *OF_NO_TYPE])
def test_who_is_not_required_passes_whatever_the_body_says(table: Any, action: Any) -> None:
    table.played_to("rebuttal").act(table.role("JUDGE"), action).then()
    table.played_to("jury_vote").act(table.role("PROSECUTOR"), action).then()
    table.played_to("verdict").act(table.role("JUROR"), action).then()


def test_the_wrong_action_of_a_required_role_is_refused(table: Any) -> None:
    table.seated().act(table.role("JUROR"), VOTE).refused(Code.WRONG_ACTION)
    table.played_to("jury_vote").act(table.role("JUROR"), SPEAK).refused(Code.WRONG_ACTION)


def test_a_second_submission_in_a_phase_and_round_is_refused(table: Any) -> None:
    table.seated().speak("JUDGE").speak("JUDGE").refused(Code.ALREADY_SUBMITTED)
    table.played_to("argument", 2).speak("JUDGE").then(table.spoken("JUDGE", phase="argument", round_=2))
    table.speak("JUDGE").refused(Code.ALREADY_SUBMITTED)
    table.played_to("jury_vote").vote(0, "GUILTY").vote(0, "NOT_GUILTY").refused(Code.ALREADY_SUBMITTED)


@pytest.mark.parametrize("text", ["x", "x" * 200, "😀" * 200, "\u2003" + "가" * 200 + "\n"])
def test_a_text_of_1_to_200_code_points_is_taken(table: Any, text: str) -> None:
    table.seated().speak("JUDGE", text).then(table.spoken("JUDGE", text.strip()))
    assert table.state.history[-1].text == text.strip()


@pytest.mark.parametrize(
    "text", ["", " \t\u3000", "x" * 201, "😀" * 201, "nul \x00", "half \ud800", True, 1, None, ["x"]]
)
def test_any_other_text_is_refused(table: Any, text: Any) -> None:
    table.seated().speak("JUDGE", text).refused(Code.INVALID_ACTION, "text")


def test_a_missing_field_is_named(table: Any) -> None:
    table.seated().act("agent-0", {"type": "speak"}).refused(Code.INVALID_ACTION, "text")


@pytest.mark.parametrize("verdict", ["guilty", "", None, True, "GUILTY ", ["GUILTY"], {}])
def test_a_verdict_is_one_of_two_words(table: Any, verdict: Any) -> None:
    table.played_to("jury_vote").vote(0, verdict).refused(Code.INVALID_ACTION, "verdict")


@pytest.mark.parametrize("action", OF_NO_TYPE)
def test_an_action_of_no_known_type_is_refused(table: Any, action: Any) -> None:
    table.seated().act("agent-0", action)
    assert table.decision.code is Code.INVALID_ACTION


def test_an_unknown_field_is_refused_and_named(table: Any) -> None:
    table.seated().act("agent-0", {**SPEAK, "mood": "grim", "verdict": "GUILTY"})
    table.refused(Code.INVALID_ACTION, "mood", "verdict")


def test_a_refused_action_may_be_corrected(table: Any) -> None:
    table.seated().speak("JUDGE", "").refused(Code.INVALID_ACTION, "text")
    table.speak("JUDGE").then(table.spoken("JUDGE"))


def test_checks_come_in_the_order_of_the_page(table: Any) -> None:
    junk, wrong, empty = {"type": "?"}, {"type": "vote", "verdict": "?"}, {"type": "speak", "text": ""}
    table.act("stranger", junk).refused(Code.NOT_A_PARTICIPANT)
    table.seated(5).act("agent-0", junk).refused(Code.NOT_STARTED)
    table.join("agent-5").speak("JUDGE")
    judge = table.role("JUDGE")
    table.act(judge, {**wrong, "x": 1}).refused(Code.INVALID_ACTION, "x")
    table.act(judge, wrong).refused(Code.WRONG_ACTION)
    table.act(judge, empty).refused(Code.ALREADY_SUBMITTED)
    table.end().act(judge, junk).refused(Code.GAME_OVER)
    table.act("stranger", junk).refused(Code.NOT_A_PARTICIPANT)


# Verdict and points


@pytest.mark.parametrize(
    ("votes", "verdict", "winner"),
    [
        (("GUILTY", "GUILTY", "GUILTY"), "GUILTY", "PROSECUTOR"),
        (("GUILTY", "NOT_GUILTY", "GUILTY"), "GUILTY", "PROSECUTOR"),
        (("GUILTY", "NOT_GUILTY", "NOT_GUILTY"), "NOT_GUILTY", "DEFENSE"),
        (("NOT_GUILTY", "NOT_GUILTY", "NOT_GUILTY"), "NOT_GUILTY", "DEFENSE"),
    ],
)
def test_two_votes_decide_and_pay(table: Any, votes: tuple[str, ...], verdict: str, winner: str) -> None:
    table.played_to("jury_vote")
    for juror, vote in enumerate(votes):
        table.vote(juror, vote)
    assert (table.state.tally.guilty, table.state.tally.not_guilty) == (
        votes.count("GUILTY"),
        votes.count("NOT_GUILTY"),
    )
    table.speak("JUDGE")
    end = table.message("game_end")
    assert (end["verdict"], end["winner_team"]) == (verdict, winner)
    paid = {line["agent_id"]: (line["team"], line["won"], line["points"]) for line in end["results"]}
    for role in ("PROSECUTOR", "DEFENSE"):
        assert paid[table.role(role)] == (role, role == winner, 200 if role == winner else 50)
    for juror, vote in zip(table.roles("JUROR"), votes, strict=True):
        team = "PROSECUTOR" if vote == "GUILTY" else "DEFENSE"
        assert paid[juror] == (team, team == winner, 200 if team == winner else 50)
    assert paid[table.role("JUDGE")] == (None, None, 100)


# Deadlines


def test_without_a_deadline_nothing_is_wanted(table: Any) -> None:
    assert table.decider.effects(table.state) == ()
    table.seated()
    assert table.decider.effects(table.state) == ()


def test_a_deadline_runs_from_the_start_of_each_phase_and_round(tables: Any) -> None:
    table = tables(deadline=30)
    assert table.decider.effects(table.state) == ()
    seen = set()
    table.seated()
    while not table.state.over:
        (effect,) = table.decider.effects(table.state)
        entered = table.now
        assert (effect.kind, (effect.due - entered).total_seconds()) == ("deadline", 30)
        assert len(effect.id) == 32
        seen.add(effect.id)
        missing = table.state.missing()
        for seat in missing[:-1]:
            table.submit(seat.id)
            assert table.decider.effects(table.state) == (effect,)
        table.submit(missing[-1].id)
    assert len(seen) == 7
    assert table.decider.effects(table.state) == ()


def test_a_missed_speech_is_a_forfeit_and_the_trial_goes_on(tables: Any) -> None:
    table = tables(deadline=30).seated().speak("JUDGE")
    forfeits = [like(Spoke, phase="opening", text="", forfeit=True)] * 5
    table.deadline().then(*forfeits, PhaseChanged(left="opening", entered="argument", round=1))
    assert [line.forfeit for line in table.state.history] == [False, *[True] * 5]
    message = table.message("speak")
    assert (message["text"], message["forfeit"]) == ("", True)


def test_a_deadline_of_a_phase_that_is_past_does_nothing(tables: Any) -> None:
    table = tables(deadline=30).seated()
    (stale,) = table.decider.effects(table.state)
    table.played_to("argument").when(DeadlinePassed(effect_id=stale.id)).then()
    table.when(DeadlinePassed(effect_id="no such effect")).then()
    table.end().when(DeadlinePassed(effect_id=stale.id)).then()


@pytest.mark.parametrize(
    ("cast", "verdict"),
    [
        ((), "NOT_GUILTY"),
        (("GUILTY",), "NOT_GUILTY"),
        (("GUILTY", "NOT_GUILTY"), "NOT_GUILTY"),
        (("NOT_GUILTY",), "NOT_GUILTY"),
        (("GUILTY", "GUILTY"), "GUILTY"),
    ],
)
def test_a_missing_vote_abstains(tables: Any, cast: tuple[str, ...], verdict: str) -> None:
    table = tables(deadline=30).played_to("jury_vote")
    for juror, vote in enumerate(cast):
        table.vote(juror, vote)
    abstained = 3 - len(cast)
    table.deadline().then(
        *[like(VoteSubmitted, verdict=None, forfeit=True)] * abstained,
        like(JuryTallied, guilty=cast.count("GUILTY"), not_guilty=cast.count("NOT_GUILTY"), verdict=verdict),
        PhaseChanged(left="jury_vote", entered="verdict", round=3),
    )
    assert table.message("vote_submitted")["forfeit"] is True
    assert table.state.verdict == verdict
    assert [vote.verdict for vote in table.state.tally.votes] == [*cast, *[None] * abstained]
    table.speak("JUDGE")
    absent = {line.agent_id: (line.team, line.won, line.points) for line in table.state.results}[
        table.roles("JUROR")[2]
    ]
    assert absent == (None, None, 0)


def test_an_abandoned_trial_ends_by_its_deadlines(tables: Any) -> None:
    table = tables(deadline=1).seated()
    table.deadline().deadline()
    assert [event.type for event in table.decision.events[-7:]] == ["seat_away"] * 6 + ["game_aborted"]
    assert (table.state.phase, table.message("game_aborted")["reason"]) == ("aborted", "abandoned")


# The operator


@pytest.mark.parametrize("phase", ["waiting", "opening", "argument", "rebuttal", "jury_vote", "verdict"])
def test_an_operator_can_end_a_trial_in_any_phase(table: Any, phase: str) -> None:
    if phase != "waiting":
        table.played_to(phase)
    table.end(" Fire. ").then(like(GameAborted, reason="Fire."))
    ended = [{"agent_id": seat.id, "kind": "operator", "what": "ended", "count": 1} for seat in table.state.seats]
    assert table.message("game_aborted") == {"type": "game_aborted", "reason": "Fire.", "faults": ended}
    assert table.decider.summary(table.state).over
    assert (table.view()["phase"], table.view()["results"]) == ("aborted", None)
    table.end().refused(Code.GAME_OVER)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 201, "\x00"])
def test_ending_a_trial_needs_a_reason(table: Any, reason: str) -> None:
    table.end(reason).refused(Code.INVALID_REQUEST, "reason")


def test_only_the_last_message_closes_the_feed(table: Any) -> None:
    table.played_to("verdict").speak("JUDGE")
    assert [event.closes for event, _, _ in table.log] == [False] * (len(table.log) - 1) + [True]


def test_names_may_repeat(table: Any) -> None:
    for agent in range(6):
        table.when(Join(agent_id=str(agent), name="Ada"))
    assert table.state.phase == "opening"
