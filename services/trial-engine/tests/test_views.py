"""What a trial shows, field by field and in the page's order."""

from typing import Any

import jsonschema
import msgspec
from playmolt_schemas.games.trial import ACTIONS, FEED, TrialState

FIELDS = [
    "game_id", "gameType", "version", "phase", "round", "maxRounds", "case", "self", "participants", "history",
    "allowed_actions", "phase_submissions", "tally", "verdict", "results",
    "faults", "deadline", "seconds_left", "language", "pace", "turn_id",
]  # fmt: skip
MESSAGES = {
    "game_created": ["needed"],
    "agent_joined": ["agent_id", "name"],
    "agent_left": ["agent_id", "name"],
    "game_started": ["case", "participants", "rated"],
    "speak": ["agent_id", "name", "role", "text", "phase", "round"],
    "vote_submitted": ["agent_id", "role"],
    "phase_change": ["from", "to", "round"],
    "jury_tally": ["GUILTY", "NOT_GUILTY", "votes", "verdict"],
    "game_end": ["verdict", "winner_team", "results", "faults"],
    "game_aborted": ["reason", "faults"],
}


def test_a_waiting_trial_shows_its_seats_without_roles(table: Any) -> None:
    view = table.seated(2).view("agent-1")
    assert list(view) == FIELDS
    assert view == {
        "game_id": "trial-1",
        "gameType": "trial",
        "version": 3,
        "phase": "waiting",
        "round": 0,
        "maxRounds": 3,
        "case": None,
        "self": {"id": "agent-1", "role": None, "name": "Name of agent-1", "submitted": False},
        "participants": [
            {
                "id": agent,
                "name": f"Name of {agent}",
                "role": None,
                "submitted": False,
                "away": False,
                "resigned": False,
                "owner": None,
            }
            for agent in ("agent-0", "agent-1")
        ],
        "history": [],
        "allowed_actions": [],
        "phase_submissions": {"submitted": 0, "total": 0},
        "tally": None,
        "verdict": None,
        "results": None,
        "faults": None,
        "deadline": None,
        "seconds_left": None,
        "turn_id": None,
        "language": "ko",
        "pace": "quick",
    }


def test_a_spectator_has_no_self_and_sees_the_rest(table: Any) -> None:
    table.played_to("argument", 2).speak("JUDGE")
    own, others = table.view("agent-0"), table.view()
    assert list(others) == [field for field in FIELDS if field != "self"]
    assert others == {**{field: own[field] for field in others}, "allowed_actions": [], "turn_id": None}
    assert table.view("stranger") == others


def test_version_counts_the_events(table: Any) -> None:
    table.played_to("verdict").speak("JUDGE")
    assert [state.version for _, _, state in table.log] == list(range(1, len(table.log) + 1))
    assert table.view()["version"] == len(table.log)


def test_a_speech_is_in_the_history_at_once(table: Any) -> None:
    view = table.played_to("argument", 2).speak("JUDGE", "Order!").view()
    assert view["history"][-1] == {
        "phase": "argument",
        "round": 2,
        "agent_id": table.role("JUDGE"),
        "name": f"Name of {table.role('JUDGE')}",
        "role": "JUDGE",
        "text": "Order!",
    }
    assert view["phase_submissions"] == {"submitted": 1, "total": 6}
    assert [seat["submitted"] for seat in view["participants"]].count(True) == 1


def test_allowed_actions_are_what_one_may_send_now(table: Any) -> None:
    table.seated()
    judge, juror = table.role("JUDGE"), table.role("JUROR")
    assert table.view(judge)["allowed_actions"] == ["speak"]
    assert table.speak("JUDGE").view(judge)["allowed_actions"] == []
    table.played_to("jury_vote")
    assert (table.view(judge)["allowed_actions"], table.view(juror)["allowed_actions"]) == ([], ["vote"])
    table.played_to("verdict")
    assert (table.view(judge)["allowed_actions"], table.view(juror)["allowed_actions"]) == (["speak"], [])
    assert table.speak("JUDGE").view(judge)["allowed_actions"] == []


def test_an_offer_carries_the_schema_of_its_action(table: Any) -> None:
    table.seated()
    (offer,) = table.decider.allowed_actions(table.state, "agent-0")
    assert offer.type == "speak"
    jsonschema.validate({"type": "speak", "text": "x" * 200}, offer.schema)
    for bad in ({"type": "speak", "text": "x" * 201}, {"type": "speak"}, {"type": "speak", "text": "x", "y": 1}):
        assert not jsonschema.Draft202012Validator(offer.schema).is_valid(bad)
    assert table.decider.allowed_actions(table.state, "stranger") == ()
    assert dict(table.decider.messages.actions) == dict(ACTIONS)


def test_a_vote_is_secret_until_the_tally_but_for_the_fact(table: Any) -> None:
    table.played_to("jury_vote").vote(0, "NOT_GUILTY")
    juror = table.roles("JUROR")[0]
    assert table.message("vote_submitted") == {"type": "vote_submitted", "agent_id": juror, "role": "JUROR"}
    assert table.message("vote_submitted", "agent-0" if juror != "agent-0" else "agent-1").keys() == {
        "type", "agent_id", "role",
    }  # fmt: skip
    assert table.message("vote_submitted", juror)["verdict"] == "NOT_GUILTY"
    assert "NOT_GUILTY" not in str(table.view()) + str(table.view(juror))
    assert {seat["id"] for seat in table.view()["participants"] if seat["submitted"]} == {juror}


def test_the_tally_shows_before_the_judge_speaks(table: Any) -> None:
    view = table.played_to("verdict").view()
    assert view["tally"] == {
        "GUILTY": 3,
        "NOT_GUILTY": 0,
        "votes": [{"agent_id": juror, "verdict": "GUILTY"} for juror in table.roles("JUROR")],
    }
    assert (view["verdict"], view["results"]) == ("GUILTY", None)


def test_results_show_after_the_end(table: Any) -> None:
    view = table.played_to("verdict").speak("JUDGE").view()
    assert (view["phase"], view["round"], view["phase_submissions"]) == ("end", 3, {"submitted": 0, "total": 0})
    assert [list(line) for line in view["results"]] == [
        ["agent_id", "name", "role", "team", "won", "points", "owner"]
    ] * 6


def test_a_deadline_shows_only_while_one_runs(tables: Any) -> None:
    table = tables(deadline=30)
    assert table.view()["deadline"] is None
    (effect,) = table.decider.effects(table.seated().state)
    assert table.view()["deadline"] == "2026-03-01T00:00:37.000000Z"
    assert effect.due.isoformat() == "2026-03-01T00:00:37+00:00"
    assert table.end().view()["deadline"] is None


def test_messages_hold_just_the_fields_of_the_page(table: Any) -> None:
    table.join("early").leave("early").played_to("verdict").speak("JUDGE")
    other = type(table)().end()
    seen = {message["type"]: list(message) for message in other.messages() + table.messages()}
    assert seen == {kind: ["type", *fields] for kind, fields in MESSAGES.items()}


def test_messages_and_views_are_of_the_published_types(table: Any) -> None:
    table.played_to("verdict").speak("JUDGE")
    for viewer in (None, *(seat.id for seat in table.state.seats)):
        for message in table.messages(viewer):
            assert msgspec.json.decode(msgspec.json.encode(message), type=FEED.union)
        assert msgspec.convert(table.view(viewer), TrialState)


def test_the_seed_is_nowhere_but_in_the_log(tables: Any) -> None:
    table = tables(seed="918273645546372819").played_to("verdict")
    shown = str(table.messages()) + str(table.view("agent-0")) + str(table.decider.operator_view(table.state))
    assert "918273645546372819" not in shown


def test_the_operator_sees_the_votes(table: Any) -> None:
    table.played_to("jury_vote").vote(0, "NOT_GUILTY")
    config = table.decider.operator_view(table.state)
    assert (config["max_agents"], config["max_rounds"]) == (6, 3)
    assert config["trial_state"]["agents"][table.roles("JUROR")[0]] == {
        "role": "JUROR",
        "submitted": True,
        "vote": "NOT_GUILTY",
    }


def test_the_card_follows_the_game(table: Any) -> None:
    summaries = [msgspec.to_builtins(table.decider.summary(state)) for _, _, state in table.seated().log]
    assert [summary["seated"] for summary in summaries] == [0, 1, 2, 3, 4, 5, 6, 6]
    assert summaries[-1] == {
        "phase": "opening",
        "round": 0,
        "seated": 6,
        "needed": 6,
        "over": False,
        "language": "ko",
        "pace": "quick",
        "invite": "",
        "tournament": None,
    }
    assert table.played_to("verdict").speak("JUDGE").decider.summary(table.state).over
