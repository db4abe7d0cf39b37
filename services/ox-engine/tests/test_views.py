"""What an O/X game shows, field by field and in the page's order."""

from typing import Any

import jsonschema
import msgspec
from playmolt_schemas.games.ox import FEED, OxState

FIELDS = [
    "game_id", "gameType", "version", "round", "maxRounds", "phase", "question", "self", "participants", "reveal",
    "decisions", "scoreboard", "history", "allowed_actions", "phase_submissions", "results",
    "faults", "deadline", "seconds_left", "language", "pace", "turn_id",
]  # fmt: skip
MESSAGES = {
    "game_created": ["needed"],
    "agent_joined": ["agent_id", "name"],
    "agent_left": ["agent_id", "name"],
    "game_started": ["participants", "rated"],
    "question_open": ["round", "question"],
    "first_choice_submitted": ["agent_id", "name"],
    "reveal": ["round", "choices", "distribution"],
    "switch_submitted": ["agent_id", "name", "switched", "comment"],
    "round_result": ["round", "final_distribution", "minority", "points_awarded", "winners", "scoreboard"],
    "game_end": ["winner_id", "winner_ids", "final_scoreboard", "results", "faults"],
    "game_aborted": ["reason", "faults"],
}


def test_a_waiting_game_shows_its_seats(table: Any) -> None:
    view = table.seated(1).view("agent-0")
    assert list(view) == FIELDS
    assert view == {
        "game_id": "ox-1",
        "gameType": "ox",
        "version": 2,
        "round": 0,
        "maxRounds": 5,
        "phase": "waiting",
        "question": None,
        "self": {
            "id": "agent-0",
            "name": "Name of agent-0",
            "first_choice": None,
            "final_choice": None,
            "switch_available": True,
            "total_points": 0,
            "submitted": False,
        },
        "participants": [
            {
                "id": "agent-0",
                "name": "Name of agent-0",
                "submitted": False,
                "away": False,
                "resigned": False,
                "owner": None,
            }
        ],
        "reveal": [],
        "decisions": [],
        "scoreboard": [],
        "history": [],
        "allowed_actions": [],
        "phase_submissions": {"submitted": 0, "total": 0},
        "results": None,
        "faults": None,
        "deadline": None,
        "seconds_left": None,
        "turn_id": None,
        "language": "ko",
        "pace": "quick",
    }


def test_a_spectator_has_no_self_and_sees_the_rest(table: Any) -> None:
    table.played_to("switch", 3).switch("agent-3")
    own, others = table.view("agent-0"), table.view()
    assert list(others) == [field for field in FIELDS if field != "self"]
    assert others == {**{field: own[field] for field in others}, "allowed_actions": [], "turn_id": None}
    assert table.view("stranger") == others


def test_version_counts_the_events(table: Any) -> None:
    table.played_to("end", 5)
    assert [state.version for _, _, state in table.log] == list(range(1, len(table.log) + 1))


def test_a_first_choice_is_its_owners_until_the_reveal(table: Any) -> None:
    table.seated().pick("agent-0", "X", "my very own reason")
    assert table.view("agent-0")["self"]["first_choice"] == "X"
    assert table.view("agent-0")["self"]["submitted"] is True
    own = table.message("first_choice_submitted", "agent-0")
    assert (own["choice"], own["comment"]) == ("X", "my very own reason")
    for viewer in (None, "agent-1", "stranger"):
        assert table.message("first_choice_submitted", viewer) == {
            "type": "first_choice_submitted",
            "agent_id": "agent-0",
            "name": "Name of agent-0",
        }
        assert "my very own reason" not in str(table.view(viewer))
        assert table.view(viewer)["reveal"] == []


def test_the_reveal_shows_all_five(table: Any) -> None:
    table.seated().picks("OOOXX")
    assert table.view()["reveal"][4] == {
        "id": "agent-4",
        "name": "Name of agent-4",
        "choice": "X",
        "comment": "So be it.",
    }
    assert len(table.view()["reveal"]) == 5
    message = table.message("reveal")
    assert message["distribution"] == {"O": 3, "X": 2}
    assert [list(choice) for choice in message["choices"]] == [["agent_id", "name", "choice", "comment"]] * 5
    assert table.keeps().view()["reveal"] == []


def test_a_game_ended_before_the_reveal_reveals_nothing(table: Any) -> None:
    table.seated().pick("agent-0", "X", "my very own reason").end()
    assert "my very own reason" not in str(table.view()) + str(table.messages("agent-1"))


def test_a_switch_is_public_at_once(table: Any) -> None:
    table.seated().picks("OOOXX").switch("agent-1", "I flee.")
    assert table.message("switch_submitted") == {
        "type": "switch_submitted",
        "agent_id": "agent-1",
        "name": "Name of agent-1",
        "switched": True,
        "comment": "I flee.",
    }
    view = table.view("agent-1")
    assert view["decisions"] == [{"id": "agent-1", "switched": True, "comment": "I flee."}]
    assert (view["self"]["first_choice"], view["self"]["final_choice"]) == ("O", "X")
    assert (view["self"]["switch_available"], view["self"]["submitted"]) == (False, True)
    assert {line["id"]: line["switch_available"] for line in view["scoreboard"]}["agent-1"] is False
    assert table.view("agent-0")["self"]["final_choice"] is None


def test_decisions_show_in_the_phase_switch_only(table: Any) -> None:
    assert table.played_to("switch", 5).keep("agent-0").view()["decisions"] == [
        {"id": "agent-0", "switched": False, "comment": ""}
    ]
    assert table.end().view()["decisions"] == []


def test_a_new_round_starts_clean(table: Any) -> None:
    own = table.seated().round("XOOOO", "agent-1").view("agent-1")["self"]
    assert own == {
        "id": "agent-1",
        "name": "Name of agent-1",
        "first_choice": None,
        "final_choice": None,
        "switch_available": False,
        "total_points": 6,
        "submitted": False,
    }


def test_a_finished_round_is_in_the_history_whole(table: Any) -> None:
    table.seated().picks("OOOXX").keep("agent-0", "stay").switch("agent-4", "go")
    question = table.view()["question"]
    for agent in range(1, 4):
        table.keep(f"agent-{agent}")
    (line,) = table.view()["history"]
    assert list(line) == [
        "round", "question", "distribution", "minority", "points_awarded", "winners", "choices",
    ]  # fmt: skip
    assert (line["round"], line["question"], line["distribution"]) == (1, question, {"O": 4, "X": 1})
    assert (line["minority"], line["points_awarded"], line["winners"]) == ("X", 12, ["agent-3"])
    assert line["choices"][4] == {
        "id": "agent-4",
        "first_choice": "X",
        "final_choice": "O",
        "switched": True,
        "comment": "So be it.",
        "switch_comment": "go",
    }


def test_a_running_scoreboard_stands_by_points_monopolies_and_names(table: Any) -> None:
    table.seated().round("OOOOX").round("OXXOO").round("OXXOO")
    board = table.view()["scoreboard"]
    assert [(line["id"], line["points"], line["monopolies"]) for line in board] == [
        ("agent-4", 12, 1),
        ("agent-1", 12, 0),
        ("agent-2", 12, 0),
        ("agent-0", 0, 0),
        ("agent-3", 0, 0),
    ]
    present = {"away": False, "resigned": False}
    assert [line | present for line in table.message("round_result")["scoreboard"]] == board


def test_the_end_shows_the_last_round_and_the_ranks(table: Any) -> None:
    table.played_to("switch", 5)
    before = table.view()
    view = table.keeps().view()
    assert (view["phase"], view["round"]) == ("end", 5)
    assert (view["question"], view["reveal"]) == (before["question"], before["reveal"])
    assert (view["phase_submissions"], view["allowed_actions"]) == ({"submitted": 0, "total": 0}, [])
    assert len(view["history"]) == 5
    end = table.message("game_end")
    owned = [line | {"owner": None} for line in end["results"]]
    assert (view["results"], view["faults"], end["faults"]) == (owned, [], [])
    present = {"away": False, "resigned": False}
    assert view["scoreboard"] == [line | present for line in end["final_scoreboard"]]
    assert [list(line) for line in view["results"]] == [
        ["agent_id", "name", "rank", "points", "game_points", "monopolies", "owner"]
    ] * 5


def test_the_state_is_a_known_phase_after_every_single_event(table: Any) -> None:
    table.played_to("end", 5)
    for event, _, state in table.log:
        assert state.phase in ("waiting", "first_choice", "switch", "end")
        assert (state.phase == "waiting") == (event.type in ("game_created", "agent_joined"))


def test_allowed_actions_are_what_one_may_send_now(table: Any) -> None:
    table.seated()
    assert table.view("agent-0")["allowed_actions"] == ["first_choice"]
    assert table.pick("agent-0", "O").view("agent-0")["allowed_actions"] == []
    for agent in range(1, 5):
        table.pick(f"agent-{agent}", "X")
    assert table.view("agent-0")["allowed_actions"] == ["switch"]
    assert table.view("agent-0")["phase_submissions"] == {"submitted": 0, "total": 5}
    assert table.keep("agent-0").view("agent-0")["allowed_actions"] == []
    assert table.view("agent-0")["phase_submissions"] == {"submitted": 1, "total": 5}


def test_an_offer_carries_the_schema_of_its_action(table: Any) -> None:
    (offer,) = table.decider.allowed_actions(table.seated().state, "agent-0")
    assert offer.type == "first_choice"
    valid = {"type": "first_choice", "choice": "O", "comment": "x" * 100}
    jsonschema.validate(valid, offer.schema)
    schema = jsonschema.Draft202012Validator(offer.schema)
    for change in ({"choice": "o"}, {"comment": ""}, {"comment": "x" * 101}, {"more": 1}):
        assert not schema.is_valid({**valid, **change})
    (offer,) = table.decider.allowed_actions(table.picks("OOOXX").state, "agent-0")
    jsonschema.validate({"type": "switch", "use_switch": True}, offer.schema)
    assert table.decider.allowed_actions(table.state, "stranger") == ()


def test_the_schema_of_who_has_used_its_switch_allows_no_second_one(table: Any) -> None:
    table.seated().round("OOOXX", "agent-0").picks("OOOXX")
    switching = {"type": "switch", "use_switch": True, "comment": ""}
    for agent, may in (("agent-0", False), ("agent-1", True)):
        (offer,) = table.decider.allowed_actions(table.state, agent)
        schema = jsonschema.Draft202012Validator(offer.schema)
        assert (offer.type, schema.is_valid(switching), schema.is_valid({**switching, "use_switch": False})) == (
            "switch", may, True,
        )  # fmt: skip


def test_a_deadline_shows_only_while_one_runs(tables: Any) -> None:
    table = tables(deadline=30)
    assert table.view()["deadline"] is None
    assert table.seated().view()["deadline"] == "2026-03-01T00:00:36.000000Z"
    assert table.picks("OOOXX").view()["deadline"] == "2026-03-01T00:00:41.000000Z"
    assert table.end().view()["deadline"] is None


def test_messages_hold_just_the_fields_of_the_page(table: Any) -> None:
    table.join("early").leave("early").played_to("end", 5)
    other = type(table)().end()
    seen = {message["type"]: list(message) for message in other.messages() + table.messages()}
    assert seen == {kind: ["type", *fields] for kind, fields in MESSAGES.items()}


def test_messages_and_views_are_of_the_published_types(table: Any) -> None:
    table.played_to("end", 5)
    for viewer in (None, "agent-0"):
        for message in table.messages(viewer):
            assert msgspec.json.decode(msgspec.json.encode(message), type=FEED.union)
        assert msgspec.convert(table.view(viewer), OxState)


def test_the_operator_sees_the_source_s_shape(table: Any) -> None:
    table.seated().round("OOOXX", "agent-0").pick("agent-1", "X", "hidden")
    config = msgspec.json.decode(msgspec.json.encode(table.decider.operator_view(table.state)))
    assert list(config) == ["max_agents", "max_rounds", "ox_state"]
    assert (config["max_agents"], config["max_rounds"]) == (5, 5)
    state = config["ox_state"]
    assert list(state) == ["round", "phase", "question", "agents", "pending_actions", "round_log", "history"]
    assert state["agents"]["agent-1"] == {
        "first_choice": "X",
        "final_choice": None,
        "switch_used": False,
        "switch_available": True,
        "total_points": 6,
        "comment": "hidden",
    }
    assert state["agents"]["agent-0"]["switch_used"] is True
    submitted = {"type": "first_choice", "choice": "X", "comment": "hidden"}
    assert state["pending_actions"] == {"agent-1": submitted}
    assert state["round_log"] == [{"agent_id": "agent-1", **submitted}]
    assert state["history"] == table.view()["history"]


def test_the_operator_sees_nothing_pending_when_nothing_is(table: Any) -> None:
    for phase in ("waiting", "end"):
        if phase == "end":
            table.played_to("end", 5)
        assert table.decider.operator_view(table.state)["ox_state"]["pending_actions"] == {}
    assert len(table.decider.operator_view(table.state)["ox_state"]["round_log"]) == 10


def test_the_card_follows_the_game(table: Any) -> None:
    summaries = [msgspec.to_builtins(table.decider.summary(state)) for _, _, state in table.seated().log]
    assert [summary["seated"] for summary in summaries] == [0, 1, 2, 3, 4, 5, 5, 5]
    assert summaries[-1] == {
        "phase": "first_choice",
        "round": 1,
        "seated": 5,
        "needed": 5,
        "over": False,
        "language": "ko",
        "pace": "quick",
        "invite": "",
        "tournament": None,
    }
    assert table.decider.summary(table.played_to("end", 5).state).over
