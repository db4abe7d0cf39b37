"""A session from its prologue to its ending: what may be done when, and what follows."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_core.game.decider import DeadlinePassed, EndGame, Join, Refused
from playmolt_core.llm.port import Failed
from playmolt_jury import commands, effects
from playmolt_jury.content.material import TopicImpact
from playmolt_schemas.codes import Code

JURORS = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
AWAY = Failed(code="model_unavailable", detail="the server is away", attempts=4)


def about(topic: str, impact: Any = "positive") -> TopicImpact:
    return TopicImpact(topic=topic, impact=impact)


def code(answer: Any) -> tuple[str, int]:
    assert isinstance(answer, Refused), answer
    assert answer.detail
    return answer.code.wire, answer.code.status


def ids(events: list[Any]) -> list[str]:
    return [event.juror_id for event in events]


# Opening


def test_event_1_pins_all_that_the_rules_follow_from(session: Any) -> None:
    opened = session.log[0][0]
    assert opened.type == "jury_opened"
    assert (opened.language, opened.model, opened.seed) == ("en", "scripted", "7")
    assert (opened.rules_version, opened.content_version) == (2, "v1")
    assert tuple(file.id for file in opened.jurors) == JURORS
    assert [(item.id, item.locked) for item in opened.evidence] == [
        ("E1", False), ("E2", False), ("E3", True), ("E4", True),
    ]  # fmt: skip
    assert len(opened.topics) == 8


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (None, ""),
        ([], ""),
        ({}, "language"),
        ({"language": "ko"}, "language"),
        ({"language": 1}, "language"),
        ({"language": "en", "model": "m2"}, "model"),
        ({"language": "en", "model": None}, "model"),
        ({"language": "en", "seed": "1"}, "seed"),
    ],
)
def test_a_body_that_opens_nothing_names_its_field(sessions: Callable[..., Any], body: Any, field: str) -> None:
    session = sessions(opened=False)
    refused = session.call("jury_open", body)
    assert code(refused) == ("invalid_request", 400)
    assert refused.errors[0].field == field
    assert session.log == []


def test_a_session_opens_once(session: Any) -> None:
    assert code(session.call("jury_open", {"language": "en"})) == ("already_started", 409)


def test_a_stranger_does_not_know_of_it(session: Any) -> None:
    refused = session.jury.decide(session.state, commands.CallVote(agent_id="agent-2"), session.now)
    assert code(refused) == ("not_found", 404)
    nothing = session.jury.decide(session.jury.initial("jury-2"), commands.CallVote(agent_id="agent-1"), session.now)
    assert code(nothing) == ("not_found", 404)


def test_it_is_not_a_bot_game(session: Any) -> None:
    session.when(Join(agent_id="agent-1", name="x")).refused(Code.INVALID_REQUEST)
    session.when(DeadlinePassed(effect_id="x")).then()
    assert session.jury.allowed_actions(session.state, "agent-1") == ()
    assert session.jury.participants(session.state) == {"agent-1": "Ada"}


# Phases


def test_the_overseer_leads_forward_and_back_until_deliberation(session: Any) -> None:
    for phase in ("investigation", "persuasion", "investigation", "persuasion", "deliberation"):
        assert session.call("jury_phase", {"to": phase})["phase"] == phase
    moves = [(event.from_, event.to) for event in session.events("phase_changed")]
    assert moves[0] == ("prologue", "investigation")
    assert moves[-1] == ("persuasion", "deliberation")


@pytest.mark.parametrize(
    ("at", "to"),
    [
        ("prologue", "persuasion"), ("prologue", "vote"), ("investigation", "prologue"),
        ("investigation", "deliberation"), ("persuasion", "prologue"), ("deliberation", "persuasion"),
        ("deliberation", "vote"), ("vote", "deliberation"), ("vote", "ended"), ("ended", "prologue"),
    ],
)  # fmt: skip
def test_nothing_else_leads_anywhere(session: Any, at: str, to: str) -> None:
    session.to(at)
    assert code(session.call("jury_phase", {"to": to})) == ("wrong_phase", 409)


@pytest.mark.parametrize("at", ["prologue", "persuasion", "vote", "ended"])
def test_to_the_present_phase_is_not_an_event(session: Any, at: str) -> None:
    before = len(session.to(at).log)
    assert session.call("jury_phase", {"to": at})["phase"] == at
    assert len(session.log) == before


@pytest.mark.parametrize("body", [{}, {"to": "heaven"}, {"to": None}, {"to": "vote", "x": 1}])
def test_a_phase_has_to_be_one(session: Any, body: Any) -> None:
    assert code(session.call("jury_phase", body)) == ("invalid_request", 400)


def test_a_fault_names_the_phases_that_can_be_chosen(session: Any) -> None:
    (fault,) = session.call("jury_phase", {"to": "heaven"}).errors
    assert (fault.field, fault.message) == ("to", 'must be "investigation" or "persuasion" or "deliberation"')


@pytest.mark.parametrize(
    ("at", "route", "params", "body"),
    [
        ("prologue", "jury_talk", {"witness_id": "lin"}, {}),
        ("persuasion", "jury_talk", {"witness_id": "lin"}, {"choice": "ask"}),
        ("investigation", "jury_chat", {"juror_id": "radical"}, {"text": "x"}),
        ("deliberation", "jury_chat", {"juror_id": "radical"}, {"text": "x"}),
        ("investigation", "jury_present", {"juror_id": "radical", "evidence_id": "E1"}, {}),
        ("persuasion", "jury_next", {}, {}),
        ("vote", "jury_next", {}, {}),
        ("persuasion", "jury_notes", {}, {"juror_id": "radical", "text": "x"}),
        ("vote", "jury_notes", {}, {"juror_id": "radical", "text": "x"}),
        ("deliberation", "jury_vote", {}, {}),
        ("ended", "jury_vote", {}, {}),
        ("ended", "jury_chat", {"juror_id": "radical"}, {"text": "x"}),
    ],
)
def test_everything_has_its_phase(session: Any, at: str, route: str, params: dict[str, str], body: Any) -> None:
    before = len(session.to(at).log)
    assert code(session.call(route, body, **params)) == ("wrong_phase", 409)
    assert len(session.log) == before


# Evidence and witnesses


def test_reading_is_noted_once(session: Any) -> None:
    for evidence_id in ("E1", "E1", "E2"):
        assert session.call("jury_evidence", evidence_id=evidence_id)["id"] == evidence_id
    assert [event.evidence_id for event in session.events("evidence_read")] == ["E1", "E2"]


def test_locked_items_are_shown_presented_and_handed_to_nobody(session: Any) -> None:
    session.to("investigation")
    assert code(session.call("jury_evidence", evidence_id="E3")) == ("locked", 403)
    assert code(session.talk(evidence_id="E3")) == ("locked", 403)
    session.to("persuasion")
    assert code(session.call("jury_present", juror_id="radical", evidence_id="E3")) == ("locked", 403)


def test_what_there_is_not_is_not_found(session: Any) -> None:
    assert code(session.call("jury_evidence", evidence_id="E9")) == ("not_found", 404)
    session.to("investigation")
    assert code(session.call("jury_talk", {}, witness_id="nobody")) == ("not_found", 404)
    assert code(session.talk(evidence_id="E9")) == ("invalid_request", 400)
    session.to("persuasion")
    assert code(session.call("jury_chat", {"text": "x"}, juror_id="nobody")) == ("not_found", 404)
    assert code(session.call("jury_present", juror_id="nobody", evidence_id="E1")) == ("not_found", 404)
    assert code(session.call("jury_present", juror_id="radical", evidence_id="E9")) == ("not_found", 404)


def test_nothing_in_a_talk_shows_where_it_stands(session: Any) -> None:
    session.to("investigation")
    before = len(session.log)
    shown = session.talk()
    assert (shown["node"], shown["text"], shown["ended"]) == ("door", "Who are you?", False)
    assert [choice["id"] for choice in shown["choices"]] == ["ask", "leave"]
    assert len(session.log) == before


def test_choices_open_by_what_was_read_and_visited(session: Any) -> None:
    session.to("investigation")
    session.call("jury_evidence", evidence_id="E1")
    session.talk(choice="ask")
    shown = session.talk(choice="back")
    assert [choice["id"] for choice in shown["choices"]] == ["ask", "press", "log", "leave"]


def test_a_choice_that_is_not_offered_is_refused(session: Any) -> None:
    session.to("investigation")
    for choice in ("press", "back", "nothing"):
        refused = session.talk(choice=choice)
        assert code(refused) == ("invalid_request", 400)
        assert refused.errors[0].field == "choice"
    assert code(session.talk(choice="ask", evidence_id="E1")) == ("invalid_request", 400)
    assert code(session.talk(choice=1)) == ("invalid_request", 400)
    assert code(session.talk(word="ask")) == ("invalid_request", 400)


def test_pressure_counts_the_first_time_only(session: Any) -> None:
    session.to("investigation")
    assert session.talk(choice="ask")["pressure"] == 10
    session.talk(choice="back")
    assert session.talk(choice="ask")["pressure"] == 10
    assert session.talk(evidence_id="E1")["pressure"] == 25
    assert session.talk(evidence_id="E1")["pressure"] == 25


def test_evidence_that_says_nothing_shows_the_fallback_and_the_talk_stays(session: Any) -> None:
    session.to("investigation")
    session.talk(choice="ask")
    shown = session.talk(evidence_id="E2")
    assert (shown["node"], shown["text"]) == ("shrug", "That says nothing to me.")
    assert [choice["id"] for choice in shown["choices"]] == ["back"]
    assert session.talk()["node"] == "hall"


def test_enough_pressure_cracks_a_witness_and_opens_evidence(session: Any) -> None:
    session.crack()
    assert session.events("witness_talked")[-1].cracked
    assert [(event.evidence_id, event.witness_id) for event in session.events("evidence_unlocked")] == [
        ("E3", "lin"), ("E4", "lin"),
    ]  # fmt: skip
    shown = session.answer()
    assert (shown["node"], shown["cracked"], shown["ended"], shown["unlocked"]) == ("truth", True, True, ["E3", "E4"])
    assert session.talk()["unlocked"] == []
    assert session.call("jury_witnesses") == {"witnesses": [{"id": "lin", "name": "Lin", "cracked": True}]}
    assert session.call("jury_evidence", evidence_id="E3")["text"] == "Keep quiet."


def test_a_witness_cracks_once(session: Any) -> None:
    session.crack()
    session.talk(evidence_id="E2")
    assert len(session.events("evidence_unlocked")) == 2


# Persuasion


def test_a_chat_is_logged_first_and_then_in_the_order_of_the_page(session: Any) -> None:
    session.to("persuasion")
    session.said["classify"] = {"topics": [about("procedural_justice")]}
    before = len(session.log)
    waiting = session.chat(text="  There is doubt.  ", run=False)
    assert session.kinds(before) == ["turn_started"]
    assert session.status == 202
    assert waiting["phase"] == "persuasion"
    session.work()
    assert session.kinds(before) == ["turn_started", "overseer_said", "stance_changed", "juror_said"]
    said, moved = session.events("overseer_said")[0], session.events("stance_changed")[0]
    assert (said.text, [topic.topic for topic in said.topics]) == ("There is doubt.", ["procedural_justice"])
    assert (moved.cause, moved.by, moved.before, moved.after) == ("chat", "overseer", 65, 58)
    assert session.answer() == {
        "juror_id": "ophiuchus", "reply": "I have heard you.", "band": "undecided", "rounds_left": 9,
        "weakness_hit": False, "repeats": 0, "version": len(session.log),
    }  # fmt: skip
    assert session.status == 200


def test_a_change_of_nothing_is_an_event_too(session: Any) -> None:
    session.to("persuasion")
    session.chat()
    assert [(event.before, event.after, event.parts) for event in session.events("stance_changed")] == [(65, 65, ())]


def test_a_weakness_works_once_and_later_shows_in_the_reply_only(session: Any) -> None:
    session.to("persuasion")
    first = session.argue("ophiuchus", about("technical_responsibility"), text="A WEAK SPOT, I say.")
    assert first["weakness_hit"]
    moves = [(event.cause, event.before, event.after) for event in session.events("stance_changed")]
    assert moves == [("chat", 65, 73), ("weakness", 73, 63)]
    second = session.argue("ophiuchus", text="That weak spot again.")
    assert second["weakness_hit"]
    assert [event.cause for event in session.events("stance_changed")][2:] == ["chat"]


def test_a_weakness_at_50_is_spent_without_effect_and_without_telling(sessions: Callable[..., Any]) -> None:
    session = sessions(jurors={"ophiuchus": {"initial_stance": 50}}).to("persuasion")
    session.argue("ophiuchus", about("technical_responsibility"), text="weak spot")
    assert [(event.cause, event.after) for event in session.events("stance_changed")] == [
        ("chat", 58),
        ("weakness", 58),
    ]
    session.argue("ophiuchus", text="weak spot")
    assert len(session.events("stance_changed")) == 3


def test_a_presented_item_moves_by_its_topics_and_hits_no_weakness(sessions: Callable[..., Any]) -> None:
    weak = {"weakness": sessions().state.juror("radical").weakness, "initial_stance": 60}
    session = sessions(jurors={"radical": weak}).to("persuasion")
    before = len(session.log)
    shown = session.call("jury_present", juror_id="radical", evidence_id="E1")
    assert session.kinds(before) == ["turn_started", "evidence_presented", "stance_changed", "juror_said"]
    moved = session.events("stance_changed")[0]
    assert (moved.cause, moved.before, moved.after) == ("evidence", 60, 68)
    assert (shown["reply"], shown["weakness_hit"], shown["rounds_left"]) == ("I see it.", False, 9)


def test_the_eleventh_round_with_a_juror_is_refused(session: Any) -> None:
    session.to("persuasion")
    for number in range(10):
        left = (session.chat() if number % 2 else session.call("jury_present", juror_id="ophiuchus", evidence_id="E2"))[
            "rounds_left"
        ]
        assert left == 9 - number
    assert code(session.chat()) == ("no_rounds_left", 409)
    assert code(session.call("jury_present", juror_id="ophiuchus", evidence_id="E1")) == ("no_rounds_left", 409)
    assert session.chat("radical")["rounds_left"] == 9


def test_many_calls_at_once_do_not_get_past_the_limit(session: Any) -> None:
    session.to("persuasion")
    answers = [session.chat(run=False) for _ in range(12)]
    assert [isinstance(answer, Refused) for answer in answers] == [False] * 10 + [True] * 2
    assert len(session.jury.effects(session.state)) == 1
    session.work()
    assert session.view()["jurors"][0]["rounds_left"] == 0
    told = [outcome.rounds_left for outcome in session.state.outcomes.values()]
    assert told == list(range(9, -1, -1))


def test_jurors_think_side_by_side(session: Any) -> None:
    session.to("persuasion")
    session.chat("radical", "First.", run=False)
    session.chat("radical", "Second.", run=False)
    session.chat("philosopher", run=False)
    turns = [effect.payload for effect in session.jury.effects(session.state)]
    assert [(turn.name, turn.text) for turn in turns] == [("chat:radical", "First."), ("chat:philosopher", "Listen.")]
    session.turn(turns[1].id)
    assert session.answer()["juror_id"] == "philosopher"


def test_nobody_leaves_while_a_juror_thinks(session: Any) -> None:
    session.to("persuasion")
    session.chat(run=False)
    assert code(session.call("jury_phase", {"to": "deliberation"}, run=False)) == ("busy", 409)
    session.work()
    assert session.call("jury_phase", {"to": "deliberation"})["phase"] == "deliberation"


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"text": " \n"},
        {"text": 1},
        {"text": "a\x00"},
        {"text": "\ud800"},
        {"text": "x" * 4001},
        {"text": "x", "to": 1},
    ],
)
def test_a_chat_needs_a_text(session: Any, body: Any) -> None:
    session.to("persuasion")
    assert code(session.call("jury_chat", body, juror_id="radical")) == ("invalid_request", 400)
    assert code(session.call("jury_present", {"x": 1}, juror_id="radical", evidence_id="E1")) == (
        "invalid_request",
        400,
    )


# Failures


def test_a_failed_turn_uses_nothing_up(session: Any) -> None:
    session.to("persuasion")
    session.said["chat"] = AWAY
    refused = session.chat()
    assert code(refused) == ("unavailable", 503)
    assert "the server is away" in refused.detail
    failed = session.events("turn_failed")[0]
    assert (failed.turn, failed.juror_id, failed.code, failed.attempts) == ("chat", "ophiuchus", "model_unavailable", 5)
    assert session.events("overseer_said") == []
    assert session.events("stance_changed") == []
    assert session.view()["jurors"][0]["rounds_left"] == 10
    session.said["chat"] = "Again, then."
    assert session.chat()["rounds_left"] == 9


def test_a_failed_call_that_is_made_again_is_asked_again(session: Any) -> None:
    session.to("persuasion")
    session.said["classify"] = AWAY
    session.chat()
    command = session.api.command(session.state, session.request)
    session.said["classify"] = {"topics": []}
    first = session.state.turns
    session.when(command)
    assert session.state.turns != first
    assert session.work().answer()["rounds_left"] == 9


def test_a_call_taken_already_changes_nothing(session: Any) -> None:
    session.to("persuasion")
    session.chat(run=False)
    command, before = session.api.command(session.state, session.request), len(session.log)
    session.when(command).then()
    session.work()
    after = len(session.log)
    session.when(command).then()
    assert (before, after) == (after - 3, len(session.log))


def test_a_second_answer_to_an_effect_changes_nothing(session: Any) -> None:
    session.to("persuasion")
    session.chat(run=False)
    effect = session.jury.effects(session.state)[0].id
    session.when(commands.JurorTurn(effect_id=effect, text="Yes."))
    before = len(session.log)
    for late in (
        commands.JurorTurn(effect_id=effect, text="No."),
        commands.TurnLost(effect_id=effect, code="refused", detail="", attempts=1),
    ):
        session.when(late).then()
    assert len(session.log) == before


def test_an_answer_without_words_is_not_taken(session: Any) -> None:
    session.to("persuasion")
    session.chat(run=False)
    effect = session.jury.effects(session.state)[0].id
    session.when(commands.JurorTurn(effect_id=effect, text=" ")).refused(Code.INVALID_REQUEST, "text")
    session.when(commands.JurorTurn(effect_id=effect, text="\x00a")).refused(Code.INVALID_REQUEST, "text")


def test_every_attempt_is_an_event_that_decides_nothing(session: Any) -> None:
    session.to("persuasion")
    attempt = {"alias": "scripted", "outcome": "ok"}
    session.when(commands.Attempted(effect_id="w", turn="classify", kind="ask", attempt=attempt))
    assert session.events("attempt_made")[0].attempt == attempt
    assert session.messages()[-1] == {"type": "progress"}


def test_only_the_newest_failures_are_kept(session: Any) -> None:
    session.to("persuasion")
    session.chat()
    session.said["chat"] = AWAY
    for _ in range(140):
        session.chat("radical")
    assert len(session.state.outcomes) == 128
    assert sum(hasattr(outcome, "reply") for outcome in session.state.outcomes.values()) == 1


# Deliberation


def test_a_round_is_three_speeches_and_then_their_influence(session: Any) -> None:
    session.to("deliberation")
    session.said["speech:radical:1"] = {"text": "Guilty!", "topics": [about("technical_responsibility")]}
    before = len(session.log)
    told = session.call("jury_next")
    assert session.kinds(before) == [
        "round_started", "turn_started", "speech", "turn_started", "speech", "turn_started", "speech",
        *["stance_changed"] * 12, "round_ended",
    ]  # fmt: skip
    assert (told["round"], told["leader"], told["responders"]) == (1, "radical", ["sympathizer", "philosopher"])
    assert [speech["juror_id"] for speech in told["speeches"]] == ["radical", "sympathizer", "philosopher"]
    assert told["phase"] == "deliberation"
    moves = session.events("stance_changed")
    assert [move.by for move in moves] == ["radical"] * 4 + ["sympathizer"] * 4 + ["philosopher"] * 4
    assert ids(moves[:4]) == ["ophiuchus", "sympathizer", "opportunist", "philosopher"]
    # 8 × 0.6 × (1 − |listener − 78| / 100)
    assert [(move.before, move.after) for move in moves[:4]] == [(65, 69), (32, 35), (54, 58), (48, 51)]
    assert [(change["juror_id"], change["band_before"], change["band"]) for change in told["changes"]] == [
        ("ophiuchus", "leaning_guilty", "leaning_guilty"), ("radical", "leaning_guilty", "leaning_guilty"),
        ("sympathizer", "leaning_innocent", "leaning_innocent"), ("opportunist", "undecided", "undecided"),
        ("philosopher", "undecided", "undecided"),
    ]  # fmt: skip


def test_influence_comes_from_the_snapshot_and_adds_up_on_the_live_stance(session: Any) -> None:
    session.to("deliberation")
    session.said["speech"] = {"text": "So it is.", "topics": [about("technical_responsibility")]}
    session.call("jury_next")
    onto = [move for move in session.events("stance_changed") if move.juror_id == "opportunist"]
    # radical 78, sympathizer 32, philosopher 48 at the start, opportunist 54: 3.648, 3.744, 4.512
    assert [(move.before, move.after) for move in onto] == [(54, 58), (58, 62), (62, 67)]
    assert [move.parts[0].points for move in onto] == ["3.648", "3.744", "4.512"]


def test_four_rounds_have_four_leaders_and_then_the_vote_begins(session: Any) -> None:
    session.to("deliberation")
    leaders = [session.call("jury_next")["leader"] for _ in range(3)]
    last = session.call("jury_next")
    leaders.append(last["leader"])
    assert len(set(leaders)) == 4
    assert last["phase"] == "vote"
    assert session.state.phase == "vote"
    assert session.kinds()[-2:] == ["round_ended", "phase_changed"]
    assert session.view()["round"] == 4


def test_a_round_goes_on_where_a_speech_failed(session: Any) -> None:
    session.to("deliberation")
    session.said["speech:sympathizer:1"] = AWAY
    assert code(session.call("jury_next")) == ("unavailable", 503)
    assert [speech.juror_id for speech in session.events("speech")] == ["radical"]
    session.said["speech:sympathizer:1"] = {"text": "Here I am.", "topics": []}
    told = session.call("jury_next")
    assert [speech["text"] for speech in told["speeches"]] == ["I speak.", "Here I am.", "I speak."]
    assert len(session.events("round_started")) == 1
    assert len(session.events("stance_changed")) == 12


def test_one_round_at_a_time(session: Any) -> None:
    session.to("deliberation")
    session.call("jury_next", run=False)
    assert code(session.call("jury_next", run=False)) == ("busy", 409)
    assert code(session.call("jury_notes", {"juror_id": "radical", "text": "x"}, run=False)) == ("busy", 409)
    assert code(session.call("jury_next", {"x": 1})) == ("invalid_request", 400)


def test_a_note_acts_with_half_on_its_juror(session: Any) -> None:
    session.to("deliberation")
    session.said["classify"] = {"topics": [about("procedural_justice")]}
    assert session.call("jury_notes", {"juror_id": "radical", "text": "weak spot: doubt"}) == {
        "notes_left": 2, "repeats": 0,
    }  # fmt: skip
    assert session.kinds()[-2:] == ["note_sent", "stance_changed"]
    moved = session.events("stance_changed")[-1]
    assert (moved.cause, moved.juror_id, moved.before, moved.after) == ("note", "radical", 78, 74)  # 3.5
    assert [part.points for part in moved.parts] == ["-3.5"]


def test_there_are_three_notes_in_the_whole_deliberation(session: Any) -> None:
    session.to("deliberation")
    for number in range(3):
        assert session.call("jury_notes", {"juror_id": "radical", "text": "x"})["notes_left"] == 2 - number
        session.call("jury_next")
    assert code(session.call("jury_notes", {"juror_id": "radical", "text": "x"})) == ("no_notes_left", 409)


def test_a_failed_note_is_not_used_up(session: Any) -> None:
    session.to("deliberation")
    session.said["classify"] = AWAY
    assert code(session.call("jury_notes", {"juror_id": "radical", "text": "x"})) == ("unavailable", 503)
    assert session.view()["notes_left"] == 3


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"juror_id": "radical", "text": "x" * 201}, "text"),
        ({"juror_id": "nobody", "text": "x"}, "juror_id"),
        ({"juror_id": "radical", "text": ""}, "text"),
        ({"text": "x"}, "juror_id"),
    ],
)
def test_a_note_is_short_and_for_a_juror(session: Any, body: Any, field: str) -> None:
    session.to("deliberation")
    refused = session.call("jury_notes", body)
    assert code(refused) == ("invalid_request", 400)
    assert [fault.field for fault in refused.errors] == [field]


def test_a_note_of_200_characters_is_taken(session: Any) -> None:
    session.to("deliberation")
    assert session.call("jury_notes", {"juror_id": "radical", "text": "字" * 200})["notes_left"] == 2


# Vote


def test_votes_follow_the_stances_and_go_to_the_chain(session: Any) -> None:
    session.to("vote")
    before = len(session.log)
    waiting = session.call("jury_vote")
    assert session.status == 202
    assert waiting["phase"] == "vote"
    assert session.kinds(before) == ["vote_called", *["turn_started"] * 5, *["vote_decided"] * 5]
    session.chain()
    assert session.kinds(before)[11:] == [
        "contract_deployed", *["vote_cast"] * 5, "verdict_read", "phase_changed", "ended",
    ]  # fmt: skip
    assert [(vote.juror_id, vote.guilty, vote.stance) for vote in session.events("vote_cast")] == [
        ("ophiuchus", True, 65), ("radical", True, 78), ("sympathizer", False, 32), ("opportunist", True, 54),
        ("philosopher", False, 48),
    ]  # fmt: skip
    verdict = session.answer()
    assert session.status == 200
    assert (verdict["verdict"], verdict["guilty"], verdict["not_guilty"], verdict["chain_id"]) == (
        "guilty",
        3,
        2,
        31337,
    )
    assert verdict["log_hash"] == "0x" + "ab" * 32
    assert verdict["votes"][0] == {
        "juror_id": "ophiuchus", "guilty": True, "stance": 65, "tx_hash": "0x" + b"ophiuchus".hex(),
        "address": "0x" + b"ophiuchus".hex(),
    }  # fmt: skip
    assert session.call("jury_verdict") == verdict


def test_the_last_record_before_the_vote_is_the_phase(session: Any) -> None:
    session.to("vote")
    assert session.call("jury_evidence", evidence_id="E2")["id"] == "E2"
    assert session.kinds()[-1] == "phase_changed"


def test_what_the_chain_says_counts(session: Any) -> None:
    session.to("vote")
    session.call("jury_vote")
    session.chain(until="verdict")
    (effect,) = session.jury.effects(session.state)
    votes = tuple(
        commands.VoteRead(juror_id=juror, address="0x1", guilty=False, tx_hash="0x2") for juror in reversed(JURORS)
    )
    found = commands.VerdictFound(
        effect_id=effect.id, guilty=False, guilty_votes=0, not_guilty_votes=5, votes=votes, contract="0x9", chain_id=7,
        log_hash="0x8",
    )  # fmt: skip
    session.when(found)
    verdict = session.call("jury_verdict")
    assert (verdict["verdict"], verdict["not_guilty"], verdict["contract"], verdict["log_hash"]) == (
        "not_guilty", 5, "0x9", "0x8",
    )  # fmt: skip
    assert [vote["juror_id"] for vote in verdict["votes"]] == list(JURORS)
    assert session.call("jury_ending")["verdict"] == "not_guilty"


def test_effects_of_the_chain_come_one_after_the_other_and_keep_their_ids(session: Any) -> None:
    session.to("vote")
    session.call("jury_vote")
    (deploy,) = session.jury.effects(session.state)
    task = deploy.payload
    assert (task.work, task.jurors, task.log_hash) == ("deploy", JURORS, "")
    assert effects.chain_effect(session.state, "deploy") == deploy.id
    opened = commands.CaseOpened(effect_id=deploy.id, address="0x1", chain_id=1, tx_hash="0x2", log_hash="0x3")
    session.when(opened)
    votes = [effect.payload for effect in session.jury.effects(session.state)]
    assert [(vote.juror_id, vote.guilty, vote.log_hash) for vote in votes][:2] == [
        ("ophiuchus", True, "0x3"), ("radical", True, "0x3"),
    ]  # fmt: skip
    before = len(session.log)
    session.when(opened)
    session.when(commands.VoteMined(effect_id="0" * 32, juror_id="radical", guilty=True, tx_hash="0x5"))
    assert len(session.log) == before


def test_chain_work_begins_while_others_still_think(session: Any) -> None:
    session.to("vote")
    session.call("jury_vote", run=False)
    session.turn(session.jury.effects(session.state)[0].id)
    session.chain()
    assert ids(session.events("vote_cast")) == ["ophiuchus"]
    assert session.state.phase == "vote"
    session.work().chain()
    assert session.state.phase == "ended"


def test_a_vote_that_failed_is_called_again_and_only_that_one(session: Any) -> None:
    session.to("vote")
    session.said["vote:radical"] = AWAY
    assert code(session.call("jury_vote")) == ("unavailable", 503)
    session.chain()
    assert len(session.events("vote_cast")) == 4
    session.said["vote:radical"] = "…"
    session.call("jury_vote")
    session.chain()
    assert ids(session.events("vote_decided")).count("ophiuchus") == 1
    assert session.answer()["guilty"] == 3


def test_the_vote_is_called_once(session: Any) -> None:
    session.to("vote")
    session.call("jury_vote", run=False)
    assert code(session.call("jury_vote", run=False)) == ("wrong_phase", 409)


def test_a_case_that_closed_without_a_vote_still_ends(session: Any) -> None:
    session.to("vote")
    session.call("jury_vote")
    session.chain(closed_without=["radical"])
    verdict = session.call("jury_verdict")
    assert (verdict["verdict"], verdict["guilty"]) == ("not_guilty", 2)
    assert verdict["votes"][1] == {
        "juror_id": "radical", "guilty": None, "stance": 78, "tx_hash": "", "address": "0x" + b"radical".hex(),
    }  # fmt: skip


# The chain begins anew under a vote


def lost(session: Any) -> Any:
    """The chain no longer has the case: what the first of the works on it found."""
    effect = session.due(effects.CHAIN_EFFECT)
    return session.when(commands.ChainLost(effect_id=effect.id, detail="no JuryVoting stands there", looks=7))


def test_a_chain_that_restarted_stops_the_vote_and_says_so(session: Any) -> None:
    session.to("vote").call("jury_vote")
    session.chain(until="vote")
    others = [effect.id for effect in session.jury.effects(session.state)][1:]
    lost(session)
    for effect in others:
        session.when(commands.ChainLost(effect_id=effect, detail="no JuryVoting stands there", looks=7))

    assert session.kinds().count("chain_changed") == 1
    assert not session.jury.effects(session.state)
    assert session.view()["failed"] == {
        "phase": "vote", "code": "chain_changed", "detail": "no JuryVoting stands there", "attempts": 7,
    }  # fmt: skip
    assert session.messages()[-1]["type"] == "chain_changed"
    waiting = session.answer()
    assert code(waiting) == ("unavailable", 503)
    assert "retry" in waiting.detail
    assert code(session.call("jury_vote")) == ("wrong_phase", 409)


def test_a_retry_has_the_same_votes_cast_on_the_chain_there_is(session: Any) -> None:
    session.to("vote").call("jury_vote")
    session.chain(until="verdict")
    before = {effect.id for effect in session.jury.effects(session.state)}
    decided = {juror: ballot.guilty for juror, ballot in session.state.ballots.items()}
    lost(session)

    answer = session.call("jury_retry")
    assert answer["failed"] is None
    works = [effect.payload for effect in session.jury.effects(session.state)]
    assert [(work.work, work.log_hash, work.chain_id) for work in works] == [("deploy", "", 0)]
    seen = before | {effect.id for effect in session.jury.effects(session.state)}
    assert len(seen) == 2, "what ended once under an id would be taken for a repeat"

    session.chain()
    assert session.state.phase == "ended"
    assert {vote.juror_id: vote.guilty for vote in session.state.verdict.votes} == decided
    assert session.kinds().count("vote_cast") == 10


def test_a_chain_may_change_twice(session: Any) -> None:
    session.to("vote").call("jury_vote")
    for _ in range(2):
        session.chain(until="verdict")
        lost(session)
        assert session.call("jury_retry")["failed"] is None
    session.chain()
    assert session.state.phase == "ended"


@pytest.mark.parametrize("phase", ["prologue", "vote", "ended"])
def test_nothing_is_taken_up_again_that_has_not_failed(session: Any, phase: str) -> None:
    session.to(phase)
    assert code(session.call("jury_retry")) == ("nothing_to_retry", 409)


def test_a_retry_takes_no_fields(session: Any) -> None:
    session.to("vote").call("jury_vote")
    session.chain(until="vote")
    lost(session)
    assert code(session.call("jury_retry", {"chain": 1})) == ("invalid_request", 400)
    assert session.state.failed


def test_votes_that_were_cast_again_by_other_transactions_are_told_again(session: Any) -> None:
    session.to("vote").call("jury_vote")
    session.chain(until="verdict")
    effect = session.due(effects.CHAIN_EFFECT)
    found = session._mined(effect.id, effect.payload, ())
    again = [replace(vote, tx_hash="0xnew") if vote.juror_id == "radical" else vote for vote in found.votes]
    before = len(session.log)
    session.when(replace(found, votes=tuple(again)))
    assert session.kinds(before) == ["vote_cast", "verdict_read", "phase_changed", "ended"]
    assert [(cast.juror_id, cast.tx_hash) for cast in session.events("vote_cast")[-1:]] == [("radical", "0xnew")]


def test_a_juror_that_never_votes_costs_a_vote_at_the_deadline_and_not_the_session(session: Any) -> None:
    session.to("vote")
    session.said["vote:radical"] = AWAY
    session.call("jury_vote")
    session.chain()
    (effect,) = session.jury.effects(session.state)
    assert effect.due == session.state.contract.deployed_at + timedelta(days=7)
    session.now = effect.due - timedelta(seconds=1)
    assert session.chain().state.phase == "vote"
    session.now = effect.due
    assert session.chain().state.phase == "ended"
    verdict = session.call("jury_verdict")
    assert (verdict["verdict"], verdict["guilty"], verdict["not_guilty"]) == ("not_guilty", 2, 2)
    assert verdict["votes"][1] == {
        "juror_id": "radical", "guilty": None, "stance": 78, "tx_hash": "", "address": "0x" + b"radical".hex(),
    }  # fmt: skip
    assert session.call("jury_ending")["verdict"] == "not_guilty"


def test_a_verdict_that_comes_while_a_juror_still_thinks_ends_the_session(session: Any) -> None:
    session.to("vote")
    session.said["vote:radical"] = AWAY
    session.call("jury_vote")
    session.chain()
    session.call("jury_vote", run=False)
    (turn,) = (effect for effect in session.jury.effects(session.state) if effect.kind == effects.TURN_EFFECT)
    session.now += timedelta(days=7)
    session.chain()
    assert session.state.phase == "ended"
    session.when(commands.JurorTurn(effect_id=turn.id)).then()
    assert session.answer()["verdict"] == "not_guilty"


def test_a_vote_decided_at_the_deadline_is_missed_before_the_verdict_is_read(session: Any) -> None:
    session.to("vote")
    session.said["vote:radical"] = AWAY
    session.call("jury_vote")
    session.chain()
    session.now += timedelta(days=7)
    late = session.due(effects.CHAIN_EFFECT)
    session.said["vote:radical"] = "…"
    session.call("jury_vote")
    before = len(session.log)
    session.when(
        commands.VerdictFound(
            effect_id=late.id, guilty=False, guilty_votes=2, not_guilty_votes=2, votes=(), contract="0x9", chain_id=7,
            log_hash="0x8",
        )
    )  # fmt: skip
    assert len(session.log) == before
    session.chain(closed_without=["radical"])
    assert session.kinds(before) == ["vote_missed", "verdict_read", "phase_changed", "ended"]


def test_a_failed_vote_is_tried_again_by_its_own_call_while_others_still_think(session: Any) -> None:
    session.to("vote")
    session.call("jury_vote", run=False)
    request, (first, *rest) = session.request, session.state.turns
    session.when(commands.TurnLost(effect_id=first.id, code="refused", detail="no", attempts=1))
    assert code(session.answer(request)) == ("unavailable", 503)
    session.when(session.api.command(session.state, request))
    assert {turn.juror_id for turn in session.state.turns} == set(JURORS)
    assert [turn for turn in session.state.turns if turn in rest] == rest
    session.answer(request)
    assert session.status == 202
    before = len(session.log)
    session.when(session.api.command(session.state, request))
    assert len(session.log) == before


def test_a_vote_called_again_hears_of_a_failure_of_the_first_call(session: Any) -> None:
    session.to("vote")
    session.call("jury_vote", run=False)
    first, slow, *_ = session.state.turns
    session.when(commands.TurnLost(effect_id=first.id, code="refused", detail="fast", attempts=1))
    session.call("jury_vote", run=False)
    assert session.status == 202
    session.when(commands.TurnLost(effect_id=slow.id, code="refused", detail="slow", attempts=1))
    session.answer()
    assert session.status == 202, "jurors of both calls still think"
    session.work()
    told = session.answer()
    assert code(told) == ("unavailable", 503)
    assert "slow" in told.detail
    session.when(session.api.command(session.state, session.request))
    assert [turn.juror_id for turn in session.state.turns] == [slow.juror_id]
    session.work()
    session.answer()
    assert session.status == 202, "the chain has it"
    session.chain()
    assert session.answer()["verdict"] == "guilty"


# Endings


@pytest.mark.parametrize(
    ("unlocked", "read", "found"),
    [
        (False, ("E1", "E2"), "nothing"),
        (True, ("E1", "E2", "E3"), "something"),
        (True, ("E1", "E2", "E3", "E4"), "everything"),
    ],
)
@pytest.mark.parametrize(("stance", "verdict"), [(80, "guilty"), (20, "not_guilty")])
def test_endings_tell_the_verdict_and_what_was_found(
    sessions: Callable[..., Any], unlocked: bool, read: tuple[str, ...], found: str, stance: int, verdict: str
) -> None:
    session = sessions(jurors={juror: {"initial_stance": stance} for juror in JURORS})
    if unlocked:
        session.crack()
    for evidence_id in read:
        session.call("jury_evidence", evidence_id=evidence_id)
    session.to("ended")
    ending = session.call("jury_ending")
    assert (ending["id"], ending["verdict"], ending["text"]) == (f"{verdict}_{found}", verdict, found)
    assert session.events("ended")[0].ending == ending["id"]
    assert type(session.events("ended")[0]).closes


@pytest.mark.parametrize("at", ["prologue", "persuasion", "deliberation", "vote"])
def test_an_operator_can_end_every_session(session: Any, at: str) -> None:
    session.to(at)
    if at == "persuasion":
        session.chat(run=False)
    session.when(EndGame(reason=" maintenance "))
    assert session.events("game_aborted")[0].reason == "maintenance"
    assert session.view()["phase"] == "aborted"
    assert session.jury.summary(session.state).over
    assert session.jury.effects(session.state) == ()
    if at == "persuasion":
        assert code(session.answer()) == ("game_over", 409)
    session.when(EndGame(reason="again")).refused(Code.GAME_OVER)


@pytest.mark.parametrize("reason", ["", " ", "x" * 201, "\x00"])
def test_an_operator_says_why(session: Any, reason: str) -> None:
    session.when(EndGame(reason=reason)).refused(Code.INVALID_REQUEST, "reason")
