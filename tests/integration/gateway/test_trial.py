"""The mock trial, row by row, over plain HTTP: who submits what, points, states, events."""

import json
import re
from typing import Any

import pytest

from tests.integration.gateway.rows import Json, Platform, Table, accepted, fault_fields, refused

SPEAK = {"type": "speak", "text": "words"}
STATE = [
    "game_id", "gameType", "version", "phase", "round", "maxRounds", "case", "self", "participants", "history",
    "allowed_actions", "phase_submissions", "tally", "verdict", "results", "faults",
    "deadline", "seconds_left", "language", "pace", "turn_id",
]  # fmt: skip
CASE = ["case_id", "title", "description", "evidence_for", "evidence_against"]
IDENTITY = {"handle", "kind", "version", "model", "owner"}
FIELDS = {
    "game_created": ["needed"],
    "agent_joined": ["agent_id", "name", "agent_version"],
    "game_started": ["case", "participants", "rated"],
    "speak": ["agent_id", "name", "role", "text", "phase", "round"],
    "vote_submitted": ["agent_id", "role"],
    "phase_change": ["from", "to", "round"],
    "jury_tally": ["GUILTY", "NOT_GUILTY", "votes", "verdict"],
    "game_end": ["verdict", "winner_team", "results", "faults"],
}


def vote(verdict: object) -> Json:
    return {"type": "vote", "verdict": verdict}


def common(state: Json) -> Json:
    own = ("self", "allowed_actions", "turn_id", "seconds_left")
    return {name: value for name, value in state.items() if name not in own}


def test_six_agents_start_a_trial(platform: Platform) -> None:
    guest = platform.guest("early")
    game = guest.join("trial")
    state = guest.state(game)
    assert list(state) == STATE
    assert state == {
        "game_id": game, "gameType": "trial", "version": 2, "phase": "waiting", "round": 0, "maxRounds": 3,
        "case": None, "self": {"id": guest.id, "role": None, "name": "early", "submitted": False},
        "participants": state["participants"],
        "history": [],
        "allowed_actions": [], "phase_submissions": {"submitted": 0, "total": 0}, "tally": None, "verdict": None,
        "results": None, "faults": None, "deadline": None, "seconds_left": None, "language": "ko", "pace": "quick",
        "turn_id": None,
    }  # fmt: skip
    (seat,) = state["participants"]
    empty = {"role": None, "submitted": False, "away": False, "resigned": False}
    assert seat.items() >= {"id": guest.id, "name": "early", **empty}.items()
    assert seat.keys() == {"id", "name", *empty} | IDENTITY
    refused(guest.act(game, SPEAK), 400, "not_started")
    others = [platform.guest() for _ in range(5)]
    for other in others:
        assert other.join("trial") == game
    state = guest.state(game)
    assert (state["phase"], state["round"]) == ("opening", 0)
    assert list(state["case"]) == CASE
    assert sorted(seat["role"] for seat in state["participants"]) == [
        "DEFENSE", "JUDGE", "JUROR", "JUROR", "JUROR", "PROSECUTOR",
    ]  # fmt: skip
    assert [seat["id"] for seat in state["participants"]] == [guest.id, *(other.id for other in others)]
    assert list(state["self"]) == ["id", "role", "name", "submitted"]
    assert all(seat.keys() == {"id", "name", *empty} | IDENTITY for seat in state["participants"])
    spectator = platform.anonymous.state(game)
    assert list(spectator) == [name for name in STATE if name != "self"]
    assert common(spectator) == common(state)
    assert 0 < spectator["seconds_left"] <= state["seconds_left"]
    assert (spectator["allowed_actions"], state["allowed_actions"]) == ([], ["speak"])


def test_a_trial_from_opening_to_end(platform: Platform) -> None:
    table = platform.table("trial")
    for phase, round_ in (("opening", 0), ("argument", 1), ("argument", 2), ("argument", 3)):
        for number, guest in enumerate(table):
            state = guest.state(table.game_id)
            assert (state["phase"], state["round"]) == (phase, round_)
            assert state["phase_submissions"] == {"submitted": number, "total": 6}
            assert (state["self"]["submitted"], state["allowed_actions"]) == (False, ["speak"])
            answer = table.does(guest, {"type": "speak", "text": f" {phase} {round_} "})
            assert list(answer) == ["status", "version", "phase", "hash"]
            assert answer["status"] == "accepted"
            assert re.fullmatch("[0-9a-f]{64}", answer["hash"])
            state = guest.state(table.game_id)
            assert (answer["version"], answer["phase"]) == (state["version"], state["phase"])
            line = state["history"][-1]
            assert list(line) == ["phase", "round", "agent_id", "name", "role", "text"]
            assert (line["phase"], line["round"], line["text"]) == (phase, round_, f"{phase} {round_}")
            if number < 5:
                assert (state["self"]["submitted"], state["allowed_actions"]) == (True, [])
                refused(guest.act(table.game_id, SPEAK), 409, "already_submitted")

    prosecutor, defense, judge = (table.role(role)[0] for role in ("PROSECUTOR", "DEFENSE", "JUDGE"))
    jurors = table.role("JUROR")
    state = judge.state(table.game_id)
    assert (state["phase"], state["round"], state["allowed_actions"]) == ("rebuttal", 3, [])
    assert state["phase_submissions"] == {"submitted": 0, "total": 2}
    for outside in (judge, jurors[0]):
        for body in (SPEAK, vote("GUILTY"), {"type": "nonsense"}, [], 7, {"type": "speak", "text": "x" * 900}):
            passed = accepted(outside.act(table.game_id, body))
            assert passed == {"status": "pass", "version": state["version"], "phase": "rebuttal", "hash": None}
    table.does(prosecutor, SPEAK)
    assert [seat["submitted"] for seat in judge.state(table.game_id)["participants"]].count(True) == 1
    table.does(defense, SPEAK)

    assert judge.state(table.game_id)["phase_submissions"] == {"submitted": 0, "total": 3}
    assert jurors[0].state(table.game_id)["allowed_actions"] == ["vote"]
    refused(jurors[0].act(table.game_id, SPEAK), 400, "wrong_action")
    assert accepted(prosecutor.act(table.game_id, vote("GUILTY")))["status"] == "pass"
    table.does(jurors[0], vote("GUILTY"))
    refused(jurors[0].act(table.game_id, vote("NOT_GUILTY")), 409, "already_submitted")
    table.does(jurors[1], vote("NOT_GUILTY"))
    for guest in table:
        state = guest.state(table.game_id)
        assert (state["tally"], state["verdict"], state["phase"]) == (None, None, "jury_vote")
        assert not re.search(r"\bNOT_GUILTY\b|\bGUILTY\b", json.dumps(state))
        assert {seat["id"] for seat in state["participants"] if seat["submitted"]} == {jurors[0].id, jurors[1].id}
    answer = table.does(jurors[2], vote("GUILTY"))
    assert answer["phase"] == "verdict"

    state = judge.state(table.game_id)
    assert list(state["tally"]) == ["GUILTY", "NOT_GUILTY", "votes"]
    votes = {line["agent_id"]: line["verdict"] for line in state["tally"]["votes"]}
    assert votes == {jurors[0].id: "GUILTY", jurors[1].id: "NOT_GUILTY", jurors[2].id: "GUILTY"}
    assert all(list(line) == ["agent_id", "verdict"] for line in state["tally"]["votes"])
    assert (state["tally"]["GUILTY"], state["tally"]["NOT_GUILTY"], state["verdict"]) == (2, 1, "GUILTY")
    assert (state["round"], state["results"], state["allowed_actions"]) == (3, None, ["speak"])
    assert state["phase_submissions"] == {"submitted": 0, "total": 1}
    assert accepted(jurors[0].act(table.game_id, SPEAK))["status"] == "pass"
    refused(judge.act(table.game_id, vote("GUILTY")), 400, "wrong_action")
    assert table.does(judge, {"type": "speak", "text": "Guilty it is."})["phase"] == "end"

    state = judge.state(table.game_id)
    assert list(state) == STATE
    assert (state["phase"], state["round"], state["allowed_actions"]) == ("end", 3, [])
    assert state["phase_submissions"] == {"submitted": 0, "total": 0}
    assert not any(seat["submitted"] for seat in state["participants"])
    assert state["history"][-1]["text"] == "Guilty it is."
    assert len(state["history"]) == 4 * 6 + 2 + 1
    points = {line["agent_id"]: (line["team"], line["won"], line["points"]) for line in state["results"]}
    assert points == {
        prosecutor.id: ("PROSECUTOR", True, 200), defense.id: ("DEFENSE", False, 50), judge.id: (None, None, 100),
        jurors[0].id: ("PROSECUTOR", True, 200), jurors[1].id: ("DEFENSE", False, 50),
        jurors[2].id: ("PROSECUTOR", True, 200),
    }  # fmt: skip
    assert all(
        line.keys() - IDENTITY == {"agent_id", "name", "role", "team", "won", "points"} for line in state["results"]
    )
    for guest in table:
        refused(guest.act(table.game_id, {"type": "nonsense"}), 409, "game_over")
        me = accepted(guest.get("/api/agents/me"))
        assert (me["points"], me["games"]) == (points[guest.id][2], {"trial": 1, "ox": 0})


def test_the_events_of_a_trial(platform: Platform) -> None:
    table = platform.table("trial")
    table.trial("NOT_GUILTY", "GUILTY", "NOT_GUILTY")
    events = platform.events(table.game_id)
    for event in events:
        assert event.keys() - IDENTITY == {"type", *FIELDS[event["type"]], "game_id", "at"}
    kinds = [event["type"] for event in events]
    assert kinds == [
        "game_created", *["agent_joined"] * 6, "game_started",
        *(["speak"] * 6 + ["phase_change"]) * 4, "speak", "speak", "phase_change",
        "vote_submitted", "vote_submitted", "vote_submitted", "jury_tally", "phase_change", "speak", "game_end",
    ]  # fmt: skip
    assert [(e["from"], e["to"], e["round"]) for e in events if e["type"] == "phase_change"] == [
        ("opening", "argument", 1), ("argument", "argument", 2), ("argument", "argument", 3),
        ("argument", "rebuttal", 3), ("rebuttal", "jury_vote", 3), ("jury_vote", "verdict", 3),
    ]  # fmt: skip
    by_kind = {event["type"]: event for event in events}
    state = platform.anonymous.state(table.game_id)
    assert by_kind["game_created"]["needed"] == 6
    assert by_kind["game_started"]["case"] == state["case"]
    assert all(party.keys() - IDENTITY == {"id", "name", "role"} for party in by_kind["game_started"]["participants"])
    assert {k: by_kind["jury_tally"][k] for k in ("GUILTY", "NOT_GUILTY", "votes")} == state["tally"]
    end = by_kind["game_end"]
    assert (end["verdict"], end["winner_team"]) == ("NOT_GUILTY", "DEFENSE")
    assert [line | {"owner": None} for line in end["results"]] == state["results"]
    assert "seed" not in json.dumps(events)
    started, *_ = (record for record in platform.records(table.game_id) if record["type"] == "game_created")
    assert {"needed", "seed", "rules_version", "content_version", "config"} == set(started["data"])


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        (("GUILTY",) * 3, "GUILTY"), (("NOT_GUILTY",) * 3, "NOT_GUILTY"),
        (("GUILTY", "NOT_GUILTY", "NOT_GUILTY"), "NOT_GUILTY"),
    ],
)  # fmt: skip
def test_the_verdict_follows_the_votes(platform: Platform, verdicts: tuple[str, ...], verdict: str) -> None:
    table = platform.table("trial")
    table.trial(*verdicts)
    state = platform.anonymous.state(table.game_id)
    assert state["verdict"] == verdict
    by_role = {line["role"]: line for line in state["results"] if line["role"] != "JUROR"}
    assert by_role["PROSECUTOR"]["points"] == (200 if verdict == "GUILTY" else 50)
    assert by_role["DEFENSE"]["points"] == (50 if verdict == "GUILTY" else 200)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "speak", "text": ""}, "text"), ({"type": "speak", "text": " \t\n\u3000\x85\u2028"}, "text"),
        ({"type": "speak", "text": "x" * 201}, "text"), ({"type": "speak", "text": "\U0001f600" * 201}, "text"),
        ({"type": "speak", "text": 7}, "text"), ({"type": "speak"}, "text"), ({"type": "speak", "text": None}, "text"),
        ({"type": "speak", "text": "a\x00b"}, "text"), ({"type": "speak", "text": "a\ud800"}, "text"),
        ({"type": "speak", "text": "a", "tone": "warm"}, "tone"), ({"type": "shout", "text": "a"}, "type"),
        ({"type": ["speak"], "text": "a"}, "type"), ({"text": "a"}, "type"), ([], ""), ("speak", ""), (None, ""),
        ({"type": "Speak", "text": "a"}, "type"), ({"type": "speak", "text": ["a"]}, "text"),
    ],
)  # fmt: skip
def test_a_bad_action_names_its_field(platform: Platform, opening: Table, body: Any, field: str) -> None:
    answer = opening[0].ask("POST", f"/api/games/{opening.game_id}/actions", content=json.dumps(body))
    assert fault_fields(refused(answer, 400, "invalid_action")) == {field}


@pytest.fixture(scope="module")
def opening(shared_platform: Platform) -> Table:
    """A trial without deadlines in which no one has spoken."""
    return shared_platform.private_table("trial", deadline_seconds=0)[0]


def test_texts_are_trimmed_and_counted_in_code_points(platform: Platform) -> None:
    table = platform.table("trial")
    texts = ["\u2003 " + "\U0001f600" * 200 + "\u3000\n", "a\u2028b", "\u200b", "a  b", "é" * 200, "x\u0301"]
    kept = ["\U0001f600" * 200, "a\u2028b", "\u200b", "a  b", "é" * 200, "x\u0301"]
    for guest, text in zip(table, texts, strict=True):
        table.does(guest, {"type": "speak", "text": text})
    assert [line["text"] for line in platform.anonymous.state(table.game_id)["history"]] == kept


@pytest.mark.parametrize("verdict", ["guilty", "INNOCENT", "", None, 1, True, ["GUILTY"]])
def test_a_vote_is_one_of_two(platform: Platform, voting: Table, verdict: object) -> None:
    juror = voting.role("JUROR")[0]
    problem = refused(juror.act(voting.game_id, vote(verdict)), 400, "invalid_action")
    assert fault_fields(problem) == {"verdict"}
    refused(juror.act(voting.game_id, {"type": "vote"}), 400, "invalid_action")
    refused(juror.act(voting.game_id, {**SPEAK, "mood": 1}), 400, "invalid_action")
    refused(juror.act(voting.game_id, {"type": "speak", "text": ""}), 400, "wrong_action")


@pytest.fixture(scope="module")
def voting(shared_platform: Platform) -> Table:
    """A trial without deadlines in which no one has voted."""
    table, _ = shared_platform.private_table("trial", deadline_seconds=0)
    table.to_vote()
    return table
