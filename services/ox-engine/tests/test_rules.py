"""The pages' rules of the O/X arena, one test a row."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from playmolt_core.game.decider import Create, DeadlinePassed, Join
from playmolt_core.log.port import LogEntry
from playmolt_core.relay.results import finished_games
from playmolt_ox.rules import Ox
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code
from playmolt_schemas.records import Record
from playmolt_schemas.stored.ox import (
    Distribution,
    FirstChoiceSubmitted,
    GameEnded,
    GameStarted,
    QuestionOpened,
    Revealed,
    RoundCounted,
    SwitchSubmitted,
)
from playmolt_schemas.stored.seats import AgentLeft, GameAborted
from playmolt_schemas.stored.values import Identity

from core.tests.scenario import like
from core.tests.table import joined

PICK = {"type": "first_choice", "choice": "O", "comment": "So be it."}
KEEP = {"type": "switch", "use_switch": False}
OF_NO_TYPE: list[Any] = [{"type": "pass"}, {}, [], None, 7, "switch", {"type": None}, {"type": {}}, {"choice": "O"}]
QUESTIONS = Ox()._content.questions


# Setup


def test_the_first_event_pins_what_the_game_follows_from(tables: Any) -> None:
    created, _, _ = tables(seed="987654321098765432109876543210", deadline=30).log[0]
    assert msgspec.to_builtins(created) == {
        "needed": 5,
        "seed": "987654321098765432109876543210",
        "rules_version": Ox.rules_version,
        "content_version": Ox().content_version,
        "config": {"phase_deadline_seconds": 30, "deadlines": (), "language": "ko"},
    }


@pytest.mark.parametrize("config", [{"phase_deadline_seconds": -1}, {"phase_deadline_seconds": 1e9}, {"speed": 1}])
def test_a_configuration_that_makes_no_sense_opens_no_game(config: dict[str, Any], table: Any) -> None:
    table.state = Ox().initial("ox-2")
    table.when(Create(seed="1", config=config)).refused(Code.INVALID_REQUEST, "config")


def test_a_game_is_created_once(table: Any) -> None:
    table.when(Create(seed="1", config={})).refused(Code.ALREADY_STARTED)


def test_a_game_that_was_never_created_takes_nothing(table: Any) -> None:
    table.state = Ox().initial("ox-2")
    table.join("agent-0").refused(Code.NOT_FOUND)


def test_four_agents_wait_and_the_fifth_starts_the_game(table: Any) -> None:
    table.seated(4)
    assert table.state.phase == "waiting"
    table.join("agent-4")
    question = table.state.questions[0]
    table.then(joined("agent-4"), like(GameStarted), QuestionOpened(round=1, question=question))
    assert (table.state.phase, table.state.round) == ("first_choice", 1)


def test_joining_twice_changes_nothing(table: Any) -> None:
    table.join("agent-0").join("agent-0").then()
    table.seated().join("agent-0").then()


def test_a_started_game_takes_nobody_else(table: Any) -> None:
    table.seated().join("late").refused(Code.ALREADY_STARTED)


def test_a_seat_can_be_left_while_the_game_waits(table: Any) -> None:
    table.seated(2).leave("agent-0").then(AgentLeft(agent_id="agent-0", name="Name of agent-0"))
    assert list(table.decider.participants(table.state)) == ["agent-1"]
    table.leave("agent-0").refused(Code.NOT_A_PARTICIPANT)
    table.seated()
    assert table.state.phase == "first_choice"
    table.leave("agent-1").refused(Code.ALREADY_STARTED)


def test_five_consecutive_questions_are_asked_from_the_offset_wrapping_at_the_end(tables: Any) -> None:
    wrapped = 0
    for seed in range(60):
        table = tables(seed=str(seed)).seated()
        started = next(event for event, _, _ in table.log if event.type == "game_started")
        table.played_to("end", 5)
        asked = [message["question"] for message in table.messages() if message["type"] == "question_open"]
        assert asked == [QUESTIONS[(started.offset + place) % len(QUESTIONS)] for place in range(5)]
        wrapped += started.offset + 5 > len(QUESTIONS)
    assert wrapped


def test_offset_and_lots_follow_from_the_seed(tables: Any) -> None:
    def drawn(seed: str) -> tuple[int, tuple[str, ...]]:
        started = next(event for event, _, _ in tables(seed=seed).seated().log if event.type == "game_started")
        return started.offset, started.lots

    assert drawn("1") == drawn("1")
    draws = [drawn(str(seed)) for seed in range(400)]
    assert {offset for offset, _ in draws} == set(range(len(QUESTIONS)))
    assert {lots[0] for _, lots in draws} == {f"agent-{n}" for n in range(5)}
    assert all(sorted(lots) == [f"agent-{n}" for n in range(5)] for _, lots in draws)


# Rounds


def test_a_round_runs_through_its_phases(table: Any) -> None:
    table.seated()
    for agent in range(4):
        table.pick(f"agent-{agent}", "O").then(table.picked(f"agent-{agent}", "O"))
    shares = Distribution(o=4, x=1)
    table.pick("agent-4", "X").then(table.picked("agent-4", "X"), like(Revealed, round=1, distribution=shares))
    assert table.state.phase == "switch"
    for agent in range(4):
        table.keep(f"agent-{agent}").then(table.kept(f"agent-{agent}"))
    table.keep("agent-4").then(
        table.kept("agent-4"),
        like(RoundCounted, round=1, final_distribution=shares, minority="X", winners=("agent-4",)),
        QuestionOpened(round=2, question=table.state.questions[1]),
    )
    assert (table.state.phase, table.state.round) == ("first_choice", 2)


def test_after_five_rounds_the_game_ends(table: Any) -> None:
    table.played_to("switch", 5)
    for agent in range(4):
        table.keep(f"agent-{agent}")
    table.keep("agent-4").then(table.kept("agent-4", round_=5), like(RoundCounted, round=5), like(GameEnded))
    assert (table.state.phase, table.state.round) == ("end", 5)


# Actions


@pytest.mark.parametrize("comment", ["x", "x" * 100, "😀" * 100, "\u3000" + "가" * 100 + "\t"])
def test_a_first_choice_with_a_comment_is_taken(table: Any, comment: str) -> None:
    table.seated().pick("agent-0", "X", comment).then(table.picked("agent-0", "X", comment.strip()))


@pytest.mark.parametrize("comment", ["", " \n", "x" * 101, "😀" * 101, "\x00", "\udc00", True, 1, None, {}])
def test_a_first_choice_needs_a_comment_of_1_to_100(table: Any, comment: Any) -> None:
    table.seated().pick("agent-0", "X", comment).refused(Code.INVALID_ACTION, "comment")


@pytest.mark.parametrize("choice", ["o", "", "OX", None, 0, True, ["O"]])
def test_a_choice_is_one_of_two_letters(table: Any, choice: Any) -> None:
    table.seated().pick("agent-0", choice).refused(Code.INVALID_ACTION, "choice")


def test_every_field_at_fault_is_named(table: Any) -> None:
    table.seated().act("agent-0", {"type": "first_choice"}).refused(Code.INVALID_ACTION, "choice", "comment")
    table.picks("OOOOX").act("agent-0", {"type": "switch", "comment": 1})
    table.refused(Code.INVALID_ACTION, "use_switch", "comment")


@pytest.mark.parametrize("comment", ["", "  ", "x" * 100])
def test_a_switch_comment_may_be_empty(table: Any, comment: str) -> None:
    table.seated().picks("OOOXX").keep("agent-0", comment).then(table.kept("agent-0", comment.strip()))
    table.act("agent-1", KEEP).then(table.kept("agent-1", ""))


@pytest.mark.parametrize("comment", ["x" * 101, None, 1, "\x00"])
def test_a_switch_comment_holds_at_most_100(table: Any, comment: Any) -> None:
    table.seated().picks("OOOXX").keep("agent-0", comment).refused(Code.INVALID_ACTION, "comment")


@pytest.mark.parametrize("value", ["true", 1, 0, None, [], "false"])
def test_use_switch_is_true_or_false(table: Any, value: Any) -> None:
    action = {"type": "switch", "use_switch": value}
    table.seated().picks("OOOXX").act("agent-0", action).refused(Code.INVALID_ACTION, "use_switch")


def test_an_action_of_another_phase_is_refused(table: Any) -> None:
    table.seated().act("agent-0", KEEP).refused(Code.WRONG_PHASE)
    table.picks("OOOXX").act("agent-0", PICK).refused(Code.WRONG_PHASE)


def test_a_second_submission_in_a_phase_is_refused(table: Any) -> None:
    table.seated().pick("agent-0", "O").pick("agent-0", "X").refused(Code.ALREADY_SUBMITTED)
    table.end()
    other = type(table)().seated().picks("OOOXX").keep("agent-0")
    other.switch("agent-0").refused(Code.ALREADY_SUBMITTED)


def test_the_switch_flips_the_choice_both_ways(table: Any) -> None:
    table.seated().round("OOXXX", "agent-0", "agent-2")
    final = [line.final_choice for line in table.state.history[0].choices]
    assert final == ["X", "O", "O", "X", "X"]


def test_the_switch_can_be_used_once_in_the_game(table: Any) -> None:
    table.seated().round("OOOXX", "agent-0").picks("OOOXX")
    table.switch("agent-0").refused(Code.SWITCH_UNAVAILABLE)
    table.keep("agent-0").then(table.kept("agent-0", round_=2))
    table.switch("agent-1").then(table.switched("agent-1", round_=2))


def test_everyone_must_decide_also_without_a_switch_left(table: Any) -> None:
    table.seated().round("OOOXX", "agent-0").picks("OOOXX")
    for agent in range(1, 5):
        table.keep(f"agent-{agent}").then(table.kept(f"agent-{agent}", round_=2))
    table.keep("agent-0")
    table.then(table.kept("agent-0", round_=2), like(RoundCounted, round=2), like(QuestionOpened, round=3))


@pytest.mark.parametrize("action", OF_NO_TYPE)
def test_an_action_of_no_known_type_is_refused(table: Any, action: Any) -> None:
    table.seated().act("agent-0", action)
    assert table.decision.code is Code.INVALID_ACTION


def test_an_unknown_field_is_refused_and_named(table: Any) -> None:
    table.seated().act("agent-0", {**PICK, "use_switch": True}).refused(Code.INVALID_ACTION, "use_switch")


def test_checks_come_in_the_order_of_the_page(table: Any) -> None:
    junk = {"type": "?"}
    table.act("stranger", junk).refused(Code.NOT_A_PARTICIPANT)
    table.seated(4).act("agent-0", junk).refused(Code.NOT_STARTED)
    table.join("agent-4").pick("agent-0", "O")
    table.act("agent-0", {"type": "switch", "use_switch": 1, "x": 1}).refused(Code.INVALID_ACTION, "x")
    table.act("agent-0", {"type": "switch", "use_switch": 1}).refused(Code.WRONG_PHASE)
    table.act("agent-0", {"type": "first_choice"}).refused(Code.ALREADY_SUBMITTED)
    for agent in range(1, 5):
        table.pick(f"agent-{agent}", "X")
    table.keeps("agent-0").picks("OOOXX")
    table.act("agent-0", {"type": "switch", "use_switch": True, "comment": 1}).refused(Code.INVALID_ACTION, "comment")
    table.switch("agent-0").refused(Code.SWITCH_UNAVAILABLE)
    table.end().act("agent-0", junk).refused(Code.GAME_OVER)
    table.act("stranger", junk).refused(Code.NOT_A_PARTICIPANT)


# Points


@pytest.mark.parametrize(
    ("choices", "minority", "points", "winners"),
    [
        ("OOOOX", "X", 12, ["agent-4"]),
        ("XOXXX", "O", 12, ["agent-1"]),
        ("OOXXX", "O", 6, ["agent-0", "agent-1"]),
        ("OXOXO", "X", 6, ["agent-1", "agent-3"]),
        ("OOOOO", None, 0, []),
        ("XXXXX", None, 0, []),
    ],
)
def test_the_minority_is_paid(table: Any, choices: str, minority: str | None, points: int, winners: list[str]) -> None:
    result = table.seated().round(choices).message("round_result")
    assert result["final_distribution"] == {"O": choices.count("O"), "X": choices.count("X")}
    assert (result["minority"], result["points_awarded"], result["winners"]) == (minority, points, winners)
    paid = {line["id"]: (line["points"], line["monopolies"]) for line in result["scoreboard"]}
    alone = len(winners) == 1
    assert paid == {f"agent-{n}": (points, int(alone)) if f"agent-{n}" in winners else (0, 0) for n in range(5)}


def test_the_final_choices_count_not_the_first(table: Any) -> None:
    result = table.seated().round("OOOXX", "agent-4").message("round_result")
    assert (result["minority"], result["winners"], result["points_awarded"]) == ("X", ["agent-3"], 12)


def test_points_and_monopolies_add_up_over_the_rounds(table: Any) -> None:
    table.seated().round("XOOOO").round("XXOOO").round("XOOOO").round("OOOOO").round("OXXXO")
    first = table.message("game_end")["results"][0]
    assert first == {
        "agent_id": "agent-0",
        "name": "Name of agent-0",
        "rank": 1,
        "points": 200,
        "game_points": 12 + 6 + 12 + 0 + 6,
        "monopolies": 2,
    }


def test_monopolies_break_a_tie_of_points(table: Any) -> None:
    table.seated().round("XOOOO").round("OXXOO").round("OXXOO").round("OOOOO").round("OOOOO")
    order = [(line["agent_id"], line["game_points"]) for line in table.message("game_end")["results"]]
    assert order[0] == ("agent-0", 12)
    assert {agent for agent, points in order[1:3] if points == 12} == {"agent-1", "agent-2"}


def test_equals_share_a_rank_and_its_points_in_the_order_of_lots(tables: Any) -> None:
    orders = set()
    for seed in range(30):
        table = tables(seed=str(seed)).seated()
        lots = list(table.state.lots)
        for _ in range(5):
            table.round("OOOOO")
        end = table.message("game_end")
        assert [line["agent_id"] for line in end["results"]] == lots
        assert [line["id"] for line in end["final_scoreboard"]] == lots
        assert {(line["rank"], line["points"]) for line in end["results"]} == {(1, (200 + 100 + 60 + 40 + 20) // 5)}
        assert (end["winner_id"], end["winner_ids"]) == (None, lots)
        orders.add(tuple(lots))
    assert len(orders) > 20


def test_some_who_are_equal_share_the_points_of_their_places(table: Any) -> None:
    table.seated().round("XOOOO").round("OXXOO").round("OXXOO").round("OOOOO").round("OOOOO")
    end = table.message("game_end")
    assert [(line["rank"], line["points"]) for line in end["results"]] == [
        (1, 200), (2, (100 + 60) // 2), (2, (100 + 60) // 2), (4, (40 + 20) // 2), (4, (40 + 20) // 2),
    ]  # fmt: skip
    assert (end["winner_id"], end["winner_ids"]) == ("agent-0", ["agent-0"])


def test_ranks_earn_their_points(table: Any) -> None:
    table.seated().round("XOOOO").round("XOOOO").round("OXOOO").round("OOXXO").round("OOXOO")
    results = table.message("game_end")["results"]
    assert [line["game_points"] for line in results] == [24, 18, 12, 6, 0]
    assert [(line["rank"], line["points"]) for line in results] == [(1, 200), (2, 100), (3, 60), (4, 40), (5, 20)]


# Deadlines


def test_without_a_deadline_nothing_is_wanted(table: Any) -> None:
    assert table.decider.effects(table.seated().state) == ()


def test_a_deadline_runs_from_the_start_of_each_phase_and_round(tables: Any) -> None:
    table = tables(deadline=30)
    assert table.decider.effects(table.state) == ()
    table.seated()
    seen = set()
    while not table.state.over:
        (effect,) = table.decider.effects(table.state)
        assert (effect.kind, (effect.due - table.now).total_seconds(), len(effect.id)) == ("deadline", 30, 32)
        seen.add(effect.id)
        submit = table.pick if table.state.phase == "first_choice" else lambda agent, _: table.keep(agent)
        for agent in range(4):
            submit(f"agent-{agent}", "O")
            assert table.decider.effects(table.state) == (effect,)
        submit("agent-4", "X")
    assert len(seen) == 10
    assert table.decider.effects(table.state) == ()


def test_a_missing_first_choice_is_drawn_from_the_seed(tables: Any) -> None:
    def drawn(seed: str) -> tuple[str, ...]:
        table = tables(seed=seed, deadline=30).seated().pick("agent-0", "O")
        missing = [like(FirstChoiceSubmitted, agent_id=f"agent-{n}", comment="", forfeit=True) for n in range(1, 5)]
        table.deadline().then(*missing, like(Revealed, round=1))
        assert [line.comment for line in table.state.reveal] == ["So be it.", "", "", "", ""]
        assert "forfeit" not in table.messages()[-6]
        assert [message["forfeit"] for message in table.messages()[-5:-1]] == [True] * 4
        assert table.state.reveal[0].choice == "O"
        return tuple(line.choice for line in table.state.reveal[1:])

    assert drawn("5") == drawn("5")
    assert len({drawn(str(seed)) for seed in range(60)}) == 16


def test_a_missing_switch_decision_keeps(tables: Any) -> None:
    table = tables(deadline=30).seated().picks("OOOXX").switch("agent-0")
    missing = [like(SwitchSubmitted, agent_id=f"agent-{n}", switched=False, forfeit=True) for n in range(1, 5)]
    table.deadline().then(*missing, like(RoundCounted, round=1), like(QuestionOpened, round=2))
    message = table.message("switch_submitted")
    assert (message["switched"], message["comment"], message["forfeit"]) == (False, "", True)
    assert [seat.switch_used for seat in table.state.seats] == [True, False, False, False, False]


def test_a_deadline_of_a_phase_that_is_past_does_nothing(tables: Any) -> None:
    table = tables(deadline=30).seated()
    (stale,) = table.decider.effects(table.state)
    table.picks("OOOXX").when(DeadlinePassed(effect_id=stale.id)).then()
    table.keeps().when(DeadlinePassed(effect_id=stale.id)).then()
    table.end().when(DeadlinePassed(effect_id=stale.id)).then()


def test_an_abandoned_game_ends_by_its_deadlines(tables: Any) -> None:
    table = tables(deadline=1).seated()
    table.deadline().deadline()
    assert [event.type for event in table.decision.events[-6:]] == ["seat_away"] * 5 + ["game_aborted"]
    assert (table.state.phase, table.message("game_aborted")["reason"]) == ("aborted", "abandoned")


def test_house_bots_play_a_game_to_its_end_that_all_others_left_silent(tables: Any) -> None:
    table = tables(deadline=1)
    for agent, kind in zip(table.agents, ("bot", "bot", "bot", "bot", "house"), strict=True):
        table.when(Join(agent_id=agent, name=agent, identity=Identity(handle=agent, kind=kind)))
    house = table.agents[4]
    while table.state.playing:
        if table.state.phase == "first_choice":
            table.pick(house, "O")
        elif table.state.phase == "switch":
            table.keep(house)
        if table.state.playing:
            table.deadline()
    assert (table.state.phase, table.message("game_end")["winner_id"]) == ("end", house)


def test_a_leader_that_falls_silent_is_last_in_a_rated_game(tables: Any) -> None:
    table = tables(deadline=1).seated().picks("OXXXX").keeps()
    leader, *others = table.agents
    while table.state.playing:
        submit = (lambda agent: table.pick(agent, "O")) if table.state.phase == "first_choice" else table.keep
        for agent in others:
            submit(agent)
        if table.state.playing and not table.view()["participants"][0]["away"]:
            table.deadline()
    started = next(event for event, _, _ in table.log if isinstance(event, GameStarted))
    end = table.log[-1][0]
    assert (started.rated, end.type, end.rated) == (True, "game_end", UNSET)
    best = max(end.results, key=lambda result: result.game_points)
    assert (best.agent_id, best.rank) == (leader, 5)
    record = Record(
        stream="ox-1", version=1, position=1, type=end.type, schema_version=1, data=msgspec.Raw(canonical_json(end)),
        metadata=msgspec.Raw(b"{}"), at="2026-03-01T00:00:00.000000Z", salt="", prev_hash="", hash="",
    )  # fmt: skip
    [game] = finished_games([LogEntry(record=record, closes=True)])
    assert game.rated
    assert [(seat.agent_id, seat.rank) for seat in game.seats][-1] == (leader, 5)


# The operator


@pytest.mark.parametrize(("phase", "round_"), [("waiting", 0), ("first_choice", 1), ("switch", 1), ("switch", 5)])
def test_an_operator_can_end_a_game_in_any_phase(table: Any, phase: str, round_: int) -> None:
    if phase != "waiting":
        table.played_to(phase, round_)
    table.end(" Fire. ").then(like(GameAborted, reason="Fire."))
    ended = [{"agent_id": seat.id, "kind": "operator", "what": "ended", "count": 1} for seat in table.state.seats]
    assert table.message("game_aborted") == {"type": "game_aborted", "reason": "Fire.", "faults": ended}
    assert table.view()["faults"] == ended
    assert (table.view()["phase"], table.view()["results"]) == ("aborted", None)
    table.end().refused(Code.GAME_OVER)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 201, "\ud800"])
def test_ending_a_game_needs_a_reason(table: Any, reason: str) -> None:
    table.end(reason).refused(Code.INVALID_REQUEST, "reason")


def test_only_the_last_message_closes_the_feed(table: Any) -> None:
    table.played_to("end", 5)
    assert [event.closes for event, _, _ in table.log] == [False] * (len(table.log) - 1) + [True]
